"""A server on this machine, in a thread of its own, for tests over real sockets: asyncio with h11, one write a frame.

It serves a loopback address or the path of a Unix socket and nothing else; it is not a production server.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from types import TracebackType
from typing import Any, Self

import h11

from oracles.mounts import close
from oracles.service import Broken, Service

_GLANCE = 0.01  # seconds between two looks at whether the client is still there


class Server:
    """A running server; `url` is where. Leaving the `with` block, or `close()`, ends it and every connection."""

    def __init__(self, service: Service, host: str = "127.0.0.1", port: int = 0, uds: str | None = None) -> None:
        self.service, self.host, self.port, self.uds = service, host, port, uds
        self.url = "http://localhost"
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._started = threading.Event()
        self._problems: list[OSError] = []
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="oracle", daemon=True)
        self._thread.start()
        self._started.wait()
        for problem in self._problems:
            self._thread.join()
            raise problem

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it. Doing so twice is not an error."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()
            self._started.set()

    async def _serve(self) -> None:
        try:
            if self.uds is not None:
                server: asyncio.AbstractServer = await asyncio.start_unix_server(self._connected, self.uds)
            else:
                server = await asyncio.start_server(self._connected, self.host, self.port)
                self.port = server.sockets[0].getsockname()[1]
                self.url = f"http://{self.host}:{self.port}"
        except OSError as problem:
            self._problems.append(problem)
            return
        self._started.set()
        await self._stop.wait()
        server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with contextlib.suppress(ConnectionError, h11.RemoteProtocolError, asyncio.CancelledError):
                connection = h11.Connection(h11.SERVER)
                while await self._exchange(connection, reader, writer):
                    connection.start_next_cycle()
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(
        self, connection: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """One request and its reply; whether the connection takes another."""
        request, data = None, b""
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                if connection.they_are_waiting_for_100_continue:
                    writer.write(connection.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
                connection.receive_data(await reader.read(65_536))
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                data += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                return False
        assert request is not None
        path, _, query = request.target.decode("latin-1").partition("?")
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers}
        reply = self.service.handle(request.method.decode(), path, query, headers, data)
        plain = [(name, value) for name, value in reply.headers.items()]
        writer.write(connection.send(h11.Response(status_code=reply.status, headers=plain)) or b"")
        try:
            for chunk in reply.body:
                if isinstance(chunk, float):
                    await _slept(chunk, reader)
                elif request.method != b"HEAD":
                    writer.write(connection.send(h11.Data(data=chunk)) or b"")
                    await writer.drain()
                if _gone(reader):
                    raise ConnectionResetError("the client is gone")
        except Broken:
            # A reset, not an end: nothing lingers.
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return False
        finally:
            close(reply)
        writer.write(connection.send(h11.EndOfMessage()) or b"")
        await writer.drain()
        return connection.our_state is h11.DONE and connection.their_state is h11.DONE


def _gone(reader: asyncio.StreamReader) -> bool:
    """Whether the client has hung up, or its end was reset."""
    return reader.at_eof() or reader.exception() is not None


async def _slept(seconds: float, reader: asyncio.StreamReader) -> None:
    """Wait, but not for a client that has hung up meanwhile: reading on is the only way to notice that."""
    left = seconds
    while left > 0 and not _gone(reader):
        await asyncio.sleep(min(left, _GLANCE))
        left -= _GLANCE
