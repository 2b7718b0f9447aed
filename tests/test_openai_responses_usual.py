"""The fast path of `turns/fast_path.py` equals the pairs: every document converts alike with it and without it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any

import pytest

from corpus import records
from quick_way import converted, differing, replaced
from unified_llm import suite
from unified_llm_openai.responses.request import settings
from unified_llm_openai.responses.turns import history

RESPONSES = "openai-responses"
OTHERS = ("openai-chat", "anthropic-messages", "google-generate-content", "google-interactions")


def without_the_quick_way(patch: pytest.MonkeyPatch) -> AbstractContextManager[None]:
    def first(walk: Iterator[Any], *_: Any) -> list[Any]:
        return list(islice(walk, 1))

    return replaced(patch, history, settings, read_usual=first, write_usual=first)


@pytest.mark.parametrize(
    ("source", "target"),
    [(RESPONSES, RESPONSES), *((other, RESPONSES) for other in OTHERS), *((RESPONSES, other) for other in OTHERS)],
)
def test_requests_convert_alike_with_the_quick_way_and_without(
    source: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = list(records(source, "request"))
    assert len(found) > 20
    assert differing(found, lambda record: converted(record, target), without_the_quick_way(monkeypatch)) == []


@pytest.mark.parametrize(("way", "source", "target"), [("read", RESPONSES, OTHERS[0]), ("write", OTHERS[0], RESPONSES)])
def test_the_quick_way_is_taken(way: str, source: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    unusual = []
    usual = getattr(history, f"{way}_usual")

    def counting(*arguments: Any) -> Any:
        found = usual(*arguments)
        unusual.extend(found)
        return found

    monkeypatch.setattr(history, f"{way}_usual", counting)
    found = list(records(source, "request"))
    for record in found:
        suite.outcome(record, target)
    said = [record["body"].get("messages" if source == OTHERS[0] else "input") for record in found]
    assert 0 < len(unusual) < 3 / 4 * sum(len(items) for items in said if type(items) is list)
