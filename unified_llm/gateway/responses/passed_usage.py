"""The usage of a stream that goes through byte for byte: it is in few events, and only those are read.

The events that name a usage are read with the first and the last ones, after the stream: that is enough for every
protocol's reader to end with the usage, and costs next to nothing while the stream goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from ...client.sending.effects import Opened
from ...client.telemetry.hooks import call_hook
from ...engine.pairs.reading import Reader
from ...engine.registry import split
from ...foundation.errors import UnifiedLLMError
from ...streams.framings.sse import SSEDecoder, parse_data

__all__ = ["Tap"]

_MOST = 256_000  # bytes of the end of a stream that are kept
_LAST = 4  # events of the end that are read in any case
_BETWEEN = b"\n\n"
_NAMED = b"sage"  # usage, usageMetadata, tokenUsage


class Tap:
    """Keeps what is needed of a stream, and reports the end to its operation."""

    def __init__(self, found: Opened) -> None:
        self._found = found
        self._first: bytes | None = None
        self._kept: deque[bytes] = deque()
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        """Take in a chunk."""
        if self._first is None:
            self._first = chunk
            return
        self._kept.append(chunk)
        self._size += len(chunk)
        while self._size > _MOST and len(self._kept) > 1:
            self._size -= len(self._kept.popleft())

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
        known = split(self._found.upstream.protocol)[0]
        whole = b"".join((self._first or b"", *self._kept))
        if b"\r" in whole:  # JSON has none but those between lines
            whole = whole.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        decoder = SSEDecoder()
        events = [*decoder.feed(_chosen(whole)), *decoder.close()]
        reader = known.streams.reader(Reader(known.protocol, facing="client"))
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
