"""Calls of tools and their results."""
