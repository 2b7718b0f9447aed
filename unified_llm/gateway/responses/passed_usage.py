"""The usage of a stream that goes through byte for byte: it is in few events, and only those are read.

The events that name a usage are read with the first and the last ones, after the stream: that is enough for every
protocol's reader to end with the usage, and costs next to nothing while the stream goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from ...client.sending.decoding import read_usage
from ...client.sending.effects import Opened
from ...client.telemetry.hooks import call_hook
from ...engine.pairs.reading import Reader
from ...engine.registry import split
from ...foundation.errors import UnifiedLLMError
from ...streams.framings.sse import SSEDecoder, parse_data

__all__ = ["Tap"]

_MOST = 256_000  # bytes of a stream that are kept; where there are more, half as many of its end
_LAST = 4  # events of the end that are read in any case
_TRIES = 4  # events that name a usage, and may be about one
_BETWEEN = b"\n\n"
_NAMED = b"sage"  # usage, usageMetadata, tokenUsage


class Tap:
    """Keeps what is needed of a stream, and reports the end to its operation."""

    def __init__(self, found: Opened) -> None:
        self._found = found
        self._chunks: list[bytes] = []  # the first one, and the end
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        """Take in a chunk."""
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._size > _MOST:
            self._trim()

    def _trim(self) -> None:
        """Drop what is between the first chunk and the end."""
        place = len(self._chunks)
        self._size = 0
        while self._size < _MOST // 2 and place > 1:
            place -= 1
            self._size += len(self._chunks[place])
        del self._chunks[1:place]

    def end(self, error: Exception | None, complete: bool) -> None:
        """The stream is closed."""
        operation = self._found.operation
        if operation is None:
            return
        hooked = operation.end(usage=self.usage(), error=error, complete=complete)
        if hooked is not None:
            call_hook(*hooked)

    def usage(self) -> Mapping[str, Any] | None:
        """The canonical usage; None where the upstream gave none."""
        protocol = self._found.upstream.protocol
        known = split(protocol)[0]
        whole = b"".join(self._chunks)
        if b"\r" in whole:  # JSON has none but those between lines
            whole = whole.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if known.streams.usage is not None:
            for data in islice(_naming(whole), _TRIES):
                node = data.get(known.streams.usage) if known.streams.usage else data
                brief = read_usage(node, protocol) if isinstance(node, dict) else None
                if brief is not None and isinstance(brief["usage"], dict):
                    usage: Mapping[str, Any] = brief["usage"]
                    return usage
        decoder = SSEDecoder()
        events = [*decoder.feed(_chosen(whole)), *decoder.close()]
        reader = known.streams.reader(Reader(known, facing="client"))
        found: Mapping[str, Any] | None = None
        try:
            for event in events:
                for node in reader.feed({"event": event["event"], "data": parse_data(event["data"])}):
                    found = _usage(node) or found
            for node in reader.close():
                found = _usage(node) or found
        except (UnifiedLLMError, KeyError, TypeError, ValueError):
            pass  # what is left out may be what the reader needs
        return found


def _naming(whole: bytes) -> Iterator[Mapping[str, Any]]:
    """The data of the events that name a usage, the last one first."""
    at = whole.rfind(_NAMED)
    while at >= 0:
        start = max(whole.rfind(_BETWEEN, 0, at), -len(_BETWEEN)) + len(_BETWEEN)
        for event in SSEDecoder().feed(whole[start : _end(whole, at)]):
            data = parse_data(event["data"])
            if isinstance(data, dict):
                yield data
        at = whole.rfind(_NAMED, 0, start)


def _chosen(whole: bytes) -> bytes:
    """The first event, those that name a usage, and the last ones.

    They are searched for: to take all events apart would cost more than to send them.
    """
    spans = {0: _end(whole, 0)}
    at = whole.find(_NAMED, spans[0])
    while at >= 0:
        end = _end(whole, at)
        spans[whole.rfind(_BETWEEN, 0, at) + 2] = end
        at = whole.find(_NAMED, end)
    end = len(whole)
    for _ in range(_LAST + (not whole.endswith(_BETWEEN))):
        start = max(whole.rfind(_BETWEEN, 0, max(end - 2, 0)) + 2, spans[0])
        if start >= end:
            break
        spans[start] = end
        end = start
    return b"".join(whole[start:end] for start, end in sorted(spans.items()))


def _end(whole: bytes, at: int) -> int:
    """Where the event at a place ends."""
    found = whole.find(_BETWEEN, at)
    return len(whole) if found < 0 else found + 2


def _usage(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    response = event.get("response")
    usage = response.get("usage") if isinstance(response, dict) else None
    return usage if isinstance(usage, dict) else None
