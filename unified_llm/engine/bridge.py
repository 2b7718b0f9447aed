"""A bridge between shapes and the pairs of functions that adapters still have, until every kind is a shape.

What a shape read can be written by functions, and the reverse; a family of nodes may have kinds of both (`declare`).
The engine knows from structure where a node was read; that is noted here as `locator.py` looks for it. What the engine
recorded while writing is handed to the `Writer`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from ..foundation.errors import InvalidBody
from ..foundation.json_paths import at, pointer
from . import Context, Mismatch, Raw, Shape, Union, keep_spelling, spelled_as, walk
from .compiler.signals import FAULTS
from .pairs.mapping import IllTyped, Mapping
from .pairs.reading import Reader
from .pairs.writing import Writer

__all__ = ["declare", "read_part", "reads", "write_part", "writes"]

Node = dict[str, Any]
_GIVEN = "document of the same protocol"  # that of a conversion, from which the result is spelled
_ENGINE = "engine"  # the engine's context of a reading or writing

Pass = Callable[[Node, Context], None]
Before = Callable[[Node, Writer, Context], Node | None]


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
    x = Context(r.protocol, r.protocol)
    try:
        node = shape.read_or_explain(doc, x)
    except Mismatch as error:
        reason = f"not a document of {r.protocol}: {error.path[-1] if error.path else 'it'} {error.reason}"
        raise InvalidBody(pointer(error.path), reason) from error
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


def declare(family: Mapping, cases: Union, **before: Before) -> None:
    """Make the cases of a union kinds of a family, whose other kinds are pairs of functions.

    The union has the family's name, and its places are known by themselves; nothing in it may be respelled (an object
    that is only written, a lone value), for its nodes are not compared with what they were read from. `before`, by
    canonical type: what is not one to one when writing. It gives the node to write, a copy that is `replaced`, if need
    be, or None for one that has no form.
    """
    cases.freeze()
    readers, writers = cases.readers, cases.writers

    def read(w: Node, r: Reader) -> Node:
        x = r.context.get(_ENGINE)
        if x is None:
            x = r.context[_ENGINE] = Context(r.protocol, r.protocol)
        node: Node = readers[w.get(family.tag)](w, x)
        if r.number is not None:
            _note_node(cases, node, w, r)
        else:
            r.owed.append(partial(_note_node, cases, node, w))
        return node

    def write(c: Node, w: Writer) -> Node | None:
        x = w.context.get(_ENGINE)
        if x is None:
            x = w.context[_ENGINE] = Context(w.source or "", w.protocol)
            extra = w.doc.get("extra") if type(w.doc) is dict else None  # a stream has no document
            x.own = x.own or w.protocol in (extra or ())
        try:
            made = before.get(c["type"])
            node = c if made is None else made(c, w, x)
            wire: Node | None = None if node is None else writers[node["type"]](node, x)
        except FAULTS:
            wire = None  # nothing of it is written, whatever was told before
        if x.raw:
            for raw in sorted(x.raw, key=_is_canonical) if wire is not None else ():
                _tell(raw, x, w, False)
            x.raw.clear()
        return wire

    family.cases = cases
    family.shaped |= {read, write}
    family.reads.update((tag, read) for tag in cases.by_tag if tag is not None)
    family.writes.update((type_, write) for type_ in (*cases.by_type, *before))


def _is_canonical(raw: Raw) -> bool:
    """Whether a record is of a canonical key; what other protocols keep is told before those."""
    return raw.keys[:1] != ("extra",)


def _note_node(cases: Union, node: Node, wire: Node, r: Reader) -> None:
    shape = cases.shape_of(wire, node)
    if shape is None:
        return
    for root, moved in _moved_from(shape).items():
        if root in node:
            for keys, path in moved:
                if at(node, keys) is not None:
                    r.place(node, keys, path)
    if len(shape.constants) > 1:  # its tag says more than the type
        for name in shape.constants:
            r.place(node, tuple(name.split(".")), (shape.tag,))


def _note_places(shape: Shape, node: Node, doc: Node, r: Reader, whole: bool) -> None:
    if not whole:
        for keys, path in _moved(shape):
            if at(node, keys) is not None:
                r.place(node, keys, path)
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
    found = [(keys, shape.path_of(keys)) for keys in (*shape.places, *sorted(shape.inside))]
    return [
        (keys, path)
        for keys, path in found
        if path is not None and path != keys and (keys in shape.leaves or path not in shape.places.values())
    ]


@cache
def _moved_from(shape: Shape) -> dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]]:
    """The same by the first key, without what is inside something that moved: its place is asked for most."""
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
) -> Node:
    """The wire object of a canonical node, after the passes; what is lost of it is told to the writer."""
    read_as, doc, x = (w.context.pop(_GIVEN, None) if whole else None) or (
        None,
        None,
        Context(w.source or "", w.protocol),
    )
    if own is not None:
        x.own = own
    if passes:
        node = dict(root)
        for each in passes:
            x.weigh(node, each, lists)
        x.moved[id(node)] = (node, root)
        wire = shape.write_or_explain(node, x)
    else:
        wire = shape.write_or_explain(root, x)
    for raw in x.raw:
        _tell(raw, x, w, whole)
    return spelled_as(wire, doc) if read_as is shape else wire


def _tell(raw: Raw, x: Context, w: Writer, whole: bool) -> None:
    """Hand on what was recorded of a canonical node that the present core knows."""
    if raw.fate == "added":
        w.added(raw.node, raw.keys[0], raw.detail)
        return
    given, keys = x.moved[id(raw.node)][1] if id(raw.node) in x.moved else raw.node, raw.keys
    while whole and len(keys) > 1 and keys[0] != "extra" and type(given.get(keys[0])) is dict:
        given, keys = given[keys[0]], keys[1:]
    if raw.fate == "lost" and not raw.detail and len(keys) == 1:
        w.leftover(given, keys[0])  # what the library made itself is never lost
    else:
        w.report(given, keys, raw.fate, raw.detail)
