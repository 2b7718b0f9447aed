"""A conversation keeps its mind: what a provider signed comes home over any client surface, and goes nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from corpus import records, show
from unified_llm import suite

Node = dict[str, Any]


def chat_history(answer: Node) -> Node:
    return {"model": "m", "messages": [{"role": "user", "content": "q"}, answer["choices"][0]["message"]]}


def responses_history(answer: Node) -> Node:
    return {"model": "m", "input": [{"role": "user", "content": "q"}, *answer["output"]]}


def messages_history(answer: Node) -> Node:
    said = {"role": "assistant", "content": answer["content"]}
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}, said]}


def contents_history(answer: Node) -> Node:
    asked = {"role": "user", "parts": [{"text": "q"}]}
    return {"contents": [asked, *(c["content"] for c in answer.get("candidates") or ())]}


def steps_history(answer: Node) -> Node:
    asked = {"type": "user_input", "content": [{"type": "text", "text": "q"}]}
    return {"model": "m", "input": [asked, *(answer.get("steps") or ())]}


HISTORY = {
    "openai-chat": chat_history,
    "openai-responses": responses_history,
    "anthropic-messages": messages_history,
    "google-generate-content": contents_history,
    "google-interactions": steps_history,
}
PROTOCOLS = [name for name in ul.protocols() if name in HISTORY]
BEARERS = frozenset(("reasoning", "function_call", "custom_tool_call", "output_text"))
"""What every surface's clients send back. Compactions and what hosted tools encrypted have no slot on all of them."""
PLACEHOLDERS = frozenset(("c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=", "skip_thought_signature_validator"))
"""A documented constant that stands for a missing signature, and is nobody's."""
HOPS = [(provider, surface) for provider in PROTOCOLS for surface in PROTOCOLS if provider != surface]


@pytest.mark.parametrize(("provider", "surface"), HOPS)
def test_minds(provider: str, surface: str) -> None:
    found = list(records(provider, "response"))
    failures = suite.minds(provider, surface, found, HISTORY[surface], BEARERS)
    assert not failures, show(failures, "minds", len(found))


@pytest.mark.parametrize(("source", "target"), HOPS)
def test_foreign_minds(source: str, target: str) -> None:
    found = list(records(source, "request"))
    failures = suite.foreign_minds(source, target, found, PLACEHOLDERS)
    assert not failures, show(failures, "foreign minds", len(found))
