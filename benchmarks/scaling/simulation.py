"""A simulation of queues by events, and of the commits of one cell with up to a thousand nodes.

The model assumes exponential times, one queue and no shortage of database cores. Here groups have the size of what came
in the meantime, their statements and the notices to all listeners share the cores of the database, and commits with
NOTIFY go through one lock. What the two have in common is `costs.py`.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from benchmarks.scaling.costs import Costs
from benchmarks.scaling.model import CORES, GROUP, Load

Act = Callable[[], None]


class Clock:
    """Acts in the order of their times."""

    def __init__(self) -> None:
        self.now = 0.0
        self._acts: list[tuple[float, int, Act]] = []
        self._count = 0

    def after(self, seconds: float, act: Act) -> None:
        """Have something happen later."""
        self._count += 1
        heapq.heappush(self._acts, (self.now + seconds, self._count, act))

    def run(self, end: float) -> None:
        """Let everything happen until a time."""
        while self._acts and self._acts[0][0] <= end:
            self.now, _, act = heapq.heappop(self._acts)
            act()
        self.now = end


class Station:
    """Servers with one queue, first come, first served."""

    def __init__(self, clock: Clock, servers: int) -> None:
        self.clock, self.free = clock, servers
        self.busy = 0.0  # seconds of work so far
        self.queue: deque[tuple[float, Act]] = deque()

    def serve(self, seconds: float, then: Act) -> None:
        """Work, and what happens behind it."""
        if not self.free:
            self.queue.append((seconds, then))
            return
        self.free -= 1
        self._begin(seconds, then)

    def _begin(self, seconds: float, then: Act) -> None:
        self.busy += seconds

        def done() -> None:
            if self.queue:
                self._begin(*self.queue.popleft())
            else:
                self.free += 1
            then()

        self.clock.after(seconds, done)


def open_queue(arrivals: float, services: float, servers: int, seconds: float, seed: int = 1) -> float:
    """The mean time in an M/M/c queue: from an arrival to the end of its service."""
    clock, random = Clock(), Random(seed)
    station = Station(clock, servers)
    times: list[float] = []

    def arrive() -> None:
        begin = clock.now
        station.serve(random.expovariate(services), lambda: times.append(clock.now - begin))
        clock.after(random.expovariate(arrivals), arrive)

    clock.after(0.0, arrive)
    clock.run(seconds)
    return sum(times) / len(times)


class Seen(NamedTuple):
    """What came out: groups a second, their rows, seconds from an event to its commit, lock and cores in use."""

    groups: float
    rows: float
    delay: float
    lock: float
    cores: float


class _Node:
    """The writer of one node: one group on its way, made of what came since the last one began."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.waiting = 0.0  # rows
        self.looked = self.begun = 0.0

    def begin(self) -> None:
        """Take what waits, or wait for the next event."""
        cell, now = self.cell, self.cell.clock.now
        came = cell.arrivals((now - self.looked) * cell.events)
        self.looked = now
        age = (now - self.begun) / 2
        self.waiting = min(self.waiting + came, cell.streams)
        if self.waiting < 1:
            cell.clock.after(cell.random.expovariate(1.0) / cell.events, self.arrived)
            return
        self._commit(age)

    def arrived(self) -> None:
        """The first event after a time without any."""
        self.looked = self.cell.clock.now
        self.waiting = 1.0
        self._commit(0.0)

    def _commit(self, age: float) -> None:
        cell, costs = self.cell, self.cell.costs
        rows = min(self.waiting, float(GROUP))
        # Rows beyond a full group wait for as many more.
        age *= max(1.0, self.waiting / GROUP)
        self.waiting -= rows
        self.begun = begun = cell.clock.now

        def committed() -> None:
            cell.done(rows, cell.clock.now - begun + age)
            cell.tell()
            self.begin()

        def written() -> None:
            cell.lock.serve(cell.random.expovariate(1e6 / costs.commit_clock), committed)

        def prepared() -> None:
            cell.cores.serve((costs.commit_db + rows * costs.row_db) / 1e6, written)

        cell.clock.after((costs.commit_node + rows * costs.row_node) / 1e6, prepared)


class Cell:
    """One database and its nodes, with background runs."""

    def __init__(self, load: Load, costs: Costs, seed: int) -> None:
        self.costs, self.clock, self.random = costs, Clock(), Random(seed)
        self.nodes = max(1, round(load.nodes / load.cells))
        self.streams = load.streams / load.nodes
        self.events = self.streams * load.rate
        self.ends = self.streams * self.nodes / load.seconds
        self.cores, self.lock = Station(self.clock, CORES), Station(self.clock, 1)
        self.groups, self.rows, self.waited = 0, 0.0, 0.0

    def done(self, rows: float, delay: float) -> None:
        """A group is durable."""
        self.groups += 1
        self.rows += rows
        self.waited += rows * delay

    def arrivals(self, mean: float) -> float:
        """A number with Poisson's distribution; a normal one where they are many."""
        if mean > 50:
            return max(0.0, round(self.random.gauss(mean, mean**0.5)))
        count, left = 0, math.exp(-mean)
        product = self.random.random()
        while product > left:
            count += 1
            product *= self.random.random()
        return float(count)

    def tell(self) -> None:
        """Every listener gets a notice."""
        if work := self.nodes * self.costs.notice_db / 1e6:
            self.cores.serve(work, lambda: None)

    def end(self) -> None:
        """A run ends, in a transaction of its own."""
        costs, clock = self.costs, self.random.expovariate(1e6 / self.costs.commit_clock)
        self.cores.serve(costs.end_db / 1e6, lambda: self.lock.serve(clock, self.tell))
        self.clock.after(self.random.expovariate(self.ends), self.end)

    def run(self, seconds: float) -> Seen:
        """Let it work; the first fifth is not counted."""
        for _ in range(self.nodes):
            self.clock.after(self.random.random() * seconds / 20, _Node(self).begin)
        self.clock.after(self.random.expovariate(self.ends), self.end)
        self.clock.run(seconds / 5)
        self.groups, self.rows, self.waited = 0, 0.0, 0.0
        locked, worked = self.lock.busy, self.cores.busy
        self.clock.run(seconds)
        span = seconds * 0.8
        rows = max(self.rows, 1e-9)
        return Seen(
            self.groups / span, self.rows / max(1, self.groups), self.waited / rows,
            (self.lock.busy - locked) / span, (self.cores.busy - worked) / span,
        )  # fmt: skip


def simulated(load: Load, costs: Costs, seed: int = 1) -> Seen:
    """One cell of a load: some seconds, or groups of every node where these take longer."""
    cell = Cell(load, costs, seed)
    clock = costs.commit_clock / 1e6
    # The queue of a cell that is near its end takes longer to fill; one beyond it grows for ever.
    turns = 40 if cell.ends * clock < 1 else 5
    return cell.run(max(5.0, turns * cell.nodes * clock))
