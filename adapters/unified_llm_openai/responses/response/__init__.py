"""Answers: the document, what clients demand of it, and the small documents beside it."""
