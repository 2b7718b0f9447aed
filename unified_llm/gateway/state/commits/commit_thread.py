"""A thread that commits: its event loop has nothing else to do.

A transaction takes several steps of the driver (begin, the statements, commit, the return of the connection), and after
each the event loop has to come round. In one that serves a thousand streams that takes longer than the database does.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from ..database import writing
from .group_writes import write_group

__all__ = ["CommitThread", "Commits"]


class Commits:
    """Commits groups of writes, one after the other, in the loop that they come from: the way of a database in memory,
    which has one connection."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def commit(self, rows: Sequence[tuple[sa.Table | None, Any]]) -> None:
        """Write rows and ends of runs in one transaction (`write_group`); returns when they are durable."""
        async with writing(self._engine) as connection:
            await write_group(connection, rows)

    async def aclose(self) -> None:
        """Disconnect what is its own."""


class CommitThread(Commits):
    """The same in a loop and a thread of its own, over connections of its own."""

    def __init__(self, engine: Callable[[], AsyncEngine]) -> None:
        super().__init__(engine())
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="unified-llm-commits", daemon=True)
        self._closing: Future[None] | None = None
        try:
            self._thread.start()
        except BaseException:
            self._loop.close()
            raise

    def _serve(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    async def commit(self, rows: Sequence[tuple[sa.Table | None, Any]]) -> None:
        """Write rows and ends of runs in one transaction (`write_group`); returns when they are durable."""
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(super().commit(rows), self._loop))

    async def aclose(self) -> None:
        """Disconnect, and end the thread, even where the wait for it is cancelled. It may be called again."""
        if self._closing is None:
            self._closing = asyncio.run_coroutine_threadsafe(self._engine.dispose(), self._loop)
            self._closing.add_done_callback(lambda _: self._loop.call_soon_threadsafe(self._loop.stop))
        await asyncio.to_thread(self._thread.join)
