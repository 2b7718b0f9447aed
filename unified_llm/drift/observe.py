"""What became of a capability, measured: a probe goes from one protocol to another and is read back there.

Two sources are compared. The loss report contains what the converter believes; the target's document, read back,
contains what arrived. The fate is the report's where they agree. Where the report has no entry and the value is not
there (`silent`), or calls lost what arrived (`denied`), an adapter has a bug, and the cell shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from ..engine.pairs.reading import Reader
from ..engine.registry import provider_of, split
from ..foundation.errors import CapabilityRefused, UnifiedLLMError
from ..foundation.json_codec import load
from ..foundation.secret import Secret
from ..losses import Loss
from ..losses.defaults import needs_no_field
from ..passes.convert import convert, write
from ..passes.route import kind_of
from ..streams.collect_and_decompose import checked, collect, decompose
from ..streams.conversion import convert_stream
from ..streams.writing import write_stream
from .probing import Place, Probe, places, plain, probes

__all__ = ["CANONICAL", "OBSERVED", "Cell", "Key", "cell", "measure", "survives"]

SECRET = "what is measured has a secret"
CANONICAL = "canonical"
"""The name of the source that is not a protocol: the canonical document."""

OBSERVED: dict[str, str] = {
    "native": "identical feature in the target, no loss",
    "emulated": "the target lacks the feature; the library implements it with another one",
    "approximated": "sent as the closest equivalent, or in part",
    "parked": "not visible to the target; stored in an envelope or vault, restored on return",
    "lost": "not sent: the target has no equivalent",
    "refused": "no meaningful document exists; the conversion raises `CapabilityRefused`",
    "denied": "carried, although the report calls it lost: a bug of an adapter",
    "silent": "gone or changed, and not reported: a bug of an adapter",
    "broken": "the conversion fails with an untyped error: a bug of an adapter",
    "-": "the source cannot express it",
}
"""What is observed of a capability, best first."""

_CARRIED = ("native", "emulated", "approximated", "parked", "denied")


class Key(NamedTuple):
    """What is measured: `model` is the target's, "" for none."""

    kind: str
    source: str
    target: str
    capability: str
    model: str = ""


class Cell(NamedTuple):
    """One observation: one of `OBSERVED`, and what is known of it."""

    fate: str
    detail: str = ""


def survives(fate: str) -> bool:
    """Whether a capability with this fate is still there on the other side."""
    return fate in _CARRIED


def measure(
    sources: Iterable[str], targets: Iterable[str], kinds: Iterable[str], capabilities: str = "*", model: str = ""
) -> Iterator[tuple[Key, Cell]]:
    """Every cell of every pair of two different names, in the order given. `capabilities` is a glob.

    >>> key, found = next(measure(["openai-chat"], ["openai-responses"], ["request"], "sampling.seed"))
    >>> found.fate
    'lost'
    """
    targets = list(targets)
    for kind in kinds:
        for source in sources:
            for target in targets:
                if source != target:
                    for capability in probes(kind):
                        if fnmatchcase(capability, capabilities):
                            key = Key(kind, source, target, capability, model)
                            yield key, cell(key)


def cell(key: Key) -> Cell:
    """What becomes of one capability on one way.

    >>> cell(Key("request", "openai-chat", "openai-responses", "sampling.temperature"))
    Cell(fate='native', detail='')
    """
    if key not in _cells:
        _cells[key] = _observed(key)
    return _cells[key]


def _observed(key: Key) -> Cell:
    speaker = (key.target if key.source == CANONICAL else key.source).partition(":")[0]
    known = [each for each in probes(key.kind).get(key.capability, ()) if not each.only or speaker in each.only]
    if key.source == CANONICAL:
        return min((_from_canonical(probe, key) for probe in known), key=_rank, default=Cell("-"))
    found = (_from_wire(probe, key) for probe in known)
    return next((each for each in found if each.fate != "-"), Cell("-"))


_RANKS = {fate: rank for rank, fate in enumerate(OBSERVED)}


def _rank(found: Cell) -> int:
    return _RANKS[found.fate]


class _Sent(NamedTuple):
    """A probe in the words of a protocol: the wire document, and the report of writing it."""

    value: Any
    losses: tuple[Loss, ...]
    http: Any


_said: dict[tuple[Any, ...], tuple[_Sent | None, Cell]] = {}
_cells: dict[Key, Cell] = {}


def _from_canonical(probe: Probe, key: Key) -> Cell:
    return _said_by(probe, key.target, key.model, SECRET)[1]


def _said_by(probe: Probe, protocol: str, model: str = "", secret: str | None = None) -> tuple[_Sent | None, Cell]:
    """The probe in the form of a protocol, and the fate of its capability there.

    With a secret that is what a client of the protocol gets and gives back; without, the own provider's answer.
    """
    key = (id(probe.document), probe.kind, protocol, model, secret)
    if key not in _said:
        document = probe.of(protocol)
        bearing = _bearing(document, probe, protocol)
        try:
            sent = _write(document, probe.kind, protocol, model, secret)
            back = _back(probe, sent, protocol, secret)
        except Exception as error:
            _said[key] = None, _failed(error)
        else:
            told = document if probe.kind != "stream" else _events(document)
            _said[key] = sent, _judged(probe, document, bearing, told, sent.losses, back, protocol)
    return _said[key]


def _from_wire(probe: Probe, key: Key) -> Cell:
    sent, own = _said_by(probe, key.source)
    if sent is None or own.fate != "native":
        return Cell("-")
    document = probe.of(key.source)
    bearing = _bearing(document, probe, key.source)
    try:
        done = _convert(sent, key)
        back = _back(probe, done, key.target, SECRET)
    except Exception as error:
        return _failed(error)
    return _judged(probe, document, bearing, sent.value, done.losses, back, key.source)


def _failed(error: Exception) -> Cell:
    if isinstance(error, CapabilityRefused):
        return Cell("refused", str(error))
    ours = isinstance(error, UnifiedLLMError)
    return Cell("lost" if ours else "broken", f"{type(error).__name__}: {error}")


def _bearing(document: Any, probe: Probe, protocol: str) -> list[Place]:
    return places(plain(document) if type(document) is dict else document, probe.bears, protocol)


def _judged(
    probe: Probe,
    document: Any,
    bearing: list[Place],
    source: Any,
    losses: Iterable[Loss],
    back: Any,
    protocol: str,
) -> Cell:
    """The fate, from what is reported of the bearing leaves and what came of them."""
    came = [place.meaning for place in places(plain(back), probe.bears, protocol)]
    missing = [place for place in bearing if not _take(place.meaning, came)]
    spots = _spots(source, bearing)
    # A value with several forms may be reported as any of them, and one that did not arrive and equals
    # others with the node around it.
    loose = (missing and not spots) or any(place.meaning is not place.value for place in bearing)
    topic = {probe.capability.partition(".")[0]} if loose else set()
    told = [
        loss
        for loss in losses
        if loss.side == "source"
        and (_concerns(loss, probe.capability, spots) or loss.capability.partition(".")[0] in topic)
    ]
    if not missing:
        # All arrived. What needs no field of its own in the target takes nothing from that.
        told = [loss for loss in told if not needs_no_field(loss)]
    fates = {loss.fate: loss.detail for loss in reversed(told)}
    kept = [loss.path for loss in told if loss.fate == "parked"]
    if not missing and not all(_is_kept(place, document, source, kept) for place in bearing):
        # What is kept with us is something else of the same capability.
        fates.pop("parked", None)
    for fate in ("emulated", "parked", "approximated"):
        if fate in fates and not (fate == "approximated" and "lost" in fates and missing):
            return Cell(fate, fates[fate])
    if not missing:
        gone = {loss.path for loss in told if loss.fate == "lost"}
        return Cell("denied" if spots and spots <= gone else "native")
    if "lost" in fates:
        part = len(missing) < len(bearing)
        return Cell("approximated", f"in part; {fates['lost']}") if part else Cell("lost", fates["lost"])
    return Cell("silent", f"{missing[0].value!r:.24} did not arrive, and is not reported")


def _is_kept(place: Place, document: Any, source: Any, paths: list[str]) -> bool:
    """Whether the value of a place in the source is below one of the paths; every such value, if several are equal.

    The last events of a stream repeat earlier values, and the report has one entry.
    """
    below = [any(f"{spot}/".startswith(f"{path}/") for path in paths) for spot in _spots(source, [place])]
    alone = len(_spots(document, [place])) == 1
    return not below or (any(below) if alone else all(below))


def _concerns(loss: Loss, capability: str, spots: set[str]) -> bool:
    return loss.capability == capability or any(
        spot == loss.path or spot.startswith(loss.path + "/") or loss.path.startswith(spot + "/") for spot in spots
    )


def _take(meaning: Any, came: list[Any]) -> bool:
    """Whether a meaning is among those that came, which it then is no longer; base64 may stand in a data URL."""
    for index, other in enumerate(came):
        if type(other) is type(meaning) and (
            other == meaning or (type(meaning) is str and other.endswith("," + meaning))
        ):
            del came[index]
            return True
    return False


def _spots(source: Any, bearing: list[Place]) -> set[str]:
    """Where the values stand in the source; a value that is too common is found by its capability alone."""
    wanted = [place.value for place in bearing if type(place.value) in (str, int, float)]
    found: set[str] = set()
    stack: list[tuple[Any, str]] = [(source, "")]
    while stack:
        node, at = stack.pop()
        if type(node) is dict or type(node) is list:
            for key, inner in node.items() if type(node) is dict else enumerate(node):
                stack.append((inner, f"{at}/{str(key).replace('~', '~0').replace('/', '~1')}"))
        elif any(type(node) is type(value) and node == value for value in wanted):
            found.add(at)
    return found


# ---- documents and streams alike ------------------------------------------------------------------------------------


def _events(document: Any) -> list[Any]:
    return list(decompose(document)) if type(document) is dict else document


def _write(document: Any, kind: str, protocol: str, model: str, secret: str | None) -> _Sent:
    if kind == "stream":
        stream = write_stream(_events(document), protocol, secret=secret)
        events = list(stream)
        return _Sent(events, tuple(stream.losses), None)
    done = write(document, protocol, kind, model=model or None, secret=secret)
    return _Sent(done.value, tuple(done.losses), done.http)


def _convert(sent: _Sent, key: Key) -> _Sent:
    if key.kind == "stream":
        stream = convert_stream(sent.value, source=key.source, target=key.target, secret=SECRET)
        events = list(stream)
        return _Sent(events, tuple(stream.losses), None)
    model = key.model or None
    done = convert(
        sent.value, source=key.source, target=key.target, kind=key.kind, model=model, http=sent.http, secret=SECRET
    )
    return _Sent(done.value, tuple(done.losses), done.http)


def _back(probe: Probe, sent: _Sent, protocol: str, secret: str | None) -> Any:
    """The canonical form of what was written: not validated, as nothing but the bearing leaves is looked at."""
    adapter, dialect = split(protocol)
    reader = Reader(
        adapter,
        dialect=dialect,
        http=sent.http,
        provider=provider_of(protocol, dialect),
        opens=secret is not None,
        secret=Secret.of(secret),
    )
    if probe.kind == "stream" or type(probe.document) is list:
        events = checked(adapter.streams.reader(reader), sent.value)
        return list(events) if type(probe.document) is list else collect(events)
    value, kind = sent.value, probe.kind
    return reader.root(kind_of(adapter, kind).read, load(value))
