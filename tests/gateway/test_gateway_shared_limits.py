"""Limits and budgets that nodes share through the database: exact within a flush, and kept by a restart."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
import sqlalchemy as sa

from gateway.serving import House
from gateway.test_gateway_quota import BODY, USED, keys, post
from unified_llm.gateway.access.callers import Key
from unified_llm.gateway.access.windows import Fixed, Moving, Window
from unified_llm.gateway.configuration.config import StateSettings
from unified_llm.gateway.responses.replies import Refusal
from unified_llm.gateway.state import counters as shared
from unified_llm.gateway.state.database import counters
from upstreams import CHAT, Canned


def gateways(house: House, database: str, rules: dict[str, Any], count: int = 2) -> list[Any]:
    up = Canned({**CHAT, "usage": USED}, model="m")
    state = {"url": database, "limits": "shared"}
    return [house.gateway({"m": up.upstream}, keys=keys(blue=rules), state=state) for _ in range(count)]


def settle(house: House, *nodes: Any) -> None:
    """What was counted is in the database."""

    async def flushed() -> None:
        for each in nodes:
            if each.counters._flushing is not None:
                await each.counters._flushing

    house.run(flushed())


def test_nodes_share_a_limit_of_requests(house: House, database: str) -> None:
    one, other = gateways(house, database, {"limits": ["5/hour"]})
    codes = []
    for number in range(8):
        codes.append(post(house, (one, other)[number % 2]).status_code)
        settle(house, one, other)
        house.run(one.counters.open())
        house.run(other.counters.open())
    assert codes == [200] * 5 + [429] * 3


@pytest.mark.parametrize("order", [[0, 1], [0, 0, 0, 1], [0, 1, 1, 1]])
@pytest.mark.parametrize("rule", ["3/hour", "8/hour", "1/hour", "900 tokens/hour"])
def test_a_node_reads_an_old_count_before_it_admits(
    house: House, database: str, monkeypatch: pytest.MonkeyPatch, order: list[int], rule: str
) -> None:
    """No request at the same time as another one: no node admits what another one has used up a while ago."""
    monkeypatch.setattr(shared, "FLUSH", 0)  # every count is old
    monkeypatch.setattr(shared, "FAR", 0)
    nodes = gateways(house, database, {"limits": [rule]})
    codes = []
    for number in range(14):
        codes.append(post(house, nodes[order[number % len(order)]]).status_code)
        settle(house, *nodes)
    most = {"3/hour": 3, "8/hour": 8, "1/hour": 1, "900 tokens/hour": 9}[rule]
    assert codes == [200] * most + [429] * (14 - most)


def test_a_count_is_read_where_it_is_old_and_may_matter(house: House, database: str) -> None:
    (node,) = gateways(house, database, {"limits": ["4/hour"]}, 1)
    counted, window, reads = node.counters, Window("requests/blue/hour", 3_600), []
    read = counted._read
    counted._read = lambda which: reads.append(which) or read(which)

    async def asked(*ages: float) -> list[bool]:
        now = time.monotonic()
        found = []
        for age in ages:
            counted._read_at[window.name] = now - age
            found.append(counted.is_stale(window, 4))
        return found

    async def used() -> None:
        assert counted.is_stale(window, 4), "not read yet"
        await asyncio.gather(*(counted.refresh([window]) for _ in range(20)))
        assert len(reads) <= 2, "one statement for all who wait"
        old, older = shared.FLUSH * 2, shared.FAR * 2
        assert await asked(-9, old, older) == [False, False, True], "more than half is unused"
        counted.add(window, 2)
        assert await asked(-9, old) == [False, True]
        counted.add(window, 2)
        assert await asked(older) == [False], "refused in any case"

    house.run(used())


def test_what_is_admitted_at_once_is_exact_within_a_flush(house: House, database: str) -> None:
    """Each node refuses what it has admitted itself; when both have written, both have the sum."""
    nodes = gateways(house, database, {"limits": ["10/hour"]})

    async def burst() -> int:
        done = 0
        for node in nodes:
            async with house.http(node) as http:
                headers = {"authorization": "Bearer blue"}
                found = await asyncio.gather(
                    *(http.post("/v1/chat/completions", json=BODY, headers=headers) for _ in range(30))
                )
                done += sum(each.status_code == 200 for each in found)
        return done

    assert 10 <= house.run(burst()) <= 20
    settle(house, *nodes)
    for node in nodes:
        house.run(node.counters.open())
        assert post(house, node).status_code == 429


def test_a_restart_keeps_a_budget(house: House, database: str) -> None:
    one, other = gateways(house, database, {"limits": ["101 tokens/hour"]})
    assert [post(house, one).status_code for _ in range(3)] == [200, 200, 429]
    house.run(one.aclose())
    house.run(other.counters.open())
    done = post(house, other)
    assert done.status_code == 429 and 3_000 < int(done.headers["retry-after"]) <= 3_600
    (more,) = gateways(house, database, {"limits": ["301 tokens/hour"]}, 1)
    house.run(more.counters.open())
    assert [post(house, more).status_code for _ in range(3)] == [200, 200, 429], "another amount, the same count"


def test_a_window_ends(house: House, database: str) -> None:
    (node,) = gateways(house, database, {"limits": ["1/hour"]}, 1)
    assert [post(house, node).status_code for _ in range(2)] == [200, 429]
    settle(house, node)

    async def age() -> None:
        async with node.store.connection(write=True) as connection:
            await connection.execute(sa.update(counters).values(ends=1))
        node.counters._known.clear()
        await node.counters.open()

    house.run(age())
    assert [post(house, node).status_code for _ in range(2)] == [200, 429]
    settle(house, node)

    async def stored() -> list[Any]:
        async with node.store.connection() as connection:
            return list(await connection.execute(sa.select(counters.c.used)))

    assert house.run(stored()) == [(1,)], "the new window replaced the old one"


def test_without_the_database_a_node_counts_alone(house: House, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "FLUSH", 0.01)
    (node,) = gateways(house, f"sqlite:///{tmp_path}/none/at/all.db", {"limits": ["2/hour"]}, 1)
    assert [post(house, node).status_code for _ in range(3)] == [200, 200, 429]


def test_a_request_does_not_wait_for_a_database_that_hangs(
    house: House, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "_PATIENCE", 0.01)
    (node,) = gateways(house, database, {"limits": ["2/hour"]}, 1)
    waits: list[bool] = []

    async def hanging(which: Any) -> None:
        waits.append(True)
        await asyncio.Event().wait()

    monkeypatch.setattr(node.counters, "_read", hanging)
    assert [post(house, node).status_code for _ in range(3)] == [200, 200, 429]
    assert waits


def test_the_default_follows_the_database() -> None:
    assert not StateSettings(url="sqlite:///x.db").shares_limits()
    assert StateSettings(url="postgresql://db/x").shares_limits()
    assert StateSettings(url="sqlite:///x.db", limits="shared").shares_limits()
    assert not StateSettings(url="postgresql://db/x", limits="process").shares_limits()


def test_parallel_is_counted_in_each_process(house: House, database: str) -> None:
    """As in the configuration reference for both settings."""
    nodes = gateways(house, database, {"limits": ["1 parallel"]})
    for node in nodes:
        with node.counted(Key("blue")), pytest.raises(Refusal, match="1 parallel"):
            node.quota.enter(Key("blue"))


YEAR = 31_536_000


def test_a_window_of_before_the_clock_was_set_back_ends_in_time(house: House, database: str) -> None:
    """A node that started in another year: its windows would keep their keys out until then."""
    (node,) = gateways(house, database, {"limits": ["100 tokens/hour"]}, 1)
    assert [post(house, node).status_code for _ in range(2)] == [200, 429]
    settle(house, node)

    async def moved() -> None:
        async with node.store.connection(write=True) as connection:
            await connection.execute(sa.update(counters).values(ends=int(time.time()) + YEAR))
        node.counters._known.clear()
        await node.counters.open()

    house.run(moved())
    assert post(house, node).status_code == 200  # until the next use nothing is known of its window
    settle(house, node)
    house.run(node.counters.open())
    refused = post(house, node)
    assert refused.status_code == 429 and 0 < int(refused.headers["retry-after"]) <= 3_600


@pytest.mark.parametrize("windows", [Fixed, Moving])
def test_windows_in_memory_are_no_longer_by_what_the_clock_was_set_back(
    windows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, window, now = windows(), Window("requests/blue/hour", 3_600), time.time()
    monkeypatch.setattr(time, "time", lambda: now + YEAR)
    counted.add(window, 2)
    monkeypatch.setattr(time, "time", lambda: now)
    assert (counted.used(window), counted.ends(window), counted.clears(window)) == (2, now + 3_600, now + 3_600)
    counted.add(window)
    assert counted.used(window) == 3
    monkeypatch.setattr(time, "time", lambda: now + 3_601)
    assert counted.used(window) == 0
