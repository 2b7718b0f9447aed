"""How much a tenant may store beside its files: responses, runs with their logs, conversations, kept reasoning state.

The database counts by itself, exactly (`state/migrations/versions/v0007_stored_bytes.py`). Here its count is read, a
moment old while there is room: it is looked at before a request is sent, so that what is under way when the limit is
reached is still stored.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress

import sqlalchemy as sa

from ...client.transports.route_matching import Match
from ..configuration.config import StateSettings
from ..requests.body import Peek
from ..responses.replies import Refusal
from ..state.database import stored_bytes
from ..state.store import Conflict, Store, StoreUnavailable
from ..state.stored_responses import stores

__all__ = ["Space"]

_FAR, _NEAR = 1.0, 0.1  # seconds that a count may be old, while less than half is used and above that
_MANY, _LOT = 500, 5_000  # rows of one tenant above which they are added up, and how many at once


class Space:
    """What each tenant has stored."""

    def __init__(self, store: Store, settings: StateSettings) -> None:
        self._store, self._most = store, settings.max_stored
        self._known: dict[str, tuple[int, float]] = {}  # bytes, and when they were read

    async def used(self, tenant: str) -> int:
        """The bytes that a tenant has stored. Raises `StoreUnavailable`."""
        mine = stored_bytes.c.tenant == tenant
        query = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(stored_bytes.c.used), 0)).where(mine)
        async with self._store.connection() as connection:
            rows, used = (await connection.execute(query)).one()
        if rows > _MANY:
            with suppress(Conflict):  # of two nodes that do it at once one changes nothing
                await self._add_up(tenant)
        return int(used)

    async def is_full(self, tenant: str) -> bool:
        """Whether a tenant has no room. Without the database it is unknown, and False."""
        used, read_at = self._known.get(tenant, (0, -math.inf))
        age, now = time.monotonic() - read_at, time.monotonic()
        if used >= self._most or age >= (_FAR if 2 * used < self._most else _NEAR):
            self._known[tenant] = used, now  # others do not read it too in the meantime
            try:
                used = await self.used(tenant)
            except StoreUnavailable:
                return False
            self._known[tenant] = used, now
        return used >= self._most

    async def check(self, tenant: str) -> None:
        """Raise `Refusal` (429) where a tenant has no room."""
        if await self.is_full(tenant):
            reason = (
                f"the tenant has stored its limit of {self._most} bytes; delete responses or conversations, "
                "wait until they expire, or set store to false"
            )
            raise Refusal(429, "quota", reason, code="storage_full", headers={"x-should-retry": "false"})

    async def check_request(self, match: Match, tenant: str, found: Peek) -> None:
        """The same for a request, if its response is to be stored."""
        if match.route.kind == "request" and (found.conversation or stores(match.protocol, found)):
            await self.check(tenant)

    async def _add_up(self, tenant: str) -> None:
        """Make one row of many, but for those that another node adds up just now."""
        mine = stored_bytes.c.tenant == tenant
        free = sa.select(stored_bytes.c.place).where(mine, stored_bytes.c.place != 0).limit(_LOT)
        async with self._store.connection(write=True) as connection:
            places = [each.place for each in await connection.execute(free.with_for_update(skip_locked=True))]
            gone = sa.delete(stored_bytes).where(mine, stored_bytes.c.place.in_(places))
            used = sum(each.used for each in await connection.execute(gone.returning(stored_bytes.c.used)))
            add = sa.update(stored_bytes).where(mine, stored_bytes.c.place == 0)
            if not (await connection.execute(add.values(used=stored_bytes.c.used + used))).rowcount:
                await connection.execute(sa.insert(stored_bytes), [{"tenant": tenant, "place": 0, "used": used}])
