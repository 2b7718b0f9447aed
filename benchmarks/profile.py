"""Where our own time goes: the stages of a conversion, and the functions that cost the most.

    python benchmarks/profile.py [ROW] [--top N] [--callers NAME]

ROW is a row of `run.py` by name (default: request-50-there). Stages are timed by wrapping the handful of functions
that a conversion passes through, least of many runs; functions come from cProfile, which inflates small ones, so trust
shares of neighbors rather than figures.
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# The folder of this script would put this very file in the place of the standard library's module of that name.
ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

import cProfile  # noqa: E402
import pstats  # noqa: E402

from benchmarks.contenders import Contender, Floor, Ours  # noqa: E402
from benchmarks.measure import quiet_process  # noqa: E402
from benchmarks.workloads import Workload, workloads  # noqa: E402

# (stage, module, attribute): what `convert` calls in turn. Inner stages are named after their outer one.
STAGES = (
    ("load", "unified_llm.convert", "load"),
    ("read", "unified_llm.engine.pairs.mapping", "Reader.root"),
    ("prepare", "unified_llm.convert", "prepare"),
    ("prepare: repair", "unified_llm.passes.repair", "repair"),
    ("write", "unified_llm.engine.pairs.mapping", "Writer.root"),
    ("losses", "unified_llm.convert", "locate"),
    ("exchange", "unified_llm.convert", "_exchange"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description="Where our own time goes.")
    parser.add_argument("row", nargs="?", default="request-50-there", help="a row of run.py, by name")
    parser.add_argument("--top", type=int, default=25, help="how many functions to list")
    parser.add_argument("--callers", metavar="NAME", help="list the callers of functions matching NAME too")
    options = parser.parse_args()
    rows = {work.name: work for work in workloads()}
    if options.row not in rows:
        parser.error(f"no row {options.row!r}; there are: {', '.join(rows)}")
    work, ours, floor = rows[options.row], Ours(), Floor()
    if ours.version is None:
        parser.error(f"unified_llm {ours.absent}")
    run = ours.runner(work)
    with quiet_process():
        total, base = least(ours, run), least(floor, floor.runner(work))
        per = f" ({total / work.events * 1e6:.2f} µs an event)" if work.events > 1 else ""
        print(f"{work.label}: {total * 1e6:.1f} µs{per}, floor {base * 1e6:.1f} µs, ratio {total / base:.2f}\n")
        if work.kind != "stream":
            stages(work, run, total, base)
        functions(run, work, options.top, options.callers)
    return 0


def least(contender: Contender, run: Callable[[], object], rounds: int = 30) -> float:
    """Seconds of one run."""
    loops = max(1, round(0.01 / max(contender.seconds(run, 1), 1e-7)))
    return min(contender.seconds(run, loops) / loops for _ in range(rounds))


def stages(work: Workload, run: Callable[[], object], total: float, base: float) -> None:
    """Print the time of each stage; "rest" is printing the result and what lies between the stages."""
    spent: dict[str, float] = {}
    undo: list[tuple[Any, str, Any]] = []
    for stage, module, attribute in STAGES:
        owner: Any = __import__(module, fromlist=["_"])
        *path, name = attribute.split(".")
        for step in path:
            owner = getattr(owner, step, None)
        inner = getattr(owner, name, None)
        if inner is None:
            print(f"  {stage}: {module}.{attribute} has gone; correct STAGES in this file")
            continue
        undo.append((owner, name, inner))
        setattr(owner, name, _timed(inner, stage, spent))
    found: dict[str, float] = {}
    try:
        for _ in range(300):
            spent.clear()
            run()
            for stage, seconds in spent.items():
                found[stage] = min(seconds, found.get(stage, 1.0))
    finally:
        for owner, name, inner in undo:
            setattr(owner, name, inner)
    rest = total - sum(seconds for stage, seconds in found.items() if ":" not in stage)
    print(f"{'stage':<18}{'µs':>9}{'share':>8}{'× floor':>9}")
    for stage, seconds in [*found.items(), ("rest, with dumps", rest)]:
        print(f"{stage:<18}{seconds * 1e6:>9.1f}{seconds / total:>8.0%}{seconds / base:>9.2f}")
    print()


def _timed(inner: Callable[..., Any], stage: str, spent: dict[str, float]) -> Callable[..., Any]:
    @functools.wraps(inner)
    def timed(*args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        try:
            return inner(*args, **kwargs)
        finally:
            spent[stage] = spent.get(stage, 0.0) + time.perf_counter() - start

    return timed


def functions(run: Callable[[], object], work: Workload, top: int, callers: str | None) -> None:
    """Print the functions by their own time."""
    profile = cProfile.Profile()
    loops = 5 if work.kind == "stream" else 100
    profile.enable()
    for _ in range(loops):
        run()
    profile.disable()
    stats = pstats.Stats(profile)
    entries = stats.stats  # type: ignore[attr-defined]
    whole = sum(own for _, _, own, _, _ in entries.values())
    print(f"{'own':>6}{'with':>6}{'calls':>9}  function (shares of the profiled time; calls a run)")
    for (file, line, name), (_, calls, own, cumulative, _) in sorted(entries.items(), key=lambda e: -e[1][2])[:top]:
        where = f"{Path(file).name}:{line} " if line else ""
        print(f"{own / whole:>6.1%}{cumulative / whole:>6.0%}{calls / loops:>9.1f}  {where}{name}")
    if callers:
        stats.strip_dirs().print_callers(callers)


if __name__ == "__main__":
    sys.exit(main())
