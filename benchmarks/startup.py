"""What a user waits for before anything happens: whole processes, from start to end, in milliseconds.

Beside the time on the clock stands the processor time, which other programs of a shared machine disturb less. Figures
are medians; bytecode is compiled beforehand, as an installer does.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.contenders import ROOT, Ours

RUNS = 10
_ECHO = 'import unified_llm as ul; ul.Client().responses.create(model="local/echo", input="Hi").output_text'
_REQUEST = '{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}'
_CONVERT = ("convert", "--from", "openai-chat", "--to", "anthropic-messages")
COMMANDS: dict[str, tuple[str, float | None, tuple[str, ...]]] = {
    "python": ("bare Python, from start to end", None, ("-c", "pass")),
    "first-call": ("a first call to `local/echo`", 350.0, ("-c", _ECHO)),
    "cli-help": ("`unified-llm --help`", 250.0, ("-m", "unified_llm", "--help")),
    "cli-convert": ("`unified-llm convert` of a small file", 250.0, ("-m", "unified_llm", *_CONVERT)),
}
"""Name of the row to its label, its budget, and the arguments of Python."""


def rows(rounds: int) -> list[dict[str, Any]]:
    """Two rows a command: the time on the clock, with its budget, and the processor time."""
    found: list[dict[str, Any]] = []
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
    for name, (label, budget, _) in COMMANDS.items():
        clock, processor = (statistics.median(each) for each in zip(*spent[name], strict=True))
        met = clock <= budget if budget is not None else None
        common = {"unit": "ms", "name": name}
        found.append({**common, "label": label, "figures": {Ours.title: clock}, "budget": budget, "met": met})
        label = f"{label}, processor time"
        found.append({**common, "label": label, "figures": {Ours.title: processor}, "budget": None, "met": None})
    return found


def _timed(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Milliseconds of a process on the clock, and of the processor."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=True)
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return clock * 1000, processor * 1000
