"""What is read from the database and written to it: stored responses and the event log.

Writes are committed in groups: one task writes whatever is waiting in one transaction, and those who wait go on when
it is durable. Every read and write names its tenant. What goes wrong with the database is `StoreUnavailable`, so that
the rest of the gateway can go on without it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from functools import partial
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from ..configuration.config import StateSettings
from .commits.commit_thread import Commits, CommitThread
from .commits.group_writes import Conflict, Ending
from .conversations import expire_conversations
from .database import (
    CONNECTIONS,
    async_url,
    counters,
    is_id,
    is_in_memory,
    make_engine,
    migrate,
    named,
    responses,
    runs,
    shared_secret,
    vault,
    writing,
)
from .files import expire_files, release_files
from .history_limit import check_history
from .runs.locks import DELETED, notify
from .stored_rows import Stored

__all__ = ["Conflict", "Store", "StoreUnavailable", "beside_the_answer"]

T = TypeVar("T")

_log = logging.getLogger("unified_llm.gateway")
_GROUP = 500  # rows of one commit
_LOT = 500  # rows that one step of retention deletes
_SWEEP = 60.0  # seconds between two steps of retention
_LONGEST = 1_000  # responses in one conversation
_PAUSE = 1.0  # seconds after a failure in which it is not used again
_REST, _LONGEST_REST = 2.0, 0.02  # times as long as a commit took, and seconds, until the next one

_Done = Callable[[Exception | None], None]
_Waiting = tuple[sa.Table | None, Any, _Done]  # a row of a table, or (None) the end of a run


class StoreUnavailable(Exception):
    """The database failed; the reason is in the log."""


@contextmanager
def beside_the_answer() -> Iterator[None]:
    """Any failure of the store as `StoreUnavailable`: it must not cost the client an answer that is there."""
    try:
        yield
    except StoreUnavailable:
        raise
    except Exception:
        _log.exception("a response could not be stored")
        raise StoreUnavailable("a response could not be stored") from None


class Store:
    """The database of one gateway process. It is opened at the first use, again after it was away."""

    def __init__(self, given: StateSettings) -> None:
        self.settings = given
        self._url = async_url(given.database())
        self._engine: AsyncEngine | None = None
        self._commits: Commits | None = None
        self._opening = asyncio.Lock()
        # SQLite has one writer, for which others try again and again in no order: some of many would get no turn.
        is_sqlite = self._url.get_backend_name() == "sqlite"
        self._turn = asyncio.Lock() if is_sqlite else nullcontext()
        # Connections are waited for here, as long as it takes: a wait in the pool ends as a failure of the database.
        self._connections = nullcontext() if is_sqlite else asyncio.Semaphore(CONNECTIONS)
        self._waiting: list[_Waiting] = []
        self._is_writing = False  # a group that is no longer in `_waiting`
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._secret = b""
        self.on_delete: Callable[[str], None] = lambda id: None  # what is cached of a response that was deleted
        self._away = 0.0  # until when the database is not waited for

    async def open(self) -> None:
        """Connect, and bring the tables to this version. Raises `StoreUnavailable`, and `ConfigError` for a database
        of a newer version."""
        if self._engine is None:  # not checked behind the lock alone: `aclose` holds it while the last group is written
            async with self._opening:
                await self._open()

    async def _open(self) -> None:
        if self._engine is not None:
            return
        self._check()
        async with self._failures():
            engine = make_engine(self._url, self.settings)
            try:
                await migrate(engine)
                self._secret = await shared_secret(engine)
                own = partial(make_engine, self._url, self.settings)
                self._commits = Commits(engine) if is_in_memory(engine) else CommitThread(own)
            except BaseException:
                await engine.dispose()
                raise
        self._engine = engine
        self._tasks = [asyncio.create_task(self._write()), asyncio.create_task(self._sweep())]

    async def aclose(self) -> None:
        """Write what is waiting, and disconnect."""
        async with self._opening:  # what is being opened is closed as well
            while (self._waiting or self._is_writing) and self._tasks and not self._tasks[0].done():
                await asyncio.sleep(0.01)
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._tasks = []
            if self._commits is not None:
                await self._commits.aclose()
                self._commits = None
            if self._engine is not None:
                await self._engine.dispose()
                self._engine = None

    @property
    def is_away(self) -> bool:
        """Whether the database failed a moment ago."""
        return time.monotonic() < self._away

    async def secret(self) -> bytes:
        """The secret that all nodes of this database share."""
        await self.open()
        return self._secret

    async def put(self, row: Stored) -> None:
        """Store a response; returns when it is durable. Raises `Conflict` for an id that the tenant has already."""
        await self.insert(responses, row.packed())

    async def insert(self, table: sa.Table, row: dict[str, Any]) -> None:
        """Write a row with the next group; returns when it is durable.

        A vault entry replaces one with the same key; otherwise it raises `Conflict`.
        """
        await self._written(table, row)

    async def end(self, ending: Ending) -> None:
        """Write the end of a run with the next group; returns when it is durable.

        Raises `Conflict` where the run has ended, was deleted, or belongs to another node.
        """
        await self._written(None, ending)

    async def _written(self, table: sa.Table | None, row: Any) -> None:
        await self.open()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def done(failure: Exception | None) -> None:
            if future.done():
                return  # its client is gone
            if failure is None:
                future.set_result(None)
            else:
                future.set_exception(type(failure)(*failure.args))

        self._post(table, row, done)
        await future

    def post(self, table: sa.Table, row: dict[str, Any], done: _Done) -> None:
        """Write a row with the next group; `done` is called when it is durable, or with what it failed with.

        A store that is not open fails at once.
        """
        if self._engine is None:
            done(StoreUnavailable("the database is closed"))
        else:
            self._post(table, row, done)

    def _post(self, table: sa.Table | None, row: Any, done: _Done) -> None:
        self._waiting.append((table, row, done))
        self._wake.set()

    async def use(self, function: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        """Call a function with the engine, its failures as ours."""
        await self.open()
        assert self._engine is not None
        self._check()
        async with self._failures():
            return await function(self._engine, *arguments)

    async def get(self, tenant: str, id: str) -> Stored | None:
        """A stored response; None for one that is unknown, another tenant's or expired."""
        async with self.connection() as connection:
            found = (await connection.execute(sa.select(responses).where(_is(tenant, id)))).first()
        return None if found is None else Stored.of(found)

    async def has(self, tenant: str, id: str) -> bool:
        """Whether no row of a tenant may get this id: one has it, which may have expired, or none can have it."""
        if not is_id(id):
            return True
        query = sa.select(responses.c.id).where((responses.c.tenant == tenant) & (responses.c.id == id))
        async with self.connection() as connection:
            return (await connection.execute(query)).first() is not None

    async def conversation(self, tenant: str, id: str) -> list[Stored] | None:
        """A response and those it goes on from, the last first; None where one is unknown. Raises `Refusal` (413)."""
        first = sa.select(responses.c.id, responses.c.previous, sa.literal(1).label("depth")).where(_is(tenant, id))
        chain = first.cte("chain", recursive=True)
        before = responses.alias("before")
        chain = chain.union_all(
            sa.select(before.c.id, before.c.previous, chain.c.depth + 1).where(
                before.c.tenant == tenant,
                before.c.id == chain.c.previous,
                before.c.expires > int(time.time()),
                chain.c.depth < _LONGEST,
            )
        )
        query = (
            sa.select(responses)
            .join(chain, chain.c.id == responses.c.id)
            .where(responses.c.tenant == tenant)
            .order_by(chain.c.depth)
        )
        async with self.connection() as connection:
            found = (await connection.execute(query)).all()
        check_history(each.request for each in found)
        rows = [Stored.of(each) for each in found]
        return rows if rows and rows[-1].previous is None else None

    async def delete(self, tenant: str, id: str) -> bool:
        """Delete a response, its request and its event log; whether there was one."""
        if not is_id(id):
            return False
        async with self.connection(write=True) as connection:
            # The run first: the end of one that is under way is waited for, and its response is seen afterwards.
            run = await connection.execute(sa.delete(runs).where((runs.c.tenant == tenant) & (runs.c.id == id)))
            done = await connection.execute(sa.delete(responses).where(_is(tenant, id)))
            await connection.execute(sa.delete(vault).where((vault.c.tenant == tenant) & (vault.c.response == id)))
            await release_files(connection, tenant, id)
            await notify(connection, [f"{DELETED}{id}"])
        self.on_delete(id)
        return bool(done.rowcount or run.rowcount)

    async def expire(self) -> int:
        """Delete one lot of what has expired; how many rows it was."""
        now = int(time.time())
        old = sa.select(responses.c.tenant, responses.c.id).where(responses.c.expires <= now).limit(_LOT)
        async with self.connection(write=True) as connection:
            names = [tuple(each) for each in await connection.execute(old)]
            if names:
                key = sa.tuple_(responses.c.tenant, responses.c.id)
                await connection.execute(sa.delete(responses).where(key.in_(names)))
            ended = sa.select(runs.c.id).where(runs.c.expires <= now, runs.c.status != "in_progress").limit(_LOT)
            ids = [each.id for each in await connection.execute(ended)]
            if ids:
                await connection.execute(sa.delete(runs).where(runs.c.id.in_(ids)))
            keys = sa.select(vault.c.tenant, vault.c.key).where(vault.c.expires <= now).limit(_LOT)
            entries = [tuple(each) for each in await connection.execute(keys)]
            if entries:
                await connection.execute(sa.delete(vault).where(sa.tuple_(vault.c.tenant, vault.c.key).in_(entries)))
            await connection.execute(sa.delete(counters).where(counters.c.ends <= now))
            files = await expire_files(connection)
            talks = await expire_conversations(connection)
        return max(len(names), len(ids), len(entries), files, talks)

    @asynccontextmanager
    async def connection(self, *, write: bool = False) -> AsyncIterator[AsyncConnection]:
        """A connection to read with, or a transaction to write in. Raises `StoreUnavailable` and `Conflict`."""
        async with self._reached(self._connections, self._turn if write else nullcontext()) as (engine, _):
            async with writing(engine) if write else engine.connect() as connection:
                yield connection

    @asynccontextmanager
    async def _reached(self, *waits: AbstractAsyncContextManager[Any]) -> AsyncIterator[tuple[AsyncEngine, Commits]]:
        """The database, after what has to be waited for. Raises `StoreUnavailable` and `Conflict`."""
        await self.open()
        self._check()
        async with AsyncExitStack() as stack:
            for each in waits:
                await stack.enter_async_context(each)
            if self._engine is None or self._commits is None:
                raise StoreUnavailable("the database is closed")
            async with self._failures():
                self._check()  # again: it may have failed for those before
                yield self._engine, self._commits

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailable("the database is unavailable")

    @asynccontextmanager
    async def _failures(self) -> AsyncIterator[None]:
        """What goes wrong with the database as one exception; the reason, without any data, goes to the log."""
        try:
            yield
        except sa.exc.IntegrityError:
            raise Conflict from None
        except (sa.exc.NoResultFound, sa.exc.MultipleResultsFound):
            raise  # the database worked: a defect of the query
        except (sa.exc.SQLAlchemyError, OSError, OverflowError, RuntimeError, TimeoutError) as error:
            if isinstance(error, RuntimeError) and "new thread" not in str(error):
                raise  # a defect; drivers, and what commits, need threads
            cause = getattr(error, "orig", None) or error
            text = str(cause).partition("\n")[0][:200]
            _log.warning("the database is unavailable: %s: %s", type(cause).__name__, text)
            if not _is_refused(cause):
                self._away = time.monotonic() + _PAUSE
            raise StoreUnavailable("the database is unavailable") from None
        if self._away and not self.is_away:
            self._away = 0.0
            _log.warning("the database is available again")

    async def _write(self) -> None:
        """Commit what is waiting, in groups. A group that fails gets the error and is not tried again.

        A commit costs as much as a hundred rows. Where one follows the other, there is a pause between them in which a
        group comes together: the busier the database, the longer, and the fewer commits.
        """
        loop = asyncio.get_running_loop()
        ready = 0.0
        while True:
            await self._wake.wait()
            pause = ready - loop.time()
            if pause > 0 and len(self._waiting) < _GROUP:
                await asyncio.sleep(pause)
            group, self._waiting = self._waiting[:_GROUP], self._waiting[_GROUP:]
            if not self._waiting:
                self._wake.clear()
            self._is_writing = True
            began = loop.time()
            try:
                await self._try(group)
            finally:
                self._is_writing = False
            ended = loop.time()
            ready = ended + min(_REST * (ended - began), _LONGEST_REST)

    async def _try(self, group: Sequence[_Waiting]) -> None:
        """Commit a group, and call those that wait."""
        failure: Exception | None = None
        try:
            await self._commit([(table, row) for table, row, _ in group])
        except (Conflict, StoreUnavailable) as error:
            # A write that collided, or has a value that is refused, is found one by one and fails alone.
            if len(group) > 1 and not self.is_away:
                for each in group:
                    await self._try([each])
                return
            failure = error
        except Exception:
            _log.exception("writing to the database failed")
            failure = StoreUnavailable("the database is unavailable")
        for _, _, done in group:
            done(failure)

    async def _commit(self, rows: Sequence[tuple[sa.Table | None, Any]]) -> None:
        async with self._reached(self._turn) as (_, commits):
            await commits.commit(rows)

    async def _sweep(self) -> None:
        while True:
            count = 0
            with suppress(StoreUnavailable):
                count = await self.expire()
            await asyncio.sleep(0.1 if count == _LOT else _SWEEP)


def _is_refused(cause: BaseException) -> bool:
    """Whether the database refused a value, which does not concern others (class 22: data exceptions)."""
    return isinstance(cause, OverflowError) or str(getattr(cause, "sqlstate", None) or "").startswith("22")


def _is(tenant: str, id: str) -> Any:
    """A response of a tenant that has not expired."""
    return (responses.c.tenant == tenant) & named(responses.c.id, id) & (responses.c.expires > int(time.time()))
