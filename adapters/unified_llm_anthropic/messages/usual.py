"""The shapes that nearly every message of an agent's history has, read and written in one go.

A conversation is mostly texts, calls and results with nothing beside them, and this is where the time of a long request
goes. What is not exactly of these shapes is None here and goes to the pairs; what is, must come out as the pairs would
have it (`tests/test_anthropic_messages_usual.py` converts everything with and without this file).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unified_llm.jsonvalue import dump_text, loader_of
from unified_llm.reading import Reader
from unified_llm.writing import Writer

__all__ = ["arguments_of", "read_usual", "write_usual"]

Node = dict[str, Any]

_ROLES = frozenset(("user", "assistant", "system"))
_TEXTS = frozenset(("input_text", "output_text"))


# ---- reading --------------------------------------------------------------------------------------------------------


def read_usual(wire: Node, role: str, number: int, r: Reader) -> list[Node] | None:
    """The items of a message that holds a text, or plain blocks of text, calls and results."""
    content = wire.get("content")
    if role not in _ROLES:
        return None
    if type(content) is str:
        message = {"type": "message", "role": role, "content": content}
        r.trace.append((message, wire))
        return [message]
    if type(content) is not list or not content:
        return None
    mark = len(r.trace)
    items = _read_blocks(content, wire, role, r.trace)
    if items is None:
        del r.trace[mark:]
    elif len(items) > 1:
        for item in items:
            item["turn"] = number
    return items


def _read_blocks(content: list[Any], wire: Node, role: str, trace: list[tuple[Node, Node]]) -> list[Node] | None:
    items: list[Node] = []
    gathering: list[Node] | None = None
    for block in content:
        if type(block) is not dict:
            return None
        kind = block.get("type")
        if kind == "tool_use":
            call_id, name, value = block.get("id"), block.get("name"), block.get("input")
            if len(block) != 4 or type(call_id) is not str or type(name) is not str or type(value) is not dict:
                return None
            if role != "assistant":
                return None
            item: Node = {"type": "function_call", "call_id": call_id, "name": name, "arguments": dump_text(value)}
        elif kind == "tool_result":
            call_id, output = block.get("tool_use_id"), block.get("content")
            if type(output) is list:
                output = _read_texts(output, trace)
            if type(call_id) is not str or (type(output) is not str and type(output) is not list) or role != "user":
                return None
            item = {"type": "function_call_output", "call_id": call_id, "output": output}
            if len(block) != 3:
                if len(block) != 4 or type(block.get("is_error")) is not bool:
                    return None
                item["is_error"] = block["is_error"]
        elif kind == "text" and len(block) == 2 and type(block.get("text")) is str:
            part = {"type": "output_text" if role == "assistant" else "input_text", "text": block["text"]}
            trace.append((part, block))
            if gathering is None:
                gathering = [part]
                items.append({"type": "message", "role": role, "content": gathering})
                trace.append((items[-1], wire))
            else:
                gathering.append(part)
            continue
        else:
            return None
        gathering = None
        trace.append((item, block))
        items.append(item)
    return items


def _read_texts(blocks: list[Any], trace: list[tuple[Node, Node]]) -> list[Node] | None:
    parts = []
    for block in blocks:
        if type(block) is not dict or len(block) != 2 or block.get("type") != "text":
            return None
        part = {"type": "input_text", "text": block.get("text")}
        if type(part["text"]) is not str:
            return None
        parts.append(part)
        trace.append((part, block))
    return parts


# ---- writing --------------------------------------------------------------------------------------------------------


def arguments_of(items: list[Node]) -> Callable[[str], Any]:
    """What loads the arguments of these calls: found out once for all of them."""
    return loader_of([item.get("arguments", "") for item in items if item.get("type") == "function_call"])


def write_usual(item: Node, kind: Any, content: list[Node], role: str, load: Callable[[str], Any], w: Writer) -> bool:
    """Write a plain text, call or result to the blocks of its message; whether it was one of these."""
    size = len(item)
    if "turn" in item:
        size -= 1
    if "extra" in item:
        if not _is_silent(item["extra"], w):
            return False
        size -= 1
    if kind == "function_call":
        call_id, name, arguments = item.get("call_id"), item.get("name"), item.get("arguments")
        if size != 4 or type(call_id) is not str or type(name) is not str or type(arguments) is not str:
            return False
        try:
            value = load(arguments)
        except ValueError:
            return False
        if type(value) is not dict:
            return False
        content.append({"type": "tool_use", "id": call_id, "name": name, "input": value})
        return True
    if kind == "function_call_output":
        call_id, output = item.get("call_id"), item.get("output")
        if type(output) is list:
            output = _write_texts(output)
        if type(call_id) is not str or (type(output) is not str and type(output) is not list):
            return False
        block: Node = {"type": "tool_result", "tool_use_id": call_id, "content": output}
        if size != 3:
            if size != 4 or "is_error" not in item:
                return False
            block["is_error"] = item["is_error"]
        content.append(block)
        return True
    if kind != "message" or size != 3 or item.get("role") != role:
        return False
    text = item.get("content")
    if type(text) is str and text:
        content.append({"type": "text", "text": text})
        return True
    texts = _write_texts(text) if type(text) is list else None
    if texts is None:
        return False
    content += texts
    return True


def _write_texts(parts: list[Node]) -> list[Node] | None:
    """The blocks of parts that are plain texts, and say something: there is a law against empty ones."""
    out = []
    for part in parts:
        text = part.get("text")
        if len(part) != 2 or not text or type(text) is not str or part.get("type") not in _TEXTS:
            return None
        out.append({"type": "text", "text": text})
    return out or None


def _is_silent(extra: Any, w: Writer) -> bool:
    """Whether what is kept with an item is nothing but what forms it had on other wires."""
    for protocol, drawer in extra.items():
        if protocol == w.protocol or "rest" in drawer or "turn" in drawer:
            return False
    return True
