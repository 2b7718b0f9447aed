"""The bench of the soak: an upstream, processes with gateways that share a database, and clients."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import sqlalchemy as sa

from client.loopback import HEAD, STREAM, Exchange, Loopback, event, loopback, piece
from gateway.strict_client import AFTER, events_of, id_of
from unified_llm.gateway.configuration.config import StateSettings
from unified_llm.gateway.state import database as tables

from .node import LOCKS, SIZE

ROOT = Path(__file__).parents[3]
WORDS = [f"word {number} " for number in range(8)]
TEXT = "".join(WORDS) + "ab"
PATIENCE = 60.0  # seconds; only reached where something is wrong


class Node:
    """A gateway in a process of its own."""

    def __init__(self, pid: int, url: str, how: str, shared: Path) -> None:
        self.pid, self.url, self.how, self._shared = pid, url, how, shared

    @property
    def points(self) -> int:
        """How many points it has passed."""
        return int.from_bytes(self._shared.read_bytes()[:8], "little")

    @property
    def fault(self) -> str:
        """The point at which it had its fault; empty before."""
        return self._shared.read_bytes()[8:LOCKS].rstrip(b"\0").decode("utf-8", "replace")

    @property
    def locks_lost(self) -> int:
        """How often another node could take it for dead: the connection with its lock was lost, or it was killed."""
        return self._shared.read_bytes()[LOCKS] + (self.how == "kill" and self.fault != "")

    @property
    def state(self) -> str:
        """The state of the process as Linux names it; empty for one that is gone."""
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return ""

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


class Stream:
    """What one client got of a stream."""

    def __init__(self) -> None:
        self.data, self.status, self.is_whole = b"", 0, False

    @property
    def text(self) -> str:
        return self.data.decode()

    @property
    def id(self) -> str:
        return id_of(events_of(self.data[: self.data.rfind(b"\n\n") + 2].decode()))

    async def read(self, http: httpx2.AsyncClient, method: str, url: str, **options: Any) -> None:
        """Read to the end, or until it breaks off."""
        try:
            async with http.stream(method, url, **options) as response:
                self.status = response.status_code
                async for chunk in response.aiter_raw():
                    self.data += chunk
                self.is_whole = True
        except httpx2.HTTPError:
            pass


class Row(NamedTuple):
    """A run in the database, with the places of its log."""

    id: str
    status: str
    segments: list[tuple[int, int]]


class Bench:
    """One upstream and one database."""

    def __init__(self, folder: Path, database: str, server: Loopback, seed: int) -> None:
        self.folder, self.server, self.random = folder, server, random.Random(seed)
        server.answer = self._answer
        self.pause = 0.004
        self.config = folder / "gateway.toml"
        self.config.write_text(
            f'[gateway]\nproviders = ["local"]\nlisten = "127.0.0.1:0"\ngraceful = 0.2\n[state]\nurl = "{database}"\n'
            f'[upstreams.slow]\nbase_url = "{server.url}"\nmodel = "m"\n'
        )
        self.engine = tables.make_engine(tables.async_url(database), StateSettings(url=database))
        self.http = httpx2.AsyncClient(timeout=PATIENCE, trust_env=False)
        path = os.pathsep.join([str(ROOT), str(ROOT / "adapters"), str(ROOT / "tests")])
        self._forks = subprocess.Popen(
            [sys.executable, "-m", "gateway.soak.node"],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._nodes = 0

    async def aclose(self) -> None:
        await self.http.aclose()
        await self.engine.dispose()
        self._forks.communicate()

    def _answer(self, exchange: Exchange) -> None:
        exchange.send(HEAD)
        for word in WORDS:
            exchange.send(piece(event(word)))
            time.sleep(self.pause)
        exchange.send(b"".join(map(piece, STREAM)) + b"0\r\n\r\n")

    async def node(self, how: str = "", at: int = 0, begin: str = "request") -> Node:
        """Start a gateway with a fault at a point."""
        self._nodes += 1
        shared = self.folder / f"points-{self._nodes}"
        shared.write_bytes(bytes(SIZE))
        log = self.folder / f"node-{self._nodes}.log"
        spec = {"config": str(self.config), "how": how, "at": at, "begin": begin, "shared": str(shared),
                "log": str(log)}  # fmt: skip
        assert self._forks.stdin is not None and self._forks.stdout is not None
        self._forks.stdin.write(json.dumps(spec) + "\n")
        self._forks.stdin.flush()
        line = await asyncio.to_thread(self._forks.stdout.readline)
        assert line, log.read_text() if log.exists() else "the node did not start"
        return Node(**json.loads(line), how=how, shared=shared)

    async def rows(self) -> list[Row]:
        """All runs of the database."""
        async with self.engine.connect() as connection:
            found = (await connection.execute(sa.select(tables.runs.c.id, tables.runs.c.status))).all()
            query = sa.select(tables.segments.c.run, tables.segments.c.first, tables.segments.c.last)
            places: dict[str, list[tuple[int, int]]] = {}
            for run, first, last in await connection.execute(query.order_by(tables.segments.c.first)):
                places.setdefault(run, []).append((first, last))
        return [Row(id_, status, places.pop(id_, [])) for id_, status in found] + [
            Row(id_, "deleted", each) for id_, each in places.items()
        ]

    async def stored(self) -> set[str]:
        """The ids of stored responses."""
        async with self.engine.connect() as connection:
            return {each.id for each in await connection.execute(sa.select(tables.responses.c.id))}

    async def clear(self) -> None:
        """Empty the tables."""
        async with tables.writing(self.engine) as connection:
            for table in (tables.segments, tables.runs, tables.responses):
                await connection.execute(sa.delete(table))

    async def follow(self, node: Node, path: str, id_: str, after: str | None = None) -> Stream:
        """Read a stream of a run from the database, through a node."""
        stream = Stream()
        query = {"stream": "true", **({} if after is None else {AFTER[path]: after})}
        await stream.read(self.http, "GET", f"{node.url}{path}/{id_}", params=query)
        return stream


async def until(true: Callable[[], Any], what: str) -> None:
    """Wait for something to be so."""
    end = time.monotonic() + PATIENCE
    while True:
        found = true()
        if found if not asyncio.iscoroutine(found) else await found:
            return
        assert time.monotonic() < end, what
        await asyncio.sleep(0.01)


async def revive(node: Node) -> None:
    """Let a process that was stopped go on after a while in which others could take it for dead."""
    while node.state:
        if node.state == "T":
            await asyncio.sleep(0.5)
            node.signal(signal.SIGCONT)
            return
        await asyncio.sleep(0.005)


@contextmanager
def upstream() -> Iterator[Loopback]:
    with loopback() as server:
        yield server
