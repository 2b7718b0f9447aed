"""Which nodes are alive: each holds a lock for as long as its process lives, and the others try it.

No clock and no heartbeat: a busy or stopped process keeps its lock, a killed one has lost it. On PostgreSQL the lock is
a session advisory lock, on SQLite a lock on a file beside the database.

The connection that holds the lock on PostgreSQL also listens: nodes notify each other of runs that have something new
(NOTIFY, in the transaction that writes it). On SQLite there is no such thing, and readers look again and again.
"""

from __future__ import annotations

import asyncio
import glob
import hashlib
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from ..database import is_in_memory

__all__ = ["CANCEL", "DELETED", "NodeLock", "notify"]

if sys.platform != "win32":
    import fcntl
else:  # pragma: no cover - one node on SQLite there
    fcntl = None


CANCEL, DELETED = "cancel:", "deleted:"
"""What comes before the id in a word that a run is to be cancelled, or that a response was deleted."""
_CHANNEL = "unified_llm_runs"
_MOST = 7_900  # bytes of one notice


async def notify(connection: AsyncConnection, words: Iterable[str]) -> None:
    """Send words to all nodes, once the transaction is committed. Does nothing on SQLite."""
    if connection.dialect.name != "postgresql":
        return
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) >= _MOST:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    statement = sa.text("SELECT pg_notify(:channel, :line)")
    for line in filter(None, lines):
        await connection.execute(statement, {"channel": _CHANNEL, "line": line})


class NodeLock:
    """The lock of this process (`node` is its name), and a look at those of others.

    `heard` is called with each word that a node sent (`notify`), this one included.
    """

    def __init__(self, heard: Callable[[str], None] | None = None) -> None:
        self.node: str = uuid4().hex
        self._heard = heard
        self._file: Any = None
        self._raw: Any = None  # the connection of the driver that listens
        self._connection: AsyncConnection | None = None
        self._taking = asyncio.Lock()

    async def hold(self, engine: AsyncEngine) -> None:
        """Take the lock, again where the connection that held it was lost."""
        async with self._taking:
            await self._hold(engine)

    async def _hold(self, engine: AsyncEngine) -> None:
        if engine.dialect.name != "postgresql":
            path = _path(engine, self.node)
            if self._file is None and path is not None and fcntl is not None:
                self._file = _locked(path)
                _remove_stale(engine)
            return
        if self._connection is not None:
            try:
                await self._connection.execute(sa.text("SELECT 1"))
                return
            except (sa.exc.SQLAlchemyError, OSError):
                await _abandon(self._connection)
                self._connection = None
        connection = await engine.connect()
        try:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            await connection.execute(sa.text("SELECT pg_advisory_lock(:key)"), {"key": _key(self.node)})
            if self._heard is not None:
                raw: Any = (await connection.get_raw_connection()).driver_connection
                await raw.add_listener(_CHANNEL, self._told)
                self._raw = raw
        except BaseException:  # the request that waited for it may be cancelled, too
            await _abandon(connection)
            raise
        # Not before: a connection without the lock would be taken for one that holds it.
        self._connection = connection

    def _told(self, _connection: Any, _process: int, _channel: str, line: str) -> None:
        assert self._heard is not None
        for word in line.split():
            self._heard(word)

    @property
    def is_listening(self) -> bool:
        """Whether the words of other nodes arrive."""
        return self._raw is not None and not self._raw.is_closed()

    async def is_dead(self, engine: AsyncEngine, node: str) -> bool:
        """Whether the lock of another node is free."""
        if engine.dialect.name == "postgresql":
            async with engine.begin() as connection:
                query = sa.text("SELECT pg_try_advisory_xact_lock(:key)")
                return bool((await connection.execute(query, {"key": _key(node)})).scalar_one())
        path = _path(engine, node)
        if path is None or fcntl is None:
            return True  # a database in memory has one node
        return _removed(path)

    async def release(self) -> None:
        """Give the lock back."""
        if self._connection is not None:
            await _abandon(self._connection)
            self._connection = None
        if self._file is not None:
            os.unlink(self._file.name)
            self._file.close()
            self._file = None


async def _abandon(connection: AsyncConnection) -> None:
    """Close a connection for good: one that went back to the pool would keep the lock."""
    await connection.invalidate()
    await connection.close()


def _locked(path: Path) -> Any:
    """The file, created and locked. A node that looks for lost ones may remove it before it is locked: then again."""
    while True:
        file = path.open("w")
        fcntl.flock(file, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.fstat(file.fileno()).st_ino == path.stat().st_ino:
                return file
        file.close()


def _removed(path: Path) -> bool:
    """Remove the file of a node that is lost; whether it is."""
    try:
        file = path.open("r")
    except FileNotFoundError:
        return True
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        path.unlink(missing_ok=True)
    return True


def _remove_stale(engine: AsyncEngine) -> None:
    """Remove the files of nodes that were killed."""
    path = _path(engine, "*")
    if path is not None:
        for each in path.parent.glob(f"{glob.escape(path.name[:-6])}*.lock"):
            with suppress(OSError):
                _removed(each)


def _path(engine: AsyncEngine, node: str) -> Path | None:
    return None if is_in_memory(engine) else Path(f"{engine.url.database}.{node}.lock")


def _key(node: str) -> int:
    """A node's key among advisory locks: 63 bits."""
    return int.from_bytes(hashlib.sha256(node.encode()).digest()[:8], "big") >> 1
