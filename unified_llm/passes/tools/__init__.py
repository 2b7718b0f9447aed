"""Tools, made to meet what a target can declare."""
