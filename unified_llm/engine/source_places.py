"""Where the present core looks for the leaves of what shapes read, until every kind of document is a shape.

The structure of a shape contains where a canonical key is in its wire object; the present core looks into the notes of
a reader. What does not follow from the name of a key is noted here, for a document, a part of one, or a node.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ..foundation.json_paths import at
from . import Shape, Union, walk
from .compiler.rows import roots_of
from .pairs.mapping import Mapping
from .pairs.reading import Reader
from .pairs.table import Field, Table

__all__ = ["Family", "note_node", "note_places", "placed_in", "settings_of"]

Node = dict[str, Any]


class Family(Union):
    """A family of the present core as the cases of a field."""

    def __init__(self, family: Mapping, write: Callable[[list[Node], Any], list[Any]] | None) -> None:
        super().__init__(family.name, family.tag)
        self.family = family
        self.written: Callable[[list[Node], Any], list[Any]] = write or (lambda nodes, w: w.nodes(family, nodes))

    def read(self, wires: list[Any], x: Any) -> list[Node]:
        return x.reader.nodes(self.family, wires)  # type: ignore[no-any-return]

    def write(self, nodes: list[Node], x: Any) -> list[Any]:
        return self.written(nodes, x.writer)


def settings_of(shape: Shape) -> Table:
    """The fields of a document that have a key of their own on both sides, as the present core looks them up."""
    plain = [row for row in shape.rows if len(row.wire) == len(row.key) == 1 and row.field.inner is None]
    found = {row.wire[0]: row.field.key for row in plain if row.field.kind != "enum"}
    for row in shape.rows:
        wire, key = row.wire[:1], row.key[:1]
        if len(row.wire) > 1 and len(row.key) > 1 and _is_all(shape, key, wire):
            if all(each.wire[:1] == wire for each in shape.rows if each.key[:1] == key):
                found[wire[0]] = key[0]  # an object that is one on both sides
    return Table(shape.node, *(Field(wire, key) for wire, key in found.items()))


@cache
def placed_in(shape: Shape) -> frozenset[str]:
    """The keys of a node of which a place is to be noted."""
    inner = {root for row in (*shape.structural, *shape.spread) for root in roots_of(row)}
    inner.difference_update(row.key[0] for row in shape.structural if isinstance(row.field.inner, Family))
    told = {"type"} if len(shape.constants) > 1 else set[str]()
    return frozenset({*_moved_from(shape), *inner, *told, *(["opaque"] if shape.opaque else [])})


def note_node(cases: Union, node: Node, wire: Node, r: Reader) -> None:
    """Note where the values of one node are that a case of the union read."""
    shape = cases.shape_of(wire, node)
    if shape is not None:
        _note_shape(shape, node, wire, r)


def _note_shape(shape: Shape, node: Node, wire: Node, r: Reader) -> None:
    _place_moved(shape, node, r)
    for row in shape.structural:
        inner, below = at(node, row.key), at(wire, row.wire)
        if isinstance(row.field.inner, Shape) and inner and type(below) is dict:
            first = (0,) if type(inner) is list else ()
            for keys, path in row.field.inner.places.items():
                r.place(node, row.key + first + keys, row.wire + path)
    _note_spread(shape, node, wire, r)
    pieces = node.get("opaque") or ()
    for number, piece in enumerate(pieces) if shape.opaque else ():
        if piece["kind"] in shape.opaque:
            r.place(node, ("opaque", number) if len(pieces) > 1 else ("opaque",), shape.opaque[piece["kind"]])
    if len(shape.constants) > 1:  # its tag is more specific than the type
        for name in shape.constants:
            told = tuple(name.split("."))
            if (id(node), *told) not in r.places:
                r.place(node, told, (shape.tag,))


def _note_spread(shape: Shape, node: Node, wire: Node, r: Reader) -> None:
    for row in shape.spread:
        value = at(wire, row.wire)
        for case in row.field.inner.candidates(value) if value is not None else ():
            if case.matches_wire(value):
                _place_moved(case, node, r, row.wire)
                roots = {keys[:1] for keys in case.leaves}
                if len(roots) == 1 and not roots <= case.leaves:  # it is this object
                    r.place(node, roots.pop(), row.wire)
                break


def _place_moved(shape: Shape, node: Node, r: Reader, above: tuple[str, ...] = ()) -> None:
    for root, moved in _moved_from(shape).items():
        if root in node:
            for keys, path in moved:
                if (node[root] if len(keys) == 1 else at(node, keys)) is not None:
                    r.place(node, keys, above + path if above else path)


def note_places(shape: Shape, node: Node, doc: Node, r: Reader, whole: bool) -> None:
    """Note where the values of a document are, and its nodes if it is `whole`: all of it is of shapes."""
    if not whole:
        # (The settings of a document are found by their table.)
        for root, moved in (_moved_by_root if doc is not r.doc else _told_of_root)(shape):
            for keys, path in moved if node.get(root) is not None else ():
                if len(keys) == 1 or at(node, keys) is not None:
                    r.place(node, keys, path)
        _note_spread(shape, node, doc, r)
        for row in shape.structural:
            inner, below = at(node, row.key), at(doc, row.wire)
            if row.field.kind == "nested" and type(inner) is dict and type(below) is dict:
                note_places(row.field.inner, r.made(inner, below), below, r, whole=False)
        return
    for place in walk(shape, node, doc):
        if type(place.wire) is not dict and place.path:  # a value without an identity is found by where it stands
            r.made(place.node, at(doc, place.path[:-1]), place.path[-1])
        elif place.node is not node:
            r.made(place.node, place.wire)
        before: Any = place.node
        leaves = place.shape.leaves if place.shape is not None else frozenset()
        for keys, path in _moved(place.shape) if place.shape is not None else ():
            holder = at(place.node, keys[:-1])
            if keys in leaves and type(holder) is dict and keys[-1] in holder:
                if holder is not place.node and holder is not before:
                    r.made(holder, place.wire)
                before = holder
                r.place(holder, keys[-1:], path)


@cache
def _moved(shape: Shape) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The canonical keys of a shape that are elsewhere in its objects. (An object of one field is where that is.)"""
    nested = {row.key for row in shape.rows if row.field.kind == "nested"}
    found = [(keys, shape.path_of(keys)) for keys in (*shape.places, *sorted(shape.inside)) if keys not in nested]
    return [
        (keys, path)
        for keys, path in found
        if path is not None and path != keys and (keys in shape.leaves or _is_all(shape, keys, path))
    ]


_Moved = list[tuple[tuple[str, ...], tuple[str, ...]]]


@cache
def _moved_by_root(shape: Shape) -> list[tuple[str, _Moved]]:
    """The same by the first canonical key."""
    return _by_root(_moved(shape))


@cache
def _told_of_root(shape: Shape) -> list[tuple[str, _Moved]]:
    """The same without what is in its table, and what is in an object of its own name."""
    known = settings_of(shape).wire_keys
    return _by_root([(k, path) for k, path in _moved(shape) if path[0] not in known and path[: len(k)] != k])


def _by_root(moved: _Moved) -> list[tuple[str, _Moved]]:
    found: dict[str, _Moved] = {}
    for keys, path in moved:
        found.setdefault(keys[0], []).append((keys, path))
    return [*found.items()]


def _is_all(shape: Shape, keys: tuple[str, ...], path: tuple[Any, ...]) -> bool:
    """Whether a wire object holds nothing but what is below a canonical key."""
    below = [row for row in shape.rows if row.wire[: len(path)] == path]
    return path not in shape.places.values() and all(row.key[: len(keys)] == keys for row in below)


@cache
def _moved_from(shape: Shape) -> dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]]:
    """The same by the first key, without what is inside something that moved: its place is needed most."""
    moved = dict(_moved(shape))
    found: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {}
    for keys, path in moved.items():
        if not any(keys[:depth] in moved for depth in range(1, len(keys))):
            found.setdefault(keys[0], []).append((keys, path))
    return found
