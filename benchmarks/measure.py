"""How things are measured: the least of many rounds in which the contenders take turns, in one process.

A shared machine slows everybody down, so that only minima and their ratios mean something. The order within a round
is shuffled, everything imported is taken out of the garbage collector's sight first (a heavy import of one library
must not slow down another), and Python's warnings are off, which costs the least.
"""

from __future__ import annotations

import gc
import importlib.metadata
import os
import py_compile
import random
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.contenders import ROOT, Contender, Floor, Ours, Unsupported
from benchmarks.workloads import Workload

Progress = Callable[[str], None]


@contextmanager
def quiet_process() -> Any:
    """Freeze what is imported, silence warnings, and give everything back at the end.

    What the program had frozen before stays frozen: nothing can be thawed alone.
    """
    thaw = (lambda: None) if gc.get_freeze_count() else gc.unfreeze
    gc.collect()
    gc.freeze()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            thaw()


def fastest(work: Workload, contenders: Iterable[Contender], rounds: int, slice_s: float) -> dict[str, float | str]:
    """Seconds per unit of `work` for each contender, the least of `rounds`; a string is the reason why there is no
    figure.

    Every contender runs for about `slice_s` seconds a round.
    """
    out: dict[str, float | str] = {}
    racing: list[tuple[Contender, Callable[[], object], int]] = []
    for contender in contenders:
        if contender.version is None:
            out[contender.title] = contender.absent
            continue
        try:
            run = contender.runner(work)
            run()
            once = max(min(contender.seconds(run, 1) for _ in range(3)), 1e-7)
        except Unsupported as reason:
            out[contender.title] = str(reason)
            continue
        except Exception as error:
            out[contender.title] = f"fails: {type(error).__name__}: {error}"[:200]
            continue
        out[contender.title] = once / work.events
        racing.append((contender, run, max(1, round(slice_s / once))))
    order = random.Random(work.name)
    for _ in range(rounds):
        order.shuffle(racing)
        for contender, run, loops in racing:
            seconds = contender.seconds(run, loops) / loops / work.events
            out[contender.title] = min(seconds, float(out[contender.title]))
    return out


def import_ms(contenders: Iterable[Contender], rounds: int) -> dict[str, float | str]:
    """Milliseconds that importing costs over starting Python, each in processes of its own, the least of `rounds`.

    Beside the contenders: "first conversion", ours with everything a first small request loads.
    """
    out: dict[str, float | str] = {}
    code = {"": "pass"}
    for contender in contenders:
        if contender.version is None:
            out[contender.title] = contender.absent
        elif contender.module:
            code.setdefault(contender.title, f"import {contender.module}")
    if Ours.title in code:
        code["first conversion"] = _FIRST
    places = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": places, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    least = dict.fromkeys(code, float("inf"))
    with tempfile.TemporaryDirectory() as bytecode:  # everybody's is fresh, complete, and leaves no trace in the tree
        environment["PYTHONPYCACHEPREFIX"] = bytecode
        for turn in range(rounds + 1):  # the first one compiles
            for name, source in code.items():
                start = time.perf_counter()
                done = subprocess.run([sys.executable, "-c", source], env=environment, capture_output=True, text=True)
                spent = time.perf_counter() - start
                if done.returncode:
                    out[name] = "fails: " + (done.stderr.strip().splitlines() or ["no message"])[-1][:200]
                elif turn:
                    least[name] = min(least[name], spent)
    for name in code:
        if name and name not in out:
            out[name] = (least[name] - least[""]) * 1000
    return out


_FIRST = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import unified_llm
from importlib.metadata import entry_points
if not entry_points(group="unified_llm.adapters"):
    from benchmarks.contenders import adapters_of_a_checkout
    adapters_of_a_checkout(unified_llm.register)
body = b'{{"model": "m", "messages": [{{"role": "user", "content": "hello"}}]}}'
unified_llm.convert(body, source="openai-chat", target="openai-responses")
"""


def installed_mb(contenders: Iterable[Contender]) -> dict[str, float | str]:
    """Megabytes each library takes once installed, with what it requires (no extras) and its compiled bytecode."""
    out: dict[str, float | str] = {}
    for contender in contenders:
        if contender.version is None:
            out[contender.title] = contender.absent
        elif isinstance(contender, Ours):
            needs = _core_requirements()
            out[contender.title] = (_own_bytes() + _closure_bytes(needs)) / 1e6
            out["unified_llm alone"] = _own_bytes() / 1e6
        elif contender.distribution and type(contender).__base__ is Contender:
            out[contender.title] = _closure_bytes([contender.distribution]) / 1e6
    return out


def _core_requirements() -> list[str]:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [_name(requirement) for requirement in project["dependencies"]]


def _name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def _closure_bytes(names: Iterable[str]) -> int:
    """The size of these distributions' files and of all they require (what a marker rules out is not installed)."""
    total, seen, waiting = 0, set[str](), [_name(name) for name in names]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        total += sum(path.stat().st_size for file in found.files or () if (path := Path(str(file.locate()))).is_file())
        waiting += [_name(need) for need in found.requires or () if "extra ==" not in need]
    return total


def _own_bytes() -> int:
    """The size of our own packages in the tree, with the bytecode an installer would compile."""
    total = 0
    with tempfile.TemporaryDirectory() as scratch:
        for top in (ROOT / "unified_llm", ROOT / "adapters"):
            for path in top.rglob("*"):
                if not path.is_file() or "__pycache__" in path.parts:
                    continue
                total += path.stat().st_size
                if path.suffix == ".py":
                    compiled = py_compile.compile(str(path), cfile=str(Path(scratch, "one.pyc")), doraise=True)
                    total += Path(compiled or "").stat().st_size
    return total


def floor() -> Floor:
    """The yardstick of every row."""
    return Floor()
