"""uvicorn around the application: bounded headers, readiness that ends before the connections do."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame

from .app import Gateway
from .configuration.server_settings import GatewaySettings
from .reload import Reloader
from .responses.unread import Unread

__all__ = ["Server"]

_PIECE = 1 << 18  # bytes that come at once
_STEP = 1 << 14  # bytes that are parsed at once
_QUEUED = 100  # requests that wait for the response to one before, on the same connection
_FRAMES, _LEAST, _FREQUENT = 1_000, 1_024, 10  # of a WebSocket: frames, and more for their bytes, and for each second
_FAREWELL = 1.0  # seconds for the last events of what is not finished
_TICKS = 10  # of uvicorn in a second
_TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class _Joined:
    """The transport of one response: its head leaves together with what follows at once, in one call of the system."""

    __slots__ = ("_cycle", "_head", "_loop", "_transport")

    def __init__(self, cycle: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._cycle, self._transport, self._loop, self._head = cycle, cycle.transport, loop, b""

    def write(self, data: bytes) -> None:
        if self._head:
            data, self._head = self._head + data, b""
            self._cycle.transport = self._transport
            self._transport.write(data)
        else:
            self._head = data
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        if self._head:
            self.write(b"")

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def is_closing(self) -> bool:
        return bool(self._transport.is_closing())


class _Bounded(HttpToolsProtocol):
    """The HTTP protocol of uvicorn with limits for heads: how large (`_bounded`), how many, how long they may take.

    uvicorn has a timeout for connections between two requests alone, which any byte ends. Requests that come behind one
    that is not answered yet it queues without a limit: with each response it reads on, and each head in the queue takes
    a hundred times its size.
    """

    _is_head = _has_rest = False
    _waited = 0.0  # seconds that a client took, for what is awaited of it

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._unread = Unread()
        super().connection_made(transport)

    def timeout_keep_alive_handler(self) -> None:
        """Nothing: `look` has this time too, of the configuration as it is by now."""

    def look(self, seconds: float, settings: GatewaySettings) -> None:
        """Close the connection where its client takes too long; it was looked at `seconds` ago."""
        if self._unread.seconds(self.transport, seconds) >= settings.send_timeout:
            self.transport.abort()  # to close it would be to wait until the client has read the rest
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self._waited = 0.0  # the application's turn, which reads the body too
            return
        self._waited += seconds
        # What is left of a body that was refused is read and dropped, as by nginx (`lingering_time`).
        is_request = self._is_head or self._has_rest
        if self._waited >= (settings.receive_timeout if is_request else settings.keep_alive):
            if self._is_head and not self.transport.is_closing():
                self.transport.write(_TOO_LATE)
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), _STEP):
            if self.transport.is_closing() or self.transport.get_protocol() is not self:
                return  # what follows a handshake before its response is not read, as ever
            super().data_received(data[start : start + _STEP])

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()

    def on_message_begin(self) -> None:
        self._is_head, self._waited = True, 0.0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._is_head, self._has_rest = False, True
        super().on_headers_complete()
        if len(self.pipeline) > _QUEUED:
            self.transport.close()

    def on_message_complete(self) -> None:
        self._has_rest, self._waited = False, 0.0
        super().on_message_complete()


def _bounded(limit: int) -> type[_Bounded]:
    """The HTTP protocol with a limit for the request line and headers, which httptools does not have.

    It holds for the trailers behind a body too, which are dropped: a proxy in front has looked at the headers alone
    (https://www.rfc-editor.org/rfc/rfc9110#section-6.5.1).
    """

    class Bounded(_Bounded):
        _piece = _most = 0  # bytes that came last, and that a head, or what follows a body, can have at most

        def data_received(self, data: bytes) -> None:
            self._piece = len(data)
            self._most += self._piece
            super().data_received(data)
            if self._most > limit:
                self._check()

        def on_message_begin(self) -> None:
            self._most = self._piece
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            if self._most > limit and self._size() > limit:
                self._refuse()
            self._most = 0
            super().on_headers_complete()

        def on_header(self, name: bytes, value: bytes) -> None:
            if self._is_head:
                super().on_header(name, value)

        def on_body(self, body: bytes) -> None:
            self._most = 0
            super().on_body(body)

        def _size(self) -> int:
            return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

        def _check(self) -> None:
            # A line without an end is nowhere yet.
            if self._most > 2 * limit + _PIECE or (self._is_head and self._size() > limit):
                self._refuse()

        def _refuse(self) -> None:
            if not self.transport.is_closing():
                if self._is_head:
                    self.transport.write(_TOO_LARGE)
                self.transport.close()

        def _start_asgi_task(self, cycle: Any, app: Any) -> None:
            cycle.transport = _Joined(cycle, self.loop)
            super()._start_asgi_task(cycle, app)

    return Bounded


class Sockets(WebSocketsSansIOProtocol):
    """The WebSocket protocol of uvicorn, for which a handshake that was refused with a response is complete.

    Otherwise uvicorn logs an error for each one: clients that try WebSocket first would fill the log. A server that
    stops leaves it to the application to close an open socket, which may be in the middle of a response.

    Small frames are bounded, those of control included: each takes as long as two kilobytes of a large one, and memory.
    """

    _count = _size = 0  # frames since the last complete message, and their bytes
    _since = 0.0
    _rest = b""  # behind a message that the application has not received

    def look(self, seconds: float, settings: GatewaySettings) -> None:
        """Close the connection where its client reads nothing; it was looked at `seconds` ago."""
        if self._unread.seconds(self.transport, seconds) >= settings.send_timeout:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        self._rest += data
        while self._rest and not self.transport.is_closing():
            step, self._rest = self._rest[:_STEP], self._rest[_STEP:]
            super().data_received(step)
            if self.read_paused:
                return

    async def receive(self) -> Any:
        message = await super().receive()
        if self._rest and not self.read_paused:
            self.data_received(b"")
        return message

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._since = self.loop.time()
        self._unread = Unread()
        super().connection_made(transport)

    def handle_cont(self, event: Frame) -> None:
        if self._is_counted(event):
            super().handle_cont(event)

    def handle_ping(self) -> None:
        if self._is_counted():
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        if self._is_counted():
            super().handle_pong(event)

    def send_receive_event_to_app(self) -> None:
        self._count = self._size = 0
        self._since = self.loop.time()
        super().send_receive_event_to_app()

    def _is_counted(self, event: Frame | None = None) -> bool:
        """Count a frame; False where it was one too many, and the connection is closed."""
        if self.close_sent:
            return True
        self._count += 1
        self._size += len(event.data) if event is not None else 0
        if self._count > _FRAMES:
            seconds = self.loop.time() - self._since
            if self._count > _FRAMES + self._size // _LEAST + _FREQUENT * seconds:
                self.conn.fail(CloseCode.POLICY_VIOLATION, "too many small frames")
                self.handle_parser_exception()
                return False
        return True

    def shutdown(self) -> None:
        self.close_timeout = _FAREWELL
        if not self.handshake_complete or self.close_sent:
            super().shutdown()

    async def send(self, message: Any) -> None:
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True


@contextmanager
def _unbound() -> Iterator[None]:
    """Raise the error of an address that is not to be had; uvicorn writes it to its log, and ends the process."""
    raised: list[OSError] = []

    def kept(record: logging.LogRecord) -> bool:
        if isinstance(record.msg, OSError):
            raised.append(record.msg)
        return not raised

    log = logging.getLogger("uvicorn.error")
    log.addFilter(kept)
    try:
        yield
    except SystemExit:
        if raised:
            raise raised[0] from None
        raise
    finally:
        log.removeFilter(kept)


class Server(uvicorn.Server):
    """A uvicorn server of one gateway. `ready` is called with the URL once it listens; `reloader` watches its file."""

    def __init__(
        self, gateway: Gateway, ready: Callable[[str], Any] | None = None, reloader: Reloader | None = None
    ) -> None:
        settings = gateway.config.gateway
        config = uvicorn.Config(
            gateway,
            host=settings.host,
            port=settings.port,
            http=_bounded(settings.max_headers),
            ws=Sockets,
            ws_max_size=settings.max_body,
            # Its limit is the decompressed size alone: 32 MB may come of 32 kB, which HTTP refuses (`max_ratio`).
            ws_per_message_deflate=False,
            lifespan="on",
            timeout_keep_alive=settings.keep_alive,
            timeout_graceful_shutdown=max(1, round(settings.graceful)),
            server_header=False,
            access_log=False,
            log_level="warning",
        )
        super().__init__(config)
        self._gateway, self._ready, self._reloader = gateway, ready, reloader
        self._closing: float | None = None  # when the listener closes

    @property
    def url(self) -> str:
        """Where it listens."""
        sock: socket.socket = self.servers[0].sockets[0]
        host, port = sock.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        with _unbound():
            await super().startup(sockets)
        if self.started and self._reloader is not None:
            self._reloader.start()
        if self.started and self._ready is not None:
            self._ready(self.url)

    def handle_exit(self, sig: int, frame: Any) -> None:
        drain = self._gateway.config.gateway.drain
        if drain and sig == signal.SIGTERM and not self._gateway.draining:
            self._closing = time.monotonic() + drain  # load balancers stop sending before the listener closes
            self._captured_signals.append(sig)
        else:  # also a second one
            super().handle_exit(sig, frame)
        self._gateway.draining = True

    async def on_tick(self, counter: int) -> bool:
        if self._closing is not None and time.monotonic() >= self._closing:
            self.should_exit = True
        settings = self._gateway.config.gateway
        every = max(
            1, min(_TICKS, int(_TICKS * min(settings.receive_timeout, settings.send_timeout, settings.keep_alive) / 4))
        )
        if counter % every == 0:
            for each in list(self.server_state.connections):
                if isinstance(each, (_Bounded, Sockets)):
                    each.look(every / _TICKS, settings)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._gateway.draining = self._gateway.closing = True
        if self._reloader is not None:
            self._reloader.stop()
        # uvicorn cancels what is left without a word to the client, so it is ended a moment before.
        most = self.config.timeout_graceful_shutdown or 0
        self._gateway.ends = time.monotonic() + most
        self._gateway.watch.finish()
        last = asyncio.get_running_loop().call_later(most - min(_FAREWELL, most / 4), self._gateway.watch.stop)
        try:
            await super().shutdown(sockets)
        finally:
            last.cancel()
        await asyncio.sleep(0)
