"""Where the losses of a stream come from: what is known of its events, and the search in them."""

from .trail import Trail

__all__ = ["Trail"]
