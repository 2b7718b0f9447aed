"""The contents that nearly every history of an agent is made of, read and written in one go.

A conversation is mostly texts, calls and results with nothing beside them but a signature, and this is where the time
of a long request goes. What is not exactly of these shapes is None here and goes to the pairs; what is, must come out
as the pairs would have it (`tests/test_google_generate_content_usual.py` converts everything with and without this
file).
"""

from __future__ import annotations

from typing import Any

from unified_llm.ids import is_made, made_id, seed_of
from unified_llm.jsonvalue import dump_text, load_text
from unified_llm.provenance import is_own, is_sealed, opaque_piece
from unified_llm.reading import Reader
from unified_llm.writing import Writer

from .signature import KIND, SLOT

__all__ = ["called", "read_usual", "write_usual"]

Node = dict[str, Any]

_CONTENT = {"role", "parts"}
_CALL = {"name", "args"}
_CALL_ID = {"id", "name", "args"}
_RESULT = {"name", "response"}
_RESULT_ID = {"id", "name", "response"}
_ARGS = ("functionCall", "args")
_NAME = ("functionResponse", "name")
_RESPONSE = ("functionResponse", "response")
_MARKED = {"form": {"id": "absent"}}


# ---- reading --------------------------------------------------------------------------------------------------------


def read_usual(wire: Any, number: int, before: bool | None, r: Reader) -> list[Node] | None:
    """The items of a content of plain texts and calls, or of plain results; `before` is the side of the one before."""
    if type(wire) is not dict or wire.keys() != _CONTENT:
        return None
    role, parts = wire["role"], wire["parts"]
    if type(parts) is not list or not parts:
        return None
    model = role == "model"
    if model is before or not (model or role == "user"):
        return None
    first = parts[0]
    if type(first) is not dict:
        return None
    if len(parts) == 1 and len(first) == 1:
        text = first.get("text")
        if type(text) is str and text:
            item = {"type": "message", "role": "assistant" if model else "user", "content": text}
            r.trace.append((item, wire))
            return [item]
    if model:
        return _read_model(parts, wire, number, r)
    return _read_results(parts, wire, number, r) if "functionResponse" in first else None


def _read_model(parts: list[Any], wire: Node, number: int, r: Reader) -> list[Node] | None:
    items: list[Node] = []
    signed: list[tuple[Node, str]] = []
    traced: list[tuple[Node, Node]] = []
    calls: list[Node] = []
    text: list[Node] | None = None
    made = 0
    for part in parts:
        if type(part) is not dict:
            return None
        signature: Any = None
        if len(part) > 1:
            signature = part.get(SLOT)
            if len(part) != 2 or type(signature) is not str or not signature or is_sealed(signature):
                return None
        call = part.get("functionCall")
        if type(call) is dict:
            name, args = call.get("name"), call.get("args")
            keys = call.keys()
            if type(name) is not str or type(args) is not dict:
                return None
            if keys == _CALL_ID:
                call_id = call["id"]
                if type(call_id) is not str or not call_id:
                    return None
                node: Node = {"type": "function_call", "call_id": call_id, "name": name, "arguments": dump_text(args)}
            elif keys == _CALL:
                made += 1
                call_id = made_id("call", _seed(r), number, made)
                arguments = dump_text(args)
                node = {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
                node["extra"] = {r.protocol: {"form": {"id": "absent"}}}
            else:
                return None
            text = None
            items.append(node)
            calls.append(node)
        else:
            said = part.get("text")
            if type(said) is not str or not said:
                return None
            node = {"type": "output_text", "text": said}
            if text is None:
                text = []
                item: Node = {"type": "message", "role": "assistant", "content": text}
                items.append(item)
                traced.append((item, wire))
            text.append(node)
        if signature is not None:
            signed.append((node, signature))
        traced.append((node, part))
    for node, signature in signed:
        node["opaque"] = [opaque_piece(KIND, signature, r)]
        r.places[id(node), "opaque"] = (SLOT,)
    for node in calls:
        r.places[id(node), "arguments"] = _ARGS
    if calls:
        r.context.setdefault("open", []).extend(calls)
    if len(items) > 1:
        for item in items:
            item["turn"] = number
    r.trace += traced
    r.turns.append((items[0], wire))
    return items


def _read_results(parts: list[Any], wire: Node, number: int, r: Reader) -> list[Node] | None:
    waiting: list[Node] = r.context.get("open") or []
    if waiting:
        waiting = waiting.copy()
    items: list[Node] = []
    made = 0
    item: Node
    for part in parts:
        answer = part.get("functionResponse") if type(part) is dict and len(part) == 1 else None
        if type(answer) is not dict:
            return None
        keys = answer.keys()
        name, response = answer.get("name"), answer.get("response")
        if type(name) is not str or type(response) is not dict or len(response) != 1:
            return None
        output = response.get("output")
        if type(output) is not str:
            return None
        if keys == _RESULT_ID:
            call_id = answer["id"]
            if type(call_id) is not str or not call_id:
                return None
            item = {"type": "function_call_output", "call_id": call_id, "output": output, "name": name}
        elif keys == _RESULT:
            item = {"type": "function_call_output", "call_id": "", "extra": {r.protocol: {"form": {"id": "absent"}}}}
            call_id = next((call["call_id"] for call in waiting if call["name"] == name), None)
            if call_id is None:
                made += 1
                call_id = made_id("call", _seed(r), number, made)
            item["call_id"] = call_id
            item["output"] = output
            item["name"] = name
        else:
            return None
        for index, call in enumerate(waiting):
            if call["call_id"] == call_id:
                del waiting[index]
                break
        items.append(item)
    r.context["open"] = waiting
    places, trace = r.places, r.trace
    several = len(items) > 1
    for item, part in zip(items, parts):
        here = id(item)
        places[here, "name"] = _NAME
        places[here, "output"] = _RESPONSE
        trace.append((item, part))
        if several:
            item["turn"] = number
    r.turns.append((items[0], wire))
    return items


def _seed(r: Reader) -> str:
    """What the ids that are made are made from."""
    if not r.seed and type(r.doc) is dict and type(r.doc.get("contents")) is list:
        r.seed = seed_of(r.doc["contents"][:1])
    return r.seed


# ---- writing --------------------------------------------------------------------------------------------------------


def write_usual(group: list[Node], out: Any, w: Writer) -> Node | None:
    """The content of plain texts and calls, or of plain results; `out` are the contents before it."""
    parts: list[Node] = []
    role = "model"
    names = w.context.get("names", {})
    unnamed = len(w.raw)
    for item in group:
        kind = item["type"]
        size = len(item) - 1 if "turn" in item else len(item)
        if size == 3 and kind == "function_call_output":
            # The bulk of it: nothing but the id and the text.
            call_id, output = item.get("call_id"), item.get("output")
            name = names.get(call_id) if type(call_id) is str else None
            if type(name) is not str or type(output) is not str:
                break
            role = "user"
            # Where it stands is known here, and need not be looked for.
            w.raw.append((out, (len(out), "parts", len(parts), "functionResponse", "name"), *_NAMED))
            answer = {"name": name, "response": {"output": output}}
            parts.append({"functionResponse": answer if is_made(call_id) else {"id": call_id, **answer}})
            continue
        if kind == "message":
            role = _message(item, size, parts, w)
            if role:
                continue
            break
        signature, marked = None, False
        if size > 4 or (size > 3 and "extra" in item):
            found = _beside(item, w)
            if found is None:
                break
            signature, marked, others = found
            size -= others
        call_id = item.get("call_id")
        if type(call_id) is not str:
            break
        wire: Node = {} if marked or is_made(call_id) else {"id": call_id}
        if kind == "function_call":
            name, arguments = item.get("name"), item.get("arguments")
            if size != 4 or type(name) is not str or type(arguments) is not str:
                break
            try:
                args = load_text(arguments)
            except ValueError:
                break
            if type(args) is not dict:
                break
            wire["name"] = name
            wire["args"] = args
            part: Node = {"functionCall": wire}
        elif kind == "function_call_output":
            role = "user"
            name, output = item.get("name"), item.get("output")
            if size != 4 or type(name) is not str or type(output) is not str:
                break
            wire["name"] = name
            wire["response"] = {"output": output}
            part = {"functionResponse": wire}
        else:
            break
        if signature is not None:
            part[SLOT] = signature
        parts.append(part)
    else:
        return {"role": role, "parts": parts}
    del w.raw[unnamed:]
    return None


def _message(item: Node, size: int, parts: list[Node], w: Writer) -> str:
    """Whose message it is, its parts added to `parts`; empty where it is not of the usual kind."""
    role = item.get("role")
    role = "model" if role == "assistant" else role if role == "user" else ""
    content = item.get("content")
    if size != 3 and (size != 4 or _beside(item, w) != (None, False, 1)):
        return ""
    if type(content) is str:
        parts.append({"text": content})
        return role if content else ""
    if type(content) is not list or not content:
        return ""
    for part in content:
        text = part.get("text")
        if type(text) is not str or not text or part.get("type") not in _TEXTS:
            return ""
        if len(part) == 2:
            parts.append({"text": text})
            continue
        proof = _signature(part.get("opaque"), w) if len(part) == 3 else None
        if proof is None:
            return ""
        parts.append({"text": text, SLOT: proof})
    return role


def _beside(item: Node, w: Writer) -> tuple[str | None, bool, int] | None:
    """The signature of an item, whether its id was made, and how many keys say so; None where there is more."""
    signature, marked, others = None, False, 0
    if "opaque" in item:
        signature = _signature(item["opaque"], w)
        if signature is None:
            return None
        others += 1
    if "extra" in item:
        extra = item["extra"]
        if type(extra) is not dict:
            return None
        for name, drawer in extra.items():
            if name == w.protocol:
                if drawer != _MARKED:
                    return None
                marked = True
            elif type(drawer) is not dict or len(drawer) != 1 or "form" not in drawer:
                return None
        others += 1
    return signature, marked, others


_TEXTS = frozenset(("input_text", "output_text", "text"))


_NAMED = ("added", "that of its call", "tools.function")


def called(wire: Node, w: Writer) -> None:
    """Tell that a result was given the name of its call."""
    w.report(wire, ("name",), *_NAMED)


def _signature(pieces: Any, w: Writer) -> str | None:
    """The one signature that is the provider's own; None for anything else."""
    if type(pieces) is not list or len(pieces) != 1:
        return None
    piece = pieces[0]
    if type(piece) is not dict or piece.get("kind") != KIND or type(piece.get("data")) is not str:
        return None
    origin = piece.get("origin")
    if type(origin) is not dict or origin.get("protocol") is None or not is_own(piece, w):
        return None
    data: str = piece["data"]
    return data
