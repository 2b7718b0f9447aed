"""Requests: the document, its settings, and what stands around them."""
