"""The steps that nearly every timeline is made of, read and written in one go.

A conversation of an agent is mostly texts, thoughts with their signature, calls and results with nothing beside them,
and this is where the time of a long request goes. What is not exactly of these shapes is None here and goes to the
pairs; what is, must come out as the pairs would have it (`tests/test_google_interactions_usual.py` converts everything
with and without this file).
"""

from __future__ import annotations

from typing import Any

from unified_llm.jsonvalue import dump_text
from unified_llm.provenance import is_own, is_sealed, opaque_piece
from unified_llm.reading import Reader
from unified_llm.writing import Writer

from .shared import KIND, as_object

__all__ = ["read_usual", "write_usual"]

Node = dict[str, Any]

# Who speaks in a step, and what a text of theirs is.
_SPEAKERS = {"user_input": ("user", "input_text"), "model_output": ("assistant", "output_text")}
_STEPS = {"user": "user_input", "assistant": "model_output"}
# What `timeline.py` notes of a call before which a thought says that nobody signed it.
_UNSIGNED = {"form": {"unsigned": True}}
_TEXTS = ("input_text", "output_text", "text")


# ---- reading --------------------------------------------------------------------------------------------------------


def read_usual(wire: Node, kind: Any, r: Reader) -> Node | None:
    """The item of a plain text, thought, call or result."""
    if kind == "function_call":
        item = _read_call(wire)
    elif kind == "function_result":
        item = _read_result(wire, r)
    elif kind == "thought":
        item = _read_thought(wire, r)
    elif kind == "user_input" or kind == "model_output":
        return _read_texts(wire, kind, r)
    else:
        return None
    if item is not None:
        r.trace.append((item, wire))
    return item


def _read_call(wire: Node) -> Node | None:
    call_id, name, arguments = wire.get("id"), wire.get("name"), wire.get("arguments")
    if len(wire) != 4 or type(call_id) is not str or type(name) is not str or type(arguments) is not dict:
        return None
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": dump_text(arguments)}


def _read_result(wire: Node, r: Reader) -> Node | None:
    call_id, result = wire.get("call_id"), wire.get("result")
    if type(call_id) is not str:
        return None
    item: Node = {"type": "function_call_output", "call_id": call_id}
    if len(wire) == 4:
        if type(wire.get("name")) is not str:
            return None
        item["name"] = wire["name"]
    elif len(wire) != 3:
        return None
    if type(result) is str:
        item["output"] = result
    elif type(result) is dict:
        item["output"] = dump_text(result)
        item["extra"] = {r.protocol: {"form": {"result": "json"}}}
    else:
        return None
    return item


def _read_thought(wire: Node, r: Reader) -> Node | None:
    signature = wire.get("signature")
    if len(wire) != 2 or type(signature) is not str or not signature or is_sealed(signature):
        return None
    item = {"type": "reasoning", "summary": [], "opaque": [opaque_piece(KIND, signature, r)]}
    r.place(item, ("opaque",), ("signature",))
    return item


def _read_texts(wire: Node, kind: str, r: Reader) -> Node | None:
    contents = wire.get("content")
    if len(wire) != 2 or type(contents) is not list or not contents:
        return None
    role, type_ = _SPEAKERS[kind]
    parts: list[Node] = []
    for content in contents:
        if type(content) is not dict or len(content) != 2 or content.get("type") != "text":
            return None
        text = content.get("text")
        if type(text) is not str:
            return None
        parts.append({"type": type_, "text": text})
    item = {"type": "message", "role": role, "content": parts}
    r.trace += zip(parts, contents)
    r.trace.append((item, wire))
    return item


# ---- writing --------------------------------------------------------------------------------------------------------


def write_usual(item: Node, kind: Any, w: Writer) -> Node | None:
    """The step of a plain text, call or result, or of a thought that the target signed."""
    size = len(item)
    if "turn" in item:
        size -= 1
    if "extra" in item:
        if not _says_nothing(item["extra"], w):
            return None
        size -= 1
    if kind == "message":
        return _write_texts(item, size)
    if kind == "function_call":
        call_id, name = item.get("call_id"), item.get("name")
        if size != 4 or type(call_id) is not str or type(name) is not str:
            return None
        value, exact = as_object(item.get("arguments"))
        return {"type": "function_call", "id": call_id, "name": name, "arguments": value} if exact else None
    if kind == "function_call_output":
        if type(item.get("output")) is not str or "call_id" not in item:
            return None
        wire = {"type": "function_result", "call_id": item["call_id"]}
        if size == 4 and "name" in item:
            wire["name"] = item["name"]
        elif size != 3:
            return None
        wire["result"] = item["output"]
        return wire
    if kind == "reasoning":
        pieces = item.get("opaque")
        if size != 3 or item.get("summary") != [] or type(pieces) is not list or len(pieces) != 1:
            return None
        piece = pieces[0]
        if piece.get("kind") != KIND or not is_own(piece, w):
            return None
        return {"type": "thought", "signature": piece["data"]}
    return None


def _says_nothing(extra: Any, w: Writer) -> bool:
    """Whether what protocols kept with a node is but the forms that others had."""
    if w.protocol in extra and extra[w.protocol] != _UNSIGNED:
        return False
    for drawer in extra.values():
        if "rest" in drawer or "turn" in drawer:
            return False
    return True


def _write_texts(item: Node, size: int) -> Node | None:
    kind, content = _STEPS.get(item.get("role", "")), item.get("content")
    if size != 3 or kind is None:
        return None
    if type(content) is str:
        return {"type": kind, "content": [{"type": "text", "text": content}]}
    if type(content) is not list:
        return None
    out = []
    for part in content:
        if len(part) != 2 or "text" not in part or part.get("type") not in _TEXTS:
            return None
        out.append({"type": "text", "text": part["text"]})
    return {"type": kind, "content": out}
