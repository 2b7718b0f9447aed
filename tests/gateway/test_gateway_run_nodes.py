"""Runs whose database fails or whose node is lost: what was shown is stored, and another node goes on."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from client.loopback import loopback
from gateway.background import Slow, begun, ended, shown, streamed, wait_for
from gateway.serving import House
from gateway.strict_client import RESPONSES, check_numbers, events_of
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.configuration.config import StateSettings
from unified_llm.gateway.state import database as stores
from unified_llm.gateway.state.runs import log_reader, rows
from unified_llm.gateway.state.runs import runs as running
from unified_llm.gateway.state.runs.event_log import LogWriter
from unified_llm.gateway.state.runs.locks import NodeLock, notify
from unified_llm.gateway.state.store import Conflict, Store, StoreUnavailable
from waiting import PATIENCE

ROOT = Path(__file__).parents[2]


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
        with pytest.raises(Conflict):
            await store.insert(stores.segments, row)  # a run that is unknown, or was deleted
        run = running.Run("r", "", "openai-responses", "in_progress", "n", False, {}, 1, 10**10)
        await store.insert(stores.runs, {**run._asdict(), "head": b"{}"})
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
    command = [sys.executable, "-m", "unified_llm", "gateway", "--config", str(config)]
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
        return b"".join(data for _, data in await gateway.runs.log.segments(id_, -1)).decode()

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


@pytest.mark.parametrize("fails_at", ["SELECT 1", "pg_advisory_lock"])
def test_a_node_whose_connection_was_lost_takes_its_lock_again(house: House, postgresql: str, fails_at: str) -> None:
    """PostgreSQL: also where the database fails again while the lock is taken."""
    url = stores.async_url(postgresql)
    failing: set[str] = set()

    async def used() -> None:
        given = StateSettings(url=postgresql)
        engine, others = stores.make_engine(url, given), stores.make_engine(url, given)
        heard: list[str] = []
        lock, other = NodeLock(heard.append), NodeLock()

        @sa.event.listens_for(engine.sync_engine, "before_cursor_execute")
        def before(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
            if any(each in statement for each in failing):
                raise OSError("the database fails on purpose")

        try:
            await lock.hold(engine)
            assert not await other.is_dead(others, lock.node)
            failing.update(("SELECT 1", fails_at))
            with suppress(OSError):
                await lock.hold(engine)
            failing.clear()
            await lock.hold(engine)
            assert not await other.is_dead(others, lock.node), "it goes on without its lock"
            async with others.begin() as connection:
                await notify(connection, ["word"])
            for _ in range(100):
                if heard:
                    break
                await asyncio.sleep(0.05)
            assert heard == ["word"] and lock.is_listening
            await lock.release()
            assert await other.is_dead(others, lock.node)
        finally:
            await engine.dispose()
            await others.dispose()

    house.run(used())


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


def test_a_reader_on_another_node_is_told_what_is_new(
    house: House, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL by NOTIFY, without polling; on SQLite by looking."""
    is_told = database.startswith("postgresql")
    if is_told:
        monkeypatch.setattr(log_reader, "_GLANCE", 1_000)
    monkeypatch.setattr(log_reader, "_LOOK", 1_000)
    monkeypatch.setattr(running, "_EVERY", 0.1)
    with loopback() as server:
        slow = Slow(server)
        one, other = (house.gateway({"slow": server.upstream()}, state={"url": database}) for _ in range(2))
        house.run(one.runs.start())
        id_ = begun(house, one, RESPONSES, "slow")["id"]

        async def read() -> bytes:
            run = await other.runs.get("", id_)
            assert run is not None
            await other.runs.start()
            assert other.runs.lock.is_listening == is_told
            data = b""
            async for event in other.runs.log.follow(run, -1):
                data += event
                slow.go = slow.go or b"upon " in data
            return data

        text = house.run(read()).decode()
        assert text == streamed(house, one, RESPONSES, id_) and "response.completed" in text
        slow.go = False
        id_ = begun(house, one, RESPONSES, "slow")["id"]
        wait_for(house, lambda: shown(house, one, id_) >= 4)
        monkeypatch.setattr(running, "_EVERY", 0.1 if not is_told else 1_000)
        assert house.ask(other, "POST", f"{RESPONSES}/{id_}/cancel").json()["status"] == "cancelled"


def test_a_node_reads_its_own_runs_and_those_of_lost_nodes(
    house: House, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running.Runs, "_sweep", lambda self: asyncio.sleep(0))
    one, other = (house.gateway(state={"url": database}) for _ in range(2))
    read: list[str] = []
    unfinished = rows.unfinished

    async def seen(store: Store, node: str) -> list[tuple[str, str, bool]]:
        if store is one.store:  # gateways of other tests may still look after theirs
            read.append(node)
        return await unfinished(store, node)

    async def looked() -> list[str]:
        for each in (one, other):
            await each.runs.start()
        run = running.Run("r", "", "openai-responses", "in_progress", "", False, {"request": "{}"}, 1, 10**10)
        for node, count in (("lost", 2), (other.runs.lock.node, 3)):
            for number in range(count):
                row = run._replace(id=f"{node}-{number}", owner=node)
                await one.store.insert(stores.runs, {**row._asdict(), "head": json.dumps(row.head).encode()})
                other.runs.log.live.setdefault(row.id, LogWriter(one.store, row))
        monkeypatch.setattr(rows, "unfinished", seen)
        assert set(await rows.owners(one.store)) == {"lost", other.runs.lock.node}
        await one.runs._look()
        return await rows.owners(one.store)

    assert house.run(looked()) == [other.runs.lock.node], "the runs of the lost node have ended"
    assert sorted(read) == sorted([one.runs.lock.node, "lost"])
    other.runs.log.live.clear()
