"""How fragments of unknown fields add up: text concatenates, lists merge by `index`, the rest follow.

The rules are those of the official SDK's own accumulator, less its traps: a repeated `role` or `id` stays one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

__all__ = ["ONCE", "Fragments", "Growing", "details_of"]

Node = dict[str, Any]

ONCE = frozenset(("index", "type", "role", "id", "format", "name"))


class Fragments:
    """Objects that fragments are merged into, in place; what came off the wire is copied before it grows."""

    __slots__ = ("_lists", "_mine")

    def __init__(self) -> None:
        # By identity, and held, so that no identity is used again.
        self._mine: dict[int, Node] = {}
        self._lists: dict[int, Growing] = {}

    def enter(self, node: Node, key: str, value: Any) -> None:
        """Add a fragment under a key of an object that may be changed."""
        known = node.get(key)
        if known is None or (key in ONCE and value is not None):
            node[key] = value
        elif value is not None:
            del known  # what holds a text too has it copied
            self.grow(node, key, value)

    def grow(self, holder: Any, key: Any, new: Any) -> None:
        """Add a fragment to what is at a key or index of an object or list that may be changed."""
        old = holder[key]
        if type(old) is dict and type(new) is dict:
            if id(old) not in self._mine:
                old = holder[key] = dict(old)
                self._mine[id(old)] = old
            for name, value in new.items():
                self.enter(old, name, value)
        elif type(old) is str and type(new) is str:
            del old
            _append_text(holder, key, new)
        elif type(old) is list and type(new) is list:
            growing = self._lists.get(id(old))
            if growing is None:
                growing = Growing(self, "index", entries=old)
                holder[key] = growing.entries
                self._lists[id(growing.entries)] = growing
            growing.add(new)
        else:
            holder[key] = new


def _append_text(holder: Any, key: Any, more: str) -> None:
    """Add to a text that nothing else holds: so it grows where it is, and no piece copies all that came before it."""
    text = holder[key]
    holder[key] = None
    text += more
    holder[key] = text


class Growing:
    """A list that fragments are merged into: entries that have the same values under `keys` are one.

    The first of the keys has to be there, and only with `null` may it be null.
    """

    __slots__ = ("_fragments", "_keys", "_null", "_places", "entries")

    def __init__(self, fragments: Fragments, *keys: str, entries: list[Any] | None = None, null: bool = False) -> None:
        self._fragments, self._keys, self._null = fragments, keys, null
        self._places: dict[str, int] = {}
        self.entries: list[Any] = []
        for entry in entries or ():
            self._append(entry)

    def add(self, fragments: list[Any]) -> list[Any]:
        """The list with these."""
        for entry in fragments:
            place = self._places.get(self._name(entry)) if self._is_named(entry) else None
            if place is None:
                self._append(entry)
            else:
                self._fragments.grow(self.entries, place, entry)
        return self.entries

    def more(self, fragment: Any, key: str) -> Callable[[str], None] | None:
        """What adds only a text, under `key`, to the entry that this fragment was added to.

        None where a fragment like it, with another text, would add something else.
        """
        if type(fragment) is not dict or not self._is_named(fragment):
            return None
        place = self._places.get(self._name(fragment))
        entry = self.entries[place] if place is not None else None
        if type(entry) is not dict or entry is fragment or type(entry.get(key)) is not str:
            return None
        if any(name != key and name not in ONCE and value is not None for name, value in fragment.items()):
            return None
        return partial(_append_text, entry, key)  # (it was copied when it grew)

    def _append(self, entry: Any) -> None:
        if type(entry) is dict:
            self._places.setdefault(self._name(entry), len(self.entries))
        self.entries.append(entry)

    def _name(self, entry: Node) -> str:
        return repr([entry.get(key) for key in self._keys])

    def _is_named(self, entry: Any) -> bool:
        first = self._keys[0]
        return type(entry) is dict and (first in entry if self._null else entry.get(first) is not None)


def details_of() -> Growing:
    """`reasoning_details`, to be added to: entries of one index and type are one."""
    return Growing(Fragments(), "index", "type", null=True)
