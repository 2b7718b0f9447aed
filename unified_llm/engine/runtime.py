"""What compiled functions and the interpreter call when something is left over, kept, or written back.

None of it runs for a document that holds declared fields only. `shape` is a `Shape`, `x` the `Context`.
"""

from __future__ import annotations

import copy
from typing import Any

from .signals import ABSENT, OPAQUE, REST, VOID, Node, Path, is_same

__all__ = [
    "demand",
    "drawers",
    "fill",
    "finish",
    "is_kept",
    "keep",
    "left",
    "native_of",
    "opaque_in",
    "opaque_of",
    "opaque_out",
    "put",
    "reach",
    "spell",
    "unknown",
]


def put(rest: Node | None, key: str, value: Any) -> Node:
    """`rest` with one more leftover."""
    if rest is None:
        return {key: value}
    rest[key] = value
    return rest


def unknown(w: Node, known: frozenset[str], rest: Node | None) -> Node | None:
    """`rest` with every key of the object that no field names."""
    for key, value in w.items():
        if key not in known:
            rest = put(rest, key, value)
    return rest


def keep(node: Node, rest: Any, x: Any) -> None:
    """Keep leftovers with the node they belong to."""
    x.flags |= REST
    _drawer(node, x)["rest"] = rest


def spell(node: Node, key: str, marker: str, x: Any) -> None:
    """Keep how a key was spelled: a closed marker, never a value."""
    _drawer(node, x).setdefault("form", {})[key] = marker


def _drawer(node: Node, x: Any) -> Node:
    drawers = node.get("extra")
    if drawers is None:
        drawers = node["extra"] = {}
    drawer: Node = drawers.setdefault(x.source, {})
    return drawer


def reach(node: Node, path: Path) -> Node:
    """The object at a path, made where it is missing."""
    for key in path:
        node = node.setdefault(key, {})
    return node


def opaque_in(node: Node, kind: str, data: str, x: Any) -> None:
    """Add a piece of opaque data that came in its protocol's own field."""
    x.flags |= OPAQUE
    piece = {"kind": kind, "data": data, "origin": x.origin}
    node.setdefault("opaque", []).append(piece)


def opaque_of(c: Node, kind: str, x: Any) -> str:
    """The data of the node's own piece of this kind; KeyError where it has none."""
    for piece in c["opaque"]:
        if piece["kind"] == kind and x.owns(piece["origin"]) and type(piece["data"]) is str:
            data: str = piece["data"]
            return data
    raise KeyError(kind)


def opaque_out(c: Node, wire: Node, shape: Any, x: Any) -> None:
    """Write the pieces that are the target's own; what is foreign, or has no field here, is lost."""
    if type(c["opaque"]) is not list:
        x.lost(c, ("opaque",))
        return
    taken = set()
    for number, piece in enumerate(c["opaque"]):
        kind, data, origin = (piece.get(key) for key in ("kind", "data", "origin")) if type(piece) is dict else "???"
        path = shape.opaque.get(kind) if type(kind) is str else None
        own = x.owns(origin)
        if path is None or not own or kind in taken or type(data) is not str:
            x.lost(c, ("opaque", number), "" if own else "foreign")
            continue
        taken.add(kind)
        reach(wire, path[:-1])[path[-1]] = data
        if len(piece) > 3:
            x.said_more(c, number, piece)


def demand(wire: Node, shape: Any, x: Any) -> None:
    """What the target demands of objects that may be absent, where they are not."""
    for row in shape.inner_defaults:
        here: Any = wire
        for key in row.wire[:-1]:
            here = here.get(key) if type(here) is dict else None
        if type(here) is dict and row.wire[-1] not in here:
            here[row.wire[-1]] = copy.deepcopy(row.field.default)
            if row.field.default is not None:
                x.added(here, row.wire[-1], row.field.why, (shape.node, row.key))


def drawers(c: Node) -> list[tuple[str, Node]]:
    """What each protocol keeps with a node."""
    extra = c.get("extra")
    found = extra.items() if type(extra) is dict else ()
    return [(protocol, kept) for protocol, kept in found if type(kept) is dict]


def is_kept(c: Node, path: Path, x: Any) -> bool:
    """Whether the target's own leftovers have a value at a wire path."""
    for protocol, kept in drawers(c):
        here: Any = kept.get("rest") if protocol == x.target else None
        for key in path:
            here = here.get(key, ABSENT) if type(here) is dict else ABSENT
        if here is not ABSENT:
            return True
    return False


def native_of(c: Node, protocol: str = "") -> str:
    """The union that could not read the wire value of a node (of this protocol); "" for a node that was read."""
    for its, kept in drawers(c):
        form = kept.get("form")
        if type(form) is dict and type(form.get("native")) is str and protocol in ("", its):
            name: str = form["native"]
            return name
    return ""


def fill(wire: Any, gaps: Any, over: Any = (), path: Path = ()) -> Any:
    """`wire` with what was kept in its gaps: nothing that was written is overwritten, but optional constants (`over`).

    >>> fill({"a": 1, "b": {"c": 2}}, {"a": 9, "b": {"d": 3}})
    {'a': 1, 'b': {'c': 2, 'd': 3}}
    """
    if type(wire) is list and type(gaps) is list:
        return [fill(value, gap) for value, gap in zip(wire, gaps)] + wire[len(gaps) :]
    if type(wire) is not dict or type(gaps) is not dict:
        return wire
    out = dict(wire)
    for key, gap in gaps.items():
        here = (*path, key)
        out[key] = fill(out[key], gap, over, here) if key in out and here not in over else gap
    return out


def finish(c: Node, wire: Node, shape: Any, x: Any, done: tuple[str, ...] = ()) -> Node:
    """What a canonical node holds beside the keys that were written: its own leftovers return, the rest is lost."""
    for key, value in c.items():
        if key in shape.keys or key in done:
            continue
        if key == "extra":
            continue
        if key == "opaque":
            opaque_out(c, wire, shape, x)
            continue
        if key in shape.constants and is_same(value, shape.constants[key]):
            continue
        x.lost(c, (key,), shape.cannot.get(key, ""))
    if "extra" in c:
        wire = x.restored(c, wire, shape)
    return wire


def left(c: Node, got: Any, path: Path, shape: Any, x: Any) -> None:
    """What an object of a canonical node holds beside the keys that were written."""
    if type(got) is not dict:
        x.lost(c, path, shape.cannot.get(".".join(path), ""))
        return
    for key, value in got.items():
        here = (*path, key)
        name = ".".join(here)
        if here in shape.leaves or (name in shape.constants and is_same(value, shape.constants[name])):
            continue
        if here in shape.inside:
            continue  # it reports for itself
        x.lost(c, here, shape.cannot.get(name, ""))


def said(value: Any) -> bool:
    """Whether a value says anything: leaving it out would be a loss.

    >>> said({"a": None}), said([0]), said("")
    (False, True, False)
    """
    if type(value) is dict:
        return any(map(said, value.values()))
    return value is not ABSENT and value not in VOID
