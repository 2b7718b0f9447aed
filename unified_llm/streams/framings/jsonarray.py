"""One JSON array over bytes, element by element: the other framing of a stream, for surfaces that have it.

Strategy: only quotes, brackets and commas are looked at, each byte once; an element is handed out, as text, the moment
it is closed, be the array never closed. All of these signs are ASCII, so characters cut between chunks do no harm.
Lenient where nothing can be misread: values without an array around them, one after the other, are elements too.
"""

from __future__ import annotations

import re

from .sse import SSEDecoder, SSEEvent, parse_data

__all__ = ["JSONArrayDecoder", "JSONArrayEncoder", "StreamDecoder"]

_BLANK = b"\xef\xbb\xbf \t\r\n"  # with the bytes of a byte order mark
_OUTSIDE = re.compile(rb'["{}\[\],]')
_INSIDE = re.compile(rb'["\\]')


class JSONArrayDecoder:
    """Bytes in, elements out, as the events without a name that they stand for; the same whatever the chunking.

    `feed(chunk)` returns the elements that this chunk completed, `close()` what was still open at the end and is whole.
    `truncated`: after `close()`, the bytes of an element that was cut off, else None. `malformed`: whether invalid
    UTF-8 became U+FFFD anywhere. Raises nothing; data is handed out as text, see `sse.parse_data`.

    >>> decoder = JSONArrayDecoder()
    >>> decoder.feed(b'[{"n": 1}, {"n"')
    [{'event': None, 'data': '{"n": 1}'}]
    >>> decoder.feed(b': 2}]'), decoder.close()
    ([{'event': None, 'data': '{"n": 2}'}], [])
    """

    def __init__(self) -> None:
        self.truncated: bytes | None = None
        self.malformed: bool = False
        self._pending: list[bytes] = []  # the open element, in pieces
        self._depth = 0
        self._array = self._string = self._escaped = False

    def feed(self, chunk: bytes) -> list[SSEEvent]:
        """Take the next bytes (any number of them) and return the elements they complete."""
        events: list[SSEEvent] = []
        start = at = 0
        if self._escaped and chunk:
            self._escaped = False
            at = 1
        while True:
            found = (_INSIDE if self._string else _OUTSIDE).search(chunk, at)
            if found is None:
                break
            sign, (begin, at) = found[0], found.span()
            if sign == b'"':
                self._string = not self._string
            elif sign == b"\\":
                if at == len(chunk):
                    self._escaped = True
                at += 1
            elif sign in b"{[":
                if self._depth or self._array or sign == b"{":
                    self._depth += 1
                else:
                    self._array = True
                    start = at
                    self._pending.clear()
            elif self._depth:
                if sign != b",":
                    self._depth -= 1
                    if not self._depth:
                        self._end(chunk[start:at], events)
                        start = at
            else:
                self._array = self._array and sign == b","
                self._end(chunk[start:begin], events)
                start = at
        self._pending.append(chunk[start:])
        return events

    def close(self) -> list[SSEEvent]:
        """The end of the bytes: an element that only lacks what follows it is whole, anything else was cut off."""
        events: list[SSEEvent] = []
        rest = b"".join(self._pending).strip(_BLANK)
        self._pending.clear()
        if rest and not self._depth and not self._string and parse_data(rest) != rest.decode(errors="replace"):
            self._end(rest, events)
        else:
            self.truncated = rest or None
        return events

    def _end(self, last: bytes, events: list[SSEEvent]) -> None:
        whole = b"".join([*self._pending, last]).strip(_BLANK)
        self._pending.clear()
        if not whole:
            return
        try:
            text = whole.decode()
        except UnicodeDecodeError:
            self.malformed = True
            text = whole.decode(errors="replace")
        events.append({"event": None, "data": text})


class JSONArrayEncoder:
    """JSON values in, the bytes of one array of them out, one write per element.

    >>> encoder = JSONArrayEncoder()
    >>> encoder.encode(b'{"n":1}') + encoder.encode(b'{"n":2}') + encoder.close()
    b'[{"n":1}\\n,\\n{"n":2}\\n]'
    """

    def __init__(self) -> None:
        self._begun = False

    def encode(self, value: bytes) -> bytes:
        """The bytes of one more element."""
        before, self._begun = b"\n,\n" if self._begun else b"[", True
        return before + value

    def close(self) -> bytes:
        """The end of the array, and of the body: a parser of Google's clients refuses a line end after it."""
        return b"\n]" if self._begun else b"[]"


class StreamDecoder:
    """Server-sent events or one JSON array, distinguished by the first byte that is not white space."""

    def __init__(self) -> None:
        self._head = b""
        self._inner: SSEDecoder | JSONArrayDecoder | None = None

    @property
    def plain(self) -> bool:
        """Whether what comes next opens a block of server-sent events."""
        return isinstance(self._inner, SSEDecoder) and self._inner.plain

    def feed(self, chunk: bytes) -> list[SSEEvent]:
        """Take the next bytes and return the events they complete."""
        if self._inner is None:
            self._head += chunk
            first = self._head.lstrip(_BLANK)[:1]
            if not first:
                return []
            self._inner = JSONArrayDecoder() if first == b"[" else SSEDecoder()
            chunk, self._head = self._head, b""
        return self._inner.feed(chunk)

    def close(self) -> list[SSEEvent]:
        """The end of the bytes."""
        return self._inner.close() if self._inner is not None else []
