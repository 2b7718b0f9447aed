"""The statements of one group of writes: rows of any table, and the ends of runs, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from ..database import responses, runs, segments, vault
from ..runs.locks import notify

__all__ = ["Conflict", "Ending", "write_group"]

_KEYS = ("tenant", "key")  # of a vault entry


class Conflict(Exception):
    """Another node was first: a row with this key is there already, or a run is not this node's to end."""


class Ending(NamedTuple):
    """The end of a run: its status and head, the last rows of its log, and the response that is stored, if any."""

    run: str
    owner: str
    status: str
    head: bytes
    segments: Sequence[dict[str, Any]]
    responses: Sequence[dict[str, Any]]


async def write_group(connection: AsyncConnection, rows: Sequence[tuple[sa.Table | None, Any]]) -> None:
    """Write rows of tables and, without a table, ends of runs. Raises `Conflict` where one of these cannot end."""
    # The same key twice in one group: the later row is meant, as with one commit after the other.
    replaced = {(row["tenant"], row["key"]): row for table, row in rows if table is vault}
    if replaced:
        # Nodes that write the same rows in another order would wait for each other.
        await connection.execute(_replacing(connection), [replaced[key] for key in sorted(replaced)])
    endings: list[Ending] = [row for table, row in rows if table is None]
    if endings:
        await _end(connection, endings)
    added: dict[sa.Table, list[dict[str, Any]]] = {
        responses: [row for each in endings for row in each.responses],
        runs: [],
        segments: [row for each in endings for row in each.segments],
    }
    for table, row in rows:
        if table in added:
            added[table].append(row)
    added[responses].sort(key=lambda row: (row["tenant"], row["id"]))
    for table, new in added.items():
        if new:
            await connection.execute(_INSERTS[table], new)
    await notify(connection, dict.fromkeys([*(row["run"] for row in added[segments]), *(each.run for each in endings)]))


_INSERTS = {table: sa.insert(table) for table in (responses, runs, segments)}
_MINE = sa.select(runs.c.id).where(
    runs.c.id.in_(sa.bindparam("ids", expanding=True)),
    runs.c.owner == sa.bindparam("node"),
    runs.c.status == "in_progress",
)
# Locked until the commit, in one order: a node that takes runs over, or deletes them, waits. SQLite has one writer.
_LOCKED = _MINE.order_by(runs.c.id).with_for_update()
_ENDED = (
    sa.update(runs)
    .where(runs.c.id == sa.bindparam("run"))
    .values(status=sa.bindparam("ended"), head=sa.bindparam("last"))
)


async def _end(connection: AsyncConnection, endings: Sequence[Ending]) -> None:
    for owner in sorted({each.owner for each in endings}):
        ids = sorted(each.run for each in endings if each.owner == owner)
        found = await connection.execute(_LOCKED, {"ids": ids, "node": owner})
        if len(found.all()) != len(ids):
            raise Conflict
    changes = [{"run": each.run, "ended": each.status, "last": each.head} for each in endings]
    await connection.execute(_ENDED, changes)


def _replacing(connection: AsyncConnection) -> Any:
    """The statement for vault entries, which replace those with the same key."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    insert = dialect.insert(vault)
    changed = {each.name: insert.excluded[each.name] for each in vault.c if each.name not in _KEYS}
    return insert.on_conflict_do_update(index_elements=_KEYS, set_=changed)
