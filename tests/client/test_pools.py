"""The connections of a client under threads, forks, several event loops, and callers that drop what they opened."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sys
import threading
import warnings
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx2
import pytest
import trio

import unified_llm as ul
from client.drivers import clients
from client.loopback import Exchange, Loopback, event, loopback, streamed, whole

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


def in_asyncio(function: Callable[[], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        return await asyncio.wait_for(function(), 60)

    return asyncio.run(run())


def in_trio(function: Callable[[], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        with trio.fail_after(60):
            return await function()

    return trio.run(run)


loops = pytest.mark.parametrize("run", [in_asyncio, in_trio])


# ---- cookies --------------------------------------------------------------------------------------------------------


def setting_cookies(server: Loopback) -> list[bytes]:
    heads: list[bytes] = []

    def answer(exchange: Exchange) -> None:
        heads.append(exchange.head.lower())
        exchange.send(whole(set_cookie="seen=1; Path=/"))

    server.answer = answer
    return heads


def test_cookies_of_a_provider_are_not_sent_back(server: Loopback) -> None:
    heads = setting_cookies(server)
    with ul.Client(server.upstream()) as client:
        for _ in range(2):
            client.responses.create(input="Hi")
    assert len(heads) == 2 and not any(b"\ncookie:" in head for head in heads)


@clients
def test_cookies_of_a_provider_are_not_sent_back_in_an_event_loop(server: Loopback, client_class: Any) -> None:
    heads = setting_cookies(server)

    async def ask() -> None:
        async with client_class(server.upstream()) as client:
            for _ in range(2):
                await client.responses.create(input="Hi")

    in_asyncio(ask)
    assert len(heads) == 2 and not any(b"\ncookie:" in head for head in heads)


# ---- threads --------------------------------------------------------------------------------------------------------


def test_threads_that_start_at_once_share_one_pool(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[httpx2.Client] = []
    plain = httpx2.Client.__init__

    def noted(self: httpx2.Client, *args: Any, **options: Any) -> None:
        made.append(self)
        plain(self, *args, **options)

    monkeypatch.setattr(httpx2.Client, "__init__", noted)
    client = ul.Client(server.upstream())
    client.responses.input_tokens.count(input="Hi")  # imports
    together = threading.Barrier(32)
    said: list[Any] = []

    def work() -> None:
        together.wait(30)
        said.append(client.responses.create(input="Hi").output_text)
        with client.responses.create(input="Hi", stream=True) as events:
            said.append("".join(events.text_deltas))

    threads = [threading.Thread(target=work) for _ in range(32)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(interval)
    assert sorted(said) == ["ab"] * 32 + ["ok"] * 32
    assert len(made) == 1
    client.close()
    assert made[0].is_closed
    server.until(lambda: server.open == 0)


def test_a_client_that_is_dropped_closes_its_connections(server: Loopback) -> None:
    client = ul.Client(server.upstream())
    client.responses.create(input="Hi")
    assert server.open == 1
    del client
    gc.collect()
    server.until(lambda: server.open == 0)


def test_a_stream_outlives_its_client(server: Loopback) -> None:
    events = ul.Client(server.upstream()).responses.create(input="Hi", stream=True)
    gc.collect()
    assert "".join(events.text_deltas) == "ab"

    async def run() -> str:
        events = await ul.AsyncClient(server.upstream()).responses.create(input="Hi", stream=True)
        gc.collect()
        return "".join([text async for text in events.text_deltas])

    assert asyncio.run(run()) == "ab"


# ---- forks ----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_process_has_connections_of_its_own(server: Loopback) -> None:
    client = ul.Client(server.upstream())
    client.responses.create(input="Hi")
    before = server.opened
    child = os.fork()
    if child == 0:
        failed = 1
        with contextlib.suppress(BaseException):
            failed = int(client.responses.create(input="Hi").output_text != "ok")
        os._exit(failed)
    assert os.waitpid(child, 0)[1] == 0
    assert server.opened == before + 1, "it asked over a connection of its own"
    assert client.responses.create(input="Hi").output_text == "ok"
    assert server.opened == before + 1, "and left that of its parent alone"
    client.close()


# ---- event loops ----------------------------------------------------------------------------------------------------


@clients
@loops
def test_one_client_in_one_loop_after_the_other(server: Loopback, run: Callable[..., Any], client_class: Any) -> None:
    client = client_class(server.upstream())

    async def ask() -> str:
        async with await client.responses.create(input="Hi", stream=True) as events:
            assert [text async for text in events.text_deltas] == ["a", "b"]
        return (await client.responses.create(input="Hi")).output_text

    assert [run(ask) for _ in range(3)] == ["ok"] * 3
    server.until(lambda: server.open == 0, "the connections of a loop are closed at its end")


@loops
def test_one_transport_in_one_loop_after_the_other(server: Loopback, run: Callable[..., Any]) -> None:
    http = ul.async_http_client(server.upstream())

    async def ask() -> int:
        status: int = (await http.post("http://any/v1/messages", json=BODY)).status_code
        return status

    assert [run(ask) for _ in range(3)] == [200] * 3
    server.until(lambda: server.open == 0)


@clients
def test_one_client_in_several_loops_at_once(server: Loopback, client_class: Any) -> None:
    client = client_class(server.upstream())
    said: list[Any] = []

    async def ask() -> list[str]:
        return [(await client.responses.create(input="Hi")).output_text for _ in range(5)]

    threads = [threading.Thread(target=lambda run=run: said.append(run(ask))) for run in (in_asyncio, in_trio) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert said == [["ok"] * 5] * 4


@loops
def test_tools_run_in_any_event_loop(run: Callable[..., Any]) -> None:
    async def slow(city: str) -> str:
        return f"{city}!"

    def quick(city: str) -> str:
        return f"{city}?"

    asked = "[[call slow city=Oslo]] [[call quick city=Rome]] [[then]] [[results]]"

    async def ask() -> str:
        async with ul.AsyncClient(model="local/echo") as client:
            return (await client.responses.run(input=asked, tools=[slow, quick])).output_text

    assert run(ask) == "slow: Oslo!\nquick: Rome?"


@loops
def test_an_error_of_a_hook_is_raised_as_it_is(run: Callable[..., Any]) -> None:
    def one() -> str:
        return "1"

    def two() -> str:
        return "2"

    class Refusing(ul.Hooks):
        def before_call(self, call: Any, context: Any) -> Any:
            raise LookupError("not this one")

    async def ask() -> None:
        async with ul.AsyncClient(model="local/echo") as client:
            await client.responses.run(input="[[call one]] [[call two]]", tools=[one, two], hooks=Refusing())

    with pytest.raises(LookupError, match="not this one"):
        run(ask)


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
