"""The rows about short documents: every ordered pair of protocols, the median and the 90th percentile over documents.

The documents are the recorded ones where `UNIFIED_LLM_CORPUS` names a folder of them, and else those of
`small_corpus.py`, which have their shape. Streams are measured by their source, over all targets.

    python benchmarks/recorded.py [--check] [--limit N]    our own figures alone; --check exits 1 over a bound

Each figure is a multiple of parsing and printing the same bytes. A bound is its budget with a quarter for the noise of
a shared machine, and a pair is over it only if that is measured twice.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":  # the folder of this script holds a profile.py, which must not stand in for the library's
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import orjson

from benchmarks import measure, small_corpus
from benchmarks.answers import sse
from benchmarks.contenders import Contender, Floor, Ours
from benchmarks.documents import CHAT, GENERATE, INTERACTIONS, MESSAGES, RESPONSES, SHORT
from benchmarks.workloads import Kind, Workload

__all__ = ["cells", "measured", "recorded"]

Row = dict[str, Any]
_FILES = {CHAT: "chat", RESPONSES: "responses", MESSAGES: "messages", GENERATE: "generate_content"}
_FILES[INTERACTIONS] = "interactions"
_MADE = {"request": small_corpus.REQUESTS, "response": small_corpus.ANSWERS}
_NOISE = 1.25


class Budget(NamedTuple):
    """The most that a pair may cost: the median over its documents, and nine tenths of them."""

    median: float
    most: float | None = None


def budget_of(kind: Kind, source: str, single: bool = False) -> Budget:
    """The budget of the documents of a protocol; `single` is that of the smallest request."""
    if single:
        return Budget(20.0)
    if kind == "stream":
        return Budget(4.0 if source == CHAT else 8.0)
    return Budget(15.0, 30.0 if source in (GENERATE, INTERACTIONS) else 25.0)


def recorded(corpus: str | None, kind: Kind, source: str, limit: int) -> list[Workload]:
    """The documents of a kind, spread evenly over those there are; their target is filled in with each pair."""
    if kind == "stream":
        streams = _stored(corpus, kind, source, "events") or small_corpus.STREAMS[source]
        found = [[event.get("data", event) for event in events] for events in streams]
        # Without done markers, which the floor does not parse either.
        data = [[each for each in events if type(each) is dict] for events in found]
        bodies = [(sse(events), len(events)) for events in data if events]
    else:
        bodies = [(orjson.dumps(body), 1) for body in _stored(corpus, kind, source, "body") or _MADE[kind][source]]
    step = max(1, len(bodies) // limit)
    return [
        Workload(f"{kind}-{SHORT[source]}-{n}", "", kind, source, "", body, events=events)
        for n, (body, events) in enumerate(bodies[::step][:limit])
    ]


def _stored(corpus: str | None, kind: Kind, source: str, key: str) -> list[Any]:
    path = Path(corpus, f"{_FILES[source]}.{kind}.jsonl") if corpus else None
    if path is None or not path.is_file():
        return []
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line)[key] for line in lines]


def measured(
    contenders: list[Contender], only: str, quick: bool, limit: int, progress: Callable[[str], None]
) -> list[Row]:
    """A row for each pair of protocols, and for the streams of each protocol."""
    corpus, rounds, slice_s = os.environ.get("UNIFIED_LLM_CORPUS"), 3 if quick else 6, 0.0004 if quick else 0.001
    everybody: list[Contender] = [Floor(), *contenders]
    rows = []
    with measure.quiet_process():
        for name, label, works, budget in _series(corpus, limit):
            if not fnmatch.fnmatch(name, only):
                continue
            progress(label)
            rows.append(_row(name, label, works, budget, everybody, rounds, slice_s))
    return rows


def _series(corpus: str | None, limit: int) -> Iterator[tuple[str, str, list[Workload], Budget]]:
    smallest = Workload("smallest", "", "request", CHAT, "", orjson.dumps(small_corpus.SMALLEST))
    for target in SHORT:
        budget = budget_of("request", CHAT, single=True)
        label = f"the smallest request: chat → {SHORT[target]}"
        yield f"recorded-smallest-{SHORT[target]}".lower(), label, [_to(smallest, target)], budget
    kinds: tuple[Kind, ...] = ("request", "response")
    for kind in kinds:
        for source in SHORT:
            works = recorded(corpus, kind, source, limit)
            for target in SHORT:
                name = f"recorded-{kind}-{SHORT[source]}-{SHORT[target]}".lower()
                label = f"{kind}s: {SHORT[source]} → {SHORT[target]}"
                yield name, label, [_to(work, target) for work in works], budget_of(kind, source)
    for source in SHORT:
        works = [
            _to(work, target) for work in recorded(corpus, "stream", source, max(2, limit // 5)) for target in SHORT
        ]
        label = f"streams, an event: {SHORT[source]} → each"
        yield f"recorded-stream-{SHORT[source]}".lower(), label, works, budget_of("stream", source)


def _to(work: Workload, target: str) -> Workload:
    return Workload(work.name, work.label, work.kind, work.source, target, work.body, events=work.events)


def _row(
    name: str,
    label: str,
    works: list[Workload],
    budget: Budget,
    contenders: Iterable[Contender],
    rounds: int,
    slice_s: float,
) -> Row:
    ratios: dict[str, list[float]] = {}
    reasons: dict[str, str] = {}
    floors = []
    for work in works:
        found = measure.fastest(work, contenders, rounds, slice_s)
        floor = float(found.pop(Floor.title))
        floors.append(floor)
        for title, value in found.items():
            if isinstance(value, float):
                ratios.setdefault(title, []).append(value / floor)
            else:
                reasons.setdefault(title, value)
    # A request that no meaningful request of the target stands for is refused: it has no figure, and is not counted.
    figures = {title: _spread(each) for title, each in ratios.items()}
    ours = figures.get(Ours.title)
    met = None
    if ours is not None:
        met = ours["median"] <= budget.median and (budget.most is None or ours["most"] <= budget.most)
    return {
        "name": name, "label": label, "floor_us": statistics.median(floors) * 1e6, "documents": len(works),
        "figures": {**{title: reasons[title] for title in reasons if title not in figures}, **figures},
        "budget": budget, "met": met,
    }  # fmt: skip


def _spread(ratios: list[float]) -> Row:
    ordered = sorted(ratios)
    most = ordered[min(len(ordered) - 1, int(len(ordered) * 0.9))]
    return {"median": statistics.median(ordered), "most": most, "documents": len(ordered)}


def cells(rows: list[Row], titles: list[str]) -> tuple[list[str], list[list[str]], list[str]]:
    """The table: the median, and in brackets the 90th percentile; a contender that lacks documents has their number."""
    notes: dict[str, None] = {}
    lines = []
    for row in rows:
        line = [row["label"], f"{row['floor_us']:.1f} µs"]
        for title in titles:
            found = row["figures"].get(title)
            if not isinstance(found, dict):
                note = f"{title}: {found or 'not measured'}"
                notes.setdefault(note)
                line.append(f"[{list(notes).index(note) + 1}]")
                continue
            lacking = "" if found["documents"] == row["documents"] else f", {found['documents']} of {row['documents']}"
            line.append(f"{found['median']:.1f} ({found['most']:.1f}){lacking}")
        budget = row["budget"]
        said = f"≤ {budget.median:g}" + (f" ({budget.most:g})" if budget.most is not None else "")
        lines.append([*line, said + {True: " met", False: " OVER", None: ""}[row["met"]]])
    return (
        ["short documents, median (p90)", "floor", *titles, "budget"],
        lines,
        [f"[{n}] {note}" for n, note in enumerate(notes, 1)],
    )


def closing() -> str:
    """Which documents were measured."""
    if os.environ.get("UNIFIED_LLM_CORPUS"):
        return "The documents are the recorded ones (`UNIFIED_LLM_CORPUS`), spread evenly over those there are."
    return "The documents are those of `benchmarks/small_corpus.py`, made in the shape of recorded ones."


def over(rows: Iterable[Row]) -> list[str]:
    """The names of our rows that are over their bounds."""
    out = []
    for row in rows:
        ours, budget = row["figures"].get(Ours.title), row["budget"]
        if not isinstance(ours, dict):
            continue
        if ours["median"] > budget.median * _NOISE or (budget.most and ours["most"] > budget.most * _NOISE):
            out.append(row["name"])
    return out


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="What short documents cost, our own figures alone.")
    parser.add_argument("--check", action="store_true", help="exit 1 when a row is over its bound twice")
    parser.add_argument("--only", metavar="GLOB", default="*", help="rows by name: 'recorded-request-chat-*'")
    parser.add_argument("--limit", type=int, default=20, help="documents a pair (20)")
    options = parser.parse_args(argv)
    ours = Ours()
    rows = measured([ours], options.only, True, options.limit, lambda text: None)
    head, lines, notes = cells(rows, [Ours.title])
    for line in [head, *lines]:
        print("  ".join([line[0].ljust(44), *(each.rjust(16) for each in line[1:])]))
    print("\n".join([*notes, closing()]))
    if not options.check:
        return 0
    again = set(over(rows))
    second = [row for row in measured([ours], "*", True, options.limit, lambda text: None) if row["name"] in again]
    found = over(second)
    print("\n".join(f"over its bound twice: {name}" for name in found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
