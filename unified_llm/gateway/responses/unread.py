"""Clients that stop reading: what was sent to them stays in memory, and so does the connection, without an end.

The server holds a response back once a client has not read for a while, and reads its upstream no faster; nothing
shows whether that client will ever go on.
"""

from __future__ import annotations

import asyncio

__all__ = ["Unread"]

_CONTROL = 250  # bytes of the frames that a WebSocket sends by itself between two looks


class Unread:
    """How long a connection has taken nothing of what is written to it.

    >>> class Full:  # a transport of which nothing is read
    ...     def get_write_buffer_size(self): return 70_000
    ...     def get_write_buffer_limits(self): return 16_384, 65_536
    >>> unread = Unread()
    >>> [unread.seconds(Full(), 1.0) for _ in range(3)]
    [0.0, 1.0, 2.0]
    """

    __slots__ = ("_left", "_seconds")

    def __init__(self) -> None:
        self._left = 0
        self._seconds = 0.0

    def seconds(self, transport: asyncio.WriteTransport, since: float) -> float:
        """How long it is by now; it was looked at `since` seconds ago."""
        left = transport.get_write_buffer_size()
        # Behind the limit nothing is added but frames of control, so what is left becomes less with each byte that the
        # client reads. Before it only what stays the same is certain, and so it is of what has grown by more.
        most = _CONTROL if left > transport.get_write_buffer_limits()[1] else 0
        stays = 0 < self._left <= left <= self._left + most
        self._seconds = self._seconds + since if stays else 0.0
        self._left = left
        return self._seconds
