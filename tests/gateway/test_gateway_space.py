"""How much a tenant may store beside its files: counted by the database, refused before anything is sent."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

import pytest
import sqlalchemy as sa

from gateway.background import ended
from gateway.databases import stored, with_store
from gateway.serving import House
from unified_llm.gateway.access import space as space_module
from unified_llm.gateway.access.space import Space
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.configuration.config import StateSettings
from unified_llm.gateway.state.database import migrate, stored_bytes
from unified_llm.gateway.state.store import Store

ROW = 200
KEYS = {each: {"sha256": hashlib.sha256(each.encode()).hexdigest()} for each in ("blue", "red")}
BLUE = {"authorization": "Bearer blue"}
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
SIGNED = {
    "model": "anthropic-messages",
    "messages": [{"role": "user", "content": "[[reason Hm.]] [[call get_weather]] [[then]] Rain."}],
    "tools": [TOOL],
}
TABLES = {
    "responses": ("request", "response"),
    "runs": ("head",),
    "vault": ("value",),
    "conversations": ("head",),
    "conversation_items": ("data",),
    "file_uses": (),
}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count is read for each request."""
    monkeypatch.setattr(space_module, "_FAR", 0.0)
    monkeypatch.setattr(space_module, "_NEAR", 0.0)


async def counted(store: Store) -> tuple[dict[str, int], dict[str, int]]:
    """What the database has counted for each tenant, and what its rows have."""
    found: dict[str, int] = {}
    async with store.connection() as connection:
        length = "octet_length" if connection.dialect.name == "postgresql" else "length"
        pieces = [
            f"SELECT tenant, {' + '.join([str(ROW), *(f'{length}({each})' for each in columns)])} AS size FROM {name}"
            for name, columns in TABLES.items()
        ]
        pieces.append(f"SELECT tenant, {ROW} + {length}(data) FROM segments JOIN runs ON runs.id = segments.run")
        rows = await connection.execute(sa.text(" UNION ALL ".join(pieces)))
        for tenant, size in rows:
            found[tenant] = found.get(tenant, 0) + size
        query = sa.select(stored_bytes.c.tenant, sa.func.sum(stored_bytes.c.used)).group_by(stored_bytes.c.tenant)
        told = {tenant: int(used) for tenant, used in await connection.execute(query) if used}
    return told, found


def check(house: House, gateway: Gateway, *, is_empty: bool = False) -> None:
    told, found = house.run(counted(gateway.store))
    assert told == found and bool(found) is not is_empty


def made(house: House, database: str, **state: Any) -> Gateway:
    return house.gateway(keys=KEYS, state={"url": database, **state})


def post(house: House, gateway: Gateway, path: str, body: Any, key: str = "blue") -> Any:
    return house.ask(gateway, "POST", path, json=body, headers={"authorization": f"Bearer {key}"})


def test_the_count_is_that_of_the_rows(house: House, database: str) -> None:
    gateway = made(house, database)
    first = post(house, gateway, "/v1/responses", {"model": "anthropic-messages", "input": "Hi"}).json()
    check(house, gateway)
    assert post(house, gateway, "/v1/chat/completions", SIGNED, "red").status_code == 200
    told, _ = house.run(counted(gateway.store))
    assert told["red"] > ROW, "reasoning state that the client drops"
    body = {"model": "openai-chat", "input": "Hi", "previous_response_id": first["id"], "background": True}
    run = post(house, gateway, "/v1/responses", body).json()
    ended(house, gateway, "/v1/responses", run["id"], headers=BLUE)
    check(house, gateway)
    talk = post(house, gateway, "/v1/conversations", {"items": [{"role": "user", "content": "Hi"}]}).json()
    named = {"model": "openai-chat", "input": "More", "conversation": talk["id"], "store": False}
    assert post(house, gateway, "/v1/responses", named).status_code == 200
    assert post(house, gateway, f"/v1/conversations/{talk['id']}", {"metadata": {"a": "b" * 100}}).status_code == 200
    check(house, gateway)
    for path in (f"responses/{first['id']}", f"responses/{run['id']}", f"conversations/{talk['id']}"):
        assert house.ask(gateway, "DELETE", f"/v1/{path}", headers=BLUE).status_code == 200
        check(house, gateway)
    told, _ = house.run(counted(gateway.store))
    assert set(told) == {"red"}, "all that was blue's is deleted"


def test_what_expires_is_not_counted(house: House, database: str) -> None:
    async def use(store: Store) -> Any:
        for number in range(5):
            await store.put(stored(f"resp_{number}", tenant="t", expires=1 if number < 4 else 10**10))
        before, _ = await counted(store)
        await store.expire()
        return before, *await counted(store)

    before, told, found = with_store(house, database, use)
    assert told == found and 0 < told["t"] < before["t"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/responses", {"model": "openai-chat", "input": "Hi"}),
        ("/v1/responses", {"model": "openai-chat", "input": "Hi", "stream": True}),
        ("/v1/responses", {"model": "openai-chat", "input": "Hi", "background": True}),
        ("/v1beta/interactions", {"model": "openai-chat", "input": "Hi"}),
        ("/v1/conversations", {}),
    ],
)
def test_a_tenant_without_room_is_refused(house: House, path: str, body: dict[str, Any]) -> None:
    gateway = made(house, "sqlite://", max_stored=ROW)
    mine = post(house, gateway, "/v1/responses", {"model": "openai-chat", "input": "Hi"}).json()
    sent = len(house.seen)
    refused = post(house, gateway, path, body)
    assert refused.status_code == 429, refused.text
    assert "has stored its limit of 200 bytes" in refused.json()["error"]["message"]
    assert refused.headers["x-should-retry"] == "false"
    assert len(house.seen) == sent, "nothing was sent to an upstream"
    assert post(house, gateway, path, body, "red").status_code == 200, "the room of a tenant is its own"
    if path != "/v1/conversations" and "background" not in body:
        assert post(house, gateway, path, {**body, "store": False}).status_code == 200
    plain = {"model": "openai-chat", "messages": [{"role": "user", "content": "Hi"}]}
    assert post(house, gateway, "/v1/chat/completions", plain).status_code == 200
    assert house.ask(gateway, "DELETE", f"/v1/responses/{mine['id']}", headers=BLUE).status_code == 200
    assert post(house, gateway, path, body).status_code == 200, "what is deleted makes room"


def test_a_conversation_gets_nothing_more(house: House) -> None:
    gateway = made(house, "sqlite://", max_stored=1_000)
    given = [{"role": "user", "content": "Hi" * 400}]
    talk = post(house, gateway, "/v1/conversations", {"items": given}).json()
    sent = len(house.seen)
    named = {"model": "openai-chat", "input": "Hi", "conversation": talk["id"], "store": False}
    assert post(house, gateway, "/v1/responses", named).status_code == 429
    assert post(house, gateway, f"/v1/conversations/{talk['id']}/items", {"items": given}).status_code == 429
    assert len(house.seen) == sent


def test_kept_reasoning_state_is_not_stored_without_room(house: House) -> None:
    """The request is answered: its client does not require that anything is stored."""
    gateway = made(house, "sqlite://", max_stored=1)
    assert post(house, gateway, "/v1/responses", {"model": "openai-chat", "input": "Hi"}).status_code == 200
    before, _ = house.run(counted(gateway.store))
    assert post(house, gateway, "/v1/chat/completions", SIGNED).status_code == 200
    assert house.run(counted(gateway.store))[0] == before


def test_a_count_is_read_again_only_after_a_moment(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(store: Store) -> list[int]:
        space, reads = Space(store, StateSettings(max_stored=1_000_000)), []
        used = space.used

        async def read(tenant: str) -> int:
            reads.append(await used(tenant))
            return reads[-1]

        monkeypatch.setattr(space, "used", read)
        monkeypatch.setattr(space_module, "_FAR", 3_600.0)
        for _ in range(50):
            assert not await space.is_full("t")
        await asyncio.gather(*(space.is_full("u") for _ in range(50)))
        return reads

    assert with_store(house, "sqlite://", use) == [0, 0]


def test_many_rows_of_the_count_are_added_up(house: House, postgresql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space_module, "_MANY", 5)

    async def use(store: Store) -> Any:
        new = [{"tenant": "t", "place": -number, "used": number} for number in range(1, 11)]
        async with store.connection(write=True) as connection:
            await connection.execute(sa.insert(stored_bytes), new)
        await store.put(stored("resp_1", tenant="t"))
        space = Space(store, StateSettings())
        before = await asyncio.gather(*(space.used("t") for _ in range(4)))
        async with store.connection() as connection:
            query = sa.select(sa.func.count()).where(stored_bytes.c.tenant == "t")
            return set(before), await space.used("t"), (await connection.execute(query)).scalar_one()

    before, after, rows = with_store(house, postgresql, use)
    assert before == {after} and after > 55 + ROW and rows == 1


async def before_the_count(store: Store) -> None:
    """Make a database one of the version before."""
    async with store.connection(write=True) as connection:
        names, sequence = _TRIGGERS, ""
        if connection.dialect.name == "postgresql":
            names, sequence = _FUNCTIONS, "DROP SEQUENCE stored_bytes_places"
        drops = [drop for (drop,) in await connection.execute(sa.text(names))]
        change = "UPDATE alembic_version SET version_num = '0006'"
        for each in filter(None, [*drops, sequence, "DROP TABLE stored_bytes", change]):
            await connection.execute(sa.text(each))


def test_what_was_stored_before_is_counted(house: House, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database of the version before: its rows are counted when it is migrated."""

    async def idle(self: Store) -> None:
        """No step of retention locks tables while they are changed here."""

    monkeypatch.setattr(Store, "_sweep", idle)

    async def use(store: Store) -> Any:
        await store.put(stored("resp_1", tenant="t", request=json.dumps("x" * 999).encode()))
        before, _ = await counted(store)
        await before_the_count(store)
        await store.put(stored("resp_2", tenant="u"))
        await migrate(store._engine)  # type: ignore[arg-type]
        told, found = await counted(store)
        assert told == found and told["t"] == before["t"] and told["u"] > ROW
        await store.put(stored("resp_3", tenant="t"))
        assert await store.delete("u", "resp_2")
        return await counted(store)

    told, found = with_store(house, database, use)
    assert told == found and set(told) == {"t"}


# Statements that drop what counts.
_TRIGGERS = "SELECT 'DROP TRIGGER ' || name FROM sqlite_master WHERE type = 'trigger'"
_FUNCTIONS = "SELECT 'DROP FUNCTION ' || proname || ' CASCADE' FROM pg_proc WHERE proname LIKE 'stored_bytes%'"


def test_the_migration_waits_for_nodes_that_write(
    house: House, postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node of the version before has written to one table and goes on to others: neither of both fails."""

    async def idle(self: Store) -> None:
        """No step of retention."""

    monkeypatch.setattr(Store, "_sweep", idle)

    async def use(store: Store) -> Any:
        await before_the_count(store)
        async with store.connection(write=True) as connection:
            await connection.execute(sa.text("DELETE FROM file_uses"))  # the last table that the migration locks
            migrating = asyncio.ensure_future(migrate(store._engine))  # type: ignore[arg-type]
            await asyncio.sleep(0.1)
            for name in ("segments", "responses", "runs", "vault"):
                await connection.execute(sa.text(f"DELETE FROM {name}"))
        await migrating
        await store.put(stored("resp_1", tenant="t"))
        return await counted(store)

    told, found = with_store(house, postgresql, use)
    assert told == found and set(told) == {"t"}
