"""The quick way of `usual.py` says what the pairs say: every document converts alike with it and without it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import unified_llm as ul
from corpus import records
from unified_llm import suite
from unified_llm_openai.chat import request

CHAT = "openai-chat"
OTHER = "openai-responses"
MESSAGES = "anthropic-messages"


@contextmanager
def without_the_quick_way(patch: pytest.MonkeyPatch) -> Iterator[None]:
    with patch.context() as patched:
        patched.setattr(request, "read_usual", lambda *_: False)
        patched.setattr(request, "write_usual_result", lambda *_: None)
        patched.setattr(request, "write_texts", lambda *_: None)
        patched.setattr(request, "write_usual", lambda *_: None)
        yield


def converted(record: dict[str, Any], target: str) -> tuple[str, set[ul.Loss]] | str:
    done = suite.outcome(record, target)
    if done.error is not None:
        return repr(done.error)
    return json.dumps(done.value), set(done.losses)


def read(record: dict[str, Any]) -> str:
    try:
        return json.dumps(suite.canonical(record["body"], CHAT, "request"), sort_keys=True)
    except ul.UnifiedLLMError as error:
        return repr(error)


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
