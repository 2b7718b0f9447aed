"""`defaults.toml` as tables: for each place of a protocol's documents, which values carry no information there.

The data is loaded with the first lost value; `weighing` judges by it. An adapter from outside declares the table of its
protocol itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from ...foundation import packaged

__all__ = [
    "UNKNOWN",
    "UNTOLD",
    "Place",
    "Rule",
    "Scale",
    "Spot",
    "declare",
    "known_ways",
    "normal",
    "same",
    "scale_of",
    "spot_of",
]

Keys = tuple[Any, ...]

# No value is this one: the default depends on the model, or none is documented.
UNKNOWN: Any = object()


class _Row(NamedTuple):
    value: Any
    field: str
    means: Any
    unless: Keys
    always: bool


class Rule(NamedTuple):
    """A row on the way to one target: a value without information there, or one that is done there anyway."""

    nothing: Any
    anyway: Any
    unless: Keys


class Place:
    """A place of documents with its rules, and the places below it that have rules."""

    __slots__ = ("below", "rules")

    def __init__(self) -> None:
        self.rules: tuple[Rule, ...] = ()
        self.below: dict[str, Place] = {}


# A place without rules, like all places below it.
UNTOLD = Place()


class Spot(NamedTuple):
    """The rows of the tables for one place of a document."""

    keys: Keys
    place: Place
    is_element: bool
    # Where the receiver gets a value from that has no field there; "" where it does not, or has the field.
    known: str
    # The settings of the request without which a value there means nothing.
    filled: tuple[str, ...]


class _Protocol(NamedTuple):
    """The table of one protocol, patterns as tuples of normalized keys."""

    rows: Mapping[str, Mapping[Keys, list[_Row]]]
    # What the API does without a canonical setting, by that, and the settings for which its dialect declares it itself.
    behavior: Mapping[str, Any]
    own: frozenset[str]
    known: Mapping[Keys, str]
    echoes: frozenset[str]
    chosen: frozenset[str]
    filled: Mapping[Keys, str]
    places: Mapping[str, Keys]


class Scale:
    """The rows of the tables for the values of one kind of document on the way from one protocol to another."""

    __slots__ = ("_behavior", "_crosses", "_own", "_requests", "_root", "streams", "table", "wire")

    def __init__(self, source: str, target: str, kind: str, streams: bool) -> None:
        self.table: _Protocol = _protocol(source or "canonical")
        self.wire: bool = bool(source)
        self.streams: bool = streams
        there = _protocol(target)
        self._requests = kind == "request"
        self._crosses = source.partition(":")[0] != target.partition(":")[0]
        # What was lost to a dialect is a setting that the dialect does not have, even if its protocol has it.
        self._behavior, self._own = there.behavior, there.own if ":" in target else there.behavior.keys()
        self._root = Place()
        rows = self.table.rows["stream" if streams else kind]
        whole = self.table.rows["response"] if streams else {}
        patterns = dict.fromkeys((*rows, *whole))
        for key, above in self.table.places.items() if streams else ():
            patterns |= dict.fromkeys((key, *place[len(above) :]) for place in whole if place[: len(above)] == above)
        for pattern in patterns:
            told = [*rows.get(pattern, ())]
            told += [row for place in self.places(pattern) for row in whole.get(place, ())]
            self._at(pattern).rules = tuple(map(self._rule, told))

    def _at(self, pattern: Keys) -> Place:
        """The place of this pattern, made if need be."""
        place = self._root
        for key in pattern:
            place = place.below.setdefault(key, Place())
        return place

    def _rule(self, row: _Row) -> Rule:
        if not (row.field and self._requests):
            return Rule(row.value, UNKNOWN, row.unless)  # the target has no behavior of its own
        known = row.field in self._behavior and row.field in self._own
        there = self._behavior[row.field] if known else _data()["unasked"].get(row.field, UNKNOWN)
        nothing = row.value if row.always or same(there, row.means) else UNKNOWN
        return Rule(nothing, there if row.means == row.value else UNKNOWN, row.unless)

    def places(self, pattern: Keys) -> tuple[Keys, ...]:
        """Where a place of a stream's event is in the whole answer."""
        if not self.streams:
            return (pattern,)
        above = self.table.places.get(pattern[0]) if pattern else None
        return (pattern,) if above is None else ((*above, *pattern[1:]), pattern)

    def spot(self, path: str) -> Spot:
        keys, pattern = _keys(path)
        places, known, filled = self.places(pattern), self.table.known, self.table.filled
        how = next((known[place] for place in places if place in known), "") if self._crosses else ""
        here = self._root
        for key in pattern:
            here = here.below.get(key, UNTOLD)
        needed = tuple(filled[each] for each in places if each in filled)
        return Spot(keys, here, pattern[-1:] == ("*",), how, needed)


@lru_cache(maxsize=256)
def scale_of(source: str, target: str, kind: str, streams: bool) -> Scale:
    """The scale of one way, made once."""
    return Scale(source, target, kind, streams)


@lru_cache(maxsize=8192)
def spot_of(scale: Scale, path: str) -> Spot:
    """The rows for one place, found once."""
    return scale.spot(path)


_declared: dict[str, Mapping[str, Any]] = {}


def declare(protocol: str, table: Mapping[str, Any]) -> None:
    """Use this table for a protocol that the packaged data does not have; an empty one is none."""
    if _declared.get(protocol, {}) == table:
        return
    _declared[protocol] = table
    for memo in (known_ways, scale_of, spot_of, _protocol):
        memo.cache_clear()


def _table(surface: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = _data().get(surface) or _declared.get(surface, {})
    return found


@cache
def known_ways() -> frozenset[str]:
    """The details of entries about values that receivers have without a field for them."""
    return frozenset(row["how"] for table in (*_data().values(), *_declared.values()) for row in table.get("known", ()))


def same(one: Any, other: Any) -> bool:
    """Equality of JSON values: `1` and `1.0` are one number, `true` is none."""
    if type(one) is bool or type(other) is bool:
        return one is other
    return bool(one == other)


@lru_cache(maxsize=4096)
def normal(key: Any) -> str:
    """A key without regard to its spelling: `maxTokens` and `max_tokens` are one."""
    return str(key).replace("_", "").lower()


def _keys(pointer: str) -> tuple[Keys, Keys]:
    """The keys of a JSON pointer as they are, and normalized. A number is a list index in the latter."""
    keys = tuple(key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:])
    return keys, tuple("*" if key.isdigit() else normal(key) for key in keys)


@cache
def _data() -> dict[str, Any]:
    return packaged.table("losses/defaults")


@cache
def _protocol(surface: str) -> _Protocol:
    """The table of a protocol and, behind a colon, its dialect."""
    name = surface.partition(":")[0]
    own = _table(name)
    tables = [_table(own.get("like", "")), own, *([_table(surface)] if surface != name else [])]
    rows: dict[str, dict[Keys, list[_Row]]] = {"request": {}, "response": {}, "stream": {}}
    behavior: dict[str, Any] = {}
    for table in tables:
        for kind, found in rows.items():
            for row in table.get(kind, ()):
                field, value = row.get("field", ""), row.get("value", UNKNOWN)
                means = row.get("means", value)
                if field and kind == "request":
                    behavior.setdefault(field, UNKNOWN if row.get("unknown") else means)
                if value is not UNKNOWN:
                    place = _keys(row["path"])[1]
                    unless = _keys(row.get("unless", ""))[0]
                    found.setdefault(place, []).append(_Row(value, field, means, unless, row.get("always", False)))
    # An answer repeats settings of its request: what is a default there is one here.
    for place, its in rows["request"].items():
        rows["response"].setdefault(place, []).extend(its)
    return _Protocol(
        rows,
        behavior,
        frozenset(row.get("field", "") for row in _table(surface).get("request", ())),
        {_keys(row["path"])[1]: row["how"] for table in tables for row in table.get("known", ())},
        frozenset(key for table in tables for key in table.get("echoes", ())),
        frozenset(key for table in tables for key in table.get("chosen", ())),
        {_keys(row["path"])[1]: row["field"] for table in tables for row in table.get("filled", ())},
        {_keys(key)[1][0]: _keys(place)[1] for table in tables for key, place in table.get("places", {}).items()},
    )
