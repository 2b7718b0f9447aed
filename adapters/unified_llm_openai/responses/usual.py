"""The shapes that nearly every item of an agent's history has, read, and written for a provider, in one go.

A text, a call or a result with nothing beside it is on the wire what it is in the canonical model, whoever it is from.
What is not exactly of these shapes is None here and goes to the pairs; what is, must come out as the pairs would have
it (`tests/test_openai_responses_usual.py` converts everything with and without this file).
"""

from __future__ import annotations

from typing import Any

from unified_llm.reading import Reader
from unified_llm.writing import Writer

__all__ = ["read_usual", "write_usual"]

Node = dict[str, Any]


def read_usual(wire: Node, r: Reader) -> Node | None:
    """The item of a plain text, call of a function, or result of one."""
    kind, size = wire.get("type"), len(wire)
    if kind == "function_call":
        if size != 4 or type(wire.get("call_id")) is not str or type(wire.get("name")) is not str:
            return None
        if type(wire.get("arguments")) is not str:
            return None
        item = wire.copy()
    elif kind == "function_call_output":
        if size != 3 or type(wire.get("call_id")) is not str or type(wire.get("output")) is not str:
            return None
        item = wire.copy()
    elif type(wire.get("role")) is not str or type(wire.get("content")) is not str:
        return None
    elif kind == "message" and size == 3:
        item = wire.copy()
    elif size == 2:
        item = {"type": "message", **wire, "extra": {r.protocol: {"form": {"tag": "absent"}}}}
    else:
        return None
    r.trace.append((item, wire))
    return item


def write_usual(item: Node, w: Writer) -> Node | None:
    """The wire item of a plain text, call of a function, or result of one."""
    kind, size = item.get("type"), len(item)
    if "turn" in item:
        size -= 1
    if "extra" in item:
        if not _is_silent(item["extra"], w):
            return None
        size -= 1
    if kind == "function_call":
        call_id, name, arguments = item.get("call_id"), item.get("name"), item.get("arguments")
        if size != 4 or type(call_id) is not str or type(name) is not str or type(arguments) is not str:
            return None
        return {"type": kind, "call_id": call_id, "name": name, "arguments": arguments}
    if size != 3:
        return None
    if kind == "function_call_output":
        call_id, output = item.get("call_id"), item.get("output")
        if type(call_id) is not str or type(output) is not str:
            return None
        return {"type": kind, "call_id": call_id, "output": output}
    if kind != "message":
        return None
    role, content = item.get("role"), item.get("content")
    if type(content) is list:
        content = _only_text(content) if role == "assistant" else _texts(content)
    if content is None or type(role) is not str or (type(content) is not str and type(content) is not list):
        return None
    return {"type": kind, "role": role, "content": content}


def _only_text(content: list[Node]) -> str | None:
    """What a model said in one plain part: a string, where it is said again."""
    if len(content) != 1 or len(content[0]) != 2 or content[0].get("type") != "output_text":
        return None
    text = content[0].get("text")
    return text if type(text) is str and text else None


def _texts(content: list[Node]) -> list[Node] | None:
    out = []
    for part in content:
        text = part.get("text")
        if len(part) != 2 or part.get("type") != "input_text" or type(text) is not str or not text:
            return None
        out.append({"type": "input_text", "text": text})
    return out or None


def _is_silent(extra: Any, w: Writer) -> bool:
    """Whether what is kept with an item is nothing but what forms it had on other wires."""
    for protocol, drawer in extra.items():
        if protocol == w.protocol or "rest" in drawer or "turn" in drawer:
            return False
    return True
