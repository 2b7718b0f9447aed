"""Frames of a WebSocket that cost more than they are long: bounded, and others have their turn between messages."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from gateway.serving import House, Served, until
from waiting import PATIENCE

HANDSHAKE = (
    b"GET /v1/responses HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: " + base64.b64encode(b"0123456789abcdef") + b"\r\n\r\n"
)
TEXT, MORE, PING, PONG = 1, 0, 9, 10


def frame(kind: int, data: bytes, *, last: bool = True) -> bytes:
    """A frame of a client; its mask changes nothing (https://www.rfc-editor.org/rfc/rfc6455#section-5.2)."""
    length = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big")
    return bytes([(0x80 if last else 0) | kind]) + length + b"\0\0\0\0" + data


@contextmanager
def connected(house: House) -> Iterator[tuple[Served, socket.socket]]:
    with Served(house.gateway(gateway={"listen": "127.0.0.1:0"})) as served:
        with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2])), timeout=PATIENCE) as client:
            client.sendall(HANDSHAKE)
            read = b""
            while b"\r\n\r\n" not in read:
                read += client.recv(65_536)
            assert read.startswith(b"HTTP/1.1 101 ")
            yield served, client


@pytest.mark.parametrize(
    "data",
    [
        frame(PING, b"") * 40_000,
        frame(PONG, b"x") * 40_000,
        frame(TEXT, b"", last=False) + frame(MORE, b"", last=False) * 40_000,
        frame(TEXT, b"x", last=False) + frame(MORE, b"ab", last=False) * 40_000,
    ],
    ids=["pings", "pongs", "empty fragments", "small fragments"],
)
def test_many_small_frames_close_the_connection(house: House, data: bytes) -> None:
    with connected(house) as (served, client):
        read = bytearray()
        with suppress(OSError):
            client.sendall(data)
        with suppress(OSError):
            while piece := client.recv(65_536):
                read += piece
        # The code of the close frame is there, unless the connection was reset before it was read.
        assert not read or b"too many small frames" in read
        until(lambda: not served.server.server_state.connections)


def test_a_message_in_large_fragments_is_answered(house: House) -> None:
    text = json.dumps({"type": "response.create", "model": "local/echo", "input": "x" * 3_000_000}).encode()
    pieces = [text[start : start + 2_000] for start in range(0, len(text), 2_000)]
    with connected(house) as (_, client):
        client.sendall(frame(TEXT, pieces[0], last=False))
        for piece in pieces[1:-1]:
            client.sendall(frame(MORE, piece, last=False) + frame(PING, b""))
        client.sendall(frame(MORE, pieces[-1]))
        read = b""
        while b'"type":"response.completed"' not in read:
            piece = client.recv(1 << 20)
            assert piece, "the connection is closed"
            read = read[-100:] + piece


def test_messages_that_are_there_are_answered_in_their_order(house: House) -> None:
    """More than are parsed at once: the rest waits until the application has received those before."""
    with connected(house) as (_, client):
        client.sendall(b"".join(frame(TEXT, b'{"type":"unknown-%04d"}' % number) for number in range(2_000)))
        read, found = b"", 0
        while found < 2_000:
            piece = client.recv(1 << 20)
            assert piece, "the connection is closed"
            read += piece
            while (b"'unknown-%04d'" % found) in read:
                read = read.partition(b"'unknown-%04d'" % found)[2]
                found += 1


def test_others_have_their_turn_between_messages(house: House) -> None:
    gateway = house.gateway()
    messages: list[Mapping[str, Any]] = [
        {"type": "websocket.connect"},
        *({"type": "websocket.receive", "text": "{"} for _ in range(500)),
        {"type": "websocket.disconnect"},
    ]
    turns = 0

    async def receive() -> Mapping[str, Any]:
        return messages.pop(0)

    async def send(message: Mapping[str, Any]) -> None:
        """Takes any message at once, as a connection does that is fast enough."""

    async def beside() -> None:
        nonlocal turns
        while len(messages) > 1:
            turns += 1
            await asyncio.sleep(0)

    async def run() -> None:
        headers = [(b"host", b"localhost")]
        scope = {"type": "websocket", "path": "/v1/responses", "query_string": b"", "headers": headers}
        other = asyncio.ensure_future(beside())
        await gateway(scope, receive, send)
        await other

    house.run(run())
    assert turns > 400
