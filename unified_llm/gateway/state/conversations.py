"""Conversations in the database: their items in order, appended by one request at a time.

The row of the conversation gives each item its place, and is locked while items are written, so that two responses
that end at once come one behind the other. A conversation expires when nothing was added to it for as long as a
response is kept.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from ...foundation.json_codec import dump, parse
from .database import conversation_items as items
from .database import conversations, named

if TYPE_CHECKING:
    from .store import Store

__all__ = ["Conversation", "ConversationStore", "expire_conversations"]

_LOT = 500  # conversations that one step of retention deletes
Node = dict[str, Any]


class Conversation(NamedTuple):
    """A conversation; `size` is that of its items in bytes."""

    tenant: str
    id: str
    metadata: Node
    size: int
    created: int

    @property
    def node(self) -> Node:
        """The canonical conversation that protocols write."""
        return {"id": self.id, "metadata": self.metadata, "created_at": self.created}


class ConversationStore:
    """The conversations of all tenants. Everything raises `StoreUnavailable`."""

    def __init__(self, store: Store, keep: float) -> None:
        self.store = store
        self._keep = int(keep)

    async def create(self, tenant: str, metadata: Mapping[str, Any], added: Sequence[Node]) -> Conversation:
        """Create a conversation with its first items."""
        now = int(time.time())
        made = Conversation(tenant, secrets.token_hex(24), dict(metadata), sum(len(dump(each)) for each in added), now)
        row = {"tenant": tenant, "id": made.id, "head": dump(made.metadata), "size": made.size, "next": len(added)}
        async with self.store.connection(write=True) as connection:
            times = {"created": now, "expires": now + self._keep}
            await connection.execute(sa.insert(conversations), [{**row, **times}])
            await _insert(connection, tenant, made.id, added, 0)
        return made

    async def get(self, tenant: str, id_: str) -> Conversation | None:
        """A conversation; None for one that is unknown, another tenant's or expired."""
        async with self.store.connection() as connection:
            row = (await connection.execute(sa.select(conversations).where(_is(tenant, id_)))).first()
        return None if row is None else Conversation(tenant, id_, parse(row.head), row.size, row.created)

    async def change(self, tenant: str, id_: str, metadata: Mapping[str, Any]) -> bool:
        """Replace the metadata; False where the conversation is gone."""
        async with self.store.connection(write=True) as connection:
            change = sa.update(conversations).where(_is(tenant, id_)).values(head=dump(dict(metadata)))
            return bool((await connection.execute(change)).rowcount)

    async def delete(self, tenant: str, id_: str) -> bool:
        """Delete a conversation with its items; whether there was one."""
        async with self.store.connection(write=True) as connection:
            done = await connection.execute(sa.delete(conversations).where(_is(tenant, id_)))
            await connection.execute(sa.delete(items).where(_of(tenant, id_)))
        return bool(done.rowcount)

    async def items(self, tenant: str, id_: str) -> list[Node]:
        """The items of a conversation, the first of them first."""
        query = sa.select(items.c.data).where(_of(tenant, id_)).order_by(items.c.place)
        async with self.store.connection() as connection:
            return [parse(row.data) for row in await connection.execute(query)]

    async def append(self, tenant: str, id_: str, added: Sequence[Node]) -> bool:
        """Add items to the end; False where the conversation is gone."""
        change = {
            "next": conversations.c.next + len(added),
            "size": conversations.c.size + sum(len(dump(each)) for each in added),
            "expires": int(time.time()) + self._keep,
        }
        # One statement: between two of them the conversation may expire.
        changed = sa.update(conversations).where(_is(tenant, id_)).values(change).returning(conversations.c.next)
        async with self.store.connection(write=True) as connection:
            behind = (await connection.execute(changed)).scalar_one_or_none()
            if behind is None:
                return False
            await _insert(connection, tenant, id_, added, behind - len(added))
        return True

    async def delete_item(self, tenant: str, id_: str, item: str) -> bool:
        """Delete one item; whether there was one."""
        async with self.store.connection(write=True) as connection:
            where = _of(tenant, id_) & named(items.c.id, item)
            sizes = [len(row.data) for row in await connection.execute(sa.select(items.c.data).where(where))]
            await connection.execute(sa.delete(items).where(where))
            size = conversations.c.size - sum(sizes)
            await connection.execute(sa.update(conversations).where(_is(tenant, id_)).values(size=size))
        return bool(sizes)


async def _insert(connection: AsyncConnection, tenant: str, id_: str, added: Sequence[Node], first: int) -> None:
    """Insert items, the first of them at a place."""
    rows = [
        {"tenant": tenant, "conversation": id_, "place": place, "id": str(item["id"]), "data": dump(item)}
        for place, item in enumerate(added, first)
    ]
    if rows:
        await connection.execute(sa.insert(items), rows)


async def expire_conversations(connection: AsyncConnection) -> int:
    """Delete one lot of what has expired; how many conversations it was."""
    old = (
        sa.select(conversations.c.tenant, conversations.c.id)
        .where(conversations.c.expires <= int(time.time()))
        .limit(_LOT)
    )
    names = [tuple(each) for each in await connection.execute(old)]
    if names:
        of = sa.tuple_(items.c.tenant, items.c.conversation)
        await connection.execute(sa.delete(items).where(of.in_(names)))
        key = sa.tuple_(conversations.c.tenant, conversations.c.id)
        await connection.execute(sa.delete(conversations).where(key.in_(names)))
    return len(names)


def _is(tenant: str, id_: str) -> Any:
    live = conversations.c.expires > int(time.time())
    return (conversations.c.tenant == tenant) & named(conversations.c.id, id_) & live


def _of(tenant: str, id_: str) -> Any:
    return (items.c.tenant == tenant) & named(items.c.conversation, id_)
