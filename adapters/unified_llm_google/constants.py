"""What stands for a thought signature where there is none, plain and in base64: documented, so any client may send it.

And the screens that other providers name by their system, and the clients that execute what is called on a screen.

https://ai.google.dev/gemini-api/docs/thought-signatures
https://ai.google.dev/gemini-api/docs/computer-use
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unified_llm.engine.pairs.writing import Writer

__all__ = ["BYPASS", "CONSTANTS", "KIN", "NO_SCREENS", "PLACEHOLDER", "has_screens", "is_desktop"]

BYPASS = "skip_thought_signature_validator"
PLACEHOLDER = base64.b64encode(BYPASS.encode()).decode()
_PLAIN = (BYPASS, "context_engineering_is_the_way_to_go")
CONSTANTS = frozenset((*_PLAIN, *(base64.b64encode(word.encode()).decode() for word in _PLAIN)))
KIN = frozenset(("google-interactions", "google-generate-content"))
"""The protocols of this provider: what is hosted for one is hosted for both."""
NO_SCREENS = "its calls are functions (click_at, ...) that the client does not execute"
_DESKTOPS = frozenset(("linux", "mac", "ubuntu", "windows"))


def is_desktop(environment: Any) -> bool:
    """Whether the screen of a computer tool is a desktop in another provider's words."""
    return type(environment) is str and environment in _DESKTOPS


def has_screens(w: Writer) -> bool:
    """Whether the client of a request executes the functions that are called of a computer tool."""
    return not w.crosses or w.source in KIN
