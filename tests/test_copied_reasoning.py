"""Reasoning whose envelope a client copies (the ADK for TypeScript does, to each call) is put back once."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from folds import FOLDS
from test_law_mind import HISTORY
from unified_llm.provenance.opaque import seal

Node = dict[str, Any]
CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
GENERATE, INTERACTIONS = "google-generate-content", "google-interactions"
SECRET = "a secret of this test, which is long"
PROOFS = ("c2lnbmF0dXJlLW9mLXRoaXMtdGVzdA==", "YW5vdGhlciBzaWduYXR1cmU=")
MODELS = {RESPONSES: "gpt-5.5", MESSAGES: "claude-opus-4-7", INTERACTIONS: "gemini-3-pro-preview"}
PROVIDERS = pytest.mark.parametrize("provider", MODELS)
REASONING = ("reasoning", "thinking", "thought")
# Messages is sent no thought where thinking is off.
THINKING: Node = {"thinkingConfig": {"thinkingBudget": 1024, "includeThoughts": True}}


def answer(provider: str, number: int) -> Node:
    """An answer with reasoning, a text and two calls."""
    proof, calls, model = PROOFS[number], (f"c{number}a", f"c{number}b"), MODELS[provider]
    text = "Let me look."
    if provider == RESPONSES:
        said = {"type": "output_text", "text": text, "annotations": []}
        output: list[Node] = [
            {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": proof},
            {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [said]},
        ]
        output += [
            {"type": "function_call", "id": f"fc_{each}", "call_id": each, "name": "f", "arguments": "{}"}
            for each in calls
        ]
        head = {"id": f"resp_{number}", "object": "response", "created_at": 1, "status": "completed", "model": model}
        return head | {"output": output}
    if provider == MESSAGES:
        blocks: list[Node] = [
            {"type": "thinking", "thinking": "Hm.", "signature": proof},
            {"type": "text", "text": text},
            *({"type": "tool_use", "id": each, "name": "f", "input": {}} for each in calls),
        ]
        head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model}
        return head | {"content": blocks, "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1}}
    steps: list[Node] = [
        {"type": "thought", "signature": proof},
        {"type": "model_output", "content": [{"type": "text", "text": text}]},
        *({"type": "function_call", "id": each, "name": "f", "arguments": {}} for each in calls),
    ]
    return {"id": f"i{number}", "object": "interaction", "model": model, "status": "requires_action", "steps": steps}


def streamed(provider: str, number: int, surface: str) -> Node:
    """The answer as a client of the surface collects it from a stream."""
    response = ul.read(answer(provider, number), provider, "response")
    events = ul.write_stream(ul.decompose(response), provider)
    return FOLDS[surface](list(ul.convert_stream(events, source=provider, target=surface, secret=SECRET)))


def proofs(request: Node) -> list[Any]:
    """The signatures in what a provider is sent, in order."""
    items = request.get("input") or [block for each in request["messages"] for block in each["content"]]
    found = [each for each in items if type(each) is dict and each["type"] in REASONING]
    return [each.get("signature") or each.get("encrypted_content") for each in found]


@pytest.mark.parametrize("keeps", [True, False])
@PROVIDERS
def test_a_signature_copied_to_each_call_puts_reasoning_back_once(provider: str, keeps: bool) -> None:
    contents: list[Node] = []
    for number in (0, 1):
        said = HISTORY[GENERATE](streamed(provider, number, GENERATE))["contents"]
        parts = said[1]["parts"]
        envelope = next(part["thoughtSignature"] for part in parts if "thoughtSignature" in part)
        calls = [part for part in parts if "functionCall" in part]
        for part in parts:
            if part in calls:
                part["thoughtSignature"] = envelope
            elif not keeps:
                part.pop("thoughtSignature", None)
        results = [{"functionResponse": {**part["functionCall"], "response": {"output": "done"}}} for part in calls]
        for part in results:
            del part["functionResponse"]["args"]
        contents += [*said, {"role": "user", "parts": results}]
    request = {"contents": contents, "generationConfig": THINKING}
    done = ul.convert(request, source=GENERATE, target=provider, model=MODELS[provider], secret=SECRET)
    assert proofs(done.value) == [*PROOFS]
    copies = [loss.fate for loss in done.losses if loss.detail == "a copy; sent once"]
    assert copies == ["approximated"] * (4 if keeps else 2)
    assert not [loss for loss in done.losses if (loss.fate, loss.capability) == ("lost", "reasoning.signature")]


@PROVIDERS
def test_details_of_reasoning_copied_to_another_message_are_put_back_once(provider: str) -> None:
    request = HISTORY[CHAT](streamed(provider, 0, CHAT)) | {"reasoning_effort": "low"}
    message = request["messages"][-1]
    assert message["reasoning_details"]
    calls = message.pop("tool_calls")
    for call in calls:
        result = {"role": "tool", "tool_call_id": call["id"], "content": "done"}
        request["messages"] += [{**message, "tool_calls": [call]}, result]
        message = {**message, "content": None}
    del request["messages"][1]
    done = ul.convert(request, source=CHAT, target=provider, model=MODELS[provider], secret=SECRET)
    assert [each for each in proofs(done.value) if each in PROOFS] == [PROOFS[0]]


def test_what_a_client_sends_twice_in_its_own_protocol_stays() -> None:
    reasoning = answer(RESPONSES, 0)["output"][0]
    request = {"model": "gpt-5.5", "input": [{"role": "user", "content": "q"}, reasoning, reasoning]}
    assert ul.convert(request, source=RESPONSES, target=RESPONSES, secret=SECRET).value == request


def test_what_stood_beside_a_copy_stays_with_its_message() -> None:
    said = HISTORY[GENERATE](streamed(RESPONSES, 0, GENERATE))["contents"]
    first = next(part for part in said[1]["parts"] if "thoughtSignature" in part)
    call = next(part for part in said[1]["parts"] if "functionCall" in part)
    copy = {"role": "model", "parts": [{**call, "thoughtSignature": first["thoughtSignature"]}], "unknown": 1}
    request = {"contents": [said[0], {"role": "model", "parts": [first]}, said[0], copy]}
    done = ul.convert(request, source=GENERATE, target=RESPONSES, model="gpt-5.5", secret=SECRET)
    assert proofs(done.value) == [PROOFS[0]]
    assert "/contents/3/unknown" in [loss.path for loss in done.losses]


def test_without_a_secret_a_copy_keeps_what_the_client_shows() -> None:
    envelope = seal({"type": "reasoning", "opaque": [{"kind": "s", "data": "QQ==", "origin": {"protocol": CHAT}}]}, "")
    shown = [{"type": "thinking", "thinking": text, "signature": envelope} for text in ("one", "two")]
    request = {"model": "m", "max_tokens": 9, "messages": [{"role": "assistant", "content": shown}]}
    first, second = ul.read(request, MESSAGES).dump()["input"]
    assert [each["content"][0]["text"] for each in (first, second)] == ["one", "two"]
    assert "opaque" in first and "opaque" not in second
