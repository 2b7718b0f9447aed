"""The shapes that nearly every item of an agent's history has, read, and written for a provider, in one go.

A text, a call or a result with nothing beside it is on the wire what it is in the canonical model, from any source.
Each of the two loops goes on while it finds these shapes, and hands over the first item that has another, which goes to
the pairs. What is of these shapes must come out as the pairs would have it (`tests/test_openai_responses_usual.py`
converts everything with and without this file).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unified_llm.engine.pairs.outline import CALL, RESULT, ROLES, STATED, USER
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

__all__ = ["read_usual", "read_usual_functions", "write_usual", "write_usual_functions"]

Node = dict[str, Any]

# What a text of the model's holds beside it, mostly empty.
_LISTS = ("annotations", "logprobs")
_FUNCTION = {"type": (str,), "name": (str,), "description": (str, type(None)), "parameters": (dict,), "strict": (bool,)}


def read_usual(wires: Iterator[Any], items: list[Node], r: Reader) -> list[Any]:
    """Read to `items` while each is a plain text, call of a function, or result of one.

    Gives the first that is not, alone in a list; an empty one at the end.
    """
    begin = len(items)
    taken: list[Any] = []  # of the items from there on
    letters: list[str] = []
    add, note, letter = items.append, taken.append, letters.append
    told = r.outline
    called, names, answered, said = told.calls.append, told.names.append, told.results.append, told.texts.append
    trace = r.trace
    unusual, wire = True, None
    try:
        for wire in wires:
            size = len(wire)
            kind = wire["type"] if "type" in wire else None
            if kind == "function_call":
                call_id, name = wire["call_id"], wire["name"]
                if not (type(call_id) is type(name) is type(wire["arguments"]) is str):
                    break
                if size != 4:
                    if not _is_stated(wire, size - 4):
                        break
                    told.numbered = told.numbered or "id" in wire
                add(wire.copy())
                letter(CALL)
                called(call_id)
                names(name)
            elif kind == "function_call_output":
                call_id = wire["call_id"]
                if size != 3 or not (type(call_id) is type(wire["output"]) is str):
                    break
                add(wire.copy())
                letter(RESULT)
                answered(call_id)
            elif kind != "message" and (kind is not None or "type" in wire):
                break
            else:
                role, content = wire["role"], wire["content"]
                size -= kind is not None
                if type(role) is not str or (size != 2 and not _is_stated(wire, size - 2)):
                    break
                item = wire.copy() if kind is not None else {"type": "message", **wire, "extra": _untagged(r)}
                if type(content) is str:
                    said(content)
                else:
                    parts = _read_texts(content)
                    if parts is None:
                        break
                    item["content"] = parts
                    trace += zip(parts, content)
                    told.texts += [part["text"] for part in parts]
                if size != 2:
                    told.numbered = told.numbered or "id" in wire
                add(item)
                letter(ROLES.get(role, USER))
            note(wire)
        else:
            unusual = False
    except (KeyError, TypeError):
        pass
    r.ran(items, begin, taken, letters)
    return [wire] if unusual else []


def _is_stated(wire: Node, count: int) -> bool:
    """Whether so many of the keys of an item are those that name it, and what became of it."""
    found = [wire[key] for key in STATED if key in wire]
    return len(found) == count and list(map(type, found)) == [str] * count


def _read_texts(wires: Any) -> list[Node] | None:
    """Parts that are plain texts, with empty lists beside them at most: what repeats the model's output has those."""
    if type(wires) is not list or not wires:
        return None
    parts = []
    for wire in wires:
        kind, text, count = wire["type"], wire["text"], len(wire)
        if kind == "input_text":
            part = {"type": kind, "text": text}
        elif kind != "output_text":
            return None
        else:
            part = wire.copy()
            for key in _LISTS if count != 2 else ():
                if key in wire:
                    if wire[key] != []:
                        return None
                    part[key] = []
                    count -= 1
        if count != 2 or type(text) is not str:
            return None
        parts.append(part)
    return parts


def _untagged(r: Reader) -> Node:
    return {r.protocol: {"form": {"tag": "absent"}}}


def read_usual_functions(wires: list[Any], r: Reader) -> list[Node] | None:
    """Tools that are functions, and nothing beside what all functions have; None where one is not."""
    tools = []
    for wire in wires:
        if type(wire) is not dict or wire.get("type") != "function" or not wire.keys() <= _FUNCTION.keys():
            return None
        if len(wire) < 3 or any(type(value) not in _FUNCTION[key] for key, value in wire.items()):
            return None
        tools.append(wire.copy())
    r.trace += zip(tools, wires)
    return tools


def write_usual_functions(tools: list[Node], w: Writer) -> list[Node] | None:
    """What another protocol declared, where nothing else is kept with a function; None where something is.

    A function without `strict` would be made strict, and was not meant to be.
    """
    out: list[Node] = []
    for tool in tools:
        wire = {key: tool[key] for key in _FUNCTION if key in tool}
        size = len(wire) + ("extra" in tool and w.is_silent(tool["extra"]))
        if size != len(tool) or wire["type"] != "function" or "parameters" not in wire:
            return None
        out.append(wire)
    for wire in out:
        if wire.get("strict") is None:
            wire["strict"] = False
            w.added(wire, "strict", "written because the target's default differs")
    return out


def write_usual(items: Iterator[Node], out: list[Any], w: Writer) -> list[Node]:
    """Write to `out` while each is a plain text, call of a function, or result of one.

    Gives the first that is not, alone in a list; an empty one at the end.
    """
    add = out.append
    for item in items:
        kind, size = item.get("type"), len(item)
        if "turn" in item:
            size -= 1
        if "extra" in item:
            if not w.is_silent(item["extra"]):
                return [item]
            size -= 1
        if kind == "function_call":
            call_id, name, arguments = item.get("call_id"), item.get("name"), item.get("arguments")
            if size != 4 or not (type(call_id) is type(name) is type(arguments) is str):
                return [item]
            add({"type": kind, "call_id": call_id, "name": name, "arguments": arguments})
        elif kind == "function_call_output":
            call_id, output, name = item.get("call_id"), item.get("output"), item.get("name")
            if size != 3 + ("name" in item) or not (type(call_id) is type(output) is str):
                return [item]
            if size == 3:
                add({"type": kind, "call_id": call_id, "output": output})
            elif type(name) is str:
                add({"type": kind, "call_id": call_id, "name": name, "output": output})
            else:
                return [item]
        elif kind != "message" or size != 3:
            return [item]
        else:
            role, content = item.get("role"), item.get("content")
            if type(content) is list:
                content = _only_text(content) if role == "assistant" else _texts(content)
            if type(role) is not str or (type(content) is not str and type(content) is not list):
                return [item]
            add({"type": kind, "role": role, "content": content})
    return []


def _only_text(content: list[Node]) -> str | None:
    """A model's output in one plain part: a string, where it is repeated."""
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
