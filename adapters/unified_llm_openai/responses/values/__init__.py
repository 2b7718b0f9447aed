"""Facts of the protocol that are tables, and the small values read and written with them."""
