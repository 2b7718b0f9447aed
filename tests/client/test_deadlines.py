"""A call ends when its total time is over, whatever a server does: drips, stalls, retries, sleeps, streams."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.drivers import OverAiohttp, aiohttp_installed, clients
from client.loopback import HEAD, Exchange, Loopback, event, loopback, piece, streamed, whole
from waiting import limits

PATIENT = 60.0  # of each read: what ends a call before that is its deadline
SOON = 0.1


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as found:
        yield found


def sync(upstream: ul.Upstream, stream: bool, **options: Any) -> str:
    with ul.Client(upstream, **options) as client:
        if not stream:
            return client.responses.create(input="Hi").output_text
        with client.responses.create(input="Hi", stream=True) as events:
            return "".join(events.text_deltas)


def in_loop(upstream: ul.Upstream, stream: bool, *, made: Any = ul.AsyncClient, **options: Any) -> str:
    async def run() -> str:
        async with made(upstream, **options) as client:
            if not stream:
                return (await client.responses.create(input="Hi")).output_text
            async with await client.responses.create(input="Hi", stream=True) as events:
                return "".join([text async for text in events.text_deltas])

    return asyncio.run(run())


def over_aiohttp(upstream: ul.Upstream, stream: bool, **options: Any) -> str:
    return in_loop(upstream, stream, made=OverAiohttp, **options)


@pytest.fixture(autouse=True, scope="module")
def _warm() -> None:
    """What is imported and looked up at the first call is not part of what is measured."""
    with loopback() as found:
        for call in (sync, in_loop):
            for stream in (False, True):
                call(found.upstream(), stream)


def drips_its_head(exchange: Exchange) -> None:
    exchange.send(b"HTTP/1.1 200 X\r\nx: ")
    exchange.drip(b"y")


def drips_its_body(exchange: Exchange) -> None:
    exchange.send(b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n")
    exchange.drip(b" ")


def drips_its_stream(exchange: Exchange) -> None:
    exchange.send(HEAD + piece(event("a")))
    exchange.drip(piece(b": comment\n\n"))


def says_nothing(exchange: Exchange) -> None:
    exchange.stall()


def is_busy(exchange: Exchange) -> None:
    exchange.send(whole({"error": {"message": "busy"}}, status=503))


both = pytest.mark.parametrize("call", [sync, in_loop, pytest.param(over_aiohttp, marks=aiohttp_installed)])


@both
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("answer", [drips_its_head, drips_its_body, says_nothing])
def test_the_total_time_is_all_the_time(
    server: Loopback, call: Callable[..., str], stream: bool, answer: Callable[[Exchange], None]
) -> None:
    server.answer = answer
    start = time.monotonic()
    with pytest.raises(ul.APITimeoutError, match=r"total_timeout=0\.1") as caught:
        call(server.upstream(timeout=PATIENT), stream, total_timeout=SOON)
    assert SOON <= time.monotonic() - start < PATIENT
    assert caught.value.code == "total_timeout" and server.asked <= 1, "nothing is left to try again in"
    server.until(lambda: server.open == 0)


@both
def test_the_stream_is_part_of_the_call(server: Loopback, call: Callable[..., str]) -> None:
    server.answer = drips_its_stream
    with pytest.raises(ul.APITimeoutError, match="total_timeout"):
        call(server.upstream(timeout=PATIENT), True, total_timeout=SOON)
    server.until(lambda: server.open == 0)


@both
def test_sleeps_and_retries_are_part_of_the_call(server: Loopback, call: Callable[..., str]) -> None:
    server.answer = is_busy
    retry = ul.Retry(attempts=1000, base=0.1, cap=0.1, jitter=0)
    for seconds in limits(0.5):
        server.asked, start = 0, time.monotonic()
        with pytest.raises(ul.APIError) as caught:
            call(server.upstream(), False, total_timeout=seconds, retry=retry)
        assert isinstance(caught.value, (ul.OverloadedError, ul.APITimeoutError))
        assert time.monotonic() - start < PATIENT
        if server.asked >= 2:
            break
    assert 2 <= server.asked <= seconds / 0.1 + 1


@both
def test_a_sleep_that_would_be_too_long_is_not_begun(server: Loopback, call: Callable[..., str]) -> None:
    server.answer = lambda exchange: exchange.send(whole({"error": {"message": "slow"}}, status=429, retry_after="25"))
    start = time.monotonic()
    with pytest.raises(ul.RateLimitError):
        call(server.upstream(), False, total_timeout=20)
    assert time.monotonic() - start < 20 and server.asked == 1


def test_a_fallback_gets_what_is_left(server: Loopback) -> None:
    server.answer = lambda exchange: (
        says_nothing(exchange) if b'"model":"slow"' in exchange.body else exchange.send(whole())
    )
    slow = server.upstream(model="slow", timeout=0.1)
    with ul.Client(total_timeout=20, retry=ul.Retry.never()) as client:
        result = client.responses.create(models=[slow, server.upstream(model="quick")], input="Hi")
    assert result.output_text == "ok" and len(result.hops) == 1


def test_it_may_be_said_for_one_call(server: Loopback) -> None:
    server.answer = says_nothing
    with (
        ul.Client(server.upstream(timeout=PATIENT)) as client,
        pytest.raises(ul.APITimeoutError, match=r"total_timeout=0\.1"),
    ):
        client.responses.create(input="Hi", total_timeout=SOON)


@pytest.mark.parametrize("seconds", [0, -1, "5", float("nan"), True])
def test_it_is_a_number_of_seconds(seconds: Any) -> None:
    with pytest.raises(ValueError, match="positive number of seconds"):
        ul.Client(total_timeout=seconds)


def test_all_turns_of_a_tool_loop_are_one_call(server: Loopback) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    calling = {"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    server.answer = lambda exchange: exchange.send(whole(calling)) if exchange.number < 3 else says_nothing(exchange)

    def now() -> str:
        return "noon"

    for seconds in limits(0.5):
        server.asked = 0
        with ul.Client(server.upstream(timeout=PATIENT), total_timeout=seconds) as client:
            with pytest.raises(ul.APITimeoutError):
                client.responses.run(input="Hi", tools=[now])
        if server.asked == 3:
            break
    assert server.asked == 3


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_under_an_sdk_it_is_a_timeout_of_its_http_library(server: Loopback, stream: bool) -> None:
    server.answer = drips_its_head
    body = {"model": "m", "stream": stream, "messages": [{"role": "user", "content": "Hi"}]}
    with ul.http_client(server.upstream(timeout=PATIENT), total_timeout=SOON) as http:
        with pytest.raises(httpx2.ReadTimeout, match="total_timeout"):
            http.post("http://any/v1/chat/completions", json=body)

    async def run() -> None:
        async with ul.async_http_client(server.upstream(timeout=PATIENT), total_timeout=SOON) as http:
            with pytest.raises(httpx2.ReadTimeout, match="total_timeout"):
                await http.post("http://any/v1/chat/completions", json=body)

    asyncio.run(run())


# ---- waiting for a connection ---------------------------------------------------------------------------------------


def endless(exchange: Exchange) -> None:
    exchange.send(streamed(event("a"), end=False))
    exchange.stall()


def test_who_waits_for_a_connection_is_told_of_the_limit(server: Loopback) -> None:
    server.answer = endless
    limits = httpx2.Limits(max_connections=2)
    upstream = server.upstream(timeout=httpx2.Timeout(PATIENT, pool=0.1))
    with ul.Client(upstream, limits=limits, retry=ul.Retry.never()) as client:
        streams = [client.responses.create(input="Hi", stream=True) for _ in range(2)]
        with pytest.raises(ul.APITimeoutError, match=r"all 2 connections .* limits=httpx2.Limits\(max_connections="):
            client.responses.create(input="Hi", stream=True)
        for stream in streams:
            stream.close()
    server.until(lambda: server.open == 0)


@clients
def test_who_waits_for_a_connection_in_an_event_loop_is_told_too(server: Loopback, client_class: Any) -> None:
    server.answer = endless
    limits = httpx2.Limits(max_connections=2)
    upstream = server.upstream(timeout=httpx2.Timeout(PATIENT, pool=0.1))

    async def run() -> None:
        async with client_class(upstream, limits=limits, retry=ul.Retry.never()) as client:
            streams = [await client.responses.create(input="Hi", stream=True) for _ in range(2)]
            with pytest.raises(ul.APITimeoutError, match="all 2 connections"):
                await client.responses.create(input="Hi", stream=True)
            for stream in streams:
                await stream.aclose()
            waiting = await client.responses.create(input="Hi", stream=True)
            await waiting.aclose()

    asyncio.run(run())
    server.until(lambda: server.open == 0)
