"""Background runs in tests: begun, awaited, read, and over an upstream that a test holds in its hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from client.loopback import HEAD, STREAM, Loopback, event, piece
from gateway.serving import House
from gateway.strict_client import AFTER
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.state import database as stores
from waiting import until


def begun(house: House, gateway: Gateway, path: str, model: str, text: str = "One, two, three.", **more: Any) -> Any:
    body = {"model": model, "input": text, "background": True, **more}
    done = house.ask(gateway, "POST", path, json=body)
    assert done.status_code == 200, done.text
    return done if more.get("stream") else done.json()


def ended(house: House, gateway: Gateway, path: str, id_: str, **options: Any) -> Any:
    """The run once it is done."""
    found: Any = {}

    def done() -> bool:
        found.update(house.ask(gateway, "GET", f"{path}/{id_}", **options).json())
        return found["status"] not in ("queued", "in_progress")

    wait_for(house, done)
    return found


def streamed(house: House, gateway: Gateway, path: str, id_: str, after: Any = None) -> str:
    query = {"stream": "true", **({} if after is None else {AFTER[path]: str(after)})}
    done = house.ask(gateway, "GET", f"{path}/{id_}", params=query)
    assert done.status_code == 200 and done.headers["content-type"] == "text/event-stream", done.text
    return done.text


class Slow:
    """An upstream whose stream goes on when a test lets it."""

    def __init__(self, server: Loopback) -> None:
        self.server, self.go = server, False
        server.answer = self.answer

    def answer(self, exchange: Any) -> Any:
        exchange.send(HEAD + piece(event("Once ")) + piece(event("upon ")))
        while not self.go:
            exchange.sock.settimeout(0.02)
            try:
                if not exchange.sock.recv(1000):
                    return False
            except TimeoutError:
                pass
        exchange.sock.settimeout(None)  # the next request may take its time
        exchange.send(b"".join(map(piece, STREAM)) + b"0\r\n\r\n")


def shown(house: House, gateway: Gateway, id_: str) -> int:
    """How many events of a run are in the log."""

    async def counted() -> int:
        query = sa.select(sa.func.max(stores.segments.c.last)).where(stores.segments.c.run == id_)
        async with gateway.store.connection() as connection:
            return int((await connection.execute(query)).scalar_one_or_none() or 0)

    return house.run(counted())


def wait_for(house: House, true: Callable[[], Any]) -> None:
    until(true, pause=lambda seconds: house.run(asyncio.sleep(seconds)))
