"""Bodies in a coding that they are not in: an error, and nothing is left behind that Python could only print."""

from __future__ import annotations

import asyncio
import gc
import gzip
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

import unified_llm as ul
from client.drivers import clients
from client.loopback import Exchange, loopback, whole

NEVER = ul.Retry(attempts=1)


@pytest.fixture(autouse=True, scope="module")
def _young() -> None:
    """The collector is called often here, and need not look at what was there before."""
    gc.collect()
    gc.freeze()


def coded(body: bytes, coding: str, kind: str = "application/json") -> Callable[[Exchange], None]:
    """A body in several chunks, so that what decodes it fails while more of it is on its way."""

    def answer(exchange: Exchange) -> None:
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-encoding: {coding}\r\n"
        exchange.send(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)

    return answer


async def refused(client: Any, stream: bool) -> None:
    with pytest.raises(ul.ServerError, match="decoding the response failed"):
        answer = await client.responses.create(input="Hi", stream=stream)
        async for _ in answer:
            pass


def in_asyncio(function: Callable[[], Awaitable[Any]]) -> None:
    asyncio.run(function())  # type: ignore[arg-type]


@clients
@pytest.mark.parametrize("run", [in_asyncio, trio.run])
@pytest.mark.parametrize("coding", ["gzip", "deflate"])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_what_cannot_be_decoded_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    run: Any,
    coding: str,
    kind: str,
    client_class: Any,
) -> None:
    printed: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda event: printed.append(event.exc_value))
    with loopback() as server:
        server.answer = coded(b"\x00 garbage " * 20_000, coding, kind)

        async def calls() -> None:
            async with client_class(server.upstream(), retry=NEVER) as client:
                await refused(client, stream=kind == "text/event-stream")
            gc.collect()

        run(calls)
        gc.collect()
        server.until(lambda: server.open == 0)
    assert (printed, caplog.text) == ([], "")


@clients
def test_a_coded_body_is_decoded(client_class: Any) -> None:
    with loopback() as server:
        server.answer = coded(gzip.compress(whole().partition(b"\r\n\r\n")[2]), "gzip")

        async def calls() -> None:
            async with client_class(server.upstream(), retry=NEVER) as client:
                assert (await client.responses.create(input="Hi")).output_text == "ok"

        asyncio.run(calls())
