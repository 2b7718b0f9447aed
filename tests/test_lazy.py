"""What loads on first use is kept from the collector, at no cost where nothing is loaded and nothing of it undone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from unified_llm.foundation import lazy

MODULE = "tabnanny"  # of the standard library, and small


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[str]]:
    """A collector in place of the real one, for a program that froze so many objects; what is called of it."""
    called: list[str] = []

    def put(frozen: int) -> list[str]:
        def name(each: str, value: Any = None) -> Callable[[], Any]:
            return lambda: called.append(each) or value

        fake = SimpleNamespace(
            isenabled=lambda: True,
            get_freeze_count=name("count", frozen),
            **{each: name(each) for each in ("disable", "enable", "freeze", "unfreeze")},
        )
        monkeypatch.setattr(lazy, "gc", fake)
        monkeypatch.setattr(lazy, "_is_frozen", False)
        return called

    return put


def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load a module that was not loaded."""
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    assert lazy.load(MODULE).__name__ == MODULE


def test_what_is_loaded_goes_to_the_oldest_generation(
    collector: Callable[[int], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    called = collector(0)
    anew(monkeypatch)
    assert called == ["disable", "count", "freeze", "unfreeze", "enable"]


def test_loading_what_is_loaded_leaves_the_collector_as_it_is(collector: Callable[[int], list[str]]) -> None:
    """Young garbage would become old with each call, and the frozen objects would be counted each time."""
    called = collector(0)
    assert lazy.load("json").__name__ == "json"
    assert not {"count", "freeze", "unfreeze"} & set(called)


def test_what_a_program_froze_stays_frozen_and_is_counted_once(
    collector: Callable[[int], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counting takes a tenth of a second where some millions of objects are frozen."""
    called = collector(5_000_000)
    anew(monkeypatch)
    anew(monkeypatch)
    assert called == ["disable", "count", "enable", "disable", "enable"]
