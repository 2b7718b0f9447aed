"""The connections of a client under threads, forks, and several event loops."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.drivers import clients
from client.event_loops import in_asyncio, in_trio, loops
from client.loopback import Exchange, Loopback, loopback, whole

BODY = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as found:
        yield found


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
