"""The shapes that nearly every message of an agent's history has, read and written in one go.

A conversation is mostly texts, calls and results with nothing beside them, and this is where the time of a long request
goes. What is not exactly of these shapes is None here and goes to the pairs; what is, must come out as the pairs would
have it (`tests/test_openai_chat_usual.py` converts everything with and without this file).
"""

from __future__ import annotations

from typing import Any, Protocol

from unified_llm.reading import Reader
from unified_llm.writing import Writer

__all__ = ["read_usual", "write_usual", "write_usual_result"]

Node = dict[str, Any]


class Waiting(Protocol):
    """The ids of calls without a result so far, and of calls of custom tools."""

    calls: list[str]
    custom: set[str]


_RESULT = {"role", "tool_call_id", "content"}
_CALLING = {"role", "content", "tool_calls"}


def read_usual(wire: Node, role: str, number: int, waiting: Waiting, r: Reader) -> list[Node] | None:
    """The items of a text, of a text with calls, or of a result; `waiting` are the calls without a result so far."""
    content = wire.get("content")
    keys = wire.keys()
    if len(keys) == 2:
        if type(content) is not str or role == "tool" or role == "function" or (role == "assistant" and not content):
            return None
        item = {"type": "message", "role": role, "content": content}
        r.trace.append((item, wire))
        return [item]
    if role == "tool" and keys == _RESULT:
        call_id = wire["tool_call_id"]
        if type(content) is not str or type(call_id) is not str or not call_id:
            return None
        if call_id in waiting.custom:
            return None
        if call_id in waiting.calls:
            waiting.calls.remove(call_id)
        item = {"type": "function_call_output", "call_id": call_id, "output": content}
        r.trace.append((item, wire))
        r.turns.append((item, wire))
        return [item]
    if role == "assistant" and keys == _CALLING and (content is None or (type(content) is str and content)):
        return _read_calling(wire, content, number, waiting.calls, r)
    return None


def _read_calling(wire: Node, content: str | None, number: int, waiting: list[str], r: Reader) -> list[Node] | None:
    calls = wire["tool_calls"]
    if type(calls) is not list or not calls:
        return None
    items: list[Node] = []
    traced: list[tuple[Node, Node]] = []
    if content is not None:
        items.append({"type": "message", "role": "assistant", "content": content})
        traced.append((items[0], wire))
    for call in calls:
        if type(call) is not dict or len(call) != 3 or call.get("type") != "function":
            return None
        function, call_id = call.get("function"), call.get("id")
        if type(function) is not dict or len(function) != 2 or type(call_id) is not str or not call_id:
            return None
        name, arguments = function.get("name"), function.get("arguments")
        if type(name) is not str or type(arguments) is not str or not arguments:
            return None
        item: Node = {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
        items.append(item)
        traced.append((item, call))
    waiting.extend(item["call_id"] for item in items if item["type"] == "function_call")
    r.context["calls"] = r.context.get("calls", 0) + len(calls)
    if len(items) > 1:
        for item in items:
            item["turn"] = number
    if content is None:
        items[0]["extra"] = {r.protocol: {"form": {"content": "null"}}}
    r.trace += traced
    r.turns.append((items[0], wire))
    return items


def write_usual_result(item: Node, w: Writer) -> Node | None:
    """The message of a plain result."""
    call_id, output = item.get("call_id"), item.get("output")
    if len(item) != 3 or type(output) is not str or type(call_id) is not str:
        return None
    return {"role": "tool", "tool_call_id": call_id, "content": output}


def write_usual(group: list[Node], w: Writer) -> Node | None:
    """The message of a plain text, of plain calls, or of both."""
    if w.dialect and not w.same:
        return None
    content: str | None = None
    marker = "null"
    calls: list[Node] = []
    for item in group:
        plain = 5 if "turn" in item else 4
        if item["type"] == "message":
            content = item.get("content")
            if len(item) != plain - 1 or calls or item is not group[0] or type(content) is not str or not content:
                return None
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
    if not calls:
        return {"role": "assistant", "content": content}
    if content is None and marker == "absent":
        return {"role": "assistant", "tool_calls": calls}
    return {"role": "assistant", "content": content, "tool_calls": calls}


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
