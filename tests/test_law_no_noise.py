"""A value that is the API's documented default, or that the library itself made, is never called lost."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import unified_llm as ul
from corpus import pairs, records, show
from covering import in_turn
from unified_llm import suite
from unified_llm.suite.mutate import altered
from unified_llm.suite.outcome import document, noticed, outcome
from unified_llm.suite.walk import pointer, replaced

TABLE: dict[str, Any] = tomllib.loads((Path(ul.__file__).parent / "losses" / "defaults.toml").read_text("utf-8"))


@pytest.mark.parametrize(("source", "target", "kind"), pairs("request", "response", "stream"))
def test_no_default_is_called_lost(source: str, target: str, kind: str) -> None:
    failures = suite.no_noise(in_turn(records(source, kind), source, target), target)
    assert not failures, show(failures, "no noise", len(failures))


@pytest.mark.parametrize(("source", "target", "kind"), pairs("request", "response"))
def test_a_default_that_is_altered_is_carried_or_reported(source: str, target: str, kind: str) -> None:
    failures, seen = [], 0
    tried: set[tuple[str, str]] = set()
    for record in records(source, kind):
        base = None
        for path, value in suite.documented_defaults(record):
            place = re.sub("/[0-9]+", "/*", pointer(path))
            if (place, repr(value)) in tried or type(value) in (dict, list):
                continue
            base = base or outcome(record, target)
            if base.error is not None:
                break
            tried.add((place, repr(value)))
            seen += 1
            if not noticed(record, target, base, replaced(document(record), path, altered(value)), path):
                failures.append(suite.Failure(record["id"], pointer(path), f"{value!r} altered in silence"))
    assert seen
    assert not failures, show(failures, "altered defaults", seen)


def test_every_row_names_its_page() -> None:
    assert len(rows("request", "response", "stream")) > 100
    for row in rows("request", "response", "stream", "filled"):
        assert row["url"].startswith("https://"), row
        assert row["path"].startswith("/"), row
    for row in rows("request", "response", "stream"):
        assert ("value" in row) != row.get("unknown", False), row


def rows(*kinds: str) -> list[dict[str, Any]]:
    return [row for table in TABLE.values() for kind in kinds for row in table.get(kind, ())]


def test_a_row_without_a_field_elsewhere_says_what_apis_without_the_setting_do() -> None:
    """A canonical setting that only one protocol has and [unasked] lacks could never be found to be kept."""
    assert {row["field"] for row in rows("request") if "field" in row} - set(TABLE["unasked"]) == {
        "temperature",
        "top_p",
    }
