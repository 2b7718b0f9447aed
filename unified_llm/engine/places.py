"""Where things are: from a canonical node to the wire value it was read from, by structure.

Nothing is recorded while reading. When something is to be reported the two documents are walked side by side, as far
as needed: the rows say where a field is, unions and layouts read one node for each wire value. From the same walk
follow the report, the spelling that `read` keeps on nodes, and the certificate.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from .layouts import Blocks, Turns
from .runtime import spell
from .shape import Place, Shape
from .signals import Node
from .slots import Choices, Slots
from .spelling import compared
from .unions import Union

__all__ = ["Places", "keep_spelling", "leaves", "walk"]


class Places:
    """The places of the nodes of one document, found in the order of the document and no further than asked.

    >>> from unified_llm.engine import Context, Shape, Union, string, union
    >>> tools = Union("tools", tag=None)
    >>> _ = tools.case({"fn": {"name": string("name")}}, "function")
    >>> shape, x = Shape({"tools": union("tools", tools)}, name="demo"), Context("demo", "demo")
    >>> doc = {"tools": [{"fn": {"name": "f"}}]}
    >>> node = shape.read(doc, x)
    >>> Places(shape, node, doc).path_of(node["tools"][0], ("name",))
    ('tools', 0, 'fn', 'name')
    """

    def __init__(self, shape: Shape, node: Node, wire: Any, moved: dict[int, tuple[Node, Node]] | None = None) -> None:
        self.moved = moved or {}
        self.found: dict[int, Place] = {}
        self.turns: dict[int, tuple[Any, ...]] = {}  # the message of which a node is the first item
        self._walk = walk(shape, node, wire)

    def of(self, node: Node) -> Place | None:
        """The place of a node; None for one that was not read from the document."""
        stands = self.moved.get(id(node))
        mark = id(stands[1]) if stands is not None else id(node)
        found = self.found
        while mark not in found:
            place = next(self._walk, None)
            if place is None:
                return None
            if place.kind == "turn":
                self.turns[id(place.node)] = place.path
            else:
                found.setdefault(id(place.node), place)
        return found[mark]

    def path_of(self, node: Node, keys: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The wire path of a canonical path below a node; of the node itself where only that is known."""
        place = self.of(node)
        if place is None:
            return None
        if place.shape is None or not keys:
            return place.path
        if keys[0] == "opaque" and len(keys) > 1 and type(keys[1]) is int:
            piece = node["opaque"][keys[1]]
            kind = piece.get("kind") if type(piece) is dict else None
            inner = place.shape.opaque.get(kind) if type(kind) is str else None
        else:
            inner = path_in(place.shape, keys, place.wire)
        return place.path + _follow(place.wire, inner or ())


def path_in(shape: Shape, keys: tuple[Any, ...], wire: Any) -> tuple[Any, ...] | None:
    """Where a canonical path is in a wire object of this shape, however that spells it."""
    for row in shape.spread:
        if keys[0] in row.field.inner.roots:
            value = _at(wire, row.wire)
            if isinstance(row.field.inner, Choices):
                inner = path_in(row.field.inner.shape, keys, value[0] if type(value) is list and value else None)
                return None if inner is None else (*row.wire, 0, *inner)
            for case in row.field.inner.candidates(value):
                if case.matches_wire(value):
                    inner = path_in(case, keys, value)
                    return row.wire + (inner if inner is not None else (case.tag,) if case.tag else ())
            return row.wire
    found = shape.path_of(keys)
    for alias, main in shape.aliases.items():
        if found == main and _at(wire, main) is None and _at(wire, alias) is not None:
            return alias
    if found is None and shape.tag is not None and ".".join(map(str, keys)) in shape.constants:
        return (shape.tag,)
    return found


def _follow(wire: Any, path: tuple[Any, ...]) -> tuple[Any, ...]:
    """As much of a path as exists in a wire value, whose spelling may be shorter than the canonical one."""
    for depth, key in enumerate(path):
        if type(wire) is dict and key in wire:
            wire = wire[key]
        elif type(wire) is list and type(key) is int and key < len(wire):
            wire = wire[key]
        else:
            return path[:depth]
    return path


def walk(shape: Shape, node: Node, wire: Any) -> Iterator[Place]:
    """Every node of a document with its place; what is near the root first, the turns of a conversation last."""
    yield Place(node, (), shape, wire)
    queue: deque[Place] = deque([Place(node, (), shape, wire)])
    late: deque[Place] = deque()
    while queue or late:
        here = queue.popleft() if queue else late.popleft()
        for place in _inner(here):
            yield place
            if place.shape is not None and place.shape.structural:
                queue.append(place)


def _inner(here: Place) -> Iterator[Place]:
    """The nodes inside one, by its structural fields; the turns after the others."""
    assert here.shape is not None
    for row in here.shape.structural:
        wire = _at(here.wire, row.wire)
        if wire is None:
            continue
        value, inner, path = _at(here.node, row.key), row.field.inner, here.path + row.wire
        if isinstance(inner, Choices):
            if type(wire) is list and wire:
                yield from inner.walk(here.node, wire, path)
                yield from _inner(Place(here.node, (*path, 0), inner.shape, wire[0]))
        elif row.field.kind == "flatten":
            for case in inner.candidates(wire):
                if case.matches_wire(wire):
                    yield from _inner(Place(here.node, path, case, wire))
                    break
        elif value is None:
            continue
        elif isinstance(inner, Shape):
            if type(value) is dict:
                yield Place(value, path, inner, wire)
        elif isinstance(inner, Union):
            yield from _of_union(inner, row.field.kind, value, wire, path)
        elif isinstance(inner, Turns):
            if type(value) is list and type(wire) is list:
                yield from inner.walk(value, wire, path)
        elif isinstance(inner, (Blocks, Slots)) and type(value) is list:
            yield from inner.walk(value, wire, path, True)


def _of_union(union: Union, kind: str, value: Any, wire: Any, path: tuple[Any, ...]) -> Iterator[Place]:
    if kind == "one" or type(wire) is dict:
        node = value if kind == "one" else value[0] if type(value) is list and value else None
        if type(node) is dict:
            yield Place(node, path, union.shape_of(wire, node), wire)
    elif type(value) is list and type(wire) is list:
        for number, (node, w) in enumerate(zip(value, wire)):
            yield Place(node, (*path, number), union.shape_of(w, node), w)


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value.get(key) if type(value) is dict else None
    return value


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The leaves of a JSON value with their paths; an empty object or list is one."""
    if (type(value) is dict or type(value) is list) and value:
        for key, inner in value.items() if type(value) is dict else enumerate(value):
            yield from leaves(inner, (*path, key))
    else:
        yield path, value


def keep_spelling(shape: Shape, node: Node, given: Any, x: Any) -> None:
    """Find how a document was spelled, by writing what was read, and keep that on the nodes it belongs to."""
    own = type(x)(x.source, x.source)
    markers = compared(shape.write_or_explain(node, own), given)
    if not markers:
        return
    places = [*walk(shape, node, given)]
    for path, marker in markers.items():
        best: tuple[int, Place] | None = None
        for place in places:
            depth = len(place.path)
            if place.path == path[:depth] and len(path) > depth:
                # Of several nodes that were read from one message, the one whose field it is; else the first.
                own = place.shape is not None and path[depth] in place.shape.wire_tree.children
                rank = 3 * depth + (0 if place.kind == "whole" else 1 if place.kind == "turn" else 2 if own else -1)
                if place.kind == "part" and (not own or place.shape is None or place.shape.is_view):
                    continue
                if best is None or rank >= best[0]:
                    best = (rank, place)
        if best is not None:
            place = best[1]
            below = "/".join(map(str, path[len(place.path) :]))
            spell(place.node, f"../{below}" if place.kind == "turn" else below, marker, x)
