"""Reasoning of another protocol for clients of Responses that requested it encrypted (`include`).

From the API each reasoning item has `encrypted_content` then. Microsoft's Agent Framework and kani send no reasoning
back, and fail, where an item has none. Gemini signs the call behind its thought, and Chat signs nothing.

https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul

RESPONSES, GENERATE, CHAT = "openai-responses", "google-generate-content", "openai-chat"
Node = dict[str, Any]
SECRET = "a secret of this test, which is long"
ENCRYPTED = ["reasoning.encrypted_content"]
TOOL: Node = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
ASKED: Node = {"model": "m", "store": False, "tools": [TOOL], "input": [{"role": "user", "content": "q"}]}
CALLED: Node = {
    "role": "model",
    "parts": [
        {"text": "Hm.", "thought": True},
        {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "QUJD"},
    ],
}
THOUGHT: Node = {
    "candidates": [{"content": CALLED, "finishReason": "STOP", "index": 0}], "responseId": "r", "modelVersion": "m",
}  # fmt: skip
DONE: Node = {"index": 0, "finish_reason": "stop"}
SAID: Node = {
    "id": "c", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{**DONE, "message": {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}}],
}  # fmt: skip


def sent(home: str, **body: Any) -> ul.Converted:
    return ul.convert({**ASKED, **body}, source=RESPONSES, target=home, facing="provider", model="m", secret=SECRET)


def answered(home: str, answer: Node, **body: Any) -> list[Node]:
    given: list[Node] = ul.convert(
        answer, source=home, target=RESPONSES, kind="response", facing="client", secret=SECRET,
        exchange=sent(home, **body).exchange,
    ).value["output"]  # fmt: skip
    return given


def streamed(home: str, answer: Node, **body: Any) -> list[Node]:
    data = f"data: {json.dumps(answer)}\n\n".encode()
    options: Node = {"facing": "client", "secret": SECRET, "exchange": sent(home, **body).exchange}
    frames = ul.translate_sse([data], source=home, target=RESPONSES, **options)
    events = [json.loads(line[6:]) for line in b"".join(frames).decode().splitlines() if line.startswith("data: {")]
    for event in events:
        if event["type"] == "response.output_item.added":
            assert "encrypted_content" not in event["item"] or not event["item"].get("summary")
    ended = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert events[-1]["response"]["output"] == ended
    return ended


def thoughts(output: list[Node]) -> list[Node]:
    return [item for item in output if item["type"] == "reasoning" and (item["summary"] or item.get("content"))]


@pytest.mark.parametrize("reasoning", [None, {"summary": "auto"}])
@pytest.mark.parametrize("get", [answered, streamed])
def test_each_reasoning_item_has_encrypted_content_where_that_was_requested(get: Any, reasoning: Any) -> None:
    output = get(GENERATE, THOUGHT, include=ENCRYPTED, reasoning=reasoning)
    found = [item for item in output if item["type"] == "reasoning"]
    assert len(thoughts(output)) == 1 and all(isinstance(item["encrypted_content"], str) for item in found)
    assert all("encrypted_content" not in item for item in thoughts(get(GENERATE, THOUGHT, reasoning=reasoning)))


@pytest.mark.parametrize("get", [answered, streamed])
def test_such_reasoning_returns_as_it_was(get: Any) -> None:
    output = get(GENERATE, THOUGHT, include=ENCRYPTED, reasoning={"summary": "auto"})
    call = next(item for item in output if item["type"] == "function_call")
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "r"}
    back = [*ASKED["input"], *output, result]
    contents = sent(GENERATE, input=back, include=ENCRYPTED).value["contents"]
    assert contents[1]["parts"][0] == CALLED["parts"][0]
    assert contents[1]["parts"][1]["thoughtSignature"] == "QUJD"
    there = ul.convert({**ASKED, "input": back}, source=RESPONSES, target=RESPONSES, facing="provider", secret=SECRET)
    assert "reasoning" not in {item["type"] for item in there.value["input"] if "type" in item}, "no one else gets it"


def test_reasoning_of_chat_that_was_requested_encrypted() -> None:
    (item,) = thoughts(answered(CHAT, SAID, include=ENCRYPTED))
    assert isinstance(item["encrypted_content"], str)
