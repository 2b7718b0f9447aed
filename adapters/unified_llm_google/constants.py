"""What stands for a thought signature where there is none, plain and in base64: documented, so any client may send it.

https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

import base64

__all__ = ["BYPASS", "CONSTANTS", "PLACEHOLDER"]

BYPASS = "skip_thought_signature_validator"
PLACEHOLDER = base64.b64encode(BYPASS.encode()).decode()
_PLAIN = (BYPASS, "context_engineering_is_the_way_to_go")
CONSTANTS = frozenset((*_PLAIN, *(base64.b64encode(word.encode()).decode() for word in _PLAIN)))
