"""Google Interactions: signatures return to their origin, and a marker of unsigned calls goes with its call."""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul
from unified_llm import suite

IA = "google-interactions"
OTHERS = ("openai-chat", "openai-responses", "anthropic-messages", "google-generate-content")


def read(body: Any) -> Any:
    return suite.canonical(body, IA, "request")


# ---- unknown signed steps ---------------------------------------------------------------------------------

UNKNOWN = [
    {"type": "filesystem_call", "id": "u1", "arguments": {"path": "/a"}, "signature": "CiQBdW5rbm93bg=="},
    {"type": "filesystem_result", "call_id": "u1", "result": "ok", "signature": "CiQBcmVzdWx0"},
    {"type": "function_call", "id": "f1", "name": "look", "arguments": {"city": "Oslo"}},
]


def echoed(target: str, answer: Any) -> dict[str, Any]:
    """The next request of a client of `target` that got this answer."""
    if target == "openai-responses":
        result = {"type": "function_call_output", "call_id": "f1", "output": "4 C"}
        return {"model": "m", "input": [{"role": "user", "content": "q"}, *answer["output"], result]}
    if target == "openai-chat":
        result = {"role": "tool", "tool_call_id": "f1", "content": "4 C"}
        message = answer["choices"][0]["message"]
        return {"model": "m", "messages": [{"role": "user", "content": "q"}, message, result]}
    if target == "anthropic-messages":
        said = [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": answer["content"]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "f1", "content": "4 C"}]},
        ]
        return {"model": "m", "max_tokens": 9, "messages": said}
    result = {"functionResponse": {"id": "f1", "name": "look", "response": {"output": "4 C"}}}
    turns = [{"role": "user", "parts": [{"text": "q"}]}, answer["candidates"][0]["content"]]
    return {"contents": [*turns, {"role": "user", "parts": [result]}]}


@pytest.mark.parametrize("target", OTHERS)
def test_a_signed_step_of_unknown_type_returns(target: str) -> None:
    body = {"id": "v1", "object": "interaction", "status": "requires_action", "model": "m", "steps": UNKNOWN}
    assert ul.convert(body, source=IA, target=IA, kind="response").value == body
    answer = ul.convert(body, source=IA, target=target, kind="response", secret="s").value
    back = ul.convert(echoed(target, answer), source=target, target=IA, model="m", secret="s").value
    assert back["input"][1:4] == UNKNOWN


def test_no_other_provider_is_sent_the_signature_of_an_unknown_step() -> None:
    body = {"model": "m", "input": [{"type": "user_input", "content": [{"type": "text", "text": "q"}]}, *UNKNOWN[:2]]}
    assert ul.convert(body, source=IA, target=IA).value == body
    for target in OTHERS:
        assert "CiQB" not in json.dumps(ul.convert(body, source=IA, target=target, model="m").value)


# ---- unsigned calls ---------------------------------------------------------------------------------------

SKIP = {"type": "thought", "signature": "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="}


@pytest.mark.parametrize("more", [{}, {"signature": ""}, {"extra": 1}, {"arguments": "{}"}])
def test_what_says_that_a_call_is_unsigned_goes_with_the_call(more: Any) -> None:
    call = {"type": "function_call", "id": "f1", "name": "look", "arguments": {"city": "Oslo"}, **more}
    result = {"type": "function_result", "call_id": "f1", "result": "4 C"}
    asked = {"type": "user_input", "content": [{"type": "text", "text": "q"}]}
    body = {"model": "m", "input": [asked, SKIP, call, result], "store": False}
    assert [item["type"] for item in read(body)["input"]] == ["message", "function_call", "function_call_output"]
    assert ul.convert(body, source=IA, target=IA).value == body
    for target in OTHERS:
        done = ul.convert(body, source=IA, target=target, model="m")
        assert not [loss for loss in done.losses if loss.path.startswith("/input/1")]


def test_elsewhere_it_is_a_thought_like_any_other() -> None:
    asked = {"type": "user_input", "content": [{"type": "text", "text": "q"}]}
    for steps in ([SKIP, asked], [asked, SKIP], [{**SKIP, "summary": []}, asked]):
        body = {"model": "m", "input": steps}
        assert "reasoning" in [item["type"] for item in read(body)["input"]]
        assert ul.convert(body, source=IA, target=IA).value == body
