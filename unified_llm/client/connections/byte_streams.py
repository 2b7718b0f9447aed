"""The bytes of an answer that is streamed, and its wire events; for threads and for event loops.

Plain iterators, not generators: a generator that is left to the garbage collector is closed by it, several of them in
one another at the same time, and in an event loop each in a task of its own. Here one finalizer closes the connection
of a stream that was left, and nothing else does.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...engine.registry import split
from ...foundation.errors import APIError
from ...passes.convert import Converted
from ...streams.framings.of_protocol import decoder_of
from ...streams.framings.sse import is_garbled, parse_data
from ..sending.api_errors import GARBLED, unreachable, unusable
from ..sending.deadline import Deadline
from ..sending.effects import Hop, Opened
from ..upstreams.upstream import Upstream
from .loop_cleanup import at_end_of, current_loop, run_later
from .pool import close_later
from .transport_errors import as_http_error

if TYPE_CHECKING:
    from ..telemetry.operation import Operation

__all__ = ["AsyncStream", "Stream"]


class _Events:
    """The wire events of a stream's bytes. Raises `StreamInterruptedError` for one that is half of its JSON."""

    def __init__(self, opened: Opened) -> None:
        framing = split(opened.upstream.protocol)[0].streams.framing
        self.decoder = decoder_of(framing)
        self.ready: deque[dict[str, Any]] = deque()
        self.over = False
        self._failure: APIError | None = None
        self._opened = opened

    def feed(self, chunk: bytes | None) -> None:
        """Take in a chunk; None is the end."""
        self.over = chunk is None
        for event in self.decoder.close() if chunk is None else self.decoder.feed(chunk):
            text = event["data"]
            # Some servers repeat in an error what they were sent.
            data = parse_data(self._opened.upstream.hide(text) if '"error' in text else text)
            if is_garbled(data):
                why, of = "an event of the stream is not JSON", self._opened
                found = unusable(of.upstream, why, of.model, raw=data, code=GARBLED, again=None)
                self._failure = of.located(found)
                self.over = True
                break
            self.ready.append({"event": event["event"], "data": data})

    def take(self) -> dict[str, Any] | None:
        """The next event, None at the end. Raises what the events before it came to."""
        if self.ready:
            return self.ready.popleft()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        return None


class _Received:
    """What a stream's two forms have in common."""

    def __init__(self, opened: Opened, deadline: Deadline | None) -> None:
        self._opened = opened
        self._first: Iterator[bytes] = iter(opened.first)
        self._deadline = deadline
        self._closed = False
        self.upstream: Upstream = opened.upstream
        self.sent: Converted = opened.sent
        self.hops: tuple[Hop, ...] = opened.hops
        self.attempts: int = opened.attempts
        self.headers: Mapping[str, str] = opened.headers
        self.status: int = opened.status
        self.http: dict[str, Any] = opened.http
        self.request_id: str | None = opened.request_id
        self.model: str | None = opened.model
        self.located: Callable[[APIError], APIError] = opened.located
        self.operation: Operation | None = opened.operation
        if self.operation is not None:
            weakref.finalize(self, self.operation.abandon).atexit = False  # of a stream that was not closed

    def _broken(self, error: Exception) -> APIError | None:
        known = as_http_error(error)
        return known if known is None or isinstance(known, APIError) else self._begun(known)

    def _begun(self, error: Exception) -> APIError:
        return self._opened.located(unreachable(self.upstream, error, self.model, begun=True))


class Stream(_Received):
    """A stream of bytes from an upstream; iterate it once, or take its `.events()`.

    Raises `StreamInterruptedError` and `APITimeoutError`. It is closed at its end, by `.close()`, as a context manager,
    and when nothing refers to it any more. `pool` is what its connection belongs to.
    """

    def __init__(self, opened: Opened, deadline: Deadline | None = None, pool: Any = None) -> None:
        super().__init__(opened, deadline)
        self._pool = pool
        self._left = weakref.finalize(self, close_later, opened.response) if opened.rest is not None else None
        if self._left is not None:
            self._left.atexit = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if not self._closed:
            for chunk in self._first:
                return chunk
            found = self._read() if self._opened.rest is not None else None
            if found is not None:
                return found
            self.close()
        raise StopIteration

    def _read(self) -> bytes | None:
        failure = None
        try:
            if self._deadline is None:
                return next(self._opened.rest, None)
            with self._deadline.limit():
                return next(self._opened.rest, None)
        except Exception as error:
            failure = self._broken(error)
            if failure is None:
                raise
        self.close()
        raise failure

    def events(self) -> Iterator[dict[str, Any]]:
        """Its wire events, as `convert_stream` takes them. One that was cut off ends early; its reader reports it."""
        return _WireEvents(self)

    def close(self) -> None:
        """Close the connection."""
        self._closed = True
        if self._left is not None:
            self._left.detach()
        self._opened.response.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _WireEvents:
    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._events = _Events(stream._opened)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> dict[str, Any]:
        events = self._events
        try:
            while not events.ready and not events.over:
                events.feed(next(self._stream, None))
            event = events.take()
        except BaseException:
            events.over = True
            self._stream.close()
            raise
        if event is None:
            raise StopIteration
        return event


class AsyncStream(_Received):
    """The same for event loops."""

    def __init__(self, opened: Opened, deadline: Deadline | None = None, pool: Any = None) -> None:
        super().__init__(opened, deadline)
        self._pool = pool
        self._closing = _Closing(opened.response, opened.rest)
        self._left = None
        if opened.rest is not None:
            loop = current_loop()
            # What is left of the answer is kept until it is closed: the collector would close its parts one by one.
            self._closing.call_off = at_end_of(loop, self._closing)
            self._left = weakref.finalize(self, run_later, loop, self._closing)
            self._left.atexit = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._closed:
            raise StopAsyncIteration
        for chunk in self._first:
            return chunk
        failure = None
        rest = self._opened.rest
        if rest is not None:
            try:
                found: bytes
                if self._deadline is None:
                    found = await rest.__anext__()
                else:
                    found = await self._deadline.wait(rest.__anext__)
                return found
            except StopAsyncIteration:
                pass
            except Exception as error:
                failure = self._broken(error)
                if failure is None:
                    raise
        await self.aclose()
        if failure is not None:
            raise failure
        raise StopAsyncIteration

    def events(self) -> AsyncIterator[dict[str, Any]]:
        """Its wire events."""
        return _AsyncWireEvents(self)

    async def aclose(self) -> None:
        """Close the connection."""
        import anyio

        self._closed = True
        if self._left is not None:
            self._left.detach()
        # A caller that was cancelled still has to hang up.
        with anyio.CancelScope(shield=True):
            await self._closing()

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Closing:
    """Closes an answer: first the iterator over it, then itself."""

    def __init__(self, response: Any, rest: Any) -> None:
        self._response, self._rest = response, rest
        self.call_off: Callable[[], Any] | None = None
        self._done = False

    async def __call__(self) -> None:
        if self._done:
            return
        self._done = True
        if self._rest is not None:
            await self._rest.aclose()
        await self._response.aclose()
        if self.call_off is not None:
            self.call_off()


class _AsyncWireEvents:
    def __init__(self, stream: AsyncStream) -> None:
        self._stream = stream
        self._events = _Events(stream._opened)

    def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        return self

    async def __anext__(self) -> dict[str, Any]:
        events = self._events
        try:
            while not events.ready and not events.over:
                events.feed(await anext(self._stream, None))
            event = events.take()
        except BaseException:
            events.over = True
            await self._stream.aclose()
            raise
        if event is None:
            raise StopAsyncIteration
        return event
