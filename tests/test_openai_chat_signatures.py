"""Signatures of calls in Chat Completions: a foreign one is put into an envelope, its own returns on its call."""

from __future__ import annotations

import unified_llm as ul
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
