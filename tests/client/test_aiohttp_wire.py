"""The driver over aiohttp sends what httpx2 sends, and shows as little; the faults of a server have the same errors.

What both drivers have in common is in the tests of deadlines, pools and answers that break, which run over both.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import re
import socket
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx2
import pytest

pytest.importorskip("aiohttp")

import unified_llm as ul
from client.asking import PLAIN
from client.drivers import OverAiohttp, clients
from client.loopback import HEAD, STREAM, Exchange, Loopback, event, loopback, piece, streamed, whole
from client.test_law_secrets import CANARY, FAILURES, Handler, assert_clean
from unified_llm.client.connections.aiohttp_wire import AiohttpWire
from unified_llm.client.connections.io import AsyncWire
from unified_llm.client.sending.effects import Outgoing
from unified_llm.client.upstreams.credentials import KeyAuth


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as found:
        yield found


def run(doing: Awaitable[Any]) -> Any:
    async def waited() -> Any:
        return await asyncio.wait_for(doing, 60)

    return asyncio.run(waited())


def asked(wire_class: type[AsyncWire], ask: Any, *upstreams: ul.Upstream) -> Any:
    async def sent() -> Any:
        async with wire_class(retry=ul.Retry.never()) as wire:
            found = await wire.send(ask, upstreams)
            return found if not hasattr(found, "aclose") else b"".join([each async for each in found])

    return run(sent())


# ---- what is sent ---------------------------------------------------------------------------------------------------

SENT: dict[str, dict[str, Any]] = {
    "nothing special": {},
    "a key": {"auth": KeyAuth("x-api-key", "{key}", "sk-one")},
    "a key of a function": {"auth": KeyAuth("authorization", "Bearer {key}", lambda: "sk-two")},
    "no key where none is needed": {"auth": KeyAuth("authorization", env=["NO_SUCH_VARIABLE"], needed=False)},
    "headers": {"headers": {"X-Team": "blue", "User-Agent": "mine/1", "accept-encoding": "identity"}},
    "more headers": {"extra_headers": {"content-type": "application/json; x=1"}},
    "a query": {"query": {"api-version": "2 3", "tag": ["a", "b"], "x": "ä&=/"}},
    "a path": {"path": "deployments/{model}/chat+1", "model": "a b/ä%2F"},
    "a password": {"auth": httpx2.BasicAuth("me", "pass-word")},
}


@pytest.mark.parametrize("given", SENT.values(), ids=SENT)
def test_both_drivers_send_the_same(server: Loopback, given: dict[str, Any]) -> None:
    seen: list[tuple[bytes, list[bytes], bytes]] = []

    def answer(exchange: Exchange) -> None:
        first, *lines = exchange.head.splitlines()
        # A connection of HTTP/1.1 is kept by default.
        headers = sorted(line.lower() for line in lines if line.lower() != b"connection: keep-alive")
        seen.append((first, headers, exchange.body))
        exchange.send(whole())

    server.answer = answer
    for wire_class in (AsyncWire, AiohttpWire):
        assert asked(wire_class, PLAIN, server.upstream(**given)).status == 200
    assert seen[0] == seen[1]


def test_a_large_body_arrives_whole(server: Loopback) -> None:
    sizes: list[int] = []
    server.answer = lambda exchange: (sizes.append(len(exchange.body)), exchange.send(whole()))
    text = "word " * 600_000
    for client_class in (ul.AsyncClient, OverAiohttp):

        async def ask(made: Any = client_class) -> Any:
            async with made(server.upstream()) as client:
                return await client.responses.create(input=text)

        assert run(ask()).output_text == "ok"
    assert sizes[0] == sizes[1] > len(text)


@clients
def test_who_takes_no_body_is_given_up(server: Loopback, client_class: Any) -> None:
    reading = threading.Event()
    server._request = lambda file: reading.wait(60) and None  # type: ignore[method-assign, assignment, misc]

    async def ask() -> None:
        timeout = httpx2.Timeout(30.0, write=0.2)
        async with client_class(server.upstream(timeout=timeout), retry=ul.Retry.never()) as client:
            await client.responses.create(input="x" * 16_000_000)

    try:
        with pytest.raises(ul.APITimeoutError, match="timed out sending the request"):
            run(ask())
    finally:
        reading.set()


def test_a_connection_is_used_again_and_no_cookie_is_kept(server: Loopback) -> None:
    heads: list[bytes] = []

    def answer(exchange: Exchange) -> None:
        heads.append(exchange.head.lower())
        cookie = {"set_cookie": "session=of-a-user; path=/"}
        exchange.send(streamed(*STREAM) if exchange.streams else whole(**cookie))

    server.answer = answer

    async def ask() -> None:
        async with OverAiohttp(server.upstream()) as client:
            for stream in (False, True, False):
                found: Any = await client.responses.create(input="Hi", stream=stream or None)
                if stream:
                    assert [text async for text in found.text_deltas] == ["a", "b"]
            assert server.opened == 1, "one connection, also behind a stream"

    run(ask())
    assert not any(b"cookie" in each for each in heads)
    server.until(lambda: server.open == 0)


@clients
def test_a_redirect_is_not_followed(server: Loopback, client_class: Any) -> None:
    server.answer = lambda exchange: exchange.send(whole(b"", status=307, location="http://127.0.0.1:9/elsewhere"))

    async def ask() -> None:
        async with client_class(server.upstream()) as client:
            await client.responses.create(input="Hi")

    with pytest.raises(ul.APIError, match=r"redirects to http://127\.0\.0\.1:9/elsewhere"):
        run(ask())
    assert server.asked == 1


@clients
def test_a_proxy_of_the_environment_is_used(
    server: Loopback, client_class: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url.removesuffix("/v1"))
    monkeypatch.delenv("NO_PROXY", raising=False)
    heads: list[bytes] = []
    server.answer = lambda exchange: (heads.append(exchange.head), exchange.send(whole()))

    async def ask() -> str:
        async with client_class(server.upstream(base_url="http://192.0.2.1/v1")) as client:
            return str((await client.responses.create(input="Hi")).output_text)

    assert run(ask()) == "ok"
    assert heads[0].startswith(b"POST http://192.0.2.1/v1/chat/completions")


# ---- what comes back ------------------------------------------------------------------------------------------------


@clients
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_body_that_http_has_compressed(server: Loopback, client_class: Any, stream: bool) -> None:
    packed = HEAD.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n")

    def answer(exchange: Exchange) -> None:
        if exchange.streams:
            exchange.send(packed + piece(gzip.compress(b"".join(STREAM))) + b"0\r\n\r\n")
        else:
            body = whole()
            _, _, raw = body.partition(b"\r\n\r\n")
            exchange.send(whole(gzip.compress(raw), content_encoding="gzip"))

    server.answer = answer

    async def ask() -> str:
        async with client_class(server.upstream()) as client:
            found: Any = await client.responses.create(input="Hi", stream=stream or None)
            return "".join([text async for text in found.text_deltas]) if stream else str(found.output_text)

    assert run(ask()) == ("ab" if stream else "ok")
    server.until(lambda: server.open == 0)


@pytest.mark.parametrize("wire_class", [AsyncWire, AiohttpWire])
def test_long_heads_and_hints_before_them(server: Loopback, wire_class: type[AsyncWire]) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
    more = {f"x_more_{number}": "y" * 900 for number in range(40)}
    server.answer = lambda exchange: exchange.send(early + whole(x_long="z" * 30_000, **more))
    found = asked(wire_class, PLAIN, server.upstream())
    assert found.status == 200 and found.headers["x-long"] == "z" * 30_000
    assert "date" in found.headers, "what a date among the headers is counted from"


@clients
def test_the_first_event_does_not_wait_for_the_next(server: Loopback, client_class: Any) -> None:
    goes_on = threading.Event()

    def answer(exchange: Exchange) -> None:
        exchange.send(streamed(event("a"), end=False))
        assert goes_on.wait(60)
        exchange.send(b"".join(map(piece, STREAM[1:])) + b"0\r\n\r\n")

    server.answer = answer

    async def ask() -> list[str]:
        async with client_class(server.upstream()) as client:
            found: Any = await client.responses.create(input="Hi", stream=True)
            heard = []
            async for text in found.text_deltas:
                heard.append(text)
                goes_on.set()
            return heard

    assert run(ask()) == ["a", "b"]


@clients
def test_a_reader_may_take_longer_than_the_server(server: Loopback, client_class: Any) -> None:
    goes_on = threading.Event()

    def answer(exchange: Exchange) -> None:
        exchange.send(streamed(event("a"), end=False))
        assert goes_on.wait(60)
        exchange.send(b"".join(map(piece, STREAM[1:])) + b"0\r\n\r\n")

    server.answer = answer

    async def ask() -> list[str]:
        async with client_class(server.upstream(timeout=1.0)) as client:
            found: Any = await client.responses.create(input="Hi", stream=True)
            heard = []
            async for text in found.text_deltas:
                heard.append(text)
                await asyncio.sleep(0 if goes_on.is_set() else 1.6)
                goes_on.set()
            return heard

    assert run(ask()) == ["a", "b"]


def test_a_key_of_the_environment_may_change(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[bytes] = []
    server.answer = lambda exchange: (heads.append(exchange.head), exchange.send(whole()))
    kept: dict[str, Any] = {}

    async def ask() -> None:
        upstream = server.upstream(auth=KeyAuth("x-api-key", env=["A_KEY_THAT_CHANGES"]))
        url = f"{server.url}/chat/completions"
        outgoing = Outgoing("POST", url, {"x-team": "blue-and-green"}, b"{}", {}, None, "", kept=kept)
        async with AiohttpWire() as wire:
            for key in ("sk-one-one", "sk-one-one", "sk-two-two"):
                monkeypatch.setenv("A_KEY_THAT_CHANGES", key)
                found = await wire._send([], None, upstream, outgoing)
                await found.aread()
                assert upstream.hide(f"{key} blue-and-green") == "[redacted] [redacted]"

    run(ask())
    assert [each.split(b"x-api-key: ")[1][:10] for each in heads] == [b"sk-one-one", b"sk-one-one", b"sk-two-two"]
    assert kept


@clients
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_cancelled_task_hangs_up(server: Loopback, client_class: Any, stream: bool) -> None:
    def answer(exchange: Exchange) -> None:
        if stream:
            exchange.send(streamed(event("a"), end=False))
        exchange.stall()

    server.answer = answer

    async def ask() -> None:
        async with client_class(server.upstream()) as client:

            async def listen() -> None:
                found: Any = await client.responses.create(input="Hi", stream=stream or None)
                async for _ in found:
                    pass

            task = asyncio.create_task(listen())
            while not server.asked:
                await asyncio.sleep(0.01)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            while server.open:
                await asyncio.sleep(0.01)

    run(ask())


# ---- secrets --------------------------------------------------------------------------------------------------------


def over_sockets(handler: Handler) -> Callable[[Exchange], bool | None]:
    """A handler of httpx2's mock transport as an answer over a socket; what it raises cuts the connection."""

    def answer(exchange: Exchange) -> bool | None:
        first, *lines = exchange.head.decode().splitlines()
        headers = [tuple(line.split(": ", 1)) for line in lines]
        request = httpx2.Request("POST", f"http://up.example{first.split(' ')[1]}", headers=headers)  # type: ignore[arg-type]
        try:
            made = handler(request)
            head = f"HTTP/1.1 {made.status_code} X\r\nconnection: close\r\n"
            told = [(name, value) for name, value in made.headers.raw if name.lower() not in _FRAMING]
            exchange.send(head.encode() + b"".join(name + b": " + value + b"\r\n" for name, value in told) + b"\r\n")
            for chunk in made.stream:  # type: ignore[union-attr]
                exchange.send(chunk)
        except httpx2.HTTPError:
            pass
        return False

    return answer


_FRAMING = (b"content-length", b"transfer-encoding", b"connection")
WAYS: dict[str, dict[str, Any]] = {
    "key": {"auth": KeyAuth("authorization", "Bearer {key}", CANARY)},
    "function": {"auth": KeyAuth("x-api-key", "{key}", lambda: CANARY)},
    "header": {"headers": {"X-Team": CANARY}},
    "query": {"query": {"key": CANARY}},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("failure", FAILURES)
def test_no_secret_is_shown(
    server: Loopback, way: str, failure: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    server.answer = over_sockets(FAILURES[failure])

    async def ask(stream: bool, seen: list[Any]) -> None:
        async with OverAiohttp(server.upstream(**WAYS[way]), retry=ul.Retry.never()) as client:
            result: Any = await client.responses.create(input="Hi", stream=stream or None)
            if not stream:
                seen.append([result.dump(), result.losses, result.raw])
                return
            async for each in result:
                seen.append(each.dump())

    for stream in (False, True):
        seen: list[Any] = []
        try:
            run(ask(stream, seen))
        except ul.UnifiedLLMError as error:
            assert error.__cause__ is None and error.__context__ is None
            seen.append(error)
        assert seen
        assert_clean(seen, [record.getMessage() for record in caplog.records], caplog.text, *capsys.readouterr())
    assert server.asked == 2


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
def test_the_error_of_a_connection_has_no_object_of_a_library(server: Loopback, reset: bool) -> None:
    def answer(exchange: Exchange) -> bool:
        exchange.send(streamed(STREAM[0], end=False))
        exchange.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", reset, 0))
        return False

    server.answer = answer

    async def ask(upstream: ul.Upstream) -> None:
        async with OverAiohttp(upstream, retry=ul.Retry.never()) as client:
            found: Any = await client.responses.create(input="Hi", stream=True)
            assert [each async for each in found]

    for base_url in (server.upstream().base_url, "https://127.0.0.1:9", "http://127.0.0.1:9"):
        with pytest.raises(ul.APIError) as caught:
            run(ask(server.upstream(base_url=base_url)))
        assert not re.search(r"[<>]|ssl:|Error\(", str(caught.value))


def test_what_was_prepared_is_prepared_for_one_upstream(server: Loopback) -> None:
    """Requests that are equal but for their upstream register their credentials with their own."""

    async def ask() -> None:
        async with AiohttpWire(retry=ul.Retry.never()) as wire:
            for _ in range(2):
                for _ in range(2):
                    upstream = server.upstream(headers={"x-team": "of-this-team"})
                    await wire.send(PLAIN, [upstream])
                    assert upstream.hide("of-this-team") == "[redacted]"

    run(ask())
