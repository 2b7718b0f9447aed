"""The rows of `make bench` about start-up: what is measured is a process of its own, and a passed budget is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import run, startup

PAGE = "before\n<!-- results:begin -->\nkept\n<!-- results:end -->\n<!-- startup:begin -->\nold\n<!-- startup:end -->\n"


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    commands = {
        "python": ("bare", None, ("-c", "pass")),
        "import": ("an import", 1e6, ("-c", "import tomllib")),
        "first-call": ("a call", 1e-6, ("-c", "import sys; assert not sys.dont_write_bytecode")),
    }
    monkeypatch.setattr(startup, "COMMANDS", commands)


@pytest.mark.bench
@pytest.mark.usefixtures("measured")
def test_a_budget_that_is_passed_is_seen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    found = {row["name"]: row for row in startup.rows(1)}
    assert {name: row["met"] for name, row in found.items()} == {"python": None, "import": True, "first-call": False}
    assert found["python"]["clock"] > 0
    assert startup.main(["--rounds", "1"]) == 0 and startup.main(["--rounds", "1", "--check"]) == 1
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()[2:4]] == ["met", "OVER"]


@pytest.mark.bench
@pytest.mark.usefixtures("measured")
def test_start_up_is_written_without_the_other_results(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert run.main(["--only", "startup", "--rounds", "1", "--write", str(page)]) == 0
    assert run.main(["--only", "startup", "--rounds", "1", "--check"]) == 1
    text = page.read_text()
    assert "\nkept\n" in text and "\nold\n" not in text and "| an import |" in text
