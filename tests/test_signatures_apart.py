"""Clients of generateContent that keep a signature as a thought of its own, behind the piece of text that it came on.

That is how Google streams it, on an empty text behind the whole one, and some frameworks keep no other form. Of an
answer that another provider made, the reasoning has to return to where it was all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import unified_llm as ul

GENERATE, MESSAGES, RESPONSES = "google-generate-content", "anthropic-messages", "openai-responses"
Node = dict[str, Any]
TEXT = "It is said."


def thinking(shown: str) -> Node:
    return {"type": "thinking", "thinking": shown, "signature": "c2lnbmVk"}


def reasoning(shown: str) -> Node:
    summary = [{"type": "summary_text", "text": shown}] if shown else []
    return {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "gAAA-one"}


def streamed(source: str, first: Node, calls: bool) -> list[Node]:
    """The frames that a client of generateContent gets of an answer: reasoning, a text, and maybe a call."""
    if source == MESSAGES:
        call: Node = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
        content = [first, {"type": "text", "text": TEXT}, *([call] if calls else [])]
        answer: Node = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
    else:
        part = {"type": "output_text", "text": TEXT, "annotations": [], "logprobs": []}
        message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
        call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"}
        output = [first, message, *([{**call, "status": "completed"}] if calls else [])]
        answer = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m",
                  "output": output}  # fmt: skip
    canonical = ul.read(answer, source, "response").dump()
    events = ul.write_stream(pieces(ul.decompose(canonical)), source)
    frames = list(ul.convert_stream(events, source=source, target=GENERATE, secret="s"))
    return [frame["data"] for frame in frames]


def pieces(events: Iterable[Node]) -> Iterator[Node]:
    """The events, each delta of text in two pieces."""
    for event in events:
        if event["type"] != "response.output_text.delta":
            yield event
            continue
        for piece in (event["delta"][:2], event["delta"][2:]):
            yield {**event, "delta": piece}


def kept(frames: list[Node]) -> list[Node]:
    """The parts in the history of a client that has a block for each kind and one for a signature."""
    out: list[Node] = []
    kind = ""
    for frame in frames:
        for part in frame["candidates"][0].get("content", {}).get("parts", ()):
            if "functionCall" in part:
                out.append(part)
                kind = ""
                continue
            if part.get("text"):
                here = "thought" if part.get("thought") else "text"
                if here != kind:
                    out.append({"text": "", **({"thought": True} if here == "thought" else {})})
                    kind = here
                out[-1]["text"] += part["text"]
            if part.get("thoughtSignature"):
                if kind != "thought":
                    out.append({"text": "", "thought": True})
                    kind = "thought"
                out[-1]["thoughtSignature"] = part["thoughtSignature"]
    return out


def home(parts: list[Node], target: str) -> list[Node]:
    contents = [{"role": "user", "parts": [{"text": "?"}]}, {"role": "model", "parts": parts}]
    if any("functionCall" in part for part in parts):
        result = {"functionResponse": {"id": "c1", "name": "f", "response": {"output": "r"}}}
        contents.append({"role": "user", "parts": [result]})
    body = {"contents": contents}
    value = ul.convert(body, source=GENERATE, target=target, secret="s", model="m").value
    if target == MESSAGES:
        content: list[Node] = value["messages"][1]["content"]
        return content
    items: list[Node] = value["input"]
    return [item for item in items if item.get("role") != "user" and item["type"] != "function_call_output"]


@pytest.mark.parametrize("calls", [False, True])
@pytest.mark.parametrize("shown", ["So.", ""])
def test_thinking_returns_before_its_text(shown: str, calls: bool) -> None:
    parts = kept(streamed(MESSAGES, thinking(shown), calls))
    assert len([part for part in parts if part.get("text")]) == (3 if shown else 2), "the text is in two pieces"
    first, *others = home(parts, MESSAGES)
    assert first == thinking(shown)
    assert "".join(block["text"] for block in others if block["type"] == "text") == TEXT
    assert [block["type"] for block in others if block["type"] != "text"] == ["tool_use"] * calls


@pytest.mark.parametrize("calls", [False, True])
@pytest.mark.parametrize("shown", ["So.", ""])
def test_encrypted_reasoning_returns_before_its_message(shown: str, calls: bool) -> None:
    first, message, *others = home(kept(streamed(RESPONSES, reasoning(shown), calls)), RESPONSES)
    assert first == reasoning(shown)
    assert "".join(part["text"] for part in message["content"]) == TEXT
    assert [item["type"] for item in others] == ["function_call"] * calls


def test_the_thoughts_of_another_item_stay() -> None:
    """An envelope of reasoning that is not shown replaces no thought that is."""
    unsigned = {"text": "Unsigned.", "thought": True}
    body = {"contents": [{"role": "model", "parts": [unsigned, *kept(streamed(RESPONSES, reasoning(""), False))]}]}
    first, second, message = ul.read(body, GENERATE, secret="s").dump()["input"]
    assert [part["text"] for part in first["summary"]] == ["Unsigned."] and "opaque" not in first
    assert second["opaque"][0]["data"] == "gAAA-one" and not second["summary"]
    assert "".join(part["text"] for part in message["content"]) == TEXT
