"""Which tools the entries of a tool choice name, found without comparing each tool with each entry."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .tool_list import word

__all__ = ["ChoiceIndex", "entry_keys", "entry_of", "kind_of", "tool_keys"]

Node = dict[str, Any]
Key = tuple[Any, ...]

# The keys that distinguish tools of one type.
_NAMING = {"function": "name", "custom": "name", "mcp": "server_label"}


def tool_keys(tool: Node) -> set[Key]:
    """What entries may name a tool by: one of these is among the keys of each entry that does."""
    kind = kind_of(tool)
    keys: set[Key] = {("is", kind), *(("below", stem) for stem in _stems(kind))}
    if kind in _NAMING:
        keys.add(("named", kind, word(tool.get(_NAMING[kind]))))
    return keys


def kind_of(node: Node) -> str:
    """The type of a tool or of an entry of a choice as a word, whatever stands there."""
    return str(node.get("type"))


def entry_keys(entry: Node) -> set[Key]:
    """What an entry of a choice names tools by."""
    kind = kind_of(entry)
    if kind in _NAMING:
        return {("named", kind, word(entry.get(_NAMING[kind])))}
    # Hosted tools have versions and previews.
    return {("is", kind), ("below", kind), *(("is", stem) for stem in _stems(kind))}


def entry_of(tool: Node) -> Node:
    """The entry of a choice that names a tool."""
    key = _NAMING.get(kind_of(tool))
    return {"type": tool.get("type"), **({key: tool[key]} if key in tool else {})}


class ChoiceIndex:
    """The first of the nodes that have a key: tools by `tool_keys`, or entries of a choice by `entry_keys`."""

    def __init__(self, keys: Iterable[set[Key]]) -> None:
        self._first: dict[Key, int] = {}
        for place, found in enumerate(keys):
            for key in found:
                self._first.setdefault(key, place)

    def first(self, keys: set[Key]) -> int | None:
        """The place of the first node that has one of these keys."""
        return min((self._first[key] for key in keys if key in self._first), default=None)


def _stems(kind: str) -> list[str]:
    """`a` and `a_b` of `a_b_c`."""
    return [kind[:at] for at, letter in enumerate(kind) if letter == "_"]
