"""An item of a choice that is being sent, facts that reader and writer share, and whole messages in chunks."""

from __future__ import annotations

from typing import Any

from ..values.tables import REASONING_FIELDS
from .merge import details_of

__all__ = [
    "NULLS",
    "TYPES",
    "UNDERSTOOD",
    "VALUES",
    "Open",
    "is_void",
    "is_whole",
    "not_streamed",
    "opened",
    "overtake",
    "terminal_type",
]

Node = dict[str, Any]

_INCOMPLETE = ("length", "context_window", "safety", "recitation", "pause")
_FAILED = ("error", "malformed_call", "cancelled")


def terminal_type(finish: Node | None) -> str:
    """The type of the terminal event for a finish."""
    reason = finish["reason"] if finish else None
    if reason in _INCOMPLETE:
        return "response.incomplete"
    return "response.failed" if reason in _FAILED else "response.completed"


def opened(chunk: Node, paths: list[list[Any]]) -> Node:
    """A copy of a chunk in which what holds the ends of these paths is new; all else is that of the chunk."""
    made: dict[tuple[Any, ...], Any] = {(): chunk.copy()}
    for path in paths:
        for depth in range(1, len(path)):
            place = (*path[:depth],)
            if place not in made:
                around = made[place[:-1]]
                made[place] = around[place[-1]] = around[place[-1]].copy()
    whole: Node = made[()]
    return whole


def overtake(sources: dict[Any, Any], key: str, known: Any, here: tuple[Any, ...]) -> None:
    """Note where the last value under a key stands; an earlier one that differs is lost with it."""
    if known not in (None, {}):
        sources[key, len(sources)] = sources[key,]
    sources[key,] = here


class Open:
    """An open message or reasoning item: its place, its parts with their text so far, and where it all came from."""

    __slots__ = ("at", "details", "fields", "item", "parts", "restored", "sealed", "sources", "told", "wire")

    def __init__(self, at: Node, item: Node) -> None:
        self.at = at
        self.item = item
        self.parts: list[tuple[Node, list[str]]] = []
        self.fields: list[str] = []
        self.details = details_of()
        # The details so far, but for their text.
        self.told: dict[Any, Any] = {}
        self.sealed: str | None = None
        # What the item was before another surface's client had to carry it.
        self.restored: Node | None = None
        # Stands for the wire node that a streamed item never is.
        self.wire: Node = {}
        self.sources: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    def part(self, kind: str) -> int | None:
        return next((i for i, (part, _) in enumerate(self.parts) if part["type"] == kind), None)


# The JSON types of values with information under these keys.
TYPES: dict[str, tuple[type, ...]] = {
    "content": (str, list),
    "refusal": (str,),
    "audio": (dict,),
    "images": (list,),
    "annotations": (list,),
    "tool_calls": (list,),
    "function_call": (dict,),
    "reasoning_details": (list,),
    "reasoning_opaque": (str,),
    **dict.fromkeys(REASONING_FIELDS, (str,)),
}
NULLS = frozenset(("content", "refusal", "audio", "images", "tool_calls", "function_call"))
UNDERSTOOD = frozenset(
    (
        *"content refusal audio images annotations tool_calls function_call reasoning_details reasoning_opaque".split(),
        *REASONING_FIELDS,
    )
)
# The key of the text of each type of part.
VALUES = {"output_text": "text", "refusal": "refusal", "reasoning_text": "text", "output_audio": "data"}


def is_void(key: str, value: Any) -> bool:
    """Whether a delta has a key without a value. (That its text is empty is seen where the text is.)"""
    return value is None or (value == "" and key == "refusal")


def is_whole(wire: Node) -> bool:
    """Whether a choice has a message in place of a delta, as servers send it that cannot stream."""
    return type(wire.get("message")) is dict and not wire.get("delta")


def not_streamed(message: Node, items: list[Node], open_: Open | None, calls: list[tuple[Any, ...]]) -> Node:
    """The part of a message that its deltas did not contain; some servers repeat them as a whole at the end."""
    texts = [part.get(VALUES.get(part["type"], "text")) for item in items for part in item.get("content", ())]
    if open_ is not None:
        texts += ["".join(fragments) for _, fragments in open_.parts]
    known = {"role", *(("tool_calls",) if _called(message.get("tool_calls")) == calls else ())}
    return {key: value for key, value in message.items() if value and key not in known and value not in texts}


def _called(wires: Any) -> list[tuple[Any, ...]] | None:
    """The id, the name and the arguments of each call of a message; None where a call has another form."""
    if type(wires) is not list or not all(type(wire) is dict for wire in wires):
        return None
    inner = [wire.get("function") or wire.get("custom") for wire in wires]
    if not all(type(each) is dict for each in inner):
        return None
    called = zip(wires, inner)
    return [(wire.get("id"), each.get("name"), each.get("arguments", each.get("input"))) for wire, each in called]
