"""The verdict on each lost value: whether it is reported, and as what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ...foundation.generated_ids import is_made
from ...foundation.json_paths import pointer
from .. import Loss, Losses
from ..reasons import IN_TOTAL, repeated_reason
from ..report import reasoned
from .tables import UNKNOWN, UNTOLD, Place, Rule, Spot, known_ways, normal, same, scale_of, spot_of

if TYPE_CHECKING:
    from ...engine.adapter import Adapter
    from ...foundation.exchange import Exchange

__all__ = ["Weighing", "needs_no_field", "significant"]

Keys = tuple[Any, ...]

# How much information a value carries.
_NOTHING, _DONE_ANYWAY, _SOMETHING = range(3)

UNASKED = "the target does this by default"


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
        if weighs and (loss[2] == "lost" or loss[3] == IN_TOTAL) and loss[4] == "source":
            if weigher is None:
                weigher = _Weigher(here, document, stream)
            weighed = weigher.weigh(loss)
            if weighed is None:
                continue
            loss = weighed if loss[2] == "lost" else loss
            if loss[3] and kind == "response" and loss[2] == "lost":
                # (A setting that the target lacks matters in a request, and not in an answer that repeats it.)
                loss = loss._replace(detail=repeated_reason(loss[0], source, target) or loss[3])
        found.append(loss if loss[3] else reasoned(loss, source, target, kind))
    return Losses(found)


def needs_no_field(loss: Loss) -> bool:
    """Whether an entry is about a value which the target acts on, or the receiver has, without a field for it."""
    return loss.fate == "approximated" and (loss.detail == UNASKED or loss.detail in known_ways())


class _Weigher:
    """The verdicts on the losses of one document."""

    __slots__ = ("document", "echoed", "here", "scale")

    def __init__(self, here: Weighing, document: Any, stream: bool) -> None:
        self.here, self.document = here, document
        self.scale = scale_of(here.source, here.target, here.kind, stream)
        self.echoed: dict[str, bool] = {}

    def weigh(self, loss: Loss) -> Loss | None:
        """A value that was lost, as it is to be reported; None if it is not."""
        path, document, scale = loss.path, self.document, self.scale
        if scale.streams:
            # The number of the event and, on a wire, "data".
            above = 2 if scale.wire else 1
            _, *parts = path.split("/", above + 1)
            document, path = document.get(int(parts[0])), "/" + parts[above] if len(parts) > above else ""
        spot = spot_of(scale, path)
        keys, place, is_element, known, _ = spot
        if known and loss.capability.startswith("state."):
            # Where the provider finds an item by this id, the receiver cannot do without it.
            known = ""
        try:
            value = _value(document, keys)
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
            if not loss.capability.startswith("state.") and (how := spot_of(scale, path + below).known):
                return Loss(loss.path + below, loss.capability, "approximated", how)
        how = UNASKED if told == _DONE_ANYWAY else known
        return Loss(loss.path, loss.capability, "approximated", how) if how else loss

    def _judge(self, place: Place, value: Any) -> int:
        """How much a value means: nothing, what the target does anyway, or something. Of a container, the most.

        Without recursion, since a value may be nested more deeply than Python calls.
        """
        most = _NOTHING
        stack: list[Iterator[tuple[Place | None, Any]]] = [iter([(place, value)])]
        while stack:
            for here, inner in stack[-1]:
                told = _SOMETHING if here is None else self._judge_alone(here.rules, inner)
                if told != _SOMETHING:
                    most = max(most, told)
                elif here is not None and inner and type(inner) in (dict, list):
                    stack.append(_inside(here, inner))
                    break
                else:
                    return told
            else:
                stack.pop()
        return most

    def _judge_alone(self, rules: tuple[Rule, ...], value: Any) -> int:
        if value is None or (type(value) is str and is_made(value)):
            return _NOTHING
        told = _SOMETHING
        for nothing, anyway, unless in rules:
            if unless and self._has(unless):
                continue
            if nothing is not UNKNOWN and same(nothing, value):
                return _NOTHING
            if anyway is not UNKNOWN and same(anyway, value):
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
            if not keys or table.places.get(normal(keys[0])) != ():
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

    def _is_filled(self, spot: Spot) -> bool:
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


def _inside(place: Place, value: Any) -> Iterator[tuple[Place | None, Any]]:
    """What a container holds, with the places; None for an element that counts although it holds nothing."""
    below = place.below
    if type(value) is dict:
        return ((below.get(normal(key), UNTOLD), inner) for key, inner in value.items())
    element = below.get("*", UNTOLD)
    return ((None if _is_empty(inner) else element, inner) for inner in value)


def _is_empty(value: Any) -> bool:
    return value is None or (type(value) is dict and all(inner is None for inner in value.values()))


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
