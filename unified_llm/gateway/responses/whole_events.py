"""The events of a stream that goes through byte for byte: each as a whole, or not at all.

A stream that breaks off in the middle of an event gets an error behind it, which clients would read as the rest of that
event. An event may come in several chunks, and so may a credential in it.
"""

from __future__ import annotations

__all__ = ["WholeEvents"]

_ENDS = (b"\n\n", b"\n\r\n", b"\r\r")
_MOST = 1_000_000  # bytes of an event that are held back


class WholeEvents:
    """Chunks as they come, without what begins an event and does not end it. `rest` is what is held back.

    >>> events = WholeEvents()
    >>> events.feed(b"data: 1\\n\\ndata"), events.feed(b": 2\\n"), events.feed(b"\\n"), bytes(events.rest)
    (b'data: 1\\n\\n', b'', b'data: 2\\n\\n', b'')
    """

    def __init__(self) -> None:
        self.rest: bytearray = bytearray()

    def feed(self, chunk: bytes) -> bytes:
        """What may be sent on."""
        if not self.rest and (chunk.endswith(_ENDS) or (chunk.startswith(b":") and chunk.endswith(b"\n"))):
            return chunk  # whole events, or a comment that keeps the connection alive
        start = max(len(self.rest) - 2, 0)  # where an end may begin
        self.rest += chunk
        found = ((self.rest.rfind(each, start), len(each)) for each in _ENDS)
        end = max(at + size if at >= 0 else 0 for at, size in found)
        if not end and len(self.rest) > _MOST:
            end = len(self.rest)
        whole = bytes(self.rest[:end])
        del self.rest[:end]
        return whole
