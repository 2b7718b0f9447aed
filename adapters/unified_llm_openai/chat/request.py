"""Requests of Chat Completions: messages to items and back, and the settings around them.

One assistant message holds what the canonical model keeps as several items (reasoning, message, calls): they share a
turn, and what the message had beside them stays with the first. Writing groups them again, by turn where one is
known, else by the protocol's own rule: reasoning and text open a message, calls join it.

https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

from typing import Any

from unified_llm.errors import InvalidBody
from unified_llm.mapping import IllTyped, Reader, Writer, take

from .content import assistant_parts, call_id_of, calls, tools, user_parts, write_arguments
from .reasoning import read_reasoning, write_reasoning
from .settings import read_settings, write_settings
from .tables import REQUEST

__all__ = ["read_message_items", "read_request", "write_messages", "write_request"]

Node = dict[str, Any]

_CALLS = frozenset(("function_call", "custom_tool_call"))
_OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output"))


def read_request(w: Node, r: Reader) -> Node:
    messages = w.pop("messages", None)
    if type(messages) is not list:
        raise InvalidBody("/messages", "a list of messages is required")
    node: Node = {}
    r.seed = ""
    node["input"] = _read_messages(messages, r)
    read_settings(w, node, r)
    REQUEST.read(w, node)
    return node


def write_request(c: Node, w: Writer) -> Node:
    wire: Node = {}
    messages = write_messages(c.pop("input", None), w)
    if "instructions" in c:
        messages[:0] = _write_instructions(c, w)
    write_settings(c, wire, w)
    REQUEST.write(c, wire, w, w.doc)
    if "model" in c or w.model:
        wire["model"] = w.model or c.pop("model")
    wire["messages"] = messages
    return wire


# ---- reading --------------------------------------------------------------------------------------------------------


def _read_messages(messages: list[Any], r: Reader) -> list[Node]:
    items: list[Node] = []
    legacy: list[str] = []
    for number, wire in enumerate(messages):
        role = wire.get("role") if type(wire) is dict else None
        content = wire.get("content") if type(wire) is dict else None
        if type(content) is str and len(wire) == 2 and type(role) is str and role != "tool" and role != "function":
            item = {"type": "message", "role": role, "content": content}
            r.trace.append((item, wire))
            items.append(item)
            continue
        mark = len(r.trace)
        try:
            items.extend(_read_message(wire, number, r, legacy))
        except (IllTyped, KeyError, TypeError, AttributeError, ValueError):
            del r.trace[mark:]
            items.append(r.unread(wire, "openai-chat messages"))
    return items


def _read_message(wire: Node, number: int, r: Reader, legacy: list[str]) -> list[Node]:
    rest = wire.copy()
    role = rest.pop("role")
    if role == "assistant":
        return r.turn(read_message_items(rest, wire, number, r, legacy), wire, rest, number)
    if role == "tool":
        item: Node = {"type": "function_call_output", "call_id": rest.pop("tool_call_id")}
        item["output"] = r.parts(user_parts, rest.pop("content"))
        if type(item["call_id"]) is not str:
            raise IllTyped("tool_call_id")
    elif role == "function":
        name = rest.pop("name")
        item = {"type": "function_call_output", "call_id": legacy.pop(0) if legacy else call_id_of("legacy", number)}
        item["name"] = name
        item["output"] = _text_or_empty(rest, item, r)
        r.form(item, "role", "function")
    else:
        if type(role) is not str:
            raise IllTyped("role")
        item = {"type": "message", "role": role, "content": r.parts(user_parts, rest.pop("content"))}
    if "name" in rest:
        item["name"] = rest.pop("name")
    r.made(item, wire)
    return r.turn([item], wire, rest, number)


def _text_or_empty(rest: Node, item: Node, r: Reader) -> Any:
    content = rest.pop("content")
    if content is None:
        r.form(item, "content", "null")
        return ""
    return r.parts(user_parts, content)


def read_message_items(rest: Node, wire: Node, number: int, r: Reader, legacy: list[str]) -> list[Node]:
    """The items of an assistant message, of a request or of an answer; pops what it understands from `rest`."""
    items = read_reasoning(rest, wire, r)
    message: Node = {"type": "message", "role": "assistant"}
    content = rest.get("content")
    form = None
    if type(content) is str and content:
        message["content"] = rest.pop("content")
    elif type(content) is list:
        message["content"] = r.nodes(assistant_parts, rest.pop("content"))
    elif content is None or content == "":
        form = "absent" if "content" not in rest else "null" if content is None else "empty"
        rest.pop("content", None)
    else:
        raise IllTyped("content")
    _read_refusal_and_audio(rest, message, r)
    for key in ("name",):
        if key in rest:
            message[key] = rest.pop(key)
    if "annotations" in rest and type(message.get("content")) is str:
        message["content"] = [r.made({"type": "output_text", "text": message["content"]}, wire)]
    made: list[Node] = []
    if type(rest.get("tool_calls")) is list:
        made = r.nodes(calls, rest["tool_calls"])
        if made:
            del rest["tool_calls"]
    if type(rest.get("function_call")) is dict:
        made.append(_read_legacy_call(rest, wire, number, r, legacy))
    if len(message) > 2 or not (made or items):
        message.setdefault("content", [] if form != "empty" else "")
        items.append(r.made(message, wire))
    items.extend(made)
    if form and not (form == "empty" and message.get("content") == ""):
        r.form(items[0], "content", form)
    return items


def _read_refusal_and_audio(rest: Node, message: Node, r: Reader) -> None:
    parts = []
    if type(rest.get("refusal")) is str:
        parts.append({"type": "refusal", "refusal": rest.pop("refusal"), "extra": {r.protocol: {"form": {"slot": True}}}})
    if type(rest.get("audio")) is dict:
        audio = take(rest, "audio")
        part = {"type": "output_audio", **{k: audio.pop(k) for k in ("id", "data", "transcript", "expires_at") if k in audio}}
        parts.append(part)
    if parts:
        content = message.get("content")
        if type(content) is str:
            parts.insert(0, {"type": "output_text", "text": content, "extra": {r.protocol: {"form": {"string": True}}}})
        elif content:
            parts[:0] = content
        message["content"] = parts


def _read_legacy_call(rest: Node, wire: Node, number: int, r: Reader, legacy: list[str]) -> Node:
    call = take(rest, "function_call")
    call_id = call_id_of("legacy", number)
    legacy.append(call_id)
    item = {"type": "function_call", "call_id": call_id, "name": call.pop("name"), "arguments": call.pop("arguments")}
    r.form(item, "legacy", True)
    return r.made(item, wire["function_call"])


# ---- writing --------------------------------------------------------------------------------------------------------


def _write_instructions(c: Node, w: Writer) -> list[Node]:
    instructions = c.pop("instructions")
    if instructions is None:
        return []
    return [{"role": "system", "content": w.parts(user_parts, instructions)}]


def write_messages(items: Any, w: Writer) -> list[Node]:
    """The messages of a list of items (or of a string, one user message)."""
    if type(items) is str:
        return [{"role": "user", "content": items}]
    out: list[Node] = []
    group: list[Node] = []
    for item in items or ():
        kind = item.get("type")
        role = item.get("role")
        if kind == "message" and role != "assistant":
            if group:
                out.append(_write_assistant(group, w))
                group = []
            content = item.get("content")
            if len(item) == 3 and type(content) is str:
                out.append({"role": role, "content": content})
            else:
                out.append(w.turn(item, w.piece(_write_message, item)))
        elif kind in _OUTPUTS:
            if group:
                out.append(_write_assistant(group, w))
                group = []
            out.append(w.turn(item, w.piece(_write_output, item)))
        elif kind in _CALLS or kind == "message" or kind == "reasoning":
            if group and not _joins(group, item, kind):
                out.append(_write_assistant(group, w))
                group = []
            group.append(item)
        else:
            native = w.native(item, "openai-chat messages")
            if native is not None:
                if group:
                    out.append(_write_assistant(group, w))
                    group = []
                out.append(native)
    if group:
        out.append(_write_assistant(group, w))
    return out


def _joins(group: list[Node], item: Node, kind: str) -> bool:
    """Whether an item belongs to the assistant message being gathered."""
    last = group[-1]
    turn, before = item.get("turn"), last.get("turn")
    if turn is not None or before is not None:
        return turn == before
    return kind in _CALLS or last.get("type") == "reasoning"


def _write_message(c: Node, w: Writer) -> Node:
    wire: Node = {"role": c.pop("role"), "content": w.parts(user_parts, c.pop("content", None))}
    if "name" in c:
        wire["name"] = c.pop("name")
    return wire


def _write_output(c: Node, w: Writer) -> Node:
    if w.form(c, "role") == "function":
        c.pop("call_id")
        content: Any = w.parts(user_parts, c.pop("output"))
        if content == "" and w.form(c, "content") == "null":
            content = None
        return {"role": "function", "name": c.pop("name"), "content": content}
    wire = {"role": "tool", "tool_call_id": c.pop("call_id", None), "content": w.parts(user_parts, c.pop("output", None))}
    if "name" in c:
        wire["name"] = c.pop("name")
    return wire


def _write_assistant(group: list[Node], w: Writer) -> Node:
    if len(group) == 1:
        item = group[0]
        if len(item) == 3 and item["type"] == "message" and type(item.get("content")) is str:
            return {"role": "assistant", "content": item["content"]}
    wire: Node = {"role": "assistant"}
    contents: list[Any] = []
    tool_calls: list[Node] = []
    for item in group:
        kind = item["type"]
        if kind == "message":
            wire.update(w.piece(_write_assistant_message, item))
            contents.append(wire.pop("content", None))
        elif kind == "reasoning":
            wire.update(write_reasoning(item, w))
        elif kind == "function_call" and w.form(item, "legacy"):
            wire["function_call"] = w.piece(_write_legacy_call, item)
        else:
            tool_calls.extend(w.nodes(calls, (item,)))
    if contents:
        wire["content"] = contents[0] if len(contents) == 1 else _joined(contents)
    else:
        form = w.form(group[0], "content")
        if form != "absent":
            wire["content"] = "" if form == "empty" else None
    if wire.get("content") == [] and w.form(group[0], "content"):
        form = w.form(group[0], "content")
        if form == "absent":
            del wire["content"]
        else:
            wire["content"] = None
    if tool_calls:
        wire["tool_calls"] = tool_calls
    return w.turn(group[0], wire)


def _joined(contents: list[Any]) -> list[Node]:
    parts: list[Node] = []
    for content in contents:
        parts.extend([{"type": "text", "text": content}] if type(content) is str else content or ())
    return parts


def _write_assistant_message(c: Node, w: Writer) -> Node:
    wire: Node = {}
    c.pop("role")
    content = c.pop("content", None)
    if type(content) is list:
        slots = [part for part in content if part["type"] == "output_audio" or w.form(part, "slot")]
        if slots:
            content = [part for part in content if part not in slots]
            for part in slots:
                wire.update(w.piece(_write_slot, part))
            if len(content) == 1 and w.form(content[0], "string"):
                content = content[0]["text"]
            elif not content:
                content = None
    wire["content"] = w.parts(assistant_parts, content) if content is not None else []
    if "name" in c:
        wire["name"] = c.pop("name")
    return wire


def _write_slot(c: Node, w: Writer) -> Node:
    if "refusal" in c:
        return {"refusal": c.pop("refusal")}
    return {"audio": {key: c.pop(key) for key in ("id", "data", "transcript", "expires_at") if key in c}}


def _write_legacy_call(c: Node, w: Writer) -> Node:
    c.pop("call_id")
    return {"name": c.pop("name"), "arguments": write_arguments(c.pop("arguments"), None)}
