"""The leaf of the caller's document that a canonical leaf was read from, or the smallest known node around it."""

from __future__ import annotations

from typing import Any

from ..foundation.json_paths import Keys, at, exists, follow, ids_below, leaves
from .source_map import Notes

__all__ = ["Sources"]

Node = dict[str, Any]


class Sources(Notes):
    """The search for where leaves come from, over the documents of one conversion."""

    def _placed(self, node: Node, keys: Keys) -> list[Keys]:
        """Where the leaves of an object came from, if its reader gathered them from several places."""
        if not keys or self.reader is None:
            return []
        below = [key for key in self._placed_below(id(node)) if key[: len(keys)] == keys and key != keys]
        table = self.source.settings.get(self.name) if self.source is not None and node is self.root else None
        if table is not None and len(keys) == 1:
            below += table.below(keys[0])
        found = [self._source(node, path) for path in dict.fromkeys(below) if at(node, path) is not None]
        if self._place(id(node), keys) is None:
            return found
        own = self._source(node, keys)
        return [own, *(path for path in found if path[: len(own)] != own)]

    def source_of(self, node: Any, keys: Keys) -> Keys:
        """The path in the caller's document of a canonical leaf, or of the smallest node around it that is known."""
        return self._source(node, keys)

    def _source(self, node: Any, keys: Keys) -> Keys:
        """The path in the caller's document of the canonical leaf `keys` below `node`."""
        if self.reader is None:
            return (*self._path(self._given.get(id(node), node)), *keys)
        inner = at(self._given_root if node is self.root else node, keys) if len(keys) > 1 else None
        if type(inner) is dict and id(inner) in self.wires:
            return self._path(self.wires[id(inner)])  # a node that was read by itself has a place of its own
        wire = self._wire(node)
        while wire is None:
            above = self._parent(node)
            if above is None:
                return ()
            node, key = above
            keys = (key, *keys)
            wire = self._wire(node)
        leaf = self._leaf(node, wire, keys)
        return leaf[1:] if leaf[:1] == (...,) else self._join(wire, leaf)

    def _shared(self, node: Node) -> list[Keys]:
        """The leaves of a node that came from a wire node together with others, of which something may have arrived."""
        wire = self._wire(node)
        if self.reader is None or wire is None or id(node) in self.reader.below:
            return []
        made = self._made_below.get(id(wire))
        if made is None:
            made_of = self._made_of
            below = [each for inner in made_of.keys() & ids_below(wire) for each in made_of[inner]]
            made = self._made_below[id(wire)] = frozenset(below) - self._replaced if below else frozenset()
        if not made or made <= ids_below(node):
            return []
        own_leaves = [
            keys
            for keys in leaves(node)
            if keys[0] not in ("extra", "turn") and (keys[-1] != "type" or self._place(id(node), keys) is not None)
        ]
        # What another node contains as well was not lost with this one.
        told = dict.fromkeys(self._as_read(node, keys) for keys in own_leaves)
        gone = [keys for keys in told if not self._half_said(node, keys)]
        found = (self._by_itself(node, wire, keys) for keys in gone or told)
        return list(dict.fromkeys(path for path in found if path))

    def _is_copied(self, node: Node, wire: Node, keys: Keys) -> bool:
        """Whether a leaf is at the same keys of the wire node, in another object: then the object is nowhere in it."""
        there = wire.get(keys[0])
        if type(there) is not dict or there is node.get(keys[0]) or len(keys) < 2:
            return False
        return exists(wire, keys) and bool(at(wire, keys) == at(node, keys))

    def _by_itself(self, node: Node, wire: Any, keys: Keys) -> Keys:
        """The path of a leaf of a node that shares its wire node: the leaf's own, else that of what it was read in."""
        for depth in range(len(keys)):
            inner = at(node, keys[:depth])
            its = wire if depth == 0 else self.wires.get(id(inner)) if type(inner) is dict else None
            if its is None or (depth and its is wire):
                continue
            leaf = self._leaf(inner, its, keys[depth:], exact=True)
            if leaf or depth:
                return leaf[1:] if leaf[:1] == (...,) else self._join(its, leaf)
        return ()

    def _as_read(self, node: Node, keys: Keys) -> Keys:
        """The part of a canonical path that was read in one piece."""
        depths = range(len(keys), 0, -1)
        return next((keys[:depth] for depth in depths if self._place(id(node), keys[:depth]) is not None), keys)

    def _elsewhere(self, node: Node) -> list[Keys]:
        """The leaves of a node that stand outside its wire node, and go with it when it is dropped."""
        if self.reader is None:
            return []
        places = [self.reader.places[id(node), *keys] for keys in self._places_of.get(id(node), ())]
        return [place[1:] for place in places if place[:1] == (...,)]

    def _leaf(self, node: Node, wire: Any, keys: Keys, exact: bool = False) -> Keys:
        below = self.reader.below.get(id(node)) if self.reader is not None else None
        if below is not None:
            return below
        if not keys or type(wire) is not dict:
            return ()
        if self.reader is not None and (self.reader.places or self.reader.stands):
            for depth in range(len(keys), 0, -1):
                place = self._place(id(node), keys[:depth])
                if place is not None and place[:1] == (...,):
                    return place + follow(self._within(place[1:]), keys[depth:])
                if place is not None:
                    return place + follow(at(wire, place), keys[depth:])
        if node is self.root and self.source is not None:
            table = self.source.settings.get(self.name)
            key = table.wire_key(keys) if table else None
            if key is not None and key in wire:
                below = keys[1:] if table is not None and table.wire_key(keys[:1]) is not None else keys[2:]
                inner = follow(wire[key], below)
                if len(inner) < len(below):
                    inner = self._search.value(wire[key], at(self._given_root, keys), keys[-1]) or inner
                return (key, *inner)
        if len(keys) == 1 and keys[0] in wire and wire[keys[0]] is node.get(keys[0]):
            return keys
        for depth in range(1, len(keys) if node is not self.root and not self._is_copied(node, wire, keys) else 0):
            # What was handed on as it was is the same object on both sides.
            above = at(node, keys[:depth])
            inside = self._search.object(wire, above) if type(above) is dict or type(above) is list else ()
            if inside:
                return inside + follow(above, keys[depth:])
        value = at(self._given_root if node is self.root else node, keys)
        same = follow(wire, keys)
        if same and at(wire, same) == value:
            return same
        found = self._search.value(wire, value, keys[-1])
        return found or (() if exact else same)
