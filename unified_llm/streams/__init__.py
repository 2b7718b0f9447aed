"""Streams: the grammar of canonical events, and the pipeline from bytes to bytes."""
