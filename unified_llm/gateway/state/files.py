"""Files and cached prompts of clients, in the database: bounded for each tenant, and deleted when they expire.

A file arrives in parts, each a row, and is complete once its row is marked complete. What is being uploaded counts with
its declared size, so that a tenant cannot have more than its limit by uploading in parallel. Every read and write names
the tenant, but for `find_upload`, whose secret belongs to one upload alone.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from ..configuration.config import StateSettings
from ..responses.replies import Refusal
from .database import file_parts as parts
from .database import file_uses as uses
from .database import files, named

if TYPE_CHECKING:
    from .store import Store

__all__ = [
    "CACHE",
    "FILE",
    "UPLOAD_LIFETIME",
    "FileBudget",
    "FileStore",
    "StorageFull",
    "StoredFile",
    "expire_files",
    "release_files",
]

FILE, CACHE = "file", "cache"
_LATER = "5"  # seconds
UPLOAD_LIFETIME = 86_400.0  # seconds in which the URL of an upload is valid
_LOT = 500  # rows that one step of retention deletes


class StorageFull(Exception):
    """The tenant has no space left: `limit` is its bytes, or its number of files."""

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.limit = limit


class StoredFile(NamedTuple):
    """A file, or a cached prompt, without its data. `head` is JSON; times are in microseconds.

    `reserved` are the bytes that count against the tenant's limit, `received` those that are there.
    """

    tenant: str
    kind: str
    id: str
    status: str
    reserved: int
    received: int
    secret: str | None
    head: Mapping[str, Any]
    created: int
    updated: int
    expires: int

    @property
    def node(self) -> dict[str, Any]:
        """The canonical file, or cache, that protocols write."""
        return {
            **self.head,
            "id": self.id,
            "status": self.status,
            "size": self.received,
            "created_at": self.created / 1e6,
            "updated_at": self.updated / 1e6,
            "expires_at": self.expires / 1e6,
        }


class FileBudget:
    """The bytes of files that the requests of one process hold at the same time.

    >>> from unified_llm.gateway import Config
    >>> budget = FileBudget(Config.model_validate({"state": {"max_file": 100}}).state)
    >>> budget.take(300)
    >>> budget.used
    300
    """

    def __init__(self, settings: StateSettings) -> None:
        self._most = settings.most_files_held()
        self.used: int = 0

    def take(self, size: int) -> None:
        """Count bytes, until they are given back. Raises `Refusal` (429) where there is no room for them."""
        if self.used + size > self._most:
            reason = "the files of other requests fill the memory for files; try again later"
            raise Refusal(429, "rate_limit", reason, code="files_busy", headers={"retry-after": _LATER})
        self.used += size

    def give(self, size: int) -> None:
        """Count bytes no longer."""
        self.used -= size


class FileStore:
    """The files of all tenants; `budget` is what requests of this process hold of them."""

    def __init__(self, store: Store, settings: StateSettings) -> None:
        self.store = store
        self.settings = settings
        self.budget: FileBudget = FileBudget(settings)

    async def create(
        self,
        tenant: str,
        kind: str,
        head: Mapping[str, Any],
        *,
        data: bytes | None = None,
        expected: int = 0,
        id: str = "",
        secret: str = "",
        lifetime: float | None = None,
    ) -> StoredFile:
        """Store `data`, or begin an upload of `expected` bytes. Raises `StorageFull`, and `Conflict` for an id that is
        used."""
        now = time.time_ns() // 1000
        keep = self.settings.files_keep if lifetime is None else min(lifetime, self.settings.files_keep)
        row = StoredFile(
            tenant,
            kind,
            id or secrets.token_hex(16),
            "uploading" if data is None else "ready",
            expected if data is None else len(data),
            len(data or b""),
            digest(secret) if secret else None,
            {**head, "sha256": hashlib.sha256(data).hexdigest()} if data is not None else head,
            now,
            now,
            now + int(keep * 1e6),
        )
        async with self.store.connection(write=True) as connection:
            # One at a time for a tenant: two uploads must not both take the last of its space.
            await _alone(connection, tenant)
            taken = await connection.execute(
                sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(files.c.reserved), 0)).where(
                    files.c.tenant == tenant, files.c.expires > now
                )
            )
            count, size = taken.one()
            if size + row.reserved > self.settings.max_files_size:
                raise StorageFull(f"{self.settings.max_files_size} bytes")
            if count >= self.settings.max_files:
                raise StorageFull(f"{self.settings.max_files} files")
            gone = sa.delete(files).where(_is(tenant, kind, row.id), files.c.expires <= now)
            if (await connection.execute(gone)).rowcount:
                await connection.execute(sa.delete(parts).where(_of(tenant, kind, row.id)))
            values = {**row._asdict(), "head": json.dumps(row.head).encode()}
            await connection.execute(sa.insert(files), [values])
            if data:
                await connection.execute(sa.insert(parts), [_part(row, "0", 0, data)])
        return row

    async def get(self, tenant: str, kind: str, id: str) -> StoredFile | None:
        """A file in whichever state; None for one that is unknown, another tenant's or expired."""
        async with self.store.connection() as connection:
            found = (await connection.execute(sa.select(files).where(_is(tenant, kind, id), _fresh()))).first()
        return None if found is None else _read(found)

    async def find_upload(self, secret: str) -> StoredFile | None:
        """The upload that a secret was made for. A secret is valid for a day, and its file may be kept for longer."""
        async with self.store.connection() as connection:
            begun = files.c.created > time.time_ns() // 1000 - int(UPLOAD_LIFETIME * 1e6)
            query = sa.select(files).where(files.c.secret == digest(secret), begun, _fresh())
            found = (await connection.execute(query)).first()
        return None if found is None else _read(found)

    async def list(self, tenant: str, kind: str) -> list[StoredFile]:
        """The complete files of a tenant, the newest first."""
        query = sa.select(files).where(
            files.c.tenant == tenant, files.c.kind == kind, files.c.status == "ready", _fresh()
        )
        async with self.store.connection() as connection:
            rows = await connection.execute(query.order_by(files.c.created.desc(), files.c.id))
            return [_read(each) for each in rows]

    async def content(self, file: StoredFile) -> bytes:
        """The data of a file."""
        query = sa.select(parts.c.data).where(_of(file.tenant, file.kind, file.id)).order_by(parts.c.place)
        async with self.store.connection() as connection:
            return b"".join([bytes(each.data) for each in await connection.execute(query)])

    async def append(self, file: StoredFile, part: str, data: bytes, *, place: int | None = None) -> StoredFile | None:
        """Add a part to an upload; `place` is the offset that it must begin at.

        None where the upload has moved on, is over, or would be larger than declared.
        """
        async with self.store.connection(write=True) as connection:
            changed = sa.update(files).where(
                _is(file.tenant, file.kind, file.id),
                files.c.status == "uploading",
                files.c.received + len(data) <= files.c.reserved,
            )
            if place is not None:
                changed = changed.where(files.c.received == place)
            values = {"received": files.c.received + len(data), "updated": time.time_ns() // 1000}
            if not (await connection.execute(changed.values(**values))).rowcount:
                return None
            if data:
                await connection.execute(sa.insert(parts), [_part(file, part, place or 0, data)])
        return await self.get(file.tenant, file.kind, file.id)

    async def complete(
        self, file: StoredFile, order: Sequence[str] | None = None, *, md5: str | None = None
    ) -> StoredFile | str:
        """Make an upload a file, of all its parts or of those in `order`; else the reason why that cannot be.

        Parts that are not listed are deleted. An upload that is complete already is returned as it is.
        """
        async with self.store.connection(write=True) as connection:
            # Of two that complete it at the same time, the second one waits here, and reads what the first one wrote.
            query = sa.select(files).where(_is(file.tenant, file.kind, file.id), _fresh()).with_for_update()
            found = (await connection.execute(query)).first()
            if found is not None and found.status == "ready":
                return _read(found)
            if found is None or found.status != "uploading":
                return "the upload is over"
            rows = await connection.execute(sa.select(parts).where(_of(file.tenant, file.kind, file.id)))
            known = {each.part: each for each in sorted(rows, key=lambda each: each.place)}
            names = list(known) if order is None else list(order)
            unknown = [name for name in names if name not in known]
            if unknown or len(set(names)) != len(names):
                return f"unknown part {unknown[0]!r}" if unknown else "a part is listed twice"
            data = b"".join([bytes(known[name].data) for name in names])
            if len(data) != file.reserved:
                return f"{len(data)} bytes were uploaded, {file.reserved} were declared"
            if md5 is not None and hashlib.md5(data, usedforsecurity=False).hexdigest() != md5.lower():
                return "the MD5 of the file is another one"
            await connection.execute(sa.delete(parts).where(_of(file.tenant, file.kind, file.id)))
            if data:
                await connection.execute(sa.insert(parts), [_part(file, "0", 0, data)])
            head = {**file.head, "sha256": hashlib.sha256(data).hexdigest()}
            now = time.time_ns() // 1000
            lifetime = min(file.head.get("lifetime") or self.settings.files_keep, self.settings.files_keep)
            values: dict[str, Any] = {
                "status": "ready",
                "received": len(data),
                "head": json.dumps(head).encode(),
                "updated": now,
                "expires": now + int(lifetime * 1e6),
            }
            await connection.execute(sa.update(files).where(_is(file.tenant, file.kind, file.id)).values(**values))
        return file._replace(**{**values, "head": head})

    async def change(self, file: StoredFile, **values: Any) -> StoredFile:
        """Write columns of a file."""
        values = {**values, "updated": time.time_ns() // 1000}
        async with self.store.connection(write=True) as connection:
            await connection.execute(sa.update(files).where(_is(file.tenant, file.kind, file.id)).values(**values))
        return file._replace(**values)

    async def cancel(self, file: StoredFile) -> StoredFile | None:
        """End an upload, whose data is deleted; None where it is over."""
        values: dict[str, Any] = {
            "status": "cancelled",
            "reserved": 0,
            "received": 0,
            "updated": time.time_ns() // 1000,
        }
        async with self.store.connection(write=True) as connection:
            # Not by the status that was read: another request may have completed it since.
            open_ = _is(file.tenant, file.kind, file.id) & (files.c.status == "uploading")
            if not (await connection.execute(sa.update(files).where(open_).values(**values))).rowcount:
                return None
            await connection.execute(sa.delete(parts).where(_of(file.tenant, file.kind, file.id)))
        return file._replace(**values)

    async def delete(self, tenant: str, kind: str, id: str) -> bool:
        """Delete a file and its data; whether there was one."""
        async with self.store.connection(write=True) as connection:
            return await _delete(connection, tenant, kind, [id]) > 0

    async def used(self, tenant: str, response: str, ids: Sequence[str], lifetime: float) -> None:
        """Note that a stored response refers to files."""
        expires = int(time.time() + lifetime)
        rows = [{"tenant": tenant, "file": id, "response": response, "expires": expires} for id in dict.fromkeys(ids)]
        async with self.store.connection(write=True) as connection:
            await connection.execute(
                sa.delete(uses).where(uses.c.tenant == tenant, uses.c.response == response)
            )  # stored again under the same id
            await connection.execute(sa.insert(uses), rows)


async def release_files(connection: AsyncConnection, tenant: str, response: str) -> None:
    """Delete the files that only this response refers to, in the transaction that deletes the response."""
    mine = sa.select(uses.c.file).where(uses.c.tenant == tenant, uses.c.response == response)
    ids = [each.file for each in await connection.execute(mine)]
    if not ids:
        return
    await connection.execute(sa.delete(uses).where(uses.c.tenant == tenant, uses.c.response == response))
    still = sa.select(uses.c.file).where(
        uses.c.tenant == tenant, uses.c.file.in_(ids), uses.c.expires > int(time.time())
    )
    kept = {each.file for each in await connection.execute(still)}
    await _delete(connection, tenant, FILE, [each for each in ids if each not in kept])


async def expire_files(connection: AsyncConnection) -> int:
    """Delete one lot of what has expired; how many it was."""
    old = sa.select(files.c.tenant, files.c.kind, files.c.id).where(~_fresh()).limit(_LOT)
    rows = [tuple(each) for each in await connection.execute(old)]
    for tenant, kind, id in rows:
        await _delete(connection, tenant, kind, [id])
    await connection.execute(sa.delete(uses).where(uses.c.expires <= int(time.time())))
    return len(rows)


async def _delete(connection: AsyncConnection, tenant: str, kind: str, ids: Sequence[str]) -> int:
    count = 0
    for id in ids:
        done = await connection.execute(sa.delete(files).where(_is(tenant, kind, id)))
        await connection.execute(sa.delete(parts).where(_of(tenant, kind, id)))
        count += done.rowcount
    return count


async def _alone(connection: AsyncConnection, tenant: str) -> None:
    """Wait for other transactions that write this tenant's files; SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        key = int.from_bytes(hashlib.sha256(f"files:{tenant}".encode()).digest()[:8], "big") >> 1
        await connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})


def digest(secret: str) -> str:
    """What is stored of the secret of an upload."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _is(tenant: str, kind: str, id: str) -> Any:
    return (files.c.tenant == tenant) & (files.c.kind == kind) & named(files.c.id, id)


def _of(tenant: str, kind: str, id: str) -> Any:
    return (parts.c.tenant == tenant) & (parts.c.kind == kind) & named(parts.c.id, id)


def _fresh() -> Any:
    return files.c.expires > time.time_ns() // 1000


def _part(file: StoredFile, part: str, place: int, data: bytes) -> dict[str, Any]:
    return {"tenant": file.tenant, "kind": file.kind, "id": file.id, "part": part, "place": place, "data": data}


def _read(row: Any) -> StoredFile:
    found = StoredFile(*(getattr(row, name) for name in StoredFile._fields))
    return found._replace(head=json.loads(found.head))  # type: ignore[arg-type]
