"""A database of its own on the PostgreSQL server, and the processor time of the server processes that serve it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import asyncpg

SERVER = os.environ.get("UNIFIED_LLM_POSTGRES", "postgresql://postgres@127.0.0.1:5432/postgres")
CHANNEL = "unified_llm_runs"


@asynccontextmanager
async def empty(name: str = "") -> AsyncIterator[str]:
    """The URL of an empty database. It is dropped at the end."""
    name = f"unified_llm_scaling_{os.getpid()}{name}"
    server = await asyncpg.connect(SERVER, timeout=30)
    try:
        await server.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{SERVER.rpartition('/')[0]}/{name}"
        finally:
            await server.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await server.close()


async def backends(connection: asyncpg.Connection) -> list[int]:
    """The processes that serve this database, but for the one of this connection."""
    query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    return [row["pid"] for row in await connection.fetch(query)]


def processor(pids: Iterable[int]) -> dict[int, float]:
    """Microseconds of the processor by process; PostgreSQL has to run on this machine."""
    found = {}
    for pid in pids:
        with suppress(OSError):
            found[pid] = int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e3
    return found


def spent(before: dict[int, float], after: dict[int, float]) -> float:
    """What all processes spent between two looks; one that came between them counts from its beginning."""
    return sum(value - before.get(pid, 0.0) for pid, value in after.items())
