"""Which canonical leaf of the source became which of the target: two canonical documents, laid side by side.

A conversation may be cut anew on its way: messages are merged or split, results folded into calls. So the items, parts
and tools (units) are matched by the texts they have in common, in order, and what has none by its type; the leaves
of two matched units by their canonical keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ...foundation.generated_ids import is_made
from ...foundation.json_codec import load_text
from ...foundation.json_paths import Keys, at
from .places import Places

__all__ = ["aligned"]

_LISTS = ("instructions", "input", "output", "tools", "choices")
_INNER = ("content", "summary", "output", "results", "annotations", "tools")
# Words that many units have in common, so that they match none of them.
_WORDS = frozenset(("type", "role", "status", "mode", "phase", "executor", "kind", "format", "detail"))

# Which of two leaves is computed from the other depends on the protocol.
_COMPUTED: dict[Keys, Keys] = {
    ("finish", "reason"): ("status",),
    ("finish",): ("status",),
    ("status",): ("finish", "reason"),
}

Pair = tuple[Keys, Keys]


def aligned(here: Places, there: Places) -> tuple[list[Pair], list[Pair]]:
    """The pairs of canonical leaves, and those of canonical nodes, in the source and in the target."""
    mine, theirs = _by_unit(here), _by_unit(there)
    leaves, units = _by_text(here, mine, there, theirs)
    for one, other in [*units]:
        for above in _above(one):
            for beside in _above(other):
                if above in mine and beside in theirs and _type(here, above) == _type(there, beside):
                    units[above, beside] = None
        if _type(here, one) != _type(there, other):
            del units[one, other]
    units[(), ()] = None
    _in_order(here, mine, there, theirs, units)
    for one, other in units:
        inside = frozenset(theirs[other])
        for keys in mine[one]:
            beside = keys if keys in inside else _COMPUTED.get(keys, keys)
            if beside in inside and _fits(keys, here.values[one + keys], there.values[other + beside]):
                leaves.append((one + keys, other + beside))
    return leaves, [*units]


def _fits(keys: Keys, one: Any, other: Any) -> bool:
    """Whether a leaf may have become another one of its key: an id is the same, and where nothing is nothing came."""
    if one is None or other is None:
        return one is other
    if keys[-1:] and keys[-1] in ("id", "call_id") and one != other:
        return bool(is_made(one) or is_made(other))
    if type(one) is not str or type(other) is not str or one == other:
        return True
    if keys[-1:] == ("role",):
        return {one, other} <= _ABOVE
    if keys[-1:] == ("code",):
        return False
    if keys[-1:] and keys[-1] in _SAID:
        return one in other or other in one
    if one[:1] in _OPENING and other[:1] in _OPENING:
        return bool(_value(one) == _value(other))
    return " " not in one.strip() or " " not in other.strip() or one in other or other in one


_OPENING = frozenset(("{", "["))


def _value(text: str) -> Any:
    try:
        return load_text(text)
    except ValueError:
        return text


def _units(root: Any) -> Iterator[Keys]:
    """The paths of the items, parts and tools of a canonical document, the document itself last."""
    if type(root) is dict:
        for key in _LISTS:
            yield from _inside(root.get(key), (key,))
    yield ()


def _inside(value: Any, path: Keys) -> Iterator[Keys]:
    if type(value) is str and len(path) == 1:
        yield path  # a conversation, or instructions, that are one text
    for number, each in enumerate(value) if type(value) is list else ():
        if type(each) is dict:
            yield (*path, number)
            for key in _INNER:
                yield from _inside(each.get(key), (*path, number, key))


def _by_unit(places: Places) -> dict[Keys, list[Keys]]:
    """The keys of the leaves of each unit that are somewhere on the wire."""
    units: dict[Keys, list[Keys]] = {unit: [] for unit in _units(places.root)}
    for path in places.wire:
        depth = len(path)
        while path[:depth] not in units:
            depth -= 1
        units[path[:depth]].append(path[depth:])
    return units


def _by_text(
    here: Places, mine: dict[Keys, list[Keys]], there: Places, theirs: dict[Keys, list[Keys]]
) -> tuple[list[Pair], dict[Pair, None]]:
    """The leaves with the same text, and the units that have one in common."""
    index: dict[str, list[tuple[Keys, Keys]]] = defaultdict(list)
    for unit, leaves in theirs.items():
        for keys in leaves:
            value = there.values[unit + keys]
            if type(value) is str and value and keys[-1:] not in _TOLD:
                index[value].append((unit, keys))
    used: dict[tuple[Keys, Keys], int] = defaultdict(int)
    found: list[Pair] = []
    shared: dict[Keys, dict[Keys, int]] = defaultdict(lambda: defaultdict(int))
    for unit, leaves in mine.items():
        for keys in leaves:
            value = here.values[unit + keys]
            if type(value) is not str or value not in index or keys[-1:] in _TOLD:
                continue
            slot = _slot(unit, keys)
            best = min(index[value], key=lambda each: (each[1] != keys, _slot(*each) != slot, used[each]))
            if len(value) < 2 and _slot(*best) != slot:
                continue
            used[best] += 1
            found.append((unit + keys, best[0] + best[1]))
            if unit and best[0]:
                shared[unit][best[0]] += 1
    units: dict[Pair, None] = {}
    taken: set[Keys] = set()
    for unit, others in shared.items():
        alike = [other for other in others if _type(here, unit) == _type(there, other)]
        if alike:
            best_unit = max(alike, key=lambda other: (others[other], other not in taken))
            taken.add(best_unit)
            units[unit, best_unit] = None
        units |= dict.fromkeys((unit, other) for other in others if other not in alike)
    return found, units


_TOLD = frozenset((word,) for word in _WORDS)


def _slot(unit: Keys, keys: Keys) -> Any:
    """The last key of a leaf; all of those under which a text may be are one."""
    last = (unit + keys)[-1:]
    return "text" if last in _TEXTS else last


_ALIKE = {"place_citation": "url_citation"}
"""Types of units that are sent as another one."""

_ABOVE = frozenset(("system", "developer"))
"""Roles that some protocols have one word for."""

_SAID = frozenset(("content", "text", "input", "instructions", "output", "refusal"))
"""Keys under which there are texts."""

_TEXTS = frozenset((key,) for key in _SAID)


def _above(unit: Keys) -> Iterator[Keys]:
    """The units around one, and itself."""
    while unit:
        if type(unit[-1]) is int:
            yield unit
        unit = unit[:-1]


def _in_order(
    here: Places,
    mine: dict[Keys, list[Keys]],
    there: Places,
    theirs: dict[Keys, list[Keys]],
    units: dict[Pair, None],
) -> None:
    """Match the units that have no text in common with any, by their types, in order."""
    left: dict[Any, list[Keys]] = defaultdict(list)
    right: dict[Any, list[Keys]] = defaultdict(list)
    known, taken = {one for one, _ in units}, {other for _, other in units}
    for unit in mine:
        if unit not in known:
            left[_type(here, unit)].append(unit)
    for unit in theirs:
        if unit not in taken:
            right[_type(there, unit)].append(unit)
    for kind, found in left.items():
        units.update(dict.fromkeys(zip(found, right.get(kind, ()))))
    for name in _LISTS:
        rest = [
            unit for kind, found in left.items() for unit in found[len(right.get(kind, ())) :] if unit[:1] == (name,)
        ]
        open_ = [
            unit for kind, found in right.items() for unit in found[len(left.get(kind, ())) :] if unit[:1] == (name,)
        ]
        if len(rest) == len(open_):
            units.update(dict.fromkeys(zip(sorted(rest, key=str), sorted(open_, key=str))))


def _type(places: Places, unit: Keys) -> Any:
    value = at(places.root, unit)
    kind = value.get("type") if type(value) is dict else None
    return _ALIKE.get(kind, kind) if type(kind) is str else unit[:1]
