"""A server of raw sockets on this machine that answers as a test requires: late, in drips, cut off, or not at all."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import unified_llm as ul
from waiting import PATIENCE, until

ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
}


def event(text: str = "", finish: str | None = None) -> bytes:
    delta = {"content": text} if text else {}
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    data = {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps(data).encode() + b"\n\n"


STREAM = (event("a"), event("b"), event(finish="stop"), b"data: [DONE]\n\n")


def whole(body: bytes | Any = ANSWER, *, status: int = 200, kind: str = "application/json", **headers: str) -> bytes:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(raw)}\r\n{more}\r\n".encode() + raw


HEAD = b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def piece(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def streamed(*events: bytes, end: bool = True) -> bytes:
    return HEAD + b"".join(map(piece, events)) + (b"0\r\n\r\n" if end else b"")


class Exchange:
    """One request, and the connection to answer it on."""

    def __init__(self, server: Loopback, sock: socket.socket, number: int, head: bytes, body: bytes) -> None:
        self.server, self.sock, self.number, self.head, self.body = server, sock, number, head, body

    @property
    def streams(self) -> bool:
        return b'"stream":true' in self.body

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def drip(self, data: bytes, every: float = 0.02) -> None:
        """One byte after the other, again and again, until the client hangs up or the server stops."""
        while not self.server.stopping.wait(every):
            self.send(data[:1])
            data = data[1:] + data[:1]

    def stall(self) -> None:
        """Send nothing more, until the client hangs up or the server stops."""
        self.sock.settimeout(0.05)
        while not self.server.stopping.is_set():
            try:
                if not self.sock.recv(1000):
                    return
            except TimeoutError:
                pass


Answering = Callable[[Exchange], Any]


def held(ready: Callable[[], Any]) -> Answering:
    """Streams the first event at once, and the others when `ready` is true."""

    def answer(exchange: Exchange) -> None:
        exchange.send(streamed(STREAM[0], end=False))
        until(ready)
        exchange.send(b"".join(map(piece, STREAM[1:])) + b"0\r\n\r\n")

    return answer


class Loopback:
    """The server; `answer` is called with each request, and the connection is closed if it returns False."""

    def __init__(self) -> None:
        self.answer: Answering = lambda exchange: exchange.send(streamed(*STREAM) if exchange.streams else whole())
        self.stopping = threading.Event()
        self.asked = 0
        self.opened = 0
        self.open = 0
        self._lock = threading.Lock()
        self._socks: set[socket.socket] = set()
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def upstream(self, **fields: Any) -> ul.Upstream:
        return ul.Upstream(
            **{"protocol": "openai-chat", "base_url": self.url, "model": "m", "timeout": PATIENCE, **fields}
        )

    def until(self, true: Callable[[], Any], what: str = "") -> None:
        """Wait for something to be so."""
        until(true, lambda: what or f"{self.open} connections are still open")

    def _accept(self) -> None:
        while not self.stopping.is_set():
            try:
                sock, _ = self._listening.accept()
            except OSError:
                return
            with self._lock:
                self.opened += 1
                self.open += 1
                self._socks.add(sock)
            self._threads.append(threading.Thread(target=self._serve, args=(sock,)))
            self._threads[-1].start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            with sock, sock.makefile("rb") as file:
                while (request := self._request(file)) is not None:
                    with self._lock:
                        self.asked += 1
                        number = self.asked
                    if self.answer(Exchange(self, sock, number, *request)) is False:
                        return
        except OSError:
            pass  # the client hung up
        finally:
            with self._lock:
                self.open -= 1
                self._socks.discard(sock)

    @staticmethod
    def _request(file: Any) -> tuple[bytes, bytes] | None:
        head, length = b"", 0
        while (line := file.readline()) not in (b"\r\n", b""):
            head += line
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return (head, file.read(length)) if head else None

    def stop(self) -> None:
        self.stopping.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._lock:
            for sock in self._socks:
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


@contextmanager
def loopback() -> Iterator[Loopback]:
    server = Loopback()
    try:
        yield server
    finally:
        server.stop()
