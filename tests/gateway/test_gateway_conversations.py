"""Conversations that the gateway keeps: the official SDK's routes, and requests that name one, over every upstream."""

from __future__ import annotations

import time
from typing import Any

import openai
import pytest
import sqlalchemy as sa

from gateway.serving import PROTOCOLS, House
from unified_llm.gateway.state import conversations as kept_conversations
from unified_llm.gateway.state.database import conversations

upstreams = pytest.mark.parametrize("protocol", PROTOCOLS)
DIGESTS = {  # of "a" and "b"
    "a": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
    "b": "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
}


def client(house: House, **tables: Any) -> openai.AsyncOpenAI:
    http = house.http(house.gateway(**tables))
    return openai.AsyncOpenAI(base_url="http://localhost/v1", api_key="a", http_client=http)


def texts(items: Any) -> list[str]:
    return [item.content[0].text for item in items]


@upstreams
@pytest.mark.parametrize("stream", [False, True])
def test_a_conversation_goes_on(house: House, protocol: str, stream: bool) -> None:
    sdk = client(house)

    async def said(text: str, id_: str, **more: Any) -> Any:
        if not stream:
            return await sdk.responses.create(model=protocol, input=text, conversation=id_, **more)
        events = [each async for each in await sdk.responses.create(
            model=protocol, input=text, conversation={"id": id_}, stream=True, **more
        )]  # fmt: skip
        assert events[0].response.conversation.id == id_
        return events[-1].response

    async def talked() -> Any:
        made = await sdk.conversations.create(metadata={"topic": "counting"})
        first = await said("One.", made.id)
        second = await said("Two.", made.id, store=False)
        assert first.conversation.id == second.conversation.id == made.id
        listed = [item async for item in sdk.conversations.items.list(made.id, order="asc")]
        on = await sdk.responses.create(model=protocol, input="Three.", previous_response_id=first.id)
        return made, listed, on

    made, listed, on = house.run(talked())
    assert made.metadata == {"topic": "counting"} and on.output_text == "Three."
    assert texts(listed) == ["One.", "One.", "Two.", "Two."]
    assert len({item.id for item in listed}) == 4 and {item.role for item in listed} == {"user", "assistant"}
    bodies = [str(seen.body) for seen in house.seen]
    assert "One." in bodies[1] and made.id not in "".join(bodies), "the upstream gets the items, and no id"
    assert "Two." not in bodies[2] and "One." in bodies[2], "a response goes on from where it stood"


def test_the_routes_of_conversations(house: House) -> None:
    sdk = client(house)

    async def talked() -> None:
        made = await sdk.conversations.create(items=[{"type": "message", "role": "user", "content": "Zero."}])
        assert (await sdk.conversations.retrieve(made.id)).metadata == {}
        assert (await sdk.conversations.update(made.id, metadata={"a": "b"})).metadata == {"a": "b"}
        added = await sdk.conversations.items.create(
            made.id,
            items=[
                {"type": "message", "role": "user", "content": "One."},
                {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "call_1", "output": "x"},
            ],
        )
        assert [item.type for item in added.data] == ["message", "function_call", "function_call_output"]
        page = await sdk.conversations.items.list(made.id, limit=3)
        assert [item.type for item in page.data] == ["function_call_output", "function_call", "message"]
        assert page.has_more and [each async for each in page][-1].content[0].text == "Zero."
        item = await sdk.conversations.items.retrieve(added.data[0].id, conversation_id=made.id)
        assert item.content[0].text == "One."  # type: ignore[union-attr]
        await sdk.conversations.items.delete(added.data[0].id, conversation_id=made.id)
        answer = await sdk.responses.create(model="anthropic-messages", input="Two.", conversation=made.id)
        assert answer.output_text.startswith("Two.") and "One." not in str(house.seen[-1].body)
        assert "call_1" in str(house.seen[-1].body)
        assert (await sdk.conversations.delete(made.id)).deleted
        for gone in (
            lambda: sdk.conversations.retrieve(made.id),
            lambda: sdk.conversations.items.list(made.id),
            lambda: sdk.responses.create(model="openai-chat", input="Hi", conversation=made.id),
        ):
            with pytest.raises(openai.NotFoundError, match=made.id) as caught:
                await gone()
            assert caught.value.code == "conversation_not_found"

    house.run(talked())


def test_what_is_refused(house: House) -> None:
    gateway = house.gateway()

    def code(method: str, path: str, body: Any) -> tuple[int, Any]:
        reply = house.ask(gateway, method, path, json=body)
        return reply.status_code, reply.json()["error"]["code"]

    id_ = house.ask(gateway, "POST", "/v1/conversations", json={}).json()["id"]
    asked = {"model": "openai-chat", "input": "Hi", "conversation": id_}
    assert code("POST", "/v1/responses", {**asked, "previous_response_id": "resp_1"})[0] == 400
    assert code("POST", "/v1/responses", {**asked, "background": True})[0] == 400
    items = f"/v1/conversations/{id_}/items"
    assert code("POST", items, {"items": 5}) == (400, "invalid_items")
    assert code("POST", items, {"items": [{"type": "message", "role": "user", "content": "x"}] * 21})[0] == 400
    assert code("POST", "/v1/conversations", {"metadata": 5}) == (400, "invalid_metadata")
    assert code("POST", items, {"items": [{}]}) == (400, "invalid_items")
    assert code("GET", f"{items}/msg_1", None) == (404, "item_not_found")
    reply = house.ask(gateway, "POST", "/v1/responses", json={**asked, "input": '[[error 400 message="no"]]'})
    assert reply.status_code == 400 and not house.ask(gateway, "GET", items).json()["data"], "nothing was answered"


@pytest.mark.parametrize("given", [[], {}, 5, "x" * 256, "a\0b", ""])
def test_an_id_that_no_item_can_have_is_replaced(house: House, given: Any) -> None:
    gateway = house.gateway()
    item = {"type": "message", "role": "user", "content": "x", "id": given}
    made = house.ask(gateway, "POST", "/v1/conversations", json={"items": [item]})
    assert made.status_code == 200, made.text
    asked = {"model": "openai-chat", "input": [item], "conversation": made.json()["id"]}
    assert house.ask(gateway, "POST", "/v1/responses", json=asked).status_code == 200
    items = f"/v1/conversations/{made.json()['id']}/items"
    assert house.ask(gateway, "POST", items, json={"items": [item]}).status_code == 200
    ids = [each["id"] for each in house.ask(gateway, "GET", items).json()["data"]]
    assert len(set(ids)) == 4 and given not in ids
    assert house.ask(gateway, "GET", f"{items}/{ids[0]}").json()["id"] == ids[0]


def test_tenants_have_their_own(house: House) -> None:
    gateway = house.gateway(keys={name: {"sha256": digest} for name, digest in DIGESTS.items()})

    def ask(key: str, method: str, path: str, **body: Any) -> Any:
        return house.ask(gateway, method, path, json=body, headers={"authorization": f"Bearer {key}"})

    id_ = ask("a", "POST", "/v1/conversations").json()["id"]
    assert ask("a", "POST", "/v1/responses", model="openai-chat", input="Hi", conversation=id_).status_code == 200
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/items"), ("POST", "")):
        assert ask("b", method, f"/v1/conversations/{id_}{path}").status_code == 404
    assert ask("b", "POST", "/v1/responses", model="openai-chat", input="Hi", conversation=id_).status_code == 404
    assert len(ask("a", "GET", f"/v1/conversations/{id_}/items").json()["data"]) == 2


def test_a_conversation_in_the_database(house: House, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite and PostgreSQL: what one gateway has kept, another goes on with, and it expires."""
    state = {"url": database, "keep": "30d"}
    first, second = house.gateway(state=state), house.gateway(state=state)
    id_ = house.ask(first, "POST", "/v1/conversations", json={"metadata": {"n": "1"}}).json()["id"]
    body = {"model": "openai-chat", "conversation": id_}
    house.ask(first, "POST", "/v1/responses", json={**body, "input": "One."})
    house.ask(second, "POST", "/v1/responses", json={**body, "input": "Two."})
    items = house.ask(first, "GET", f"/v1/conversations/{id_}/items?order=asc").json()["data"]
    assert [item["content"][0]["text"] for item in items] == ["One.", "One.", "Two.", "Two."]
    short = house.gateway(state={**state, "keep": "1h"})
    gone = house.ask(short, "POST", "/v1/conversations", json={}).json()["id"]
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 3_500)
    assert house.ask(first, "GET", f"/v1/conversations/{gone}").status_code == 200
    monkeypatch.setattr(time, "time", lambda: now() + 3_700)
    house.run(_expired(short, gone))
    assert house.ask(first, "GET", f"/v1/conversations/{gone}").status_code == 404
    assert house.ask(first, "GET", f"/v1/conversations/{id_}").status_code == 200


async def _expired(gateway: Any, id_: str) -> None:
    assert await gateway.conversations.store.get("", id_.removeprefix("conv_")) is None
    await gateway.store.expire()  # or its own retention was quicker
    async with gateway.store.connection() as connection:
        rows = await connection.execute(sa.select(conversations.c.id))
        assert id_.removeprefix("conv_") not in {row.id for row in rows}


class Clock:
    """A clock that goes on by some seconds behind each look."""

    def __init__(self, now: float, step: float = 0.0) -> None:
        self.now, self.step = now, step

    def time(self) -> float:
        self.now += self.step
        return self.now - self.step


def test_a_conversation_that_expires_while_it_is_written(
    house: House, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conversation that existed at the first look is written, and the database does not count as unavailable."""
    gateway = house.gateway(state={"url": database, "keep": 1})
    kept: Any = gateway.conversations.store
    item = {"type": "message", "role": "user", "content": "Hi", "id": "msg_1"}
    now = int(time.time())

    async def expired() -> int:
        return 0  # retention would look at the clock too

    monkeypatch.setattr(gateway.store, "expire", expired)

    def clock(begin: float, step: float = 0.0) -> None:
        monkeypatch.setattr(kept_conversations, "time", Clock(begin, step))

    async def used() -> tuple[Any, ...]:
        clock(now)
        first = await kept.create("", {}, [])
        clock(now + 0.4, 0.4)  # the third look is too late
        added = await kept.append("", first.id, [item])
        clock(now + 10)
        late = await kept.append("", first.id, [item])
        clock(now, 9)
        return added, late, await kept.create("", {}, [item])

    added, late, made = house.run(used())
    assert added and not late and not gateway.store.is_away
    assert [each["id"] for each in house.run(kept.items("", made.id))] == ["msg_1"]


def test_a_conversation_that_is_gone_when_it_is_changed(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was there when the request came, and is not when its items or metadata are written: 404."""
    gateway = house.gateway()
    kept = gateway.conversations.store
    get = kept.get

    async def got(tenant: str, name: str) -> Any:
        found = await get(tenant, name)
        await kept.delete(tenant, name)
        return found

    monkeypatch.setattr(kept, "get", got)
    items = {"items": [{"type": "message", "role": "user", "content": "Hi"}]}
    for path, body in (("/items", items), ("", {"metadata": {"a": "b"}})):
        id_ = house.ask(gateway, "POST", "/v1/conversations", json={}).json()["id"]
        reply = house.ask(gateway, "POST", f"/v1/conversations/{id_}{path}", json=body)
        assert reply.status_code == 404 and reply.json()["error"]["code"] == "conversation_not_found"


def test_a_defect_is_not_an_unavailable_database(house: House) -> None:
    """A query without the row that its code expects is a defect, and no sign that the database is unavailable."""
    store = house.gateway().store

    async def used(engine: Any) -> None:
        async with engine.connect() as connection:
            (await connection.execute(sa.select(conversations.c.id))).one()

    with pytest.raises(sa.exc.NoResultFound):
        house.run(store.use(used))
    assert not store.is_away
