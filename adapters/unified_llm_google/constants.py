"""What stands for a thought signature where there is none, plain and in base64: documented, so any client may send it.

And the screens that other providers name by their system.

https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

import base64
from typing import Any

__all__ = ["BYPASS", "CONSTANTS", "PLACEHOLDER", "is_desktop"]

BYPASS = "skip_thought_signature_validator"
PLACEHOLDER = base64.b64encode(BYPASS.encode()).decode()
_PLAIN = (BYPASS, "context_engineering_is_the_way_to_go")
CONSTANTS = frozenset((*_PLAIN, *(base64.b64encode(word.encode()).decode() for word in _PLAIN)))
_DESKTOPS = frozenset(("linux", "mac", "ubuntu", "windows"))


def is_desktop(environment: Any) -> bool:
    """Whether the screen of a computer tool is a desktop in another provider's words."""
    return type(environment) is str and environment in _DESKTOPS
