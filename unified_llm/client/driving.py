"""What does the work for `wire.steps`: connections, for threads and for event loops.

Two drivers with the same five verbs, and no rule in either. Every answer that was opened is closed: when its stream is
at its end, when the caller stops listening, when anything is raised or cancelled. An upstream that brings its own HTTP
client uses that one; all others share the driver's pool.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import lru_cache
from typing import Any

import anyio
import httpx2

from .. import __version__
from ..errors import APIError
from ..jsonarray import StreamDecoder
from ..registry import split
from ..sse import SSEDecoder, is_garbled, parse_data
from .credentials import Watched
from .failures import garbled, unreachable
from .retrying import Retry
from .upstream import Upstream
from .wire import Answer, Ask, Effect, Opened, Outgoing, steps

__all__ = ["PATH", "TIMEOUT", "AsyncStream", "AsyncWire", "Stream", "Wire"]

TIMEOUT = httpx2.Timeout(600.0, connect=10.0)
"""How long is waited for each piece of an answer, unless upstream or call says otherwise: models think."""

PATH = "unified_llm.path"
"""The extension of a request that holds its path below the protocol's root."""

_HEADERS = {"user-agent": f"unified-llm/{__version__}"}


SECRETS = "unified_llm.secrets"
"""The extension of a request that holds the credentials of its upstream, for what signs a request by itself."""


def _request(client: Any, upstream: Upstream, outgoing: Outgoing, usual: Any) -> httpx2.Request:
    timeout = outgoing.timeout if outgoing.timeout is not None else usual
    built: httpx2.Request = client.build_request(
        outgoing.method,
        _url(outgoing.url),
        headers=dict(outgoing.headers),
        content=outgoing.content,
        params=dict(outgoing.query) or None,
        extensions={PATH: outgoing.path, SECRETS: upstream.secrets},
        timeout=timeout if timeout is not None else httpx2.USE_CLIENT_DEFAULT,
    )
    return built


def _auth(client: Any, upstream: Upstream, outgoing: Outgoing) -> httpx2.Auth:
    """The login of the upstream, else that of the HTTP client, with an eye on what leaves."""
    inner = upstream.auth if upstream.auth is not None else getattr(client, "auth", None)
    return Watched(inner, upstream.secrets, outgoing.public)


@lru_cache(256)
def _url(text: str) -> httpx2.URL:
    """A URL, taken apart once: the same few are asked again and again."""
    return httpx2.URL(text)


class _Events:
    """The wire events of a stream's bytes. Raises `StreamBroken` for one that is half of its JSON."""

    def __init__(self, opened: Opened) -> None:
        framing = split(opened.upstream.protocol)[0].streams.framing
        self.decoder = StreamDecoder() if framing.array else SSEDecoder()
        self._opened = opened

    def feed(self, chunk: bytes) -> list[dict[str, Any]]:
        return [self._read(each) for each in self.decoder.feed(chunk)]

    def close(self) -> list[dict[str, Any]]:
        return [self._read(each) for each in self.decoder.close()]

    def _read(self, event: Any) -> dict[str, Any]:
        text = event["data"]
        # Some servers repeat in an error what they were sent.
        data = parse_data(self._opened.upstream.hide(text) if '"error' in text else text)
        if is_garbled(data):
            raise garbled(self._opened.upstream, data, self._opened.model)
        return {"event": event["event"], "data": data}


class _Heard:
    """What a stream's two forms have in common."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self.upstream = opened.upstream
        self.sent = opened.sent
        self.hops = opened.hops
        self.attempts = opened.attempts
        self.headers = opened.headers
        self.status = opened.status
        self.http = opened.http
        self.request_id = opened.request_id
        self.model = opened.model

    def _broken(self, error: httpx2.HTTPError) -> APIError:
        return unreachable(self.upstream, error, self.model, begun=True)


class Stream(_Heard):
    """A stream of bytes from an upstream; iterate it once, or take its `.events()`.

    Raises `StreamBroken` and `Timeout`. It is closed at its end, by `.close()`, and as a context manager.
    """

    def __iter__(self) -> Iterator[bytes]:
        broken = None
        try:
            yield from self._opened.first
            if self._opened.rest is not None:
                yield from self._opened.rest
        except httpx2.HTTPError as error:
            broken = self._broken(error)
        finally:
            self.close()
        if broken is not None:
            raise broken

    def events(self) -> Iterator[dict[str, Any]]:
        """Its wire events, as `convert_stream` takes them. One that was cut off ends early: its reader tells."""
        events = _Events(self._opened)
        try:
            for chunk in self:
                yield from events.feed(chunk)
            yield from events.close()
        finally:
            self.close()

    def close(self) -> None:
        self._opened.response.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncStream(_Heard):
    """The same for event loops."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        broken = None
        try:
            for chunk in self._opened.first:
                yield chunk
            if self._opened.rest is not None:
                async for chunk in self._opened.rest:
                    yield chunk
        except httpx2.HTTPError as error:
            broken = self._broken(error)
        finally:
            await self.aclose()
        if broken is not None:
            raise broken

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        """Its wire events."""
        events = _Events(self._opened)
        try:
            async for chunk in self:
                for event in events.feed(chunk):
                    yield event
            for event in events.close():
                yield event
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        # A caller that was cancelled still has to hang up.
        with anyio.CancelScope(shield=True):
            await self._opened.response.aclose()

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class Wire:
    """Asks upstreams, with blocking calls. `http_client` replaces the pool, `timeout` what is waited by default.

    Close it, or use it as a context manager. A given `http_client` stays open.
    """

    def __init__(self, *, http_client: httpx2.Client | None = None, retry: Retry | None = None, timeout: Any = None):
        self.retry = retry if retry is not None else Retry()
        self._given = http_client
        self._pool: httpx2.Client | None = http_client
        self._timeout = timeout

    def send(self, ask: Ask, upstreams: Sequence[Upstream]) -> Answer | Stream:
        """The answer of the first upstream that has one; a `Stream` where one is asked for."""
        found = self.run(steps(ask, upstreams, self.retry))
        return Stream(found) if isinstance(found, Opened) else found

    def run(self, doing: Any) -> Any:
        """Do what a generator of effects asks for, and return what it returns."""
        opened: list[httpx2.Response] = []
        try:
            effect: Effect = next(doing)
            while True:
                failure = done = None
                try:
                    done = getattr(self, f"_{effect.verb}")(opened, *effect.what)
                except (httpx2.HTTPError, APIError) as error:
                    # Thrown from outside of this block, or it would hang on every error that comes of it.
                    failure = error
                effect = doing.send(done) if failure is None else doing.throw(failure)
        except StopIteration as end:
            kept = getattr(end.value, "opened", end.value)
            if isinstance(kept, Opened) and kept.rest is not None:
                opened.remove(kept.response)
            return end.value
        finally:
            for response in opened:
                response.close()

    def _send(self, opened: list[Any], upstream: Upstream, outgoing: Outgoing) -> httpx2.Response:
        client = upstream.http_client or self._client()
        usual = None if upstream.http_client is not None else self._timeout
        request = _request(client, upstream, outgoing, usual)
        auth = _auth(client, upstream, outgoing)
        response = client.send(request, stream=True, auth=auth, follow_redirects=False)
        opened.append(response)
        return response

    def _client(self) -> httpx2.Client:
        if self._pool is None:
            self._pool = httpx2.Client(timeout=TIMEOUT, headers=_HEADERS)
        return self._pool

    def _read(self, opened: list[Any], response: httpx2.Response) -> bytes:
        raw = response.read()
        self._close(opened, response)
        return raw

    def _chunks(self, opened: list[Any], response: httpx2.Response) -> Iterator[bytes]:
        return response.iter_bytes()

    def _next(self, opened: list[Any], chunks: Iterator[bytes]) -> bytes | None:
        return next(chunks, None)

    def _close(self, opened: list[Any], response: httpx2.Response) -> None:
        response.close()
        if response in opened:
            opened.remove(response)

    def _sleep(self, opened: list[Any], seconds: float) -> None:
        time.sleep(seconds)

    def close(self) -> None:
        """Close the pool, if it is the driver's own."""
        if self._pool is not None and self._given is None:
            self._pool.close()
            self._pool = None

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncWire:
    """The same for event loops."""

    def __init__(
        self, *, http_client: httpx2.AsyncClient | None = None, retry: Retry | None = None, timeout: Any = None
    ):
        self.retry = retry if retry is not None else Retry()
        self._given = http_client
        self._pool: httpx2.AsyncClient | None = http_client
        self._timeout = timeout

    async def send(self, ask: Ask, upstreams: Sequence[Upstream]) -> Answer | AsyncStream:
        """The answer of the first upstream that has one; an `AsyncStream` where one is asked for."""
        found = await self.run(steps(ask, upstreams, self.retry))
        return AsyncStream(found) if isinstance(found, Opened) else found

    async def run(self, doing: Any) -> Any:
        """Do what a generator of effects asks for, and return what it returns."""
        opened: list[httpx2.Response] = []
        try:
            effect: Effect = next(doing)
            while True:
                failure = done = None
                try:
                    done = await getattr(self, f"_{effect.verb}")(opened, *effect.what)
                except (httpx2.HTTPError, APIError) as error:
                    # Thrown from outside of this block, or it would hang on every error that comes of it.
                    failure = error
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

    async def _send(self, opened: list[Any], upstream: Upstream, outgoing: Outgoing) -> httpx2.Response:
        client = upstream.async_http_client or self._client()
        usual = None if upstream.async_http_client is not None else self._timeout
        request = _request(client, upstream, outgoing, usual)
        auth = _auth(client, upstream, outgoing)
        response = await client.send(request, stream=True, auth=auth, follow_redirects=False)
        opened.append(response)
        return response

    def _client(self) -> httpx2.AsyncClient:
        if self._pool is None:
            self._pool = httpx2.AsyncClient(timeout=TIMEOUT, headers=_HEADERS)
        return self._pool

    async def _read(self, opened: list[Any], response: httpx2.Response) -> bytes:
        raw = await response.aread()
        await self._close(opened, response)
        return raw

    async def _chunks(self, opened: list[Any], response: httpx2.Response) -> AsyncIterator[bytes]:
        return response.aiter_bytes()

    async def _next(self, opened: list[Any], chunks: AsyncIterator[bytes]) -> bytes | None:
        return await anext(chunks, None)

    async def _close(self, opened: list[Any], response: httpx2.Response) -> None:
        await response.aclose()
        if response in opened:
            opened.remove(response)

    async def _sleep(self, opened: list[Any], seconds: float) -> None:
        await anyio.sleep(seconds)

    async def aclose(self) -> None:
        """Close the pool, if it is the driver's own."""
        if self._pool is not None and self._given is None:
            await self._pool.aclose()
            self._pool = None

    async def __aenter__(self) -> AsyncWire:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
