"""What one key may hold with WebSockets: connections, messages that wait, and responses at the same time."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx2
import pytest

pytest.importorskip("websockets")

from client.loopback import Loopback, loopback
from gateway.background import Slow
from gateway.serving import House, Served, until
from gateway.test_gateway_quota import BLUE, keys
from gateway.test_gateway_socket import ENDS, Socket, opened, status_of, text_of
from gateway.test_gateway_telemetry import LOG, lines
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.routes import websocket


def test_each_key_has_so_many_connections(house: House) -> None:
    settings = {"listen": "127.0.0.1:0", "max_sockets": 2}
    gateway = house.gateway(gateway=settings, keys=keys(blue={}, red={}), telemetry=LOG)
    with Served(gateway) as served, ExitStack() as stack:
        first, _ = (stack.enter_context(opened(served, additional_headers=BLUE)) for _ in range(2))
        status, body = status_of(served, additional_headers=BLUE)
        assert (status, body["error"]["code"]) == (429, "too_many_connections")
        with opened(served, additional_headers={"Authorization": "Bearer red"}):
            assert gateway.sockets == {"blue": 2, "red": 1}
        first.raw.close()
        until(lambda: gateway.sockets == {"blue": 1})
        with opened(served, additional_headers=BLUE) as again:
            assert text_of(again.ask(model="openai-chat", input="Hi")) == "Hi"
    (refused,) = (each for each in lines(gateway) if each["status"] == 429)
    assert refused["key"] == "blue" and refused["error"] == "too_many_connections"


@contextmanager
def held(house: House, **tables: Any) -> Iterator[tuple[Gateway, Slow, Loopback, Served]]:
    """A gateway over an upstream that answers when a test lets it."""
    with loopback() as up:
        slow = Slow(up)
        settings = {"listen": "127.0.0.1:0", "max_body": 1_000_000}
        gateway = house.gateway({"it": up.upstream(timeout=600)}, gateway=settings, **tables)
        with Served(gateway) as served:
            yield gateway, slow, up, served


def ends(socket: Socket, count: int) -> list[dict[str, Any]]:
    """The last events of so many responses."""
    found: list[dict[str, Any]] = []
    while len(found) < count:
        event = json.loads(socket.raw.recv(timeout=20))
        found += [event] if event["type"] in ENDS else []
    return found


@pytest.mark.parametrize(("bound", "size"), [("count", 10), ("bytes", 300_000)])
def test_what_waits_on_a_connection_is_bounded(
    house: House, bound: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket, "_MOST", 3)
    with held(house, telemetry=LOG) as (gateway, slow, _, served), opened(served) as socket:
        for number in range(4):
            socket.send(model="it", input=f"{number} " + "x" * size)
        (refused,) = ends(socket, 1)
        assert (refused["status"], refused["error"]["code"]) == (429, "too_many_requests")
        slow.go = True
        assert [text_of(each) for each in ends(socket, 3)] == ["Once upon ab"] * 3, "the others are answered"
        assert text_of(socket.ask(model="it", input="Hi")) == "Once upon ab", "and there is room again"
        until(lambda: len(lines(gateway)) == 5)
    assert lines(gateway)[0]["error"] == "too_many_requests" and lines(gateway)[0]["status"] == 429


def test_messages_wait_unread_and_leave_nothing(house: House) -> None:
    """A message as objects is several times as large as its bytes."""
    said = [{"role": "user", "content": "a mark that is found among all objects"}]

    def parsed() -> int:
        gc.collect()
        return sum(type(each) is dict and each.get("input") == said for each in gc.get_objects())

    with held(house) as (_, slow, up, served), opened(served) as socket:
        for _ in range(5):
            socket.send(model="it", input=said)
        until(lambda: up.asked)
        running = parsed()
        for _ in range(5):
            socket.send(model="it", input=said)
        socket.raw.send("{")
        assert ends(socket, 1)[0]["error"]["code"] == "invalid_json", "all messages were read"
        assert parsed() <= running
        slow.go = True
        assert all(text_of(each) for each in ends(socket, 10))
        until(lambda: not parsed())


def test_a_response_on_a_connection_is_one_of_the_keys_parallel_requests(house: House) -> None:
    rules = keys(blue={"limits": ["1 parallel"]})
    with held(house, keys=rules) as (gateway, slow, up, served), opened(served, additional_headers=BLUE) as socket:
        socket.send(model="it", input="One.", stream_id="a")
        until(lambda: up.asked)
        socket.send(model="it", input="Two.", stream_id="b")
        (refused,) = ends(socket, 1)
        assert (refused["status"], refused["error"]["code"], refused["stream_id"]) == (429, "limit_exceeded", "b")
        url = f"{served.url}/v1/responses"
        assert httpx2.post(url, json={"model": "it", "input": "Three."}, headers=BLUE).status_code == 429
        slow.go = True
        assert text_of(ends(socket, 1)[0]) == "Once upon ab"
        until(lambda: not gateway.quota._parallel)


@pytest.mark.parametrize(("size", "code"), [(200_000, None), (600_000, "previous_response_not_found")])
def test_messages_that_wait_share_their_room_with_what_is_remembered(house: House, size: int, code: str | None) -> None:
    with held(house) as (_, slow, _, served), opened(served) as socket:
        slow.go = True
        first = socket.ask(model="it", input="x" * 500_000, store=False)["response"]["id"]
        slow.go = False
        socket.send(model="it", input="y" * size, store=False)
        socket.send(model="it", input="Hi", previous_response_id=first, store=False, stream_id="another")
        if code is not None:
            (refused,) = ends(socket, 1)
            assert refused["error"]["code"] == code, "forgotten while the large message is still answered"
        slow.go = True
        found = ends(socket, 2 if code is None else 1)
        assert {each["type"] for each in found} == {"response.completed"}


def test_a_large_response_is_remembered_after_its_request(house: House) -> None:
    """A request does not take the room of the response that it was answered with."""
    with held(house) as (_, slow, _, served), opened(served) as socket:
        slow.go = True
        first = socket.ask(model="it", input="x" * 700_000, store=False)["response"]["id"]
        assert text_of(socket.ask(model="it", input="Hi", previous_response_id=first, store=False)) == "Once upon ab"


def test_messages_are_not_compressed(house: House) -> None:
    gateway = house.gateway(gateway={"listen": "127.0.0.1:0"})
    with Served(gateway) as served, opened(served, compression="deflate") as socket:
        assert socket.raw.protocol.extensions == []
        assert text_of(socket.ask(model="openai-chat", input="Hi")) == "Hi"
