"""Streams: read and written."""
