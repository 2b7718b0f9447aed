"""A bridge between shapes and the pairs of functions that adapters still have, until every kind is a shape.

What a shape read can be written by functions, and the reverse; a family of nodes may have kinds of both (`declare`).
The engine derives from structure where a node was read; that is noted here as `locator.py` looks for it. What the
engine recorded while writing is handed to the `Writer`.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as MappingABC
from functools import cache, partial
from typing import Any

from ..foundation.errors import InvalidBody
from ..foundation.json_paths import at, pointer
from . import Context, Mismatch, Raw, Shape, Union, keep_spelling, spelled_as, walk
from .compiler.rows import roots_of
from .compiler.signals import FAULTS
from .pairs.mapping import IllTyped, Mapping
from .pairs.origins import is_own
from .pairs.reading import Reader
from .pairs.table import Field, Table
from .pairs.writing import NOTE, Writer
from .shapes.cases import OnDemand
from .shapes.places import path_in

__all__ = [
    "After",
    "Before",
    "Joined",
    "cases_of",
    "declare",
    "read_part",
    "reads",
    "settings_of",
    "write_part",
    "writes",
]

Node = dict[str, Any]
_GIVEN = "document of the same protocol"  # that of a conversion, from which the result is spelled
_ENGINE = "engine"  # the engine's context of a reading or writing

Pass = Callable[[Node, Context], None]
Before = Callable[[Node, Writer, Context], Node | None]
After = Callable[[Node, Node, Reader], Node]


class Joined(Context):
    """The engine's context of a reading or writing that functions take part in: what a shape holds may be theirs."""

    reader: Reader | None = None  # while one of its nodes is read: what a reader keeps must not hold the reader
    writer: Writer | None = None

    def piece(self, kind: str, data: str) -> Node | None:
        return super().piece(kind, data) if self.reader is None else self.reader.piece(kind, data)

    def owns(self, origin: Any) -> bool:
        return super().owns(origin) if self.writer is None else is_own({"origin": origin}, self.writer)


class _Family(Union):
    """A family of the present core as the cases of a field."""

    def __init__(self, family: Mapping, write: Callable[[list[Node], Writer], list[Any]] | None) -> None:
        super().__init__(family.name, family.tag)
        self.family = family
        self.written = write or (lambda nodes, w: w.nodes(family, nodes))

    def read(self, wires: list[Any], x: Any) -> list[Node]:
        return x.reader.nodes(self.family, wires)  # type: ignore[no-any-return]

    def write(self, nodes: list[Node], x: Any) -> list[Any]:
        return self.written(nodes, x.writer)


Settle = Callable[[Node, Writer, Joined], None]


def cases_of(family: Mapping, write: Callable[[list[Node], Writer], list[Any]] | None = None) -> Union:
    """The nodes of a family as what a field of a shape may hold, whichever of its kinds are shapes themselves.

    `write`: what writes the list, where that is more than its nodes one by one.
    """
    return _Family(family, write)


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


def reads(shape: Shape) -> Callable[[Any, Reader], Node]:
    """The reading function of a kind whose documents are of this shape. It raises `InvalidBody` for any other."""

    def read(w: Any, r: Reader) -> Node:
        if type(r.doc) is not dict:
            raise IllTyped
        w.clear()
        return read_part(shape, r.doc, r)

    return read


def read_part(shape: Shape, doc: Node, r: Reader, whole: bool = True) -> Node:
    """The canonical node of an object of this shape.

    `whole`: it is the document, or all of its kind that is of a shape; what is inside it is known to the present core
    as nodes of their own. Else it is one node of a document that functions read, spelled in one way.
    """
    x = Joined(r.protocol, r.protocol)
    x.reader = r
    try:
        node = shape.read_or_explain(doc, x)
    except Mismatch as error:
        reason = f"not a document of {r.protocol}: {error.path[-1] if error.path else 'it'} {error.reason}"
        raise InvalidBody(pointer(error.path), reason) from error
    finally:
        x.reader = None
    if r.number is not None:  # the next event may have other places, and be spelled otherwise
        _note_places(shape, node, doc, r, whole)
    else:
        r.owed.append(partial(_note_places, shape, node, doc, whole=whole))
    if not whole:
        pass
    elif r.target is None or (r.number is not None and r.target.protocol == r.protocol):
        keep_spelling(shape, node, doc, x)  # it may be looked at, and changed, before it is written
    elif r.target.protocol == r.protocol:  # (How it was spelled is nothing to another protocol.)
        r.target.context[_GIVEN] = shape, doc, x
    return node


def declare(
    family: Mapping,
    cases: Union,
    before: MappingABC[Any, Before] | None = None,
    after: MappingABC[Any, After] | None = None,
) -> None:
    """Make the cases of a union kinds of a family, whose other kinds are pairs of functions.

    The union has the family's name, and its places are known by themselves; nothing in it may be respelled (an object
    that is only written, a lone value), for its nodes are not compared with what they were read from. `before`, by
    canonical type: what is not one to one when writing. It gives the node to write, a copy that is `replaced`, if need
    be, or None for one that has no form. `after`, by wire tag: the same when reading.
    """
    cases.freeze()
    readers, writers, fitted, opened = cases.readers, cases.writers, before or {}, after or {}
    noted = OnDemand(lambda kind: frozenset().union(*map(_placed_in, cases.by_tag[kind])))

    def read(w: Node, r: Reader) -> Node:
        x = r.context.get(_ENGINE)
        if x is None:
            x = r.context[_ENGINE] = Joined(r.protocol, r.protocol)
        outer, x.reader, kind = x.reader, r, w.get(family.tag)
        try:
            node: Node = readers[kind](w, x)
        finally:
            x.reader = outer
        if kind in opened:
            node = opened[kind](node, w, r)
        if not noted[kind].isdisjoint(node):
            if r.number is not None:
                _note_node(cases, node, w, r)
            else:
                r.owed.append(partial(_note_node, cases, node, w))
        return node

    def write(c: Node, w: Writer) -> Node | None:
        x = w.context.get(_ENGINE)
        if x is None:
            x = w.context[_ENGINE] = Joined(w.source or "", w.protocol)
            # A stream has no document: its writer finds out from the first event.
            extra = w.doc.get("extra") if type(w.doc) is dict else None
            x.own = x.own or w.protocol in (extra or ()) or bool(w.context.get("own"))
        outer, x.writer = x.writer, w
        mark, told = len(x.raw), len(w.raw)
        try:
            made = fitted.get(c.get("type"))
            node = c if made is None else made(c, w, x)
            wire: Node | None = None if node is None else writers[node.get("type")](node, x)
        except FAULTS:
            wire = None
        finally:
            x.writer = outer
        if wire is None:
            del w.raw[told:]  # nothing of it is written, whatever was reported before
        if len(x.raw) > mark:
            for raw in sorted(x.raw[mark:], key=_is_canonical) if wire is not None else ():
                _tell(raw, x, w, False)
            del x.raw[mark:]
        return wire

    family.cases = cases
    family.shaped |= {read, write}
    family.reads.update((tag, read) for tag in cases.by_tag if tag is not None)
    family.writes.update((type_, write) for type_ in (*cases.by_type, *fitted))


def _is_canonical(raw: Raw) -> bool:
    """Whether a record is of a canonical key; what other protocols keep is reported before those."""
    return raw.keys[:1] != ("extra",)


@cache
def _placed_in(shape: Shape) -> frozenset[str]:
    """The keys of a node of which a place is to be noted."""
    inner = {root for row in (*shape.structural, *shape.spread) for root in roots_of(row)}
    inner.difference_update(row.key[0] for row in shape.structural if isinstance(row.field.inner, _Family))
    told = {"type"} if len(shape.constants) > 1 else set[str]()
    return frozenset({*_moved_from(shape), *inner, *told, *(["opaque"] if shape.opaque else [])})


def _note_node(cases: Union, node: Node, wire: Node, r: Reader) -> None:
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


def _note_places(shape: Shape, node: Node, doc: Node, r: Reader, whole: bool) -> None:
    if not whole:
        # (The settings of a document are found by their table.)
        for keys, path in _moved(shape) if doc is not r.doc else _told_of_root(shape):
            if at(node, keys) is not None:
                r.place(node, keys, path)
        _note_spread(shape, node, doc, r)
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


@cache
def _told_of_root(shape: Shape) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The same without what is in its table, and what is in an object of its own name."""
    known = settings_of(shape).wire_keys
    return [(keys, path) for keys, path in _moved(shape) if path[0] not in known and path[: len(keys)] != keys]


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


def writes(shape: Shape, *passes: Pass, lists: tuple[str, ...] = ("input", "output")) -> Callable[[Node, Writer], Node]:
    """The writing function of a kind, with the passes that run over a document of another protocol before it.

    `lists`: the keys of the document whose elements the passes may replace.
    """

    def write(c: Node, w: Writer) -> Node:
        c.clear()
        return write_part(shape, w.doc, w, *(passes if w.source != w.protocol else ()), lists=lists)

    return write


def write_part(
    shape: Shape,
    root: Node,
    w: Writer,
    *passes: Pass,
    lists: tuple[str, ...] = ("input", "output"),
    whole: bool = True,
    own: bool | None = None,
    settle: Settle | None = None,
) -> Node:
    """The wire object of a canonical node, after the passes; its losses are reported to the writer.

    `settle`: a pass that reports by itself what it takes away, and is not weighed.
    """
    read_as, doc, x = (w.context.pop(_GIVEN, None) if whole else None) or (
        None,
        None,
        Joined(w.source or "", w.protocol),
    )
    if own is not None:
        x.own = own
    node, x.writer = root, w
    try:
        if passes or settle is not None:
            node = dict(root)
            for each in passes:
                x.weigh(node, each, lists)
            x.moved[id(node)] = (node, root)
            if settle is not None:
                settle(node, w, x)
        wire = shape.write_or_explain(node, x)
    finally:
        x.writer = None
    for keys, why in x.supplied:
        path = path_in(shape, keys, wire) or ()
        holder = at(wire, path[:-1])
        if type(holder) is dict and path[-1:] and path[-1] in holder:
            w.added(holder, path[-1], why)
    for raw in x.raw:
        _tell(raw, x, w, whole)
    return spelled_as(wire, doc) if read_as is shape else wire


def _tell(raw: Raw, x: Context, w: Writer, whole: bool) -> None:
    """Hand on what was recorded of a canonical node of the present core."""
    if raw.fate == "added":
        w.added(raw.node, raw.keys[0], raw.detail)
        return
    given, keys = x.moved[id(raw.node)][1] if id(raw.node) in x.moved else raw.node, raw.keys
    while whole and len(keys) > 1 and keys[0] != "extra" and type(given.get(keys[0])) is dict:
        given, keys = given[keys[0]], keys[1:]
    if keys[:1] == ("opaque",) and len(given["opaque"]) == 1:
        keys = keys[:1]
    if raw.detail == "foreign" and (w.vault is not None or w.facing == "client"):
        # Facing a client it travels in an envelope of its own.
        w.report(given, keys, "parked", NOTE if w.facing == "client" else raw.detail)
    elif raw.fate == "lost" and not raw.detail and len(keys) == 1:
        w.leftover(given if keys[0] in given else raw.node, keys[0])  # what the library made itself is never lost
    else:
        w.report(given, keys, raw.fate, raw.detail)
