"""Opaque data of a reasoning item that no other node shares is in the stream where it is in the whole answer.

https://openrouter.ai/docs/use-cases/reasoning-tokens (`reasoning_details`, each with its index)
https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

import json
from typing import Any

import unified_llm as ul

Node = dict[str, Any]
CHAT, GENERATE = "openai-chat", "google-generate-content"
TEXT = {"type": "output_text", "text": "Hi"}
MESSAGE = {"type": "message", "role": "assistant", "status": "completed", "content": [TEXT]}


def answer(*items: Node) -> Node:
    end = {"status": "completed", "finish": {"reason": "stop"}}
    return {"id": "r", "model": "m", "created_at": 1, "output": [*items, MESSAGE], **end}


def opaque(protocol: str, kind: str, data: str) -> list[Node]:
    return [{"kind": kind, "data": data, "origin": {"protocol": protocol}}]


def thought(number: int) -> Node:
    detail = {"type": "reasoning.text", "text": f"thought {number}", "signature": f"s{number}", "index": 0}
    content = [{"type": "reasoning_text", "text": f"thought {number}"}]
    pieces = opaque(CHAT, "reasoning_details", json.dumps([detail]))
    return {"type": "reasoning", "summary": [], "content": content, "opaque": pieces}


def test_the_details_of_two_items_stay_apart() -> None:
    """An accumulator joins what has one index: those of a second item come behind those of the first."""
    node = answer(thought(1), thought(2))
    whole = ul.write(node, CHAT, "response").value["choices"][0]["message"]["reasoning_details"]
    assert [(each["index"], each["signature"]) for each in whole] == [(0, "s1"), (1, "s2")]
    events = [*ul.write_stream(ul.decompose(node), CHAT)]
    deltas = [event["data"]["choices"][0]["delta"] for event in events if type(event["data"]) is dict]
    assert [each for delta in deltas for each in delta.get("reasoning_details", ())] == whole


def test_a_signature_of_the_whole_item_is_in_the_stream() -> None:
    pieces = opaque(GENERATE, "of another kind", "c2ln")
    summary = [{"type": "summary_text", "text": "thought"}]
    node = answer({"type": "reasoning", "summary": summary, "opaque": pieces})
    whole = ul.write(node, GENERATE, "response").value["candidates"][0]["content"]["parts"]
    events = [*ul.write_stream(ul.decompose(node), GENERATE)]
    streamed = [part for event in events for part in event["data"]["candidates"][0]["content"]["parts"]]
    signed = [[part["text"] for part in parts if "thoughtSignature" in part] for parts in (whole, streamed)]
    assert signed == [[""], [""]]
