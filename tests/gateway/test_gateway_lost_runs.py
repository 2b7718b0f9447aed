"""Runs of a lost node: requested again where nothing was generated, failed where something was shown."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
import sqlalchemy as sa

from gateway.background import begun, ended, streamed
from gateway.serving import House
from gateway.strict_client import INTERACTIONS, RESPONSES, check_numbers, events_of, frames_of, id_of
from unified_llm.gateway.access.callers import new_key
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.state import database as tables
from unified_llm.gateway.state.runs import runs as running
from unified_llm.gateway.state.runs.runs import Runs

paths = pytest.mark.parametrize("path", [RESPONSES, INTERACTIONS])
TEXT = "One, two, three."


def lost(house: House, gateway: Gateway, path: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> str:
    """The id of a run whose node is lost before it sends its request."""

    async def idle(self: Runs, run: Any, *_: Any) -> None:
        self.log.live.pop(run.id).signal.tell()

    with monkeypatch.context() as patched:
        patched.setattr(Runs, "_execute", idle)
        patched.setattr(Runs, "_look", lambda self: asyncio.sleep(0))
        body = {"model": "anthropic-messages", "input": TEXT, "background": True}
        made = house.ask(gateway, "POST", path, json=body, **options)
        assert made.status_code == 200, made.text
        house.run(gateway.aclose())
    return str(made.json()["id"])


def shown(house: House, gateway: Gateway, id_: str, frames: list[str]) -> None:
    """What clients have seen of a run already."""
    row = {"run": id_, "first": 0, "last": len(frames) - 1, "data": "".join(frames).encode()}
    house.run(gateway.store.insert(tables.segments, row))


@paths
@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_run_is_asked_again_where_nothing_was_generated(
    house: House, path: str, count: int, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (house.gateway(state={"url": database}) for _ in range(2))
    sample = begun(house, other, path, "anthropic-messages", stream=True).text
    events = frames_of(sample)
    id_ = lost(house, one, path, monkeypatch)
    before = [each.replace(id_of(events_of(sample)), id_) for each in events[:count]]
    if before:
        shown(house, other, id_, before)
    asked = len(house.seen)
    house.run(other.runs._look())
    assert ended(house, other, path, id_)["status"] == "completed"
    whole = streamed(house, other, path, id_)
    check_numbers(path, id_, events_of(whole))
    assert whole.startswith("".join(before)) and len(frames_of(whole)) == len(events)
    assert TEXT in json.dumps(house.ask(other, "GET", f"{path}/{id_}").json())
    assert len(house.seen) == asked + 1


def test_a_run_is_not_taken_from_the_node_that_took_it_over(
    house: House, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (house.gateway(state={"url": database}) for _ in range(2))
    monkeypatch.setattr(Runs, "_sweep", lambda self: asyncio.sleep(0))
    for each in (one, other):
        house.run(each.runs.start())
    id_ = lost(house, house.gateway(state={"url": database}), RESPONSES, monkeypatch)
    taken: list[str] = []
    find = other.runs.get

    async def late(tenant: str, id_: str) -> Any:
        # Both have found that the node is lost, and the other one is quicker.
        if not taken:
            await one.runs._look()
        return await find(tenant, id_)

    async def going(self: Runs, run: Any, *_: Any) -> None:
        taken.append(run.owner)

    monkeypatch.setattr(Runs, "_execute", going)
    monkeypatch.setattr(other.runs, "get", late)
    house.run(other.runs._look())
    house.run(asyncio.sleep(0))
    assert taken == [one.runs.lock.node]
    one.runs.log.live.pop(id_).signal.tell()


@paths
def test_a_run_is_not_asked_again_behind_what_was_shown(
    house: House, path: str, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (house.gateway(state={"url": database}) for _ in range(2))
    sample = begun(house, other, path, "anthropic-messages", stream=True).text
    events = frames_of(sample)
    place = next(number for number, each in enumerate(events) if "One" in each)
    id_ = lost(house, one, path, monkeypatch)
    before = [each.replace(id_of(events_of(sample)), id_) for each in events[: place + 1]]
    shown(house, other, id_, before)
    asked = len(house.seen)
    house.run(other.runs._look())
    done = ended(house, other, path, id_)
    whole = streamed(house, other, path, id_)
    check_numbers(path, id_, events_of(whole))
    assert done["status"] == "failed" and len(house.seen) == asked
    assert whole.startswith("".join(before)) and len(frames_of(whole)) > len(before)


def test_a_run_whose_key_is_gone_is_not_asked_again(
    house: House, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (mine, digest), (theirs, another) = new_key(), new_key()
    keys = {"blue": {"sha256": digest, "tenant": "t"}, "red": {"sha256": another, "tenant": "t"}}
    one = house.gateway(keys=keys, state={"url": database})
    other = house.gateway(keys={"red": keys["red"]}, state={"url": database})
    id_ = lost(house, one, RESPONSES, monkeypatch, headers={"x-api-key": mine, "x-private-token": "s3cret"})
    house.run(other.runs._look())
    done = ended(house, other, RESPONSES, id_, headers={"x-api-key": theirs})
    assert done["status"] == "failed" and not house.seen
    run = house.run(other.runs.get("t", id_))
    assert run is not None and mine not in json.dumps(run.head) and "s3cret" not in json.dumps(run.head)


def test_a_request_that_kills_its_nodes_is_given_up(
    house: House, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateways = [house.gateway(state={"url": database}) for _ in range(running._ATTEMPTS + 1)]
    id_ = lost(house, gateways[0], RESPONSES, monkeypatch)

    async def killed(self: Runs, run: Any, *_: Any) -> None:
        attempts.append(run.id)
        self.log.live.pop(run.id).signal.tell()

    attempts: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(Runs, "_execute", killed)
        for each in gateways[1:]:
            house.run(each.store.use(each.runs.lock.hold))
            house.run(each.runs._look())
            house.run(asyncio.sleep(0))
            if each is not gateways[-1]:
                house.run(each.aclose())
    assert attempts == [id_] * (running._ATTEMPTS - 1)
    assert ended(house, gateways[-1], RESPONSES, id_)["status"] == "failed" and not house.seen


# ---- upstreams that execute background responses themselves ---------------------------------------------------------

NATIVE = {RESPONSES: "openai-responses", INTERACTIONS: "google-interactions"}


def torn(house: House, gateway: Gateway, id_: str, count: int) -> None:
    """Set a run back to where its node was lost: it had shown so many events, in one segment."""

    async def set_back() -> None:
        whole = b"".join(data for _, data in await gateway.runs.log.segments(id_))
        frames = [each + b"\n\n" for each in whole.split(b"\n\n")[:-1]][:count]
        async with gateway.store.connection(write=True) as connection:
            lost_ = {"status": "in_progress", "owner": "lost"}
            await connection.execute(sa.update(tables.runs).where(tables.runs.c.id == id_).values(**lost_))
            await connection.execute(sa.delete(tables.segments).where(tables.segments.c.run == id_))
            await connection.execute(sa.delete(tables.responses).where(tables.responses.c.id == id_))
            row = {"run": id_, "first": 0, "last": count - 1, "data": b"".join(frames)}
            await connection.execute(sa.insert(tables.segments), [row])

    house.run(set_back())


@paths
@pytest.mark.parametrize("count", [1, 4, -1])
def test_a_run_that_its_upstream_keeps_is_taken_up_again(house: House, path: str, count: int, database: str) -> None:
    state = {"url": database, "background": [NATIVE[path]]}
    one, other = (house.gateway(state=state) for _ in range(2))
    whole = begun(house, one, path, NATIVE[path], TEXT, stream=True).text
    id_ = id_of(events_of(whole))
    assert house.seen[-1].body["background"] is True
    torn(house, one, id_, len(frames_of(whole)) + count if count < 0 else count)
    house.run(other.runs._look())
    assert ended(house, other, path, id_)["status"] == "completed"
    assert streamed(house, other, path, id_) == whole
    created = [each for each in house.seen if each.body]
    assert len(created) == 1, "nothing was generated a second time"


def test_a_kept_stream_that_has_changed_is_not_continued(house: House, database: str) -> None:
    state = {"url": database, "background": ["openai-responses"]}
    one, other = (house.gateway(state=state) for _ in range(2))
    whole = begun(house, one, RESPONSES, "openai-responses", TEXT, stream=True).text
    id_ = id_of(events_of(whole))
    torn(house, one, id_, len(frames_of(whole)) - 2)

    async def changed() -> None:
        async with one.store.connection(write=True) as connection:
            ((data,),) = list(await connection.execute(sa.select(tables.segments.c.data)))
            await connection.execute(sa.update(tables.segments).values(data=bytes(data).replace(b"One", b"Two")))

    house.run(changed())
    house.run(other.runs._look())
    done = ended(house, other, RESPONSES, id_)
    text = streamed(house, other, RESPONSES, id_)
    assert done["status"] == "failed" and "Two" in text and "One" not in text
    check_numbers(RESPONSES, id_, events_of(text))


def test_only_configured_upstreams_run_in_the_background(house: House) -> None:
    for named, model, native in (
        ([], "openai-responses", False),
        (["openai-responses"], "openai-responses", True),
        (["openai-chat"], "openai-chat", False),  # no such mode in its protocol
    ):
        gateway = house.gateway(state={"url": "sqlite://", "background": named})
        ended(house, gateway, RESPONSES, begun(house, gateway, RESPONSES, model)["id"])
        assert ("background" in house.seen[-1].body) == native
