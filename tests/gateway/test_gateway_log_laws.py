"""Laws of the event log: any order of appends, crashes, nodes without their lock, takeovers, and resumed streams."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from gateway.strict_client import RESPONSES, check_numbers, events_of, frames_of
from unified_llm.client.connections.io import AsyncWire
from unified_llm.foundation.json_codec import dump
from unified_llm.gateway.configuration.config import StateSettings
from unified_llm.gateway.state import database as tables
from unified_llm.gateway.state.runs.event_log import LogWriter, Run
from unified_llm.gateway.state.runs.runs import Runs
from unified_llm.gateway.state.store import Conflict, Store
from unified_llm.streams.collect_and_decompose import decompose
from unified_llm.streams.framings.sse import encode
from unified_llm.streams.writing import write_stream

SURFACE = "openai-responses"


def wire_events(words: int) -> list[bytes]:
    """The events of a response whose text has that many deltas."""
    text = {
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "x"}],
    }
    node = {"id": "resp_1", "status": "completed", "model": "m", "output": [text]}
    events = [encode(each["event"], dump(each["data"])) for each in write_stream(decompose(node), SURFACE)]
    place = next(number for number, each in enumerate(events) if b"output_text.delta" in each)
    return [*events[:place], *[events[place]] * words, *events[place + 1 :]]


class Cluster:
    """Two nodes on one database, which live as long as the module."""

    def __init__(self, database: str) -> None:
        self.runner = asyncio.Runner()
        self.stores = [Store(StateSettings(url=database)) for _ in range(2)]
        self.wire = AsyncWire()
        self.nodes = [self.runner.run(self.node(each)) for each in self.stores]

    async def node(self, store: Store) -> Runs:
        made = Runs(store, self.wire)
        await store.use(made.lock.hold)
        return made

    def restart(self, number: int) -> None:
        """Lose a node, and start another one in its place."""
        self.runner.run(self.nodes[number].lock.release())
        self.nodes[number] = self.runner.run(self.node(self.stores[number]))

    def close(self) -> None:
        for node, store in zip(self.nodes, self.stores, strict=True):
            self.runner.run(node.lock.release())
            self.runner.run(store.aclose())
        self.runner.run(self.wire.aclose())
        self.runner.close()


class Log(RuleBasedStateMachine):
    """One run. `told` is the most that any reader has seen of it."""

    cluster: Cluster

    def __init__(self) -> None:
        super().__init__()
        self.run_, self.told = self.cluster.runner.run, b""
        self.writer: LogWriter | None = None
        self.stale: list[tuple[LogWriter, Runs]] = []
        self.is_over = self.was_over = False

    @initialize(words=st.integers(0, 60), node=st.integers(0, 1))
    def begin(self, words: int, node: int) -> None:
        self.events = wire_events(words)
        self.owner = self.cluster.nodes[node]
        now = int(time.time())
        head = {"model": "m", "request": "{}", "settings": {}, "previous": None}
        run = Run(f"resp_{uuid4().hex}", "", SURFACE, "in_progress", self.owner.lock.node, False, head, now, now + 999)
        self.id = run.id

        async def begun() -> None:
            self.writer = self.owner.log.live[run.id] = LogWriter(self.owner.store, run)
            await self.owner.store.insert(tables.runs, {**run._asdict(), "head": dump(head)})

        self.run_(begun())

    @precondition(lambda self: self.writer is not None)
    @rule(count=st.integers(1, 20), then=st.sampled_from(["", "flush", "interrupt"]))
    def append(self, count: int, then: str) -> None:
        """`interrupt`: a wait for the database is cancelled, as by a client that cancels the run."""
        new, self.events = self.events[:count], self.events[count:]

        async def appended() -> None:
            assert self.writer is not None
            await self.writer.append(new[:-1] if not self.events else new)  # the last event is for the end
            if not self.events:
                self.events = new[-1:]
            if then:
                waiting = asyncio.ensure_future(self.writer.flush())
                await asyncio.sleep(0)
                if then == "interrupt":
                    waiting.cancel()
                with suppress(asyncio.CancelledError):
                    await waiting

        self.run_(appended())

    @precondition(lambda self: self.writer is not None)
    @rule(cancelled=st.booleans())
    def end(self, cancelled: bool) -> None:
        assert self.writer is not None
        error = {"type": "cancelled", "code": "cancelled", "message": "cancelled"} if cancelled else None
        events = () if cancelled else self.events
        self.run_(self.owner._ended(self.writer, "cancelled" if cancelled else "", error, events))
        self.owner.log.live.pop(self.id)
        self.writer, self.is_over = None, True

    @precondition(lambda self: self.writer is not None)
    @rule(lives=st.booleans())
    def lose(self, lives: bool) -> None:
        """The node is killed, with writes under way, or goes on although its lock is lost."""
        assert self.writer is not None
        if lives:
            self.stale.append((self.writer, self.owner))
        elif self.writer._flight is not None:
            self.writer._flight.cancel()
        self.owner.log.live.pop(self.id)
        self.writer = None
        self.cluster.restart(self.cluster.nodes.index(self.owner))

    @precondition(lambda self: self.writer is None)
    @rule(node=st.integers(0, 1))
    def take_over(self, node: int) -> None:

        async def looked() -> bool:
            with suppress(Conflict):  # what a lost node had sent to the database came in between
                await self.cluster.nodes[node]._look()
            run = await self.cluster.nodes[node].get("", self.id)
            return run is not None and run.is_done

        self.is_over = any(self.run_(looked()) for _ in range(9))
        assert self.is_over, "a run was left in progress"

    @precondition(lambda self: bool(self.stale) and self.is_over)
    @rule()
    def write_without_lock(self) -> None:
        """A writer whose run was ended by another node cannot write any more."""
        writer, node = self.stale.pop()

        async def written() -> None:
            with suppress(Conflict):
                await writer.append(self.events[:3] or [b"data: {}\n\n"])
                await writer.flush()
            with pytest.raises(Conflict):
                await node._ended(writer, "", None, self.events)

        self.run_(written())

    @rule(node=st.integers(0, 1), share=st.floats(0, 1))
    def resume(self, node: int, share: float) -> None:
        """From any place, on any node: the rest of the whole."""
        if not self.is_over:
            return
        run = self.run_(self.cluster.nodes[node].get("", self.id))
        assert run is not None and run.is_done
        whole = frames_of(self.told.decode())
        after = round(share * len(whole)) - 1

        async def read() -> bytes:
            return b"".join([each async for each in self.cluster.nodes[node].log.follow(run, after)])

        assert self.run_(read()).decode() == "".join(whole[after + 1 :])

    @invariant()
    def every_number_once(self) -> None:
        shown = self.writer.shown if self.writer is not None else b""
        segments = self.run_(self.cluster.nodes[0].log.segments(self.id, -1)) if hasattr(self, "id") else []
        stored = b"".join(data for _, data in segments)
        assert stored.startswith(shown), "told, and not stored"
        assert stored.startswith(self.told), "what was shown has changed"
        assert not self.was_over or self.told == stored, "a run that is over has changed"
        self.told, self.was_over = stored, self.is_over
        events = events_of(stored.decode())
        assert [first for first, _ in segments] == [
            sum(data.count(b"\n\n") for _, data in segments[:number]) for number in range(len(segments))
        ]
        if events:
            check_numbers(RESPONSES, self.id, events)


@pytest.fixture
def cluster(database: str) -> Iterator[Cluster]:
    found = Cluster(database)
    yield found
    found.close()


def test_laws_of_the_event_log(cluster: Cluster) -> None:
    class Case(Log):
        pass

    Case.cluster = cluster
    most = settings.default.max_examples if settings.default is not None else 100
    few = settings(
        max_examples=min(25, most), stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(Case, settings=few)
