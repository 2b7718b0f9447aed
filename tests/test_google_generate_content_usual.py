"""The quick way of `usual.py` says what the pairs say: every document converts alike with it and without it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pytest

from corpus import records
from quick_way import converted, read, replaced
from unified_llm import suite
from unified_llm_google.generate_content import request

GEMINI = "google-generate-content"
OTHER = "openai-chat"
MESSAGES = "anthropic-messages"


def without_the_quick_way(patch: pytest.MonkeyPatch) -> AbstractContextManager[None]:
    return replaced(patch, request, read_usual=lambda *_: None, write_usual=lambda *_: None)


@pytest.mark.parametrize(("source", "target"), [(GEMINI, GEMINI), (GEMINI, OTHER), (OTHER, GEMINI), (MESSAGES, GEMINI)])
def test_requests_convert_alike_with_the_quick_way_and_without(
    source: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = list(records(source, "request"))
    quick = [converted(record, target) for record in found]
    with without_the_quick_way(monkeypatch):
        slow = [converted(record, target) for record in found]
    assert len(found) > 50
    assert [record["id"] for record, one, other in zip(found, quick, slow) if one != other] == []


def test_requests_are_read_alike_with_the_quick_way_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(records(GEMINI, "request"))
    quick = [read(record) for record in found]
    with without_the_quick_way(monkeypatch):
        slow = [read(record) for record in found]
    assert [record["id"] for record, one, other in zip(found, quick, slow) if one != other] == []


@pytest.mark.parametrize(("source", "target", "name"), [(GEMINI, OTHER, "read_usual"), (OTHER, GEMINI, "write_usual")])
def test_the_quick_way_is_taken(source: str, target: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    usual = getattr(request, name)

    def counting(*arguments: Any) -> Any:
        found = usual(*arguments)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(request, name, counting)
    for record in records(source, "request"):
        suite.outcome(record, target)
    assert sum(taken) > len(taken) / 2
