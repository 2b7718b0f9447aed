"""The roles of messages, for the class of a message and for those that check one without it."""

from typing import Final

__all__ = ["ROLES"]

ROLES: Final = ("user", "assistant", "system", "developer")
"""The roles that a caller may give a message."""
