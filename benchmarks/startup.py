"""What a user waits for before anything happens: whole processes, from start to end, in milliseconds.

    python benchmarks/startup.py [--rounds N] [--check]

The time on the clock has the budget; the processor time beside it, which other programs of a shared machine disturb
less, shows whether the machine was quiet. Both are medians; bytecode is compiled beforehand, as an installer does.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # the folder of this script holds a profile.py, which must not stand in for the library's
    sys.path[0] = str(ROOT)

RUNS = 10
BARE = "python"
_ECHO = 'import unified_llm as ul; ul.Client().responses.create(model="local/echo", input="Hi").output_text'
_REQUEST = '{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}'
_CONVERT = ("convert", "--from", "openai-chat", "--to", "anthropic-messages")
COMMANDS: dict[str, tuple[str, float | None, tuple[str, ...]]] = {
    BARE: ("bare Python, from start to end", None, ("-c", "pass")),
    "import": ("`import unified_llm`, over bare Python", 60.0, ("-c", "import unified_llm")),
    "first-call": ("a first call to `local/echo`", 350.0, ("-c", _ECHO)),
    "cli-help": ("`unified-llm --help`", 250.0, ("-m", "unified_llm", "--help")),
    "cli-convert": ("`unified-llm convert` of a small file", 250.0, ("-m", "unified_llm", *_CONVERT)),
}
"""Name of the row to its label, its budget, and the arguments of Python."""


def rows(rounds: int) -> list[dict[str, Any]]:
    """A row a command: the time on the clock, with its budget, and the processor time."""
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as scratch:
        environment["PYTHONPYCACHEPREFIX"] = str(Path(scratch, "bytecode"))
        request = Path(scratch, "request.json")
        request.write_text(_REQUEST)
        for turn in range(rounds + 1):  # the first one compiles
            for name, (_, _, arguments) in COMMANDS.items():
                more = [str(request)] if name == "cli-convert" else []
                figures = _timed([sys.executable, *arguments, *more], environment)
                if turn:
                    spent[name].append(figures)
    medians = {name: [statistics.median(each) for each in zip(*times, strict=True)] for name, times in spent.items()}
    found = []
    for name, (label, budget, _) in COMMANDS.items():
        less = medians[BARE] if name == "import" else (0.0, 0.0)
        clock, processor = (time - bare for time, bare in zip(medians[name], less, strict=True))
        met = clock <= budget if budget is not None else None
        row = {"name": name, "label": label, "clock": clock, "processor": processor, "budget": budget, "met": met}
        found.append({**row, "rounds": rounds})
    return found


def _timed(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Milliseconds of a process on the clock, and of the processor."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=True)
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return clock * 1000, processor * 1000


def cells(found: list[dict[str, Any]]) -> tuple[list[str], list[list[str]], list[str]]:
    """The header and the rows, as text."""
    lines = []
    for row in found:
        budget = "" if row["budget"] is None else f"≤ {row['budget']:g} {'met' if row['met'] else 'OVER'}"
        lines.append([row["label"], f"{row['clock']:.0f} ms", f"{row['processor']:.0f} ms", budget])
    return ["from start to end", "on the clock", "of the processor", "budget"], lines, []


def closing(found: list[dict[str, Any]]) -> str:
    """The words below the table."""
    return f"Medians of {found[0]['rounds']} interleaved rounds, a process each."


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="What processes take from start to end.")
    parser.add_argument("--rounds", metavar="N", type=int, default=RUNS, help=f"rounds of each command ({RUNS})")
    parser.add_argument("--check", action="store_true", help="exit 1 when a row is over its budget")
    options = parser.parse_args(argv)
    found = rows(options.rounds)
    head, lines, _ = cells(found)
    for line in [head, *lines]:
        print("  ".join([line[0].ljust(40), *(each.rjust(16) for each in line[1:])]))
    print(f"{closing(found)} Load {os.getloadavg()[0]:.1f}.")
    return 1 if options.check and any(row["met"] is False for row in found) else 0


if __name__ == "__main__":
    sys.exit(main())
