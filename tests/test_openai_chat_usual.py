"""The quick way of `usual.py` says what the pairs say: every document converts alike with it and without it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pytest

from corpus import records
from quick_way import converted, read, replaced
from unified_llm import suite
from unified_llm_openai.chat import request

CHAT = "openai-chat"
OTHER = "openai-responses"
MESSAGES = "anthropic-messages"


def without_the_quick_way(patch: pytest.MonkeyPatch) -> AbstractContextManager[None]:
    return replaced(
        patch,
        request,
        read_usual=lambda *_: False,
        write_usual_result=lambda *_: None,
        write_texts=lambda *_: None,
        write_usual=lambda *_: None,
    )


@pytest.mark.parametrize(("source", "target"), [(CHAT, CHAT), (CHAT, OTHER), (OTHER, CHAT), (MESSAGES, CHAT)])
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
    found = list(records(CHAT, "request"))
    quick = [read(record) for record in found]
    with without_the_quick_way(monkeypatch):
        slow = [read(record) for record in found]
    assert [record["id"] for record, one, other in zip(found, quick, slow) if one != other] == []


def test_the_quick_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    usual = request.read_usual

    def counting(*arguments: Any) -> Any:
        taken.append(usual(*arguments))
        return taken[-1]

    monkeypatch.setattr(request, "read_usual", counting)
    for record in records(CHAT, "request"):
        suite.outcome(record, OTHER)
    assert sum(taken) > len(taken) / 2
