"""The continuity vault in the database: opaque data that clients drop, given back on any node and after a restart.

Conversions look into a vault without waiting, so each request has one of its own over a cache of the process. What was
missed there is fetched in one query before anything is sent, and the request is converted once more if something was
found. What a response left in the vault is written before its client sees that it is complete, and lives as long as
the response: it is deleted with it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Generator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
import zstandard

from ...client.connections.io import AsyncWire
from ...client.transports.translator import Incoming, Reply, Translator
from ...foundation.json_codec import dump
from ..access.space import Space
from ..responses.replies import Refusal
from .database import vault
from .store import Conflict, Store, StoreUnavailable
from .stored_responses import Recalled

__all__ = ["Continuity", "RequestVault", "ask", "ask_patiently", "keep"]

_log = logging.getLogger("unified_llm.gateway")
_BYTES = 128_000_000  # of the cache
_ABSENT = 100_000  # keys that are known to be absent
_LOOK = 2.0  # seconds between two looks into an empty table
_MOST = 1_000  # keys of one query
_PATIENCE = 600.0  # seconds that a run waits for room for its files
_PAUSE = 1.0  # seconds between two tries

_Key = tuple[str, str]


class Continuity:
    """The vaults of all tenants: a bounded cache, and the table behind it."""

    def __init__(self, store: Store, space: Space) -> None:
        self.store: Store = store
        self.space: Space = space
        self._cache: OrderedDict[_Key, bytes] = OrderedDict()
        self._size = 0
        self._absent: OrderedDict[_Key, None] = OrderedDict()
        self._of: OrderedDict[str, set[_Key]] = OrderedDict()  # the entries of each response
        store.on_delete = self.forget
        self._is_empty = True  # as far as is known
        self._looked = float("-inf")

    async def within(self, tenant: str, is_stored: bool = True) -> RequestVault:
        """The vault of one request; without `is_stored` it writes nothing to the database."""
        if self._is_empty and time.monotonic() > self._looked + _LOOK:
            self._looked = time.monotonic()
            try:
                async with self.store.connection() as connection:
                    found = await connection.execute(sa.select(vault.c.key).limit(1))
                    self._is_empty = self._is_empty and found.first() is None
            except StoreUnavailable:
                pass
        return RequestVault(self, tenant, is_stored)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to find, for anybody."""
        return self._is_empty and not self._cache

    def cached(self, key: _Key) -> bytes | None:
        """An entry of the cache."""
        found = self._cache.get(key)
        if found is not None:
            self._cache.move_to_end(key)
        return found

    def is_absent(self, key: _Key) -> bool:
        """Whether the database is known not to have an entry."""
        return key in self._absent

    def put(self, key: _Key, value: bytes) -> None:
        """Cache an entry; those used longest ago go first."""
        self._absent.pop(key, None)
        self._size += len(value) - len(self._cache.pop(key, b""))
        self._cache[key] = value
        while self._cache and self._size > _BYTES:
            self._size -= len(self._cache.popitem(last=False)[1])

    def drop(self, key: _Key) -> None:
        """Take an entry out of the cache."""
        self._size -= len(self._cache.pop(key, b""))

    async def fetch(self, tenant: str, keys: list[str]) -> bool:
        """Cache what the database has under some keys; whether it has anything."""
        query = sa.select(vault.c.key, vault.c.value, vault.c.response).where(
            vault.c.tenant == tenant, vault.c.key.in_(keys), vault.c.expires > int(time.time())
        )
        async with self.store.connection() as connection:
            found = (await connection.execute(query)).all()
        self._absent.update(((tenant, name), None) for name in keys)
        for row in found:
            self.put((tenant, row.key), zstandard.decompress(row.value))
            self._note(row.response, (tenant, row.key))
        while len(self._absent) > _ABSENT:
            self._absent.popitem(last=False)
        return bool(found)

    async def write(self, tenant: str, response: str | None, entries: dict[str, bytes]) -> None:
        """Write entries of a response. Raises `StoreUnavailable`."""
        now = int(time.time())
        self._is_empty = False
        for name, value in entries.items():
            self._note(response, (tenant, name))
            packed = zstandard.compress(value)
            row = {"tenant": tenant, "key": name, "response": response, "value": packed}
            await self.store.insert(vault, {**row, "expires": now + int(self.store.settings.keep)})

    def _note(self, response: str | None, key: _Key) -> None:
        if response is not None:
            self._of.setdefault(response, set()).add(key)
            while len(self._of) > _ABSENT:
                self._of.popitem(last=False)

    def forget(self, response: str) -> None:
        """Drop the entries of a deleted response from the cache. Another tenant's are fetched again."""
        for key in self._of.pop(response, ()):
            self.drop(key)


class RequestVault:
    """The vault of one request. `missed` are the keys that the cache did not have."""

    def __init__(self, behind: Continuity, tenant: str, is_stored: bool) -> None:
        self._behind, self._tenant, self._is_stored = behind, tenant, is_stored
        self.missed: dict[str, None] = {}
        self._new: dict[str, bytes] = {}

    @property
    def empty(self) -> bool:
        """Whether the store is known to hold nothing at all."""
        return self._behind.empty

    def put(self, key: str, items: list[dict[str, Any]]) -> None:
        """Store items under a key of this tenant; they are written with the response."""
        self._new[key] = value = dump(items)
        self._behind.put((self._tenant, key), value)

    def get(self, key: str) -> list[dict[str, Any]] | None:
        """The items under a key of this tenant; None where memory has none, and the key is noted in `missed`."""
        found = self._behind.cached((self._tenant, key))
        if found is None and not self._behind.is_absent((self._tenant, key)):
            self.missed[key] = None
        return None if found is None else json.loads(found)

    async def recall(self) -> bool:
        """Fetch what was missed; whether anything was found. Without the database nothing is.

        What was put without it is taken back: the request is converted once more, and may put less.
        """
        keys, self.missed = list(self.missed)[:_MOST], {}
        try:
            if not keys or not await self._behind.fetch(self._tenant, keys):
                return False
        except StoreUnavailable:
            return False
        entries, self._new = self._new, {}
        for name, value in entries.items():
            if self._behind.cached((self._tenant, name)) is value:
                self._behind.drop((self._tenant, name))
        return True

    async def keep(self, response: str | None = None) -> None:
        """Write what was put, as a part of a response.

        Without the database, or where the tenant has no room, it stays in the cache of this process.
        """
        entries, self._new = self._new, {}
        if entries and self._is_stored and not await self._behind.space.is_full(self._tenant):
            try:
                await self._behind.write(self._tenant, response, entries)
            except (StoreUnavailable, Conflict):
                _log.warning("reasoning state could not be stored")


async def ask(wire: AsyncWire, translator: Translator, incoming: Incoming) -> Reply:
    """The reply to a request, converted with what the vault in the database has for it.

    Its files are in memory until the upstream answers. Raises `Refusal` (429, 503) where they cannot be.
    """
    memory = translator.memory
    async with memory.with_files() if isinstance(memory, Recalled) else nullcontext():
        reply = await _asked(wire, translator, incoming)
    if reply.opened is not None:  # a stream needs nothing of its request but the exchange
        reply.opened.sent = replace(reply.opened.sent, value=None)
    return reply


async def ask_patiently(wire: AsyncWire, translator: Translator, incoming: Incoming) -> Reply:
    """`ask`, for a request that no client waits for: it waits until its files can be in memory.

    Raises `Refusal` where that takes longer than 10 minutes, and for any other reason.
    """
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return await ask(wire, translator, incoming)
        except Refusal as refusal:
            if refusal.status not in (429, 503) or time.monotonic() >= end:
                raise
        await asyncio.sleep(_PAUSE)


async def _asked(wire: AsyncWire, translator: Translator, incoming: Incoming) -> Reply:
    steps = translator.steps(incoming)
    if not isinstance(translator.vault, RequestVault) or translator.vault.empty:
        return await _done(wire, steps)
    try:
        first = next(steps)  # the request is converted, and nothing is sent
    except StopIteration as end:
        reply: Reply = end.value
        return reply
    if translator.vault.missed and await translator.vault.recall():
        steps.close()
        return await _done(wire, translator.steps(incoming))
    return await _done(wire, _from(first, steps))


async def keep(translator: Translator, response: str | None = None) -> None:
    """Write what a response left in the vault, with its id where it is stored."""
    if isinstance(translator.vault, RequestVault):
        await translator.vault.keep(response)


async def _done(wire: AsyncWire, steps: Any) -> Reply:
    reply: Reply = await wire.run(steps)
    return reply


def _from(effect: Any, steps: Generator[Any, Any, Reply]) -> Generator[Any, Any, Reply]:
    """The rest of a generator whose first effect was taken already."""
    try:
        while True:
            try:
                given = yield effect
            except BaseException as error:
                effect = steps.throw(error)
            else:
                effect = steps.send(given)
    except StopIteration as end:
        reply: Reply = end.value
        return reply
    finally:
        steps.close()
