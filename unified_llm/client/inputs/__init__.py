"""What stands in `input=`: items, texts, and media from memory and from disk."""
