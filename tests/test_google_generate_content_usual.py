"""The quick way of `usual.py` says what the pairs say: every document converts alike with it and without it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest

from corpus import records
from quick_way import converted, read, replaced
from unified_llm import suite
from unified_llm_google.generate_content import history

GEMINI = "google-generate-content"
OTHER = "openai-chat"
MESSAGES = "anthropic-messages"


tools = import_module("unified_llm_google.generate_content.tools")


@contextmanager
def without_the_quick_way(patch: pytest.MonkeyPatch) -> Iterator[None]:
    with (
        replaced(patch, history, read_usual=lambda contents, *_: next(contents, None), usual_of=lambda *_: None),
        replaced(patch, tools, read_usual_functions=lambda *_: None, write_usual_functions=lambda *_: None),
    ):
        yield


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


@pytest.mark.parametrize(
    ("source", "target", "name"), [(GEMINI, OTHER, "_read_content"), (OTHER, GEMINI, "_write_content")]
)
def test_the_quick_way_is_taken(source: str, target: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    slow: list[Any] = []
    pairs = getattr(history, name)
    monkeypatch.setattr(history, name, lambda *arguments: slow.append(arguments) or pairs(*arguments))
    contents = 0
    for record in records(source, "request"):
        done = suite.outcome(record, target)
        contents += len((record["body"] if source == GEMINI else done.value or {}).get("contents", ()))
    assert 0 < len(slow) < contents / 2
