"""The contents that nearly every history of an agent is made of, read and written in one go.

A conversation is mostly texts, calls and results with nothing beside them but a signature, and this is where the time
of a long request goes. What is not exactly of these shapes is None here and goes to the pairs; what is, must come out
as the pairs would have it (`tests/test_google_generate_content_usual.py` converts everything with and without this
file).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any

from unified_llm.ids import is_made, made_among, made_id, seed_of
from unified_llm.jsonvalue import dump_text, load_objects
from unified_llm.provenance import is_own, is_sealed, opaque_piece
from unified_llm.reading import Reader
from unified_llm.writing import Writer

from .signature import KIND, SLOT

__all__ = ["LAID", "read_usual", "usual_of", "write_beside"]

Node = dict[str, Any]

LAID: dict[str, dict[tuple[Any, ...], tuple[Any, ...]]] = {
    "function_call": {("arguments",): ("functionCall", "args")},
    "function_call_output": {("name",): ("functionResponse", "name"), ("output",): ("functionResponse", "response")},
}
"""Where the leaves of the usual calls and results are in their parts."""
_MARKED = {"form": {"id": "absent"}}


# ---- reading --------------------------------------------------------------------------------------------------------


def read_usual(wire: Any, number: int, before: bool | None, r: Reader) -> list[Node] | None:
    """The items of a content of plain texts and calls, or of plain results; `before` is the side of the one before."""
    if type(wire) is not dict or len(wire) != 2:
        return None
    role, parts = wire.get("role"), wire.get("parts")
    if type(parts) is not list or not parts:
        return None
    model = role == "model"
    first = parts[0]
    if type(first) is not dict or not (model or role == "user"):
        return None
    if len(parts) == 1 and len(first) == 1 and "text" in first:
        text = first["text"]
        if type(text) is not str or not text:
            return None
        items: list[Node] | None = [{"type": "message", "role": "assistant" if model else "user", "content": text}]
        r.trace.append((items[0], wire))  # type: ignore[index]
    elif model:
        items = _read_model(parts, wire, number, r)
    elif "functionResponse" in first:
        items = _read_results(parts, number, r)
    else:
        return None
    if items is not None and (len(items) > 1 or model is before):
        for item in items:
            item["turn"] = number
    return items


def _read_model(parts: list[Any], wire: Node, number: int, r: Reader) -> list[Node] | None:
    items: list[Node] = []
    signed: list[tuple[Node, str]] = []
    traced: list[tuple[Node, Node]] = []
    stands: dict[int, tuple[Any, ...]] = {}
    calls: list[Node] = []
    text: list[Node] | None = None
    made = 0
    for index, part in enumerate(parts):
        if type(part) is not dict:
            return None
        signature: Any = None
        if len(part) > 1:
            signature = part.get(SLOT)
            if len(part) != 2 or type(signature) is not str or not signature or is_sealed(signature):
                return None
        call = part.get("functionCall")
        if type(call) is dict:
            call_id, name, args = call.get("id"), call.get("name"), call.get("args")
            if type(name) is not str or type(args) is not dict:
                return None
            if type(call_id) is str and call_id and len(call) == 3:
                node: Node = {"type": "function_call", "call_id": call_id, "name": name, "arguments": dump_text(args)}
            elif len(call) == 2:
                made += 1
                call_id = made_id("call", _seed(r), number, made)
                node = {"type": "function_call", "call_id": call_id, "name": name, "arguments": dump_text(args)}
                node["extra"] = {r.protocol: {"form": {"id": "absent"}}}
            else:
                return None
            text = None
            stands[id(node)] = ("contents", number, "parts", index)
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
    if calls:
        r.context.setdefault("open", []).extend(calls)
        r.stands.update(stands)
    r.trace += traced
    return items


def _read_results(parts: list[Any], number: int, r: Reader) -> list[Node] | None:
    waiting: list[Node] = (r.context.get("open") or []).copy()
    items: list[Node] = []
    made = 0
    for part in parts:
        answer = part.get("functionResponse") if type(part) is dict and len(part) == 1 else None
        if type(answer) is not dict:
            return None
        call_id, name, response = answer.get("id"), answer.get("name"), answer.get("response")
        if type(name) is not str or type(response) is not dict or len(response) != 1:
            return None
        output = response.get("output")
        if type(output) is not str:
            return None
        item: Node = {"type": "function_call_output", "call_id": call_id}
        if not (type(call_id) is str and call_id and len(answer) == 3):
            if len(answer) != 2:
                return None
            item["extra"] = {r.protocol: {"form": {"id": "absent"}}}
            call_id = next((call["call_id"] for call in waiting if call["name"] == name), None)
            if call_id is None:
                made += 1
                call_id = made_id("call", _seed(r), number, made)
            item["call_id"] = call_id
        item["output"] = output
        item["name"] = name
        for index, call in enumerate(waiting):
            if call["call_id"] == call_id:
                del waiting[index]
                break
        items.append(item)
    r.context["open"] = waiting
    r.trace += zip(items, parts)
    for index, item in enumerate(items):
        r.stands[id(item)] = ("contents", number, "parts", index)
    return items


def _seed(r: Reader) -> str:
    """What the ids that are made are made from."""
    if not r.seed and type(r.doc) is dict and type(r.doc.get("contents")) is list:
        r.seed = seed_of(r.doc["contents"][:1])
    return r.seed


# ---- writing --------------------------------------------------------------------------------------------------------


def usual_of(history: Iterable[Node], names: Node) -> tuple[Container[str], Iterator[Node | None]] | None:
    """What is found out once for a history: which ids are made up, and the arguments of its calls of functions.

    `names` are those of the calls by their ids. Arguments that are no object are None.
    """
    texts = [item.get("arguments") for item in history if item.get("type") == "function_call"]
    return made_among(names), iter(load_objects(texts))


def write_beside(item: Node, kind: Any, size: int, arguments: Node | None, parts: list[Node], w: Writer) -> bool:
    """Add to `parts` an item that has a signature or a form beside it, or a message in parts; False for others."""
    if kind == "message":
        return _write_message(item, size, parts, w)
    signature, marked, others = None, False, 0
    if "opaque" in item or "extra" in item:
        found = _beside(item, w)
        if found is None:
            return False
        signature, marked, others = found
    call_id, name = item.get("call_id"), item.get("name")
    if size - others != 4 or type(call_id) is not str or type(name) is not str:
        return False
    wire: Node = {} if marked or is_made(call_id) else {"id": call_id}
    wire["name"] = name
    if kind == "function_call":
        if arguments is None:
            return False
        wire["args"] = arguments
        part: Node = {"functionCall": wire}
    elif kind == "function_call_output" and type(item.get("output")) is str:
        wire["response"] = {"output": item["output"]}
        part = {"functionResponse": wire}
    else:
        return False
    if signature is not None:
        part[SLOT] = signature
    parts.append(part)
    return True


def _write_message(item: Node, size: int, parts: list[Node], w: Writer) -> bool:
    role, content = item.get("role"), item.get("content")
    if not (role == "assistant" or role == "user"):
        return False
    if size != 3 and (size != 4 or _beside(item, w) != (None, False, 1)):
        return False
    if type(content) is str:
        parts.append({"text": content})
        return bool(content)
    if type(content) is not list or not content:
        return False
    for part in content:
        text = part.get("text")
        if type(text) is not str or not text or part.get("type") not in _TEXTS:
            return False
        if len(part) == 2:
            parts.append({"text": text})
            continue
        proof = _signature(part.get("opaque"), w) if len(part) == 3 else None
        if proof is None:
            return False
        parts.append({"text": text, SLOT: proof})
    return True


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
