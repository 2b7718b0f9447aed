"""The shapes that nearly every message of an agent's history has, read and written in one go.

A conversation is mostly texts, calls and results with nothing beside them, and this is where the time of a long request
goes: each of the two loops goes on while it finds these shapes, and hands over the first message that has another,
which goes to the pairs. What is of these shapes must come out as the pairs would have it
(`tests/test_anthropic_messages_usual.py` converts everything with and without this file).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unified_llm.jsonvalue import dump_text
from unified_llm.outline import CALL, RESULT, ROLES, USER
from unified_llm.reading import Reader
from unified_llm.writing import Writer

__all__ = ["read_usual", "write_usual", "write_usual_functions"]

Node = dict[str, Any]

_ROLES = {"user": USER, "assistant": ROLES["assistant"], "system": ROLES["system"]}
_TEXTS = frozenset(("input_text", "output_text"))


# ---- reading --------------------------------------------------------------------------------------------------------


def read_usual(
    messages: Iterator[tuple[int, Any]], before: Any, items: list[Node], r: Reader
) -> tuple[int, Any] | None:
    """Read numbered messages to `items` while each holds a text, or plain blocks of text, calls and results.

    Gives the first that does not, None at the end. `before` is the role of the message in front of them.
    """
    add, note, trace, letters = items.append, r.trace.append, r.trace, r.letters
    letter = letters.append
    for number, wire in messages:
        mark, marked, lettered = len(items), len(trace), len(letters)
        try:
            role, content = wire["role"], wire["content"]
            said = _ROLES[role]
            if len(wire) != 2 or not content:
                return number, wire
            if type(content) is str:
                content, joined = (), False
                item: Node = {"type": "message", "role": role, "content": wire["content"]}
                add(item)
                note((item, wire))
                letter(said)
            else:
                joined = len(content) > 1
            gathering: list[Node] | None = None
            for block in content:
                kind = block["type"]
                if kind == "text":
                    if len(block) != 2 or type(block["text"]) is not str:
                        break
                    part = {"type": "output_text" if role == "assistant" else "input_text", "text": block["text"]}
                    note((part, block))
                    if gathering is not None:
                        gathering.append(part)
                        continue
                    gathering, source = [part], wire
                    item = {"type": "message", "role": role, "content": gathering}
                    letter(said)
                elif kind == "tool_use":
                    call_id, name, value = block["id"], block["name"], block["input"]
                    if len(block) != 4 or not (type(call_id) is type(name) is str) or type(value) is not dict:
                        break
                    if role != "assistant":
                        break
                    item = {"type": "function_call", "call_id": call_id, "name": name, "arguments": dump_text(value)}
                    gathering, source = None, block
                    letter(CALL)
                elif kind == "tool_result":
                    call_id, output, size = block["tool_use_id"], block["content"], len(block)
                    if type(output) is list:
                        output = _read_texts(output, trace)
                    if type(call_id) is not str or (type(output) is not str and type(output) is not list):
                        break
                    item = {"type": "function_call_output", "call_id": call_id, "output": output}
                    if size != 3:
                        if size != 4 or type(block["is_error"]) is not bool:
                            break
                        item["is_error"] = block["is_error"]
                    if role != "user":
                        break
                    gathering, source = None, block
                    letter(RESULT)
                else:
                    break
                if joined:
                    item["turn"] = number
                add(item)
                note((item, source))
            else:
                if joined and len(items) == mark + 1:
                    # Several texts are one item.
                    del item["turn"]
                if role == before:
                    r.form(items[mark], "opens", True)
                    r.plain = r.plain and role != "assistant"
                if role == "system" and not mark:
                    r.form(items[0], "place", "messages")
                before = role
                continue
        except (KeyError, TypeError):
            pass
        del items[mark:], trace[marked:], letters[lettered:]
        return number, wire
    return None


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


def write_usual(items: list[Node], arguments: list[Node | None], start: int, out: list[Any], w: Writer) -> int:
    """Write items from `start` on to messages while all that goes into one is a plain text, call or result.

    Gives the number of the first item of a message in which there is something else; their count at the end.
    `arguments` are those of the items, by number.
    """
    add = out.append
    opened = start
    role: Any = None
    turn: Any = None
    message: Node = {}
    found: Any = None
    blocks: list[Node] | None = None
    number = start - 1
    try:
        for item in items[start:] if start else items:
            number += 1
            kind, size = item["type"], len(item)
            if "turn" in item:
                size -= 1
            if "extra" in item:
                if not w.is_silent(item["extra"]):
                    break
                size -= 1
            if kind == "function_call":
                call_id, name, value = item["call_id"], item["name"], arguments[number]
                if size != 4 or value is None or not (type(call_id) is type(name) is str):
                    break
                its, found = "assistant", {"type": "tool_use", "id": call_id, "name": name, "input": value}
            elif kind == "function_call_output":
                call_id, output = item["call_id"], item["output"]
                if type(output) is list:
                    output = _write_texts(output)
                if type(call_id) is not str or (type(output) is not str and type(output) is not list):
                    break
                its, found = "user", {"type": "tool_result", "tool_use_id": call_id, "content": output}
                if size != 3:
                    if size != 4 or "is_error" not in item:
                        break
                    found["is_error"] = item["is_error"]
            elif kind != "message" or size != 3:
                break
            else:
                its, found = item["role"], item["content"]
                if type(found) is list:
                    found = _write_texts(found)
                if not found or (type(found) is not str and type(found) is not list) or its not in _ROLES:
                    break
                if its != role or (its == "system" and (turn is None or turn != item.get("turn"))):
                    message = {"role": its, "content": found}
                    add(message)
                    opened, role, turn, blocks = number, its, item.get("turn"), None
                    continue
                if type(found) is str:
                    found = {"type": "text", "text": found}
            if its != role:
                blocks = [found]
                add({"role": its, "content": blocks})
                opened, role = number, its
                continue
            if blocks is None:
                blocks = message["content"]
                if type(blocks) is str:
                    blocks = message["content"] = [{"type": "text", "text": blocks}]
            if type(found) is list:
                blocks += found
            else:
                blocks.append(found)
        else:
            return len(items)
    except (KeyError, TypeError):
        pass
    if opened > start or role is not None:
        out.pop()
    return opened


def write_usual_functions(tools: list[Node], w: Writer) -> list[Node] | None:
    """Functions of another protocol with a schema of an object, and nothing else; None where there is another tool."""
    out: list[Node] = []
    for tool in tools:
        schema, size = tool.get("parameters"), len(tool)
        if type(tool.get("name")) is not str or tool["type"] != "function" or type(schema) is not dict:
            return None
        if "type" not in schema or ("extra" in tool and not w.is_silent(tool["extra"])):
            return None
        wire: Node = {"name": tool["name"]}
        if tool.get("description") is not None:
            wire["description"] = tool["description"]
        wire["input_schema"] = schema
        if tool.get("strict") is not None:
            wire["strict"] = tool["strict"]
        if size != len(wire) + 1 + ("extra" in tool):
            return None
        out.append(wire)
    return out


def _write_texts(parts: list[Node]) -> list[Node] | None:
    """The blocks of parts that are plain texts, and say something: there is a law against empty ones."""
    out = []
    for part in parts:
        text = part.get("text")
        if len(part) != 2 or not text or type(text) is not str or part.get("type") not in _TEXTS:
            return None
        out.append({"type": "text", "text": text})
    return out or None
