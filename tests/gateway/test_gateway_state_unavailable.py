"""Stored responses while the database is away: what is answered, and what is refused."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gateway.serving import PROTOCOLS, House
from gateway.stored_responses import INTERACTIONS, PREVIOUS, RESPONSES, create
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.state.store import Store, StoreUnavailable
from unified_llm.gateway.state.stored_rows import Stored


def broken(house: House, monkeypatch: pytest.MonkeyPatch, method: str = "_commit", **state: Any) -> Gateway:
    """A gateway whose database has gone away after it was open, or fails in a way that nothing foresees."""
    gateway = house.gateway(state={"url": "sqlite://", **state})
    create(house, gateway, RESPONSES, "openai-chat", "Before.")

    async def fails(self: Store, *given: Any) -> Any:
        raise StoreUnavailable("gone") if method == "_commit" else RuntimeError("a defect")

    monkeypatch.setattr(Store, method, fails)
    monkeypatch.setattr(Store, "is_away", property(lambda self: method == "_commit"))
    return gateway


@pytest.mark.parametrize("url", ["sqlite:////nowhere/at/all.db", "postgresql://user@127.0.0.1:1/none"])
def test_a_gateway_starts_without_its_database(house: House, url: str) -> None:
    gateway = house.gateway(state={"url": url})
    for protocol in PROTOCOLS:
        body = {"model": protocol, "messages": [{"role": "user", "content": "Hi"}]}
        assert house.ask(gateway, "POST", "/v1/chat/completions", json=body).status_code == 200
    made = create(house, gateway, RESPONSES, "openai-chat", "Hi")
    assert made["store"] is False and house.ask(gateway, "GET", f"{RESPONSES}/{made['id']}").status_code == 503


@pytest.mark.parametrize("path", [RESPONSES, INTERACTIONS])
def test_a_response_that_is_stored_is_not_called_unstored(house: House, path: str) -> None:
    body = {"model": "anthropic-messages", "input": "Good morning.", "store": True}
    done = house.ask(house.gateway(), "POST", path, json=body)
    losses = json.loads(done.headers["x-unified-llm-losses"])
    assert ["/store", "state.store", "emulated", "source"] in losses["first"]
    assert losses["count"] == len(losses["first"])


failures = pytest.mark.parametrize("method", ["_commit", "put"])


@failures
@pytest.mark.parametrize("path", [RESPONSES, INTERACTIONS])
def test_a_response_that_could_not_be_stored_says_so(
    house: House, monkeypatch: pytest.MonkeyPatch, path: str, method: str
) -> None:
    gateway = broken(house, monkeypatch, method)
    body = {"model": "anthropic-messages", "input": "Good morning.", "store": True}
    done = house.ask(gateway, "POST", path, json=body)
    assert done.status_code == 200 and done.json()["store"] is False
    losses = json.loads(done.headers["x-unified-llm-losses"])
    assert [each for each in losses["first"] if each[0] == "/store"] == [["/store", "state.store", "lost", "source"]]
    said = house.ask(gateway, "POST", path, json={**body, "stream": True}).text
    events = [json.loads(line[6:]) for line in said.split("\n") if line.startswith("data: {")]
    last = [each for each in events if each.get("type", each.get("event_type", "")).endswith("completed")][-1]
    assert (last.get("response") or last["interaction"])["store"] is False
    if method == "put":
        return
    for verb, where, more in (
        ("GET", f"{path}/x", {}),
        ("DELETE", f"{path}/x", {}),
        ("POST", path, {"json": {**body, PREVIOUS[path]: "x"}}),
    ):
        done = house.ask(gateway, verb, where, **more)
        assert done.status_code == 503 and done.headers["retry-after"] == "5" and done.json()["error"]["message"]


def test_an_id_that_cannot_be_looked_up_is_another_one(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = broken(house, monkeypatch, "has")
    made = create(house, gateway, RESPONSES, "openai-responses", "Hi")
    assert house.ask(gateway, "GET", f"{RESPONSES}/{made['id']}").json()["id"] == made["id"]


@failures
def test_state_can_be_required(house: House, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    gateway = broken(house, monkeypatch, method, required=True)
    body = {"model": "anthropic-messages", "input": "Good morning."}
    assert house.ask(gateway, "POST", RESPONSES, json=body).status_code == 503
    said = house.ask(gateway, "POST", RESPONSES, json={**body, "stream": True}).text
    assert "response.completed" not in said and "unavailable" in said
    assert house.ask(gateway, "POST", RESPONSES, json={**body, "store": False}).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
def test_nothing_is_complete_before_it_is_stored(house: House, monkeypatch: pytest.MonkeyPatch, stream: bool) -> None:
    told: list[bytes] = []
    before: list[bytes] = []
    put = Store.put

    async def watched(self: Store, row: Stored) -> None:
        await asyncio.sleep(0.05)
        before.append(b"".join(told))
        await put(self, row)

    monkeypatch.setattr(Store, "put", watched)
    gateway = house.gateway()
    body = json.dumps({"model": "anthropic-messages", "input": "One, two.", "stream": stream}).encode()
    given = [{"type": "http.request", "body": body}]

    async def receive() -> Any:
        return given.pop() if given else await asyncio.sleep(60)

    async def send(message: Any) -> None:
        told.append(message.get("body", b""))

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": RESPONSES, "query_string": b"", "headers": headers}
    house.run(gateway(scope, receive, send))
    (seen,), whole = before, b"".join(told)
    assert (b"output_text.delta" in seen) == stream and b"response.completed" not in seen
    assert (b"response.completed" if stream else b'"completed"') in whole


def test_the_database_is_told_no_data_in_the_log(house: House, caplog: pytest.LogCaptureFixture) -> None:
    gateway = house.gateway(state={"url": "postgresql://user:s3cret@127.0.0.1:1/none"})
    create(house, gateway, RESPONSES, "openai-chat", "A private question.")
    assert "unavailable" in caplog.text and "s3cret" not in caplog.text and "private question" not in caplog.text
