"""The shapes that nearly every message of an agent's history has, read and written in one go.

A conversation is mostly texts, calls and results with nothing beside them, and this is where the time of a long request
goes. What is not exactly of these shapes is None here and goes to the pairs; what is, must come out as the pairs would
have it (`tests/test_openai_chat_usual.py` converts everything with and without this file).
"""

from __future__ import annotations

from typing import Any, Protocol

from unified_llm.reading import Reader
from unified_llm.writing import Writer

__all__ = ["read_usual", "write_texts", "write_usual", "write_usual_result"]

Node = dict[str, Any]


class Waiting(Protocol):
    """The ids of calls without a result so far, and of calls of custom tools."""

    calls: list[str]
    custom: set[str]


_SAID = (str, list)
_TEXTS = frozenset(("input_text", "output_text", "text"))


def read_usual(wire: Node, role: str, number: int, items: list[Node], waiting: Waiting, r: Reader) -> bool:
    """Read a text, a text with calls, or a result to `items`; whether it was one of these.

    `waiting` are the calls without a result so far.
    """
    content = wire.get("content")
    if len(wire) == 2:
        if type(content) is not str or role == "tool" or role == "function" or (role == "assistant" and not content):
            return False
        item = {"type": "message", "role": role, "content": content}
    elif len(wire) != 3:
        return False
    elif role == "tool":
        call_id = wire.get("tool_call_id")
        if type(content) is not str or type(call_id) is not str or not call_id or call_id in waiting.custom:
            return False
        calls = waiting.calls
        if calls and call_id == calls[0]:
            del calls[0]
        elif call_id in calls:
            calls.remove(call_id)
        item = {"type": "function_call_output", "call_id": call_id, "output": content}
    elif role == "assistant" and "tool_calls" in wire and (type(content) is str and content):
        return _read_calling(wire, content, number, items, waiting.calls, r)
    elif role == "assistant" and "tool_calls" in wire and content is None and "content" in wire:
        return _read_calling(wire, None, number, items, waiting.calls, r)
    else:
        return False
    r.trace.append((item, wire))
    items.append(item)
    return True


def _read_calling(
    wire: Node, content: str | None, number: int, items: list[Node], waiting: list[str], r: Reader
) -> bool:
    calls = wire["tool_calls"]
    if type(calls) is not list or not calls:
        return False
    traced: list[tuple[Node, Node]] = []
    if content is not None:
        traced.append(({"type": "message", "role": "assistant", "content": content}, wire))
    for call in calls:
        if type(call) is not dict or len(call) != 3 or call.get("type") != "function":
            return False
        function, call_id = call.get("function"), call.get("id")
        if type(function) is not dict or len(function) != 2 or type(call_id) is not str or not call_id:
            return False
        name, arguments = function.get("name"), function.get("arguments")
        if type(name) is not str or type(arguments) is not str or not arguments:
            return False
        traced.append(({"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}, call))
    made = [item for item, _ in traced]
    if len(made) > 1:
        for item in made:
            item["turn"] = number
    if content is None:
        made[0]["extra"] = {r.protocol: {"form": {"content": "null"}}}
    waiting += [call["id"] for call in calls]
    r.context["calls"] = r.context.get("calls", 0) + len(calls)
    r.trace += traced
    items += made
    return True


def write_usual_result(item: Node, w: Writer) -> Node | None:
    """The message of a plain result."""
    call_id, output = item.get("call_id"), item.get("output")
    if len(item) != (4 if "turn" in item else 3) or type(output) is not str or type(call_id) is not str:
        return None
    return {"role": "tool", "tool_call_id": call_id, "content": output}


def write_usual(group: list[Node], w: Writer) -> Node | None:
    """The message of a plain text, of plain calls, or of both."""
    if w.dialect and not w.same:
        return None
    content: Any = None
    marker = "null"
    named = False
    calls: list[Node] = []
    for item in group:
        plain = 5 if "turn" in item else 4
        if item["type"] == "message":
            content = item.get("content")
            if type(content) is list:
                content = _write_texts(content)
            size = plain - 1 + ("id" in item) + ("status" in item)
            if len(item) != size or calls or item is not group[0] or type(content) not in _SAID or not content:
                return None
            named = size != plain - 1
            continue
        if len(item) != plain:
            found = _only_marker(item, w) if item is group[0] and len(item) == plain + 1 else None
            if found is None:
                return None
            marker = found
        if item["type"] != "function_call":
            return None
        call_id, name, arguments = item.get("call_id"), item.get("name"), item.get("arguments")
        if type(call_id) is not str or type(name) is not str or type(arguments) is not str:
            return None
        calls.append({"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}})
    if named:
        # What names an item has no place here, and is told to be lost.
        w.piece(_take_said, group[0])
    if not calls:
        return {"role": "assistant", "content": content}
    if content is None and marker == "absent":
        return {"role": "assistant", "tool_calls": calls}
    return {"role": "assistant", "content": content, "tool_calls": calls}


def _take_said(c: Node, w: Writer) -> None:
    del c["role"], c["content"]


def _write_texts(parts: list[Node]) -> str | list[Node] | None:
    """The content of parts that are plain texts and say something; one alone is a string."""
    texts = write_texts(parts)
    return texts[0]["text"] if texts is not None and len(texts) == 1 else texts


def write_texts(parts: list[Node]) -> list[Node] | None:
    """The parts of plain texts that say something."""
    out = []
    for part in parts:
        text = part.get("text")
        if part.get("type") not in _TEXTS or type(text) is not str or not text:
            return None
        if len(part) != 2 and (len(part) != 3 or part.get("annotations") != []):
            return None
        out.append({"type": "text", "text": text})
    return out or None


def _only_marker(item: Node, w: Writer) -> str | None:
    """The marker of content on an item that carries nothing else from this protocol and nothing from others."""
    extra = item.get("extra")
    if type(extra) is not dict or len(extra) != 1:
        return None
    drawer = extra.get(w.protocol)
    if type(drawer) is not dict or len(drawer) != 1 or type(drawer.get("form")) is not dict or len(drawer["form"]) != 1:
        return None
    marker = drawer["form"].get("content")
    return marker if marker == "null" or marker == "absent" else None
