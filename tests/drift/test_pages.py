"""The matrix for readers: the pages are current, and the three forms of a table have the same content."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

import _capabilities
import unified_llm as ul
from unified_llm.cli import app
from unified_llm.drift import CANONICAL, OBSERVED, layout
from unified_llm.drift.render import MARKS, html, markdown
from unified_llm.engine.registry import adapter, protocols
from unified_llm.engine.sdk_declarations import pinned

ROOT = Path(__file__).parents[2]


def test_the_page_and_the_table_of_the_readme_are_current() -> None:
    for path, text in _capabilities.renewed().items():
        assert path.read_text("utf-8") == text, "run: python docs/_capabilities.py"


def test_every_protocol_has_its_section() -> None:
    text = (ROOT / "docs" / "capabilities.md").read_text("utf-8")
    assert text.count("\n## From ") == len(ul.protocols())
    assert "`openai-chat:deepseek`" in text and "`o3`" in text


def test_every_fate_has_a_mark_of_its_own() -> None:
    assert set(MARKS) == {*OBSERVED, ""}
    assert len({MARKS[fate] for fate in OBSERVED}) == len(OBSERVED)


class Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.fates: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag == "td":
            self.fates.append(known["class"] or "")
        self.loaded += [tag for key in ("src", "href") if key in known] + [tag] * (tag in ("script", "link", "img"))


def test_the_heat_map_is_whole_and_needs_nothing_beside_it() -> None:
    found = layout.matrix("openai-chat", "*", ["request", "response"], "tools.*")
    page = Cells()
    page.feed(html(found))
    assert not page.loaded
    drawn = [fate for fate in page.fates if fate != "none"]
    assert sorted(drawn) == sorted(cell.fate for cell in found.cells.values() if cell.fate != "-")


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, arguments)
    return done.exit_code, done.stdout, done.stderr


def test_the_command_in_every_form() -> None:
    asked = ("matrix", "sampling.*", "--from", "openai-chat", "--to", "openai-responses", "--kind", "request")
    code, out, err = run(*asked)
    assert code == 0
    assert re.search(r"sampling.seed +lost", out)
    assert "openai-chat -> openai-responses: 2 native, 3 lost" in err
    cells = json.loads(run(*asked, "--json")[1])["cells"]
    assert {cell["capability"]: cell["fate"] for cell in cells}["sampling.temperature"] == "native"
    assert "| sampling.seed | lost |" in run(*asked, "--markdown")[1]
    assert run(*asked, "--html")[1].startswith("<!doctype html>")
    assert "sampling.temperature" not in run(*asked, "--fate", "lost", "--markdown")[1]


def test_many_columns_are_numbered() -> None:
    code, out, _ = run("matrix", "sampling.seed", "--to", "openai-chat:*", "--kind", "request")
    assert code == 0
    assert "1: openai-chat:anthropic\n" in out
    assert "`○` lost" in out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("matrix", "sampler.*"), "matches no capability; did you mean 'sampling.*'?"),
        (("matrix", "--fate", "losst"), "'losst' is not a fate; choose one of: native"),
        (("matrix", "--to", "carrier-pigeon"), "carrier-pigeon"),
        (("matrix", "--to", "openai-chat:nowhere"), "unknown dialect"),
        (("matrix", "--to", "anthropic-messages:*"), "has no dialects"),
        (("matrix", "--kind", "letter"), "letter"),
        (("drift", "lock", "nowhere.json"), "--update makes one"),
    ],
)
def test_bad_usage_is_exit_2_and_one_line(arguments: tuple[str, ...], reason: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1 and reason in err


def test_the_lock_by_command(tmp_path: Path) -> None:
    path = tmp_path / "ours.json"
    watch = [{"source": "openai-chat", "target": "openai-responses", "capabilities": ["sampling.*"]}]
    path.write_text(json.dumps({"version": 1, "watch": watch, "cells": {}}))
    code, out, _ = run("drift", "lock", str(path))
    assert code == 1 and "new: 5" in out
    assert run("drift", "lock", str(path), "--update")[0] == 0
    assert run("drift", "lock", str(path))[:2] == (0, "")


def test_a_table_in_words_tells_kinds_apart() -> None:
    found = layout.matrix(CANONICAL, "anthropic-messages", capabilities="reasoning.text")
    assert "request lost, response/stream native" in markdown(found)


def test_the_page_of_sdk_updates_has_a_table_for_each_protocol_and_ends_at_the_pinned_versions() -> None:
    page = (ROOT / "docs" / "sdk-drift.md").read_text("utf-8")
    parts = {title: text for title, _, text in (part.partition("\n") for part in page.split("\n## ")[1:])}
    for protocol in protocols():
        if (declared := pinned(protocol)) is not None:
            text = parts[adapter(protocol).title]
            assert f"to {declared.sdk}: " in text, protocol
            assert "| file | differences |" in text, protocol
