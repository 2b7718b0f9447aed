"""The public types, as the checkers of users see them: a program in which nothing is found, and one full of mistakes.

Both run in strict mode over `typing_project`, a project of its own. A line of `mistakes.py` that ends with `# error` is
one that every checker must report; any other line is one that none may report.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = ROOT / "tests" / "typing_project"
SOURCES = (str(ROOT), str(ROOT / "adapters"))
Place = tuple[str, int]


def run(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((*SOURCES, os.environ.get("PYTHONPATH", "")))},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def by_mypy(tmp_path: Path) -> dict[Place, str]:
    told = run("mypy", "--config-file", "mypy.ini", "--cache-dir", str(tmp_path), "program.py", "mistakes.py")
    found = re.findall(r"^(\S+\.py):(\d+): error: (.*)$", told, re.MULTILINE)
    return {(Path(file).name, int(line)): reason for file, line, reason in found}


def by_pyright(tmp_path: Path) -> dict[Place, str]:
    told = json.loads(run("pyright", "--outputjson", "--pythonpath", sys.executable, "-p", "."))
    assert told["summary"]["filesAnalyzed"] == 2
    return {
        (Path(each["file"]).name, each["range"]["start"]["line"] + 1): each["message"]
        for each in told["generalDiagnostics"]
    }


@pytest.mark.long
@pytest.mark.parametrize("checker", [by_mypy, by_pyright])
def test_checkers_find_every_mistake_and_no_other(checker: Callable[[Path], dict[Place, str]], tmp_path: Path) -> None:
    if util.find_spec(checker.__name__.removeprefix("by_")) is None:
        pytest.skip(f"{checker.__name__.removeprefix('by_')} is not installed")
    found = checker(tmp_path)
    wanted = {
        (path.name, number)
        for path in PROJECT.glob("*.py")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if line.endswith("# error")
    }
    assert len(wanted) > 40
    assert {place: reason for place, reason in found.items() if place not in wanted} == {}
    assert wanted - set(found) == set()
