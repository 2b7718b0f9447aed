"""Upstreams: found by name, with their credentials and their protocol."""
