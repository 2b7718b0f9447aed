"""What is written together: the rows of many requests, and the ends of runs, in few commits."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from gateway.background import begun, ended
from gateway.databases import with_store
from gateway.serving import House
from gateway.strict_client import INTERACTIONS, RESPONSES
from unified_llm.foundation.json_codec import dump
from unified_llm.gateway.state import database as tables
from unified_llm.gateway.state.commits import commit_thread
from unified_llm.gateway.state.runs import rows
from unified_llm.gateway.state.runs import runs as running
from unified_llm.gateway.state.runs.event_log import LogWriter, Run
from unified_llm.gateway.state.store import Conflict, Store, StoreUnavailable

NODE = "this-node"


def run_of(id_: str, owner: str = NODE) -> Run:
    head = {"model": "m", "request": "{}", "settings": {}, "previous": None}
    return Run(id_, "", "openai-responses", "in_progress", owner, False, head, 1, 2**40)


def last_of(run: Run) -> dict[str, Any]:
    return {"run": run.id, "first": 0, "last": 0, "data": b"data: {}\n\n"}


async def end(store: Store, run: Run, node: str = NODE) -> None:
    await rows.end(store, run, node, "completed", None, last_of(run), b"data: {}\n\n", "up")


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []
    commit = Store._commit

    async def counted(self: Store, writes: Sequence[Any]) -> None:
        found.append(len(writes))
        await commit(self, writes)

    monkeypatch.setattr(Store, "_commit", counted)
    return found


async def accepted(store: Store, *runs: Run) -> None:
    await store.open()
    await asyncio.gather(*(store.insert(tables.runs, {**each._asdict(), "head": dump(each.head)}) for each in runs))


def test_the_ends_of_many_runs_are_few_commits(house: House, database: str, commits: list[int]) -> None:
    made = [run_of(f"r{number}") for number in range(50)]

    async def use(store: Store) -> None:
        await accepted(store, *made)
        commits.clear()
        await asyncio.gather(*(end(store, each) for each in made))
        assert sum(commits) == 50 and len(commits) < 5
        for each in made:
            found, stored = await rows.find(store, "", each.id), await store.get("", each.id)
            assert found is not None and found.status == "completed"
            assert stored is not None and stored.response == last_of(each)["data"]

    with_store(house, database, use)


def test_groups_are_committed_in_a_thread_that_ends_with_the_store(
    house: House, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction has several steps: between them a busy event loop would have to come round each time."""
    threads: list[threading.Thread] = []
    write = commit_thread.write_group

    async def watched(connection: Any, writes: Sequence[Any]) -> None:
        threads.append(threading.current_thread())
        await write(connection, writes)

    monkeypatch.setattr(commit_thread, "write_group", watched)
    with_store(house, database, lambda store: accepted(store, run_of("one"), run_of("two")))
    assert threads and threading.main_thread() not in threads
    assert not any(each.is_alive() for each in threads)


def test_a_run_that_another_node_has_ends_for_no_other(house: House, database: str) -> None:
    """Of what is written together, only the end of a run that is lost, deleted or over fails, and writes nothing."""
    mine, lost, over, gone = run_of("mine"), run_of("lost", "another"), run_of("over"), run_of("gone")

    async def use(store: Store) -> None:
        await accepted(store, mine, lost, over)
        await end(store, over)
        told = await asyncio.gather(*(end(store, each) for each in (lost, mine, over, gone)), return_exceptions=True)
        assert [type(each) for each in told] == [Conflict, type(None), Conflict, Conflict]
        found = [await rows.find(store, "", each.id) for each in (mine, lost)]
        assert [each and each.status for each in found] == ["completed", "in_progress"]
        assert await store.get("", "lost") is None and await store.get("", "gone") is None
        await end(store, lost, "another")

    with_store(house, database, use)


def test_an_end_and_its_response_are_one_transaction(house: House, database: str) -> None:
    """Where the response cannot be stored, the run has not ended."""
    made = run_of("r")

    async def use(store: Store) -> None:
        await accepted(store, made)
        await store.insert(tables.segments, last_of(made))
        with pytest.raises(Conflict):  # its last events have a place that is taken
            await end(store, made)
        found = await rows.find(store, "", "r")
        assert found is not None and found.status == "in_progress" and await store.get("", "r") is None

    with_store(house, database, use)


def test_commits_that_follow_each_other_leave_time_for_a_group(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    begins: list[float] = []

    async def slow(self: Store, writes: Sequence[Any]) -> None:
        begins.append(time.monotonic())
        await asyncio.sleep(0.005)

    monkeypatch.setattr(Store, "_commit", slow)

    async def use(store: Store) -> None:
        await store.open()
        before = time.monotonic()
        await store.insert(tables.vault, {})
        assert time.monotonic() - before < 1
        for _ in range(5):
            await store.insert(tables.vault, {})
        gaps = [late - early for early, late in pairwise(begins)]
        assert len(gaps) == 5 and min(gaps) > 0.012, "a commit, and twice its time"

    with_store(house, "sqlite://", use)


def test_a_log_ends_with_the_store(house: House) -> None:
    """Nothing waits for a store that was closed."""

    async def used() -> None:
        store = Store(house.gateway().config.state)
        await store.open()
        await store.aclose()
        writer = LogWriter(store, run_of("r"))
        with pytest.raises(StoreUnavailable):
            await writer.append([b"data: {}\n\n"])
            await writer.flush()
        assert not writer.log

    house.run(used())


@pytest.mark.parametrize("path", [RESPONSES, INTERACTIONS])
@pytest.mark.parametrize("model", ["openai-chat", "openai-responses", "google-interactions"])
def test_the_end_of_a_run_does_not_read_its_log(
    house: House, path: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = house.gateway()
    collected, read = running.collected, list[Any]()

    def watched(run: Run, frames: bytes, secret: Any) -> Any:
        if secret is None:
            read.append(run.id)
        return collected(run, frames, secret)

    monkeypatch.setattr(running, "collected", watched)
    made = begun(house, gateway, path, model, "word " * 50)
    done = ended(house, gateway, path, made["id"])
    assert done["status"] == "completed" and not read
