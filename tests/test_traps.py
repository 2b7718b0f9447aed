"""The index of known traps is whole and true: each has a test that is there or a reason why it lies outside."""

from __future__ import annotations

from pathlib import Path

import _traps
from unified_llm.foundation.capabilities import CAPABILITIES

ROOT = Path(__file__).parents[1]


def test_every_trap_is_listed_once_and_in_order() -> None:
    traps = _traps.index()["trap"]
    assert [trap["number"] for trap in traps] == list(range(1, 181))
    assert all(trap["title"] and trap["threads"] for trap in traps)


def test_every_trap_names_capabilities_of_the_closed_list() -> None:
    for trap in _traps.index()["trap"]:
        assert trap["capabilities"] and set(trap["capabilities"]) <= CAPABILITIES.keys(), trap["number"]


def test_every_trap_has_a_test_or_a_reason_why_not() -> None:
    without = [t["number"] for t in _traps.index()["trap"] if not t.get("tests") and not t.get("outside")]
    assert not without


def test_every_test_that_is_named_is_there() -> None:
    there = _traps.tests()
    named = {name for trap in _traps.index()["trap"] for name in trap.get("tests", ())}
    assert named and named <= there.keys(), sorted(named - there.keys())


def test_every_test_that_is_named_after_a_trap_is_listed_under_it() -> None:
    listed = {trap["number"]: set(trap.get("tests", ())) for trap in _traps.index()["trap"]}
    missing = [
        (number, name)
        for name, numbers in _traps.tests().items()
        for number in numbers
        if name not in listed.get(number, ())
    ]
    assert not missing, "run: python docs/_traps.py"


def test_the_page_is_current() -> None:
    assert _traps.PAGE.read_text("utf-8") == _traps.page(), "run: python docs/_traps.py"
