"""Documents of Chat Completions for tests, and what is read from them and written as them."""

from __future__ import annotations

from typing import Any

import unified_llm as ul

CHAT = "openai-chat"
Node = dict[str, Any]


def canonical(body: Any, kind: str = "request", protocol: str = CHAT) -> Any:
    """The canonical document of a wire body, without what belongs to one protocol only."""
    return bare(ul.read(body, protocol, kind).model_dump(mode="json", by_alias=True, exclude_unset=True))


def bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: bare(inner) for key, inner in value.items() if key not in ("extra", "turn")}
    return [bare(inner) for inner in value] if isinstance(value, list) else value


def items(*messages: Node) -> list[Node]:
    return list(canonical({"model": "m", "messages": list(messages)})["input"])


def messages(*nodes: Node, protocol: str = CHAT) -> list[Node]:
    return list(ul.write({"model": "m", "input": list(nodes)}, protocol).value["messages"])


def answer(message: Node, **choice: Any) -> Node:
    said = {
        "index": 0,
        "message": {"role": "assistant", **message},
        "finish_reason": "stop",
        "logprobs": None,
        **choice,
    }
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 5, "model": "m", "choices": [said]}


def written(**response: Any) -> Node:
    body = {"id": "r", "created_at": 5, "model": "m", **response}
    return dict(ul.write(body, CHAT, "response").value)


def message_item(text: str, **more: Any) -> Node:
    parts = [{"type": "output_text", "text": text}]
    return {"type": "message", "role": "assistant", "content": parts, **more}


def call(call_id: str = "c1", name: str = "f", arguments: str = "{}") -> Node:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def wire_call(call_id: str = "c1", name: str = "f", arguments: str = "{}") -> Node:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
