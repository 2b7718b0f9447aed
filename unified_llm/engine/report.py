"""The loss report: what `Context` recorded, with the JSON pointer and the capability of each.

A pointer names the leaf of the caller's document, else the smallest value of which nothing arrived, and never the
document itself. The capability is that of the canonical field, by the generated tables; of a key that only its own
protocol knows, what the shape says of it (`natives`), else `native.field`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import _tables
from ..losses import Fate, Loss
from .context import Context, Raw
from .places import Places, leaves
from .rows import pointer
from .runtime import said
from .shape import Place, Shape
from .signals import NATIVE, Node

__all__ = ["capability", "located"]

_KEPT = 4096
_known: dict[tuple[Any, ...], Loss] = {}


def located(x: Context, shape: Shape, root: Node, doc: Any, result: Any) -> list[Loss]:
    """The losses of a conversion: `root` was read from `doc` with `shape`, and written as `result`.

    >>> from unified_llm.engine import Shape, integer
    >>> source, target = Shape({"seed?": integer("seed")}, name="a", node="request"), Shape({}, name="b")
    >>> x, doc = Context("a", "b"), {"seed": 7}
    >>> node = source.read(doc, x)
    >>> [(loss.path, loss.capability, loss.detail) for loss in located(x, source, node, doc, target.write(node, x))]
    [('/seed', 'sampling.seed', 'b has no equivalent')]
    """
    if not x.raw:
        return []
    told, report = shape.told or _told(shape), None
    lost = f"{x.target} has no equivalent"
    out: dict[Loss, None] = {}
    for raw in x.raw:
        here = told.get(raw.keys) if raw.node is root else None
        if here is not None:
            out[_loss(here[0], here[1], raw.fate, raw.detail or (lost if raw.fate == "lost" else ""))] = None
            continue
        if report is None:
            report = _Report(x, shape, root, doc, result)
        out.update(dict.fromkeys(report.losses(raw)))
    return list(out)


class _Report:
    def __init__(self, x: Context, shape: Shape, root: Node, doc: Any, result: Any) -> None:
        self.x, self.result, self.doc = x, result, doc
        self.places = Places(shape, x.before or root, doc, x.moved)
        self.pointers: dict[int, str] | None = None
        self.last: tuple[Any, Place | None, str] = (None, None, "")  # most losses come node by node

    def losses(self, raw: Raw) -> Iterator[Loss]:
        node, keys, fate, detail, about = raw
        if fate == "added":
            found = capability(about[0], node, about[1]) if about else "native.field"
            where = self.in_result(node) + pointer(keys)
            yield _loss(where, found, fate, detail or f"required by {self.x.target}; generated", "target")
            return
        if node is not self.last[0]:
            at = self.places.of(node)
            self.last = (node, at, "" if at is None else pointer(at.path))
        _, place, above = self.last
        if place is not None and place.shape is not None:
            told = (place.shape.told or _told(place.shape)).get(keys)
            if told is not None:
                yield _loss(above + told[0], told[1], fate, detail or self.default(fate))
                return
        if place is None:
            return  # a pass made it; what it stands for is reported where that was
        if keys and keys[0] == "extra":
            yield from self.of_extra(raw, place)
        elif not keys:
            yield from self.of_node(raw, place)
        else:
            yield from self.of_key(raw, place)

    def of_key(self, raw: Raw, place: Place) -> Iterator[Loss]:
        """A canonical key: the leaf behind it, or the leaves, if it is an object of several fields."""
        node, keys, fate, detail, _ = raw
        shape = place.shape
        detail = detail or self.default(fate)
        below: list[Any] = []
        if shape is not None and keys in shape.inside:
            below = [key for key in shape.places if key[: len(keys)] == keys]
        for key in below:
            value: Any = place.wire  # not the node: a pass may have taken it away by now
            for step in shape.places[key] if shape is not None else ():
                value = value.get(step) if type(value) is dict else None
            if said(value):
                yield self.at(node, key, fate, detail, place)
        if not below:
            yield self.at(node, keys, fate, detail, place)

    def at(self, node: Node, keys: tuple[Any, ...], fate: Fate, detail: str, place: Place) -> Loss:
        path = self.places.path_of(node, keys) or place.path
        return _loss(pointer(path), capability(_name(place, node), node, keys), fate, detail)

    def of_node(self, raw: Raw, place: Place) -> Iterator[Loss]:
        """A node of which nothing was written."""
        node, _, fate, detail, _ = raw
        found = capability(_name(place, node), node, ())
        detail = detail or (f"{self.x.source}-only" if node.get("type") == NATIVE else self.default(fate))
        if place.kind != "part":
            yield _loss(pointer(place.path), found, fate, detail)
        elif type(node.get("content")) is list and place.shape is not None and place.shape.is_view:
            for part in node["content"]:
                inner = self.places.of(part)
                if inner is not None:
                    yield _loss(pointer(inner.path), capability(_name(inner, part), part, ()), fate, detail)
        else:
            keys = place.shape.wire_tree.children if place.shape is not None else place.wire
            for key in keys:
                if said(place.wire.get(key)) and key not in ("role", "type"):
                    yield _loss(pointer((*place.path, key)), found, fate, detail)

    def of_extra(self, raw: Raw, place: Place) -> Iterator[Loss]:
        """What a protocol kept beside the canonical keys: each leaf of it."""
        node, keys, fate, detail, _ = raw
        value: Any = node
        for key in keys:
            value = value[key]
        above = place.path
        if keys[2] == "turn":
            above = self.places.turns.get(id(place.node), place.path)
        for path, leaf in leaves(value):
            if said(leaf):
                whole = (*keys[3:], *path)
                found = self.of_wire(place.shape, whole) if keys[2] == "rest" else "native.field"
                where = pointer((*above, *whole))
                # Not through the memo: the path may hold a key that a client made up.
                yield Loss(where, found, fate, detail or f"{self.x.source}-only field")

    def of_wire(self, shape: Shape | None, path: tuple[Any, ...]) -> str:
        """The capability of a wire key: of the field it is a value for, or what the shape says of it."""
        if shape is None:
            return "native.content"
        for depth in range(len(path), 0, -1):
            for key, wire in shape.places.items():
                if wire == path[:depth]:
                    return capability(shape.node, {}, key)
            named = shape.natives.get(".".join(map(str, path[:depth])))
            if named is not None:
                return named
        return "native.field"

    def default(self, fate: str) -> str:
        return f"{self.x.target} has no equivalent" if fate == "lost" else ""

    def in_result(self, wire: Any) -> str:
        """The pointer of an object of the result."""
        if self.pointers is None:
            self.pointers = {}
            stack = [(self.result, "")]
            while stack:
                value, path = stack.pop()
                self.pointers[id(value)] = path
                for key, inner in value.items() if type(value) is dict else enumerate(value):
                    if type(inner) is dict or type(inner) is list:
                        stack.append((inner, path + pointer((key,))))
        return self.pointers.get(id(wire), "")


def _told(shape: Shape) -> dict[tuple[str, ...], tuple[str, str]]:
    """The pointer and capability of the fields of a shape that are at one place in every document."""
    moving = {*shape.aliases.values(), *(row.wire for row in shape.rows if row.field.lone)}
    told = {
        key: (pointer(wire), capability(shape.node, {}, key))
        for key, wire in shape.places.items()
        if wire not in moving and key[0] != "opaque"
    }
    shape.told.update(told)
    return told


def _name(place: Place, node: Node) -> str:
    type_ = node.get("type")
    return type_ if type(type_) is str and type_ in _tables.CAPABILITY else place.shape.node if place.shape else ""


def capability(name: str, node: Node, keys: tuple[Any, ...]) -> str:
    """The capability of a canonical path below the node that the tables know by `name`.

    >>> capability("request", {}, ("reasoning", "effort")), capability("function_call", {}, ())
    ('reasoning.effort', 'tools.function')
    """
    if node.get("type") == NATIVE:
        return "native.item" if "turn" in node else "native.content"
    table = _tables.CAPABILITY.get(name, {})
    found = table.get("", "native.item")
    for key in keys:
        if type(key) is not str:
            continue
        if key not in table:
            return found if key != keys[0] else "native.field"
        found = table[key]
        inner = _tables.CHILDREN.get(name, {}).get(key, ())
        name = inner[0] if len(inner) == 1 else ""
        table = _tables.CAPABILITY.get(name, {})
    return found


def _loss(path: str, capability: str, fate: Fate, detail: str, side: str = "source") -> Loss:
    """A loss of a declared place; the same one is the same object, as far as a bounded memo goes."""
    mark = (path, capability, fate, detail, side)
    found = _known.get(mark)
    if found is None:
        found = Loss(path, capability, fate, detail, side)  # type: ignore[arg-type]
        if len(_known) < _KEPT:
            _known[mark] = found
    return found
