"""Print how the CPU time of every operation grows with the size of its input, as exponents.

    python benchmarks/complexity.py [--only GLOB] [--largest N] [--all] [--limit X] [--json FILE] [--check]

Sizes double up to `--largest` (default 8,000), or until one takes longer than `CAP`. The exponent of a series is the
slope of log(time) over log(size), by least squares over the sizes that take longer than `FLOOR`; a series that never
does is quick at every size and has none. A series over the limit is measured again, as minima of several runs. Garbage
collection is off while an operation runs: its passes over all objects come in steps.

The table has a row for each operation and shape, with the greatest exponent over its pairs of protocols; `--all` has a
row for each pair. `--check` exits 1 when one is over the limit.
"""

from __future__ import annotations

import argparse
import fnmatch
import gc
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from benchmarks.growth import Series, series  # noqa: E402

SMALLEST = 500
FLOOR, CAP = 0.001, 0.5  # seconds
REPEATS = 4
LIMIT = 1.2


class Growth(NamedTuple):
    """The seconds at each size, and the exponent; None where all sizes are below the floor, or an error."""

    name: str
    seconds: dict[int, float]
    exponent: float | None
    error: str = ""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="How the time of every operation grows with its input.")
    parser.add_argument("--only", metavar="GLOB", default="*", help="series by name: 'stream: *', '*cache*'")
    parser.add_argument("--largest", metavar="N", type=int, default=8000, help="the largest size (default 8000)")
    parser.add_argument("--all", action="store_true", help="a row for each pair of protocols")
    parser.add_argument(
        "--limit", metavar="X", type=float, default=LIMIT, help=f"the greatest exponent (default {LIMIT})"
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--check", action="store_true", help="exit 1 when an exponent is over the limit")
    options = parser.parse_args(argv)
    chosen = [each for each in series() if fnmatch.fnmatch(each.name, options.only)]
    found = []
    gc.collect()
    gc.freeze()
    for number, each in enumerate(chosen):
        _progress(f"{number + 1}/{len(chosen)} {each.name}")
        found.append(measured(each, options.largest, options.limit))
    _progress("")
    rows = found if options.all else _greatest(found)
    _print(rows, options.limit)
    over = [growth for growth in found if growth.exponent is not None and growth.exponent > options.limit]
    failed = [growth for growth in found if growth.error]
    print(f"{len(found)} series, {len(over)} over {options.limit:g}, {len(failed)} failed")
    if options.json:
        Path(options.json).write_text(json.dumps([growth._asdict() for growth in found], indent=1) + "\n")
    return 1 if options.check and (over or failed) else 0


def sampled(largest: int, progress: Callable[[str], None]) -> list[Growth]:
    """Each operation and shape with one pair of protocols (the pairs take turns): what `make bench` has time for."""
    found: dict[str, list[Series]] = {}
    for each in series():
        found.setdefault(each.name.rpartition(": ")[0] or each.name, []).append(each)
    chosen = [each[turn % len(each)] for turn, each in enumerate(found.values())]
    gc.collect()
    gc.freeze()
    try:
        out = []
        for number, each in enumerate(chosen):
            progress(f"{number + 1}/{len(chosen)} {each.name}")
            out.append(measured(each, largest, LIMIT))
        return out
    finally:
        gc.unfreeze()


def cells(found: list[Growth]) -> tuple[list[str], list[list[str]], list[str]]:
    """The header, a row for each operation, and the notes: how many shapes, and the one that grows the fastest."""
    operations: dict[str, list[Growth]] = {}
    for growth in found:
        operations.setdefault(growth.name.partition(":")[0], []).append(growth)
    rows = []
    for name, its in operations.items():
        known = sorted((growth for growth in its if growth.exponent is not None), key=lambda each: each.exponent or 0.0)
        middle = f"{known[len(known) // 2].exponent:.2f}" if known else "–"
        last = known[-1] if known else None
        greatest = f"{last.exponent:.2f}" if last else "–"
        where = last.name.partition(": ")[2].replace("|", "/") if last else "every size takes less than a millisecond"
        rows.append([name, str(len(its)), middle, greatest, where])
    failed = [f"{growth.name} fails: {growth.error}" for growth in found if growth.error]
    return ["operation", "shapes", "exponent", "greatest", "which"], rows, failed


def measured(each: Series, largest: int, limit: float) -> Growth:
    """The growth of one series, measured again where it is over the limit: another process may have been in the way."""
    try:
        seconds = _seconds(each, largest, 1)
        exponent = _exponent(seconds)
        if exponent is not None and exponent > limit:
            seconds = _seconds(each, largest, REPEATS)
            exponent = _exponent(seconds)
    except Exception as error:
        return Growth(each.name, {}, None, f"{type(error).__name__}: {error}"[:200])
    return Growth(each.name, seconds, exponent)


def _seconds(each: Series, largest: int, repeats: int) -> dict[int, float]:
    out: dict[int, float] = {}
    largest = min(largest, each.largest)
    size = min(SMALLEST, largest // 8)
    each.run(each.make(size))  # what is imported and compiled on first use is not part of it
    while size <= largest:
        out[size] = min(_once(each, size) for _ in range(repeats))
        if out[size] > CAP:
            break
        size *= 2
    return out


def _once(each: Series, size: int) -> float:
    given = each.make(size)
    gc.collect()
    gc.disable()
    try:
        begin = time.process_time()
        each.run(given)
        return time.process_time() - begin
    finally:
        gc.enable()


def _exponent(seconds: dict[int, float]) -> float | None:
    points = [(math.log(size), math.log(spent)) for size, spent in seconds.items() if spent > FLOOR]
    if len(points) < 2:
        return None
    mean_x, mean_y = (sum(point[axis] for point in points) / len(points) for axis in (0, 1))
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def _greatest(found: list[Growth]) -> list[Growth]:
    """The series with the greatest exponent of each operation and shape."""
    rows: dict[str, Growth] = {}
    for growth in found:
        key = growth.name.rpartition(": ")[0] or growth.name
        mine = rows.get(key)
        if mine is None or (growth.error, growth.exponent or 0.0) > (mine.error, mine.exponent or 0.0):
            rows[key] = growth
    return list(rows.values())


def _print(rows: list[Growth], limit: float) -> None:
    wide = max((len(growth.name) for growth in rows), default=0)
    for growth in rows:
        last = next(iter([*growth.seconds.items()][-1:]), None)
        spent = f"{last[1] * 1e3:9.1f} ms at {last[0]}" if last else growth.error
        exponent = "   –" if growth.exponent is None else f"{growth.exponent:4.2f}"
        mark = "  OVER" if growth.exponent is not None and growth.exponent > limit else ""
        print(f"{growth.name.ljust(wide)}  {exponent}  {spent}{mark}")


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text[:100]}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
