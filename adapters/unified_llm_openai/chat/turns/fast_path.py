"""The shapes that nearly every message of an agent's history has, read and written in one go.

A conversation is mostly texts, calls and results with nothing beside them, and this is where the time of a long request
goes: each of the two loops takes messages, or items, as long as they are of these shapes, and hands over the first that
is not, which goes to the pairs. What is of these shapes must come out as the pairs would have it
(`tests/test_openai_chat_usual.py` converts everything with and without this file).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unified_llm.engine.pairs.outline import ASSISTANT, CALL, RESULT, ROLES, USER
from unified_llm.engine.pairs.plain_items import is_only_stated, plain_texts
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.record import REPEATED
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.text_wrappers import FAILURE

__all__ = ["is_models", "read_usual", "read_usual_functions", "write_usual", "write_usual_functions"]

Node = dict[str, Any]


_RESULTS = frozenset(("tool", "function"))
_SPOKEN = frozenset(("function_call", "custom_tool_call", "reasoning"))
_FUNCTION = ("name", "description", "parameters", "strict")
_FUNCTION_KEYS = frozenset(_FUNCTION)


# ---- reading --------------------------------------------------------------------------------------------------------


def is_models(item: Node) -> bool:
    """Whether an item came from a message of the model's: what follows in another one needs a turn to stay apart."""
    kind = item["type"]
    return kind in _SPOKEN or (kind == "message" and item.get("role") == "assistant")


def read_usual(
    messages: Iterator[tuple[int, Any]], items: list[Node], custom: set[str], r: Reader
) -> tuple[int, Any] | None:
    """Read numbered messages to `items` while each is a text, a text with calls, or a result.

    Gives the first that is none of these, None at the end. `custom` are the ids of calls of custom tools.
    """
    begin = len(items)
    wires: list[Any] = []  # of the items from there on
    letters: list[str] = []
    add, note, letter = items.append, wires.append, letters.append
    told = r.outline
    called, names, answered, said = told.calls.append, told.names.append, told.results.append, told.texts.append
    thoughts = "reasoning_tags" in r.dialect
    unusual: tuple[int, Any] | None = None
    spoke = is_models(items[-1]) if items else False  # whether the message before is the model's
    opened = -1  # where the items of a message begin that may have several
    try:
        for unusual in messages:
            number, wire = unusual
            role, content, size = wire["role"], wire["content"], len(wire)
            if size == 3:
                if role == "tool":
                    call_id = wire["tool_call_id"]
                    if not (type(content) is type(call_id) is str) or not call_id or call_id in custom:
                        break
                    if content.startswith(FAILURE[0]):
                        break
                    add({"type": "function_call_output", "call_id": call_id, "output": content})
                    note(wire)
                    letter(RESULT)
                    answered(call_id)
                    spoke = False
                    continue
                calls = wire["tool_calls"]
                if role != "assistant" or thoughts or type(calls) is not list or not calls:
                    break
                opened = len(items)
                joined = spoke or content is not None or len(calls) > 1
                if content is not None:
                    if type(content) is not str or not content:
                        break
                    add({"type": "message", "role": role, "content": content, "turn": number})
                    note(wire)
                    letter(ASSISTANT)
                    said(content)
                for call in calls:
                    function, call_id = call["function"], call["id"]
                    name, arguments = function["name"], function["arguments"]
                    if (
                        len(call) != 3
                        or len(function) != 2
                        or call["type"] != "function"
                        or not (type(call_id) is type(name) is type(arguments) is str)
                        or not call_id
                        or not arguments
                    ):
                        break
                    item: Node = {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
                    if joined:
                        item["turn"] = number
                    add(item)
                    note(call)
                    letter(CALL)
                    called(call_id)
                    names(name)
                else:
                    if spoke:
                        r.plain = False
                    spoke, opened = True, -1
                    continue
                break
            if size != 2 or not (type(content) is type(role) is str) or role in _RESULTS:
                break
            item = {"type": "message", "role": role, "content": content}
            if role != "assistant":
                spoke = False
            elif thoughts or not content:
                break
            elif spoke:
                item["turn"] = number
                r.plain = False
            else:
                spoke = True
            add(item)
            note(wire)
            letter(ROLES.get(role, USER))
            said(content)
        else:
            unusual = None
    except (KeyError, TypeError):
        pass
    if opened >= 0:
        del items[opened:]
    r.ran(items, begin, wires, letters)
    if CALL in letters:
        r.context["calls"] = r.context.get("calls", 0) + letters.count(CALL)
    return unusual


def read_usual_functions(wires: list[Any], r: Reader) -> list[Node] | None:
    """Tools that are functions, and nothing beside what all functions have; None where one is not."""
    tools = []
    for wire in wires:
        function = wire.get("function") if type(wire) is dict and len(wire) == 2 else None
        if type(function) is not dict or wire.get("type") != "function" or not function.keys() <= _FUNCTION_KEYS:
            return None
        tools.append({"type": "function", **function})
    r.trace += zip(tools, wires)
    return tools


# ---- writing --------------------------------------------------------------------------------------------------------


def write_usual(items: list[Node], start: int, out: list[Node], w: Writer) -> int:
    """Write items from `start` on to messages while all that goes into one is a plain text, call or result.

    Gives the number of the first item of a message in which there is something else; their count at the end.
    """
    # The pairs handle dialects.
    dialect = () if w.same else w.dialect
    named_results, named_roles = "result_names" in dialect, "roles" in dialect
    foreign, plain = w.crosses, w.plain
    add = out.append
    opened, turn, mark = -1, None, 0  # the assistant's message that is open: where it begins
    calls: list[Node] | None = None
    repeating: list[Node] = []  # results that repeat the name of their call
    number = start - 1
    try:
        for number in range(start, len(items)):
            item = items[number]
            kind, size, its = item["type"], len(item), None
            if "turn" in item:
                its, size = item["turn"], size - 1
            if kind == "function_call":
                name, arguments, call_id = item["name"], item["arguments"], item["call_id"]
                joins = opened >= 0 and its == turn
                silent = size == 5 and not joins and _says_no_content(item, w)
                if dialect or not (type(call_id) is type(name) is type(arguments) is str):
                    break
                told = len(w.raw)
                if size != 4 and not silent:
                    size -= "extra" in item and w.is_silent(item["extra"])
                    if size != 4 and not is_only_stated(item, size - 4, w):
                        break
                call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
                if joins:
                    if calls is None:
                        calls = out[-1]["tool_calls"] = []
                    calls.append(call)
                    continue
                opened, turn, calls, mark = number, its, [call], told
                if silent:
                    add({"role": "assistant", "tool_calls": calls})
                else:
                    add({"role": "assistant", "content": None, "tool_calls": calls})
            elif kind == "function_call_output":
                call_id, output = item["call_id"], item["output"]
                if named_results or not (type(call_id) is type(output) is str):
                    break
                if size != 3:
                    if size != 4 or not foreign or not call_id or "name" not in item:
                        break
                    if not plain and w.called().get(call_id) != item["name"]:
                        break
                    repeating.append(item)
                add({"role": "tool", "tool_call_id": call_id, "content": output})
                opened = -1
            elif kind != "message":
                break
            else:
                role, content = item["role"], item["content"]
                if type(content) is list and not dialect:
                    content = _write_texts(content, role == "assistant", w)
                elif type(content) is not str or (named_roles and role != "assistant"):
                    break
                if content is None or type(role) is not str:
                    break
                if role == "assistant" and (
                    dialect or not content or (opened >= 0 and its is not None and its == turn)
                ):
                    break
                told = len(w.raw)
                if size != 3:
                    size -= "extra" in item and w.is_silent(item["extra"])
                    if size != 3 and not is_only_stated(item, size - 3, w):
                        break
                add({"role": role, "content": content})
                opened, turn, calls, mark = (number, its, None, told) if role == "assistant" else (-1, None, None, told)
        else:
            return len(items)
    except KeyError:
        pass
    finally:
        if repeating:
            w.alike.setdefault(REPEATED, []).extend(repeating)
    if opened < 0:
        return number
    out.pop()
    del w.raw[mark:]
    return opened


def write_usual_functions(tools: list[Node], w: Writer) -> list[Node] | None:
    """The same functions on the wire, where nothing else is kept with one; None where something is."""
    if w.dialect and not w.same:
        return None
    out: list[Node] = []
    for tool in tools:
        function = {key: tool[key] for key in _FUNCTION if key in tool}
        if len(tool) != len(function) + 1 and not (len(tool) == len(function) + 2 and w.is_silent(tool.get("extra"))):
            return None
        if tool["type"] != "function" or None in function.values():
            return None
        out.append({"type": "function", "function": function})
    return out


def _write_texts(parts: list[Node], alone: bool, w: Writer) -> Any:
    """The parts of plain texts that are not empty; with `alone`, one text as it is."""
    texts = plain_texts(parts, w)
    if alone and texts and len(texts) == 1:
        return texts[0]
    return texts and [{"type": "text", "text": text} for text in texts]


def _says_no_content(item: Node, w: Writer) -> bool:
    """Whether an item carries but the marker that its message came without content."""
    return item.get("extra") == {w.protocol: {"form": {"content": "absent"}}}
