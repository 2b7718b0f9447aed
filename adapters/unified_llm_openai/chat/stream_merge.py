"""How fragments of what nobody understands add up: text concatenates, lists merge by `index`, the rest follow.

The rules are those of the official SDK's own accumulator, less its traps: a repeated `role` or `id` stays one.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ONCE", "Growing", "details_of", "merged", "merged_in"]

Node = dict[str, Any]

ONCE = frozenset(("index", "type", "role", "id", "format", "name"))


def merged(old: Any, new: Any) -> Any:
    """`old` with the fragment `new` added; neither is changed."""
    if type(old) is dict and type(new) is dict:
        out = dict(old)
        for key, value in new.items():
            if key not in out or out[key] is None or (key in ONCE and value is not None):
                out[key] = value
            elif value is not None:
                out[key] = merged(out[key], value)
        return out
    if type(old) is str and type(new) is str:
        return old + new
    if type(old) is list and type(new) is list:
        if not any(type(each) is dict and each.get("index") is not None for each in new):
            return [*old, *new]
        return Growing(old, "index").add(new)
    return new


class Growing:
    """A list that fragments are merged into: entries that say the same under `keys` are one.

    The first of the keys has to be there, and only with `null` may it be null.
    """

    __slots__ = ("_keys", "_null", "_places", "entries")

    def __init__(self, entries: list[Any], *keys: str, null: bool = False) -> None:
        self._keys, self._null = keys, null
        self._places: dict[str, int] = {}
        self.entries: list[Any] = []
        for entry in entries:
            self._append(entry)

    def add(self, fragments: list[Any]) -> list[Any]:
        """The list with these."""
        for entry in fragments:
            place = self._places.get(self._told(entry)) if self._is_named(entry) else None
            if place is None:
                self._append(entry)
            else:
                self.entries[place] = merged(self.entries[place], entry)
        return self.entries

    def _append(self, entry: Any) -> None:
        if type(entry) is dict:
            self._places.setdefault(self._told(entry), len(self.entries))
        self.entries.append(entry)

    def _told(self, entry: Node) -> str:
        return repr([entry.get(key) for key in self._keys])

    def _is_named(self, entry: Any) -> bool:
        first = self._keys[0]
        return type(entry) is dict and (first in entry if self._null else entry.get(first) is not None)


def merged_in(node: Node, key: str, value: Any, grown: dict[str, Growing]) -> Node:
    """A node, one that `merged` made, with a fragment under a key; its lists grow in place, each known to `grown`."""
    known = node.get(key)
    if type(known) is not list or type(value) is not list:
        out: Node = merged(node, {key: value})
        return out
    growing = grown.get(key)
    if growing is None or growing.entries is not known:
        growing = grown[key] = Growing(known, "index")
    return {**node, key: growing.add(value)}


def details_of() -> Growing:
    """`reasoning_details`, to be added to: entries of one index and type are one."""
    return Growing([], "index", "type", null=True)
