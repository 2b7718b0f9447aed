"""A load of background runs on 1, 2 and 4 gateway processes that share one PostgreSQL, and what the model predicts.

Processor time is compared, which other programs on the machine disturb less than throughput. The prediction takes the
number of events, the commits and rows that PostgreSQL saw, and `costs.py`; how many commits the model itself expects
stands beside those that were counted, and is right only where the machine does nothing else.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import asyncpg

from benchmarks import gateways
from benchmarks.scaling import database
from benchmarks.scaling.costs import Costs
from benchmarks.scaling.model import Load, commits

WORKERS = (1, 2, 4)
RUNS, EVENTS, GAP = 120, 40, 0.1
ROUNDS = 2
Progress = Callable[[str], None]


class Work(NamedTuple):
    """What a number of workers did."""

    workers: int
    events: int
    groups: int  # commits with NOTIFY
    rows: int
    seconds: float
    node_us: float  # processor time of all workers for an event
    db_us: float  # of the server processes of the database

    def predicted(self, costs: Costs) -> tuple[float, float]:
        """Microseconds of the workers and of the database for an event."""
        groups, rows = self.groups - RUNS, self.rows - RUNS  # without the ends of the runs
        node = groups * costs.commit_node + rows * costs.row_node + self.groups * self.workers * costs.notice_node
        node += RUNS * (costs.translate_request_node + costs.end_node + costs.row_node)
        listeners = self.workers + 1  # the one that counts
        db = groups * costs.commit_db + (rows + RUNS) * costs.row_db + self.groups * listeners * costs.notice_db
        # Each second every node checks whether it still has its lock, and which runs are in progress.
        looks = self.seconds * self.workers
        node, db = node + looks * costs.wake_node, db + RUNS * costs.end_db + looks * costs.wake_db
        return costs.durable_event_node + node / self.events, db / self.events

    def expected(self, costs: Costs) -> float:
        """Commits a second by the model alone."""
        return commits(Load("durable", RUNS, self.workers, rate=1 / GAP), costs).groups


class _Watch:
    """Counts commits and rows, and the processor time of server processes, also of those that end."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self.connection, self.groups = connection, 0
        self._last: dict[int, float] = {}

    def heard(self, *_: object) -> None:
        self.groups += 1

    async def look(self) -> None:
        self._last |= database.processor(await database.backends(self.connection))

    async def rows(self) -> int:
        return int(await self.connection.fetchval("SELECT count(*) FROM segments"))

    async def measured(self, work: Callable[[], int], servers: list[gateways.Server]) -> Work:
        await self.look()
        before, rows, groups = dict(self._last), await self.rows(), self.groups
        own, begin = sum(each.cpu() for each in servers), time.perf_counter()
        task = asyncio.ensure_future(asyncio.to_thread(work))
        while not task.done():
            await asyncio.wait([task], timeout=0.3)
            await self.look()
        seconds, events = time.perf_counter() - begin, task.result()
        node = (sum(each.cpu() for each in servers) - own) * 1e6 / events
        db = database.spent(before, self._last) / events
        return Work(len(servers), events, self.groups - groups, await self.rows() - rows, seconds, node, db)


def _asked(servers: list[gateways.Server]) -> int:
    """Spread the runs over the workers; how many events came."""
    body = json.dumps({"stream": True, "background": True, "model": gateways.MESSAGES,
                       "input": f"Count. @n={EVENTS},gap={GAP}@"})  # fmt: skip
    share = RUNS // len(servers)
    job = {"path": "/v1/responses", "body": body, "total": share, "connections": share, "events": EVENTS,
           "patience": 120, "spread": EVENTS * GAP}  # fmt: skip
    with ThreadPoolExecutor(len(servers)) as pool:
        found = list(pool.map(lambda each: gateways.load({**job, "port": each.port}), servers))
    for each in found:
        if each["failed"] or each["lost"] or each["wrong"]:
            raise gateways.Missing(f"a stream is not whole: {each}")
    return sum(each["events"] for each in found)


async def _workers(stack: AsyncExitStack, count: int, url: str, scratch: Path) -> tuple[_Watch, list[gateways.Server]]:
    """Workers on a database of their own, warm."""
    given, gateways.DATABASE = gateways.DATABASE, await stack.enter_async_context(database.empty(f"_{count}"))
    try:
        connection = await asyncpg.connect(gateways.DATABASE)
        stack.push_async_callback(connection.close)
        servers = []
        for _ in range(count):
            servers.append(await asyncio.to_thread(gateways.started, gateways.POSTGRES, url, scratch))
            stack.callback(servers[-1].close)
    finally:
        gateways.DATABASE = given
    await asyncio.to_thread(_asked, servers)
    watch = _Watch(connection)
    await connection.add_listener(database.CHANNEL, watch.heard)
    return watch, servers


async def _measured(url: str, scratch: Path, progress: Progress) -> list[Work]:
    async with AsyncExitStack() as stack:
        every = {count: await _workers(stack, count, url, scratch) for count in WORKERS}
        best: dict[int, Work] = {}
        for number in range(ROUNDS):  # they take turns: what else goes on meets all of them
            for count, (watch, servers) in every.items():
                progress(f"round {number + 1}: {count} workers")
                found = await watch.measured(partial(_asked, servers), servers)
                if count not in best or found.node_us + found.db_us < best[count].node_us + best[count].db_us:
                    best[count] = found
        return list(best.values())


def measured(progress: Progress) -> list[Work]:
    """The load on each number of workers. Raises `OSError` without PostgreSQL, `Missing` for a stream with gaps."""
    with tempfile.TemporaryDirectory() as folder, gateways.upstream(Path(folder)) as url:
        return asyncio.run(_measured(url, Path(folder), progress))
