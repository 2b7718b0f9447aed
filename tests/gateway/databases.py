"""The databases that the tests of state run on: SQLite in a file, and PostgreSQL where one is reachable.

PostgreSQL is looked for at `UNIFIED_LLM_POSTGRES` (a URL of a database in which another one may be created), by default
on this machine. Each session has a database of its own, which is dropped at its end.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import asyncpg
import sqlalchemy as sa

from gateway.serving import House
from unified_llm.gateway.configuration.config import StateSettings
from unified_llm.gateway.state.database import upgrade_tables
from unified_llm.gateway.state.store import Store
from unified_llm.gateway.state.stored_rows import Stored
from waiting import PATIENCE

SERVER = os.environ.get("UNIFIED_LLM_POSTGRES", "postgresql://postgres@127.0.0.1:5432/postgres")


def why_not() -> str:
    """Why there is no PostgreSQL; empty where there is one."""

    async def tried() -> None:
        await (await asyncpg.connect(SERVER, timeout=PATIENCE)).close()

    try:
        asyncio.run(tried())
    except (OSError, asyncpg.PostgresError, TimeoutError) as error:
        return f"no PostgreSQL at {SERVER.rpartition('@')[2]}: {type(error).__name__}; set UNIFIED_LLM_POSTGRES"
    return ""


def execute(url: str, *statements: str) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(url, timeout=PATIENCE)
        try:
            for each in statements:
                await connection.execute(each)
        finally:
            await connection.close()

    asyncio.run(run())


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of an empty database."""
    name = f"unified_llm_test_{os.getpid()}_{uuid4().hex[:8]}"  # containers that share a server share process ids
    execute(SERVER, f"CREATE DATABASE {name}")
    try:
        yield f"{SERVER.rpartition('/')[0]}/{name}"
    finally:
        execute(SERVER, f"DROP DATABASE {name} WITH (FORCE)")


class Replayed:
    """Migrations of empty databases, of which alembic works out the first of each kind; the others get its statements.

    A gateway of a test in this process migrates a database of its own, and alembic takes as long as the test.
    `test_gateway_opening.py` is about the migrations, and runs without this; so do nodes in processes of their own.
    """

    def __init__(self) -> None:
        self.statements: dict[str, list[tuple[str, Any]]] = {}

    def __call__(self, connection: sa.Connection) -> None:
        kind = connection.dialect.name
        if sa.inspect(connection).get_table_names():
            upgrade_tables(connection)
        elif kind in self.statements:
            for statement, parameters in self.statements[kind]:
                connection.exec_driver_sql(statement, parameters)
        else:
            self.statements[kind] = self._recorded(connection)

    def _recorded(self, connection: sa.Connection) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []

        def executed(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_more: Any) -> None:
            if not statement.lstrip().upper().startswith(("SELECT", "PRAGMA")):
                found.append((statement, parameters))

        sa.event.listen(connection, "before_cursor_execute", executed)
        try:
            upgrade_tables(connection)
        finally:
            sa.event.remove(connection, "before_cursor_execute", executed)
        return found


def stored(id_: str, **changes: Any) -> Stored:
    row = Stored("", id_, "openai-responses", None, "up", False, b"{}", b"{}", 1, 10**10)
    return row._replace(**changes)


def with_store(house: House, url: str, use: Any, **settings: Any) -> Any:
    async def used() -> Any:
        store = Store(StateSettings(url=url, **settings))
        try:
            return await use(store)
        finally:
            await store.aclose()

    return house.run(used())
