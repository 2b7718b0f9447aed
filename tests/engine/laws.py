"""The laws of a shape, as functions over one document: what the tests run on made shapes and on recorded traffic."""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from unified_llm.engine import NATIVE, Context, Places, Shape, keep_spelling, located, spelled_as
from unified_llm.engine.compiler.runtime import MARKERS
from unified_llm.engine.compiler.signals import FAULTS

Node = dict[str, Any]
Path = tuple[Any, ...]
OWN, OTHER = "own", "other"


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if type(value) in (dict, list) and value:
        for key, inner in value.items() if type(value) is dict else enumerate(value):
            yield from leaves(inner, (*path, key))
    else:
        yield path, value


def objects(value: Any, path: Path = ()) -> Iterator[Path]:
    if type(value) is dict:
        yield path
    for key, inner in value.items() if type(value) is dict else enumerate(value) if type(value) is list else ():
        yield from objects(inner, (*path, key))


def at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def is_same(left: Any, right: Any) -> bool:
    """Equality of JSON, where true is not 1."""
    return sorted_leaves(left) == sorted_leaves(right)


def sorted_leaves(value: Any) -> list[tuple[Path, str, str]]:
    return sorted((path, type(leaf).__name__ if type(leaf) is bool else "", repr(leaf)) for path, leaf in flat(value))


def flat(value: Any) -> list[tuple[Path, Any]]:
    return [(tuple(f"{type(key).__name__}:{key}" for key in path), leaf) for path, leaf in leaves(value)]


def moved(left: Any, right: Any) -> list[Path]:
    """The paths at which two documents differ."""
    mine, its = dict(leaves(left)), dict(leaves(right))
    return [
        path for path in {**mine, **its} if path not in mine or path not in its or not is_same(mine[path], its[path])
    ]


def read(shape: Shape, doc: Any, protocol: str = OWN) -> tuple[Node, Context]:
    x = Context(protocol, protocol)
    node = shape.read_or_explain(doc, x)
    keep_spelling(shape, node, doc, x)
    return node, x


def identity(shape: Shape, doc: Any) -> list[str]:
    """What does not come back; and what a spelling holds that is not a marker."""
    before = deepcopy(doc)
    node, _ = read(shape, doc)
    x = Context(OWN, OWN)
    wire = shape.write_or_explain(node, x)
    faults = [f"differs at {path}" for path in moved(wire, before)]
    faults += [f"reported: {raw.keys} {raw.fate}" for raw in x.raw]
    at_once = Context(OWN, OWN)  # with nothing between, it is spelled from the document itself
    wire = spelled_as(shape.write_or_explain(shape.read_or_explain(doc, at_once), at_once), doc)
    faults += [f"written at once, differs at {path}" for path in moved(wire, before)]
    stack: list[Any] = [node]
    while stack:
        value = stack.pop()
        stack += value.values() if type(value) is dict else value if type(value) is list else ()
        if type(value) is dict and type(value.get(OWN)) is dict and "form" in value[OWN]:
            for key, marker in value[OWN]["form"].items():
                if marker not in MARKERS and key != "native" and not marker.startswith(("word:", "case:")):
                    faults.append(f"no marker: {marker!r}")
    return faults


KEPT = frozenset(("type", "role", "turn", "protocol", "kind", "index"))


def edits(shape: Shape, doc: Any, rnd: random.Random, count: int = 12) -> Iterator[tuple[Path, list[Path], list[Path]]]:
    """Edit canonical leaves one by one: (canonical path, wire paths that moved, wire paths that should have)."""
    node, _ = read(shape, doc)
    own = shape.write_or_explain(node, Context(OWN, OWN))
    found = [
        path
        for path, value in leaves(node)
        if type(value) is str
        and value
        and path[-1] not in KEPT
        and "extra" not in path
        and not value.startswith(("{", "["))
    ]
    for path in rnd.sample(found, min(count, len(found))):
        edited = deepcopy(node)
        at(edited, path[:-1])[path[-1]] += "§"
        y = Context(OWN, OWN)
        wire = shape.write_or_explain(edited, y)
        places = Places(shape, node, doc)
        place = places.path_of(*holder_of(node, path, places))
        change = moved(wire, own)
        told = {loss.path for loss in located(y, shape, edited, doc, wire)}
        # The leaf itself, or one leaf of a value in another form; a word that the protocol does not have is reported.
        right = len(change) == 1 and place is not None and change[0][: len(place)] == place
        yield path, change, change if right or (told and all(names(each, told) for each in change)) else [place]


def holder_of(node: Any, path: Path, places: Places) -> tuple[Any, Path]:
    """The canonical node that a leaf belongs to, and its keys there."""
    for depth in range(len(path) - 1, 0, -1):
        holder = at(node, path[:depth])
        if type(holder) is dict and places.of(holder) is not None:
            return holder, path[depth:]
    return node, path


def cross(source: Shape, target: Shape, doc: Any) -> tuple[Any, set[str], Context]:
    """The value in another protocol, and the pointers of what was reported."""
    x = Context(OWN, OTHER)
    node = source.read_or_explain(doc, x)
    value = target.write_or_explain(node, x)
    return value, {loss.path for loss in located(x, source, node, doc, value) if loss.side == "source"}, x


def pointer(path: Path) -> str:
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in path)


def names(path: Path, reported: set[str]) -> bool:
    """Whether a report names a leaf, or what holds it."""
    here = pointer(path)
    return any(here == each or here.startswith(each + "/") for each in reported)


def altered(value: Any) -> Any:
    if type(value) is bool:
        return not value
    return value + 1 if type(value) in (int, float) else f"{value}§" if type(value) is str else "§"


def silent(source: Shape, target: Shape, doc: Any, rnd: random.Random, count: int = 12) -> Iterator[str]:
    """Leaves that can be altered, and keys that can be added, without effect on the value or the report."""
    try:
        value, _, _ = cross(source, target, doc)
    except FAULTS:
        return  # the target has no such document; a pass sees to that
    found = [path for path, leaf in leaves(doc) if path and leaf not in (None, "", [], {})]
    for path in rnd.sample(found, min(count, len(found))):
        changed = deepcopy(doc)
        at(changed, path[:-1])[path[-1]] = altered(at(changed, path))
        try:
            now, told, _ = cross(source, target, changed)
        except FAULTS:
            continue
        if is_same(now, value) and not names(path, told):
            yield f"altered {pointer(path)}: {sorted(told)}"
    places = [*objects(doc)]
    for path in rnd.sample(places, min(count, len(places))):
        changed = deepcopy(doc)
        at(changed, path)["zz_new"] = "marker-1"
        try:
            now, told, _ = cross(source, target, changed)
        except FAULTS:
            continue
        if "marker-1" not in repr(now) and not names((*path, "zz_new"), told):
            yield f"injected {pointer((*path, 'zz_new'))}: {sorted(told)}"


def counts(node: Any, doc: Any, shape: Shape) -> list[str]:
    """What is kept as left over must have been in the document, and nothing that was understood is among it."""
    faults = []
    for place in walked(shape, node, doc):
        kept = place.node.get("extra", {}).get(OWN, {}).get("rest")
        if (
            kept is None
            or place.node.get("type") == NATIVE
            or place.shape is None
            or "native" in place.node["extra"][OWN].get("form", {})
        ):
            continue
        for path, value in leaves(kept):
            try:
                there = at(place.wire, path)
            except (KeyError, IndexError, TypeError):
                there = ...
            if there is ... or not is_same(there, value):
                faults.append(f"{place.path}: {path} is kept, and not in the document")
    return faults


def walked(shape: Shape, node: Any, doc: Any) -> list[Any]:
    from unified_llm.engine import walk

    return [place for place in walk(shape, node, doc) if place.kind != "turn"]
