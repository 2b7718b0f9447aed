"""Traps of reasoning that leaves its surface and returns; expected values are those of the trap."""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
INTERACTIONS, GENERATE = "google-interactions", "google-generate-content"
OTHERS = [CHAT, RESPONSES, INTERACTIONS, GENERATE]
Node = dict[str, Any]
USER = {"role": "user", "content": "q"}


def answer(*blocks: Node) -> Node:
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "x", "type": "message", "role": "assistant", "model": "m"}
    return {**head, "content": [*blocks], "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}


def history(value: Node, surface: str) -> Node:
    """The next request of a client that echoes what it was shown."""
    if surface == CHAT:
        return {"model": "m", "messages": [USER, value["choices"][0]["message"], USER]}
    if surface == RESPONSES:
        return {"model": "m", "input": [USER, *value["output"], USER]}
    asked = {"type": "user_input", "content": [{"type": "text", "text": "q"}]}
    if surface == INTERACTIONS:
        return {"model": "m", "input": [asked, *value["steps"], asked]}
    user = {"role": "user", "parts": [{"text": "q"}]}
    return {"contents": [user, value["candidates"][0]["content"], user]}


def home_again(surface: str, *blocks: Node) -> list[Node]:
    """The assistant's blocks after a client of `surface` carried them."""
    shown = ul.convert(answer(*blocks), source=MESSAGES, target=surface, kind="response", secret="s").value
    value = ul.convert(history(shown, surface), source=surface, target=MESSAGES, model="m", secret="s").value
    return [block for message in value["messages"] if message["role"] == "assistant" for block in message["content"]]


def test_trap_019_nulls_are_no_reasoning_for_anybody_else() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "content": None, "encrypted_content": None}
    body = {"model": "m", "input": [USER, item, {"role": "assistant", "content": "A"}, USER]}
    for target in (CHAT, MESSAGES, INTERACTIONS, GENERATE):
        value = json.dumps(ul.convert(body, source=RESPONSES, target=target).value)
        assert "null" not in value and "rs_1" not in value


def test_trap_020_reasoning_that_is_not_stored_is_asked_for() -> None:
    body = {"model": "m", "messages": [USER], "reasoning_effort": "low"}
    done = ul.convert(body, source=CHAT, target=RESPONSES)
    assert (done.value["store"], done.value["include"]) == (False, ["reasoning.encrypted_content"])
    assert "/include" in {loss.path for loss in done.losses if loss.fate == "added" and loss.side == "target"}
    plain = ul.convert({"model": "m", "messages": [USER]}, source=CHAT, target=RESPONSES)
    assert "include" not in plain.value
    kept = {"model": "m", "input": "q", "store": False, "reasoning": {"effort": "low"}}
    assert ul.convert(kept, source=RESPONSES, target=RESPONSES).value == kept


@pytest.mark.parametrize("target", OTHERS)
def test_trap_023_thoughts_are_no_text_in_requests_and_answers(target: str) -> None:
    blocks = [{"type": "thinking", "thinking": "hush-hush", "signature": "S"}, {"type": "text", "text": "A"}]
    body = {"model": "m", "max_tokens": 9, "messages": [USER, {"role": "assistant", "content": blocks}, USER]}
    done = ul.convert(body, source=MESSAGES, target=target)
    assert "hush-hush" not in json.dumps(done.value)
    assert "/messages/1/content/0" in {loss.path for loss in done.losses if loss.fate == "lost"}
    value = ul.convert(answer(*blocks), source=MESSAGES, target=target, kind="response").value
    if target == CHAT:
        assert value["choices"][0]["message"]["content"] == "A"
    elif target == RESPONSES:
        assert [item["content"][0]["text"] for item in value["output"] if item["type"] == "message"] == ["A"]
    elif target == INTERACTIONS:
        assert [step["content"][0]["text"] for step in value["steps"] if step["type"] == "model_output"] == ["A"]
    else:
        parts = value["candidates"][0]["content"]["parts"]
        assert [part["text"] for part in parts if not part.get("thought")] == ["A"]


THREE = [
    {"type": "thinking", "thinking": "alpha", "signature": "S1"},
    {"type": "redacted_thinking", "data": "D"},
    {"type": "thinking", "thinking": "beta", "signature": "S2"},
]


@pytest.mark.parametrize("surface", OTHERS)
def test_traps_027_028_three_pieces_stay_three_through_any_client(surface: str) -> None:
    said = [*THREE, {"type": "text", "text": "A"}]
    assert home_again(surface, *said) == said
    called = [*THREE, {"type": "tool_use", "id": "t", "name": "f", "input": {}}]
    assert home_again(surface, *called)[:4] == called


@pytest.mark.parametrize("surface", OTHERS)
def test_trap_036_a_signature_without_text_returns(surface: str) -> None:
    said = [{"type": "thinking", "thinking": "", "signature": "S"}, {"type": "text", "text": "A"}]
    assert home_again(surface, *said) == said


def test_trap_036_how_thoughts_are_shown_is_left_to_the_client() -> None:
    for thinking in ({"type": "adaptive"}, {"type": "enabled", "budget_tokens": 2048}):
        body = {"model": "m", "max_tokens": 4096, "messages": [USER], "thinking": thinking}
        assert ul.convert(body, source=MESSAGES, target=MESSAGES).value["thinking"] == thinking


TWICE = [
    {"type": "thinking", "thinking": "a", "signature": "A"},
    {"type": "text", "text": "b"},
    {"type": "thinking", "thinking": "c", "signature": "C"},
    {"type": "text", "text": "d"},
]


@pytest.mark.parametrize("surface", [RESPONSES, INTERACTIONS, GENERATE])
def test_trap_038_thoughts_between_texts_stay_between_them(surface: str) -> None:
    value = ul.convert(answer(*TWICE), source=MESSAGES, target=surface, kind="response").value
    told = json.dumps(value)
    assert told.index('"a"') < told.index('"b"') < told.index('"c"') < told.index('"d"')
    assert home_again(surface, *TWICE) == TWICE


def test_trap_038_chat_has_one_place_for_thoughts_and_that_is_told() -> None:
    done = ul.convert(answer(*TWICE), source=MESSAGES, target=CHAT, kind="response")
    assert "item.turn" in {loss.capability for loss in done.losses if loss.fate == "approximated"}
