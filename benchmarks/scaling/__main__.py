"""How far the gateway scales: the capacity model of `docs/scaling.md`, its constants and its checks.

    python benchmarks/scaling                 # the model and a simulation of it (seconds)
    python benchmarks/scaling --write         # the same, into docs/scaling.md and its chart
    python benchmarks/scaling --load          # 1, 2 and 4 processes on one PostgreSQL, measured and predicted
    python benchmarks/scaling --calibrate     # measures the constants on this machine (minutes), into costs.json

The last two need PostgreSQL on this machine, at `UNIFIED_LLM_POSTGRES`, and Linux. With `--load`, `--write` puts that
table into the page and nothing else, and `--check` exits 1 where a prediction is more than a fifth off.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from benchmarks.scaling import tables  # noqa: E402
from benchmarks.scaling.costs import FILE, known  # noqa: E402

NEAR = 0.2  # the part by which a prediction may be off


def _load(write: bool) -> bool:
    """Print what was measured and predicted; whether they are near each other."""
    from benchmarks.scaling import load

    lines, near = [], True
    constants = known()
    for work in load.measured(_progress):
        line = [str(work.workers), f"{work.events:,}", f"{work.groups / work.seconds:,.0f}",
                f"{work.expected(constants):,.0f}"]  # fmt: skip
        pairs = zip((work.node_us, work.db_us), work.predicted(constants))
        both = (work.node_us + work.db_us, sum(work.predicted(constants)))
        for measured, predicted in (*pairs, both):
            line.append(f"{measured:.0f} / {predicted:.0f} ({measured / predicted:.2f})")
            near = near and abs(measured / predicted - 1) <= NEAR
        lines.append(line)
    head = ["workers", "events", "commits/s, counted", "by the model", "µs of workers an event", "µs of the database",
            "both"]  # fmt: skip
    made = f"{tables.table(head, lines)}\n\nMeasured / predicted (their ratio). {_machine()}"
    print(made)
    if write:
        tables.PAGE.write_text(tables.put(tables.PAGE.read_text("utf-8"), "load", made), "utf-8")
    return near


def _machine() -> str:
    return (f"CPython {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores, "
            f"load {os.getloadavg()[0]:.1f}.")  # fmt: skip


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python benchmarks/scaling", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--calibrate", action="store_true")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.calibrate:
        from benchmarks.scaling.calibrate import calibrated

        found = {name: round(value, 2) for name, value in calibrated(_progress)._asdict().items()}
        FILE.write_text(json.dumps({"machine": _machine(), "costs": found}, indent=2) + "\n")
    if given.load:
        return 0 if _load(given.write) or not given.check else 1
    renewed = tables.renewed()
    if given.write:
        for path, text in renewed.items():
            path.write_text(text, "utf-8")
    else:
        print(renewed[tables.PAGE].partition("<!-- scaling costs -->")[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
