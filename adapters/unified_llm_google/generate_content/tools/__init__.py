"""Tools that a request declares, and the choice among them."""
