"""Adapters of Amazon's protocols: Converse."""
