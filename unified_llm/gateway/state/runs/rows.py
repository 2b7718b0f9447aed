"""The rows of runs in the database. What changes one names the node that has it: of two nodes one gets a `Conflict`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from ....foundation.json_codec import dump
from ..commits.group_writes import Ending
from ..database import named, runs
from ..store import Conflict, Store
from ..stored_rows import Stored
from .event_log import Run, read_run
from .locks import CANCEL, notify

__all__ = ["change_head", "claim", "end", "find", "mark_cancelled", "owners", "unfinished"]

_OPEN = runs.c.status == "in_progress"


async def find(store: Store, tenant: str, id_: str) -> Run | None:
    """A run of a tenant."""
    where = named(runs.c.id, id_) & (runs.c.tenant == tenant) & (runs.c.expires > int(time.time()))
    async with store.connection() as connection:
        row = (await connection.execute(sa.select(runs).where(where))).first()
    return None if row is None else read_run(row)


async def unfinished(store: Store, node: str) -> list[tuple[str, str, bool]]:
    """The id and tenant of the runs of a node that have not ended, and whether each is to be cancelled."""
    query = sa.select(runs.c.id, runs.c.tenant, runs.c.cancel).where(_OPEN, runs.c.owner == node)
    async with store.connection() as connection:
        return [tuple(each) for each in await connection.execute(query)]


async def owners(store: Store) -> list[str]:
    """The nodes that have runs which have not ended."""
    # From one owner to the next in the index: the runs of a node are not read by all the others.
    first = sa.select(sa.func.min(runs.c.owner).label("owner")).where(_OPEN).cte("owners", recursive=True)
    behind = sa.select(sa.func.min(runs.c.owner)).where(_OPEN, runs.c.owner > first.c.owner).scalar_subquery()
    found = first.union_all(sa.select(behind).where(first.c.owner.is_not(None)))
    async with store.connection() as connection:
        return [each.owner for each in await connection.execute(sa.select(found.c.owner)) if each.owner is not None]


async def mark_cancelled(store: Store, id_: str) -> None:
    """Have the node that executes a run cancel it."""
    async with store.connection(write=True) as connection:
        await connection.execute(sa.update(runs).where(runs.c.id == id_).values(cancel=True))
        await notify(connection, [f"{CANCEL}{id_}"])


async def claim(store: Store, run: Run, node: str, head: Mapping[str, Any]) -> Run:
    """A run of another node as this one's. Raises `Conflict` where it has ended, or a third node has it."""
    async with store.connection(write=True) as connection:
        values = {"owner": node, "head": dump(head)}
        done = await connection.execute(sa.update(runs).where(_has(run, run.owner)).values(**values))
    if done.rowcount != 1:
        raise Conflict(run.id)
    return run._replace(owner=node, head=head)


async def change_head(store: Store, run: Run, node: str, head: Mapping[str, Any]) -> Run:
    """A run with another head. Raises `Conflict`."""
    async with store.connection(write=True) as connection:
        done = await connection.execute(sa.update(runs).where(_has(run, node)).values(head=dump(head)))
        if done.rowcount != 1:
            raise Conflict(run.id)
    return run._replace(head=head)


async def end(
    store: Store,
    run: Run,
    node: str,
    status: str,
    error: Mapping[str, Any] | None,
    row: Mapping[str, Any] | None,
    frames: bytes,
    upstream: str,
) -> None:
    """End a run in one transaction: its status, the last segment, the stored response. Raises `Conflict`."""
    head = {**run.head, **({"error": dict(error)} if error is not None else {})}
    request = run.head["request"].encode("utf-8", "surrogateescape")
    stored: list[dict[str, Any]] = []
    if status in ("completed", "incomplete"):
        whole = Stored(
            run.tenant, run.id, run.surface, run.head.get("previous"), upstream, True, request, frames,
            run.created, run.expires,
        )  # fmt: skip
        stored.append(whole.packed())
    last = [] if row is None else [dict(row)]
    await store.end(Ending(run.id, node, status, dump(head), last, stored))


def _has(run: Run, node: str) -> Any:
    """That a node has a run, which has not ended."""
    return (runs.c.id == run.id) & (runs.c.owner == node) & (runs.c.status == "in_progress")
