"""`docs/traps.md`, written from `tests/traps/index.toml`: every known trap, and the test that shows we are not in it.

`python docs/_traps.py` first adds to the index the tests that are named after a trap (`test_trap_083_...`) and takes
out those that are gone, then writes the page; `--check` only checks that both are current (a test does the same).
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from typing import Any

from _pages import ROOT, renew

TESTS = ROOT / "tests"
INDEX = TESTS / "traps" / "index.toml"
PAGE = ROOT / "docs" / "traps.md"
NAMED = re.compile(r"test_traps?_((?:\d{3}_)+)")

INTRO = """# Known bugs of translators

Each of these bugs was found in the issue threads of other projects that translate between the APIs of language models.
The last column names the tests that show that this library does not have it; where a bug lies outside of what
converting documents and streams can do, it contains the reason. {figures}

This page is written by `docs/_traps.py` from `tests/traps/index.toml`.
"""


def tests() -> dict[str, set[int]]:
    """Every test function of the suite as `file.py::name`, and the traps it is named after."""
    found: dict[str, set[int]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
                match = NAMED.match(node.name)
                numbers = {int(n) for n in match[1].split("_") if n} if match else set()
                found[f"{path.relative_to(TESTS).as_posix()}::{node.name}"] = numbers
    return found


def index() -> dict[str, Any]:
    return tomllib.loads(INDEX.read_text("utf-8"))


def renewed_index() -> str:
    """The index with the tests that are there now: those named after a trap, and those it names itself."""
    known = tests()
    out: list[str] = []
    for block in re.split(r"(?m)^(?=\[\[trap\]\])", INDEX.read_text("utf-8")):
        number = re.search(r"(?m)^number = (\d+)$", block)
        if number:
            listed = [*tomllib.loads(block)["trap"][0].get("tests", ())]
            kept = {name for name in listed if name in known}
            kept |= {name for name, numbers in known.items() if int(number[1]) in numbers}
            lines = "".join(f'    "{name}",\n' for name in sorted(kept))
            tests_ = f"tests = [\n{lines}]\n" if kept else ""
            block = re.sub(r"(?ms)^tests = \[.*?^\]\n", "", block).rstrip("\n") + f"\n{tests_}\n"
        out.append(block)
    return "".join(out).rstrip("\n") + "\n"


def page() -> str:
    """The text of `docs/traps.md`."""
    data = index()
    traps: list[dict[str, Any]] = data["trap"]
    outside = sum("outside" in trap for trap in traps)
    figures = f"Of {len(traps)}, {len(traps) - outside} are tested here and {outside} lie outside."
    out = [INTRO.format(figures=figures)]
    themes: list[dict[str, Any]] = data["theme"]
    for theme, after in zip(themes, [*themes[1:], {"first": len(traps) + 1}]):
        out.append(f"## {theme['title']}\n")
        out.append("| | what goes wrong | capabilities | seen in | proved by |\n| --: | --- | --- | --- | --- |")
        out += [_row(trap) for trap in traps if theme["first"] <= trap["number"] < after["first"]]
        out.append("")
    return "\n".join(out).rstrip("\n") + "\n"


def _row(trap: dict[str, Any]) -> str:
    files: dict[str, list[str]] = {}
    for name in trap.get("tests", ()):
        path, _, function = name.partition("::")
        files.setdefault(path, []).append(f"`{function}`")
    proved = [f"[{path.rpartition('/')[2]}](../tests/{path}): {', '.join(names)}" for path, names in files.items()]
    if "outside" in trap:
        proved.insert(0, f"outside: {trap['outside']}")
    capabilities = ", ".join(f"`{name}`" for name in trap["capabilities"])
    cells = [str(trap["number"]), trap["title"], capabilities, ", ".join(trap["threads"]), "; ".join(proved)]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    return renew({INDEX: renewed_index()}) | renew({PAGE: page()})


if __name__ == "__main__":
    sys.exit(main())
