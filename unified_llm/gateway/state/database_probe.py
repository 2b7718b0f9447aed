"""Whether the database answers, for probes, which need no key: it is tried at most once a second for all of them."""

from __future__ import annotations

import asyncio
import time

import sqlalchemy as sa

from .store import Store, StoreUnavailable

__all__ = ["Reachable"]

_AGE = 1.0  # seconds that an outcome holds
_PATIENCE = 1.0  # seconds; probes wait about as long for their response


class Reachable:
    """The outcome of the last try."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._found, self._until = False, 0.0
        self._turn = asyncio.Lock()

    async def __call__(self) -> bool:
        """Whether it answers."""
        async with self._turn:
            if time.monotonic() >= self._until:
                self._found = await self._try()
                self._until = time.monotonic() + _AGE
        return self._found

    async def _try(self) -> bool:
        try:
            async with asyncio.timeout(_PATIENCE), self._store.connection() as connection:
                await connection.execute(sa.select(1))
        except (StoreUnavailable, TimeoutError):
            return False
        return True
