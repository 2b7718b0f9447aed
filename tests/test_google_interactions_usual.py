"""The fast path of `turns/fast_path.py` equals the pairs: every document converts alike with it and without it."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any

import pytest

import unified_llm as ul
from corpus import records
from quick_way import converted, differing, read, replaced
from unified_llm import suite
from unified_llm_google.interactions.turns import timeline

IA = "google-interactions"
OTHERS = ("openai-chat", "openai-responses", "anthropic-messages", "google-generate-content")
PAIRS = [(IA, IA), *((IA, other) for other in OTHERS), *((other, IA) for other in OTHERS)]


tools = import_module("unified_llm_google.interactions.tools")


def without_the_quick_way(patch: pytest.MonkeyPatch) -> AbstractContextManager[None]:
    def start(_: Any, number: int, *__: Any) -> int:
        return number

    return replaced(patch, timeline, tools, read_usual=start, write_usual=start)


@pytest.mark.parametrize("kind", ["request", "response"])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_documents_convert_alike_with_the_quick_way_and_without(
    source: str, target: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = list(records(source, kind))
    assert len(found) > 10
    assert differing(found, lambda record: converted(record, target), without_the_quick_way(monkeypatch)) == []


@pytest.mark.parametrize("kind", ["request", "response"])
def test_documents_are_read_alike_with_the_quick_way_and_without(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(records(IA, kind))
    assert differing(found, read, without_the_quick_way(monkeypatch)) == []


STEPS = [
    {"type": "user_input", "content": [{"type": "text", "text": "Weather?"}]},
    {"type": "thought", "signature": "CiQBs2ln"},
    {"type": "function_call", "id": "c", "name": "look", "arguments": {"city": "Oslo"}},
    {"type": "function_result", "call_id": "c", "name": "look", "result": "4 C"},
    {"type": "function_result", "call_id": "c", "result": {"celsius": 4}},
    {"type": "model_output", "content": [{"type": "text", "text": "Four"}, {"type": "text", "text": "degrees"}]},
]
ODD: list[dict[str, Any]] = [
    {"type": "user_input", "content": [{"type": "text", "text": 5}, {"type": "text", "text": "x"}]},
    {"type": "user_input", "content": []},
    {"type": "model_output", "content": [{"type": "text", "text": "x", "annotations": []}]},
    {"type": "thought", "signature": ""},
    {"type": "thought", "signature": "CiQB", "summary": []},
    {"type": "function_call", "id": "c", "name": "look", "arguments": "{}"},
    {"type": "function_call", "id": 5, "name": "look", "arguments": {}},
    {"type": "function_call", "id": "c", "name": "look", "arguments": {}, "signature": "CiQB"},
    {"type": "function_result", "call_id": "c", "result": [{"type": "text", "text": "x"}]},
    {"type": "function_result", "call_id": "c", "result": "x", "is_error": True},
]


@pytest.mark.parametrize("step", STEPS + ODD, ids=lambda step: json.dumps(step)[:60])
def test_a_step_is_read_and_written_as_the_pairs_would(step: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"model": "m", "input": [step]}

    def to(target: str) -> Any:
        try:
            return ul.convert(body, source=IA, target=target).value
        except ul.CapabilityRefused as error:
            return repr(error)

    def both() -> list[Any]:
        return [suite.canonical(body, IA, "request"), *map(to, (IA, *OTHERS))]

    quick = both()
    with without_the_quick_way(monkeypatch):
        slow = both()
    assert quick == slow
    assert quick[1] == body


def test_the_quick_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[int] = []

    def noting(usual: Any) -> Any:
        def noted(*arguments: Any) -> Any:
            reached.append(usual(*arguments))
            return reached[-1]

        return noted

    monkeypatch.setattr(timeline, "read_usual", noting(timeline.read_usual))
    monkeypatch.setattr(timeline, "write_usual", noting(timeline.write_usual))
    body = {"model": "m", "input": STEPS[:4] + STEPS[5:]}
    assert ul.convert(body, source=IA, target=IA).value == body
    assert reached == [5, 5]
