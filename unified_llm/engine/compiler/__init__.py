"""A shape's fields as frozen rows, and the functions compiled from them."""
