"""Which lost values carry no information: documented defaults, what the library made, and echoes of the request.

The engine reports every value that it did not write. A reported value is dropped from the report

* in a request, if it is the source API's documented default and the target does the same without it;
* in an answer, if it is the source API's documented default, or repeats what the request asked for;
* anywhere, if it is null, or an identifier that the library made.

A value that is not the source's default, and asks for what the target does anyway, is `approximated`. The data is
`defaults.toml`, loaded with the first lost value. Decision record 0027.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .ids import is_made
from .jsonvalue import MAX_DEPTH
from .losses import Loss, Losses

if TYPE_CHECKING:
    from .adapter import Adapter
    from .exchange import Exchange

__all__ = ["Weighing", "needs_no_field", "significant"]

Keys = tuple[Any, ...]

# How much a value says.
_NOTHING, _DONE_ANYWAY, _SOMETHING = range(3)

UNASKED = "the target does this without being asked"
# No value is this one: the default depends on the model, or none is documented.
_UNKNOWN: Any = object()


class _Row(NamedTuple):
    value: Any
    field: str
    means: Any
    unless: Keys
    always: bool


class _Protocol(NamedTuple):
    """The table of one protocol, patterns as tuples of normalized keys."""

    rows: Mapping[str, Mapping[Keys, list[_Row]]]
    # What the API does without a canonical setting, by that, and the settings of which its dialect says so itself.
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
    """The report without the values that carry no information.

    `document` is the source's. Of a stream it is the events by their numbers, as far as they are known.
    """
    losses = losses if isinstance(losses, Losses) else Losses(losses)
    if here.kind not in ("request", "response") or not any(loss.fate == "lost" for loss in losses):
        return losses
    weigher = _Weigher(here, document, stream)
    found = (weigher.weigh(loss) for loss in losses)
    return Losses(loss for loss in found if loss is not None)


def needs_no_field(loss: Loss) -> bool:
    """Whether an entry is about a value which the target acts on, or the receiver knows, without a field for it."""
    return loss.fate == "approximated" and (loss.detail == UNASKED or loss.detail in _known_ways())


@cache
def _known_ways() -> frozenset[str]:
    return frozenset(row["how"] for table in _data().values() for row in table.get("known", ()))


class _Weigher:
    """The verdicts on the losses of one document."""

    def __init__(self, here: Weighing, document: Any, stream: bool) -> None:
        self.here, self.document, self.streams = here, document, stream
        self.table = _protocol(here.source or "canonical")
        self.target = _protocol(here.target)
        self.echoed: dict[str, bool] = {}

    def weigh(self, loss: Loss) -> Loss | None:
        if loss.fate != "lost" or loss.side != "source":
            return loss
        keys, pattern = _keys(loss.path)
        document = self.document
        if self.streams:
            # The number of the event and, on a wire, "data".
            above = 2 if self.here.source else 1
            document, keys, pattern = document.get(int(keys[0])), keys[above:], pattern[above:]
        try:
            value = _value(document, keys)
        except LookupError:
            return loss
        told = self._judge(pattern, value)
        if told == _NOTHING:
            return None
        if self.here.exchange is not None and (self._is_echo(keys) or self._is_filled(pattern)):
            return None
        how = UNASKED if told == _DONE_ANYWAY else self._known_by(pattern)
        return loss._replace(fate="approximated", detail=how) if how else loss

    def _known_by(self, pattern: Keys) -> str:
        """How the receiver knows a value that has no field there; "" where it does not, or has the field."""
        if self.here.source.partition(":")[0] == self.here.target.partition(":")[0]:
            return ""
        return next((self.table.known[place] for place in self._places(pattern) if place in self.table.known), "")

    def _judge(self, pattern: Keys, value: Any) -> int:
        """How much a value says: nothing, what the target does anyway, or something. Of a container, the most in it."""
        most, waiting = _NOTHING, [(pattern, value)]
        while waiting and most < _SOMETHING:
            pattern, value = waiting.pop()
            if _is_element(pattern, value):
                return _SOMETHING
            told = self._judge_alone(pattern, value)
            if told == _SOMETHING and value and type(value) is dict:
                # No place in the tables is that deep, and a path that grew on would make this quadratic in the depth.
                above = pattern[:MAX_DEPTH]
                waiting += [((*above, _normal(key)), inner) for key, inner in value.items()]
            elif told == _SOMETHING and value and type(value) is list:
                above = pattern[:MAX_DEPTH]
                waiting += [((*above, "*"), inner) for inner in value]
            else:
                most = max(most, told)
        return most

    def _judge_alone(self, pattern: Keys, value: Any) -> int:
        if value is None or is_made(value):
            return _NOTHING
        told = _SOMETHING
        for row in self._rows(pattern):
            if row.unless and self._has(row.unless):
                continue
            there = self._behavior(row.field) if row.field and self.here.kind == "request" else row.means
            if same(row.value, value) and (row.always or same(there, row.means)):
                return _NOTHING
            if row.field and self.here.kind == "request" and row.means == row.value and same(there, value):
                told = _DONE_ANYWAY
        return told

    def _rows(self, pattern: Keys) -> list[_Row]:
        rows = self.table.rows
        if self.streams:
            found = rows["stream"].get(pattern, [])
            return [*found, *(row for place in self._places(pattern) for row in rows["response"].get(place, ()))]
        return rows[self.here.kind].get(pattern, [])

    def _places(self, pattern: Keys) -> tuple[Keys, ...]:
        """Where a place of a stream's event is in the whole answer."""
        if not self.streams:
            return (pattern,)
        above = self.table.places.get(pattern[0]) if pattern else None
        return (pattern,) if above is None else ((*above, *pattern[1:]), pattern)

    def _behavior(self, field: str) -> Any:
        behavior = self.target.behavior
        if field in behavior and (":" not in self.here.target or field in self.target.own):
            return behavior[field]
        # What was lost to a dialect is a setting that the dialect does not have, even if its protocol has it.
        return _data()["unasked"].get(field, _UNKNOWN)

    def _has(self, keys: Keys) -> bool:
        try:
            return bool(_value(self.document, keys))
        except LookupError:
            return False

    def _is_echo(self, keys: Keys) -> bool:
        """Whether a value is in a setting of an answer that repeats what the request asked for."""
        if self.here.exchange is None or type(self.here.answer) is not dict:
            return False
        if self.streams:
            if not keys or self.table.places.get(_normal(keys[0])) != ():
                return False
            keys = keys[1:]
        key = keys[0] if keys else None
        if key not in self.table.echoes:
            return False
        if key not in self.echoed:
            table = self.here.adapter.settings.get("response") if self.here.adapter else None
            name = (table.hub_key(key) if table else None) or key
            asked, answered = self.here.exchange.settings.get(name), self.here.answer.get(name)
            self.echoed[key] = key in self.table.chosen if asked is None else _within(asked, answered)
        return self.echoed[key]

    def _is_filled(self, pattern: Keys) -> bool:
        """Whether a value of an answer means something only together with a setting that the request does not have."""
        if self.here.kind != "response" or self.here.exchange is None:
            return False
        fields = [self.table.filled[place] for place in self._places(pattern) if place in self.table.filled]
        return any(self.here.exchange.settings.get(field) is None for field in fields)


def _within(asked: Any, answered: Any) -> bool:
    """Whether an answer's setting holds all that was asked for; what the provider filled in does not matter."""
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


def _is_element(pattern: Keys, value: Any) -> bool:
    """Whether a value that holds nothing is an element of a list: that counts, whatever is in it."""
    return pattern[-1:] == ("*",) and _is_empty(value)


def _is_empty(value: Any) -> bool:
    return value is None or (type(value) is dict and all(inner is None for inner in value.values()))


def _normal(key: Any) -> str:
    return str(key).replace("_", "").lower()


@lru_cache(maxsize=4096)
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
    import tomllib
    from importlib import resources

    return tomllib.loads((resources.files(__package__) / "defaults.toml").read_text("utf-8"))


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
