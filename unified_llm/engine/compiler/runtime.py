"""What compiled functions and the interpreter call when something is left over, kept, or written back.

None of it runs for a document that holds declared fields only. `shape` is a `Shape`, `x` the `Context`.

How a document was spelled is found by comparing what would be written with what came. Differences without meaning are
closed markers, by wire path: they hold no value of the document, so that an edit in between is never undone, and they
are never a loss. A difference that has no marker is an error of the declaration.

| marker | the document | what is written |
| --- | --- | --- |
| `absent` | no such key | null or an empty value; or an optional constant, recorded while reading |
| `null`, `empty_string`, `empty_list`, `empty_object` | that | no such key, or another empty value |
| `lone` | a value | the list of it |
| `alias` | another spelling of a key | the key itself; recorded while reading |
| `word:...` | that declared word of an enum | the word (in a list: each) that means the same; recorded while reading |
| `case:...` | the case of that tag | the case before it that writes the same keys; recorded while reading |
| `said` | a constant, where it may not be written | no such key; recorded while reading |
"""

from __future__ import annotations

import copy
from typing import Any

from .rows import Branch
from .signals import ABSENT, OPAQUE, REST, VOID, Node, Path, is_same

__all__ = [
    "MARKERS",
    "compared",
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
    "respelled",
    "spell",
    "spelled",
    "spelled_as",
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


def spelled(c: Node, key: str, x: Any) -> str:
    """The marker that the target's own reader left of a key; "" where it left none."""
    for protocol, kept in drawers(c):
        form = kept.get("form") if protocol == x.target else None
        if type(form) is dict and type(form.get(key)) is str:
            marker: str = form[key]
            return marker
    return ""


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
    piece = x.piece(kind, data)
    if piece is not None:
        x.flags |= OPAQUE
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


def fill(wire: Any, gaps: Any, over: Any = (), path: Path = (), ours: Any = None) -> Any:
    """`wire` with what was kept in its gaps: nothing that was written is overwritten, but optional constants (`over`).

    Objects that the writer made (`ours`, a branch of the shape) stay the same ones, since losses refer to them; all
    others may be the caller's and are copied.

    >>> fill({"a": 1, "b": {"c": 2}}, {"a": 9, "b": {"d": 3}})
    {'a': 1, 'b': {'c': 2, 'd': 3}}
    """
    if type(wire) is list and type(gaps) is list:
        return [fill(value, gap) for value, gap in zip(wire, gaps)] + wire[len(gaps) :]
    if type(wire) is not dict or type(gaps) is not dict:
        return wire
    out = dict(wire) if ours is None else wire
    for key, gap in gaps.items():
        here = (*path, key)
        out[key] = fill(out[key], gap, over, here, _below(ours, key)) if key in out and here not in over else gap
    return out


def _below(branch: Any, key: str) -> Branch | None:
    child = branch.children.get(key) if branch is not None else None
    return child if isinstance(child, Branch) else None


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
        if here in shape.leaves or here in shape.inside:  # (What has fields inside reports for itself.)
            continue
        name = ".".join(here)
        if name not in shape.constants or not is_same(value, shape.constants[name]):
            x.lost(c, here, shape.cannot.get(name, ""))


def said(value: Any) -> bool:
    """Whether a value carries information: leaving it out would be a loss.

    >>> said({"a": None}), said([0]), said("")
    (False, True, False)
    """
    if type(value) is dict:
        return any(map(said, value.values()))
    return value is not ABSENT and value not in VOID


# ---- spelling -------------------------------------------------------------------------------------------------------

_EMPTY: dict[str, Any] = {"null": None, "empty_string": "", "empty_list": [], "empty_object": {}}
MARKERS = frozenset(("absent", "alias", "lone", "native", "said", *_EMPTY))
"""Every marker that may stand in `extra[protocol].form`; `native` names the union of a node that was not read."""


def compared(written: Any, given: Any) -> dict[tuple[Any, ...], str]:
    """The markers, by path, that make `written` spelled as `given`.

    >>> compared({"stop": ["END"], "user": None}, {"stop": "END", "n": []})
    {('user',): 'absent', ('n',): 'empty_list', ('stop',): 'lone'}
    """
    out: dict[tuple[Any, ...], str] = {}
    stack: list[tuple[Any, Any, tuple[Any, ...]]] = [(written, given, ())]
    while stack:
        mine, its, path = stack.pop()
        if mine == its:
            continue  # as most values are
        if type(mine) is dict and type(its) is dict:
            for key, value in mine.items():
                if key not in its:
                    if value in VOID or _is_hollow(value):
                        out[*path, key] = "absent"
                else:
                    stack.append((value, its[key], (*path, key)))
            for key, value in its.items():
                if key not in mine and value in VOID and type(value) is not bool:
                    out[*path, key] = _marker(value)
        elif type(mine) is list and type(its) is list:
            stack += [(value, other, (*path, number)) for number, (value, other) in enumerate(zip(mine, its))]
        elif type(mine) is list and len(mine) == 1 and is_same(mine[0], its):
            out[path] = "lone"
        elif mine in VOID and its in VOID and mine is not its and mine != its:
            out[path] = _marker(its)
    return out


def _is_hollow(value: Any) -> bool:
    return type(value) is dict and all(each in VOID or _is_hollow(each) for each in value.values())


def _marker(value: Any) -> str:
    return next(name for name, empty in _EMPTY.items() if type(empty) is type(value))


def respelled(wire: Any, form: dict[str, str], shape: Any, above: str = "") -> Any:
    """A wire object in the spelling of the markers, so far as they still fit what it holds.

    A marker's key is the path in the wire object, joined by "/". `above`: only the markers that begin with it, which
    are those of the message that holds the object.
    """
    if type(wire) is not dict:
        return wire
    for name, marker in form.items() if type(form) is dict else ():
        # (Anybody may have made a canonical document.)
        if type(marker) is str and name.startswith("../") == bool(above) and name.startswith(above):
            path = tuple(name.removeprefix(above).split("/"))
            _apply(wire, path, marker, shape)
    return wire


def spelled_as(written: Node, given: Any) -> Node:
    """What was written, spelled as the document that it was read from, where nothing was changed in between.

    >>> spelled_as({"stop": ["END"], "user": None}, {"stop": "END", "n": []})
    {'stop': 'END', 'n': []}
    """
    markers = compared(written, given) if written != given else None
    if not markers:
        return written
    out = dict(written)
    for path, marker in markers.items():
        _apply(out, tuple(map(str, path)), marker, None)
    return out


def _apply(out: Any, path: tuple[str, ...], marker: str, shape: Any) -> None:
    here, key = out, path[-1]
    if marker == "alias":
        _rename(out, path, shape)
        return
    ours = shape.wire_tree if shape is not None else None
    for step in path[:-1]:
        ours = _below(ours, step)
        inner = _step(here, step)
        if inner is ABSENT and marker == "said" and shape is not None and path in shape.optional_constants:
            inner = {}
        if type(inner) is not dict and type(inner) is not list:
            return
        if ours is None:
            inner = dict(inner) if type(inner) is dict else list(inner)
        here[step if type(here) is dict else int(step)] = inner
        here = inner
    value = _step(here, key)
    if type(here) is list:
        if marker == "lone" and type(value) is list and len(value) == 1:
            here[int(key)] = value[0]
    elif marker.startswith("word:"):
        word = marker.removeprefix("word:")
        main = shape.words.get(path, {}).get(word, ABSENT) if shape is not None else ABSENT
        if value == main and main is not ABSENT:
            here[key] = word
        elif type(value) is list:
            here[key] = [word if each == main else each for each in value]
    elif marker == "said":
        if value is ABSENT and shape is not None and path in shape.optional_constants:
            here[key] = shape.said(path)
    elif marker == "lone":
        if type(value) is list and len(value) == 1:
            here[key] = value[0]
    elif marker == "absent":
        constant = shape.optional_constants.get(path, ABSENT) if shape is not None else ABSENT
        if value is not ABSENT and (value in VOID or _is_hollow(value) or is_same(value, constant)):
            del here[key]
    elif marker in _EMPTY and (value is ABSENT or value in VOID):
        empty = _EMPTY[marker]
        here[key] = type(empty)() if empty is not None else None


def _step(here: Any, key: str) -> Any:
    if type(here) is dict:
        return here.get(key, ABSENT)
    return here[int(key)] if key.isdigit() and int(key) < len(here) else ABSENT


def _rename(out: Node, path: tuple[str, ...], shape: Any) -> None:
    """Write a value under the other spelling of its key."""
    main = shape.aliases.get(path) if shape is not None else None
    here = out
    for step in main[:-1] if main else ():
        here = here.get(step, {})
        if type(here) is not dict:
            return
    if main is None or main[-1] not in here:
        return
    value = here.pop(main[-1])
    for step in path[:-1]:
        out = out.setdefault(step, {})
    out[path[-1]] = value
