"""Readers of event logs: what is durable, from memory where the run is executed here, else from the database.

On PostgreSQL a reader is woken by the nodes that write (`NodeLock`); on SQLite, and while the connection that listens
is lost, it looks again and again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import sqlalchemy as sa

from ....foundation.secret import Secret
from .. import database
from ..store import Store, StoreUnavailable
from .event_log import DONE, LogWriter, Run, Signal, response_of
from .locks import NodeLock

__all__ = ["LogReader"]

_PATIENCE = 60.0  # seconds that a reader waits for a database that is away
_LOOK = 1.0  # seconds between two looks at the log of a run on another node, where nodes notify each other
_GLANCE = 0.05  # seconds between two looks where they do not


class LogReader:
    """The logs as one node reads them; `live` has the writers of the runs that it executes."""

    def __init__(self, store: Store, lock: NodeLock) -> None:
        self.store = store
        self.lock = lock
        self.live: dict[str, LogWriter] = {}
        self._watched: dict[str, list[Signal]] = {}  # runs of other nodes that are read here

    async def follow(self, run: Run, after: int) -> AsyncGenerator[bytes, None]:
        """The events of a run behind a place in its log, as they become durable, to its end.

        Without the database it waits, and ends without the last event when it has waited too long.
        """
        patience = 0.0
        told = Signal()
        self._watched.setdefault(run.id, []).append(told)
        try:
            while True:
                live = self.live.get(run.id)
                signal = told if live is None else live.signal
                seen = signal.version
                try:
                    # Whether it is done is checked first: then all of its events are in the log.
                    done = live.is_done if live is not None else await self._is_done(run)
                    new = live.behind(after) if live is not None else await self.segments(run.id, after)
                except StoreUnavailable:
                    patience = patience or time.monotonic() + _PATIENCE
                    if time.monotonic() > patience:
                        return
                    await asyncio.sleep(_GLANCE)
                    continue
                patience = 0.0
                for first, data in new:
                    for number, event in enumerate(data.split(b"\n\n")[:-1], first):
                        if number > after:
                            after = number
                            yield event + b"\n\n"
                if done:
                    return
                if live is not None:
                    await signal.wait(seen)
                else:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(signal.wait(seen), _LOOK if self.lock.is_listening else _GLANCE)
        finally:
            self._watched[run.id].remove(told)
            if not self._watched[run.id]:
                del self._watched[run.id]

    def heard(self, id_: str) -> None:
        """A node reported that a run has something new."""
        for each in self._watched.get(id_, ()):
            each.tell()

    async def _is_done(self, run: Run) -> bool:
        """Whether nothing more comes to the log of a run; also where it was deleted."""
        query = sa.select(database.runs.c.status).where(database.runs.c.id == run.id)
        async with self.store.connection() as connection:
            status = (await connection.execute(query)).scalar_one_or_none()
        return status is None or status in DONE

    async def response(self, run: Run, secret: Secret) -> dict[str, Any]:
        """The canonical response of a run."""
        frames = b"".join(data for _, data in await self.segments(run.id)) if run.is_done else b""
        return response_of(run, frames, secret)

    async def segments(self, id_: str, after: int = -1) -> list[tuple[int, bytes]]:
        """The stored segments with events behind a place: the place of the first event of each, and its bytes."""
        table = database.segments
        query = (
            sa.select(table.c.first, table.c.data)
            .where(table.c.run == id_, table.c.last > after)
            .order_by(table.c.first)
        )
        async with self.store.connection() as connection:
            return [(row.first, bytes(row.data)) for row in await connection.execute(query)]
