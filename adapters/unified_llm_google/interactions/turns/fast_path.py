"""The steps that nearly every timeline is made of, read and written in one go.

A conversation of an agent is mostly texts, thoughts with their signature, calls and results with nothing beside them,
and this is where the time of a long request goes. What is not exactly of these shapes is None here and goes to the
pairs; what is, must come out as the pairs would have it (`tests/test_google_interactions_usual.py` converts everything
with and without this file).
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.origins import is_own
from unified_llm.engine.pairs.outline import CALL, RESULT, ROLES, USER
from unified_llm.engine.pairs.plain_items import is_only_stated, plain_texts
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.json_codec import dump_text
from unified_llm.provenance.opaque import is_constant, is_envelope, opaque_piece

from ...constants import PLACEHOLDER
from .step_fields import KIND

__all__ = ["UNASKED", "UNSIGNED", "is_history", "is_signed", "read_usual", "write_usual", "write_usual_functions"]

Node = dict[str, Any]

# The role of a step, and the type of its texts.
_SPEAKERS = {"user_input": ("user", "input_text"), "model_output": ("assistant", "output_text")}
_STEPS = {"user": "user_input", "assistant": "model_output"}
UNSIGNED: Node = {"type": "thought", "signature": PLACEHOLDER}
"""The thought that goes before a call without a signature."""
UNASKED = ("placeholder; unsigned calls are rejected", "reasoning.signature")
"""Its detail."""
# What is noted of a call before which it stood.
_MARKED = {"form": {"unsigned": True}}
# Where the name of a result is in its step.
_LAID: dict[str, dict[tuple[Any, ...], tuple[Any, ...]]] = {"function_call_output": {("name",): ("name",)}}
_FUNCTION = {"type", "name", "description", "parameters"}


# ---- reading --------------------------------------------------------------------------------------------------------


def is_history(wires: list[Any], r: Reader) -> bool:
    """Whether these steps are the input: of the document, or of a stream's event."""
    return (type(r.doc) is dict and r.doc.get("input") is wires) or r.context.get("input") is wires


def read_usual(wires: list[Any], start: int, items: list[Node], r: Reader) -> int:
    """Read steps from `start` on to `items` while each is a plain text, thought, call or result.

    Gives the number of the first that is none; their count at the end.
    """
    begin = len(items)
    taken: list[Any] = []  # of the items from there on
    letters: list[str] = []
    add, note, letter, told = items.append, taken.append, letters.append, r.outline
    called, named, answered = told.calls.append, told.names.append, told.results.append
    names: dict[str, str] = r.context.setdefault("names", {})
    r.laid = _LAID
    # Where they stand is known of steps in their own place alone.
    known = type(r.doc) is dict and r.doc.get("input") is wires
    short = known or is_history(wires, r)
    # What is kept with an item is not changed once it is read, so one of each is enough.
    marked, as_json = {r.protocol: {"form": {"unsigned": True}}}, {r.protocol: {"form": {"result": "json"}}}
    number = start - 1
    unsigned = False
    try:
        for number in range(start, len(wires)):
            wire = wires[number]
            kind, size = wire["type"], len(wire)
            if kind == "function_call":
                call_id, name, arguments = wire["id"], wire["name"], wire["arguments"]
                if size != 4 or not (type(call_id) is type(name) is str) or type(arguments) is not dict:
                    break
                item: Node = {"type": kind, "call_id": call_id, "name": name, "arguments": dump_text(arguments)}
                names[call_id] = name
                if unsigned:
                    item["extra"] = marked
                    unsigned = False
                letter(CALL)
                called(call_id)
                named(name)
            elif kind == "function_result":
                call_id, output, name = wire["call_id"], wire["result"], wire.get("name")
                item = {"type": "function_call_output", "call_id": call_id}
                if size == 4:
                    if type(name) is not str:
                        break
                    item["name"] = name
                elif size != 3:
                    break
                if type(output) is dict:
                    item["extra"] = as_json
                    output = dump_text(output)
                if not (type(call_id) is type(output) is str):
                    break
                item["output"] = output
                letter(RESULT)
                answered(call_id)
                if size == 4:
                    if known:
                        r.stands[id(item)] = ("input", number)
                    r.plain = r.plain and names.get(call_id) == name
            elif kind in _SPEAKERS:
                role, type_ = _SPEAKERS[kind]
                content = wire["content"]
                if size != 2 or type(content) is not list or not content:
                    break
                said = content[0]
                if short and len(content) == 1 and len(said) == 2 and said["type"] == "text" and said["text"]:
                    # The one text of a message, in its short form.
                    parts = said["text"]
                    if type(parts) is not str:
                        break
                    told.texts.append(parts)
                else:
                    parts = _read_texts(content, type_, r)
                    if parts is None:
                        break
                item = {"type": "message", "role": role, "content": parts}
                letter(ROLES.get(role, USER))
            elif kind == "thought" and wire == UNSIGNED and wires[number + 1]["type"] == "function_call":
                # It only marks the call as unsigned: made for the call, it goes with it.
                unsigned = True
                continue
            elif kind == "thought":
                signature = wire["signature"]
                if size != 2 or type(signature) is not str or not signature or is_envelope(signature, r):
                    break
                if is_constant(signature, r):
                    break
                item = {"type": "reasoning", "summary": [], "opaque": [opaque_piece(KIND, signature, r)]}
                r.place(item, ("opaque",), ("signature",))
                r.plain = False
            else:
                break
            add(item)
            note(wire)
        else:
            number = len(wires)
    except (AttributeError, IndexError, KeyError, TypeError):
        pass
    r.ran(items, begin, taken, letters)
    return number - unsigned


def _read_texts(contents: list[Any], type_: str, r: Reader) -> list[Node] | None:
    parts: list[Node] = []
    for content in contents:
        if type(content) is not dict or len(content) != 2 or content.get("type") != "text":
            return None
        text = content.get("text")
        if type(text) is not str:
            return None
        parts.append({"type": type_, "text": text})
        r.outline.texts.append(text)
    r.trace += zip(parts, contents)
    return parts


# ---- writing --------------------------------------------------------------------------------------------------------


def write_usual(
    items: list[Node], start: int, values: list[Node | None], out: list[Any], unsigned: bool, w: Writer
) -> int:
    """Write items from `start` on to `out` while each is a plain text, call or result, or a thought the target signed.

    Gives the number of the first that is none of these; their count at the end. `values` are the arguments of calls
    that come back from their object as they are; `unsigned` calls that open a turn of the model's are preceded by a
    thought that marks it.
    """
    add = out.append
    signed = is_signed(out, w)
    told: list[tuple[Any, ...]] = []
    number = start - 1
    try:
        for number in range(start, len(items)):
            item = items[number]
            kind, size = item["type"], len(item)
            if "turn" in item:
                size -= 1
            if "extra" in item:
                if not w.is_silent(item["extra"], _MARKED):
                    break
                size -= 1
            if kind == "function_call_output":
                call_id, output = item["call_id"], item["output"]
                if type(output) is not str:
                    break
                if size == 3:
                    add({"type": "function_result", "call_id": call_id, "result": output})
                elif size == 4:
                    add({"type": "function_result", "call_id": call_id, "name": item["name"], "result": output})
                else:
                    break
                signed = False
            elif kind == "function_call":
                call_id, name, value = item["call_id"], item["name"], values[number]
                if value is None or not (type(call_id) is type(name) is str):
                    break
                if size != 4 and not is_only_stated(item, size - 4, w):
                    break
                if "extra" in item and w.protocol in item["extra"]:
                    add(UNSIGNED.copy())
                    signed = True
                elif unsigned and not signed:
                    told.append((len(out),))
                    add(UNSIGNED.copy())
                    signed = True
                add({"type": "function_call", "id": call_id, "name": name, "arguments": value})
            elif kind == "message":
                role, content = item["role"], item["content"]
                if not (role == "user" or role == "assistant"):
                    break
                content = [{"type": "text", "text": content}] if type(content) is str else _write_texts(content, w)
                if content is None or (size != 3 and not is_only_stated(item, size - 3, w)):
                    break
                add({"type": _STEPS[role], "content": content})
                signed = signed and role == "assistant"
            elif kind == "reasoning":
                piece = _own_signature(item, size, w)
                if piece is None:
                    break
                add({"type": "thought", "signature": piece["data"]})
                signed = signed or bool(piece["data"])
            else:
                break
        else:
            number += 1
    except KeyError:
        pass
    if told:
        w.filled.append((out, told, ("signature",), *UNASKED))
    return number


def is_signed(out: list[Any], w: Writer) -> bool:
    """Whether the model's turn that is being written has a signed step already.

    What was found before is kept, since this is called repeatedly while `out` grows.
    """
    steps, known, signed = w.context.get("signed steps", (None, 0, False))
    if steps is not out or known > len(out):
        known, signed = 0, False
    for place in range(len(out) - 1, known - 1, -1):
        wire = out[place]
        if type(wire) is not dict:
            continue
        if wire.get("type") in ("user_input", "function_result"):
            signed = False
            break
        if wire.get("signature"):
            signed = True
            break
    w.context["signed steps"] = out, len(out), signed
    return bool(signed)


def _own_signature(item: Node, size: int, w: Writer) -> Node | None:
    """The one piece of a thought that is nothing but signed by the target."""
    pieces = item.get("opaque")
    if size != 3 or item.get("summary") != [] or type(pieces) is not list or len(pieces) != 1:
        return None
    piece: Node = pieces[0]
    return piece if piece.get("kind") == KIND and is_own(piece, w) else None


def _write_texts(parts: Any, w: Writer) -> list[Node] | None:
    texts = plain_texts(parts, w) if type(parts) is list else None
    if texts is None:
        return None
    # An empty list of citations has its place here.
    return [
        {"type": "text", "text": text, **({"annotations": []} if "annotations" in part else {})}
        for text, part in zip(texts, parts)
    ]


def write_usual_functions(tools: list[Node], w: Writer) -> list[Node] | None:
    """The tools, where all are functions with a description and a schema, and nothing beside them but `strict`."""
    declared, strict = [], []
    for tool in tools:
        wire = tool.copy()
        if type(tool.get("strict")) is bool:
            del wire["strict"]
            strict.append(tool)
        if wire.keys() != _FUNCTION or tool["type"] != "function" or tool["description"] is None:
            return None
        declared.append(wire)
    if strict:
        w.alike.setdefault((("strict",), "lost", ""), []).extend(strict)
    return declared
