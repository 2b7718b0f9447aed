"""The laws of streams, as functions: protocols and records in, failures out (see `suite.laws`).

`collect` is the yardstick: a stream means the response it amounts to. What a stream contains and its response does not,
or the other way round, is declared by the caller as `stream_only`, paths of canonical keys with `*` for any index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

import unified_llm as ul

from ...streams.conversion import ConvertedStream
from ...streams.framings.sse import encode
from ...streams.pipeline import Pipe
from ..outcome import Failure, Record, canonical, checked, http_of, ours, returned, show, without_form
from ..walk import differences, dumps, is_prefix, pointer

__all__ = [
    "chunking",
    "collecting",
    "compare",
    "decomposing",
    "repeating",
    "sse_bytes",
    "truncation",
]


def sse_bytes(events: Iterable[dict[str, Any]], line: bytes = b"\n") -> bytes:
    """The bytes of a stream of wire events, framed as declared, with the given line end."""
    texts = [
        (event["event"], event["data"] if type(event["data"]) is str else dumps(event["data"])) for event in events
    ]
    out = b"".join(encode(name, text) for name, text in texts)
    return out if line == b"\n" else out.replace(b"\n", line)


_WAYS: dict[str, Callable[[list[dict[str, Any]], bytes], list[bytes]]] = {
    "event by event": lambda events, whole: [sse_bytes([event]) for event in events],
    "byte by byte": lambda events, whole: _pieces(whole, 1 if len(whole) < 30_000 else 1000),
    "in pieces of 7 bytes": lambda events, whole: _pieces(whole, 7),
    "with CRLF": lambda events, whole: [sse_bytes(events, b"\r\n")],
    "with CR, in pieces of 5": lambda events, whole: _pieces(sse_bytes(events, b"\r"), 5),
    "after a BOM and a comment": lambda events, whole: [b"\xef\xbb\xbf: hello\n\n" + whole],
    "without the last blank line": lambda events, whole: [whole.removesuffix(b"\n")],
}
"""The chunks that the bytes of a stream may arrive in."""


def chunking(records: Iterable[Record], target: str, share: int = 1) -> list[Failure]:
    """However the bytes arrive (whole, event by event, byte by byte, other line ends), the same bytes leave.

    With a `share` of three the ways take turns: each stream arrives in a third of them, and three in a row in all.
    """
    failures = []
    for number, record in enumerate(checked(records, "events")):
        source, events = record["protocol"], record["events"]
        whole = sse_bytes(events)
        wanted = _translated([whole], source, target)
        for name in list(_WAYS)[number % share :: share]:
            got = _translated(_WAYS[name](events, whole), source, target)
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


class _LongWay(Pipe):
    repeats = False


def repeating(records: Iterable[Record], target: str) -> list[Failure]:
    """The fast path of a stream's bulk (`adapter.WritesMore`) gives what the general path gives, losses too."""
    failures = []
    for record in checked(records, "events"):
        # What a broken stream left unsent is searched for in the frames that took the general path: so not here.
        ways: list[Pipe] = [pipe(record["protocol"], target, trial="reporting") for pipe in (_LongWay, Pipe)]
        told = [_run(way, record["events"]) for way in ways]
        for path in differences(told[0], told[1])[:1]:
            detail = f"{show(told[0], path)} came out as {show(told[1], path)} by the fast path"
            failures.append(Failure(record["id"], pointer(path), detail))
    return failures


def _run(pipe: Pipe, events: list[dict[str, Any]]) -> dict[str, Any]:
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
    for record in checked(records, "events"):
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
    """A whole response, decomposed into a stream of `protocol`, collects to itself: `collect(read(write(decompose(r))))
    == r`.

    A response of another protocol (`source`) amounts to what writing it in one piece gives, so both ways lose the same.
    `skip` selects the streams whose response cannot be written in one piece (where it has no order of its parts).
    `alike` brings both responses to one form where the streams of a protocol group their content otherwise. What the
    stream's own report calls lost may be missing, and what it calls added may be there.
    """
    failures = []
    for record in checked(records, "body"):
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


def truncation(records: Iterable[Record], targets: Sequence[str], cuts: int = 6) -> list[Failure]:
    """A stream that ends before its terminal event is an error, never a success, wherever it is cut.

    Either the conversion raises, or the target's stream itself reads as failed. The targets take turns over the places
    where a stream is cut, but for the last one, just before its end, which is converted for each of them.
    """
    failures = []
    for number, record in enumerate(checked(records, "events")):
        events = record["events"]
        for step, cut in enumerate(reversed(_cuts(events, record["protocol"], cuts))):
            for target in targets if not step else (targets[(number + step) % len(targets)],):
                sent, error = _sent(record, target, events[:cut])
                if error is not None and not ours(error):
                    failures.append(Failure(record["id"], f"/{cut}", f"cut off here, raised {error!r}"))
                elif error is None and _succeeds(sent, target):
                    detail = f"cut off here, and {target} reads a whole answer"
                    failures.append(Failure(record["id"], f"/{cut}", detail))
    return failures


def _sent(record: Record, target: str, events: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], Exception | None]:
    """The target's events and the error that ended them. What was lost is not searched: that takes much longer."""
    sent: list[dict[str, Any]] = []
    try:
        sent += ul.convert_stream(events, source=record["protocol"], target=target, http=http_of(record))
    except Exception as error:
        return sent, error
    return sent, None


def _cuts(events: list[dict[str, Any]], protocol: str, cuts: int) -> list[int]:
    """Where a stream is cut off, in order; nowhere if the whole does not succeed."""
    if not _succeeds(events, protocol):
        return []
    shortest = len(events)  # the fewest events that make a whole answer: a done marker may be left out
    while _succeeds(events[: shortest - 1], protocol):
        shortest -= 1
    found = sorted({shortest * step // cuts for step in range(1, cuts)} | {shortest - 1})
    # Some have an end event and then go on: at that one event they are whole.
    return [cut for cut in found if not _is_whole_there(events, protocol, cut)]


def _is_whole_there(events: list[dict[str, Any]], protocol: str, cut: int) -> bool:
    """Whether a stream is whole when it ends here, and not one event earlier or later."""
    is_whole = (_succeeds(events[:end], protocol) for end in (cut, cut - 1, cut + 1))
    return next(is_whole) and not any(is_whole)


def _succeeds(events: list[dict[str, Any]], protocol: str) -> bool:
    try:
        response = ul.collect(ul.read_stream(events, protocol))
    except ul.UnifiedLLMError:
        return False
    return response.get("status") not in ("failed", "cancelled") and not response.get("error")


def _said(value: Any) -> Any:
    if type(value) is dict:
        inner = {key: _said(below) for key, below in value.items()}
        return {key: below for key, below in inner.items() if below not in (None, [], {})}
    return [_said(below) for below in value] if type(value) is list else value


def compare(name: str, wanted: Any, got: Any, stream_only: tuple[str, ...] = ()) -> list[Failure]:
    """What of two canonical responses differs, but for form, emptiness and the declared paths.

    A stream represents an empty list or a null only by leaving it out.
    """
    failures = []
    wanted, got = _said(without_form(wanted)), _said(without_form(got))
    for path in differences(wanted, got):
        place = pointer(path)
        if any(fnmatchcase(place, pattern) or fnmatchcase(place, pattern + "/*") for pattern in stream_only):
            continue
        failures.append(Failure(name, place, f"{show(wanted, path)} came out as {show(got, path)}"))
    return failures
