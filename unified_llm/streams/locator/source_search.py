"""The search for the sources of losses in a stream, of which only some events are still there.

What is known of those is in the trail (`event_sources.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...foundation.json_paths import Keys, at, follow, pointer
from ...losses import Loss
from ...losses.locator import Finder
from ...types._tables import CHILDREN

if TYPE_CHECKING:
    from .event_sources import Trail

__all__ = ["StreamFinder", "within"]

Node = dict[str, Any]


class StreamFinder(Finder):
    """The same search, in a document that is a list of events of which only some are still there."""

    def __init__(self, trail: Trail, events: list[Node], target: list[Any], sent: int) -> None:
        super().__init__(events, target, trail.writer, trail.reader, trail.source, trail.goal, "response", ())
        self.trail: Trail = trail
        self.sent: int = sent
        self._read = trail.nodes
        self._made_of, self._places_of = trail.made_of, trail.places_of
        self.wires: dict[int, Any] = trail.wires
        self.turns: dict[int, Any] = trail.turns
        self.now: Keys = (trail.reader.number, "data")
        self._places: dict[int, Keys] = {}  # where wire nodes stand
        # By wire node that was put together: the places of the pieces below each place; and the losses so expanded.
        self._below: dict[int, dict[str, list[str]]] = {}
        self._whole: dict[int, str | None] = {}  # its place, if there are none but for the whole
        self._expanded: set[Loss] = set()

    def loss(self, node: Node, keys: Keys, fate: str, detail: str, capability: str | None) -> list[Loss]:
        out = super().loss(node, keys, fate, detail, capability)
        gathered = self.trail.reader.gathered
        if not gathered:
            return out
        wire = self.turns.get(id(node)) if keys[:1] == ("extra",) and keys[2:3] == ("turn",) else self._wire(node)
        if id(wire) not in gathered:
            return out
        # Of what was put together, be it the whole or a value in it, each piece is lost with it.
        for lost in tuple(out):
            if lost not in self._expanded:
                self._expanded.add(lost)
                pieces = self._pieces(id(wire), lost.path)
                if pieces:
                    out += [lost._replace(path=path) for path in pieces]
        return out

    def _pieces(self, wire: int, whole: str) -> Sequence[str]:
        """Where the further pieces came from of what was put together and stands at a place."""
        if wire not in self._below:
            sources = self.trail.reader.gathered[wire][1]
            flat = max(map(len, sources), default=0) < 2
            self._whole[wire] = pointer(sources.get((), ())) if flat else None
            self._below[wire] = {} if flat else _spread(sources)
        if whole == self._whole[wire]:
            # Where nothing lies below another piece, only the whole has any.
            self._whole[wire] = None
            self._below[wire] = _spread(self.trail.reader.gathered[wire][1])
        return self._below[wire].get(whole, ())

    def _wire(self, node: Any) -> Any:
        return self.wires.get(id(node)) if type(node) is dict else None

    def _path(self, wire: Any) -> Keys:
        return self._join(wire, ())

    def _came_from(self, where: Keys, node: int, place: Keys) -> Iterable[Keys]:
        found, places = self._told_at(where, self._wire(self._read.get(node)), place), self.reader.places  # type: ignore[union-attr]
        return [leaf for leaf in found if self._absolute(leaf[0], places[leaf]) == where]

    def _told_at(self, where: Keys, wire: Any, place: Keys) -> dict[Keys, None]:
        """The leaves that may have come from a path, which is that of `place` in a wire node."""
        if self.trail.unindexed:
            self.trail.index()
        by_place, found = self.trail.by_place, dict[Keys, None]()
        for spot in (*self.trail.spots(where), (id(wire), place)):
            if spot in by_place:
                found |= by_place[spot]
        return found

    def _join(self, wire: Any, keys: Keys) -> Keys:
        known, pieces = id(wire), self.trail.reader.gathered
        if known not in pieces:
            if known in self._places:
                found = self._places[known]
            else:
                found = self._places[known] = self.trail.path(wire) or self.now
            return self.now if found is self.now else found + keys
        # What was put together stands in no event.
        sources = pieces[known][1]
        if keys in sources:
            return sources[keys]
        for depth in range(len(keys) - 1, -1, -1):
            source = sources.get(keys[:depth])
            if source is not None:
                return source + follow(self._within(source), keys[depth:])
        return self.now

    def _within(self, keys: Keys) -> Any:
        docs = self.reader.docs if self.reader is not None else {}
        return at(docs.get(keys[0]), keys[2:])

    def _told(self, node: Node, keys: Keys, fate: str) -> Keys | None:
        known, reader = id(node), self.trail.reader
        own = (known, *keys)
        if fate != "lost" or own not in reader.places or known in reader.below or known in reader.stands:
            return super()._told(node, keys, fate)
        place, wire, value = reader.places[own], self.wires.get(known), at(node, keys)
        if type(wire) is not dict:
            return None
        if (type(value) is dict or type(value) is list) and (id(value) in self.wires or id(value) in self._places_of):
            return None  # what is in it has places of its own
        depth = len(keys)
        for its in self._places_of.get(known, ()):
            if its[:depth] == keys and its != keys:
                return None
        around = None if place[:1] == (...,) else self._join(wire, ())
        where = place[1:] if around is None else around + place
        found = self._told_at(where, wire, place)
        if len(found) != 1 or own not in found:
            # An answer is read when it begins and again when it ends: that is one leaf.
            mine = self._stands_for(known)
            for leaf in found:
                if (leaf[1:] != keys or self._stands_for(leaf[0]) != mine) and (
                    self._absolute(leaf[0], reader.places[leaf]) == where
                ):
                    return None
        if around is not None and (around is self.now or id(wire) in reader.gathered):
            return self._join(wire, place)
        return where

    def _source(self, node: Any, keys: Keys) -> Keys:
        return super()._source(node, keys) or self.now

    def _stands_for(self, node: int) -> int:
        # What has no type is the response's: its values are read when they come, and again at the end.
        read = self._read.get(node)
        return super()._stands_for(node) if read is None or "type" in read else 0

    def _added(self, node: Any, keys: Keys) -> Keys:
        above = self._target_paths.get(id(node)) or _holder(self.target, node, keys)
        if not above:
            return (self.sent + max(len(self.target) - 1, 0), "data")
        return (self.sent + above[0], "data", *above[1:], *keys)

    def _leaf(self, node: Node, wire: Any, keys: Keys, exact: bool = False) -> Keys:
        found = super()._leaf(node, wire, keys, exact)
        if keys and (not found or found == keys) and type(node) is dict and "type" not in node:
            # A response is never the root here, and has its settings table all the same.
            table = self.source.settings.get(self._name_of(node)) if self.source is not None else None
            key = table.wire_key(keys) if table is not None else None
            if key is not None and type(wire) is dict and key in wire:
                return (key, *follow(wire[key], keys[1:]))
        return found

    def _parent(self, node: Any) -> tuple[Any, Any] | None:
        if self.parents is None:
            # Mostly it hangs on the response.
            responses = {id(event["response"]): event["response"] for event in self.root if "response" in event}
            found = [(each, key) for each in responses.values() for key, value in each.items() if value is node]
            if len(found) == 1:
                return found[0]
        return super()._parent(node)

    def _named(self, node: Node) -> str:
        for event in self.root:
            for key, value in event.items():
                if value is node:
                    # An error is the one event that has its type's name in common with a node.
                    name = "event:error" if event["type"] == "error" else event["type"]
                    return next(iter(CHILDREN.get(name, {}).get(key, ())), "")
            place = within(event["response"], node, 2) if type(event.get("response")) is dict else ()
            name, here = "response", event.get("response")
            for key in place:
                if "type" in here:
                    break
                children = CHILDREN.get(name, {}).get(key, ())
                name, here = children[0] if len(children) == 1 else "", here[key]
            else:
                if place:
                    return name
        return super()._named(node)


def _spread(sources: dict[Keys, Keys]) -> dict[str, list[str]]:
    """Of what was put together of these pieces: the places of those below each place."""
    below: dict[Keys, list[str]] = {}
    first: dict[str, Keys] = {}
    for keys, path in sources.items():
        place = pointer(path)
        first.setdefault(place, keys)
        for depth in range(len(keys)):
            below.setdefault(keys[:depth], []).append(place)
    return {place: below.get(keys, []) for place, keys in first.items()}


def within(holder: Any, node: Any, depth: int) -> Keys:
    """Where a node stands in an object, that deep, and in no list."""
    if type(holder) is not dict:
        return ()
    for key, value in holder.items():
        if value is node:
            return (key,)
    for key, value in holder.items() if depth > 1 else ():
        below = within(value, node, depth - 1) if type(value) is dict else ()
        if below:
            return (key, *below)
    return ()


def _holder(target: Any, node: Any, keys: Keys) -> Keys:
    """The path of a copy of `node` in what was written: the last object with the same value under its key."""
    value = at(node, keys)
    if value is None:
        return ()
    return next((path for held, path in reversed(_objects(target)) if at(held, keys) == value), ())


def _objects(root: Any) -> list[tuple[Any, Keys]]:
    """Every object below a root with its path."""
    out: list[tuple[Any, Keys]] = []
    stack: list[tuple[Any, Keys]] = [(root, ())]
    while stack:
        here, path = stack.pop()
        if type(here) is dict:
            out.append((here, path))
        for key, value in here.items() if type(here) is dict else enumerate(here):
            if type(value) is dict or type(value) is list:
                stack.append((value, (*path, key)))
    return out
