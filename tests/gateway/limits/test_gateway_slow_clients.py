"""Clients that send a request byte by byte, and pause for ever: each wait has an end, a body that comes does not."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import tracemalloc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from client.loopback import STREAM, event, loopback, piece, streamed, whole
from gateway.serving import House, Served, until
from unified_llm.gateway.configuration.config import GatewaySettings
from unified_llm.gateway.requests.body import read_body
from unified_llm.gateway.requests.pace import LOOKS, Pace
from unified_llm.gateway.responses.replies import Refusal
from unified_llm.gateway.responses.unread import Unread
from waiting import PATIENCE

KEYS = {"blue": {"sha256": hashlib.sha256(b"blue").hexdigest()}}
HEAD = "POST {} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
PATHS = ["/v1/chat/completions", "/v1/messages", "/v1beta/models/echo:generateContent", "/v1/files"]


@contextmanager
def connected(house: House, keys: Any = None, **settings: Any) -> Iterator[tuple[Served, socket.socket]]:
    given = {"listen": "127.0.0.1:0", "receive_timeout": 0.4, **settings}
    made = house.gateway({"m": house.upstream("openai-chat")}, gateway=given, **({"keys": keys} if keys else {}))
    with Served(made) as served:
        with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2])), timeout=PATIENCE) as client:
            yield served, client


def rest(client: socket.socket) -> bytes:
    """What the gateway sends until it closes the connection."""
    return b"".join(iter(lambda: client.recv(65_536), b""))


@pytest.mark.parametrize("begun", [b"", b'{"model"', b"\x1f\x8b\x08"])
@pytest.mark.parametrize("path", PATHS)
def test_a_body_that_pauses_is_refused_in_the_words_of_its_api(house: House, path: str, begun: bytes) -> None:
    coding = "content-encoding: gzip\r\n" if begun[:1] == b"\x1f" else ""
    with connected(house, receive_timeout=0.2) as (served, client):
        client.sendall((HEAD.format(path) + coding + "content-length: 1000\r\n\r\n").encode() + begun)
        head, _, body = rest(client).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408 ") and b"connection: close" in head.lower()
        assert b"x-should-retry: false" not in head.lower()
        assert "too slowly" in json.loads(body)["error"]["message"]
        until(lambda: served.gateway.busy == 0)


def test_a_body_byte_by_byte_is_refused(house: House) -> None:
    with connected(house, receive_rate=1_000_000) as (_, client):
        client.sendall((HEAD.format("/v1/messages") + "content-length: 100000\r\n\r\n").encode())
        client.settimeout(0.02)
        found = b""
        while not found:
            client.sendall(b" ")
            try:
                found = client.recv(65_536)
            except TimeoutError:
                continue
        assert found.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("first", [b"", b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n"])
def test_a_head_that_does_not_end_is_refused(house: House, first: bytes) -> None:
    with connected(house) as (served, client):
        if first:
            client.sendall(first)
            until(lambda: b"200 OK" in client.recv(65_536))
        client.sendall(b"GET / HTTP/1.1\r\nhost: loc")
        assert rest(client).startswith(b"HTTP/1.1 408 ")
        until(lambda: not served.server.server_state.connections)


def test_a_head_byte_by_byte_is_refused(house: House) -> None:
    with connected(house) as (_, client):
        client.sendall(b"GET / HTTP/1.1\r\nx-long: ")
        client.settimeout(0.02)
        found = b""
        while not found:
            client.sendall(b"x")
            try:
                found = client.recv(65_536)
            except TimeoutError:
                continue
        assert found.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("sent", [b"", b"\r\n"])
def test_a_connection_on_which_nothing_is_requested_is_closed(house: House, sent: bytes) -> None:
    with connected(house, keep_alive=1, receive_timeout=PATIENCE) as (served, client):
        client.sendall(sent)
        assert rest(client) == b""
        until(lambda: not served.server.server_state.connections)


def test_what_is_left_of_a_refused_body_has_an_end(house: House) -> None:
    """Bytes behind the response are dropped; with uvicorn alone each of them prolongs the connection."""
    with connected(house, KEYS) as (_, client):
        client.sendall((HEAD.format("/v1/messages") + "content-length: 100000\r\n\r\n").encode())
        until(lambda: b" 401 " in client.recv(65_536))
        with pytest.raises(OSError):  # the connection is closed
            client.settimeout(0.02)
            while True:
                client.sendall(b" ")
                try:
                    if client.recv(65_536) == b"":
                        raise OSError
                except TimeoutError:
                    continue


def test_a_response_that_takes_longer_is_not_cut_off(house: House) -> None:
    """The clock is that of the client: what it waits for does not count."""
    with loopback() as up:
        go: list[bool] = []

        def answer(exchange: Any) -> Any:
            until(lambda: go)
            exchange.send(whole())

        up.answer = answer
        given = {"listen": "127.0.0.1:0", "receive_timeout": 0.1, "keep_alive": 1}
        with Served(house.gateway({"m": up.upstream()}, gateway=given)) as served:
            port = int(served.url.rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
                body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).encode()
                head = HEAD.format("/v1/chat/completions") + f"content-length: {len(body)}\r\n\r\n"
                client.sendall(head.encode() + body)
                until(lambda: up.asked)
                client.settimeout(0.5)  # five times as long as a body may pause
                with pytest.raises(TimeoutError):
                    client.recv(1)
                go.append(True)
                client.settimeout(PATIENCE)
                assert client.recv(100).startswith(b"HTTP/1.1 ")


@contextmanager
def pouring(house: House, **settings: Any) -> Iterator[Served]:
    """A gateway over an upstream that sends more in a stream than any buffer holds."""
    with loopback() as up:

        def answer(exchange: Any) -> Any:
            exchange.send(streamed(STREAM[0], end=False))
            with suppress(OSError):  # the gateway closes the connection, as it was left
                for _ in range(2_000):
                    exchange.send(piece(event("x" * 50_000)))
                exchange.send(b"".join(map(piece, STREAM[1:])) + b"0\r\n\r\n")

        up.answer = answer
        given = {"listen": "127.0.0.1:0", **settings}
        with Served(house.gateway({"m": up.upstream(), "other": up.upstream()}, gateway=given)) as served:
            yield served


def begun(served: Served, model: str) -> socket.socket:
    """A client that has requested a stream."""
    client = socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2])), timeout=PATIENCE)
    body = json.dumps({"model": model, "stream": True, "messages": [{"role": "user", "content": "Hi"}]}).encode()
    client.sendall((HEAD.format("/v1/chat/completions") + f"content-length: {len(body)}\r\n\r\n").encode() + body)
    return client


@pytest.mark.parametrize("model", ["m", "other/x"], ids=["as it is", "converted"])
def test_a_client_that_reads_nothing_loses_its_connection(house: House, model: str) -> None:
    with pouring(house, send_timeout=0.5) as served:
        with begun(served, model):
            until(lambda: served.gateway.busy == 1)
            until(lambda: served.gateway.busy == 0 and not served.server.server_state.connections)


@pytest.mark.parametrize(
    ("left", "seconds"),
    [
        ([0, 0, 0], 0.0),
        ([90, 90, 90, 90], 3.0),  # behind the limit, where nothing is added
        ([80, 90, 95, 95], 3.0),  # but a ping
        ([90, 90, 900, 900], 1.0),  # it was read, and much was sent
        ([10, 10, 10], 2.0),  # before it, as at the end of a response
        ([10, 20, 30], 0.0),  # more was sent, and some of it may have been read
        ([90, 90, 89], 0.0),  # a byte was read
        ([90, 90, 0, 90, 90], 1.0),
    ],
)
def test_a_client_that_reads_slowly_keeps_it(left: list[int], seconds: float) -> None:
    class Transport:
        def __init__(self, size: int) -> None:
            self.size = size

        def get_write_buffer_size(self) -> int:
            return self.size

        def get_write_buffer_limits(self) -> tuple[int, int]:
            return 20, 70

    unread = Unread()
    for size in left:
        found = unread.seconds(Transport(size), 1.0)  # type: ignore[arg-type]
    assert found == seconds


def test_a_websocket_whose_client_reads_nothing_is_closed(house: House) -> None:
    connect = pytest.importorskip("websockets.sync.client").connect
    with pouring(house, send_timeout=0.5) as served:
        with connect(f"ws{served.url[4:]}/v1/responses", max_queue=1, close_timeout=0.1) as socket_:
            socket_.send(json.dumps({"type": "response.create", "model": "m", "input": "Hi"}))
            until(lambda: not served.server.server_state.connections)


def test_the_time_between_requests_is_that_of_the_configuration_as_it_is_now(house: House) -> None:
    with connected(house, keep_alive=1) as (served, client):
        now = served.gateway.config
        settings = now.gateway.model_copy(update={"keep_alive": 60})
        served.gateway.config = now.model_copy(update={"gateway": settings})
        client.sendall(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n")
        until(lambda: b"200 OK" in client.recv(65_536))
        client.settimeout(2.5)
        with pytest.raises(TimeoutError):
            client.recv(1)


def too_slow_after(rate: float, pieces: list[int]) -> int | None:
    """The number of the look at which a body that comes in these pieces is too slow."""
    pace, taken = Pace(rate), 0
    for number, size in enumerate(pieces, 1):
        taken += size
        if pace.is_too_slow(taken):
            return number
    return None


def test_the_pace_of_a_body() -> None:
    assert too_slow_after(0, [0] * 100) == LOOKS, "silent from the beginning"
    assert too_slow_after(0, [5, *[0] * 100]) == 1 + LOOKS, "silent from then on"
    assert too_slow_after(0, [1, *[0] * (LOOKS - 1)] * 100) is None, "a pause that is allowed, again and again"
    assert too_slow_after(3, [1] * 1_000) is not None, "below the rate, and never silent"
    assert too_slow_after(3, [1] * LOOKS) is None, "the first time is for free"
    assert too_slow_after(3, [3] * 100_000) is None, "a large upload that makes progress"
    assert too_slow_after(3, [3_000, *[1] * 1_000]) is None, "the average counts"


def read(pieces: Iterator[bytes], **settings: Any) -> bytes:
    """The body that comes in these pieces."""

    async def receive() -> Mapping[str, Any]:
        piece = next(pieces, None)
        return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

    return asyncio.run(read_body(receive, "", "", GatewaySettings(**settings)))


def test_small_pieces_are_not_many_times_as_large_in_memory() -> None:
    tracemalloc.start()
    try:
        body = read(b"%03d" % (number % 1_000) for number in range(100_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(body) == 300_000
    assert peak < 3_000_000, "ten times the body; a list of the pieces is twice as large as that"


def test_a_body_above_its_limit_is_refused_before_it_is_complete() -> None:
    with pytest.raises(Refusal, match="larger than 50 bytes"):
        read((b"x" * 10 for _ in iter(int, 1)), max_body=50)
