"""The cases of the soak: one run each, with a fault at one point of one node, and what has to be true behind it."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import httpx2

from gateway.strict_client import INTERACTIONS, RESPONSES, check_numbers, events_of, frames_of, place

from .bench import TEXT, Bench, Node, Row, Stream, revive, until

DOING = ("read", "read", "cancel", "delete")
PATHS = (RESPONSES, INTERACTIONS)
FAULTS = ("kill", "stop", "fail", "away")
_ENDS = ("completed", "failed", "cancelled", "incomplete")


class Case(NamedTuple):
    """What a client does, what goes wrong and where: at a point of the node that runs, or of one that takes over."""

    doing: str
    how: str
    at: int
    path: str = RESPONSES
    begin: str = "request"
    streamed: bool = True

    def __str__(self) -> str:
        where = "" if self.begin == "request" else f" of {self.begin}"
        return f"{self.doing} {self.path} {'stream' if self.streamed else 'poll'}, {self.how} at point {self.at}{where}"


class Found(NamedTuple):
    """How a case went: the points that were passed, the one of the fault, and what is wrong."""

    points: int
    fault: str
    problem: str


async def run(bench: Bench, case: Case, other: Node) -> Found:
    """Run one case; `other` is a node without a fault."""
    await bench.clear()
    asked = bench.server.asked
    if case.begin == "request":
        nodes = [await bench.node(case.how, case.at)]
    else:
        nodes = [await bench.node("kill", 40), await bench.node(case.how, case.at, case.begin)]
    faulty = nodes[-1]
    problem = ""
    reviving = asyncio.create_task(revive(faulty)) if case.how == "stop" else None
    try:
        await asyncio.wait_for(_used(bench, case, nodes, other, asked), 120)
    except AssertionError as error:
        problem = f"{error}" or "an assertion without words"
    except TimeoutError:
        problem = "the case does not end"
    if reviving is not None:
        reviving.cancel()
    for each in nodes:
        each.signal(signal.SIGCONT)
        each.signal(signal.SIGKILL)
    return Found(faulty.points, faulty.fault, problem)


async def _used(bench: Bench, case: Case, nodes: Sequence[Node], other: Node, asked: int) -> None:
    """Do what the clients do, and check what they saw. The first of the nodes gets the request."""
    node = nodes[0]
    body = {"model": "slow", "input": "Hi", "background": True, "stream": case.streamed}
    first, second = Stream(), Stream()
    begun = asyncio.create_task(first.read(bench.http, "POST", f"{node.url}{case.path}", json=body))
    id_ = await _id(case, first, begun)
    reading: asyncio.Task[Any] | None = None
    if id_:
        url = f"{other.url}{case.path}/{id_}"
        reading = asyncio.create_task(second.read(bench.http, "GET", url, params={"stream": "true"}))
    deleted = False
    if case.doing != "read" and id_:
        await until(lambda: len(frames_of(second.text)) >= 5 or (reading and reading.done()), "no events")
        verb, end = ("POST", "/cancel") if case.doing == "cancel" else ("DELETE", "")
        deleted = await _asked(bench, verb, f"{case.path}/{id_}{end}", node, other) and case.doing == "delete"
    await begun
    await until(lambda: _settled(bench), "a run was left in progress")
    if reading is not None:
        await asyncio.wait_for(reading, 60)
    rows = await bench.rows()
    if deleted:
        await asyncio.sleep(0.2)  # for what a node that went on would write
        rows = await bench.rows()
        assert not rows and not await bench.stored(), f"a deleted run left {rows}"
        return
    assert len(rows) <= 1, f"one request made {len(rows)} runs"
    if first.status == 200:
        assert rows, "a run that a client was told of is gone"
    for row in rows:
        await _checked(bench, case, other, row, first, second if reading is not None else None)
        attempts = bench.server.asked - asked
        lost = sum(each.locks_lost for each in nodes)
        assert attempts <= 1 + lost, f"the upstream was asked {attempts} times, and {lost} locks were lost"


async def _id(case: Case, first: Stream, begun: asyncio.Task[None]) -> str:
    """The id that the client got; empty where it got none."""
    if case.streamed:
        await until(lambda: first.id or begun.done(), "the stream does not begin")
        return first.id
    await begun
    with suppress(ValueError, KeyError):
        return str(json.loads(first.data)["id"]) if first.status == 200 else ""
    return ""


async def _asked(bench: Bench, verb: str, path: str, *nodes: Node) -> bool:
    """Try one node, then the other; whether one of them did it. While the database fails they are tried again."""
    for attempt in range(20):
        try:
            done = await bench.http.request(verb, f"{nodes[min(attempt, 1)].url}{path}")
        except httpx2.HTTPError:
            continue
        if done.status_code in (200, 404):
            return True
        assert done.status_code in (500, 503), done.text
        await asyncio.sleep(0.1)
    return False


def _lost_its_lock(bench: Bench, case: Case, faulty: Node) -> bool:
    """Whether others could take the node for lost: the fault was the loss of the connection that holds its lock.

    That is one on PostgreSQL; where the whole database is away, the next look at the connection may meet it too.
    """
    is_tried = case.how == "away" or (case.how == "fail" and "SELECT 1" in faulty.fault)
    return is_tried and bench.engine.dialect.name == "postgresql"


async def _settled(bench: Bench) -> bool:
    return not [row for row in await bench.rows() if row.status not in (*_ENDS, "deleted")]


async def _checked(bench: Bench, case: Case, other: Node, row: Row, first: Stream, second: Stream | None) -> None:
    """One run that is over: its log, and what everybody saw of it."""
    assert row.status in _ENDS, f"events without a run: {row}"
    whole = (await bench.follow(other, case.path, row.id)).text
    events, frames = events_of(whole), frames_of(whole)
    after = -1
    for begin, end in row.segments:
        assert begin == after + 1 and end >= begin, f"the log has a gap or an overlap: {row.segments}"
        after = end
    assert after + 1 == len(frames), f"{after + 1} events in the log, {len(frames)} in the stream"
    numbered = [each for each in events if case.path == RESPONSES or "event_id" in each]
    try:
        check_numbers(case.path, row.id, numbered)
    except AssertionError as error:
        raise AssertionError(f"numbers or ids are wrong: {error}") from None
    if case.streamed:
        assert whole.startswith(first.text if first.status == 200 else ""), "a client was told what is not stored"
    if second is not None:
        assert whole.startswith(second.text), "a reader on the other node saw something else"
        assert second.text == whole or case.doing == "delete", "a reader on the other node did not see all of it"
    for number in {0, len(frames) // 2, len(frames) - 1}:
        rest = (await bench.follow(other, case.path, row.id, place(case.path, row.id, number))).text
        assert rest == "".join(frames[number + 1 :]), f"resumed behind {number}: not the rest of the whole"
    document = (await bench.http.get(f"{other.url}{case.path}/{row.id}")).json()
    assert document["status"] == row.status and document["id"] == row.id
    said = json.dumps(events[-1])
    assert row.status in said or (row.status == "failed" and "error" in said), f"{row.status}, but the end is {said}"
    if case.how == "kill" and case.doing == "read" and row.status == "failed":
        assert "word" in whole, "nothing was shown, and the upstream was not asked again"
    if row.status == "completed":
        assert TEXT in json.dumps(document), "a completed response lacks text"
        assert await bench.stored() >= {row.id}, "a completed response is not stored"


async def dry(bench: Bench, case: Case, other: Node) -> int:
    """How many points a case has without a fault."""
    found = await run(bench, case._replace(how="", at=0), other)
    assert not found.problem, f"without a fault: {found.problem}"
    return found.points
