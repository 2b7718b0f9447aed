"""The laws of streams, as functions: protocols and records in, failures out (see `laws`).

`collect` is the yardstick: a stream means the response it amounts to. What a stream tells that its response does not,
or the other way round, is declared by the caller as `stream_only`, paths of canonical keys with `*` for any index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any

import unified_llm as ul

from ..sse import encode
from ..streaming import ConvertedStream, _Pipe
from .defaults import holds_default
from .laws import NOTHING, only_form, said_beside
from .mutate import altered
from .outcome import Failure, Outcome, Record, canonical, differ, ours, outcome, returned, show, without_form
from .walk import Path, deleted, differences, dumps, get, is_prefix, json_type, leaves, pointer, replaced, same, shape

__all__ = [
    "chunking",
    "collecting",
    "compare",
    "decomposing",
    "frame_sensitivity",
    "repeating",
    "sse_bytes",
    "stream_sensitivity",
    "truncation",
]


def sse_bytes(events: Iterable[dict[str, Any]], line: bytes = b"\n") -> bytes:
    """The bytes of a stream of wire events, framed as they say, with the line end asked for."""
    texts = [
        (event["event"], event["data"] if type(event["data"]) is str else dumps(event["data"])) for event in events
    ]
    out = b"".join(encode(name, text) for name, text in texts)
    return out if line == b"\n" else out.replace(b"\n", line)


def chunking(records: Iterable[Record], target: str) -> list[Failure]:
    """However the bytes arrive (whole, event by event, byte by byte, other line ends), the same bytes leave."""
    failures = []
    for record in records:
        source, events = record["protocol"], record["events"]
        whole = sse_bytes(events)
        ways: dict[str, list[bytes]] = {
            "event by event": [sse_bytes([event]) for event in events],
            "byte by byte": _pieces(whole, 1 if len(whole) < 30_000 else 1000),
            "in pieces of 7 bytes": _pieces(whole, 7),
            "with CRLF": [sse_bytes(events, b"\r\n")],
            "with CR, in pieces of 5": _pieces(sse_bytes(events, b"\r"), 5),
            "after a BOM and a comment": [b"\xef\xbb\xbf: hello\n\n" + whole],
            "without the last blank line": [whole.removesuffix(b"\n")],
        }
        wanted = _translated([whole], source, target)
        for name, chunks in ways.items():
            got = _translated(chunks, source, target)
            if got != wanted:
                at = next((i for i, pair in enumerate(zip(got[0], wanted[0])) if pair[0] != pair[1]), -1)
                detail = f"read {name} it comes out otherwise, from byte {at} ({got[1] or 'no error'})"
                failures.append(Failure(record["id"], "", detail))
    return failures


def _pieces(data: bytes, size: int) -> list[bytes]:
    return [data[index : index + size] for index in range(0, len(data), size)]


def _translated(chunks: list[bytes], source: str, target: str) -> tuple[bytes, str]:
    out = b""
    try:
        for piece in ul.translate_sse(chunks, source=source, target=target):
            out += piece
    except ul.UnifiedLLMError as error:
        return out, type(error).__name__
    return out, ""


class _LongWay(_Pipe):
    repeats = False


def repeating(records: Iterable[Record], target: str) -> list[Failure]:
    """The short way of a stream's bulk (`unified_llm.adapter.WritesMore`) gives what the long way gives, losses too."""
    failures = []
    for record in records:
        told = [_run(pipe(record["protocol"], target), record["events"]) for pipe in (_LongWay, _Pipe)]
        for path in differences(told[0], told[1])[:1]:
            detail = f"{show(told[0], path)} came out as {show(told[1], path)} by the short way"
            failures.append(Failure(record["id"], pointer(path), detail))
    return failures


def _run(pipe: _Pipe, events: list[dict[str, Any]]) -> dict[str, Any]:
    out: list[Any] = []
    stream = ConvertedStream(events, pipe)
    try:
        out += stream
    except ul.UnifiedLLMError as error:
        out.append(repr(error))
    return {"events": out, "losses": stream.losses.to_json()}


def collecting(
    protocol: str,
    records: Iterable[Record],
    final: Callable[[Record], Any],
    stream_only: tuple[str, ...] = (),
) -> list[Failure]:
    """`collect(read(s)) == read(final(s))`: a stream amounts to the response its provider would have sent in one piece.

    `final` gives that response on the wire, or None where there is none (the stream failed or was cut off).
    """
    failures = []
    for record in records:
        whole = final(record)
        if whole is None:
            continue
        wanted = canonical(whole, protocol, "response")
        try:
            got = ul.collect(ul.read_stream(record["events"], protocol))
        except ul.UnifiedLLMError as error:
            failures.append(Failure(record["id"], "", f"collecting raised {error!r}"))
            continue
        failures += compare(record["id"], wanted, got, stream_only)
    return failures


def decomposing(
    protocol: str,
    records: Iterable[Record],
    stream_only: tuple[str, ...] = (),
    source: str | None = None,
    skip: Callable[[list[dict[str, Any]]], bool] | None = None,
    alike: Callable[[Any], Any] | None = None,
) -> list[Failure]:
    """A whole response, told as a stream of `protocol`, amounts to itself: `collect(read(write(decompose(r)))) == r`.

    A response of another protocol (`source`) amounts to what writing it in one piece gives, so both ways lose the same.
    `skip` says of which streams the whole cannot be told in one piece (where it has no order of its parts). `alike`
    brings both responses to one form where the streams of a protocol group what they tell otherwise. What the stream's
    own report says is lost may be missing, and what it says was added to the answer may be there.
    """
    failures = []
    for record in records:
        node = canonical(record["body"], source or protocol, "response")
        if type(node) is not dict:
            continue
        wanted, failed, told, added = node, False, frozenset[str](), frozenset[str]()
        try:
            if source not in (None, protocol):
                wanted = returned(ul.write(node, protocol, "response").value, protocol)
            events = list(ul.decompose(node))
            stream = ul.write_stream(events, protocol)
            wire = list(stream)
            if source in (None, protocol):
                told = _told(events, stream.losses)
                added = frozenset(
                    "/finish" if loss.capability == "finish.reason" else "/" + loss.path.rpartition("/")[2]
                    for loss in stream.losses
                    if loss.fate == "added"
                )
            failed = bool(node.get("error")) or node.get("status") in ("failed", "cancelled")
            if skip is not None and skip(wire):
                continue
            crossed = source not in (None, protocol)
            got = returned(wire, protocol) if crossed else ul.collect(ul.read_stream(wire, protocol))
        except ul.UnifiedLLMError as error:
            if not failed:  # A failed answer is an error in a stream.
                failures.append(Failure(record["id"], "", f"raised {error!r}"))
            continue
        if alike is not None:
            wanted, got = alike(wanted), alike(got)
        found = compare(record["id"], wanted, got, stream_only)
        failures += [
            failure
            for failure in found
            if not any(is_prefix(failure.path, place) for place in told)
            and not (failure.path in added and failure.detail.startswith("nothing came out"))
        ]
    return failures


def _told(events: list[dict[str, Any]], losses: Iterable[ul.Loss]) -> frozenset[str]:
    """Where in the response is what the report of its stream calls lost; pointers into items that are done."""
    places = set()
    for loss in losses:
        if loss.fate != "lost":
            continue
        _, index, key, *below = (*loss.path.split("/"), "")
        event = events[int(index)]
        if key == "item" and event["type"] == "response.output_item.done":
            places.add("/".join(["", "output", str(event["output_index"]), *below]).removesuffix("/"))
    return frozenset(places)


def truncation(records: Iterable[Record], target: str, cuts: int = 6) -> list[Failure]:
    """A stream that ends before its terminal event is an error, never a success, wherever it is cut.

    Either the conversion raises, or the target's stream itself reads as failed.
    """
    failures = []
    for record in records:
        events = record["events"]
        if not _succeeds(events, record["protocol"]):
            continue
        shortest = len(events)  # the fewest events that make a whole answer: a done marker may be left out
        while _succeeds(events[: shortest - 1], record["protocol"]):
            shortest -= 1
        for cut in sorted({shortest * step // cuts for step in range(1, cuts)} | {shortest - 1}):
            if [_succeeds(events[:end], record["protocol"]) for end in (cut - 1, cut, cut + 1)] == [False, True, False]:
                continue  # some say that they end and then go on: at that one event they are whole
            done = outcome(record, target, events[:cut])
            if done.error is not None and not ours(done.error):
                failures.append(Failure(record["id"], f"/{cut}", f"cut off here, raised {done.error!r}"))
            elif done.error is None and _succeeds(done.value, target):
                failures.append(Failure(record["id"], f"/{cut}", "cut off here, and the target reads a whole answer"))
    return failures


def _succeeds(events: list[dict[str, Any]], protocol: str) -> bool:
    try:
        response = ul.collect(ul.read_stream(events, protocol))
    except ul.UnifiedLLMError:
        return False
    return response.get("status") not in ("failed", "cancelled") and not response.get("error")


def stream_sensitivity(
    records: Iterable[Record], target: str, seen: set[tuple[str, ...]] | None = None
) -> list[Failure]:
    """Nothing a streamed answer says is lost in silence.

    Streams say things more than once, in deltas and again at the end, so the leaf is altered in the whole response
    (`records` are responses), which is then told as a stream of its own protocol. Wherever the two streams differ the
    leaf was said; the target's streams differ too, or the report names one of these places.
    """
    seen = set() if seen is None else seen
    failures = []
    for record in records:
        body, protocol, events, base = record["body"], record["protocol"], None, None
        stream = {**record, "kind": "stream", "path": None}
        for path, value in leaves(body):
            alike = (protocol, target, shape(body, path), json_type(value))
            if alike in seen or value in NOTHING:
                continue
            seen.add(alike)
            events = events or _streamed(body, protocol)
            if events is None:
                break
            base = base or outcome(stream, target, events)
            for what, changed in (("altered", replaced(body, path, altered(value))), ("deleted", deleted(body, path))):
                other = _streamed(changed, protocol)
                places = differences(events, other) if other is not None else []
                if not places:
                    continue  # that a protocol's own stream says all of its response is the law of decomposing
                done = outcome(stream, target, other)
                # What was said before and is now filled in has to be reported as added, as in a whole document.
                if ours(done.error) or differ(base, done) or base.added() != done.added():
                    continue
                if what == "deleted" and (said_beside(body, path) or only_form(record, body, changed)):
                    continue
                if holds_default(record, path, target) and not any(_stands(other, place) for place in places):
                    continue
                if not any(_near(base, place) or _near(done, place) for place in map(pointer, places)):
                    where = f"{pointer(path)} (in the stream {pointer(places[0])})"
                    failures.append(Failure(record["id"], where, f"{dumps(value)[:99]} {what}, nothing changed"))
    return failures


def _stands(doc: Any, path: Path) -> bool:
    """Whether there is anything at a place."""
    try:
        get(doc, path)
    except LookupError:
        return False
    return True


def frame_sensitivity(
    records: Iterable[Record],
    target: str,
    seen: set[tuple[str, ...]] | None = None,
    said_again: tuple[str, ...] = (),
) -> list[Failure]:
    """Nothing a frame says is lost in silence; of a stream that breaks off, nothing that its deltas said.

    `stream_sensitivity` alters answers, and so never sees what only frames have, nor what never becomes an answer. Here
    a leaf of a frame is altered wherever the stream says it (the same value under the same key); the target's stream
    differs then, or the report names one of these places. What a later frame says anew of the same thing is overtaken
    and need not arrive; `said_again` are shapes of places (`walk.shape`, with `*` for anything) that number or repeat
    what other frames say, as the protocol's own reference has it.
    """
    seen = set() if seen is None else seen
    failures = []
    for record in records:
        for events in _whole_and_broken(record["events"]):
            base, broken = None, len(events) < len(record["events"])
            said: dict[Any, list[tuple[Path, Any]]] = {}  # by their last key
            for path, value in leaves(events):
                if path[1] == "data":
                    said.setdefault(path[-1], []).append((path, value))
            for path, value in leaves(events):
                number: Any = path[0]
                if path[1] != "data" or len(path) < 3 or value in NOTHING:
                    continue
                name, other = shape(events[number]["data"], path[2:]), altered(value)
                alike = (record["protocol"], target, name, json_type(value), str(broken))
                if alike in seen or same(other, value) or any(fnmatchcase(name, each) for each in said_again):
                    continue
                seen.add(alike)
                base = base or outcome(record, target, events)
                places = [place for place, found in said[path[-1]] if same(found, value)]
                if all(_overtaken(events, place) for place in places):
                    continue
                changed = events
                for place in places:
                    changed = replaced(changed, place, other)
                if broken and _deltas(events, record["protocol"]) == _deltas(changed, record["protocol"]):
                    continue  # what an item, or the answer, says at its end was not said
                done = outcome(record, target, changed)
                # (What makes a stream illegal was noticed.)
                if type(done.error) is not type(base.error) or _shows(base, done):
                    continue
                if not any(base.names(pointer(place)) or done.names(pointer(place)) for place in places):
                    detail = f"{dumps(value)[:99]} altered in {len(places)} place(s), nothing changed ({name})"
                    failures.append(Failure(record["id"], pointer(path), detail))
    return failures


def _whole_and_broken(events: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """A stream, and what there is of it when it breaks off."""
    return [events, events[: len(events) * 2 // 3]] if len(events) > 2 else [events]


def _deltas(events: list[dict[str, Any]], protocol: str) -> list[tuple[Any, ...]]:
    """The texts that the answer grew by (arguments mean something when they are whole)."""
    out: list[tuple[Any, ...]] = []
    try:
        for event in ul.read_stream(events, protocol):
            if event["type"].endswith(".delta") and not event["type"].endswith(_ARGUMENTS):
                out.append((event["type"], event.get("choice", 0), event["delta"]))
    except ul.UnifiedLLMError:
        pass
    return out


_ARGUMENTS = ("arguments.delta", "input.delta", "code.delta")


def _shows(base: Outcome, done: Outcome) -> bool:
    """Whether two outcomes differ in what arrived or in what is reported."""
    return differ(base, done) or list(base.losses) != list(done.losses)


def _overtaken(events: list[dict[str, Any]], place: tuple[Any, ...]) -> bool:
    """Whether a later frame about the same thing says something else in the very place."""
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


def _said(value: Any) -> Any:
    if type(value) is dict:
        inner = {key: _said(below) for key, below in value.items()}
        return {key: below for key, below in inner.items() if below not in (None, [], {})}
    return [_said(below) for below in value] if type(value) is list else value


def compare(name: str, wanted: Any, got: Any, stream_only: tuple[str, ...] = ()) -> list[Failure]:
    """What of two canonical responses differs, but for form, emptiness and the declared paths.

    A stream has no way to say that a list is empty or a value null other than not to speak of it.
    """
    failures = []
    wanted, got = _said(without_form(wanted)), _said(without_form(got))
    for path in differences(wanted, got):
        place = pointer(path)
        if any(fnmatchcase(place, pattern) or fnmatchcase(place, pattern + "/*") for pattern in stream_only):
            continue
        failures.append(Failure(name, place, f"{show(wanted, path)} came out as {show(got, path)}"))
    return failures
