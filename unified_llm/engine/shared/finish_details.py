"""The explanation of an end: a text in most protocols, an object that holds one in Messages.

https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
"""

from __future__ import annotations

from typing import Any

from ..pairs.mapping import Fated, take

__all__ = ["explanation", "is_explanation", "take_explanation"]

Node = dict[str, Any]


def explanation(text: str) -> Node:
    """The object that explains a refusal, of its text.

    >>> explanation("not allowed")
    {'type': 'refusal', 'category': None, 'explanation': 'not allowed'}
    """
    return {"type": "refusal", "category": None, "explanation": text}


def is_explanation(detail: Node) -> bool:
    """Whether an object holds nothing but a text, as `explanation` makes it."""
    return type(detail.get("explanation")) is str and detail == explanation(detail["explanation"])


def take_explanation(finish: Node) -> str | None:
    """The text that explains a finish, popped from it; None if it has none."""
    detail = finish.get("detail")
    if type(detail) is str:
        return str(finish.pop("detail"))
    if type(detail) is not dict or type(detail.get("explanation")) is not str:
        return None
    own = take(finish, "detail")
    if own.get("type") == "refusal":
        own["type"] = Fated("approximated", "represented by the reason of the end")
    if own.get("category", 0) is None:
        del own["category"]
    return str(own.pop("explanation"))
