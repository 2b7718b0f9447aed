"""A thread that commits: its event loop has nothing else to do.

A transaction takes several steps of the driver (begin, the statements, commit, the return of the connection), and after
each the event loop has to come round. In one that serves a thousand streams that takes longer than the database does.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from ..database import writing
from .group_writes import write_group

__all__ = ["CommitThread"]


class CommitThread:
    """Commits groups of writes over connections of its own, one group after the other."""

    def __init__(self, engine: Callable[[], AsyncEngine]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="unified-llm-commits", daemon=True)
        self._engine = engine()
        self._thread.start()

    async def commit(self, rows: Sequence[tuple[sa.Table | None, Any]]) -> None:
        """Write rows and ends of runs in one transaction (`write_group`); returns when they are durable."""
        await self._run(self._commit(rows))

    async def _commit(self, rows: Sequence[tuple[sa.Table | None, Any]]) -> None:
        async with writing(self._engine) as connection:
            await write_group(connection, rows)

    async def aclose(self) -> None:
        """Disconnect, and end the thread."""
        await self._run(self._engine.dispose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)
        self._loop.close()

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))
