"""Upstreams that give one id to several responses: each response is stored, fetched and continued as itself."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from gateway.background import begun, ended
from gateway.serving import PROTOCOLS, House
from oracles import mounts
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.state.store import Store

RESPONSES, INTERACTIONS = "/v1/responses", "/v1beta/interactions"
PREVIOUS = {RESPONSES: "previous_response_id", INTERACTIONS: "previous_interaction_id"}
OWN = {RESPONSES: ("openai-responses", "resp_1"), INTERACTIONS: ("google-interactions", "v1_1")}
NO_FILE = {"type": "input_file", "file_id": "file-\0"}
paths = pytest.mark.parametrize("path", [RESPONSES, INTERACTIONS])
forms = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


class _Repeated(httpx2.AsyncByteStream):
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self.inner:
            chunk = re.sub(rb"\b(resp_|v1_|chatcmpl-)[0-9a-f]{24}\b", rb"\g<1>1", chunk)
            chunk = re.sub(
                rb'"id":\s*"msg_[0-9a-f]{24}",\s*"type":\s*"message"', rb'"id":"msg_1","type":"message"', chunk
            )
            yield re.sub(rb'"responseId":\s*"[0-9a-f]{24}"', rb'"responseId":"1"', chunk)

    async def aclose(self) -> None:
        await self.inner.aclose()


class Repeating(httpx2.AsyncBaseTransport):
    """A transport whose responses all have the same id."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        found = await self.inner.handle_async_request(request)
        headers = [each for each in found.headers.raw if each[0].lower() != b"content-length"]
        return httpx2.Response(found.status_code, headers=headers, stream=_Repeated(found.stream))


def gateway_of(house: House, **tables: Any) -> Gateway:
    client = httpx2.AsyncClient(transport=Repeating(mounts.transport(house.service)))
    return house.gateway({each: house.upstream(each, async_http_client=client) for each in PROTOCOLS}, **tables)


def ids_in(text: str) -> set[str]:
    """The ids of the response in the events of a stream."""
    data = [json.loads(line[5:]) for line in text.splitlines() if line.startswith("data: {")]
    nodes = [node for each in data for node in each.values() if isinstance(node, dict) and "usage" in node]
    named = {each[name] for each in data for name in ("response_id", "interaction_id") if name in each}
    return {node["id"] for node in nodes} | named


def asked(house: House, gateway: Gateway, path: str, model: str, text: str, stream: bool, **more: Any) -> str:
    """The id of a response; each event of a stream that has an id has this one."""
    body = {"model": model, "input": text, "stream": stream, **more}
    done = house.ask(gateway, "POST", path, json=body)
    assert done.status_code == 200, done.text
    if not stream:
        return str(done.json()["id"])
    (id_,) = ids_in(done.text)
    return id_


def check(house: House, gateway: Gateway, path: str, model: str, one: str, two: str) -> None:
    """Both responses are there, and each is continued with its own history."""
    assert one != two
    for id_, text, other in ((one, "The first.", "The second."), (two, "The second.", "The first.")):
        found = house.ask(gateway, "GET", f"{path}/{id_}")
        assert found.json()["id"] == id_ and text in found.text and other not in found.text
        house.service.seen.clear()
        asked(house, gateway, path, model, "On.", False, **{PREVIOUS[path]: id_})
        (seen,) = house.seen
        assert text in json.dumps(seen.body) and other not in json.dumps(seen.body)


@forms
@paths
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_responses_of_one_id_are_different_ones(house: House, protocol: str, path: str, stream: bool) -> None:
    gateway = gateway_of(house)
    one, two = (asked(house, gateway, path, protocol, f"The {each}.", stream) for each in ("first", "second"))
    known, own = OWN[path]
    if protocol == known:
        assert one == own, "an id of the client's own protocol stays where it is new"
    else:
        own = r"(resp_)?(chatcmpl-|resp_|msg_|v1_)?1_[0-9a-f]{16}"
        assert re.fullmatch(own, one), "with the id that its upstream knows it by"
    check(house, gateway, path, protocol, one, two)


@forms
@paths
def test_responses_that_are_made_at_the_same_time(house: House, database: str, path: str, stream: bool) -> None:
    gateway = gateway_of(house, state={"url": database})
    model = OWN[path][0]

    async def both() -> list[httpx2.Response]:
        async with house.http(gateway) as http:
            texts = ("The first.", "The second.")
            bodies = [{"model": model, "input": each, "stream": stream} for each in texts]
            return await asyncio.gather(*(http.post(path, json=each) for each in bodies))

    replies = house.run(both())
    one, two = (ids_in(each.text) if stream else {each.json()["id"]} for each in replies)
    assert OWN[path][1] in one | two and len(one) == len(two) == 1
    check(house, gateway, path, model, one.pop(), two.pop())


class _Odd(_Repeated):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in super().__aiter__():
            yield chunk.replace(b'"resp_1"', rb'"resp_\u0000"')


@forms
def test_an_id_that_no_row_can_have_is_replaced(
    house: House, database: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}._Repeated", _Odd)
    gateway = gateway_of(house, state={"url": database})
    id_ = asked(house, gateway, RESPONSES, "openai-responses", "Hi.", stream)
    assert re.fullmatch("resp_[0-9a-f]{32}", id_)
    assert house.ask(gateway, "GET", f"{RESPONSES}/{id_}").json()["id"] == id_


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses"])
def test_runs_in_the_background(house: House, protocol: str) -> None:
    gateway = gateway_of(house)
    ids = [begun(house, gateway, RESPONSES, protocol, f"The {each}.")["id"] for each in ("first", "second")]
    for each in ids:
        ended(house, gateway, RESPONSES, each)
    check(house, gateway, RESPONSES, protocol, *ids)
    before = asked(house, gateway, RESPONSES, protocol, "The third.", False)
    run = begun(house, gateway, RESPONSES, protocol, "On.", previous_response_id=before)["id"]
    done = ended(house, gateway, RESPONSES, run)
    assert (done["id"], done["previous_response_id"]) in ((run, before), (run, None))
    assert "The third." in json.dumps(house.seen[-1].body)


@forms
def test_two_nodes_store_one_id_once(
    house: House, database: str, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    """Neither of them has seen the other's response when it sends its client the id."""
    nodes = [gateway_of(house, state={"url": database}) for _ in range(2)]

    async def unseen(self: Store, tenant: str, id_: str) -> bool:
        return False

    monkeypatch.setattr(Store, "has", unseen)
    assert asked(house, nodes[0], RESPONSES, "openai-responses", "The first.", stream) == "resp_1"
    done = house.ask(
        nodes[1], "POST", RESPONSES, json={"model": "openai-responses", "input": "The second.", "stream": stream}
    )
    assert done.status_code == 200 and re.search(r'"store": ?false', done.text)
    assert stream or "state.store" in done.headers["x-unified-llm-losses"]
    found = house.ask(nodes[1], "GET", f"{RESPONSES}/resp_1")
    assert "The first." in found.text and "The second." not in found.text


def test_an_id_that_has_expired_does_not_come_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = gateway_of(house, state={"url": "sqlite://", "keep": "1h"})
    one = asked(house, gateway, RESPONSES, "openai-responses", "The first.", True)
    later = time.time() + 7_200
    monkeypatch.setattr(time, "time", lambda: later)
    two = asked(house, gateway, RESPONSES, "openai-responses", "The second.", True)
    assert one != two and "The second." in house.ask(gateway, "GET", f"{RESPONSES}/{two}").text


@pytest.mark.parametrize("store", [True, False])
def test_what_is_not_stored_has_the_id_of_its_upstream(house: House, store: bool) -> None:
    gateway = gateway_of(house)
    named = asked(house, gateway, RESPONSES, "anthropic-messages", "Hi", False, store=store)
    assert (named == "resp_msg_1") is not store


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/v1/responses/%00", None, 404),
        ("DELETE", "/v1/responses/%00", None, 404),
        ("POST", "/v1/responses/%00/cancel", None, 404),
        ("GET", "/v1/responses/%00/input_items", None, 404),
        ("GET", "/v1beta/interactions/%00", None, 404),
        ("GET", "/v1/files/file-%00", None, 404),
        ("DELETE", "/v1/files/file-%00", None, 404),
        ("GET", "/v1beta/cachedContents/%00", None, 404),
        ("GET", "/v1/conversations/conv_%00", None, 404),
        ("GET", "/v1/conversations/conv_%00/items", None, 404),
        ("POST", "/v1/responses", {"input": "Hi", "conversation": "conv_\0"}, 404),
        ("POST", "/v1/responses", {"input": "Hi", "previous_response_id": "\0"}, 400),
        ("POST", "/v1/responses", {"input": [{"role": "user", "content": [NO_FILE]}]}, 404),
    ],
)
def test_an_id_that_no_row_can_have_is_unknown(
    house: House, database: str, method: str, path: str, body: dict[str, Any] | None, status: int,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """PostgreSQL refuses NUL in a text; that is not a database that is away."""
    gateway = house.gateway(state={"url": database})
    content = {} if body is None else {"json": {"model": "openai-chat", **body}}
    done = house.ask(gateway, method, path, **content)
    assert done.status_code == status and "not found" in done.text, done.text
    assert not house.seen and "unavailable" not in caplog.text
