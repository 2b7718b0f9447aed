"""Requests on one connection that do not wait for responses: a few are answered in their order, many are not queued."""

from __future__ import annotations

import contextlib
import socket

from gateway.serving import House, Served, until
from waiting import PATIENCE

PROBE = b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n"


def served(house: House) -> Served:
    return Served(house.gateway(gateway={"listen": "127.0.0.1:0"}))


def connected(found: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(found.url.rpartition(":")[2])), timeout=PATIENCE)


def test_some_requests_are_answered_in_their_order(house: House) -> None:
    unknown = PROBE.replace(b"/health/live", b"/nowhere")
    with served(house) as found, connected(found) as client:
        client.sendall((PROBE + unknown) * 40)
        read = b""
        while read.count(b"HTTP/1.1 ") < 80:
            data = client.recv(65_536)
            assert data, "the connection is closed"
            read += data
    codes = [each[:3] for each in read.split(b"HTTP/1.1 ")[1:]]
    assert codes == [b"200", b"404"] * 40


def test_many_requests_are_not_queued(house: House) -> None:
    """With uvicorn alone each response lets it read on, and queue a quarter of a megabyte of heads more."""
    with served(house) as found, connected(found) as client:
        with contextlib.suppress(OSError):
            for _ in range(200):
                client.sendall(PROBE * 1_000)  # fails once the connection is closed
            raise AssertionError("the connection is still open")
        until(lambda: not found.server.server_state.connections)


def test_reading_goes_on_when_the_queue_is_empty(house: House) -> None:
    with served(house) as found, connected(found) as client:
        for _ in range(20):
            client.sendall(PROBE * 10)
            read = b""
            while read.count(b'{"status":"ok"}') < 10:
                data = client.recv(65_536)
                assert data, "the connection is closed"
                read += data
