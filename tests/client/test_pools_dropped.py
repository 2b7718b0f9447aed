"""The connections of streams that callers drop, and of clients that are closed during use."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
import trio

import unified_llm as ul
from client.drivers import clients
from client.event_loops import in_asyncio, in_trio, loops
from client.loopback import Exchange, Loopback, event, loopback, streamed

BODY = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture(autouse=True, scope="module")
def _young() -> None:
    """The collector is called often here, and need not look at what was there before."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as found:
        yield found


def endless(exchange: Exchange) -> None:
    exchange.send(streamed(event("a"), end=False))
    exchange.stall()


# ---- what is dropped ------------------------------------------------------------------------------------------------


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What Python could only print."""
    found: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", found.append)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", lambda *args, **_: found.append(args[0]))
        yield found
    gc.collect()
    assert found == []


@pytest.mark.parametrize("read", [0, 1])
def test_a_stream_that_is_dropped_closes_its_connection(server: Loopback, unraisable: list[Any], read: int) -> None:
    server.answer = endless
    with ul.Client(server.upstream()) as client:
        for _ in range(3):
            events = client.responses.create(input="Hi", stream=True)
            for _ in range(read):
                next(events)
            del events
        gc.collect()
        server.until(lambda: server.open == 0)


def test_a_stream_that_is_dropped_under_an_sdk(server: Loopback, unraisable: list[Any]) -> None:
    server.answer = endless
    with ul.http_client(server.upstream()) as http:
        response = http.send(
            http.build_request("POST", "http://any/v1/messages", json={**BODY, "stream": True}), stream=True
        )
        next(response.iter_bytes())
        del response
        gc.collect()
        server.until(lambda: server.open == 0)


@clients
@pytest.mark.parametrize("read", [0, 1])
@pytest.mark.parametrize("collected", [True, False], ids=["collected", "at the end of the loop"])
def test_a_stream_that_is_dropped_in_an_event_loop(
    server: Loopback,
    unraisable: list[Any],
    caplog: pytest.LogCaptureFixture,
    read: int,
    collected: bool,
    client_class: Any,
) -> None:
    server.answer = endless

    async def run() -> None:
        client = client_class(server.upstream())
        for _ in range(3):
            events = await client.responses.create(input="Hi", stream=True)
            for _ in range(read):
                await anext(events)
            del events
        while collected and server.open:
            gc.collect()
            await asyncio.sleep(0.01)

    in_asyncio(run)
    gc.collect()
    server.until(lambda: server.open == 0)
    assert caplog.text == "", "asyncio logs what a task raised that is not awaited"


@clients
def test_a_run_that_is_dropped_in_an_event_loop(
    server: Loopback, unraisable: list[Any], caplog: pytest.LogCaptureFixture, client_class: Any
) -> None:
    server.answer = endless

    async def run() -> None:
        client = client_class(server.upstream())
        events = await client.responses.run(input="Hi", stream=True)
        await anext(events)
        del events
        while server.open:
            gc.collect()
            await asyncio.sleep(0.01)

    in_asyncio(run)
    assert caplog.text == ""


@clients
def test_a_stream_that_outlives_its_loop(
    server: Loopback, unraisable: list[Any], caplog: pytest.LogCaptureFixture, client_class: Any
) -> None:
    server.answer = endless

    async def run() -> Any:
        events = await client_class(server.upstream()).responses.create(input="Hi", stream=True)
        await anext(events)
        return events

    events = in_asyncio(run)
    del events
    gc.collect()
    server.until(lambda: server.open == 0)
    assert caplog.text == ""


def test_a_stream_that_is_dropped_in_trio(server: Loopback) -> None:
    server.answer = endless

    async def run() -> None:
        client = ul.AsyncClient(server.upstream())
        events = await client.responses.create(input="Hi", stream=True)
        await anext(events)
        del events
        while server.open:
            gc.collect()
            await trio.sleep(0.01)

    in_trio(run)


# ---- closing during use ---------------------------------------------------------------------------------------------


def test_closing_during_use_is_a_typed_error(server: Loopback) -> None:
    server.answer = endless
    client = ul.Client(server.upstream())
    events = client.responses.create(input="Hi", stream=True)
    reading = threading.Event()
    failure: list[Any] = []

    def read() -> None:
        try:
            for _ in events:
                reading.set()
        except Exception as error:
            failure.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    assert reading.wait(30)
    client.close()
    server.stopping.set()  # a read that has begun ends with the connection
    thread.join(30)
    assert len(failure) == 1 and isinstance(failure[0], (ul.StreamInterruptedError, ul.APIConnectionError))
    with pytest.raises(ul.APIConnectionError, match="closed") as caught:
        client.responses.create(input="Hi")
    assert caught.value.code == "client_closed"
    events.close()


@clients
@loops
def test_closing_during_use_in_an_event_loop(server: Loopback, run: Callable[..., Any], client_class: Any) -> None:
    server.answer = endless

    async def close() -> None:
        client = client_class(server.upstream())
        events = await client.responses.create(input="Hi", stream=True)
        await anext(events)
        await client.aclose()
        with pytest.raises((ul.StreamInterruptedError, ul.APIConnectionError)):
            async for _ in events:
                pass
        with pytest.raises(ul.APIConnectionError) as caught:
            await client.responses.create(input="Hi")
        assert caught.value.code == "client_closed"

    run(close)


def test_a_closed_pool_of_the_callers_own(server: Loopback) -> None:
    own = httpx2.Client()
    own.close()
    with pytest.raises(ul.APIConnectionError, match="closed"):
        ul.Client(server.upstream(), http_client=own).responses.create(input="Hi")
    with ul.http_client(server.upstream(), http_client=own) as http:
        answer = http.post("http://any/v1/messages", json=BODY)
    assert answer.status_code >= 500 and "closed" in answer.text
    assert answer.headers["x-should-retry"] == "false", "the SDK would only meet it again"


def test_a_client_may_be_entered_again(server: Loopback) -> None:
    client = ul.Client(server.upstream())
    for _ in range(2):
        with client:
            assert client.responses.create(input="Hi").output_text == "ok"
    server.until(lambda: server.open == 0)


@pytest.mark.parametrize("leaves", ["closed", "left"])
def test_a_closed_client_reaches_no_upstream_in_this_process_either(leaves: str) -> None:
    client = ul.Client(model="local/echo")
    if leaves == "closed":
        client.close()
    else:
        with client:
            assert client.responses.create(input="Hi").output_text == "Hi"
    with pytest.raises(ul.APIConnectionError) as caught:
        client.responses.create(input="Hi")
    assert caught.value.code == "client_closed"

    async def main() -> None:
        other = ul.AsyncClient(model="local/echo")
        await other.aclose()
        with pytest.raises(ul.APIConnectionError) as late:
            await other.responses.create(input="Hi")
        assert late.value.code == "client_closed"

    asyncio.run(main())
