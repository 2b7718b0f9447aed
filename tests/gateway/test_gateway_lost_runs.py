"""Runs of a lost node: asked again where nothing was generated, failed where something was shown."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gateway.background import begun, ended, streamed
from gateway.serving import House
from gateway.strict_client import INTERACTIONS, RESPONSES, check_numbers, events_of, frames_of, id_of
from unified_llm.gateway.access import new_key
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.state import database as tables
from unified_llm.gateway.state import runs as running
from unified_llm.gateway.state.runs import Runs

paths = pytest.mark.parametrize("path", [RESPONSES, INTERACTIONS])
TEXT = "One, two, three."


def lost(house: House, gateway: Gateway, path: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> str:
    """The id of a run whose node is lost before it asks its upstream."""

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
