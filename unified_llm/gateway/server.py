"""uvicorn around the application: bounded headers, readiness that ends before the connections do."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from .app import Gateway
from .reload import Reloader

__all__ = ["Server"]

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


def _bounded(limit: int) -> type[HttpToolsProtocol]:
    """The HTTP protocol of uvicorn with a limit for the request line and headers, which httptools does not have."""

    class Bounded(HttpToolsProtocol):
        _head = 0

        def on_message_begin(self) -> None:
            self._head = 0
            super().on_message_begin()

        def on_url(self, url: bytes) -> None:
            self._count(len(url))
            super().on_url(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            self._count(len(name) + len(value))
            super().on_header(name, value)

        def _count(self, size: int) -> None:
            self._head += size
            if self._head > limit and not self.transport.is_closing():
                self.transport.write(_TOO_LARGE)
                self.transport.close()

    return Bounded


class Sockets(WebSocketsSansIOProtocol):
    """The WebSocket protocol of uvicorn, for which a handshake that was refused with a response is complete.

    Otherwise uvicorn logs an error for each one: clients that try WebSocket first would fill the log.
    """

    async def send(self, message: Any) -> None:
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True


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
            lifespan="on",
            timeout_graceful_shutdown=max(1, round(settings.graceful)),
            server_header=False,
            access_log=False,
            log_level="warning",
        )
        super().__init__(config)
        self._gateway, self._ready, self._reloader = gateway, ready, reloader

    @property
    def url(self) -> str:
        """Where it listens."""
        sock: socket.socket = self.servers[0].sockets[0]
        host, port = sock.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self._reloader is not None:
            self._reloader.start()
        if self.started and self._ready is not None:
            self._ready(self.url)

    def handle_exit(self, sig: int, frame: Any) -> None:
        self._gateway.draining = True  # load balancers stop sending before the listener closes
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._gateway.draining = True
        if self._reloader is not None:
            self._reloader.stop()
        await super().shutdown(sockets)
        await asyncio.sleep(0)
