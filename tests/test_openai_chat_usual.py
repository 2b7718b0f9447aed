"""The fast path of `turns/fast_path.py` equals the pairs: every document converts alike with it and without it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pytest

from corpus import records
from quick_way import converted, differing, read, replaced
from unified_llm import suite
from unified_llm_openai.chat.request import document as request
from unified_llm_openai.chat.request import settings

CHAT = "openai-chat"
OTHER = "openai-responses"
MESSAGES = "anthropic-messages"


def without_the_quick_way(patch: pytest.MonkeyPatch) -> AbstractContextManager[None]:
    return replaced(
        patch,
        request,
        settings,
        read_usual=lambda messages, *_: next(messages, None),
        write_usual=lambda items, start, *_: start,
    )


@pytest.mark.parametrize(("source", "target"), [(CHAT, CHAT), (CHAT, OTHER), (OTHER, CHAT), (MESSAGES, CHAT)])
def test_requests_convert_alike_with_the_quick_way_and_without(
    source: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = list(records(source, "request"))
    assert len(found) > 50
    assert differing(found, lambda record: converted(record, target), without_the_quick_way(monkeypatch)) == []


def test_requests_are_read_alike_with_the_quick_way_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(records(CHAT, "request"))
    assert differing(found, read, without_the_quick_way(monkeypatch)) == []


def test_the_quick_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    unusual = []
    usual = request.read_usual

    def counting(*arguments: Any) -> Any:
        unusual.append(usual(*arguments))
        return unusual[-1]

    monkeypatch.setattr(request, "read_usual", counting)
    found = list(records(CHAT, "request"))
    for record in found:
        suite.outcome(record, OTHER)
    messages = sum(len(record["body"].get("messages") or ()) for record in found)
    assert len([each for each in unusual if each is not None]) < messages / 2
