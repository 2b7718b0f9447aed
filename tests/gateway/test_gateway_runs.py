"""Runs in the background: executed into a log, followed from any place, cancelled, taken over from a lost node."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
import sqlalchemy as sa
from google import genai

from client.loopback import HEAD, STREAM, Loopback, event, loopback, piece
from gateway.serving import PROTOCOLS, URL, House
from unified_llm.gateway.access import new_key
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.state import database as stores
from unified_llm.gateway.state import runs as running
from unified_llm.gateway.state.store import Conflict, Store, StoreUnavailable
from waiting import PATIENCE, until

ROOT = Path(__file__).parents[2]
RESPONSES, INTERACTIONS = "/v1/responses", "/v1beta/interactions"
surfaces = pytest.mark.parametrize("path", [RESPONSES, INTERACTIONS])


def begun(house: House, gateway: Gateway, path: str, model: str, text: str = "One, two, three.", **more: Any) -> Any:
    body = {"model": model, "input": text, "background": True, **more}
    done = house.ask(gateway, "POST", path, json=body)
    assert done.status_code == 200, done.text
    return done if more.get("stream") else done.json()


def ended(house: House, gateway: Gateway, path: str, id_: str, **options: Any) -> Any:
    """The run once it is done."""
    found: Any = {}

    def done() -> bool:
        found.update(house.ask(gateway, "GET", f"{path}/{id_}", **options).json())
        return found["status"] not in ("queued", "in_progress")

    wait_for(house, done)
    return found


def streamed(house: House, gateway: Gateway, path: str, id_: str, after: Any = None) -> str:
    name = "starting_after" if path == RESPONSES else "last_event_id"
    query = {"stream": "true", **({} if after is None else {name: str(after)})}
    done = house.ask(gateway, "GET", f"{path}/{id_}", params=query)
    assert done.status_code == 200 and done.headers["content-type"] == "text/event-stream", done.text
    return done.text


def events_of(text: str) -> list[Any]:
    return [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: {")]


def check_numbers(path: str, id_: str, events: list[Any]) -> None:
    """A strict client: every number once, in order, and every id the run's."""
    if path == RESPONSES:
        assert [each["sequence_number"] for each in events] == list(range(len(events)))
    else:
        assert [each["event_id"] for each in events] == [f"{id_}_{number}" for number in range(len(events))]
    nodes = [each[name] for each in events for name in ("response", "interaction") if name in each]
    assert {node["id"] for node in nodes} == {id_}


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
        assert house.ask(gateway, "POST", path, json={**body, previous: before}).status_code == 404
    refused = house.ask(gateway, "POST", path, json={**body, "store": False})
    assert refused.status_code == 400 and "store" in refused.text
    assert house.ask(gateway, "GET", f"{path}/{id_}?stream=true&starting_after=x&last_event_id=x").status_code == 400


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


class Slow:
    """An upstream whose stream goes on when a test lets it."""

    def __init__(self, server: Loopback) -> None:
        self.server, self.go = server, False
        server.answer = self.answer

    def answer(self, exchange: Any) -> Any:
        exchange.send(HEAD + piece(event("Once ")) + piece(event("upon ")))
        while not self.go:
            exchange.sock.settimeout(0.02)
            try:
                if not exchange.sock.recv(1000):
                    return False
            except TimeoutError:
                pass
        exchange.send(b"".join(map(piece, STREAM)) + b"0\r\n\r\n")


def shown(house: House, gateway: Gateway, id_: str) -> int:
    """How many events of a run are in the log."""

    async def counted() -> int:
        query = sa.select(sa.func.max(stores.segments.c.last)).where(stores.segments.c.run == id_)
        async with gateway.store.connection() as connection:
            return int((await connection.execute(query)).scalar_one_or_none() or 0)

    return house.run(counted())


def wait_for(house: House, true: Callable[[], Any]) -> None:
    until(true, pause=lambda seconds: house.run(asyncio.sleep(seconds)))


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


def test_nothing_is_shown_that_is_not_durable(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database fails at the n-th write of a log: readers have what was stored before it, and nothing else."""
    commit, failures = Store._commit, 0
    for fails_at in range(1, 5):
        seen = [0]

        async def failing(self: Store, rows: Any) -> None:
            seen[0] += any(table is stores.segments for table, _ in rows)  # noqa: B023
            if seen[0] == fails_at and any(table is stores.segments for table, _ in rows):  # noqa: B023
                raise StoreUnavailable("gone")
            await commit(self, rows)

        gateway = house.gateway()
        monkeypatch.setattr(Store, "_commit", failing)
        done = begun(house, gateway, RESPONSES, "openai-chat", "word " * 30, stream=True)
        monkeypatch.setattr(Store, "_commit", commit)
        events = events_of(done.text)
        id_ = next((each["response"]["id"] for each in events if "response" in each), "")
        check_numbers(RESPONSES, id_, events)
        assert streamed(house, gateway, RESPONSES, id_) == done.text
        if seen[0] < fails_at:  # events are written together, so there are not that many writes
            break
        failures += 1
        assert events[-1]["type"] in ("response.failed", "error"), events[-1]["type"]
        assert ended(house, gateway, RESPONSES, id_)["status"] == "failed"
    assert failures >= 2


def test_two_writers_cannot_have_one_place(house: House, database: str) -> None:
    async def used(store: Store) -> None:
        row = {"run": "r", "first": 0, "last": 1, "data": b"x"}
        await store.insert(stores.segments, row)
        others = [{**row, "first": number} for number in range(1, 6)]
        done = await asyncio.gather(
            *(store.insert(stores.segments, each) for each in (row, *others)), return_exceptions=True
        )
        assert isinstance(done[0], Conflict) and done[1:] == [None] * 5, "only the one that collides fails"

    async def run() -> None:
        store = Store(house.gateway(state={"url": database}).config.state)
        try:
            await used(store)
        finally:
            await store.aclose()

    house.run(run())


# ---- nodes ----------------------------------------------------------------------------------------------------------


def node(tmp_path: Path, database: str, upstream: str) -> tuple[subprocess.Popen[str], str]:
    """A gateway in a process of its own."""
    config = tmp_path / "gateway.toml"
    config.write_text(
        f'[gateway]\nproviders = ["local"]\nlisten = "127.0.0.1:0"\n[state]\nurl = "{database}"\n'
        f'[upstreams.slow]\nbase_url = "{upstream}"\nmodel = "m"\n'
    )
    path = os.pathsep.join([str(ROOT), str(ROOT / "adapters")])
    command = [sys.executable, "-m", "unified_llm.cli", "gateway", "--config", str(config)]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    return process, line.split()[-1]


def test_a_stopped_node_keeps_its_runs_and_a_killed_one_loses_them(
    house: House, tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_EVERY", 0.1)
    with loopback() as server:
        slow = Slow(server)
        process, url = node(tmp_path, database, server.url)
        try:
            other = house.gateway(state={"url": database})
            house.run(other.runs.start())

            def started() -> tuple[str, int]:
                body = {"model": "slow", "input": "Hi", "background": True}
                id_ = house.run(posted(f"{url}{RESPONSES}", body))["id"]
                wait_for(house, lambda: shown(house, other, id_) >= 4)
                return id_, shown(house, other, id_)

            id_, _ = started()
            process.send_signal(signal.SIGSTOP)  # busy or stopped is not dead
            house.run(asyncio.sleep(5 * running._EVERY))
            assert house.ask(other, "GET", f"{RESPONSES}/{id_}").json()["status"] == "in_progress"
            slow.go = True
            process.send_signal(signal.SIGCONT)
            assert ended(house, other, RESPONSES, id_)["status"] == "completed"
            check_numbers(RESPONSES, id_, events_of(streamed(house, other, RESPONSES, id_)))

            slow.go = False
            id_, before = started()
            begin = streamed_so_far(house, other, id_)
            process.kill()
            done = ended(house, other, RESPONSES, id_)
            assert done["status"] == "failed" and "lost" in done["error"]["message"]
            text = streamed(house, other, RESPONSES, id_)
            events = events_of(text)
            assert text.startswith(begin) and len(events) > before and '"delta":"Once "' in begin
            check_numbers(RESPONSES, id_, events)
            rest = "".join(f"{each}\n\n" for each in text.split("\n\n")[before + 1 : -1])
            assert streamed(house, other, RESPONSES, id_, before) == rest
        finally:
            process.kill()
            process.communicate()


async def posted(url: str, body: Any) -> Any:
    """In the loop, because what waits in there may hold the database."""
    async with httpx2.AsyncClient(timeout=PATIENCE) as http:
        return (await http.post(url, json=body)).json()


def streamed_so_far(house: House, gateway: Gateway, id_: str) -> str:
    """What the log of a run holds now."""

    async def read() -> str:
        return b"".join(data for _, data in await gateway.runs._segments(id_, -1)).decode()

    return house.run(read())


def test_a_run_that_begins_is_not_taken_for_lost(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at lost runs between the moment a run is in the database and the moment it is executed."""
    gateway, insert = house.gateway(), Store.insert

    async def looked(self: Store, table: Any, row: Any) -> None:
        await insert(self, table, row)
        if table is stores.runs:
            await gateway.runs._look()

    monkeypatch.setattr(Store, "insert", looked)
    id_ = begun(house, gateway, RESPONSES, "openai-chat")["id"]
    assert ended(house, gateway, RESPONSES, id_)["status"] == "completed"


def test_a_node_that_stops_ends_its_runs(house: House, database: str) -> None:
    with loopback() as server:
        Slow(server)
        one, other = (
            house.gateway({"slow": server.upstream()}, gateway={"graceful": 0.1}, state={"url": database})
            for _ in range(2)
        )
        id_ = begun(house, one, RESPONSES, "slow")["id"]
        wait_for(house, lambda: shown(house, one, id_) >= 4)
        house.run(one.aclose())
        done = ended(house, other, RESPONSES, id_)
        assert done["status"] == "failed" and "stopped" in done["error"]["message"]
        server.until(lambda: server.open == 0)
