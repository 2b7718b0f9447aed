"""Where things are: from a canonical node to the wire value it was read from, by structure.

Nothing is recorded while reading. When something is to be reported the two documents are walked side by side, as far
as needed: the rows contain where a field is, unions and layouts read one node for each wire value. From the same walk
follow the report, the spelling that `read` keeps on nodes, and the certificate.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from ..compiler.runtime import compared, spell
from ..compiler.signals import Node
from .layouts import Layout
from .shape import Family, Place, Shape
from .timeline import Choices, Turns, members
from .unions import Union

__all__ = ["Places", "at", "keep_spelling", "leaves", "walk"]


class Places:
    """The places of the nodes of one document. Nodes are listed field by field, as far as one is looked for; places
    are worked out for the requested nodes, and their neighbors in one message.

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
        self.moved: dict[int, tuple[Node, Node]] = moved or {}
        root = Place(node, (), shape, wire)
        self.found: dict[int, Place] = {id(node): root}
        self.turns: dict[int, tuple[Any, ...]] = {}  # the message of which a node is the first item
        self._families = families(root)
        self._listed: dict[int, tuple[Family, int]] = {}
        self._owners: dict[int, Node] | None = None

    def of(self, node: Node) -> Place | None:
        """The place of a node; None for one that was not read from the document."""
        stands = self.moved.get(id(node))
        mark = id(stands[1]) if stands is not None else id(node)
        place = self.found.get(mark)
        while place is None:
            known = self._listed.pop(mark, None)
            if known is not None:
                self._note(known[0].find(known[1]))
                place = self.found.get(mark)
                continue
            family = next(self._families, None)
            if family is None:
                return self._inside(mark)
            for number, each in enumerate(family.nodes):
                self._listed.setdefault(id(each), (family, number))
        return place

    def _note(self, places: Iterable[Place]) -> None:
        for place in places:
            if place.kind == "turn":
                self.turns[id(place.node)] = place.path
            else:
                self.found.setdefault(id(place.node), place)

    def _inside(self, mark: int) -> Place | None:
        """The place of a node that is deeper inside one of those that were listed."""
        if self._owners is None:
            self._owners = {}
            tops = [place.node for place in self.found.values() if place.path]
            tops += [family.nodes[number] for family, number in self._listed.values()]
            marks = set(map(id, tops))
            for top in tops:
                stack: list[Any] = [*top.values()]
                while stack:
                    value = stack.pop()
                    if type(value) is list:
                        stack += value
                    elif type(value) is dict and id(value) not in marks:
                        self._owners[id(value)] = top
                        stack += value.values()
        owner = self._owners.pop(mark, None)
        above = self.of(owner) if owner is not None else None
        if above is not None:
            self._note(_walk(above))
        return self.found.get(mark)

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
            value = at(wire, row.wire)
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
        if found == main and at(wire, main) is None and at(wire, alias) is not None:
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
    """Every node of a document with its place; what is near the root first."""
    root = Place(node, (), shape, wire)
    yield root
    yield from _walk(root)


def _walk(root: Place) -> Iterator[Place]:
    queue = deque([root])
    while queue:
        for family in families(queue.popleft()):
            for place in family.find(None):
                yield place
                if place.shape is not None and place.shape.structural:
                    queue.append(place)


def families(here: Place) -> Iterator[Family]:
    """The nodes inside one, field by field; the turns of a conversation last."""
    for row in here.shape.structural if here.shape is not None else ():
        wire = at(here.wire, row.wire)
        if wire is None:
            continue
        value, inner, path = at(here.node, row.key), row.field.inner, here.path + row.wire
        if isinstance(inner, Choices):
            if type(wire) is list and wire:
                yield inner.family(here.node, wire, path)
                yield from families(Place(here.node, (*path, 0), inner.shape, wire[0]))
        elif row.field.kind == "flatten":
            case = next((case for case in inner.candidates(wire) if case.matches_wire(wire)), None)
            yield from families(Place(here.node, path, case, wire))
        elif isinstance(inner, (Shape, Union)) and (type(value) is dict or type(wire) is dict):
            node = value[0] if type(value) is list and value else value
            if type(node) is dict:
                shape = inner if isinstance(inner, Shape) else inner.shape_of(wire, node)
                yield Family([node], partial(_lone, Place(node, path, shape, wire)))
        elif type(value) is list and isinstance(inner, Turns):
            if type(wire) is list:
                yield inner.family(value, wire, path)
        elif type(value) is list and isinstance(inner, Union):
            if type(wire) is list:
                yield Family(value, partial(_of_union, inner, value, wire, path))
        elif type(value) is list:
            yield Family(members(value), partial(_of_turn, inner, value, wire, path))


def _lone(place: Place, number: int | None) -> tuple[Place]:
    return (place,)


def _of_turn(
    layout: Layout, items: list[Node], wire: Any, path: tuple[Any, ...], number: int | None
) -> Iterator[Place]:
    return layout.walk(items, wire, path, True)


def _of_union(
    union: Union, nodes: list[Node], wires: list[Any], path: tuple[Any, ...], number: int | None
) -> list[Place]:
    if number is not None:
        nodes, wires, first = nodes[number : number + 1], wires[number : number + 1], number
    else:
        first = 0
    pairs = enumerate(zip(nodes, wires), first)
    return [Place(node, (*path, each), union.shape_of(w, node), w) for each, (node, w) in pairs]


def at(value: Any, path: tuple[Any, ...]) -> Any:
    """What is at a path of objects; None where nothing is."""
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
