"""What is written to the database together: groups of writes, and the thread that commits them."""
