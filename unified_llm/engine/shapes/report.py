"""The loss report: what `Context` recorded, with the JSON pointer and the capability of each.

A pointer names the leaf of the caller's document, else the smallest value of which nothing arrived, and never the
document itself. The capability is that of the canonical field, by the generated tables; of a key that only its own
protocol has, the shape's row for it (`natives`), else `native.field`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...losses import Fate, Loss
from ...types import _tables
from ..compiler.context import Context, Raw
from ..compiler.rows import pointer
from ..compiler.runtime import said
from ..compiler.signals import NATIVE, Node
from .places import Places, at, leaves
from .shape import Place, Shape

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
    report: _Report | None = None
    out: dict[Loss, None] = {}
    lost = f"{x.target} has no equivalent"
    for raw in x.raw:
        if raw.node is root:
            entries = _entries(shape, raw.keys, doc)
            if entries is not None:
                detail = raw.detail or (lost if raw.fate == "lost" else "")
                for where, found in entries:
                    out[_loss(where, found, raw.fate, detail)] = None
                continue
        if report is None:
            report = _Report(x, shape, root, doc, result)
        report.add(raw, out)
    return list(out)


def _entries(shape: Shape, keys: tuple[Any, ...], wire: Any) -> list[tuple[str, str]] | None:
    """Pointer below the wire object, and capability, of the value at canonical keys; None if that is not declared.

    A key that is an object of several fields is the leaves of those that are there.
    """
    found = (shape.told or _told(shape)).get(keys)
    if found is not None:
        if len(found) == 1 and found[0][0] == ():
            return [found[0][1:]]
        return [(where, named) for path, where, named in found if said(at(wire, path))]
    for row in shape.spread:
        if row.field.kind == "flatten" and keys[:1] and keys[0] in row.field.inner.roots:
            value = at(wire, row.wire)
            for case in row.field.inner.candidates(value):
                if case.matches_wire(value):
                    inner = _of_case(shape, row.wire, case, keys)
                    return [inner] if inner is not None else None
    return None


def _of_case(shape: Shape, above: tuple[str, ...], case: Shape, keys: tuple[Any, ...]) -> tuple[str, str] | None:
    """The same of a field of a flattened case, or of the constant that follows from its tag."""
    known = shape.told_in.get((case.name, keys))
    if known is None:
        where = case.places.get(keys)
        if where is None and case.tag is not None and ".".join(map(str, keys)) in case.constants:
            where = (case.tag,)
        if where is None or where in case.aliases.values():
            return None
        known = shape.told_in[case.name, keys] = (pointer(above + where), capability(shape.node, {}, keys))
    return known


class _Report:
    def __init__(self, x: Context, shape: Shape, root: Node, doc: Any, result: Any) -> None:
        self.x, self.result, self.doc = x, result, doc
        self.places = Places(shape, x.before or root, doc, x.moved)
        self.pointers: dict[int, str] | None = None
        self.prefixes: dict[tuple[Any, ...], str] = {}
        self.last: tuple[Any, Place | None, str] = (None, None, "")  # most losses come node by node
        self.lost = f"{x.target} has no equivalent"

    def add(self, raw: Raw, out: dict[Loss, None]) -> None:
        """The losses of one entry of the book."""
        node, keys, fate, detail, about = raw
        if fate == "added":
            found = capability(about[0], node, about[1]) if about else "native.field"
            where = self.in_result(node) + pointer(keys)
            out[_loss(where, found, fate, detail or f"required by {self.x.target}; generated", "target")] = None
            return
        if node is not self.last[0]:
            here = self.places.of(node)
            self.last = (node, here, "" if here is None else self.above(here.path))
        _, place, above = self.last
        if place is None:
            return  # a pass made it; what it stands for is reported where that was
        if keys and keys[0] == "extra":
            out.update(dict.fromkeys(self.of_extra(raw, place)))
        elif not keys:
            out.update(dict.fromkeys(self.of_node(raw, place)))
        else:
            detail = detail or (self.lost if fate == "lost" else "")
            entries = _entries(place.shape, keys, place.wire) if place.shape is not None else None
            for where, found in entries if entries is not None else ():
                out[_loss(above + where, found, fate, detail)] = None
            if entries is None:
                path = self.places.path_of(node, keys) or place.path
                out[_loss(pointer(path), capability(_name(place, node), node, keys), fate, detail)] = None

    def above(self, path: tuple[Any, ...]) -> str:
        """The pointer of a node, which mostly is the element of a list that others are in."""
        if not path or type(path[-1]) is not int:
            return pointer(path)
        prefix = self.prefixes.get(path[:-1])
        if prefix is None:
            prefix = self.prefixes[path[:-1]] = pointer(path[:-1])
        return f"{prefix}/{path[-1]}"

    def of_node(self, raw: Raw, place: Place) -> Iterator[Loss]:
        """A node of which nothing was written."""
        node, _, fate, detail, _ = raw
        found = capability(_name(place, node), node, ())
        detail = detail or (f"{self.x.source}-only" if node.get("type") == NATIVE else self.lost)
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
        """The capability of a wire key: of the field it is a value for, or the shape's row for it."""
        if shape is None:
            return "native.content"
        known = shape.named or _named(shape)
        for depth in range(len(path), 0, -1):
            if path[:depth] in known:
                return known[path[:depth]]
        return "native.field"

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


def _told(shape: Shape) -> dict[tuple[Any, ...], list[tuple[tuple[str, ...], str, str]]]:
    """Of the canonical keys that are at one place in every document: wire path, pointer, and capability of each leaf.

    The wire path is left out of what is a single leaf, which was looked at when it was lost.
    """
    moving = {*shape.aliases.values(), *(row.wire for row in shape.rows if row.field.lone)}
    leaves = {
        key: (wire, pointer(wire), capability(shape.node, {}, key))
        for key, wire in shape.places.items()
        if key[0] != "opaque"
    }
    still: dict[tuple[Any, ...], list[tuple[tuple[str, ...], str, str]]]
    still = {key: [((), *leaf[1:])] for key, leaf in leaves.items() if leaf[0] not in moving}
    for keys in shape.inside:
        below = [leaf for key, leaf in leaves.items() if key[: len(keys)] == keys]
        if not any(leaf[0] in moving for leaf in below):
            still[keys] = below
    shape.told.update(still)
    return shape.told


def _named(shape: Shape) -> dict[tuple[Any, ...], str]:
    """The capability of each wire key that a shape has a field or a row for."""
    known = {wire: capability(shape.node, {}, key) for key, wire in shape.places.items()}
    shape.named.update({tuple(key.split(".")): found for key, found in shape.natives.items()})
    shape.named.update(known)
    return shape.named


def _name(place: Place, node: Node) -> str:
    type_ = node.get("type")
    return type_ if type(type_) is str and type_ in _tables.CAPABILITY else place.shape.node if place.shape else ""


def capability(name: str, node: Node, keys: tuple[Any, ...]) -> str:
    """The capability of a canonical path below the node of this `name` in the tables.

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
