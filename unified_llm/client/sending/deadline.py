"""The total time a call may take, beside the timeout of each read.

A timeout of the HTTP library restarts with every byte that arrives, so a server that sends one byte a second is waited
for without end. A deadline does not restart: it is a point in time, and every wait of a call ends there. In an event
loop a cancel scope does that. In threads nothing can interrupt a read, so the connections of the client's own pool look
up the deadline of the thread that reads, and give each read only the time that is left.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import httpx2

from ...foundation.usage_errors import InvalidArgument

__all__ = ["Deadline", "DeadlineReached", "bounded"]

R = TypeVar("R")
_current: ContextVar[Deadline | None] = ContextVar("unified_llm_deadline", default=None)
_PHASES = ("connect", "read", "write", "pool")


class DeadlineReached(httpx2.TimeoutException):
    """The total time of a call is over."""


class Deadline:
    """A point in time, `seconds` from now.

    >>> Deadline(60).left > 59
    True
    """

    __slots__ = ("at", "seconds")

    def __init__(self, seconds: float) -> None:
        if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or not seconds > 0:
            raise InvalidArgument(f"total_timeout is a positive number of seconds, not {seconds!r}")
        self.seconds: float = seconds
        self.at: float = time.monotonic() + seconds

    @classmethod
    def of(cls, seconds: float | None) -> Deadline | None:
        """The deadline for a `total_timeout`; None where there is none."""
        return None if seconds is None else cls(seconds)

    @property
    def left(self) -> float:
        """Seconds until then; negative afterwards."""
        return self.at - time.monotonic()

    def reached(self) -> DeadlineReached:
        """The error for when it is over."""
        return DeadlineReached(f"the call took longer than total_timeout={self.seconds:g} seconds")

    def check(self) -> None:
        """Raise `DeadlineReached` afterwards."""
        if self.left <= 0:
            raise self.reached()

    def capped(self, timeout: Any) -> Any:
        """The timeouts of one request, none of them longer than the time that is left."""
        left = max(self.left, 0.001)
        given = httpx2.Timeout(timeout).as_dict()
        return httpx2.Timeout(**{phase: _least(given.get(phase), left) for phase in _PHASES})

    @contextmanager
    def limit(self) -> Iterator[None]:
        """Let this thread's reads end then. Raises `DeadlineReached` in place of what the read raised."""
        self.check()
        token = _current.set(self)
        over = False
        try:
            yield
        except httpx2.TimeoutException:
            over = self.left <= 0
            if not over:
                raise
        finally:
            _current.reset(token)
        if over:
            raise self.reached()

    async def wait(self, doing: Callable[..., Awaitable[R]], *arguments: Any) -> R:
        """Await something until then. Raises `DeadlineReached`."""
        import anyio

        self.check()
        try:
            with anyio.move_on_after(self.left):
                return await doing(*arguments)
        except (httpx2.TimeoutException, TimeoutError):
            # A read that has no more time than the call ends at the same moment.
            if self.left > 0:
                raise
        raise self.reached()


def _least(timeout: float | None, left: float) -> float:
    return left if timeout is None else min(timeout, left)


def bounded(client: httpx2.Client) -> httpx2.Client:
    """The client, whose connections look up the deadline of the thread that reads from them."""
    for transport in (client._transport, *client._mounts.values()):
        pool = getattr(transport, "_pool", None)
        backend = getattr(pool, "_network_backend", None)
        if pool is not None and backend is not None:
            pool._network_backend = _Backend(backend)
    return client


class _Backend:
    """A network backend of the HTTP library, as its documentation describes one.

    https://www.encode.io/httpcore/network-backends/
    """

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def connect_tcp(self, *args: Any, **options: Any) -> _Socket:
        return _Socket(self._backend.connect_tcp(*args, **options))

    def connect_unix_socket(self, *args: Any, **options: Any) -> _Socket:
        return _Socket(self._backend.connect_unix_socket(*args, **options))

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


class _Socket:
    """A connection: reads and writes take no longer than the deadline of their thread."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data: bytes = self._stream.read(max_bytes, timeout=_within(timeout))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout=_within(timeout))

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Socket:
        return _Socket(self._stream.start_tls(ssl_context, server_hostname, _within(timeout)))

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _within(timeout: float | None) -> float | None:
    deadline = _current.get()
    if deadline is None:
        return timeout
    deadline.check()
    return _least(timeout, max(deadline.left, 0.001))
