"""The tables and the chart of `docs/scaling.md`, from the figures in `costs.json` and a simulation with a seed."""

from __future__ import annotations

import math
from pathlib import Path

from benchmarks.scaling.costs import Costs, known, machine
from benchmarks.scaling.model import BUSY, CONNECTIONS, CORES, DELAY, KINDS, NODE_CONNECTIONS, Load, commits, plan, use
from benchmarks.scaling.simulation import simulated

PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"
PICTURE = PAGE.with_name("scaling.svg")
PER_NODE = 100  # background runs, in the table of one cell
NODES = (1, 4, 16, 64, 250, 1_000)
STREAMS = (1_000, 10_000, 100_000, 1_000_000)
WORDS = {
    "pass": "same protocol, bytes go through", "translated": "translated",
    "stored": "translated, response stored", "durable": "background run, each event durable",
}  # fmt: skip


def table(head: list[str], lines: list[list[str]]) -> str:
    """A table in Markdown."""
    rows = [head, ["---"] + ["--:"] * (len(head) - 1), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def figure(value: float) -> str:
    """Two digits or so."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def delay(seconds: float) -> str:
    """Seconds; more and more where the commits do not keep up."""
    return "grows" if math.isinf(seconds) else f"{seconds:.3f}"


def costs(found: Costs) -> str:
    """What was measured."""
    pairs = [
        ("request, same protocol", found.pass_request_node, None),
        ("event, same protocol", found.pass_event_node, None),
        ("request, translated", found.translate_request_node, None),
        ("event, translated, 10 a second", found.translate_event_node, None),
        ("request, stored on SQLite", found.stored_sqlite_node, None),
        ("request, stored on PostgreSQL", found.stored_request_node, None),
        ("durable event on SQLite, its commit included", found.durable_sqlite_node, None),
        ("durable event on PostgreSQL, without its commit", found.durable_event_node, None),
        ("commit of a group", found.commit_node, found.commit_db),
        ("row in a group", found.row_node, found.row_db),
        ("end of a run", found.end_node, found.end_db),
        ("commit received by one listening node", found.notice_node, found.notice_db),
        ("look of a reader on another node", found.wake_node, found.wake_db),
        ("run in progress, each second, on each node", found.sweep_node, found.sweep_db),
    ]
    lines = [[name, figure(node), "–" if db is None else figure(db)] for name, node, db in pairs]
    clock = (
        f"Between two commits with NOTIFY: {figure(found.commit_clock)} µs by the clock, whatever the number of "
        f"connections. Between two without, of eight connections: {figure(found.silent_clock)} µs. {machine()}"
    )
    return table(["µs of processor time", "node", "database"], lines) + f"\n\n{clock}"


def cells(found: Costs) -> str:
    """One cell with more and more nodes, a hundred background runs on each: the model beside the simulation."""
    lines = []
    for nodes in NODES:
        load = Load("durable", PER_NODE * nodes, nodes)
        made, seen, taken = commits(load, found), simulated(load, found), use(load, found)
        lines.append([
            f"{nodes:,}", f"{100 * nodes:,}", f"{figure(made.groups) if made.groups else '–'} / {figure(seen.groups)}",
            f"{figure(made.rows) if made.groups else '–'} / {figure(seen.rows)}",
            f"{delay(taken.delay)} / {delay(seen.delay if made.groups else math.inf)}", f"{taken.lock:.0%}",
            figure(taken.db), f"{taken.connections:,}", ", ".join(taken.over(load)) or "–",
        ])  # fmt: skip
    head = ["nodes", "runs", "commits/s", "rows in a commit", "event to commit, s", "ends of runs",
            "database cores", "connections", "over its limit, worst first"]  # fmt: skip
    return table(head, lines)


def limits(found: Costs) -> str:
    """How much of each one cell has, at the shares that a plan uses."""
    room = BUSY * CORES * 1e6
    told = room / (found.notice_db / found.commit_clock * 1e6)
    near, far = BUSY * 1e5 / found.wake_node, room / 10 / found.wake_db
    runs = 0.1 / 0.9 / found.sweep_node * 1e6
    replicas = "nodes; read replicas; a log beside the database"
    lines = [
        ["ends of background runs", f"{BUSY / found.commit_clock * 1e6:,.0f} a second", "cells"],
        ["connections", f"{CONNECTIONS // NODE_CONNECTIONS} nodes", "cells; a greater `max_connections`"],
        ["notices", f"{told:,.0f} nodes that listen, at {1e6 / found.commit_clock:,.0f} commits a second", "cells"],
        ["groups", f"{nodes_in_time(found):,} nodes with {PER_NODE} runs each, {DELAY:g} s to the commit", "cells"],
        ["runs in progress (the sweep)", f"{runs:,.0f}, for a tenth of each node", "cells"],
        [
            "readers on other nodes, of runs with 10 commits a second",
            f"{near:,.0f} on a node, {far:,.0f} in a cell",
            replicas,
        ],
        ["stored responses", f"{BUSY / found.silent_clock * 1e6:,.0f} a second, if none shares its commit", "cells"],
    ]
    return table(["resource", "limit of one cell", "what is added"], lines)


def nodes_in_time(found: Costs) -> int:
    """The most nodes of a cell whose events are durable in time."""
    nodes = 1
    while use(Load("durable", PER_NODE * (nodes + 1), nodes + 1), found).delay <= DELAY:
        nodes += 1
    return nodes


def plans(found: Costs) -> str:
    """What streams need."""
    lines = []
    for kind in KINDS:
        for streams in STREAMS:
            made = plan(Load(kind, streams, 1), found)
            if made is None:
                lines.append([WORDS[kind], f"{streams:,}", *["–"] * 5])
                continue
            taken = use(made, found)
            state = kind in ("stored", "durable")
            lines.append([
                WORDS[kind], f"{streams:,}", f"{made.nodes:,}", f"{made.cells:,}" if state else "–",
                figure(taken.db * made.cells) if state else "–", f"{taken.connections:,}" if state else "–",
                f"{taken.delay:.3f}" if kind == "durable" else "–",
            ])  # fmt: skip
    head = ["streams", "at once", "nodes", "cells", "database cores in all", "connections of a cell",
            "event to commit, s"]  # fmt: skip
    return table(head, lines)


def picture(found: Costs) -> str:
    """Seconds from an event to its commit over the number of nodes, for 1, 4 and 16 cells: model and simulation."""
    left, top, width, height = 60, 20, 560, 260
    low, high = -2.5, 1.0  # powers of ten of seconds

    def at(nodes: float, seconds: float) -> tuple[float, float]:
        x = left + width * math.log10(nodes) / 3
        return round(x, 1), round(
            top + height * (high - min(high, max(low, math.log10(min(seconds, 99.0))))) / (high - low), 1
        )

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 20} {top + height + 50}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for power in (-2, -1, 0, 1):
        x, y = at(1, 10.0**power)
        out.append(f'<path d="M{x} {y}h{width}" stroke="#ddd"/><text x="8" y="{y + 4}">{10.0**power:g} s</text>')
    for nodes in (1, 10, 100, 1_000):
        x, y = at(nodes, 10**low)
        out.append(f'<text x="{x}" y="{y + 18}" text-anchor="middle">{nodes:,}</text>')
    out.append(f'<text x="{left + width / 2}" y="{top + height + 40}" text-anchor="middle">nodes, with 100 background '
               "runs each (line: model; dots: simulation)</text>")  # fmt: skip
    for number, color in ((1, "#b2182b"), (4, "#2166ac"), (16, "#1b7837")):
        loads = [Load("durable", PER_NODE * nodes, nodes, number) for nodes in NODES if nodes >= number]
        points = [at(each.nodes, use(each, found).delay) for each in loads]
        dots = [at(each.nodes, simulated(each, found).delay) for each in loads]
        line = " ".join(f"{x},{y}" for x, y in points)
        out.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        out += [f'<circle cx="{x}" cy="{y}" r="4" fill="{color}"/>' for x, y in dots]
        x, y = points[-1]
        name = "1 cell" if number == 1 else f"{number} cells"
        out.append(f'<text x="{x - 8}" y="{y - 10}" text-anchor="end" fill="{color}">{name}</text>')
    return "\n".join([*out, "</svg>", ""])


def put(text: str, name: str, made: str) -> str:
    """The text of a page with another table between two marks."""
    begin, end = f"<!-- scaling {name} -->", f"<!-- /scaling {name} -->"
    before, rest = text.split(begin)
    return f"{before}{begin}\n\n{made}\n\n{end}{rest.split(end)[1]}"


def renewed() -> dict[Path, str]:
    """The page and the chart as they are to be."""
    found = known()
    text = PAGE.read_text("utf-8")
    for name, made in (("costs", costs), ("limits", limits), ("cells", cells), ("plans", plans)):
        text = put(text, name, made(found))
    return {PAGE: text, PICTURE: picture(found)}
