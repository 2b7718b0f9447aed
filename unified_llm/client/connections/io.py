"""What does the work for `wire.steps`: connections, for threads and for event loops.

Two drivers with the same verbs, and no rule in either; `aiohttp_wire.py` has a third one, for servers. Every answer
that was opened is closed: when its stream is at its end, when the caller stops listening, when anything is raised or
cancelled. An upstream that brings its own HTTP client uses that one; all others share the driver's pool.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import nullcontext
from email.utils import formatdate
from functools import lru_cache
from typing import Any

import httpx2

from ..sending.deadline import Deadline
from ..sending.effects import Answer, Ask, Effect, Opened, Outgoing
from ..sending.request_flow import steps
from ..sending.retry import Retry
from ..telemetry.hooks import acall_hook, call_hook
from ..upstreams.credentials import Watched
from ..upstreams.upstream import Upstream
from .byte_streams import AsyncStream, Stream
from .event_framing import AsyncEvents, decoder_of, events
from .loop_cleanup import Chunks, Undecoded
from .pool import TIMEOUT, AsyncPool, Pool, checked
from .transport_errors import as_http_error

__all__ = [
    "LOSSES",
    "PATH",
    "PROTOCOL",
    "TIMEOUT",
    "AsyncStream",
    "AsyncWire",
    "Stream",
    "Wire",
    "crowded",
    "dated",
    "parsed",
]

PROTOCOL = "unified_llm.protocol"
"""The extension of a request that names its protocol, for what answers in this process in several of them."""

PATH = "unified_llm.path"
"""The extension of a request that holds its path below the protocol's root."""

LOSSES = "unified_llm.losses"
"""The extension of a request that holds what converting it lost, for what answers in this process and counts it."""

_UNTIMED = frozenset(("close", "hook", "sleep"))  # closing is never too late, and a sleep looks at the clock itself


SECRETS = "unified_llm.secrets"
"""The extension of a request that holds the credentials of its upstream, for what signs a request by itself."""


def _request(
    client: Any, upstream: Upstream, outgoing: Outgoing, usual: Any, deadline: Deadline | None
) -> httpx2.Request:
    timeout = outgoing.timeout if outgoing.timeout is not None else usual
    if deadline is not None:
        timeout = deadline.capped(timeout if timeout is not None else client.timeout)
    built: httpx2.Request = client.build_request(
        outgoing.method,
        parsed(outgoing.url),
        headers=dict(outgoing.headers),
        content=outgoing.content,
        params=dict(outgoing.query) or None,
        extensions={
            PROTOCOL: upstream.protocol.partition(":")[0],
            PATH: outgoing.path,
            SECRETS: upstream.secrets,
            LOSSES: outgoing.losses,
        },
        timeout=timeout if timeout is not None else httpx2.USE_CLIENT_DEFAULT,
    )
    return built


def _auth(client: Any, upstream: Upstream, outgoing: Outgoing) -> httpx2.Auth:
    """The login of the upstream, else that of the HTTP client, with an eye on what leaves."""
    inner = upstream.auth if upstream.auth is not None else getattr(client, "auth", None)
    return Watched(inner, upstream.secrets, outgoing.public)


@lru_cache(256)
def parsed(text: str) -> httpx2.URL:
    """A URL, parsed once: most calls use the same few."""
    return httpx2.URL(text)


def crowded(limits: httpx2.Limits) -> httpx2.PoolTimeout:
    """The error of a request that got no connection, with the limit and the remedy."""
    most = limits.max_connections
    return httpx2.PoolTimeout(
        f"all {most} connections of the client are in use; close streams that are no longer read, or pass "
        f"limits=httpx2.Limits(max_connections=...)"
    )


def dated(response: Any) -> Any:
    """An answer with the time at which it came, which dates among its headers are counted from."""
    if "date" not in response.headers:
        response.headers["date"] = formatdate(usegmt=True)
    return response


class _Driver:
    """What both drivers are made of."""

    def __init__(
        self,
        *,
        http_client: Any = None,
        retry: Retry | None = None,
        timeout: Any = None,
        limits: httpx2.Limits | None = None,
    ) -> None:
        self.retry: Retry = retry if retry is not None else Retry()
        self._pool: Any = self._pooled(http_client, limits)
        self._timeout = timeout

    def _pooled(self, given: Any, limits: httpx2.Limits | None) -> Any:
        raise NotImplementedError


class Wire(_Driver):
    """Sends requests to upstreams, with blocking calls. `http_client` replaces the pool, `timeout` what is waited by
    default.

    `limits` are those of the pool. Close it, or use it as a context manager. A given `http_client` stays open.
    """

    def _pooled(self, given: Any, limits: httpx2.Limits | None) -> Pool:
        return Pool(given, limits)

    def send(self, ask: Ask, upstreams: Sequence[Upstream]) -> Answer | Stream:
        """The answer of the first upstream that has one; a `Stream` where one is requested."""
        found = self.run(steps(ask, upstreams, self.retry), ask.deadline)
        return self.stream(found, ask.deadline) if isinstance(found, Opened) else found

    def stream(self, opened: Opened, deadline: Deadline | None = None) -> Stream:
        """The stream of an answer that was opened."""
        return Stream(opened, deadline, self._pool)

    def run(self, doing: Any, deadline: Deadline | None = None) -> Any:
        """Perform the effects of a generator until `deadline`, and return what it returns."""
        opened: list[httpx2.Response] = []
        try:
            effect: Effect = next(doing)
            while True:
                failure = done = None
                try:
                    with nullcontext() if deadline is None or effect.verb in _UNTIMED else deadline.limit():
                        done = getattr(self, f"_{effect.verb}")(opened, deadline, *effect.what)
                except Exception as error:
                    # Thrown from outside of this block, or it would hang on every error that comes of it.
                    failure = as_http_error(error)
                    if failure is None:
                        raise
                effect = doing.send(done) if failure is None else doing.throw(failure)
        except StopIteration as end:
            kept = getattr(end.value, "opened", end.value)
            if isinstance(kept, Opened) and kept.rest is not None:
                opened.remove(kept.response)
            return end.value
        finally:
            for response in opened:
                response.close()

    def _send(
        self, opened: list[Any], deadline: Deadline | None, upstream: Upstream, outgoing: Outgoing
    ) -> httpx2.Response:
        own = upstream.http_client
        if own is not None:
            self._pool.check()
            checked(own)
        client = own or self._pool.client()
        request = _request(client, upstream, outgoing, None if own is not None else self._timeout, deadline)
        auth = _auth(client, upstream, outgoing)
        full = False
        try:
            response = client.send(request, stream=True, auth=auth, follow_redirects=False)
        except httpx2.PoolTimeout:
            if own is not None or self._pool.given is not None:
                raise
            full = True
        if full:
            raise crowded(self._pool.limits)
        opened.append(response)
        found: httpx2.Response = dated(response)
        return found

    def _read(self, opened: list[Any], deadline: Deadline | None, response: httpx2.Response) -> bytes:
        raw = response.read()
        self._close(opened, deadline, response)
        return raw

    def _chunks(
        self, opened: list[Any], deadline: Deadline | None, response: httpx2.Response, binary: bool
    ) -> Iterator[bytes]:
        decoder = decoder_of(response, binary)
        return response.iter_bytes() if decoder is None else events(decoder, response.iter_bytes())

    def _next(self, opened: list[Any], deadline: Deadline | None, chunks: Iterator[bytes]) -> bytes | None:
        return next(chunks, None)

    def _close(self, opened: list[Any], deadline: Deadline | None, response: httpx2.Response) -> None:
        response.close()
        if response in opened:
            opened.remove(response)

    def _hook(self, opened: list[Any], deadline: Deadline | None, hook: Any, event: Any) -> None:
        call_hook(hook, event)

    def _sleep(self, opened: list[Any], deadline: Deadline | None, seconds: float) -> bool:
        """Whether there was time for it."""
        if deadline is not None and seconds >= deadline.left:
            return False
        time.sleep(seconds)
        return True

    def close(self) -> None:
        """Close the pool, if it is the driver's own."""
        self._pool.close()

    def __enter__(self) -> Wire:
        self._pool.reopen()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncWire(_Driver):
    """The same for event loops, asyncio's and trio's.

    A driver over another HTTP library overrides `_send`, which opens an answer, and `_chunks_of`. Of an answer the
    rules use `status_code`, `headers.raw`, `aread()`, its chunks and `aclose()`.
    """

    def _pooled(self, given: Any, limits: httpx2.Limits | None) -> AsyncPool:
        return AsyncPool(given, limits)

    async def send(self, ask: Ask, upstreams: Sequence[Upstream]) -> Answer | AsyncStream:
        """The answer of the first upstream that has one; an `AsyncStream` where one is requested."""
        found = await self.run(steps(ask, upstreams, self.retry), ask.deadline)
        return self.stream(found, ask.deadline) if isinstance(found, Opened) else found

    def stream(self, opened: Opened, deadline: Deadline | None = None) -> AsyncStream:
        """The stream of an answer that was opened."""
        return AsyncStream(opened, deadline, self._pool)

    async def run(self, doing: Any, deadline: Deadline | None = None) -> Any:
        """Perform the effects of a generator until `deadline`, and return what it returns."""
        import anyio

        opened: list[Any] = []
        try:
            effect: Effect = next(doing)
            while True:
                failure = done = None
                verb = getattr(self, f"_{effect.verb}")
                try:
                    if deadline is None or effect.verb in _UNTIMED:
                        done = await verb(opened, deadline, *effect.what)
                    else:
                        done = await deadline.wait(verb, opened, deadline, *effect.what)
                except Exception as error:
                    # Thrown from outside of this block, or it would hang on every error that comes of it.
                    failure = as_http_error(error)
                    if failure is None:
                        raise
                except BaseException as error:
                    doing.throw(error)  # the caller is cancelled
                    raise
                effect = doing.send(done) if failure is None else doing.throw(failure)
        except StopIteration as end:
            kept = getattr(end.value, "opened", end.value)
            if isinstance(kept, Opened) and kept.rest is not None:
                opened.remove(kept.response)
            return end.value
        finally:
            if opened:
                with anyio.CancelScope(shield=True):
                    for response in opened:
                        await response.aclose()

    async def _send(self, opened: list[Any], deadline: Deadline | None, upstream: Upstream, outgoing: Outgoing) -> Any:
        own = upstream.async_http_client
        if own is not None:
            self._pool.check()
            checked(own)
        client = own or await self._pool.client()
        request = _request(client, upstream, outgoing, None if own is not None else self._timeout, deadline)
        auth = _auth(client, upstream, outgoing)
        full = False
        try:
            response = await client.send(request, stream=True, auth=auth, follow_redirects=False)
        except httpx2.PoolTimeout:
            if own is not None or self._pool.given is not None:
                raise
            full = True
        if full:
            raise crowded(self._pool.limits)
        opened.append(response)
        if "content-encoding" in response.headers and not response.is_stream_consumed:
            response.stream = Undecoded(response)
        return dated(response)

    async def _read(self, opened: list[Any], deadline: Deadline | None, response: httpx2.Response) -> bytes:
        raw = await response.aread()
        await self._close(opened, deadline, response)
        return raw

    async def _chunks(
        self, opened: list[Any], deadline: Deadline | None, response: httpx2.Response, binary: bool
    ) -> Any:
        chunks = self._chunks_of(response)
        decoder = decoder_of(response, binary)
        return chunks if decoder is None else AsyncEvents(decoder, chunks)

    def _chunks_of(self, response: Any) -> Any:
        """The iterator over a response, which `aclose` ends where it stands."""
        return Chunks(response)

    async def _next(self, opened: list[Any], deadline: Deadline | None, chunks: AsyncIterator[bytes]) -> bytes | None:
        return await anext(chunks, None)

    async def _close(self, opened: list[Any], deadline: Deadline | None, response: httpx2.Response) -> None:
        await response.aclose()
        if response in opened:
            opened.remove(response)

    async def _hook(self, opened: list[Any], deadline: Deadline | None, hook: Any, event: Any) -> None:
        await acall_hook(hook, event)

    async def _sleep(self, opened: list[Any], deadline: Deadline | None, seconds: float) -> bool:
        """Whether there was time for it."""
        import anyio

        if deadline is not None and seconds >= deadline.left:
            return False
        await anyio.sleep(seconds)
        return True

    async def aclose(self) -> None:
        """Close the pool, if it is the driver's own."""
        await self._pool.aclose()

    async def __aenter__(self) -> AsyncWire:
        self._pool.reopen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
