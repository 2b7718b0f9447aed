"""Two schemas that must both hold, written as one: `allOf`, and a reference with siblings that is inlined.

The merged schema never excludes a value that both accept. Where one schema cannot express both (two patterns, two
unions), the first stays and the second is handed back, to be described in words. Subschemas that meet are not merged
here but left as `allOf` of the two, so that the work stays linear and goes on where they are lowered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from .refs import DEFINITIONS, Keys

__all__ = ["Origins", "as_types", "json_text", "merge", "same", "same_as"]

Schema = dict[str, Any]
# keyword, value, its place, True where the value was weighed and is in the result all the same
Note = Callable[[str, Any, Keys, bool], None]

LARGEST = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"})
SMALLEST = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"})
BOTH = frozenset({"items", "additionalProperties", "additionalItems", "propertyNames", "unevaluatedProperties"})
NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})
# One keyword of these changes what the others mean.
GROUPS = (("if", "then", "else"), ("contains", "minContains", "maxContains"))


class Origins:
    """Where the entries of containers come from that were put together here and are not in the original."""

    def __init__(self) -> None:
        self._places: dict[int, dict[Any, Keys]] = {}
        self._alive: list[Any] = []  # an id is only good while its object lives
        # The containers that were put together for a schema, which may grow as long as it is that schema's.
        self._grown: dict[int, int] = {}
        self.additions: int = 0  # how often one of them was added to
        self._numbered: dict[int, tuple[dict[str, int], int]] = {}
        self._texts: dict[int, dict[str, list[int]]] = {}

    def fresh(self, container: Any, places: dict[Any, Keys]) -> Any:
        """Remember the places of the entries of a new container."""
        self._places[id(container)] = places
        self._alive.append(container)
        return container

    def grow(self, container: Any, owner: Schema, at: Keys) -> tuple[Any, dict[Any, Keys]]:
        """A container at `at` with the places of its entries, both to be added to: a copy, unless it is one already."""
        self.additions += 1
        if self._grown.get(id(container)) != id(owner):
            keys = container if type(container) is dict else range(len(container))
            places = {key: self.place(container, key, at) for key in keys}
            container = self.fresh(container.copy(), places)
            self._grown[id(container)] = id(owner)
            self._alive.append(owner)
        return container, self._places[id(container)]

    def numbered(self, names: list[Any]) -> dict[str, int]:
        """Where each name stands in a list that grew; of a name that stands twice, the last of them."""
        known, count = self._numbered.get(id(names), ({}, 0))
        for index in range(count, len(names)):
            if type(names[index]) is str:
                known[names[index]] = index
        self._numbered[id(names)] = known, len(names)
        return known

    def texts(self, members: list[Any]) -> dict[str, list[int]]:
        """Where each value stands in a list, by its text: found once for a list that meets many others."""
        found = self._texts.get(id(members))
        if found is None:
            found = self._texts[id(members)] = {}
            self._alive.append(members)
            for at, member in enumerate(members):
                found.setdefault(_sorted(member), []).append(at)
        return found

    def copy(self, schema: Schema, at: Keys) -> Schema:
        """A copy with the origins of its entries."""
        return self.fresh(dict(schema), {key: self.place(schema, key, at) for key in schema})  # type: ignore[no-any-return]

    def place(self, container: Any, key: Any, at: Keys) -> Keys:
        """The place in the original of an entry of a container that is at `at`."""
        places = self._places.get(id(container))
        return places[key] if places and key in places else (*at, key)

    def set(self, container: Any, key: Any, place: Keys) -> None:
        """An entry of a fresh container has come from `place`."""
        self._places[id(container)][key] = place

    def elsewhere(self, value: Any, place: Keys) -> Iterator[Keys]:
        """The places of what is inside a value and does not come from below `place`."""
        todo = [value]
        while todo:
            container = todo.pop()
            for key, where in self._places.get(id(container), {}).items():
                if where[: len(place)] != place:
                    yield where
                todo.append(container[key])

    def both(self, one: Any, one_at: Keys, other: Any, other_at: Keys) -> Schema:
        """The schema `allOf` of two."""
        branches = self.fresh([one, other], {0: one_at, 1: other_at})
        return self.fresh({"allOf": branches}, {"allOf": one_at})  # type: ignore[no-any-return]


def json_text(value: Any) -> str:
    """Compact JSON of any value; never raises, also for what is not JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    except (RecursionError, TypeError, ValueError):
        return "..."


def same(one: Any, other: Any) -> bool:
    """Equality of JSON values: 1 is not true, key order does not matter."""
    try:
        return bool(one == other) and same_as(one) == same_as(other)  # the first is quicker where they differ
    except RecursionError:
        return False


def same_as(value: Any) -> Hashable:
    """What values have in common exactly if they are `same`: to find one among many.

    >>> same_as(1) == same_as(1.0), same_as(1) == same_as(True), same_as({"a": 1, "b": 2}) == same_as({"b": 2, "a": 1})
    (True, False, True)
    """
    if type(value) not in (dict, list):
        return type(value) is bool, value
    try:
        return _sorted(value), type(value) is dict, None
    except (RecursionError, TypeError, ValueError):
        return id(value), False, None  # the same as nothing


def _sorted(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def merge(into: Schema, other: Schema, at: Keys, origins: Origins, note: Note) -> None:
    """Add to `into`, a schema that `origins` made, what `other` at `at` demands."""
    if _opens(into, other) or _opens(other, into):
        for schema in (into, other):
            if schema.get("additionalProperties", True) is not True:
                where = origins.place(schema, "additionalProperties", at)
                note("additionalProperties", schema["additionalProperties"], where, True)
    taken = [group for group in GROUPS if any(key in into for key in group)]
    for key, value in other.items():
        place = origins.place(other, key, at)
        if key in DEFINITIONS:
            continue
        if any(key in group for group in taken):
            note(key, value, place, key in into and same(into[key], value))
        elif key not in into:
            into[key] = value
            origins.set(into, key, place)
        else:
            _meet(into, key, value, at, place, other, origins, note)


def _opens(closed: Schema, other: Schema) -> bool:
    """Whether properties of `other` fall under the rule of `closed` for additional ones, beyond one schema."""
    if closed.get("additionalProperties", True) is True:
        return False
    known, named = closed.get("properties"), other.get("properties")
    known = known if type(known) is dict else {}
    return "patternProperties" in other or (type(named) is dict and any(name not in known for name in named))


def _meet(
    into: Schema, key: str, value: Any, at: Keys, place: Keys, other: Schema, origins: Origins, note: Note
) -> None:
    mine, my_place = into[key], origins.place(into, key, ())
    if key in NAMED and type(mine) is dict and type(value) is dict:
        into[key] = _named(mine, my_place, value, place, into, origins)
    elif key in BOTH and type(mine) in (dict, bool) and type(value) in (dict, bool):
        if value is True or mine is False:
            if not same(mine, value):
                note(key, value, place, True)
        elif mine is True or value is False:
            note(key, mine, my_place, True)
            into[key] = value
            origins.set(into, key, place)
        else:
            into[key] = origins.both(mine, my_place, value, place)
    elif key == "required" and type(mine) is list and type(value) is list:
        names, places = origins.grow(mine, into, my_place)
        known = origins.numbered(names)
        for index, name in enumerate(value):
            if type(name) is not str or name not in known:
                places[len(names)] = origins.place(value, index, place)
                names.append(name)
            else:
                note(key, name, origins.place(value, index, place), True)
                note(key, name, places[known[name]], True)
        if not value:
            note(key, value, place, True)
        into[key] = names
    elif key == "prefixItems" and type(mine) is list and type(value) is list:
        into[key] = _tuples(mine, my_place, value, place, into, origins)
    elif key == "nullable" and type(mine) is bool and type(value) is bool:
        # Written beside a reference or allOf it is meant to add null, whatever the other schema has.
        if mine != value:
            note(key, False, place if mine else my_place, True)
        into[key] = mine or value
    elif key == "description" and type(mine) is str and type(value) is str:
        if mine != value:
            into[key] = f"{mine}\n\n{value}" if mine and value else mine or value
        else:
            note(key, value, place, True)
            note(key, mine, my_place, True)
    elif same(mine, value) or (key == "type" and set(as_types(mine)) == set(as_types(value))):
        note(key, value, place, True)
        if my_place != place:
            note(key, mine, my_place, True)
    else:
        kept = _stricter(key, mine, value, origins)
        if kept is None:
            note(key, value, place, False)
            return
        note(key, value, place, True)
        note(key, mine, my_place, True)
        into[key] = kept


def _stricter(key: str, mine: Any, value: Any, origins: Origins) -> Any:
    """The stricter of two values of a keyword, or None where neither implies the other."""
    if key in LARGEST or key in SMALLEST:
        if all(type(bound) in (int, float) for bound in (mine, value)):
            return max(mine, value) if key in LARGEST else min(mine, value)
    elif key == "type":
        one, two = as_types(mine), as_types(value)
        met = [kind for kind in one if kind in two or (kind == "integer" and "number" in two)]
        met += [kind for kind in two if kind == "integer" and "number" in one and "integer" not in one]
        return None if not met else met[0] if len(met) == 1 else met
    elif key == "enum" and type(mine) is list and type(value) is list:
        texts = origins.texts(mine)
        return [mine[at] for at in sorted({at for member in value for at in texts.get(_sorted(member), ())})] or None
    elif key == "uniqueItems" and type(mine) is bool and type(value) is bool:
        return mine or value
    return None


def as_types(value: Any) -> list[str]:
    """The value of `type` as a list of lower-case names."""
    names = value if type(value) is list else [value]
    return [name.lower() for name in names if type(name) is str]


def _named(mine: Schema, my_place: Keys, value: Schema, place: Keys, owner: Schema, origins: Origins) -> Schema:
    out: Schema
    out, places = origins.grow(mine, owner, my_place)
    for name, schema in value.items():
        where = origins.place(value, name, place)
        out[name] = origins.both(out[name], places[name], schema, where) if name in out else schema
        places.setdefault(name, where)
    return out


def _tuples(
    mine: list[Any], my_place: Keys, value: list[Any], place: Keys, owner: Schema, origins: Origins
) -> list[Any]:
    out: list[Any]
    out, places = origins.grow(mine, owner, my_place)
    for index, schema in enumerate(value):
        where = origins.place(value, index, place)
        if index < len(out):
            out[index] = origins.both(out[index], places[index], schema, where)
        else:
            out.append(schema)
            places[index] = where
    return out
