"""A bridge between shapes and the pairs of functions that adapters still have, until every kind is a shape.

What a shape read can be written by functions, and the reverse; a family of nodes may have kinds of both (`declare`).
The engine derives from structure where a node was read; that is noted here as `locator.py` looks for it. What the
engine recorded while writing is handed to the `Writer`.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as MappingABC
from functools import partial
from typing import Any

from ..foundation.errors import InvalidBody
from ..foundation.json_paths import at, pointer
from . import Context, Mismatch, Raw, Shape, Union, keep_spelling, spelled_as
from .compiler.signals import FAULTS
from .pairs.mapping import IllTyped, Mapping
from .pairs.origins import is_own
from .pairs.reading import Reader
from .pairs.record import NOTE
from .pairs.writing import Writer
from .shapes.cases import OnDemand
from .shapes.places import path_in
from .source_places import Family, note_node, note_places, placed_in

__all__ = [
    "After",
    "Before",
    "Joined",
    "cases_of",
    "declare",
    "read_part",
    "reads",
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


Settle = Callable[[Node, Writer, Joined], None]


def cases_of(family: Mapping, write: Callable[[list[Node], Writer], list[Any]] | None = None) -> Union:
    """The nodes of a family as what a field of a shape may hold, whichever of its kinds are shapes themselves.

    `write`: what writes the list, where that is more than its nodes one by one.
    """
    return Family(family, write)


def reads(shape: Shape, whole: bool = True) -> Callable[[Any, Reader], Node]:
    """The reading function of a kind whose documents are of this shape. It raises `InvalidBody` for any other.

    `whole`: all of it is of shapes; not where a field holds nodes of a family (`cases_of`) or a codec is of functions.
    """

    def read(w: Any, r: Reader) -> Node:
        if type(r.doc) is not dict:
            raise IllTyped
        w.clear()
        return read_part(shape, r.doc, r, whole)

    return read


def read_part(shape: Shape, doc: Node, r: Reader, whole: bool = True) -> Node:
    """The canonical node of an object of this shape.

    `whole`: it is the document, or all of its kind that is of a shape; what is inside it is known to the present core
    as nodes of their own. Else it is one node of a document that functions read, spelled in one way.
    """
    x = Joined(r.protocol, r.protocol) if whole else engine_of_reader(r)
    outer, x.reader = x.reader, r
    try:
        node = shape.read_or_explain(doc, x)
    except Mismatch as error:
        reason = f"not a document of {r.protocol}: {error.path[-1] if error.path else 'it'} {error.reason}"
        raise InvalidBody(pointer(error.path), reason) from error
    finally:
        x.reader = outer
    if r.number is not None:  # the next event may have other places, and be spelled otherwise
        note_places(shape, node, doc, r, whole)
    else:
        r.owed.append(partial(note_places, shape, node, doc, whole=whole))
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
    noted = OnDemand(lambda kind: frozenset().union(*map(placed_in, cases.by_tag[kind])))

    def read(w: Node, r: Reader) -> Node:
        x = r.context.get(_ENGINE) or engine_of_reader(r)
        outer, x.reader, kind = x.reader, r, w.get(family.tag)
        try:
            node: Node = readers[kind](w, x)
        finally:
            x.reader = outer
        if kind in opened:
            node = opened[kind](node, w, r)
        if not noted[kind].isdisjoint(node):
            if r.number is not None:
                note_node(cases, node, w, r)
            else:
                r.owed.append(partial(note_node, cases, node, w))
        return node

    def write(c: Node, w: Writer) -> Node | None:
        x = w.context.get(_ENGINE) or engine_of_writer(w)
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


def engine_of_reader(r: Reader) -> Joined:
    """The engine's context of a reading, for the nodes of its families."""
    x: Joined | None = r.context.get(_ENGINE)
    if x is None:
        x = r.context[_ENGINE] = Joined(r.protocol, r.protocol)
    return x


def engine_of_writer(w: Writer) -> Joined:
    """The same of a writing."""
    x: Joined | None = w.context.get(_ENGINE)
    if x is None:
        x = w.context[_ENGINE] = Joined(w.source or "", w.protocol)
        # A stream has no document: its writer finds out from the first event.
        extra = w.doc.get("extra") if type(w.doc) is dict else None
        x.own = x.own or w.protocol in (extra or ()) or bool(w.context.get("own"))
    return x


def _is_canonical(raw: Raw) -> bool:
    """Whether a record is of a canonical key; what other protocols keep is reported before those."""
    return raw.keys[:1] != ("extra",)


def writes(
    shape: Shape,
    *passes: Pass,
    lists: tuple[str, ...] = ("input", "output"),
    whole: bool = True,
    settle: Settle | None = None,
) -> Callable[[Node, Writer], Node]:
    """The writing function of a kind, with the passes that run over a document of another protocol before it.

    `lists`: the keys of the document whose elements the passes may replace. `whole`: as in `reads`. `settle`: as in
    `write_part`.
    """

    def write(c: Node, w: Writer) -> Node:
        node = dict(c) if settle is not None else None
        c.clear()
        fitting = passes if w.source != w.protocol else ()
        return write_part(shape, w.doc, w, *fitting, lists=lists, whole=whole, settle=settle, node=node)

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
    node: Node | None = None,
) -> Node:
    """The wire object of a canonical node, after the passes; its losses are reported to the writer.

    `settle`: a pass that reports by itself what it takes away, and is not weighed; it runs on `node`, a copy of `root`.
    """
    given = w.context.pop(_GIVEN, None) if whole else None
    if given is not None:
        read_as, doc, x = given
    else:
        read_as, doc, x = None, None, Joined(w.source or "", w.protocol) if settle is None else engine_of_writer(w)
    if own is not None:
        x.own = own
    mark, outer, x.writer = len(x.raw), x.writer, w
    before = len(w.raw)
    try:
        if passes or settle is not None:
            node = dict(root) if node is None else node
            for each in passes:
                x.weigh(node, each, lists)
            x.moved[id(node)] = (node, root)
            if settle is not None:
                settle(node, w, x)
        else:
            node = root
        wire = shape.write_or_explain(node, x)
    finally:
        x.writer = outer
    if len(w.raw) > before and len(x.moved) > 1:
        # What functions wrote of a node that a pass replaced.
        w.raw[before:] = [
            (x.moved[id(raw[0])][1], *raw[1:]) if id(raw[0]) in x.moved and raw[2] != "added" else raw
            for raw in w.raw[before:]
        ]
    if x.supplied:
        for keys, why in x.supplied:
            path = shape.places.get(keys) or path_in(shape, keys, wire) or ()
            holder = at(wire, path[:-1]) if len(path) > 1 else wire
            if type(holder) is dict and path and path[-1] in holder:
                w.added(holder, path[-1], why)
        x.supplied.clear()
    if len(x.raw) > mark:
        for raw in x.raw[mark:]:
            _tell(raw, x, w, whole)
        del x.raw[mark:]
    return spelled_as(wire, doc) if read_as is shape else wire


def _tell(raw: Raw, x: Context, w: Writer, whole: bool) -> None:
    """Hand on what was recorded of a canonical node of the present core."""
    if raw.fate == "added":
        w.added(raw.node, raw.keys[0], raw.detail)
        return
    stands, keys = x.moved.get(id(raw.node)), raw.keys
    given = raw.node if stands is None else stands[1]
    while whole and len(keys) > 1 and keys[0] != "extra" and type(given.get(keys[0])) is dict:
        given, keys = given[keys[0]], keys[1:]
    if keys[:1] == ("opaque",) and len(keys) > 1 and len(given["opaque"]) == 1:
        keys = keys[:1]
    if raw.detail == "foreign" and (w.vault is not None or w.facing == "client"):
        # Facing a client it travels in an envelope of its own.
        w.report(given, keys, "parked", NOTE if w.facing == "client" else raw.detail)
    elif raw.fate == "lost" and not raw.detail and len(keys) == 1:
        w.leftover(given if keys[0] in given else raw.node, keys[0])  # what the library made itself is never lost
    else:
        w.report(given, keys, raw.fate, raw.detail)
