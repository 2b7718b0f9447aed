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
from .outcome import Failure, Record, canonical, ours, outcome, show, without_form
from .walk import Path, differences, dumps, is_prefix, pointer

__all__ = ["chunking", "collecting", "decomposing", "sse_bytes", "truncation"]


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
        wanted = without_form(canonical(whole, protocol, "response"))
        try:
            got = without_form(ul.collect(ul.read_stream(record["events"], protocol)))
        except ul.UnifiedLLMError as error:
            failures.append(Failure(record["id"], "", f"collecting raised {error!r}"))
            continue
        failures += _compare(record["id"], wanted, got, stream_only)
    return failures


def decomposing(
    protocol: str, records: Iterable[Record], stream_only: tuple[str, ...] = (), source: str | None = None
) -> list[Failure]:
    """`collect(read(write(decompose(r)))) == r` but for what the writer declared, for responses of any protocol."""
    failures = []
    for record in records:
        node = canonical(record["body"], source or protocol, "response")
        if type(node) is not dict:
            continue
        try:
            stream = ul.write_stream(ul.decompose(node), protocol)
            wire = list(stream)
            failed = bool(node.get("error"))
            got = None if failed else ul.collect(ul.read_stream(wire, protocol))
        except ul.UnifiedLLMError as error:
            failures.append(Failure(record["id"], "", f"raised {error!r}"))
            continue
        if failed:  # A failed answer is an error in a stream, whatever else the protocol makes of it.
            continue
        lost = _lost_in(node, list(ul.decompose(node)), stream.losses)
        found = _compare(record["id"], without_form(node), without_form(got), stream_only)
        failures += [f for f in found if not any(is_prefix(p, f.path) or is_prefix(f.path, p) for p in lost)]
    return failures


def _lost_in(node: Any, events: list[dict[str, Any]], losses: Iterable[ul.Loss]) -> list[str]:
    """Where in the response the losses of its events lie: `/{event}/item/...` is `/output/{output_index}/...`."""
    out = []
    for loss in losses:
        index, *below = [int(key) if key.isdigit() else key for key in loss.path.split("/")[1:]]
        event = events[index] if type(index) is int and index < len(events) else {}
        at: Path = ("output", event.get("output_index", 0))
        choice = event.get("choice", 0)
        if choice:
            at = ("choices", choice - 1, *at)
        if below[:1] == ["response"]:
            at = tuple(below[1:])
        elif below[:1] == ["item"]:
            at = (*at, *below[1:])
        elif "content_index" in event:
            at = (*at, "content", event["content_index"], *below[1:])
        elif "summary_index" in event:
            at = (*at, "summary", event["summary_index"], *below[1:])
        out.append(pointer(at))
    return out


def truncation(records: Iterable[Record], target: str, cuts: int = 6) -> list[Failure]:
    """A stream that ends before its terminal event is an error, never a success, wherever it is cut.

    Either the conversion raises, or the target's stream itself reads as failed.
    """
    failures = []
    for record in records:
        events = record["events"]
        if not _succeeds(events, record["protocol"]):
            continue
        shortest = next(n for n in range(len(events) + 1) if _succeeds(events[:n], record["protocol"]))
        for cut in sorted({max(1, shortest * step // cuts) for step in range(cuts)} | {shortest - 1}):
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


def _compare(name: str, wanted: Any, got: Any, stream_only: tuple[str, ...]) -> list[Failure]:
    failures = []
    for path in differences(wanted, got):
        place = pointer(path)
        if any(fnmatchcase(place, pattern) or fnmatchcase(place, pattern + "/*") for pattern in stream_only):
            continue
        failures.append(Failure(name, place, f"{show(wanted, path)} came out as {show(got, path)}"))
    return failures
