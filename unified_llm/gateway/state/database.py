"""Tables, connections and versions of the database, on SQLite and PostgreSQL by the same code."""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from ..configuration.config import ConfigError, StateSettings

__all__ = [
    "CONNECTIONS",
    "async_url",
    "check_database",
    "conversation_items",
    "conversations",
    "counters",
    "file_parts",
    "file_uses",
    "files",
    "is_id",
    "is_in_memory",
    "make_engine",
    "metadata",
    "migrate",
    "named",
    "responses",
    "runs",
    "segments",
    "settings",
    "shared_secret",
    "stored_bytes",
    "upgrade_tables",
    "vault",
    "writing",
]

metadata: sa.MetaData = sa.MetaData()
settings: sa.Table = sa.Table(
    "settings",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("value", sa.LargeBinary, nullable=False),
)
responses: sa.Table = sa.Table(
    "responses",
    metadata,
    sa.Column("tenant", sa.String(255), primary_key=True),
    sa.Column("id", sa.String(255), primary_key=True),
    sa.Column("surface", sa.String(64), nullable=False),
    sa.Column("previous", sa.String(255)),
    sa.Column("upstream", sa.String(255), nullable=False),
    sa.Column("streamed", sa.Boolean, nullable=False),
    sa.Column("request", sa.LargeBinary, nullable=False),
    sa.Column("response", sa.LargeBinary, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("expires", sa.BigInteger, nullable=False),
    sa.Index("responses_expires", "expires"),
)

runs: sa.Table = sa.Table(
    "runs",
    metadata,
    sa.Column("id", sa.String(255), primary_key=True),
    sa.Column("tenant", sa.String(255), nullable=False),
    sa.Column("surface", sa.String(64), nullable=False),
    sa.Column("status", sa.String(32), nullable=False),
    sa.Column("owner", sa.String(64), nullable=False),
    sa.Column("cancel", sa.Boolean, nullable=False),
    sa.Column("head", sa.LargeBinary, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("expires", sa.BigInteger, nullable=False),
    sa.Index("runs_status", "status", "owner"),
    sa.Index("runs_expires", "expires"),
)
segments: sa.Table = sa.Table(
    "segments",
    metadata,
    # A run that was deleted takes its log with it, and a node that still executes it cannot write any more.
    sa.Column("run", sa.String(255), sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("first", sa.Integer, primary_key=True),
    sa.Column("last", sa.Integer, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)

files: sa.Table = sa.Table(
    "files",
    metadata,
    sa.Column("tenant", sa.String(255), primary_key=True),
    sa.Column("kind", sa.String(16), primary_key=True),
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("reserved", sa.BigInteger, nullable=False),
    sa.Column("received", sa.BigInteger, nullable=False),
    sa.Column("secret", sa.String(64)),
    sa.Column("head", sa.LargeBinary, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("updated", sa.BigInteger, nullable=False),
    sa.Column("expires", sa.BigInteger, nullable=False),
    sa.Index("files_expires", "expires"),
    sa.Index("files_secret", "secret", unique=True),
)
file_parts: sa.Table = sa.Table(
    "file_parts",
    metadata,
    sa.Column("tenant", sa.String(255), primary_key=True),
    sa.Column("kind", sa.String(16), primary_key=True),
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("part", sa.String(64), primary_key=True),
    sa.Column("place", sa.BigInteger, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
file_uses: sa.Table = sa.Table(
    "file_uses",
    metadata,
    sa.Column("tenant", sa.String(255), primary_key=True),
    sa.Column("file", sa.String(64), primary_key=True),
    sa.Column("response", sa.String(255), primary_key=True),
    sa.Column("expires", sa.BigInteger, nullable=False),
    sa.Index("file_uses_response", "tenant", "response"),
    sa.Index("file_uses_expires", "expires"),
)

vault: sa.Table = sa.Table(
    "vault",
    metadata,
    sa.Column("tenant", sa.String(255), primary_key=True),
    sa.Column("key", sa.String(128), primary_key=True),
    sa.Column("response", sa.String(255)),
    sa.Column("value", sa.LargeBinary, nullable=False),
    sa.Column("expires", sa.BigInteger, nullable=False),
    sa.Index("vault_response", "tenant", "response"),
    sa.Index("vault_expires", "expires"),
)

counters: sa.Table = sa.Table(
    "counters",
    metadata,
    sa.Column("name", sa.String(512), primary_key=True),
    sa.Column("used", sa.BigInteger, nullable=False),
    sa.Column("ends", sa.BigInteger, nullable=False),
)
conversations: sa.Table = sa.Table(
    "conversations",
    metadata,
    sa.Column("tenant", sa.String(255), primary_key=True),
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("head", sa.LargeBinary, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("next", sa.BigInteger, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("expires", sa.BigInteger, nullable=False),
    sa.Index("conversations_expires", "expires"),
)
conversation_items: sa.Table = sa.Table(
    "conversation_items",
    metadata,
    sa.Column("tenant", sa.String(255), primary_key=True),
    sa.Column("conversation", sa.String(64), primary_key=True),
    sa.Column("place", sa.BigInteger, primary_key=True),
    sa.Column("id", sa.String(255), nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
stored_bytes: sa.Table = sa.Table(  # written by triggers alone
    "stored_bytes",
    metadata,
    sa.Column("tenant", sa.String(255), primary_key=True),
    sa.Column("place", sa.BigInteger, primary_key=True),
    sa.Column("used", sa.BigInteger, nullable=False),
)

_LOCK = 0x756C6C6D  # of migrations, in PostgreSQL
_WAIT = 5.0  # seconds for the database to answer
CONNECTIONS = 11
"""How many connections to PostgreSQL a node uses at once for what it reads and writes, beside the one that commits."""
_PARAMETERS = {"sslmode": "ssl", "ssl": "ssl", "connect_timeout": "timeout", "timeout": "timeout", "host": "host",
               "port": "port", "passfile": "passfile", "target_session_attrs": "target_session_attrs"}  # fmt: skip
_SSL = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_SPARE = 3  # for its lock, and for the locks of other nodes
_MIGRATIONS = Path(__file__).parent / "migrations"


def check_database(given: StateSettings) -> None:
    """Raise `ConfigError` for a database that cannot be used; nothing is connected to."""
    async_url(given.database())


def async_url(url: str) -> sa.URL:
    """The URL with its driver. Raises `ConfigError`."""
    try:
        made = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):  # the port is not a number
        raise ConfigError(["state.url: not a database URL; use sqlite:///FILE or postgresql://..."]) from None
    kind = made.get_backend_name()
    if kind == "sqlite":
        if made.host or made.username or made.port is not None:
            raise ConfigError(["state.url: two slashes are followed by a host, which SQLite does not have; "
                               "use sqlite:///FILE, or sqlite:////FILE for an absolute path"])  # fmt: skip
        return made.set(drivername="sqlite+aiosqlite")
    if kind in ("postgresql", "postgres"):
        try:
            import asyncpg  # type: ignore[import-untyped]  # noqa: F401
        except ModuleNotFoundError:
            raise ConfigError(["state.url: PostgreSQL needs an extra: pip install 'unified-llm[postgres]'"]) from None
        return made.set(drivername="postgresql+asyncpg", query=_for_asyncpg(made.query))
    raise ConfigError([f"state.url: {kind} is not supported; use sqlite or postgresql"])


def _for_asyncpg(query: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of libpq as asyncpg has them. Raises `ConfigError` for others, which asyncpg fails at."""
    found: dict[str, Any] = {}
    for name, value in query.items():
        if name not in _PARAMETERS:
            raise ConfigError([f"state.url: the parameter {name!r} is not supported; known: {', '.join(_PARAMETERS)}"])
        if name in ("sslmode", "ssl") and value not in _SSL:
            raise ConfigError([f"state.url: {name} must be one of {', '.join(_SSL)}"])
        if name in ("connect_timeout", "timeout") and not _is_positive(value):
            raise ConfigError([f"state.url: {name} must be a number of seconds above 0"])
        if found.setdefault(_PARAMETERS[name], value) != value:
            raise ConfigError([f"state.url: {name} is given twice, with different values"])
    return found


def _is_positive(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isdecimal() and int(value) > 0


def make_engine(url: sa.URL, given: StateSettings) -> AsyncEngine:
    """The connections to a database."""
    if url.get_backend_name() != "sqlite":
        # What the URL has are texts, and asyncpg takes a number.
        limits = {"timeout": float(str(url.query.get("timeout", _WAIT))), "command_timeout": _WAIT}
        size = {"pool_size": 5, "max_overflow": CONNECTIONS + _SPARE - 5, "pool_timeout": _WAIT}
        return create_async_engine(url, pool_pre_ping=True, connect_args=limits, **size)
    how: Any = {"timeout": _WAIT, "isolation_level": None, "check_same_thread": False, "factory": _opens(given.sync)}
    if url.database and url.database != ":memory:":
        _private(Path(url.database))
        engine = create_async_engine(url, connect_args=how)
    else:
        # One connection, which one transaction has at a time. It is given up when a request is cancelled while it waits
        # for the database, so another connection, which is not used, keeps what is in memory.
        name = f"file:unified-llm-{uuid4().hex}"
        keeper = sqlite3.connect(f"{name}?mode=memory&cache=shared", uri=True, check_same_thread=False)
        engine = create_async_engine(
            url.set(database=name, query={"mode": "memory", "cache": "shared", "uri": "true"}),
            connect_args=how,
            poolclass=sa.pool.AsyncAdaptedQueuePool,
            pool_size=1,
            max_overflow=0,
        )
        weakref.finalize(engine.sync_engine, keeper.close)

    @sa.event.listens_for(engine.sync_engine, "begin")
    def begin(connection: sa.Connection) -> None:
        kind = connection.get_execution_options().get("begin", "")
        connection.exec_driver_sql(f"BEGIN {kind}")

    return engine


class _Connection(sqlite3.Connection):
    """Closes when nothing holds it any more: to a connection whose opening is cancelled there is no other reference."""

    def __del__(self) -> None:
        self.close()


def _opens(sync: str) -> Callable[..., sqlite3.Connection]:
    """The function that opens a connection; it runs in the thread of that connection."""

    def opened(*args: Any, **named: Any) -> sqlite3.Connection:
        # Without an isolation level: the driver's own handling of transactions commits before DDL.
        connection = _Connection(*args, **named)
        _use_wal(connection)
        connection.execute(f"PRAGMA synchronous={sync.upper()}")
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("PRAGMA foreign_keys=ON")
        return connection

    return opened


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch the file to WAL. SQLite does not wait for other connections that do the same, whatever its timeout."""
    end = time.monotonic() + _WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
        time.sleep(0.01)


def _private(path: Path) -> None:
    """Create the file of the database for its owner alone: it holds conversations."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, stat.S_IRUSR | stat.S_IWUSR))


def is_in_memory(engine: AsyncEngine) -> bool:
    """Whether it is a database in memory, which one connection has."""
    return engine.url.query.get("mode") == "memory"


def is_id(id: str) -> bool:
    """Whether a row can have this id."""
    return len(id) <= 255 and "\0" not in id


def named(column: sa.Column[Any], id: str) -> sa.ColumnElement[bool]:
    """Whether a column has an id that a client sent. No row has one with NUL, and PostgreSQL refuses to look."""
    return column == id if is_id(id) else sa.false()


def writing(engine: AsyncEngine) -> Any:
    """A transaction that writes: SQLite has one writer, which must wait before it reads and not after."""
    return engine.execution_options(begin="IMMEDIATE").begin()


async def migrate(engine: AsyncEngine) -> None:
    """Bring the tables to this version, in one transaction, one node at a time.

    Raises `ConfigError` for a database that a newer version has migrated.
    """
    async with writing(engine) as connection:
        if connection.dialect.name == "postgresql":
            await connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        try:
            await connection.run_sync(upgrade_tables)
        except CommandError as error:
            raise ConfigError([f"state.url: the database was migrated by a newer version ({error})"]) from None


def upgrade_tables(connection: sa.Connection) -> None:
    """Apply the versions that are missing."""
    script = ScriptDirectory(str(_MIGRATIONS))

    def steps(revision: Any, _context: Any) -> Any:
        return script._upgrade_revs("head", revision)

    # Not alembic's environment: `alembic.op` and `alembic.context` are globals of the process, and two databases that
    # are migrated at once (in two threads, or in two tasks of one loop) would write to each other's connection.
    context = MigrationContext.configure(connection, opts={"fn": steps, "transactional_ddl": True})
    context.run_migrations(op=Operations(context))


async def shared_secret(engine: AsyncEngine) -> bytes:
    """The secret of envelopes: made by whichever node comes first."""
    async with writing(engine) as connection:
        dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
        row = {"name": "secret", "value": secrets.token_bytes(32)}
        await connection.execute(dialect.insert(settings).on_conflict_do_nothing(), [row])
        value = (await connection.execute(sa.select(settings.c.value).where(settings.c.name == "secret"))).scalar_one()
    return bytes(value)
