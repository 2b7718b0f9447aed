"""Counters of limits and budgets that all nodes of a database share, and that a restart keeps.

A node counts at once what it admits, and adds it to the database a moment later, in one statement for all counters; the
same statement returns what all nodes have counted. So a limit is exact within what other nodes admit in that moment.
Windows are fixed: they begin with the first use, on whichever node it is.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from ..access.windows import Window
from .database import counters
from .store import Conflict, Store, StoreUnavailable

__all__ = ["SharedCounters"]

_log = logging.getLogger("unified_llm.gateway")
FLUSH = 0.2  # seconds in which uses are collected for one statement


class SharedCounters:
    """Fixed windows in the database: reads are from memory, writes are added behind them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: dict[str, tuple[int, float]] = {}  # what all nodes used, and when the window ends
        self._new: Counter[str] = Counter()  # what was used here since
        self._sent: Counter[str] = Counter()  # what is on its way to the database
        self._lengths: dict[str, int] = {}
        self._flushing: asyncio.Task[None] | None = None

    def used(self, window: Window) -> int:
        """The sum of a window that is known here."""
        used, ends = self._known.get(window.name, (0, 0.0))
        return used + self._sent[window.name] + self._new[window.name] if ends > time.time() else 0

    def ends(self, window: Window) -> float:
        """When a window ends."""
        return max(self._known.get(window.name, (0, 0.0))[1], time.time())

    def add(self, window: Window, amount: int = 1) -> None:
        """Count uses."""
        name, now = window.name, time.time()
        self._lengths[name] = window.seconds
        if self._known.get(name, (0, 0.0))[1] <= now:
            self._known[name] = (0, now + window.seconds)
            self._new.pop(name, None)
        self._new[name] += amount
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.get_running_loop().create_task(self._flush_soon())

    async def open(self) -> None:
        """Read what was used before. Raises `StoreUnavailable`."""
        async with self.store.connection() as connection:
            for row in await connection.execute(sa.select(counters).where(counters.c.ends > int(time.time()))):
                self._known[row.name] = (row.used, float(row.ends))

    async def aclose(self) -> None:
        """Write what is left."""
        if self._flushing is not None:
            self._flushing.cancel()
            await asyncio.gather(self._flushing, return_exceptions=True)
            await self._flush()

    async def _flush_soon(self) -> None:
        while self._new:
            await asyncio.sleep(FLUSH)
            await self._flush()

    async def _flush(self) -> None:
        """Add what was used here, and learn what was used everywhere. What fails is added again to the next one."""
        self._sent, self._new = self._new, Counter()
        try:
            if self._sent:
                async with self.store.connection(write=True) as connection:
                    found = await self._add(connection)
                self._known.update(found)
                self._sent = Counter()
        except (StoreUnavailable, Conflict):
            pass
        finally:
            self._new, self._sent = self._new + self._sent, Counter()

    async def _add(self, connection: AsyncConnection) -> dict[str, tuple[int, float]]:
        now = int(time.time())
        dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
        rows = [
            {"name": name, "used": used, "ends": int(self._known.get(name, (0, 0.0))[1]) or now + self._lengths[name]}
            for name, used in sorted(self._sent.items())  # in one order, or two nodes would wait for each other
        ]
        insert = dialect.insert(counters).values(rows)
        is_over = counters.c.ends <= now
        new = insert.excluded
        statement = insert.on_conflict_do_update(
            index_elements=["name"],
            set_={
                "used": sa.case((is_over, new.used), else_=counters.c.used + new.used),
                "ends": sa.case((is_over, new.ends), else_=counters.c.ends),
            },
        ).returning(counters.c.name, counters.c.used, counters.c.ends)
        return {row.name: (int(row.used), float(row.ends)) for row in await connection.execute(statement)}
