"""Messages and the opaque data of reasoning: what returns through this surface, and what is withheld."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from messages_documents import HI, MESSAGES, RESPONSES, accumulated, canonical, write
from unified_llm import suite
from unified_llm.provenance.opaque import is_sealed

Node = dict[str, Any]


def answer(*content: Node) -> Node:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [*content],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


@pytest.mark.parametrize("streamed", [False, True])
def test_reasoning_of_another_provider_returns_through_this_surface(streamed: bool) -> None:
    reasoning = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "thought"}],
        "encrypted_content": "gAAAA-mind",
    }
    said = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "four", "annotations": []}],
    }
    body = {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [reasoning, said],
    }
    if streamed:
        events = [
            out["data"] for out in ul.write_stream(ul.decompose(suite.canonical(body, RESPONSES, "response")), MESSAGES)
        ]
        content = accumulated(events)["content"]
    else:
        content = ul.convert(body, source=RESPONSES, target=MESSAGES, kind="response").value["content"]
    assert content[0]["thinking"] == "thought" and is_sealed(content[0]["signature"])
    history = {"model": "m", "max_tokens": 9, "messages": [*HI, {"role": "assistant", "content": content}, *HI]}
    home = ul.convert(history, source=MESSAGES, target=RESPONSES).value["input"]
    assert [item["encrypted_content"] for item in home if item["type"] == "reasoning"] == ["gAAAA-mind"]
    elsewhere = ul.convert(history, source=MESSAGES, target=MESSAGES)
    assert "gAAAA" not in str(elsewhere.value) and not any(map(is_sealed, suite_strings(elsewhere.value)))
    assert any(loss.capability == "reasoning.signature" for loss in elsewhere.losses)


def test_a_signature_on_a_call_travels_beside_it() -> None:
    piece = {"kind": "thought_signature", "data": "c2ln", "origin": {"protocol": "x-proto"}}
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}", "opaque": [piece]}
    done = ul.write({"id": "r", "model": "m", "output": [call]}, MESSAGES, "response")
    assert [block["type"] for block in done.value["content"]] == ["redacted_thinking", "tool_use"]
    items = canonical(
        {"model": "m", "max_tokens": 9, "messages": [{"role": "assistant", "content": done.value["content"]}]}
    )
    assert items["input"] == [call]
    sent = write(call)
    assert "c2ln" not in str(sent.value)
    assert [loss.fate for loss in sent.losses if loss.path.startswith("/input/0/opaque")] == ["lost"]
    kept = ul.write({"model": "m", "max_output_tokens": 9, "input": [call]}, MESSAGES, vault=ul.MemoryVault())
    assert [loss.fate for loss in kept.losses if loss.path.startswith("/input/0/opaque")] == ["parked"]


def test_our_own_signatures_return_through_other_surfaces() -> None:
    content = [
        {"type": "thinking", "thinking": "t", "signature": "EqSig=="},
        {"type": "redacted_thinking", "data": "EmD=="},
        {"type": "text", "text": "x"},
    ]
    client = ul.convert(answer(*content), source=MESSAGES, target=RESPONSES, kind="response").value["output"]
    back = ul.convert({"model": "m", "input": client}, source=RESPONSES, target=MESSAGES).value["messages"]
    assert back[0]["content"] == content


def test_a_damaged_envelope_is_not_sent() -> None:
    body = {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}],
    }
    block = ul.convert(body, source=RESPONSES, target=MESSAGES, kind="response").value["content"][0]
    damaged = {**block, "thinking": "edited"}
    history = {"model": "m", "max_tokens": 9, "messages": [*HI, {"role": "assistant", "content": [damaged]}]}
    done = ul.convert(history, source=MESSAGES, target=MESSAGES)
    assert not any(map(is_sealed, suite_strings(done.value)))
    assert "lost" in [loss.fate for loss in done.losses]


def suite_strings(value: Any) -> list[str]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return ([value] if isinstance(value, str) else []) + [text for each in inner for text in suite_strings(each)]


def test_what_another_provider_signed_on_a_text_stands_behind_the_text() -> None:
    """Clients read the answer from `content[0].text`; in a stream the signature comes last as well."""
    gemini, parts = "google-generate-content", [{"text": "Oslo.", "thoughtSignature": "QUJD"}]
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}]}
    sent = ul.convert(asked, source="anthropic-messages", target=gemini, model="gemini-3-pro", secret="s")
    answer = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}]}
    done = ul.convert(
        answer, source=gemini, target="anthropic-messages", kind="response", exchange=sent.exchange, secret="s"
    )
    content = done.value["content"]
    assert [block["type"] for block in content] == ["text", "redacted_thinking"]
    again = [*asked["messages"], {"role": "assistant", "content": content}, {"role": "user", "content": "r"}]
    back = ul.convert(
        {**asked, "messages": again}, source="anthropic-messages", target=gemini, model="gemini-3-pro", secret="s"
    )
    assert back.value["contents"][1]["parts"] == parts
