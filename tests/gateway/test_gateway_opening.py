"""The database of a gateway at start and at the end: migrated once, by one node at a time, and closed whole."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from gateway.databases import stored, upgrade_tables, with_store
from gateway.serving import House
from unified_llm.gateway.configuration.config import ConfigError, StateSettings
from unified_llm.gateway.state import database as stores
from unified_llm.gateway.state import store as store_module
from unified_llm.gateway.state.database import migrate
from unified_llm.gateway.state.store import Store, StoreUnavailable
from unified_llm.gateway.state.stored_rows import Stored
from waiting import PATIENCE


@pytest.fixture(autouse=True)
def _alembic() -> Iterator[None]:
    """The migrations as they are, and not their statements (`databases.Replayed`)."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stores, "upgrade_tables", upgrade_tables)
        yield


def tables(house: House, url: str) -> set[str]:
    async def use(store: Store) -> set[str]:
        engine = stores.make_engine(stores.async_url(url), store.settings)
        async with engine.connect() as connection:
            found = await connection.run_sync(lambda inner: sa.inspect(inner).get_table_names())
        await engine.dispose()
        return set(found)

    return house.run(use(Store(StateSettings(url=url))))  # type: ignore[no-any-return]


def test_the_migrations_make_what_the_code_uses(house: House, database: str) -> None:
    async def use(store: Store) -> list[Any]:
        await store.open()
        async with store.connection() as connection:
            return await connection.run_sync(_compared)

    assert with_store(house, database, use) == []


def _compared(connection: Any) -> list[Any]:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    return list(compare_metadata(MigrationContext.configure(connection), stores.metadata))


def test_an_interrupted_migration_leaves_nothing_behind(
    house: House, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgrade = stores.upgrade_tables

    def interrupted(connection: Any) -> None:
        upgrade(connection)
        raise OSError("the power went")

    monkeypatch.setattr(stores, "upgrade_tables", interrupted)
    with pytest.raises(StoreUnavailable):
        with_store(house, database, lambda store: store.open())
    assert tables(house, database) == set()
    monkeypatch.undo()
    with_store(house, database, lambda store: store.put(stored("a")))


def test_nodes_that_start_together_migrate_once(house: House, database: str) -> None:
    async def use(first: Store) -> None:
        others = [Store(first.settings) for _ in range(4)]
        await asyncio.gather(*(each.open() for each in (first, *others)))
        assert len({await each.secret() for each in (first, *others)}) == 1
        for each in others:
            await each.aclose()

    with_store(house, database, use)


@pytest.mark.parametrize("threads", [1, 4])
def test_databases_that_are_migrated_at_once_are_apart(tmp_path: Path, threads: int) -> None:
    """Two migrations share no global of the process: neither two tasks of one loop nor two threads."""
    meet = threading.Barrier(threads)

    async def opened(thread: int) -> None:
        stores_ = [Store(StateSettings(url=f"sqlite:///{tmp_path}/{thread}-{number}.db")) for number in range(4)]
        meet.wait(PATIENCE)
        await asyncio.gather(*(each.open() for each in stores_))
        for each in stores_:
            await each.put(stored("a"))
            await each.aclose()

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda thread: asyncio.run(opened(thread)), range(threads)))


def test_the_switch_of_a_file_to_wal_waits_for_its_turn(house: House, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # SQLite refuses the switch at once, where it waits for a lock of any other kind

    async def use(store: Store) -> None:
        opening = asyncio.ensure_future(store.open())
        await asyncio.sleep(0.2)
        assert not opening.done()
        other.execute("COMMIT")
        await opening

    with_store(house, f"sqlite:///{path}", use)
    assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()


def test_a_store_that_is_closed_while_it_opens_is_closed(house: House, database: str) -> None:
    async def run() -> None:
        store = Store(StateSettings(url=database))
        opening = asyncio.ensure_future(store.open())
        await asyncio.sleep(0)
        await store.aclose()
        await opening
        assert store._engine is None and not store._tasks

    house.run(run())


def test_what_is_being_written_is_durable_before_the_store_closes(
    house: House, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, commit = asyncio.Event(), Store._commit

    async def slow(self: Store, rows: Any) -> None:
        begun.set()
        await asyncio.sleep(0.1)
        await commit(self, rows)

    async def use(store: Store) -> Stored | None:
        return await store.get("", "a")

    async def put(store: Store) -> None:
        putting = asyncio.ensure_future(store.put(stored("a")))
        await begun.wait()
        await store.aclose()
        await asyncio.wait_for(putting, PATIENCE)

    monkeypatch.setattr(Store, "_commit", slow)
    with_store(house, database, put)
    assert with_store(house, database, use) is not None


def test_a_database_of_a_newer_version_is_refused(house: House, database: str) -> None:
    async def newer(store: Store) -> None:
        async with store.connection(write=True) as connection:
            await connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))

    with_store(house, database, newer)
    with pytest.raises(ConfigError, match="newer version"):
        with_store(house, database, lambda store: store.open())


def test_a_node_goes_on_while_another_migrates(house: House, database: str) -> None:
    """What is migrated only adds: rows and statements of the previous version stay valid."""

    async def use(store: Store) -> None:
        await store.put(stored("a"))
        async with store.connection(write=True) as connection:
            await connection.execute(sa.text("ALTER TABLE responses ADD COLUMN later INTEGER"))
        await store.put(stored("b", previous="a"))
        found = await store.conversation("", "b")
        assert found is not None and [each.id for each in found] == ["b", "a"]
        await migrate(store._engine)  # type: ignore[arg-type]

    with_store(house, database, use)


def test_many_transactions_wait_for_a_connection(
    house: House, postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL: the database does not count as unavailable, however many transactions wait."""
    create, go = stores.create_async_engine, asyncio.Event()

    def impatient(url: Any, **options: Any) -> Any:
        return create(url, **{**options, "pool_timeout": 0.05})

    async def used(store: Store) -> list[Any]:
        begun = 0

        async def transaction(write: bool) -> Any:
            nonlocal begun
            async with store.connection(write=write) as connection:
                begun += 1
                await go.wait()
                return (await connection.execute(sa.text("SELECT 7"))).scalar_one()

        await store.open()
        waiting = [asyncio.create_task(transaction(place % 2 == 0)) for place in range(40)]
        while begun < stores.CONNECTIONS:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        go.set()
        done = await asyncio.gather(*waiting, return_exceptions=True)
        assert not store.is_away
        return done

    monkeypatch.setattr(stores, "create_async_engine", impatient)
    assert with_store(house, postgresql, used) == [7] * 40


def test_a_request_that_waits_for_a_connection_is_refused_once_the_database_is_away(
    house: House, postgresql: str
) -> None:
    async def used(store: Store) -> list[Any]:
        begun, go = 0, asyncio.Event()

        async def transaction() -> None:
            nonlocal begun
            async with store.connection():
                begun += 1
                await go.wait()
                raise OSError("the database fails on purpose")

        await store.open()
        waiting = [asyncio.create_task(transaction()) for _ in range(20)]
        while begun < stores.CONNECTIONS:
            await asyncio.sleep(0.01)
        go.set()
        done = await asyncio.gather(*waiting, return_exceptions=True)
        assert begun == stores.CONNECTIONS
        return done

    assert {type(each) for each in with_store(house, postgresql, used)} == {StoreUnavailable}


def test_the_log_has_when_the_database_is_back(
    house: House, database: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "_PAUSE", 0.05)

    async def used(store: Store) -> None:
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                async with store.connection():
                    raise OSError("fails on purpose")
            await asyncio.sleep(0.1)
        for _ in range(2):
            assert await store.get("", "x") is None

    with_store(house, database, used)
    away = "the database is unavailable: OSError: fails on purpose"
    back = "the database is available again"
    found = [each.getMessage() for each in caplog.records]
    # Between the two failures the store's own work may find the database too.
    assert found in ([away, away, back], [away, back, away, back])


# ---- the thread that commits -----------------------------------------------------------------------------------------


def test_a_database_whose_thread_could_not_start_is_opened_again(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counted as open, and nothing that was written to it ever returned."""
    start = threading.Thread.start

    def refused(thread: threading.Thread) -> None:
        if thread.name == "unified-llm-commits":
            raise RuntimeError("can't start new thread")
        start(thread)

    async def use(store: Store) -> Stored | None:
        with monkeypatch.context() as patched, pytest.raises(StoreUnavailable):
            patched.setattr(threading.Thread, "start", refused)
            await store.open()
        while store.is_away:
            await asyncio.sleep(0.01)
        await asyncio.wait_for(store.put(stored("a")), PATIENCE)
        found = await store.get("", "a")
        await store.aclose()
        return found

    found = house.run(use(Store(StateSettings(url=f"sqlite:///{tmp_path}/state.db"))))
    assert found is not None and found.id == "a"


def test_a_close_that_is_cancelled_disconnects_the_thread_all_the_same(
    house: House, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its connections were left open, and the thread with them, until the next close."""

    async def use(store: Store) -> None:
        await store.put(stored("a"))
        commits = store._commits
        assert commits is not None
        closing = asyncio.create_task(commits.aclose())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await asyncio.to_thread(commits._thread.join, PATIENCE)
        assert not commits._thread.is_alive()
        await asyncio.wait_for(store.aclose(), PATIENCE)
        await asyncio.wait_for(store.aclose(), PATIENCE)

    house.run(use(Store(StateSettings(url=f"sqlite:///{tmp_path}/state.db"))))
    assert not caplog.records


@pytest.mark.parametrize("write", ["insert", "connection"])
def test_writers_that_wait_for_their_turn_do_not_wait_for_a_database_that_failed_meanwhile(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, write: str
) -> None:
    """SQLite has one writer: each of many that waited took as long as the first one, one after the other."""
    monkeypatch.setattr(stores, "_WAIT", 1.0)
    monkeypatch.setattr(store_module, "_PAUSE", PATIENCE)
    path = tmp_path / "state.db"

    async def writing(store: Store) -> None:
        async with store.connection(write=True):
            pass

    async def use(store: Store) -> list[Any]:
        await store.put(stored("a"))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        first = asyncio.ensure_future(writing(store))
        await asyncio.sleep(0.2)  # it has the turn, and waits for the lock
        others = [store.put(stored(each)) if write == "insert" else writing(store) for each in "bcd"]
        found = await asyncio.gather(first, *others, return_exceptions=True)
        other.close()
        return found

    found = with_store(house, f"sqlite:///{path}", use)
    assert [type(each) for each in found] == [StoreUnavailable] * 4
    assert caplog.text.count("database is locked") == 1
