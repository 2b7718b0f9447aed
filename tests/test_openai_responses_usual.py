"""The quick way of `usual.py` says what the pairs say: every document converts alike with it and without it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pytest

from corpus import records
from quick_way import converted, replaced
from unified_llm import suite
from unified_llm_openai.responses import history

RESPONSES = "openai-responses"
OTHERS = ("openai-chat", "anthropic-messages", "google-generate-content", "google-interactions")


def without_the_quick_way(patch: pytest.MonkeyPatch) -> AbstractContextManager[None]:
    return replaced(patch, history, read_usual=lambda *_: None, write_usual=lambda *_: None)


@pytest.mark.parametrize(
    ("source", "target"),
    [(RESPONSES, RESPONSES), *((other, RESPONSES) for other in OTHERS), *((RESPONSES, other) for other in OTHERS)],
)
def test_requests_convert_alike_with_the_quick_way_and_without(
    source: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = list(records(source, "request"))
    quick = [converted(record, target) for record in found]
    with without_the_quick_way(monkeypatch):
        slow = [converted(record, target) for record in found]
    assert len(found) > 20
    assert [record["id"] for record, one, other in zip(found, quick, slow) if one != other] == []


@pytest.mark.parametrize(("way", "source", "target"), [("read", RESPONSES, OTHERS[0]), ("write", OTHERS[0], RESPONSES)])
def test_the_quick_way_is_taken(way: str, source: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    usual = getattr(history, f"{way}_usual")

    def counting(*arguments: Any) -> Any:
        found = usual(*arguments)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(history, f"{way}_usual", counting)
    for record in records(source, "request"):
        suite.outcome(record, target)
    assert sum(taken) > len(taken) / 4
