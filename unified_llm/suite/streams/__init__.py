"""The laws of streams."""
