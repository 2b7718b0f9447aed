"""Reasoning in Chat Completions: fields the protocol never specified and every server has.

`reasoning_content`, `reasoning` and `reasoning_text` hold text (two of them may hold the same text: the first is
believed, the others stay as they are); `reasoning_details` holds typed pieces, opaque ones among them. The canonical
item remembers the field it came from and goes back into it. What a client surface must carry for another provider
travels in `reasoning_details`, sealed.

https://openrouter.ai/docs/use-cases/reasoning-tokens
"""

from __future__ import annotations

from typing import Any

from unified_llm.mapping import Reader, Writer
from unified_llm.provenance import anchor_of, is_sealed, open_sealed, opaque_piece, seal, split_opaque

from .tables import REASONING_FIELDS

__all__ = ["read_reasoning", "write_reasoning"]

Node = dict[str, Any]

SEALED = "reasoning.encrypted"
FORMAT = "unified-llm-v1"


def read_reasoning(w: Node, wire: Node, r: Reader) -> list[Node]:
    """The reasoning items of a message: none, or one per text field, or those sealed for us."""
    details = w.get("reasoning_details")
    if type(details) is list:
        sealed = [d for d in details if type(d) is dict and is_sealed(d.get("data"))]
        if sealed:
            return _read_sealed(w, wire, details, sealed, r)
    for field in REASONING_FIELDS:
        if field in w:
            text = w.get(field)
            if type(text) is not str or not text:
                continue
            del w[field]
            item: Node = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": text}]}
            r.form(item, "field", field)
            r.made(item, wire)
            if type(details) is list and details:
                _read_details(w, item, r)
            return [item]
    if type(details) is list and details:
        item = {"type": "reasoning", "summary": []}
        r.form(item, "field", "reasoning_details")
        _read_details(w, item, r)
        return [r.made(item, wire)]
    return []


def _read_details(w: Node, item: Node, r: Reader) -> None:
    """Typed details stay one opaque list: they go back unmodified and in order, or not at all."""
    from unified_llm.jsonvalue import dump_text

    item["opaque"] = [opaque_piece("reasoning_details", dump_text(w.pop("reasoning_details")), r.protocol, r.model)]


def _read_sealed(w: Node, wire: Node, details: list[Any], sealed: list[Node], r: Reader) -> list[Node]:
    items = []
    for detail in sealed:
        item = open_sealed(detail["data"])
        if item is not None:
            items.append(r.made(item, wire))
    for field in REASONING_FIELDS:
        w.pop(field, None)
    others = [d for d in details if d not in sealed]
    w.pop("reasoning_details")
    if others:
        w["reasoning_details"] = others
    return items


def write_reasoning(item: Node, w: Writer) -> Node:
    """The fields of a reasoning item in its message; nothing (reported) where this target has no slot for it."""
    form = w.form(item, "field")
    field = form or w.dialect.get("reasoning_field") or ("reasoning_content" if w.facing == "client" else None)
    if field is None:
        w.drop(item, "the target has no slot for reasoning")
        return {}
    wire: Node = w.piece(lambda c, _: _write_fields(c, item, field, w), item)
    return wire


def _write_fields(c: Node, item: Node, field: str, w: Writer) -> Node:
    from unified_llm.jsonvalue import load_text

    wire: Node = {}
    own, foreign = split_opaque(c, item, w, ("protocol",))
    texts = [part["text"] for key in ("summary", "content") for part in item.get(key) or () if "text" in part]
    if texts and field != "reasoning_details":
        wire[field] = "\n\n".join(texts)
        c.pop("summary", None)
        c.pop("content", None)
    for piece in own:
        wire["reasoning_details"] = load_text(piece["data"])
    if foreign:
        if w.facing == "client":
            wire.setdefault("reasoning_details", []).append(
                {"type": SEALED, "data": seal(item, anchor_of(item)), "format": FORMAT}
            )
            for key in ("id", "status", "summary", "content"):
                c.pop(key, None)
            w.report(item, ("opaque",), "parked", "sealed for the way back")
        else:
            w.report(item, ("opaque",), "parked" if w.vault is not None else "lost", "foreign")
    return wire
