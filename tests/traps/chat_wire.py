"""Requests and answers of chat, and what is read and written of them."""

from __future__ import annotations

from typing import Any

import unified_llm as ul

CHAT = "openai-chat"
Node = dict[str, Any]


def bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: bare(inner) for key, inner in value.items() if key not in ("extra", "turn")}
    return [bare(inner) for inner in value] if isinstance(value, list) else value


def read(body: Any, kind: str = "request") -> Node:
    return dict(bare(ul.read(body, CHAT, kind).model_dump(mode="json", by_alias=True, exclude_unset=True)))


def same(body: Any, kind: str = "request") -> ul.Losses:
    """Chat to chat gives the same, without a word of loss."""
    done = ul.convert(body, source=CHAT, target=CHAT, kind=kind)
    assert done.value == body
    return done.losses


def request(*messages: Node, **settings: Any) -> Node:
    return {"model": "m", "messages": list(messages), **settings}


def wire_call(arguments: Any = "{}", call_id: Any = "c1", **more: Any) -> Node:
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": arguments}, **more}


def output(value: Any, call_id: str = "c1", **more: Any) -> Node:
    return {"type": "function_call_output", "call_id": call_id, "output": value, **more}


def assistant(*tool_calls: Node) -> Node:
    return {"role": "assistant", "content": None, "tool_calls": list(tool_calls)}


def completion(message: Node, finish: str = "stop") -> Node:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
