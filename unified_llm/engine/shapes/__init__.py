"""What a wire object looks like: shapes, unions, turn layouts, and what they say of places and losses."""
