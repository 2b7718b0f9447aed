"""What a conversation is made of, as a text: one letter an item, in their order.

What has to hold of turns and steps is read off that text. A reader that finds nothing but texts, calls and results
writes it down while it reads (`Outline`); for any other conversation it is made of the items.
"""

from __future__ import annotations

from functools import cache
from itertools import compress
from typing import Any

__all__ = ["ASSISTANT", "CALL", "RESULT", "ROLES", "STATED", "USER", "Outline", "mask", "outline", "picked"]

ASSISTANT, CALL, RESULT, USER = "a", "c", "o", "u"
ROLES = {"assistant": ASSISTANT, "system": "s", "developer": "s"}
"""The letter of a message by its role; any other role is the user's."""

STATED = ("id", "status", "phase")
"""Keys that name an item of the model's, and give its state, beside those that make it a message or a call."""

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


class Outline:
    """What a reader writes down of a conversation in which there is nothing but texts, calls and results.

    Attributes:
        letters: one an item.
        calls: the ids of the calls, in order; `names`: what they call.
        results: the ids of the calls that results are of, in order.
        texts: those of messages, and of results that are lists of parts.
        numbered: whether an item has an id of its own.
    """

    __slots__ = ("calls", "letters", "names", "numbered", "results", "texts")

    def __init__(self) -> None:
        self.letters: list[str] = []
        self.calls: list[str] = []
        self.names: list[str] = []
        self.results: list[str] = []
        self.texts: list[str] = []
        self.numbered: bool = False

    def __str__(self) -> str:
        return "".join(self.letters)


def outline(items: list[dict[str, Any]]) -> str:
    """The letters of these items; an "x" is one that is not handled here.

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


def picked(items: list[dict[str, Any]], letters: str, wanted: str) -> list[dict[str, Any]]:
    """Those of the items whose letter is one of the `wanted`.

    >>> picked([{"type": "message"}, {"type": "function_call"}], "uc", CALL)
    [{'type': 'function_call'}]
    """
    return list(compress(items, mask(letters, wanted)))


def mask(letters: str, wanted: str) -> bytes:
    """A one for each letter that is one of the `wanted`, and a zero for all others."""
    return letters.encode().translate(_ones(wanted))


@cache
def _ones(wanted: str) -> bytes:
    return bytes(chr(code) in wanted for code in range(256))
