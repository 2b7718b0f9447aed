"""Where the losses of a stream come from: what is known of its events, and the search in them."""

from .event_sources import Trail

__all__ = ["Trail"]
