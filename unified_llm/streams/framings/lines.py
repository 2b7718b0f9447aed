"""One JSON value a line (newline-delimited JSON, `application/x-ndjson`): an incremental decoder and an encoder.

Strategy: bytes are split at line feeds, which no JSON text holds inside a string, and each line that is not blank is an
event without a name. A line that is not JSON is an event too, with its text as data: readers of events look for
these (`sse.is_garbled`).

https://github.com/ndjson/ndjson-spec
"""

from __future__ import annotations

from .sse import SSEDecoder, SSEEvent, parse_data

__all__ = ["LinesDecoder", "lined"]

_BOM = b"\xef\xbb\xbf"
_FIELDS = b":deir"
"""How a line of server-sent events may begin (a comment, data, event, id, retry), and no JSON text."""


class LinesDecoder:
    """Lines, or server-sent events with the same content, distinguished by the first byte that is not white space.

    Has the methods of `SSEDecoder`; the same events whatever the chunking. `truncated` holds, after `close()`, the
    bytes of a last line that is not whole.

    >>> decoder = LinesDecoder()
    >>> decoder.feed(b'{"n":1}\\n{"n"'), decoder.feed(b":2}"), decoder.close()
    ([{'event': None, 'data': '{"n":1}'}], [], [{'event': None, 'data': '{"n":2}'}])
    """

    plain = False  # whether what comes next opens a block of server-sent events

    def __init__(self) -> None:
        self.truncated: bytes | None = None
        self._begun = False
        self._sse: SSEDecoder | None = None
        self._pieces: list[bytes] = []  # of the line that has no end yet

    def feed(self, chunk: bytes) -> list[SSEEvent]:
        """Take the next bytes and return the events they complete."""
        if not self._begun and not (chunk := self._begin(chunk)):
            return []
        if self._sse is not None:
            return self._sse.feed(chunk)
        first, *others = chunk.split(b"\n")
        self._pieces.append(first)
        if not others:
            return []
        whole = [b"".join(self._pieces), *others[:-1]]
        self._pieces = [others[-1]]
        return [_event(line) for line in whole if line.strip()]

    def close(self) -> list[SSEEvent]:
        """The end of the bytes: a last line without its end is an event if it is JSON."""
        if self._sse is not None:
            left = self._sse.close()
            self.truncated = self._sse.truncated
            return left
        rest = b"".join(self._pieces).strip()
        self._pieces.clear()
        text = rest.decode(errors="replace")
        if rest and self._begun and parse_data(text) is not text:
            return [_event(rest)]
        self.truncated = rest or None
        return []

    def _begin(self, chunk: bytes) -> bytes:
        """All bytes so far once one of them shows the framing, else none."""
        self._pieces.append(chunk)
        so_far = b"".join(self._pieces)
        head = so_far.removeprefix(_BOM).lstrip()
        if not head or (len(so_far) < len(_BOM) and _BOM.startswith(so_far)):
            # White space before the first line is nothing, and is not kept, however much of it comes.
            self._pieces = [so_far] if _BOM.startswith(so_far) else []
            return b""
        self._begun = True
        self._pieces = []
        if head[0] in _FIELDS:
            self._sse = SSEDecoder()
            return so_far
        return head


def _event(line: bytes) -> SSEEvent:
    return {"event": None, "data": line.strip().decode(errors="replace")}


def lined(events: bytes) -> bytes:
    """Complete server-sent events as lines; other lines (keepalives) have none.

    >>> lined(b': ping\\n\\ndata: {"n":1}\\n\\n')
    b'{"n":1}\\n'
    """
    decoder = SSEDecoder()
    found = [*decoder.feed(events), *decoder.close()]
    return b"".join(b" ".join(event["data"].encode().splitlines()) + b"\n" for event in found)
