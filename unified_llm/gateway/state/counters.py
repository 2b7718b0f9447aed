"""Counters of limits and budgets that all nodes of a database share, and that a restart keeps.

A node counts at once what it admits, and adds it to the database a moment later, in one statement for all counters; the
same statement returns what all nodes have counted. A node whose count is older than such a moment reads it
before it admits. So a limit is exact within what other nodes admit in two such moments, 0.2 seconds. Windows are fixed:
they begin with the first use, on whichever node it is.
"""

from __future__ import annotations

import asyncio
import logging
import math
import sys
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from ..access.windows import Window
from .database import counters
from .store import Conflict, Store, StoreUnavailable

__all__ = ["SharedCounters"]

_log = logging.getLogger("unified_llm.gateway")
FLUSH = 0.1  # seconds in which uses are collected for one statement, and that a count may be old
FAR = 1.0  # seconds that a count may be old while more than half is unused
_APART = 60  # seconds that the clocks of two nodes may be apart
_PATIENCE = 1.0  # seconds that a request waits for a count, and in which none waits after that was in vain


class SharedCounters:
    """Fixed windows in the database: reads are from memory, writes are added behind them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: dict[str, tuple[int, float]] = {}  # what all nodes used, and when the window ends
        self._new: Counter[str] = Counter()  # what was used here since
        self._sent: Counter[str] = Counter()  # what is on its way to the database
        self._lengths: dict[str, int] = {}
        self._read_at: dict[str, float] = {}  # when the count of all nodes was read
        self._asked: set[str] = set()  # what is to be read
        self._no_sooner = 0.0  # when it may be read again
        # A count that is read while uses are on their way might contain them, and they would count twice.
        self._turn = asyncio.Lock()
        self._flushing: asyncio.Task[None] | None = None

    def used(self, window: Window) -> int:
        """The sum of a window that is known here."""
        used, ends = self._current(window)
        return used + self._sent[window.name] + self._new[window.name] if ends else 0

    def ends(self, window: Window, over: int = 0) -> float:
        """When a window ends."""
        return max(self._current(window)[1], time.time())

    def _current(self, window: Window) -> tuple[int, float]:
        """What is known of a window that has not ended.

        One that ends later than one that begins now is of before the clock was set back: it would be longer by as much.
        The next use gives it an end.
        """
        used, ends = self._known.get(window.name, (0, 0.0))
        now = time.time()
        return (used, ends) if now < ends <= now + window.seconds + _APART else (0, 0.0)

    def clears(self, window: Window) -> float:
        """When a window ends."""
        return self.ends(window)

    def add(self, window: Window, amount: int = 1) -> None:
        """Count uses."""
        name, now = window.name, time.time()
        self._lengths[name] = window.seconds
        if not self._current(window)[1]:
            self._known[name] = (0, now + window.seconds)
            self._new.pop(name, None)
        self._new[name] += amount
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.get_running_loop().create_task(self._flush_soon())

    def is_stale(self, window: Window, amount: int) -> bool:
        """Whether a use has to wait for `refresh`: other nodes may have used up the amount, and here it is not seen."""
        used = self.used(window)
        return used < amount and self.is_old(window, FLUSH if 2 * used >= amount else FAR)

    def is_old(self, window: Window, seconds: float = FLUSH) -> bool:
        """Whether a count was read so long ago, and can be read again."""
        if time.monotonic() < self._no_sooner or self.store.is_away:
            return False
        return self._age(window) >= seconds

    def _age(self, window: Window) -> float:
        """Seconds since a count was read."""
        return time.monotonic() - self._read_at.get(window.name, -math.inf)

    async def read(self, windows: Iterable[Window]) -> None:
        """Read what all nodes have used, for all who wait in one statement. Raises `StoreUnavailable`."""
        self._asked.update(window.name for window in windows if self._age(window) >= FLUSH)
        async with self._turn:
            if self._asked:  # else it was read in the meantime
                await self._read(counters.c.name.in_(sorted(self._asked)))

    async def refresh(self, windows: Iterable[Window]) -> None:
        """Read it for requests, which go on without it where the database is away or takes too long."""
        try:
            async with asyncio.timeout(_PATIENCE):
                await self.read(windows)
        except (StoreUnavailable, TimeoutError):
            self._no_sooner = time.monotonic() + _PATIENCE

    async def open(self) -> None:
        """Read what was used before. Raises `StoreUnavailable`."""
        async with self._turn:
            await self._read(sa.true())

    async def _read(self, which: sa.ColumnElement[bool]) -> None:
        names, self._asked, began = self._asked, set(), time.monotonic()
        try:
            async with self.store.connection() as connection:
                found = await connection.execute(sa.select(counters).where(which, counters.c.ends > int(time.time())))
                self._learn({row.name: (int(row.used), float(row.ends)) for row in found}, began)
        except BaseException:
            self._asked |= names  # the next one reads it, also where a client has left
            raise
        self._read_at.update(dict.fromkeys(names, began))  # of what is unused there is none

    def _learn(self, found: dict[str, tuple[int, float]], began: float) -> None:
        """Take what all nodes have used."""
        self._known.update(found)
        self._read_at.update(dict.fromkeys(found, began))
        self._asked -= found.keys()

    async def aclose(self) -> None:
        """Write what is left."""
        if self._flushing is not None:
            async with self._turn:  # not in the middle of a statement: that may leave its transaction open
                self._flushing.cancel()
            await asyncio.gather(self._flushing, return_exceptions=True)
            await self._flush()

    async def _flush_soon(self) -> None:
        while self._new:
            await asyncio.sleep(FLUSH)
            await self._flush()

    async def _flush(self) -> None:
        """Add what was used here, and learn what was used everywhere. What fails is added again to the next one."""
        async with self._turn:
            self._sent, self._new, began = self._new, Counter(), time.monotonic()
            try:
                if self._sent:
                    async with self.store.connection(write=True) as connection:
                        found = await self._add(connection)
                    self._learn(found, began)
                    self._sent = Counter()
            except (StoreUnavailable, Conflict):
                pass
            finally:
                self._new, self._sent = self._new + self._sent, Counter()

    def _end_of(self, name: str, now: int) -> int:
        known = int(self._known.get(name, (0, 0.0))[1])
        return min(known or sys.maxsize, now + self._lengths[name])

    async def _add(self, connection: AsyncConnection) -> dict[str, tuple[int, float]]:
        now = int(time.time())
        dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
        rows = [
            {"name": name, "used": used, "ends": self._end_of(name, now)}
            for name, used in sorted(self._sent.items())  # in one order, or two nodes would wait for each other
        ]
        insert = dialect.insert(counters).values(rows)
        is_over = counters.c.ends <= now
        new = insert.excluded
        statement = insert.on_conflict_do_update(
            index_elements=["name"],
            set_={
                "used": sa.case((is_over, new.used), else_=counters.c.used + new.used),
                "ends": sa.case((is_over | (counters.c.ends > new.ends + _APART), new.ends), else_=counters.c.ends),
            },
        ).returning(counters.c.name, counters.c.used, counters.c.ends)
        return {row.name: (int(row.used), float(row.ends)) for row in await connection.execute(statement)}
