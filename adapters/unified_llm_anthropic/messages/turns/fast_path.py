"""The shapes that nearly every message of an agent's history has, read and written in one go.

A conversation is mostly texts, calls and results with nothing beside them, and this is where the time of a long request
goes: each of the two loops goes on while it finds these shapes, and hands over the first message that has another,
which goes to the pairs. What is of these shapes must come out as the pairs would have it
(`tests/test_anthropic_messages_usual.py` converts everything with and without this file).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from unified_llm.engine.pairs.outline import CALL, RESULT, ROLES, USER
from unified_llm.engine.pairs.plain_items import is_only_stated, plain_texts
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.json_codec import dump_text

__all__ = ["read_usual", "write_usual"]

Node = dict[str, Any]
Pairs = Callable[[Node, Writer], list[Any]]

_ROLES = {"user": USER, "assistant": ROLES["assistant"], "system": ROLES["system"]}


# ---- reading --------------------------------------------------------------------------------------------------------


def read_usual(
    messages: Iterator[tuple[int, Any]], before: Any, items: list[Node], r: Reader
) -> tuple[int, Any] | None:
    """Read numbered messages to `items` while each holds a text, or plain blocks of text, calls and results.

    Gives the first that does not, None at the end. `before` is the role of the message in front of them.
    """
    begin = len(items)
    wires: list[Any] = []  # of the items from there on
    letters: list[str] = []
    add, note, letter, trace = items.append, wires.append, letters.append, r.trace
    told = r.outline
    called, names, answered, texts = told.calls.append, told.names.append, told.results.append, told.texts
    unusual: tuple[int, Any] | None = None
    opened = marked = 0
    try:
        for unusual in messages:
            number, wire = unusual
            opened, marked = len(items), len(trace)
            role, content = wire["role"], wire["content"]
            said = _ROLES[role]
            if len(wire) != 2 or not content:
                break
            if type(content) is str:
                add({"type": "message", "role": role, "content": content})
                note(wire)
                letter(said)
                texts.append(content)
                content = ()
            joined = len(content) > 1
            gathering: list[Node] | None = None
            for block in content:
                kind = block["type"]
                if kind == "tool_result" and role == "user":
                    call_id, output = block["tool_use_id"], block["content"]
                    if type(output) is list:
                        output = _read_texts(output, trace, texts)
                    if type(call_id) is not str or (type(output) is not str and type(output) is not list):
                        break
                    item: Node = {"type": "function_call_output", "call_id": call_id, "output": output}
                    if len(block) != 3:
                        if len(block) != 4 or type(block["is_error"]) is not bool:
                            break
                        item["is_error"] = block["is_error"]
                    note(block)
                    letter(RESULT)
                    answered(call_id)
                    gathering = None
                elif kind == "tool_use" and role == "assistant":
                    call_id, name, value = block["id"], block["name"], block["input"]
                    if len(block) != 4 or not (type(call_id) is type(name) is str) or type(value) is not dict:
                        break
                    item = {"type": "function_call", "call_id": call_id, "name": name, "arguments": dump_text(value)}
                    note(block)
                    letter(CALL)
                    called(call_id)
                    names(name)
                    gathering = None
                elif kind != "text" or len(block) != 2 or type(block["text"]) is not str:
                    break
                else:
                    part = {"type": "output_text" if role == "assistant" else "input_text", "text": block["text"]}
                    trace.append((part, block))
                    texts.append(block["text"])
                    if gathering is not None:
                        gathering.append(part)
                        continue
                    gathering = [part]
                    item = {"type": "message", "role": role, "content": gathering}
                    note(wire)
                    letter(said)
                if joined:
                    item["turn"] = number
                add(item)
            else:
                if joined and len(items) == opened + 1:
                    # Several texts are one item.
                    del item["turn"]
                if role == before:
                    r.form(items[opened], "opens", True)
                    r.plain = r.plain and role != "assistant"
                if role == "system" and not opened:
                    r.form(items[0], "place", "messages")
                before = role
                continue
            break
        else:
            opened, marked, unusual = len(items), len(trace), None
    except (KeyError, TypeError):
        pass
    del items[opened:], trace[marked:]
    r.ran(items, begin, wires, letters)
    return unusual


def _read_texts(blocks: list[Any], trace: list[tuple[Node, Node]], texts: list[str]) -> list[Node] | None:
    parts = []
    for block in blocks:
        if type(block) is not dict or len(block) != 2 or block.get("type") != "text":
            return None
        part = {"type": "input_text", "text": block.get("text")}
        if type(part["text"]) is not str:
            return None
        parts.append(part)
        texts.append(part["text"])
        trace.append((part, block))
    return parts


# ---- writing --------------------------------------------------------------------------------------------------------


def write_usual(
    items: list[Node], arguments: list[Node | None], start: int, out: list[Any], w: Writer, pairs: Pairs | None = None
) -> int:
    """Write items from `start` on to messages while all that goes into one is a plain text, call or result.

    Gives the number of the first item of a message in which there is something else; their count at the end.
    `arguments` are those of the items, by number. `pairs` gives the blocks of reasoning, mostly none: that of another
    provider is not sent.
    """
    add = out.append
    opened, role, turn = start, None, None  # the message that is open: where it begins, whose it is
    blocks: list[Node] | None = None  # its content; None where that is a text so far
    parted = False  # whether reasoning that is not sent stands in front of it: then its content is blocks
    found: Any = None
    number, mark = start - 1, len(w.raw)
    try:
        for number in range(start, len(items)):
            item = items[number]
            kind, size = item["type"], len(item)
            if kind == "function_call_output":
                call_id, output = item["call_id"], item["output"]
                if type(output) is list:
                    output = _write_texts(output, w)
                if type(call_id) is not str or (type(output) is not str and type(output) is not list):
                    break
                told = len(w.raw)
                its, found = "user", {"type": "tool_result", "tool_use_id": call_id, "content": output}
                if size != 3:
                    if "is_error" in item:
                        found["is_error"] = item["is_error"]
                    beside = _bare(item, w) - len(found)
                    if beside and (beside != 1 or "name" not in item):
                        break
                    if beside:
                        w.leftover(item, "name")
            elif kind == "function_call":
                call_id, name, value = item["call_id"], item["name"], arguments[number]
                if value is None or not (type(call_id) is type(name) is str):
                    break
                told = len(w.raw)
                if size != 4 and (size != 5 or "turn" not in item) and not is_only_stated(item, _bare(item, w) - 4, w):
                    break
                its, found = "assistant", {"type": "tool_use", "id": call_id, "name": name, "input": value}
            elif kind == "reasoning" and pairs is not None:
                if "extra" in item and not w.is_silent(item["extra"]):
                    break
                told, written = len(w.raw), pairs(item, w)
                if role == "assistant":
                    blocks = _opened(out[-1]) if blocks is None else blocks
                    blocks += written
                elif written:
                    blocks, role = [*written], "assistant"
                    add({"role": role, "content": blocks})
                    opened, mark, parted = (opened, mark, False) if parted else (number, told, False)
                elif not parted:
                    opened, role, mark, parted = number, None, told, True
                continue
            elif kind != "message":
                break
            else:
                its, content = item["role"], item["content"]
                if type(content) is list:
                    content = _write_texts(content, w)
                if not content or (type(content) is not str and type(content) is not list) or its not in _ROLES:
                    break
                told = len(w.raw)
                if size != 3 and not is_only_stated(item, _bare(item, w) - 3, w):
                    break
                if its != role or (its == "system" and (turn is None or turn != item.get("turn"))):
                    add({"role": its, "content": content})
                    role, turn, blocks = its, item.get("turn"), None
                    if parted and its == "assistant":
                        blocks = _opened(out[-1])
                    else:
                        opened, mark = number, told
                    parted = False
                    continue
                if blocks is None:
                    blocks = _opened(out[-1])
                blocks += content if type(content) is list else [{"type": "text", "text": content}]
                continue
            if its != role:
                blocks = [found]
                add({"role": its, "content": blocks})
                opened, mark = (opened, mark) if parted and its == "assistant" else (number, told)
                role, parted = its, False
            elif blocks is None:
                blocks = _opened(out[-1])
                blocks.append(found)
            else:
                blocks.append(found)
        else:
            return len(items)
    except (KeyError, TypeError):
        pass
    if role is not None:
        out.pop()
    del w.raw[mark:]
    return opened


def _bare(item: Node, w: Writer) -> int:
    """How many keys an item has beside its turn and the data kept with it without information."""
    return len(item) - ("turn" in item) - ("extra" in item and w.is_silent(item["extra"]))


def _opened(message: Node) -> list[Node]:
    """The blocks of a message to which more is to be added."""
    if type(message["content"]) is str:
        message["content"] = [{"type": "text", "text": message["content"]}]
    blocks: list[Node] = message["content"]
    return blocks


def _write_texts(parts: list[Node], w: Writer) -> list[Node] | None:
    """The blocks of parts that are plain texts and not empty: there is a law against empty ones."""
    texts = plain_texts(parts, w)
    return [{"type": "text", "text": text} for text in texts] if texts else None
