"""The fast path of `turns/fast_path.py` equals the pairs: every document converts alike with it and without it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pytest

from corpus import records
from quick_way import converted, differing, read, replaced
from unified_llm import suite
from unified_llm_anthropic.messages.turns import messages

MESSAGES = "anthropic-messages"
OTHERS = ("openai-responses", "openai-chat", "google-generate-content")


def without_the_quick_way(patch: pytest.MonkeyPatch) -> AbstractContextManager[None]:
    return replaced(
        patch,
        messages,
        read_usual=lambda numbered, *_: next(numbered, None),
        write_usual=lambda items, arguments, start, *_: start,
    )


@pytest.mark.parametrize(
    ("source", "target"),
    [(MESSAGES, MESSAGES), *((MESSAGES, other) for other in OTHERS), *((other, MESSAGES) for other in OTHERS)],
)
def test_requests_convert_alike_with_the_quick_way_and_without(
    source: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = list(records(source, "request"))
    assert len(found) > 50
    assert differing(found, lambda record: converted(record, target), without_the_quick_way(monkeypatch)) == []


def test_requests_are_read_alike_with_the_quick_way_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(records(MESSAGES, "request"))
    assert differing(found, read, without_the_quick_way(monkeypatch)) == []


@pytest.mark.parametrize(("way", "source", "target"), [("read", MESSAGES, OTHERS[0]), ("write", OTHERS[1], MESSAGES)])
def test_the_quick_way_is_taken(way: str, source: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    usual = getattr(messages, f"{way}_usual")

    def counting(*arguments: Any) -> Any:
        calls.append(way)
        return usual(*arguments)

    monkeypatch.setattr(messages, f"{way}_usual", counting)
    found = list(records(source, "request"))
    for record in found:
        suite.outcome(record, target)
    said = [record["body"].get("messages") for record in found]
    # One call for each document, and one more for each message that is not usual.
    assert len(found) / 2 < len(calls) < len(found) + sum(len(each) for each in said if type(each) is list) / 2
