"""What a conversation is made of, as a text: one letter an item, in their order.

What has to hold of turns and steps is read off that text. A reader that finds nothing but texts, calls and results
writes it down while it reads (`Reader.letters`); for any other conversation it is made of the items.
"""

from __future__ import annotations

from typing import Any

__all__ = ["CALL", "RESULT", "ROLES", "USER", "outline"]

CALL, RESULT, USER = "c", "o", "u"
ROLES = {"assistant": "a", "system": "s", "developer": "s"}
"""The letter of a message by its role; any other role is the user's."""

_KINDS = {
    "reasoning": "r",
    "function_call": CALL,
    "custom_tool_call": CALL,
    "function_call_output": RESULT,
    "custom_tool_call_output": RESULT,
    # Items of the model that no rule is about.
    "web_search_call": "p",
    "file_search_call": "p",
    "image_generation_call": "p",
    "compaction": "p",
}


def outline(items: list[dict[str, Any]]) -> str:
    """The letters of these items; an "x" is one of which nothing can be said here.

    >>> outline([{"type": "message", "role": "user"}, {"type": "function_call"}, {"type": "shell_call"}])
    'ucx'
    """
    roles, kinds = ROLES.get, _KINDS.get
    return "".join(
        [
            roles(item.get("role", ""), USER) if (kind := item.get("type")) == "message" else kinds(kind, "x")  # type: ignore[arg-type]
            for item in items
        ]
    )
