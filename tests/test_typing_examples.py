"""Examples are checked by mypy (strict) and pyright in `make types`, which is of use only if all of them are."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


def test_no_example_silences_a_checker() -> None:
    programs = list(EXAMPLES.rglob("*.py"))
    silenced = re.compile(r"#\s*(type|pyright):\s*ignore|#\s*mypy:|#\s*pyright:")
    assert len(programs) > 15
    assert [str(path.relative_to(ROOT)) for path in programs if silenced.search(path.read_text("utf-8"))] == []


def test_both_checkers_look_at_all_examples_but_those_of_frameworks() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    assert "examples" in tools["mypy"]["files"] and tools["mypy"]["exclude"] == ["^examples/frameworks/"]
    assert tools["pyright"]["include"] == ["examples"] and tools["pyright"]["exclude"] == ["examples/frameworks"]
    assert "overrides" not in tools["mypy"] and tools["mypy"]["strict"] is True
