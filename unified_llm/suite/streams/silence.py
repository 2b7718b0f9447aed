"""The laws of unreported losses in streams: of responses as streams, and of every leaf of every frame.

Both take several targets, because most of the work (which leaf, which change, what the changed stream is) is theirs in
common.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

import unified_llm as ul

from ...streams.collect_and_decompose import TERMINAL
from ...streams.conversion import ConvertedStream
from ...streams.pipeline import Pipe
from ..defaults import holds_default
from ..laws import NOTHING, only_form, said_beside
from ..mutate import altered
from ..outcome import Failure, Outcome, Record, canonical, checked, differ, http_of, ours, outcome
from ..walk import Path, deleted, differences, dumps, get, is_prefix, json_type, leaves, pointer, replaced, same, shape

__all__ = ["frame_sensitivity", "stream_sensitivity"]


def stream_sensitivity(
    records: Iterable[Record], targets: Sequence[str], seen: set[tuple[str, ...]] | None = None
) -> list[Failure]:
    """No value of a streamed answer is lost without a report.

    Streams repeat values, in deltas and again at the end, so the leaf is altered in the whole response
    (`records` are responses), which is then decomposed into a stream of its own protocol. Wherever the two streams
    differ the leaf was in the stream; each target's streams differ too, or its report names one of these places.
    """
    seen = set() if seen is None else seen
    failures = []
    for record in checked(records, "body"):
        body, protocol, events = record["body"], record["protocol"], None
        stream, bases = {**record, "kind": "stream", "path": None}, dict[str, Outcome]()
        for path, value in leaves(body):
            if value in NOTHING:
                continue
            alike = (protocol, shape(body, path), json_type(value))
            new = [target for target in targets if (*alike, target) not in seen]
            if not new:
                continue
            seen.update((*alike, target) for target in new)
            events = events or _streamed(body, protocol)
            if events is None:
                break
            for target in new:
                if target not in bases:
                    bases[target] = outcome(stream, target, events)
            for what, changed in (("altered", replaced(body, path, altered(value))), ("deleted", deleted(body, path))):
                other = _streamed(changed, protocol)
                places = differences(events, other) if other is not None else []
                if not places:
                    continue  # that a protocol's own stream has all of its response is the law of decomposing
                # Where the report of the unchanged stream names the place, nothing is unreported.
                doubted = [target for target in new if not _is_named(bases[target], places)]
                silent = [each for each in doubted if _is_silent(bases[each], outcome(stream, each, other), places)]
                if what == "deleted" and silent and (said_beside(body, path) or only_form(record, body, changed)):
                    continue
                for target in silent:
                    if holds_default(record, path, target) and not any(_stands(other, place) for place in places):
                        continue
                    where = f"{pointer(path)} (in the stream {pointer(places[0])})"
                    detail = f"{dumps(value)[:99]} {what}, nothing changed at {target}"
                    failures.append(Failure(record["id"], where, detail))
    return failures


def _is_silent(base: Outcome, done: Outcome, places: list[Path]) -> bool:
    """Whether a target has the same result for two streams, and its report names no place in which they differ."""
    # A value that was in the source before and is now supplied has to be reported as added, as in a whole document.
    if ours(done.error) or differ(base, done) or base.added() != done.added():
        return False
    return not _is_named(done, places)


def _is_named(done: Outcome, places: list[Path]) -> bool:
    """Whether a report names one of the places, or what is around or in it."""
    return any(_near(done, place) for place in map(pointer, places))


def _stands(doc: Any, path: Path) -> bool:
    """Whether there is anything at a place."""
    try:
        get(doc, path)
    except LookupError:
        return False
    return True


def frame_sensitivity(
    records: Iterable[Record],
    targets: Sequence[str],
    seen: set[tuple[str, ...]] | None = None,
    said_again: tuple[str, ...] = (),
) -> list[Failure]:
    """No value of a frame is lost without a report, also in a stream that breaks off.

    `stream_sensitivity` alters answers, and so never sees what only frames have, nor what never becomes an answer. Here
    a leaf of a frame is altered wherever the stream has it (the same value under the same key); each target's stream
    differs then, or its report names one of these places. A value that a later frame replaces is overtaken
    and need not arrive; `said_again` are shapes of places (`walk.shape`, with `*` for anything) that number or repeat
    the content of other frames, as the protocol's own reference has it.
    """
    seen = set() if seen is None else seen
    failures = []
    for record in checked(records, "events"):
        for events in _whole_and_broken(record["events"], record["protocol"]):
            plain, searched = dict[str, Outcome](), dict[str, Outcome]()
            broken = len(events) < len(record["events"])
            found = [(path, value) for path, value in leaves(events) if path[1] == "data"]
            said: dict[Any, list[tuple[Path, Any]]] = {}  # by their last key
            for path, value in found:
                said.setdefault(path[-1], []).append((path, value))
            for path, value in found:
                number: Any = path[0]
                if len(path) < 3 or value in NOTHING:
                    continue
                name = shape(events[number]["data"], path[2:])
                alike = (record["protocol"], name, json_type(value), str(broken))
                new = [target for target in targets if (*alike, target) not in seen]
                if not new:
                    continue
                other = altered(value)
                if same(other, value) or any(fnmatchcase(name, each) for each in said_again):
                    continue
                seen.update((*alike, target) for target in new)
                places = [place for place, inner in said[path[-1]] if same(inner, value)]
                if all(_overtaken(events, place) for place in places):
                    continue
                changed = events
                for place in places:
                    changed = replaced(changed, place, other)
                for target in new:
                    if target not in plain:
                        plain[target] = _untried(record, target, events) if broken else outcome(record, target, events)
                    base = plain[target]
                    if _names_any(base, places):
                        continue
                    done = _untried(record, target, changed) if broken else outcome(record, target, changed)
                    # (What makes a stream illegal was noticed.)
                    if type(done.error) is not type(base.error) or _shows(base, done):
                        continue
                    # The library itself finds by altering values what a broken stream contained and its target was
                    # never sent. That takes a hundred times longer, so it is used last.
                    if broken:
                        if target not in searched:
                            searched[target] = outcome(record, target, events)
                        if _names_any(searched[target], places):
                            continue
                        done = outcome(record, target, changed)
                    # (A default carries no information, and another value in its place is reported.)
                    if not _names_any(done, places):
                        detail = f"{dumps(value)[:99]} altered in {len(places)} place(s), nothing changed at {target}"
                        failures.append(Failure(record["id"], pointer(path), f"{detail} ({name})"))
    return failures


def _whole_and_broken(events: list[dict[str, Any]], protocol: str) -> list[list[dict[str, Any]]]:
    """A stream, and what there is of it when it breaks off early and late, if its end was not in that."""
    cuts = [events[: len(events) * 2 // 3], events[: len(events) // 3]] if len(events) > 2 else []
    return [events, *(each for each in cuts if not _has_ended(each, protocol))]


def _has_ended(events: list[dict[str, Any]], protocol: str) -> bool:
    try:
        return any(event["type"] in TERMINAL for event in ul.read_stream(events, protocol))
    except ul.UnifiedLLMError:
        return False


def _untried(record: Record, target: str, events: list[dict[str, Any]]) -> Outcome:
    """The outcome of a stream, but for what is found out by trying after it broke off."""
    out: list[dict[str, Any]] = []
    stream = ConvertedStream(events, Pipe(record["protocol"], target, http=http_of(record), trial="reporting"))
    try:
        out += stream
    except Exception as error:
        return Outcome(out, stream.losses, error)
    return Outcome(out, stream.losses)


def _names_any(done: Outcome, places: list[Path]) -> bool:
    return any(done.names(pointer(place)) for place in places)


def _shows(base: Outcome, done: Outcome) -> bool:
    """Whether two outcomes differ in what arrived or in what is reported."""
    return differ(base, done) or list(base.losses) != list(done.losses)


def _overtaken(events: list[dict[str, Any]], place: tuple[Any, ...]) -> bool:
    """Whether a later frame about the same thing has another value in the very place."""
    number, _, *keys = place
    here = events[number]["data"]
    for event in events[number + 1 :]:
        data = event["data"]
        if type(data) is dict and all(data.get(key) == here.get(key) for key in ("index", "output_index", "item_id")):
            try:
                if not same(get(data, tuple(keys)), get(here, tuple(keys))):
                    return True
            except LookupError:
                continue
    return False


def _streamed(body: Any, protocol: str) -> list[dict[str, Any]] | None:
    try:
        return list(ul.write_stream(ul.decompose(canonical(body, protocol, "response")), protocol))
    except ul.UnifiedLLMError:
        return None


def _near(done: Outcome, place: str) -> bool:
    return any(is_prefix(loss.path, place) or is_prefix(place, loss.path) for loss in done.losses)
