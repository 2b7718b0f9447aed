"""`make soak`: a fault at every point of a run, on both databases; prints what is wrong, and how often what was tried.

A fault is kill -9, SIGSTOP with SIGCONT after a while, a failure of one step of the database, or of all for 0.4 s. It
comes at each point in turn (before and after every statement, commit and message), of the node that runs the response
or of one that takes it over, while a client reads, cancels or deletes.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import sys
import tempfile
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from gateway import databases

from .bench import Bench, upstream
from .cases import DOING, FAULTS, PATHS, Case, dry, run


async def soak(database: str, folder: Path, count: int, seed: int, minutes: float = math.inf) -> list[str]:
    """Run `count` kills and as many other faults on a database, or as many as there is time for; the problems."""
    problems: list[str] = []
    end = time.monotonic() + 60 * minutes

    def report(text: str) -> None:
        print(text, flush=True)

    with upstream() as server:
        bench = Bench(folder, database, server, seed)
        try:
            other = await bench.node()
            points: dict[tuple[Any, ...], int] = {}
            used: Counter[str] = Counter()
            faults: Counter[str] = Counter()
            for number in range(2 * count):
                if time.monotonic() > end:
                    break
                how = FAULTS[0] if number % 2 else bench.random.choice(FAULTS[1:])
                doing, path, streamed = (bench.random.choice(each) for each in (DOING, PATHS, (True, False)))
                begin = "takeover" if number % 10 == 1 else "request"
                case = Case(doing, how, 0, path, begin, streamed)
                if (key := (doing, path, begin, streamed, how in ("fail", "away"))) not in points:
                    points[key] = max(1, await dry(bench, case._replace(how="fail" if key[-1] else ""), other))
                case = case._replace(at=bench.random.randint(1, points[key]))
                found = await run(bench, case, other)
                used[how] += 1
                faults[" ".join(found.fault.split()[:3])] += bool(found.fault)
                if found.problem:
                    problems.append(f"{case} [{found.fault[:60]}]: {found.problem}")
                    report(f"FAILED {number}: {problems[-1]}")
            told = ", ".join(f"{number} {how}" for how, number in sorted(used.items()))
            report(f"{used.total()} cases ({told}), {sum(faults.values())} faults at {len(faults)} kinds of points, "
                   f"{len(problems)} problems")  # fmt: skip
        finally:
            await bench.aclose()
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="kills on each database, and as many other faults")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after this time on each database")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", choices=["sqlite", "postgresql", "both"], default="both")
    given = parser.parse_args()
    kinds = ["sqlite", "postgresql"] if given.database == "both" else [given.database]
    wrong = 0
    for kind in kinds:
        if kind == "postgresql" and (reason := databases.why_not()):
            print(f"postgresql: not run: {reason}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            opened = databases.postgres() if kind == "postgresql" else nullcontext(f"sqlite:///{folder}/gateway.db")
            with opened as url:
                begin = time.monotonic()
                found = asyncio.run(soak(url, Path(folder), given.count, given.seed, given.minutes))
                print(f"{kind}: {time.monotonic() - begin:.0f} s, {len(found)} problems")
                wrong += len(found)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
