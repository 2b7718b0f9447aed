"""Runs in the background: executed into a log, followed from any place, cancelled, taken over from a lost node."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
import sqlalchemy as sa
from google import genai

from client.loopback import loopback
from gateway.background import Slow, begun, ended, shown, streamed, wait_for
from gateway.serving import PROTOCOLS, URL, House
from gateway.strict_client import INTERACTIONS, RESPONSES, check_numbers, events_of
from unified_llm.gateway.access.callers import new_key
from unified_llm.gateway.state import database as stores
from unified_llm.gateway.state.files import FileStore
from unified_llm.gateway.state.runs import rows
from unified_llm.gateway.state.store import StoreUnavailable
from upstreams import Canned, chunk, frames
from upstreams import streamed as sse

surfaces = pytest.mark.parametrize("path", [RESPONSES, INTERACTIONS])


# ---- execution ------------------------------------------------------------------------------------------------------


@surfaces
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_over_every_upstream(house: House, path: str, protocol: str) -> None:
    gateway = house.gateway()
    queued = begun(house, gateway, path, protocol)
    assert queued["status"] == "in_progress" and queued["id"]
    done = ended(house, gateway, path, queued["id"])
    assert done["status"] == "completed" and done["id"] == queued["id"] and "One, two, three." in json.dumps(done)
    text = streamed(house, gateway, path, queued["id"])
    check_numbers(path, queued["id"], events_of(text))
    assert "background" not in house.seen[0].body and house.seen[0].protocol == protocol
    previous = {RESPONSES: "previous_response_id", INTERACTIONS: "previous_interaction_id"}[path]
    body = {"model": protocol, "input": "And then?", previous: queued["id"]}
    assert house.ask(gateway, "POST", path, json=body).status_code == 200
    assert "One, two, three." in json.dumps(house.seen[1].body)


def test_a_database_in_memory_leaves_no_file(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    gateway = house.gateway(state={"url": "sqlite://"})
    made = begun(house, gateway, RESPONSES, "openai-chat")
    ended(house, gateway, RESPONSES, made["id"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses"])
def test_the_official_sdks_poll_resume_and_cancel(house: House, protocol: str, database: str) -> None:
    async def used() -> None:
        async with house.http(house.gateway(state={"url": database})) as http:
            client: Any = openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key="x", http_client=http, max_retries=0)
            stream = await client.responses.create(model=protocol, input="One, two.", background=True, stream=True)
            seen = [each async for each in stream]
            assert seen[-1].type == "response.completed" and seen[-1].response.output_text == "One, two."
            id_ = seen[0].response.id
            rest = [each async for each in await client.responses.retrieve(id_, stream=True, starting_after=2)]
            assert [each.sequence_number for each in rest] == [each.sequence_number for each in seen[3:]]
            assert (await client.responses.cancel(id_)).status == "completed", "too late"
            items: Any = [each async for each in client.responses.input_items.list(id_)]
            assert items[0].content[0].text == "One, two."
            await client.responses.delete(id_)
            with pytest.raises(openai.NotFoundError):
                await client.responses.retrieve(id_)
            google: Any = genai.Client(
                api_key="x",
                http_options={"base_url": URL, "httpx_async_client": http, "retry_options": {"attempts": 1}},
            )
            made = await google.aio.interactions.create(model=protocol, input="Three.", background=True, store=True)
            while (found := await google.aio.interactions.get(id=made.id)).status == "in_progress":
                await asyncio.sleep(0.01)
            assert found.status == "completed" and found.id == made.id

    house.run(used())


@surfaces
def test_a_resumed_stream_is_the_rest_of_the_whole(house: House, path: str, database: str) -> None:
    """From every place, in this process and in another one that has never seen the run."""
    one, other = (house.gateway(state={"url": database}) for _ in range(2))
    whole = begun(house, one, path, "anthropic-messages", stream=True).text
    frames = [f"{each}\n\n" for each in whole.split("\n\n")[:-1]]
    (id_,) = {
        node["id"] for each in events_of(whole) for node in (each.get("response"), each.get("interaction")) if node
    }
    check_numbers(path, id_, events_of(whole))
    for gateway in (one, other):
        assert streamed(house, gateway, path, id_) == whole
        for place in range(len(events_of(whole))):
            after = place if path == RESPONSES else f"{id_}_{place}"
            assert streamed(house, gateway, path, id_, after) == "".join(frames[place + 1 :])
    house.run(one.aclose())
    assert ended(house, other, path, id_)["status"] == "completed"


def test_many_runs_at_once_are_numbered_exactly(house: House, database: str) -> None:
    gateway = house.gateway(state={"url": database})
    count = 30

    async def used() -> list[str]:
        async with house.http(gateway) as http:
            body = {"model": "openai-chat", "input": "word " * 40, "background": True, "stream": True}
            found = await asyncio.gather(*(http.post(RESPONSES, json=body) for _ in range(count)))
            return [each.text for each in found]

    texts = house.run(used())
    ids = set()
    for text in texts:
        events = events_of(text)
        ids.add(events[0]["response"]["id"])
        check_numbers(RESPONSES, events[0]["response"]["id"], events)
        assert events[-1]["type"] == "response.completed"
    assert len(ids) == count


@surfaces
def test_what_fails_is_failed(house: House, path: str) -> None:
    gateway = house.gateway()
    for text in ('[[error 400 message="on purpose"]]', "One two three four. [[break after 4]]"):
        id_ = begun(house, gateway, path, "anthropic-messages", text)["id"]
        done = ended(house, gateway, path, id_)
        assert done["status"] == "failed"
        last = events_of(streamed(house, gateway, path, id_))[-1]
        assert "error" in json.dumps(last) and '"status": "completed"' not in json.dumps(last)
        if "purpose" in text and path == RESPONSES:
            assert "on purpose" in done["error"]["message"]
    for before in ("unknown",):
        body = {"model": "openai-chat", "input": "Hi", "background": True}
        previous = {RESPONSES: "previous_response_id", INTERACTIONS: "previous_interaction_id"}[path]
        refused = house.ask(gateway, "POST", path, json={**body, previous: before})
        assert refused.status_code == (400 if path == RESPONSES else 404)
    refused = house.ask(gateway, "POST", path, json={**body, "store": False})
    assert refused.status_code == 400 and "store" in refused.text
    for place in ("x", "9" * 10, "9" * 5000):
        asked = f"{path}/{id_}?stream=true&starting_after={place}&last_event_id={place}"
        assert house.ask(gateway, "GET", asked).status_code == 400


@surfaces
def test_what_was_generated_before_a_failure_is_in_the_response(house: House, database: str, path: str) -> None:
    """As its events are, which are kept."""
    broken = httpx2.ReadError("gone")
    text = frames(chunk({"role": "assistant", "content": "Hello"}), chunk({"content": " there"}))
    failed = frames({"error": {"message": "boom", "type": "server_error"}})
    for sent in ([*text, broken], text, [*text, *failed]):
        up = Canned(partial(sse, *sent), model="m")
        gateway = house.gateway({"m": up.upstream}, state={"url": database})
        done = ended(house, gateway, path, begun(house, gateway, path, "m")["id"])
        (item,) = done["output"] if path == RESPONSES else done["steps"]
        assert done["status"] == "failed" and item["content"][0]["text"] == "Hello there"
        assert item.get("status", "incomplete") == "incomplete"


def test_tenants_do_not_see_runs(house: House) -> None:
    (mine, digest), (other, another) = new_key(), new_key()
    gateway = house.gateway(keys={"blue": {"sha256": digest}, "red": {"sha256": another}})
    body = {"model": "openai-chat", "input": "Mine.", "background": True}
    id_ = house.ask(gateway, "POST", RESPONSES, json=body, headers={"x-api-key": mine}).json()["id"]
    for method, path in (
        ("GET", ""),
        ("GET", "?stream=true"),
        ("GET", "/input_items"),
        ("POST", "/cancel"),
        ("DELETE", ""),
    ):
        done = house.ask(gateway, method, f"{RESPONSES}/{id_}{path}", headers={"x-api-key": other})
        assert done.status_code == 404 and "Mine" not in done.text
    assert ended(house, gateway, RESPONSES, id_, headers={"x-api-key": mine})["status"] == "completed"


def test_deleting_a_run_leaves_nothing(house: House, database: str) -> None:
    gateway = house.gateway(state={"url": database})
    id_ = begun(house, gateway, RESPONSES, "openai-chat")["id"]
    ended(house, gateway, RESPONSES, id_)
    assert house.ask(gateway, "DELETE", f"{RESPONSES}/{id_}").json()["deleted"] is True

    async def counted() -> list[int]:
        tables = (stores.runs, stores.segments, stores.responses)
        async with gateway.store.connection() as connection:
            return [
                int((await connection.execute(sa.select(sa.func.count()).select_from(each))).scalar_one())
                for each in tables
            ]

    assert house.run(counted()) == [0, 0, 0]


# ---- slow upstreams, which a test holds in its hand -----------------------------------------------------------------


@surfaces
def test_cancelling_closes_the_upstream(house: House, path: str, database: str) -> None:
    with loopback() as server:
        Slow(server)
        one, other = (house.gateway({"slow": server.upstream()}, state={"url": database}) for _ in range(2))
        for gateway in (one, other):  # where it runs, and on another node
            id_ = begun(house, one, path, "slow")["id"]
            wait_for(house, lambda: shown(house, one, id_) >= 4)  # noqa: B023
            done = house.ask(gateway, "POST", f"{path}/{id_}/cancel").json()
            assert done["status"] == "cancelled" and done["id"] == id_
            server.until(lambda: server.open == 0)
            assert house.ask(gateway, "POST", f"{path}/{id_}/cancel").json()["status"] == "cancelled"
            text = streamed(house, gateway, path, id_)
            check_numbers(path, id_, events_of(text))
            assert "Once " in text and "cancelled" in text and "response.completed" not in text


def test_a_reader_that_leaves_does_not_end_the_run(house: House, database: str) -> None:
    with loopback() as server:
        slow = Slow(server)
        gateway = house.gateway({"slow": server.upstream()}, state={"url": database})
        body = {"model": "slow", "input": "Hi", "background": True, "stream": True}
        given = [{"type": "http.request", "body": json.dumps(body).encode()}]
        told: list[bytes] = []

        async def receive() -> Any:
            while not given:
                await asyncio.sleep(0.01)
                if b"upon" in b"".join(told):
                    return {"type": "http.disconnect"}
            return given.pop()

        async def send(message: Any) -> None:
            told.append(message.get("body", b""))

        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": RESPONSES, "query_string": b"", "headers": headers}
        house.run(gateway(scope, receive, send))
        begin = b"".join(told).decode()
        id_ = events_of(begin)[0]["response"]["id"]
        slow.go = True
        assert ended(house, gateway, RESPONSES, id_)["status"] == "completed"
        whole = streamed(house, gateway, RESPONSES, id_)
        assert whole.startswith(begin) and len(whole) > len(begin)


def test_a_run_that_is_refused_is_not_executed(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database goes away between the steps of its beginning: a client that gets 503 tries again."""
    gateway = house.gateway()
    form = {"files": {"file": ("a.txt", b"text")}, "data": {"purpose": "user_data"}}
    file = house.ask(gateway, "POST", "/v1/files", **form).json()["id"]

    async def away(*_: object) -> None:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(FileStore, "used", away)
    parts = [{"type": "input_file", "file_id": file}, {"type": "input_text", "text": "One."}]
    body = {"model": "openai-chat", "input": [{"role": "user", "content": parts}], "background": True}
    assert house.ask(gateway, "POST", RESPONSES, json=body).status_code == 503
    assert not gateway.runs._tasks and not house.run(rows.owners(gateway.store)) and not house.seen
    monkeypatch.undo()
    assert ended(house, gateway, RESPONSES, house.ask(gateway, "POST", RESPONSES, json=body).json()["id"])["output"]
