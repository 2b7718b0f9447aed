"""A bridge between shapes and the pairs of functions that adapters still have, until every kind is a shape.

What a shape read can be written by functions, and the reverse. The engine knows from structure where a node was read;
that is noted here as `locate.py` looks for it. What the engine recorded while writing is handed to the `Writer`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .engine import Context, Mismatch, Shape, keep_spelling, walk
from .errors import InvalidBody
from .mapping import IllTyped
from .paths import at, pointer
from .reading import Reader
from .writing import Writer

__all__ = ["reads", "writes"]

Node = dict[str, Any]
Pass = Callable[[Node, Context], None]


def reads(shape: Shape) -> Callable[[Any, Reader], Node]:
    """The reading function of a kind whose documents are of this shape. It raises `InvalidBody` for any other."""

    def read(w: Any, r: Reader) -> Node:
        doc = r.doc
        if type(doc) is not dict:
            raise IllTyped
        x = Context(r.protocol, r.protocol)
        try:
            node = shape.read_or_explain(doc, x)
        except Mismatch as error:
            reason = f"not a document of {r.protocol}: {error.path[-1] if error.path else 'it'} {error.reason}"
            raise InvalidBody(pointer(error.path), reason) from error
        keep_spelling(shape, node, doc, x)
        w.clear()
        for place in walk(shape, node, doc):
            if type(place.wire) is not dict and place.path:  # a value without an identity is found by where it stands
                r.made(place.node, at(doc, place.path[:-1]), place.path[-1])
            elif place.node is not node:
                r.trace.append((place.node, place.wire))
            for key, wire in place.shape.places.items() if place.shape is not None else ():
                if key != wire:
                    r.places[id(place.node), *key] = wire
        return node

    return read


def writes(shape: Shape, *passes: Pass, lists: tuple[str, ...] = ("input", "output")) -> Callable[[Node, Writer], Node]:
    """The writing function of a kind, with the passes that run over a document of another protocol before it.

    `lists`: the keys of the document whose elements the passes may replace.
    """

    def write(c: Node, w: Writer) -> Node:
        x = Context(w.source or "", w.protocol)
        node = w.doc
        if not x.own and passes:
            node = dict(w.doc)
            for each in passes:
                x.weigh(node, each, lists)
            x.moved[id(node)] = (node, w.doc)
        wire = shape.write_or_explain(node, x)
        c.clear()
        for raw in x.raw:
            if raw.fate == "added":
                w.added(raw.node, raw.keys[0], raw.detail)
                continue
            given = x.moved[id(raw.node)][1] if id(raw.node) in x.moved else raw.node
            if raw.fate == "lost" and not raw.detail and len(raw.keys) == 1:
                w.leftover(given, raw.keys[0])  # what the library made itself is never lost
            else:
                w.report(given, raw.keys, raw.fate, raw.detail)
        return wire

    return write
