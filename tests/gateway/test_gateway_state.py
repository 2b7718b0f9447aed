"""Stored responses: continued, fetched, listed, deleted, on both databases."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import Any

import openai
import pytest
import sqlalchemy as sa
from google import genai

from gateway.databases import stored, with_store
from gateway.serving import PROTOCOLS, URL, House
from gateway.stored_responses import INTERACTIONS, PREVIOUS, RESPONSES, create
from unified_llm.gateway.access.callers import new_key
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.state import database as stores
from unified_llm.gateway.state.store import Conflict, Store, StoreUnavailable

upstreams = pytest.mark.parametrize("protocol", PROTOCOLS)


def rows(house: House, gateway: Gateway) -> int:
    async def counted() -> int:
        async with gateway.store.connection() as connection:
            found = await connection.execute(sa.select(sa.func.count()).select_from(stores.responses))
            return int(found.scalar_one())

    return house.run(counted())


# ---- conversations --------------------------------------------------------------------------------------------------


@upstreams
def test_a_conversation_across_surfaces_and_upstreams_with_a_fork(house: House, protocol: str, database: str) -> None:
    gateway = house.gateway(state={"url": database})
    one = create(house, gateway, RESPONSES, protocol, "The first question.")["id"]
    two = create(house, gateway, INTERACTIONS, "anthropic-messages", "The second question.", one)["id"]
    left = create(house, gateway, RESPONSES, "openai-chat", "The left question.", two)["id"]
    create(house, gateway, INTERACTIONS, protocol, "The right question.", two)
    create(house, gateway, RESPONSES, protocol, "The last question.", left)
    said = [json.dumps(seen.body) for seen in house.seen]
    _, second, third, fork, last = said
    assert "first" in second and second.count("first question") == 2, "the question and its answer"
    for body in (third, fork, last):
        assert body.index("first question") < body.index("second question")
    assert "left" in last and "right" not in last and "left" not in fork
    assert not [each for each in said if "previous_" in each and "_id" in each and one in each], "no id goes upstream"


@pytest.mark.parametrize("path", [RESPONSES, INTERACTIONS])
def test_what_is_not_stored_cannot_be_continued(house: House, path: str) -> None:
    gateway = house.gateway()
    id_ = create(house, gateway, path, "openai-chat", "One.", store=False)["id"]
    assert rows(house, gateway) == 0
    for before in (id_, "unknown"):
        body = {"model": "openai-chat", "input": "Two.", PREVIOUS[path]: before}
        done = house.ask(gateway, "POST", path, json=body)
        assert done.status_code == (400 if path == RESPONSES else 404) and before in done.text
    assert house.ask(gateway, "GET", f"{path}/{id_}").status_code == 404 and len(house.seen) == 1


def test_a_conversation_object_is_refused(house: House) -> None:
    for model in ("openai-chat", "openai-responses"):
        body = {"model": model, "input": "Hi", "conversation": "conv_1"}
        done = house.ask(house.gateway(), "POST", RESPONSES, json=body)
        assert done.status_code == 404 and "conv_1" in done.text
    assert not house.seen


def test_a_restart_keeps_responses_and_the_secret(house: House, database: str) -> None:
    one, other = (house.gateway(state={"url": database}) for _ in range(2))
    id_ = create(house, one, RESPONSES, "anthropic-messages", "One.")["id"]
    house.run(one.aclose())
    create(house, other, RESPONSES, "anthropic-messages", "Two.", id_)
    assert "One." in json.dumps(house.seen[-1].body)
    signed = house.run(one.secret()).sign(b"x")
    assert house.run(other.secret()).verify(signed, b"x")
    assert not house.run(house.gateway().secret()).verify(signed, b"x")


# ---- fetching, listing, deleting ------------------------------------------------------------------------------------


def test_a_response_is_fetched_as_its_client_saw_it(house: House) -> None:
    gateway = house.gateway()
    for path in (RESPONSES, INTERACTIONS):
        for protocol in PROTOCOLS:
            made = create(house, gateway, path, protocol, f"To {protocol}.")
            assert house.ask(gateway, "GET", f"{path}/{made['id']}").json() == made
    made = create(house, gateway, RESPONSES, "openai-chat", "From the other surface.")
    there = house.ask(gateway, "GET", f"{INTERACTIONS}/{made['id']}").json()
    assert there["id"] == made["id"] and there["steps"][-1]["content"][0]["text"] == "From the other surface."


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses", "google-interactions"])
def test_the_official_sdks_manage_what_is_stored(house: House, protocol: str, database: str) -> None:
    async def managed() -> None:
        async with house.http(house.gateway(state={"url": database})) as http:
            client = openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key="x", http_client=http, max_retries=0)
            events = [
                each async for each in await client.responses.create(model=protocol, input="One, two.", stream=True)
            ]
            ended: Any = events[-1]
            found = await client.responses.retrieve(ended.response.id)
            assert (found.output_text, found.status, found.id) == ("One, two.", "completed", ended.response.id)
            after = await client.responses.create(
                model=protocol, previous_response_id=found.id, instructions="Be kind.",
                input=[{"role": "user", "content": f"Number {number}."} for number in range(5)],
            )  # fmt: skip
            pages = client.responses.input_items.list(after.id, limit=2, order="asc")
            items: list[Any] = [each async for each in pages]
            said = ["One, two.", "One, two.", *(f"Number {number}." for number in range(5))]
            assert [each.content[0].text for each in items] == said, "with the conversation before it"
            assert len({each.id for each in items}) == 7
            newest: Any = (await client.responses.input_items.list(after.id, limit=1)).data[0]
            assert newest.content[0].text == "Number 4."
            with pytest.raises(openai.BadRequestError, match="background"):
                await client.responses.cancel(found.id)
            await client.responses.delete(found.id)
            for gone in (client.responses.retrieve(found.id), client.responses.delete(found.id)):
                with pytest.raises(openai.NotFoundError, match=found.id):
                    await gone
            # A later turn stays, but cannot be continued without what was deleted.
            assert (await client.responses.retrieve(after.id)).id == after.id
            with pytest.raises(openai.BadRequestError, match=after.id) as refused:
                await client.responses.create(model=protocol, previous_response_id=after.id, input="On.")
            assert (refused.value.code, refused.value.param) == ("previous_response_not_found", "previous_response_id")
            google: Any = genai.Client(
                api_key="x",
                http_options={"base_url": URL, "httpx_async_client": http, "retry_options": {"attempts": 1}},
            )
            made = await google.aio.interactions.create(model=protocol, input="Three.")
            assert (await google.aio.interactions.get(id=made.id)).status == "completed"
            await google.aio.interactions.delete(id=made.id)
            with pytest.raises(Exception, match=made.id):
                await google.aio.interactions.get(id=made.id)

    house.run(managed())


def test_tenants_never_meet(house: House, database: str) -> None:
    (mine, digest), (other, another) = new_key(), new_key()
    keys = {"blue": {"sha256": digest}, "red": {"sha256": another}}
    gateway = house.gateway(keys=keys, state={"url": database})
    blue, red = {"x-api-key": mine}, {"x-api-key": other, "x-unified-llm-caller": "blue"}
    id_ = create(house, gateway, RESPONSES, "openai-responses", "Mine.", headers=blue)["id"]
    asked = len(house.seen)
    for method, path in (("GET", ""), ("GET", "/input_items"), ("POST", "/cancel"), ("DELETE", "")):
        done = house.ask(gateway, method, f"{RESPONSES}/{id_}{path}", headers=red)
        assert done.status_code == 404 and "Mine" not in done.text
    assert house.ask(gateway, "GET", f"{INTERACTIONS}/{id_}", headers=red).status_code == 404
    body = {"model": "openai-responses", "input": "Whose?", "previous_response_id": id_}
    assert house.ask(gateway, "POST", RESPONSES, json=body, headers=red).status_code == 400
    assert len(house.seen) == asked, "no upstream is asked for another tenant's response"
    # The same id for another tenant is another response.
    assert create(house, gateway, RESPONSES, "openai-responses", "Mine.", headers=red)["id"] == id_
    house.ask(gateway, "DELETE", f"{RESPONSES}/{id_}", headers=red)
    assert house.ask(gateway, "GET", f"{RESPONSES}/{id_}", headers=blue).status_code == 200


# ---- the store ------------------------------------------------------------------------------------------------------


def test_many_writes_are_few_commits(house: House, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = []
    commit = Store._commit

    async def counted(self: Store, group: Any) -> None:
        commits.append(len(group))
        await commit(self, group)

    monkeypatch.setattr(Store, "_commit", counted)

    async def use(store: Store) -> None:
        await store.open()  # or they would come one by one, as it lets them
        await asyncio.gather(*(store.put(stored(f"r{number}", response=b"%d" % number)) for number in range(300)))
        found = [await store.get("", f"r{number}") for number in range(300)]
        assert [each and each.response for each in found] == [b"%d" % number for number in range(300)]

    with_store(house, database, use)
    assert sum(commits) == 300 and len(commits) < 10


def test_writers_of_one_process_wait_for_their_turn(
    house: House, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if database.startswith("sqlite"):
        monkeypatch.setattr(stores, "_WAIT", 0.2)  # seconds that SQLite waits for another writer

    async def many(store: Store) -> None:
        async def write(number: int) -> None:
            async with store.connection(write=True) as connection:
                await connection.execute(sa.insert(stores.counters), [{"name": f"n{number}", "used": 1, "ends": 2**40}])
                await asyncio.sleep(0.1)

        await asyncio.gather(*map(write, range(8)))
        async with store.connection() as connection:
            names = await connection.execute(sa.select(stores.counters.c.name))
            assert sorted(names.scalars()) == [f"n{number}" for number in range(8)]

    with_store(house, database, many)


def test_a_stored_response_is_never_replaced(house: House, database: str) -> None:
    async def use(store: Store) -> None:
        rows = [stored("r", response=b"1"), stored("a"), stored("r", response=b"2"), stored("r", tenant="other")]
        done = await asyncio.gather(*(store.put(each) for each in rows), return_exceptions=True)
        assert [type(each) for each in done] == [type(None), type(None), Conflict, type(None)]
        with pytest.raises(Conflict):
            await store.put(stored("r", response=b"3"))
        found = await store.get("", "r")
        assert found is not None and found.response == b"1" and await store.get("", "a")

    with_store(house, database, use)


def test_a_value_that_the_database_refuses_is_the_failure_of_no_other(house: House, database: str) -> None:
    async def use(store: Store) -> list[Any]:
        odd = stored("r\0", upstream="u\0", created=2**80)
        done = await asyncio.gather(
            *(store.put(each) for each in (stored("a"), odd, stored("b"))), return_exceptions=True
        )
        assert not store.is_away and await store.get("", "a") and await store.get("", "b")
        for odd_id in ("a\0", "a" * 256):
            assert await store.get("", odd_id) is None and await store.conversation("", odd_id) is None
        assert not store.is_away
        return done

    first, refused, last = with_store(house, database, use)
    assert first is last is None and isinstance(refused, StoreUnavailable)


def test_a_cancelled_read_leaves_what_is_in_memory(house: House) -> None:
    async def use(store: Store) -> None:
        await store.put(stored("r"))
        for steps in range(0, 600, 5):  # wherever the read waits
            reading = asyncio.ensure_future(store.get("", "r"))
            for _ in range(steps):
                await asyncio.sleep(0)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        assert (await store.get("", "r")) is not None

    with_store(house, "sqlite://", use)


def test_what_has_expired_is_gone(house: House, database: str) -> None:
    async def use(store: Store) -> None:
        for number in range(4):
            await store.put(
                stored(f"r{number}", expires=1 if number < 3 else 10**10, previous="r2" if number == 3 else None)
            )
        assert await store.get("", "r0") is None and not await store.delete("", "r0")
        assert await store.conversation("", "r3") is None
        await store.expire()
        async with store.connection() as connection:
            left = [each.id for each in await connection.execute(sa.select(stores.responses.c.id))]
        assert left == ["r3"] and await store.expire() == 0

    with_store(house, database, use)


def test_a_conversation_that_names_itself_ends(house: House, database: str) -> None:
    async def use(store: Store) -> None:
        await store.put(stored("a", previous="b"))
        await store.put(stored("b", previous="a"))
        assert await store.conversation("", "a") is None

    with_store(house, database, use)


def test_the_file_is_private(house: House, tmp_path: Path) -> None:
    with_store(house, f"sqlite:///{tmp_path}/a.db", lambda store: store.open())
    assert stat.S_IMODE(os.stat(tmp_path / "a.db").st_mode) == 0o600
