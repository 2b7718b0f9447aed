"""A conversation keeps its mind: what a provider signed comes home over any client surface, and goes nowhere else.

There are no exceptions: whatever bears opaque pieces in the corpus (reasoning, calls, texts, hosted calls and their
results, citations, media, compactions, programs) is looked for. What a client drops, a vault restores.
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from corpus import records, show
from folds import FOLDS
from unified_llm import suite
from unified_llm.provenance import is_sealed

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
ASKED = {
    "openai-chat": {"model": "m", "messages": [{"role": "user", "content": "q"}]},
    "openai-responses": {"model": "m", "input": [{"type": "message", "role": "user", "content": "q"}]},
    "anthropic-messages": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}]},
    "google-generate-content": {"contents": [{"role": "user", "parts": [{"text": "q"}]}]},
    "google-interactions": {"model": "m", "input": "q"},
}
PROTOCOLS = [name for name in ul.protocols() if name in HISTORY]
PLACEHOLDERS = frozenset(("c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=", "skip_thought_signature_validator"))
"""A documented constant that stands for a missing signature, and is nobody's."""
HOPS = [(provider, surface) for provider in PROTOCOLS for surface in PROTOCOLS if provider != surface]


def forget(value: Any) -> Any:
    """A request without anything sealed, as a client sends it that knows text and calls only."""
    if type(value) is list:
        kept = [forget(inner) for inner in value if not _is_carrier(inner)]
        return kept
    if type(value) is dict:
        return {key: forget(inner) for key, inner in value.items() if not is_sealed(inner)}
    return value


def _is_carrier(value: Any) -> bool:
    """Whether a node is there for what is sealed in it: a thought, a detail of reasoning, an empty signed part."""
    if type(value) is not dict or not any(map(is_sealed, value.values())):
        return False
    return value.get("type") in ("reasoning", "thinking", "redacted_thinking", "thought", "reasoning.encrypted") or (
        not value.get("text") and value.keys() <= {"text", "thoughtSignature"}
    )


@pytest.mark.parametrize(("provider", "surface"), HOPS)
def test_minds(provider: str, surface: str) -> None:
    found = list(records(provider, "response"))
    failures = suite.minds(provider, surface, found, HISTORY[surface])
    assert not failures, show(failures, "minds", len(found))


@pytest.mark.parametrize(("provider", "surface"), HOPS)
def test_minds_of_streams(provider: str, surface: str) -> None:
    found = list(records(provider, "stream"))
    failures = suite.minds(provider, surface, found, HISTORY[surface], FOLDS[surface])
    assert not failures, show(failures, "minds of streams", len(found))


@pytest.mark.parametrize(("provider", "surface"), HOPS)
def test_minds_of_forgetful_clients(provider: str, surface: str) -> None:
    found = list(records(provider, "response"))
    failures = suite.forgetful_minds(provider, surface, found, HISTORY[surface], forget, ASKED[surface])
    assert not failures, show(failures, "minds of forgetful clients", len(found))


@pytest.mark.parametrize(("source", "target"), HOPS)
def test_foreign_minds(source: str, target: str) -> None:
    found = list(records(source, "request"))
    failures = suite.foreign_minds(source, target, found, PLACEHOLDERS)
    assert not failures, show(failures, "foreign minds", len(found))
