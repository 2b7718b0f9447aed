"""Which lost values carry no information: documented defaults, what the library made, and echoes of the request.

The engine reports every value that it did not write. A reported value is dropped from the report

* in a request, if it is the source API's documented default and the target does the same without it;
* in an answer, if it is the source API's documented default, or repeats a setting of the request;
* anywhere, if it is null, or an identifier that the library made.

A value that is not the source's default, and requests what the target does anyway, is `approximated`. The data is
`defaults.toml`, loaded with the first lost value. Decision record 0027.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..foundation.generated_ids import is_made
from ..foundation.json_paths import pointer
from . import Loss, Losses
from .report import reasoned

if TYPE_CHECKING:
    from ..engine.adapter import Adapter
    from ..foundation.exchange import Exchange

__all__ = ["Weighing", "needs_no_field", "significant"]

Keys = tuple[Any, ...]

# How much information a value carries.
_NOTHING, _DONE_ANYWAY, _SOMETHING = range(3)

UNASKED = "the target does this by default"
# No value is this one: the default depends on the model, or none is documented.
_UNKNOWN: Any = object()


class _Row(NamedTuple):
    value: Any
    field: str
    means: Any
    unless: Keys
    always: bool


class _Rule(NamedTuple):
    """A row on the way to one target: a value without information there, or one that is done there anyway."""

    nothing: Any
    anyway: Any
    unless: Keys


class _Place:
    """A place of documents with its rules, and the places below it that have rules."""

    __slots__ = ("below", "rules")

    def __init__(self) -> None:
        self.rules: tuple[_Rule, ...] = ()
        self.below: dict[str, _Place] = {}


# A place without rules, like all places below it.
_UNTOLD = _Place()


class _Spot(NamedTuple):
    """The rows of the tables for one place of a document."""

    keys: Keys
    place: _Place
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


class Weighing(NamedTuple):
    """One conversion, as far as its losses are concerned.

    `source` ("" for the canonical form) and `target` are protocol ids with their dialects; `kind` is "request" or
    "response". `exchange` is that of the request an answer belongs to, `answer` the canonical answer, and `adapter` the
    source's.
    """

    source: str
    target: str
    kind: str
    exchange: Exchange | None = None
    answer: Any = None
    adapter: Adapter | None = None


def significant(losses: Iterable[Loss], here: Weighing, document: Any, stream: bool = False) -> Losses:
    """The report without the values that carry no information, and with a reason in every entry.

    `document` is the source's. Of a stream it is the events by their numbers, as far as they are known.
    """
    weigher: _Weigher | None = None
    weighs, source, target, kind = here.kind in ("request", "response"), here.source, here.target, here.kind
    found: list[Loss] = []
    for loss in losses:
        if weighs and loss[2] == "lost" and loss[4] == "source":
            if weigher is None:
                weigher = _Weigher(here, document, stream)
            weighed = weigher.weigh(loss)
            if weighed is None:
                continue
            loss = weighed
        found.append(loss if loss[3] else reasoned(loss, source, target, kind))
    return Losses(found)


def needs_no_field(loss: Loss) -> bool:
    """Whether an entry is about a value which the target acts on, or the receiver has, without a field for it."""
    return loss.fate == "approximated" and (loss.detail == UNASKED or loss.detail in _known_ways())


@cache
def _known_ways() -> frozenset[str]:
    return frozenset(row["how"] for table in _data().values() for row in table.get("known", ()))


class _Scale:
    """The rows of the tables for the values of one kind of document on the way from one protocol to another."""

    __slots__ = ("_behavior", "_crosses", "_own", "_requests", "_root", "streams", "table", "wire")

    def __init__(self, source: str, target: str, kind: str, streams: bool) -> None:
        self.table, there = _protocol(source or "canonical"), _protocol(target)
        self.wire, self.streams = bool(source), streams
        self._requests = kind == "request"
        self._crosses = source.partition(":")[0] != target.partition(":")[0]
        # What was lost to a dialect is a setting that the dialect does not have, even if its protocol has it.
        self._behavior, self._own = there.behavior, there.own if ":" in target else there.behavior.keys()
        self._root = _Place()
        rows = self.table.rows["stream" if streams else kind]
        whole = self.table.rows["response"] if streams else {}
        patterns = dict.fromkeys((*rows, *whole))
        for key, above in self.table.places.items() if streams else ():
            patterns |= dict.fromkeys((key, *place[len(above) :]) for place in whole if place[: len(above)] == above)
        for pattern in patterns:
            told = [*rows.get(pattern, ())]
            told += [row for place in self.places(pattern) for row in whole.get(place, ())]
            self._at(pattern).rules = tuple(map(self._rule, told))

    def _at(self, pattern: Keys) -> _Place:
        """The place of this pattern, made if need be."""
        place = self._root
        for key in pattern:
            place = place.below.setdefault(key, _Place())
        return place

    def _rule(self, row: _Row) -> _Rule:
        if not (row.field and self._requests):
            return _Rule(row.value, _UNKNOWN, row.unless)  # the target has no behavior of its own
        known = row.field in self._behavior and row.field in self._own
        there = self._behavior[row.field] if known else _data()["unasked"].get(row.field, _UNKNOWN)
        nothing = row.value if row.always or same(there, row.means) else _UNKNOWN
        return _Rule(nothing, there if row.means == row.value else _UNKNOWN, row.unless)

    def places(self, pattern: Keys) -> tuple[Keys, ...]:
        """Where a place of a stream's event is in the whole answer."""
        if not self.streams:
            return (pattern,)
        above = self.table.places.get(pattern[0]) if pattern else None
        return (pattern,) if above is None else ((*above, *pattern[1:]), pattern)

    def spot(self, path: str) -> _Spot:
        keys, pattern = _keys(path)
        places, known, filled = self.places(pattern), self.table.known, self.table.filled
        how = next((known[place] for place in places if place in known), "") if self._crosses else ""
        here = self._root
        for key in pattern:
            here = here.below.get(key, _UNTOLD)
        needed = tuple(filled[each] for each in places if each in filled)
        return _Spot(keys, here, pattern[-1:] == ("*",), how, needed)


_scale = lru_cache(maxsize=256)(_Scale)
_spot = lru_cache(maxsize=8192)(_Scale.spot)


class _Weigher:
    """The verdicts on the losses of one document."""

    __slots__ = ("document", "echoed", "here", "scale")

    def __init__(self, here: Weighing, document: Any, stream: bool) -> None:
        self.here, self.document = here, document
        self.scale = _scale(here.source, here.target, here.kind, stream)
        self.echoed: dict[str, bool] = {}

    def weigh(self, loss: Loss) -> Loss | None:
        """A value that was lost, as it is to be reported; None if it is not."""
        path, document, scale = loss.path, self.document, self.scale
        if scale.streams:
            # The number of the event and, on a wire, "data".
            above = 2 if scale.wire else 1
            _, *parts = path.split("/", above + 1)
            document, path = document.get(int(parts[0])), "/" + parts[above] if len(parts) > above else ""
        spot = _spot(scale, path)
        keys, place, is_element, known, _ = spot
        try:
            value = document[keys[0]] if len(keys) == 1 and type(document) is dict else _value(document, keys)
        except LookupError:
            return loss
        if value is None or type(value) is dict or type(value) is list:
            # (An element that holds nothing counts, whatever is in it.)
            told = _SOMETHING if is_element and _is_empty(value) else self._judge(place, value)
        else:
            told = self._judge_alone(place.rules, value)
        if told == _NOTHING:
            return None
        if self.here.exchange is not None and (self._is_echo(keys) or self._is_filled(spot)):
            return None
        if type(value) is dict and len(value) == 1 and told == _SOMETHING:
            # The one value of an object was not sent, so nothing of the object was.
            below = pointer(value)
            if how := _spot(scale, path + below).known:
                return Loss(loss.path + below, loss.capability, "approximated", how)
        how = UNASKED if told == _DONE_ANYWAY else known
        return Loss(loss.path, loss.capability, "approximated", how) if how else loss

    def _judge(self, place: _Place, value: Any) -> int:
        """How much a value means: nothing, what the target does anyway, or something. Of a container, the most."""
        told = self._judge_alone(place.rules, value)
        if told != _SOMETHING or not value or type(value) not in (dict, list):
            return told
        most, below = _NOTHING, place.below
        if type(value) is list:
            inside = below.get("*", _UNTOLD)
            for inner in value:
                told = _SOMETHING if _is_empty(inner) else self._judge(inside, inner)
                if told == _SOMETHING:
                    return told
                most = max(most, told)
            return most
        for key, inner in value.items():
            told = self._judge(below.get(_normal(key), _UNTOLD), inner)
            if told == _SOMETHING:
                return told
            most = max(most, told)
        return most

    def _judge_alone(self, rules: tuple[_Rule, ...], value: Any) -> int:
        if value is None or (type(value) is str and is_made(value)):
            return _NOTHING
        told = _SOMETHING
        for nothing, anyway, unless in rules:
            if unless and self._has(unless):
                continue
            if nothing is not _UNKNOWN and same(nothing, value):
                return _NOTHING
            if anyway is not _UNKNOWN and same(anyway, value):
                told = _DONE_ANYWAY
        return told

    def _has(self, keys: Keys) -> bool:
        try:
            return bool(_value(self.document, keys))
        except LookupError:
            return False

    def _is_echo(self, keys: Keys) -> bool:
        """Whether a value is in a setting of an answer that repeats a setting of the request."""
        if self.here.exchange is None or type(self.here.answer) is not dict:
            return False
        table = self.scale.table
        if self.scale.streams:
            if not keys or table.places.get(_normal(keys[0])) != ():
                return False
            keys = keys[1:]
        key = keys[0] if keys else None
        if key not in table.echoes:
            return False
        if key not in self.echoed:
            settings = self.here.adapter.settings.get("response") if self.here.adapter else None
            name = (settings.canonical_key(key) if settings else None) or key
            asked, answered = self.here.exchange.settings.get(name), self.here.answer.get(name)
            self.echoed[key] = key in table.chosen if asked is None else _within(asked, answered)
        return self.echoed[key]

    def _is_filled(self, spot: _Spot) -> bool:
        """Whether a value of an answer means something only together with a setting that the request does not have."""
        if self.here.kind != "response" or self.here.exchange is None:
            return False
        return any(self.here.exchange.settings.get(field) is None for field in spot.filled)


def _within(asked: Any, answered: Any) -> bool:
    """Whether an answer's setting holds all that was requested; what the provider filled in does not matter."""
    if type(asked) is dict and type(answered) is dict:
        return all(
            value is None or key == "extra" or (key in answered and _within(value, answered[key]))
            for key, value in asked.items()
        )
    if type(asked) is list and type(answered) is list:
        return len(asked) == len(answered) and all(map(_within, asked, answered))
    return same(asked, answered)


def same(one: Any, other: Any) -> bool:
    """Equality of JSON values: `1` and `1.0` are one number, `true` is none."""
    if type(one) is bool or type(other) is bool:
        return one is other
    return bool(one == other)


def _is_empty(value: Any) -> bool:
    return value is None or (type(value) is dict and all(inner is None for inner in value.values()))


@lru_cache(maxsize=4096)
def _normal(key: Any) -> str:
    return str(key).replace("_", "").lower()


def _keys(pointer: str) -> tuple[Keys, Keys]:
    """The keys of a JSON pointer as they are, and normalized. A number is a list index in the latter."""
    keys = tuple(key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:])
    return keys, tuple("*" if key.isdigit() else _normal(key) for key in keys)


def _value(document: Any, keys: Keys) -> Any:
    """The value at the keys of a JSON pointer; raises LookupError where there is none."""
    for key in keys:
        if type(document) is list:
            if not key.isdigit():
                raise LookupError(key)
            document = document[int(key)]
        elif type(document) is dict:
            document = document[key]
        else:
            raise LookupError(key)
    return document


@cache
def _data() -> dict[str, Any]:
    from ..foundation.packaged import table

    return table("losses/defaults")


@cache
def _protocol(surface: str) -> _Protocol:
    """The table of a protocol and, behind a colon, its dialect."""
    data = _data()
    name = surface.partition(":")[0]
    own = data.get(name, {})
    tables = [data.get(own.get("like", ""), {}), own, *([data.get(surface, {})] if surface != name else [])]
    rows: dict[str, dict[Keys, list[_Row]]] = {"request": {}, "response": {}, "stream": {}}
    behavior: dict[str, Any] = {}
    for table in tables:
        for kind, found in rows.items():
            for row in table.get(kind, ()):
                field, value = row.get("field", ""), row.get("value", _UNKNOWN)
                means = row.get("means", value)
                if field and kind == "request":
                    behavior.setdefault(field, _UNKNOWN if row.get("unknown") else means)
                if value is not _UNKNOWN:
                    place = _keys(row["path"])[1]
                    unless = _keys(row.get("unless", ""))[0]
                    found.setdefault(place, []).append(_Row(value, field, means, unless, row.get("always", False)))
    # An answer repeats settings of its request: what is a default there is one here.
    for place, its in rows["request"].items():
        rows["response"].setdefault(place, []).extend(its)
    return _Protocol(
        rows,
        behavior,
        frozenset(row.get("field", "") for row in data.get(surface, {}).get("request", ())),
        {_keys(row["path"])[1]: row["how"] for table in tables for row in table.get("known", ())},
        frozenset(key for table in tables for key in table.get("echoes", ())),
        frozenset(key for table in tables for key in table.get("chosen", ())),
        {_keys(row["path"])[1]: row["field"] for table in tables for row in table.get("filled", ())},
        {_keys(key)[1][0]: _keys(place)[1] for table in tables for key, place in table.get("places", {}).items()},
    )
