"""Measure the constants of the capacity model (`costs.py`) on this machine; PostgreSQL has to run on it.

Requests and events are those of `benchmarks/gateways.py`: the processor time of a gateway process. Commits, rows,
notices, readers and the sweep are measured on the gateway's own `Store`, `NodeLock` and `LogReader` in this process,
and in the server processes of PostgreSQL. The least of several rounds counts: what others do on the machine only adds.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import sqlalchemy as sa

from benchmarks import gateways
from benchmarks.scaling import database
from benchmarks.scaling.costs import Costs
from unified_llm.gateway.configuration.config import StateSettings
from unified_llm.gateway.state.database import runs, segments
from unified_llm.gateway.state.runs import rows as run_rows
from unified_llm.gateway.state.runs.event_log import Run
from unified_llm.gateway.state.runs.locks import NodeLock
from unified_llm.gateway.state.runs.log_reader import LogReader
from unified_llm.gateway.state.store import Store

ROUNDS = 4
EVENT = b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":" w"}\n\n'
Progress = Callable[[str], None]


def run_row(status: str = "in_progress") -> dict[str, Any]:
    """A row of a run."""
    run = Run(f"resp_{uuid4().hex}", "", "openai-responses", status, "node", False, {}, 1, 10**10)
    return {**run._asdict(), "head": b"{}"}


class Bench:
    """A store of the gateway, and the processor time of both of its sides."""

    def __init__(self, url: str, watch: asyncpg.Connection) -> None:
        self.store = Store(StateSettings(url=url))
        self.watch = watch

    async def cost(self, work: Callable[[], Awaitable[int]]) -> tuple[float, float]:
        """Microseconds of this process and of the database for one unit; `work` returns how many it did."""
        best = (float("inf"), float("inf"))
        await work()
        for _ in range(ROUNDS):
            before, own = database.processor(await database.backends(self.watch)), time.process_time()
            count = await work()
            here = (time.process_time() - own) * 1e6
            there = database.spent(before, database.processor(await database.backends(self.watch)))
            best = min(best[0], here / count), min(best[1], there / count)
        return best

    async def commits(self, ids: list[str], count: int) -> int:
        """Commit groups of one event of each run."""
        for _ in range(count):
            first = self.place = self.place + 1
            rows = [{"run": each, "first": first, "last": first, "data": EVENT} for each in ids]
            await asyncio.gather(*(self.store.insert(segments, row) for row in rows))
        return count

    place = -1


async def _log(bench: Bench, url: str, stack: AsyncExitStack) -> dict[str, float]:
    """A commit, a row, a notice."""
    rows = [run_row() for _ in range(101)]
    await asyncio.gather(*(bench.store.insert(runs, row) for row in rows))
    ids = [row["id"] for row in rows]
    one = await bench.cost(lambda: bench.commits(ids[:1], 200))
    many = await bench.cost(lambda: bench.commits(ids, 20))
    row = [(each - other) / 100 for each, other in zip(many, one)]
    listening = [await asyncpg.connect(url) for _ in range(8)]
    for each in listening:
        stack.push_async_callback(each.close)
        await each.add_listener(database.CHANNEL, lambda *_: None)
    heard = await bench.cost(lambda: bench.commits(ids[:1], 200))
    notice = [max(0.0, each - other) / len(listening) for each, other in zip(heard, one)]
    for each in listening:
        await each.close()
    return {
        "commit_node": one[0] - row[0], "row_node": row[0], "commit_db": one[1] - row[1], "row_db": row[1],
        "notice_node": notice[0], "notice_db": notice[1],
    }  # fmt: skip


async def _ends(bench: Bench) -> dict[str, float]:
    """The end of a run."""
    frames = EVENT * 20

    async def ends() -> int:
        rows = [run_row() for _ in range(50)]
        await asyncio.gather(*(bench.store.insert(runs, row) for row in rows))
        for row in rows:
            run = Run(**{**row, "head": {"request": "{}"}})
            last = {"run": run.id, "first": 0, "last": 0, "data": EVENT}
            await run_rows.end(bench.store, run, "node", "completed", None, last, frames, "up")
        return len(rows)

    cost = await bench.cost(ends)
    return {"end_node": cost[0], "end_db": cost[1]}


async def _readers(bench: Bench) -> dict[str, float]:
    """A look of a reader on another node, and of the sweep."""
    reader = LogReader(bench.store, NodeLock())
    row = run_row()
    await bench.store.insert(runs, row)
    run = Run(**{**row, "head": {}})
    bench.place = -1
    await bench.commits([run.id], 10)

    async def wakes() -> int:
        for _ in range(200):
            await reader._is_done(run)
            await reader.segments(run.id, 8)
        return 200

    wake = await bench.cost(wakes)
    await asyncio.gather(*(bench.store.insert(runs, run_row()) for _ in range(10_000)))
    async with bench.store.connection(write=True) as connection:
        await connection.execute(sa.text("ANALYZE runs"))

    async def sweep() -> int:
        return sum([len(await run_rows.unfinished(bench.store)) for _ in range(5)])

    look = await bench.cost(sweep)
    return {"wake_node": wake[0], "wake_db": wake[1], "sweep_node": look[0], "sweep_db": look[1]}


async def _clock(url: str, *, told: bool) -> float:
    """Microseconds between two commits of eight connections that commit as fast as they can."""
    connections = [await asyncpg.connect(url) for _ in range(8)]
    try:
        await connections[0].execute("CREATE TABLE IF NOT EXISTS ticks (id bigint)")
        count = 0

        async def committed(connection: asyncpg.Connection, end: float) -> None:
            nonlocal count
            while time.perf_counter() < end:
                async with connection.transaction():
                    await connection.execute("INSERT INTO ticks VALUES (1)")
                    if told:
                        await connection.execute("SELECT pg_notify('ticks', 'run')")
                count += 1

        best = float("inf")
        for _ in range(ROUNDS):
            count, begin = 0, time.perf_counter()
            await asyncio.gather(*(committed(each, begin + 1.0) for each in connections))
            best = min(best, (time.perf_counter() - begin) / count * 1e6)
        return best
    finally:
        for each in connections:
            await each.close()


async def _state(progress: Progress) -> dict[str, float]:
    async with database.empty() as url, AsyncExitStack() as stack:
        watch = await asyncpg.connect(url)
        stack.push_async_callback(watch.close)
        bench = Bench(url, watch)
        stack.push_async_callback(bench.store.aclose)
        progress("commits, rows, notices")
        found = await _log(bench, url, stack)
        found |= await _ends(bench)
        progress("readers, the sweep")
        found |= await _readers(bench)
        progress("commits by the clock")
        found["commit_clock"] = await _clock(url, told=True)
        found["silent_clock"] = await _clock(url, told=False)
        return found


def _gateways(state: dict[str, float], progress: Progress) -> dict[str, float]:
    """Requests and events of a gateway process."""
    every = {row.name: row for row in gateways.rows(True)}
    stored = gateways.Row("", "", gateways.MESSAGES, {"input": "What is the capital of Norway? " * 4}, 500)
    stored = stored._replace(path="/v1/responses")
    wanted = {
        "pass_request_node": (gateways.OFF, every["gateway-pass-short"]),
        "pass_event_node": (gateways.OFF, every["gateway-pass-stream"]),
        "translate_request_node": (gateways.OFF, every["gateway-translate-short"]),
        "translate_event_node": (gateways.OFF, every["gateway-many"]._replace(total=200, connections=200)),
        "stored_sqlite_node": (gateways.SQLITE, stored),
        "stored_request_node": (gateways.POSTGRES, stored),
        "durable_sqlite_node": (gateways.SQLITE, every["gateway-durable-sqlite-many"]),
        "durable_event_node": (gateways.POSTGRES, every["gateway-durable-postgresql-many"]),
    }
    found: dict[str, float] = {}
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(gateways.upstream(scratch))
        if missing := stack.enter_context(gateways._database()):
            raise gateways.Missing(*missing.values())
        servers: dict[str, gateways.Server] = {}
        for name, (title, row) in wanted.items():
            progress(name)
            if title not in servers:
                servers[title] = gateways.started(title, url, scratch)
                stack.callback(servers[title].close)
            gateways.asked(servers[title], row, row.connections)
            found[name] = min(_once(servers[title], row, state, name) for _ in range(ROUNDS - 1))
    return without_requests(found, {name: row.events for name, (_, row) in wanted.items()})


def without_requests(found: dict[str, float], events: dict[str, int]) -> dict[str, float]:
    """The same, with the cost of an event without the request that it belongs to; durable on SQLite stays whole."""
    requests = {
        "pass_event_node": "pass_request_node",
        "translate_event_node": "translate_request_node",
        "durable_event_node": "translate_request_node",
    }
    less = {name: found[request] / events[name] for name, request in requests.items()}
    return {name: max(0.0, value - less.get(name, 0.0)) for name, value in found.items()}


def _once(server: gateways.Server, row: gateways.Row, state: dict[str, float], name: str) -> float:
    """Microseconds of one request or event; of a durable one less what its commits and rows took."""
    if name != "durable_event_node":
        return float(gateways.asked(server, row)["us"])
    found, notices, rows = asyncio.run(_counted(lambda: _spread(server, row)))
    ends = found["answers"]
    spent = (notices - ends) * state["commit_node"] + (rows - ends) * state["row_node"]
    spent += ends * state["end_node"] + notices * state["notice_node"]
    return float(found["us"]) - spent / found["events"]


def _spread(server: gateways.Server, row: gateways.Row) -> dict[str, Any]:
    """A load of runs that do not begin together: ends at the same time would each open a connection to the database."""
    body = json.dumps({**row.body, "model": row.model})
    job = {"port": server.port, "path": row.path, "body": body, "total": row.total, "connections": row.connections,
           "events": row.events, "patience": 120, "spread": 2.0}  # fmt: skip
    before = server.cpu()
    found = gateways.load(job)
    if found["failed"] or found["lost"] or found["wrong"]:
        raise gateways.Missing(f"a stream is not whole: {found}")
    return {**found, "us": (server.cpu() - before) / found["events"] * 1e6}


async def _counted(work: Callable[[], Any]) -> tuple[Any, int, int]:
    """What work returns, and the commits and rows of the event log in the meantime."""
    connection = await asyncpg.connect(gateways.DATABASE)
    notices = 0

    def heard(*_: Any) -> None:
        nonlocal notices
        notices += 1

    try:
        await connection.add_listener(database.CHANNEL, heard)
        before = await connection.fetchval("SELECT count(*) FROM segments")
        found = await asyncio.to_thread(work)
        rows = await connection.fetchval("SELECT count(*) FROM segments") - before
        return found, notices, rows
    finally:
        await connection.close()


def calibrated(progress: Progress) -> Costs:
    """All figures. Takes a few minutes. Raises `Missing` without PostgreSQL."""
    state = asyncio.run(_state(progress))
    return Costs(**state, **_gateways(state, progress))
