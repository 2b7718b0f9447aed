"""Signatures of calls in Chat Completions: a foreign one is put into an envelope, its own returns on its call."""

from __future__ import annotations

import pytest

import unified_llm as ul
from across import INTERACTIONS
from chat_documents import CHAT, canonical, message_item, wire_call


def test_anothers_signature_is_enveloped_for_a_client_and_opened_on_the_return() -> None:
    piece = {"kind": "signature", "data": "S1", "origin": {"protocol": "anthropic-messages"}}
    reasoning = {
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "t"}],
        "opaque": [piece],
    }
    done = ul.write({"id": "r", "output": [reasoning, message_item("a")]}, CHAT, "response")
    message = done.value["choices"][0]["message"]
    assert message["reasoning_content"] == "t"
    assert "S1" not in str(message)
    back = canonical({"model": "m", "messages": [message]})["input"]
    assert back[0]["opaque"] == [piece]
    sent = ul.write({"model": "m", "input": back}, CHAT)
    assert "S1" not in str(sent.value) and "reasoning_details" not in str(sent.value)


def test_an_own_signature_goes_back_on_its_call() -> None:
    signed = {**wire_call(), "extra_content": {"google": {"thought_signature": "U0lH"}}}
    body = {"model": "m", "messages": [{"role": "assistant", "content": None, "tool_calls": [signed]}]}
    assert canonical(body)["input"][0]["opaque"][0]["data"] == "U0lH"
    assert ul.convert(body, source=CHAT, target=CHAT).value == body


@pytest.mark.parametrize("secret", [None, "s"])
def test_a_thought_behind_the_text_returns_behind_it(secret: str | None) -> None:
    """In an envelope that anybody may have made too: where it stands gives nothing away."""
    thoughts = [{"type": "thought", "signature": word} for word in ("Zmlyc3Q=", "c2Vjb25k")]
    told = {"type": "model_output", "content": [{"type": "text", "text": "Look."}]}
    call = {"type": "function_call", "id": "c1", "name": "f", "arguments": {}}
    steps = [thoughts[0], told, thoughts[1], call]
    answer = {"id": "i", "object": "interaction", "model": "m", "status": "requires_action", "steps": steps}
    ends = {"source": INTERACTIONS, "target": CHAT, "kind": "response", "secret": secret}
    message = ul.convert(answer, **ends).value["choices"][0]["message"]
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}, message]}
    back = ul.convert(body, source=CHAT, target=INTERACTIONS, model="m", secret=secret).value["input"]
    assert back[1:] == steps


def test_the_rest_of_a_choice_does_not_become_a_message_field() -> None:
    """Its reasoning travels with it, in an envelope of another surface, and returns in a request."""
    said = {"role": "assistant", "reasoning_content": "r", "content": "a", "refusal": None, "annotations": []}
    choice = {"index": 0, "finish_reason": "stop", "matched_stop": 7, "message": {**said, "own": 1}}
    answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    shown = ul.convert(answer, source=CHAT, target=INTERACTIONS, kind="response", secret="s").value
    asked = {"type": "user_input", "content": [{"type": "text", "text": "q"}]}
    body = {"model": "m", "input": [asked, *shown["steps"]]}
    back = ul.convert(body, source=INTERACTIONS, target=CHAT, model="m", secret="s").value["messages"][1]
    assert back.keys() <= {*said, "own"}
