"""A request and its response on one of aiohttp's connections.

`ClientSession` makes a request anew from its parts each time: headers, cookies, proxies, a task that writes the body.
That is most of what a small request costs. Here a request is ready but for its body (`Target`), and is written at once
on a connection of aiohttp's pool; the pool, TLS and the parser of responses are aiohttp's.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Container, Mapping
from functools import cached_property
from typing import Any

import aiohttp
import httpx2
from aiohttp.http import HttpProcessingError
from yarl import URL

__all__ = ["Chunks", "Response", "Silences", "Target", "exchange"]

_BUFFER = 1 << 16  # bytes of a response that are held before the server has to wait
_TICK, _FINEST, _SHARE = 1.0, 0.01, 10  # seconds between two looks; a tenth of the shortest time that is waited
# Headers that require another way to write a body.
_OTHER_WAYS = frozenset(("expect", "transfer-encoding", "upgrade"))
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class Target(aiohttp.ClientRequest):
    """A POST request but for its body. `head` are the bytes before the length of the body; None where they are to be
    made by a `ClientSession`."""

    head: bytes | None = None

    @classmethod
    def of(cls, address: URL, headers: Mapping[str, str], ssl: Any) -> Target:
        """The request to an address."""
        loop = asyncio.get_running_loop()
        made = cls("POST", address, headers=headers, loop=loop, ssl=ssl)
        made.headers.popall("content-length", None)
        lines = [f"POST {address.raw_path_qs} HTTP/1.1", *(f"{name}: {text}" for name, text in made.headers.items())]
        if _OTHER_WAYS.isdisjoint(name.lower() for name in made.headers) and not any(map(_CONTROL.search, lines)):
            made.head = "\r\n".join([*lines, "Content-Length: "]).encode()
        return made

    @cached_property
    def connection_key(self) -> Any:
        """The key of a connection in the pool."""
        return super().connection_key


async def exchange(
    session: aiohttp.ClientSession,
    target: Target,
    content: bytes,
    timeout: aiohttp.ClientTimeout,
    limits: Mapping[str, Any],
    silences: Silences,
    free: Callable[[], None],
) -> Response:
    """The response to a request, once its head is here. `limits` are those of its head; `free` is called at its end."""
    connector = session.connector
    if connector is None or target.head is None:
        raise RuntimeError("Session is closed")
    try:
        connection = await connector.connect(target, traces=[], timeout=timeout)
    except TimeoutError as error:
        raise aiohttp.ConnectionTimeoutError(f"Connection timeout to host {target.url}") from error
    except aiohttp.ClientError:
        raise
    except OSError as error:
        raise aiohttp.ClientOSError(*error.args) from error
    silence: Silence | None = None
    try:
        protocol: Any = connection.protocol
        protocol.set_response_params(read_until_eof=True, auto_decompress=False, read_bufsize=_BUFFER, **limits)
        transport = protocol.transport
        if transport is None or transport.is_closing():
            raise aiohttp.ClientConnectionResetError("Cannot write to closing transport")
        transport.write(b"%b%d\r\n\r\n%b" % (target.head, len(content), content))
        if timeout.sock_read:
            silence = Silence(silences, protocol, timeout.sock_read)
        message, payload = await protocol.read()
        while 100 <= message.code < 200 and message.code != 101:
            if silence is not None:
                silence.since = time.monotonic()
            message, payload = await protocol.read()
    except BaseException as error:
        if silence is not None:
            silence.end()
        connection.close()
        if isinstance(error, HttpProcessingError):
            told: Any = {"status": error.code, "message": error.message, "headers": error.headers}
            raise aiohttp.ClientResponseError(target.request_info, (), **told) from error
        raise
    response = Response(message.code, message.raw_headers, message.headers, payload, connection.close, free, silence)

    def complete() -> None:
        if silence is not None:
            silence.end()
        if not protocol.upgraded:
            connection.release()

    payload.on_eof(complete)
    return response.decoded() if "content-encoding" in message.headers else response  # type: ignore[return-value]


class Silence:
    """How long nothing has come of a response that is waited for. `since` is when the wait began, None without one."""

    __slots__ = ("_all", "_protocol", "content", "seconds", "since")

    def __init__(self, silences: Silences, protocol: Any, seconds: float) -> None:
        self._all, self._protocol = silences, protocol
        self.seconds: float = seconds
        self.content: Any = None
        self.since: float | None = time.monotonic()
        silences.add(self)

    def end(self) -> None:
        """Nothing more is waited for."""
        self._all.remove(self)

    def look(self, now: float) -> None:
        """End a wait that takes too long."""
        if self.since is None or now - self.since < self.seconds:
            return
        self.end()
        error = aiohttp.SocketTimeoutError("Timeout on reading data from socket")
        self._protocol.set_exception(error)
        if self.content is not None:
            self.content.set_exception(error)


class Silences:
    """Those of all responses of an event loop, with one timer: one for each response would cost more than its parser.

    A wait ends up to a second late, or up to a tenth of its time.
    """

    def __init__(self) -> None:
        self._all: set[Silence] = set()
        self._tick = _TICK
        self._timer: asyncio.TimerHandle | None = None

    def add(self, silence: Silence) -> None:
        """Watch one more."""
        self._all.add(silence)
        tick = max(silence.seconds / _SHARE, _FINEST)
        if tick < self._tick:
            self._tick = tick
            self.close()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._tick, self._look)

    def remove(self, silence: Silence) -> None:
        """Watch one less."""
        self._all.discard(silence)

    def _look(self) -> None:
        now = time.monotonic()
        for each in tuple(self._all):
            each.look(now)
        self._timer = None
        if self._all:
            self._timer = asyncio.get_running_loop().call_later(self._tick, self._look)
        else:
            self._tick = _TICK

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Headers:
    """Names and values as they came, and the names in any case."""

    __slots__ = ("_names", "raw")

    def __init__(self, raw: list[tuple[bytes, bytes]], names: Container[str]) -> None:
        self.raw: list[tuple[bytes, bytes]] = raw
        self._names = names

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def __setitem__(self, name: str, value: str) -> None:
        self.raw.append((name.encode(), value.encode()))


class Response:
    """What the rules look at of a response; its bytes as they came."""

    __slots__ = ("_close", "_content", "_free", "_silence", "extensions", "headers", "status_code")

    def __init__(
        self,
        status: int,
        raw: Any,
        names: Container[str],
        content: aiohttp.StreamReader,
        close: Callable[[], Any],
        free: Callable[[], None],
        silence: Silence | None = None,
    ) -> None:
        self.status_code: int = status
        self.headers: _Headers = _Headers(list(raw), names)
        self.extensions: Mapping[str, Any] = {}
        self._content, self._close, self._free, self._silence = content, close, free, silence
        if silence is not None:
            silence.content, silence.since = content, None

    def decoded(self) -> httpx2.Response:
        """The same, with a body that HTTP has compressed: httpx2 has the codings, and their errors."""
        return httpx2.Response(
            self.status_code, headers=self.headers.raw, stream=_Coded(self), extensions={"network_stream": self}
        )

    async def aread(self) -> bytes:
        """All of it."""
        if self._content.is_eof():
            return self._content.read_nowait()
        chunks = [chunk async for chunk in Chunks(self)]
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def aclose(self) -> None:
        """Close the connection, unless the response is complete."""
        if self._silence is not None:
            self._silence.end()
        close, self._close = self._close, _nothing
        close()
        free, self._free = self._free, _nothing
        free()


def _nothing() -> None:
    pass


class Chunks:
    """The chunks of a response: whatever is here, or comes next."""

    __slots__ = ("_read", "_silence")

    def __init__(self, response: Response) -> None:
        self._read, self._silence = response._content.readany, response._silence

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        silence = self._silence
        if silence is None:
            chunk = await self._read()
        else:
            silence.since = time.monotonic()
            chunk = await self._read()
            silence.since = None
        if not chunk:
            raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        """Nothing is left to unwind."""


class _Coded(httpx2.AsyncByteStream):
    """The bytes of a response for httpx2."""

    def __init__(self, response: Response) -> None:
        self._response = response

    def __aiter__(self) -> AsyncIterator[bytes]:
        return Chunks(self._response)

    async def aclose(self) -> None:
        await self._response.aclose()
