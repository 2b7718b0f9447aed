"""What a wire object looks like: shapes, unions, turn layouts, and the places and losses that follow from them."""
