"""The fast path of `turns/fast_path.py` equals the pairs: every document converts alike with it and without it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any

import pytest

import unified_llm as ul
from corpus import records
from quick_way import converted, differing, read, replaced
from unified_llm import suite
from unified_llm_google.generate_content.turns import history

GEMINI = "google-generate-content"
OTHER = "openai-chat"
MESSAGES = "anthropic-messages"


tools = import_module("unified_llm_google.generate_content.tools.functions")


def without_the_quick_way(patch: pytest.MonkeyPatch) -> AbstractContextManager[None]:
    return replaced(
        patch, history, tools, read_usual=lambda contents, *_: next(contents, None), usual_of=lambda *_: None
    )


@pytest.mark.parametrize(("source", "target"), [(GEMINI, GEMINI), (GEMINI, OTHER), (OTHER, GEMINI), (MESSAGES, GEMINI)])
def test_requests_convert_alike_with_the_quick_way_and_without(
    source: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = list(records(source, "request"))
    assert len(found) > 50
    assert differing(found, lambda record: converted(record, target), without_the_quick_way(monkeypatch)) == []


def test_requests_are_read_alike_with_the_quick_way_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(records(GEMINI, "request"))
    assert differing(found, read, without_the_quick_way(monkeypatch)) == []


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


def test_the_names_of_calls_are_looked_up_once_however_much_is_unusual(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Any] = []
    names_of = history.names_of
    monkeypatch.setattr(history, "names_of", lambda items: looks.append(items) or names_of(items))
    seen = {"type": "input_image", "image_url": "https://example.com/a.png"}
    turns: list[Any] = []
    for number in range(3):
        turns.append({"role": "user", "content": [{"type": "input_text", "text": "What?"}, seen]})
        turns.append({"type": "function_call", "call_id": f"c{number}", "name": f"f{number}", "arguments": "{}"})
        turns.append({"type": "function_call_output", "call_id": f"c{number}", "output": "x"})
    done = ul.convert({"model": "m", "input": turns}, source="openai-responses", target=GEMINI)
    parts = [part for content in done.value["contents"] for part in content["parts"]]
    assert [part["functionResponse"]["name"] for part in parts if "functionResponse" in part] == ["f0", "f1", "f2"]
    assert len(looks) == 1


def test_a_function_without_a_description_is_declared_without_one() -> None:
    tool = {"type": "function", "name": "f", "description": None, "parameters": {"type": "object"}, "strict": False}
    body = {"model": "m", "input": "Hi", "tools": [tool]}
    (declared,) = ul.convert(body, source="openai-responses", target=GEMINI).value["tools"]
    assert declared["functionDeclarations"][0].keys() == {"name", "parametersJsonSchema"}
