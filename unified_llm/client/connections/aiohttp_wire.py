"""The driver over aiohttp: requests of an event loop, at a fraction of the processor time.

It sends and receives, and holds no rule. The verbs are those of `AsyncWire`, and so is all that they are used for:
which URL, headers, body and time limits a request has comes from there, what an answer means is `request_flow.py`'s,
and a failure becomes the same errors (`as_http_error`). What only httpx2 can do goes over httpx2: an HTTP client
or a login of the caller's own, proxies, event loops of trio, and other methods than POST, which aiohttp would send a
second time by itself.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import aiohttp
import aiohttp.abc
import httpx2
from yarl import URL

from ..sending.deadline import Deadline
from ..sending.effects import Outgoing
from ..upstreams.credentials import REFUSED, KeyAuth, register
from ..upstreams.upstream import Upstream
from .aiohttp_exchange import Chunks, Response, Silences, Target, exchange
from .io import AsyncWire, crowded, dated, parsed
from .loop_cleanup import current_loop
from .pool import TIMEOUT, AsyncPool

__all__ = ["AiohttpWire"]

_HEAD = 100 * 1024  # bytes of a header that are taken, as httpx2 does
_LIMITS: Mapping[str, Any] = {"max_line_size": _HEAD, "max_field_size": _HEAD, "max_headers": 1_000}
_NAME = "aiohttp"  # of what is kept with a request
_SMALL = 1 << 16  # bytes of a body that a connection takes at once
_MOST = 128  # fewer than the credentials that an upstream remembers: what was prepared is registered


class AiohttpWire(AsyncWire):
    """`AsyncWire`, over aiohttp wherever it can be."""

    def _pooled(self, given: Any, limits: httpx2.Limits | None) -> AsyncPool:
        pool = super()._pooled(given, limits)
        self._sessions = AsyncPool(None, pool.limits, lambda: _Session(pool.limits))
        return pool

    async def _send(self, opened: list[Any], deadline: Deadline | None, upstream: Upstream, outgoing: Outgoing) -> Any:
        auth, loop = upstream.auth, current_loop()
        plain = outgoing.method == "POST" and upstream.async_http_client is None and self._pool.given is None
        plain = plain and (auth is None or type(auth) is KeyAuth) and isinstance(loop, asyncio.AbstractEventLoop)
        if not plain:
            return await super()._send(opened, deadline, upstream, outgoing)
        session: _Session = self._sessions.made(loop) or await self._sessions.client()
        login = None
        if type(auth) is KeyAuth:
            login = await auth.login() if auth.is_asked else auth.header_now()
        ready = session.known(upstream, outgoing, login) or await self._ready(session, upstream, outgoing, login)
        if ready.target is None:
            return await super()._send(opened, deadline, upstream, outgoing)
        timeout = outgoing.timeout if outgoing.timeout is not None else self._timeout
        timeout = TIMEOUT if timeout is None else timeout
        patience = _patience(timeout if deadline is None else deadline.capped(timeout))
        response = await session.post(ready.target, ready.headers, outgoing.content, patience)
        opened.append(response)
        if response.status_code == REFUSED and login is not None and type(auth) is KeyAuth and auth.is_renewable:
            login = await auth.another(login)
            if login is not None:
                await self._close(opened, deadline, response)
                ready = await self._ready(session, upstream, outgoing, login)
                assert ready.target is not None
                response = await session.post(ready.target, ready.headers, outgoing.content, patience)
                opened.append(response)
        return dated(response)

    async def _ready(
        self, session: _Session, upstream: Upstream, outgoing: Outgoing, login: tuple[str, str] | None
    ) -> _Prepared:
        found = session.known(upstream, outgoing, login)
        if found is None:
            found = session.prepared(await self._pool.client(), upstream, outgoing, login)
        return found

    def _chunks_of(self, response: Any) -> Any:
        return Chunks(response) if isinstance(response, Response) else super()._chunks_of(response)

    async def aclose(self) -> None:
        """Close the pool, if it is the driver's own."""
        await self._sessions.aclose()
        await super().aclose()

    async def __aenter__(self) -> AiohttpWire:
        self._sessions.reopen()
        await super().__aenter__()
        return self


@dataclass(slots=True)
class _Prepared:
    """A request but for its body; `target` is None where httpx2 would use a proxy.

    `is_registered` is whether the upstream still remembers its credentials.
    """

    target: Target | None
    headers: Mapping[str, str]
    upstream: Upstream
    login: tuple[str, str] | None
    session: _Session
    is_registered: bool = True


class _Patience(NamedTuple):
    """Seconds that are waited for a connection of the pool and for the body to be taken, and aiohttp's own."""

    pool: float | None
    write: float | None
    client: aiohttp.ClientTimeout


class _WriteStalled(TimeoutError):
    """The rest of a body was not read."""


class _Session:
    """The connections in one event loop."""

    def __init__(self, limits: httpx2.Limits) -> None:
        expiry = limits.keepalive_expiry
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=1e9 if expiry is None else max(expiry, 0.001)),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            **_LIMITS,
        )
        self._silences = Silences()
        self._limits = limits
        self._slots = None if limits.max_connections is None else asyncio.Semaphore(limits.max_connections)
        self._tls: Any = None
        self._prepared: OrderedDict[Any, _Prepared] = OrderedDict()

    @property
    def is_closed(self) -> bool:
        return self._http.closed

    async def aclose(self) -> None:
        self._silences.close()
        await self._http.close()

    def known(self, upstream: Upstream, outgoing: Outgoing, login: tuple[str, str] | None) -> _Prepared | None:
        """What was prepared for an equal request."""
        kept = outgoing.kept
        if kept is not None:
            last: _Prepared | None = kept.get(_NAME)
            if last is not None and last.is_registered and last.session is self and last.login == login:
                if last.upstream.secrets is upstream.secrets:
                    return last
        found = self._prepared.get(_key(upstream, outgoing, login))
        if found is None or found.upstream.secrets is not upstream.secrets:
            return None
        if kept is not None:
            kept[_NAME] = found
        return found

    def prepared(
        self, client: httpx2.AsyncClient, upstream: Upstream, outgoing: Outgoing, login: tuple[str, str] | None
    ) -> _Prepared:
        """The request as httpx2 would send it. Raises `AuthenticationError` for what no header can hold."""
        url = parsed(outgoing.url)
        if outgoing.query:
            url = url.copy_merge_params(dict(outgoing.query))
        headers = httpx2.Headers(client.headers)
        headers.update(dict(outgoing.headers))
        if login is not None:
            headers[login[0]] = login[1]
        register(upstream.secrets, headers.multi_items(), url, outgoing.public)
        plain = url.scheme in ("http", "https") and bool(url.host)
        direct = plain and client._transport_for_url(url) is client._transport
        given = dict(headers.multi_items())
        # The path as httpx2 quotes it: two quotings of one URL would be two resources.
        address = URL(str(url), encoded=True)
        ssl = self._context() if url.scheme == "https" else True
        found = _Prepared(Target.of(address, given, ssl) if direct else None, given, upstream, login, self)
        self._prepared[_key(upstream, outgoing, login)] = found
        if len(self._prepared) > _MOST:
            self._prepared.popitem(last=False)[1].is_registered = False
        return found

    async def post(self, target: Target, headers: Mapping[str, str], content: bytes | None, patience: _Patience) -> Any:
        """The response, once its head is here."""
        slots = self._slots
        if slots is not None and slots.locked():
            await self._enter(slots, patience.pool)
        elif slots is not None:
            await slots.acquire()
        try:
            if target.head is not None and len(content or b"") <= _SMALL:
                return await exchange(
                    self._http, target, content or b"", patience.client, _LIMITS, self._silences, self._leave
                )
            found = await self._posted(target, headers, content, patience)
        except BaseException:
            self._leave()
            raise
        if found is None:
            self._leave()
            raise httpx2.WriteTimeout("")
        response = Response(found.status, found.raw_headers, found.headers, found.content, found.close, self._leave)
        return response.decoded() if "content-encoding" in found.headers else response

    async def _posted(
        self, target: Target, headers: Mapping[str, str], content: bytes | None, patience: _Patience
    ) -> aiohttp.ClientResponse | None:
        """The response to a body that is written piece by piece; None where the server does not take it."""
        try:
            return await self._http.post(
                target.original_url,
                data=_body(content, patience.write),
                headers=headers,
                timeout=patience.client,
                allow_redirects=False,
                ssl=target.ssl,
            )
        except _WriteStalled:
            return None

    async def _enter(self, slots: asyncio.Semaphore, seconds: float | None) -> None:
        try:
            await asyncio.wait_for(slots.acquire(), seconds)
            return
        except TimeoutError:
            pass
        raise crowded(self._limits)

    def _leave(self) -> None:
        if self._slots is not None:
            self._slots.release()

    def _context(self) -> Any:
        if self._tls is None:
            self._tls = httpx2.create_ssl_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


class _Body(aiohttp.Payload):
    """A body that is written piece by piece, each in a time of its own: aiohttp itself would wait without end."""

    def __init__(self, content: bytes, seconds: float | None) -> None:
        super().__init__(content)
        self._size = len(content)
        self._seconds = seconds

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return str(self._value, encoding, errors)

    async def write(self, writer: aiohttp.abc.AbstractStreamWriter) -> None:
        for start in range(0, len(self._value), _SMALL):
            try:
                async with asyncio.timeout(self._seconds):
                    await writer.write(self._value[start : start + _SMALL])
            except BaseException as error:
                # Closing a connection would first write what is not read.
                if (transport := getattr(writer, "transport", None)) is not None:
                    transport.abort()
                if isinstance(error, TimeoutError):
                    raise _WriteStalled from None
                raise


def _body(content: bytes | None, seconds: float | None) -> Any:
    return content if content is None or len(content) <= _SMALL else _Body(content, seconds)


def _key(upstream: Upstream, outgoing: Outgoing, login: tuple[str, str] | None) -> Any:
    query = tuple((name, _hashable(value)) for name, value in outgoing.query.items()) if outgoing.query else ()
    return id(upstream.secrets), outgoing.url, login, tuple(outgoing.headers.items()), query, outgoing.public


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _patience(timeout: Any) -> _Patience:
    if timeout is TIMEOUT:  # the usual one, which never changes
        return _usual()
    return _worked_out(timeout)


@lru_cache(1)
def _usual() -> _Patience:
    return _worked_out(TIMEOUT)


def _worked_out(timeout: Any) -> _Patience:
    phases = (
        httpx2.Timeout(timeout).as_dict() if not isinstance(timeout, (int, float)) else dict.fromkeys(_PHASES, timeout)
    )
    return _limits(*(phases.get(phase) for phase in _PHASES))


_PHASES = ("connect", "read", "write", "pool")


@lru_cache(64)
def _limits(connect: float | None, read: float | None, write: float | None, pool: float | None) -> _Patience:
    # No request waits in aiohttp's own pool, so that `connect` is the time for a name, a connection and TLS.
    return _Patience(pool, write, aiohttp.ClientTimeout(total=None, connect=connect, sock_read=read))
