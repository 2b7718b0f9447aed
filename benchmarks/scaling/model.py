"""The capacity model: what a load takes of every resource, and how many nodes and databases it needs.

A **node** is one gateway process, which has one core. A **cell** is one database with the nodes that use it. Streams
are spread over nodes and cells evenly. All but the commits is arithmetic; the commits are a closed queue: every node
has at most one group on its way, and PostgreSQL commits transactions with NOTIFY one after the other.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from benchmarks.scaling.costs import Costs

BUSY = 0.6  # of a core, of a node or a database, that a plan uses
CORES = 16  # of one database, in a plan
CONNECTIONS = 1_000  # of one database, in a plan
NODE_CONNECTIONS = 15  # that one node opens at most: a pool of 5, 10 above it; the lock and LISTEN have one of them
DELAY = 0.25  # seconds from an event to its commit, in a plan
GROUP = 500  # rows of one commit
KINDS = ("pass", "translated", "stored", "durable")


class Load(NamedTuple):
    """Streams that are open at the same time. `readers` are clients of one stream on other nodes."""

    kind: str
    streams: int
    nodes: int
    cells: int = 1
    rate: float = 10.0  # events a second of one stream
    seconds: float = 60.0  # from the beginning to the end of one
    readers: float = 0.0


class Use(NamedTuple):
    """What a load takes: cores of one node and of one database, commits of one cell, the rest of one cell too."""

    node: float
    db: float
    commits: float
    lock: float  # share of the time that the commits take which are not grouped: the ends of runs
    delay: float  # seconds from an event to its commit, as the mean
    notices: float  # a second, over all listeners
    connections: int
    sweep: float  # the part of `node` that the sweep takes

    def over(self, load: Load) -> list[str]:
        """What the load is too much for, the worst first."""
        shares = {
            "node cores": self.node / BUSY,
            "database cores": self.db / (BUSY * CORES),
            "commits": max(self.delay / DELAY, self.lock / BUSY),
            "connections": self.connections / CONNECTIONS,
        }
        return [name for name, share in sorted(shares.items(), key=lambda each: -each[1]) if share > 1]


def closed_queue(sources: int, think: float, *services: float) -> tuple[float, float]:
    """Throughput and response time of servers one behind the other, with a fixed number of sources.

    This is mean value analysis; with one server it is exact, the machine repairman's queue (M/M/1//N).

    >>> closed_queue(1, 3.0, 1.0)
    (0.25, 1.0)
    """
    queues = [0.0] * len(services)
    throughput = response = 0.0
    for count in range(1, sources + 1):
        times = [service * (1 + queue) for service, queue in zip(services, queues)]
        response = sum(times)
        throughput = count / (think + response)
        queues = [throughput * each for each in times]
    return throughput, response


class Commits(NamedTuple):
    """What one cell commits: groups a second of all nodes, rows of a group, and the seconds of one."""

    groups: float
    rows: float
    response: float  # of the database
    cycle: float  # from one group of a node to its next


def commits(load: Load, costs: Costs) -> Commits:
    """The commits of a cell with background runs: how large groups become is what makes ends meet."""
    nodes, streams = load.nodes / load.cells, load.streams / load.nodes
    events = streams * load.rate
    clock = costs.commit_clock / 1e6
    # A run ends in a transaction of its own, which is notified too: groups get what those leave.
    ends = load.streams / load.cells / load.seconds
    if ends * clock >= 1:
        return Commits(0.0, 1.0, math.inf, math.inf)
    service = clock / (1 - ends * clock)
    rows, idle = 1.0, 0.0
    found = Commits(0.0, 1.0, 0.0, 0.0)
    for number in range(100):
        written = (costs.commit_db + rows * costs.row_db) / 1e6
        told = nodes * costs.notice_db / 1e6
        # Many cores are one that is as many times faster, and a delay for what a single one takes longer.
        cores = (written + told) / CORES
        work = (costs.commit_node + rows * costs.row_node) / 1e6 + written * (CORES - 1) / CORES
        # A node is idle only where no event came during its last group; events come at random.
        busy = max(work, found.cycle - idle)
        idle = math.exp(-events * busy) / events
        think = work + idle
        groups, response = closed_queue(max(1, round(nodes)), think, service, cores)
        cycle = think + response
        found = Commits(groups, rows, response, cycle)
        # A run has one segment on its way at most, so a group never has more rows than there are runs.
        wanted = max(1.0, min(GROUP, streams, events * cycle))
        if abs(wanted - rows) < 1e-6 * rows and number > 20:
            break
        rows = (rows + wanted) / 2
    return found


def use(load: Load, costs: Costs) -> Use:
    """What a load takes."""
    nodes, streams = load.nodes / load.cells, load.streams / load.nodes
    events, requests = streams * load.rate, streams / load.seconds
    if load.kind != "durable":
        request, event = {
            "pass": (costs.pass_request_node, costs.pass_event_node),
            "translated": (costs.translate_request_node, costs.translate_event_node),
            "stored": (costs.stored_request_node, costs.translate_event_node),
        }[load.kind]
        node = (requests * request + events * event) / 1e6
        if load.kind != "stored":
            return Use(node, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0.0)
        written = requests * nodes
        db = written * (costs.commit_db + costs.row_db) / 1e6
        lock = written * costs.silent_clock / 1e6
        return Use(node, db, written, lock, costs.silent_clock / 1e6, 0.0, round(nodes * NODE_CONNECTIONS), 0.0)
    made = commits(load, costs)
    ends = requests * nodes
    groups = made.groups + ends
    rows = made.groups * made.rows + ends  # the rows of new runs go with the others
    runs = load.streams / load.cells
    look = runs * costs.sweep_node / 1e6
    sweeps = 1 / (1 + look)  # of one node in a second: it rests for a second behind each
    wakes = load.readers * runs * min(load.rate, made.groups / nodes)
    node = (
        events * costs.durable_event_node
        + requests * (costs.translate_request_node + costs.end_node)
        + (made.groups * costs.commit_node + rows * costs.row_node + wakes * costs.wake_node) / nodes
        + groups * costs.notice_node
    ) / 1e6 + load.readers * events * costs.pass_event_node / 1e6
    db = (
        made.groups * costs.commit_db
        + ends * costs.end_db
        + groups * nodes * costs.notice_db
        + rows * costs.row_db
        + wakes * costs.wake_db
        + nodes * runs * sweeps * costs.sweep_db
    ) / 1e6
    rounds = max(1.0, streams / GROUP) if made.rows >= GROUP else 1.0
    delay = made.cycle * rounds / 2 + made.cycle
    lock = ends * costs.commit_clock / 1e6
    return Use(node + look * sweeps, db, groups, lock, delay, groups * nodes,
               round(nodes * NODE_CONNECTIONS), look * sweeps)  # fmt: skip


def plan(load: Load, costs: Costs, most: int = 100_000) -> Load | None:
    """The fewest cells, and then the fewest nodes, that take a load; None where `most` nodes are not enough."""
    cells = 1
    while cells <= most:
        nodes = cells
        while nodes <= most:
            tried = load._replace(cells=cells, nodes=nodes)
            found = use(tried, costs)
            over = found.over(tried)
            if not over:
                return tried
            if any(each != "node cores" for each in over) or found.sweep > BUSY:
                break  # more nodes in these cells make it worse
            nodes = max(nodes + cells, int(nodes * found.node / BUSY) // cells * cells)
        cells = max(cells + 1, cells * 9 // 8)
    return None
