"""Recorded streams: bytes of a file as wire events, whichever form they were kept in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...engine.registry import split
from ...foundation.errors import InvalidBody
from ...foundation.json_codec import parse
from ...streams.framings.jsonarray import JSONArrayDecoder, StreamDecoder
from ...streams.framings.lines import LinesDecoder
from ...streams.framings.sse import parse_data

__all__ = ["events_of", "is_framed", "is_stream"]


def is_stream(data: bytes) -> bool:
    """Raw server-sent events open with a field; JSON lines of a stream are several objects with `data` in them."""
    head = data.lstrip(b"\xef\xbb\xbf \r\n")[:8]
    if head.startswith((b"data:", b"event:", b":", b"id:", b"retry:")):
        return True
    first, _, rest = data.strip().partition(b"\n")
    if not rest.strip() or not first.rstrip().endswith(b"}"):
        return False
    try:
        opening = parse(first)
    except InvalidBody:
        return False
    return isinstance(opening, dict) and "data" in opening


def is_framed(data: bytes, source: str, kind: str = "stream") -> bool:
    """A raw stream as one JSON array or as lines, and not our own JSON form of events; one line may be a request."""
    head = data.lstrip(b"\xef\xbb\xbf \r\n")
    framing = split(source)[0].streams.framing
    if framing.lines and head.startswith(b"{"):
        line, _, rest = head.partition(b"\n")
        if kind != "stream" and not rest.strip():
            return False
        value = parse_data(line)
        return isinstance(value, dict) and "data" not in value
    if not head.startswith(b"[") or not framing.array:
        return False
    first = next(iter(JSONArrayDecoder().feed(head)), None)
    return first is None or "data" not in parse(first["data"])


def events_of(data: bytes, source: str) -> Iterator[dict[str, Any]]:
    """The wire events: of server-sent events, of an array, or of lines with an event in each."""
    head = data.lstrip(b"\xef\xbb\xbf \r\n")[:1]
    if head not in (b"{", b"[") or is_framed(data, source):
        decoder = LinesDecoder() if split(source)[0].streams.framing.lines else StreamDecoder()
        for event in [*decoder.feed(data), *decoder.close()]:
            yield {"event": event["event"], "data": parse_data(event["data"])}
        return
    values = parse(data) if head == b"[" else [parse(line) for line in data.splitlines() if line.strip()]
    for number, event in enumerate(values):
        if not isinstance(event, dict) or "data" not in event:
            raise InvalidBody(f"/{number}", 'an event is an object {"event": name or null, "data": value}')
        yield {"event": event.get("event"), "data": event["data"]}
