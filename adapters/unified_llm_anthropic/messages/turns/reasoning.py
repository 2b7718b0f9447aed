"""Thinking, redacted thinking and compaction: blocks that only their maker may see again, unchanged and in place.

`signature` proves a thinking block, `data` is one in cipher. A provider gets back what it signed itself and nothing
else: unsigned thinking is refused by the API, foreign thinking fails the check. A client gets everything: what another
provider made travels in an envelope in `signature`, the slot every client of this surface echoes.

https://docs.claude.com/en/docs/build-with-claude/extended-thinking
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.provenance.opaque import anchor_of, is_envelope, opaque_piece, open_sealed, restore, seal, split_opaque

from ..blocks import blocks, ordered
from ..parts.content import move_cache_in, move_cache_out, own_born

__all__ = ["REFUSED", "sealed_signature", "thinking_text"]

Node = dict[str, Any]

REFUSED = "the envelope is refused: damaged, moved, or not ours"
_PARKED = Fated("parked", "kept in an envelope")


def thinking_text(item: Node) -> str:
    """The readable text of a reasoning item, as in a thinking block."""
    texts = [part.get("text") for key in ("summary", "content") for part in item.get(key) or ()]
    return "\n\n".join(text for text in texts if type(text) is str and text)


def sealed_signature(item: Node, text: str, w: Writer) -> str:
    """The envelope that carries a reasoning item of another provider in a signature."""
    bare = {key: value for key, value in item.items() if key != "turn"}
    return seal(ordered(bare), anchor_of({"text": text}), w.secret)


@blocks.read("thinking")
def read_thinking(w: Node, r: Reader) -> Node:
    text, signature = w["thinking"], w.get("signature")
    if type(text) is not str:
        raise IllTyped("thinking")
    del w["thinking"]
    content = [{"type": "reasoning_text", "text": text}] if text else []
    item: Node = {"type": "reasoning", "summary": [], "content": content}
    if is_envelope(signature, r):
        restored = restore(w.pop("signature"), item, anchor_of({"text": text}), r)
        if restored is None:
            r.note(item, ("opaque",), "lost", REFUSED)
        return restored or item
    if type(signature) is str and signature:
        item["opaque"] = [opaque_piece("signature", w.pop("signature"), r)]
        r.place(item, ("opaque",), ("signature",))
    elif signature == "" and "signature" in w:
        r.form(item, "signature", w.pop("signature"))
    elif "signature" not in w:
        r.form(item, "signature", "absent")
    return item


@blocks.read("redacted_thinking")
def read_redacted(w: Node, r: Reader) -> Node:
    item: Node = {"type": "reasoning", "summary": []}
    data = w["data"]
    if type(data) is not str:
        raise IllTyped("data")
    if is_envelope(data, r):
        del w["data"]
        opened = open_sealed(data, None, r) if r.secret is not None else None
        if opened is not None and opened.get("type") == "message":
            return opened  # a message of the model's that no block shows
        restored = restore(data, item, None, r)
        if restored is None:
            r.note(item, ("opaque",), "lost", REFUSED)
        return restored or item
    item["opaque"] = [opaque_piece("redacted", w.pop("data"), r)]
    r.place(item, ("opaque",), ("data",))
    return item


@blocks.write("reasoning")
def write_reasoning(c: Node, w: Writer) -> Node | None:
    item = {"type": "reasoning", **c}
    own, foreign = split_opaque(c, w)
    by_kind = {piece.get("kind"): piece["data"] for piece in own}
    form = w.form(c, "signature")
    if "redacted" in by_kind and len(own) == 1 and not foreign:
        c.pop("summary", None)
        c.pop("content", None) if not c.get("content") else None
        return {"type": "redacted_thinking", "data": by_kind["redacted"]}
    text = thinking_text(item)
    if by_kind.keys() == {"signature"} and not foreign:
        return _thinking(c, text, by_kind["signature"])
    if form is not None and not own and not foreign:
        return _thinking(c, text, None if form == "absent" else form)
    if w.facing == "client":
        wire = _thinking(c, text, sealed_signature(item, text, w))
        if item.get("summary") and w.secret is None and w.vault is None:
            c["summary"] = Fated("approximated", "sent as thinking")
        if own or foreign:
            c["opaque"] = _PARKED
        _park(c)
        return wire
    if foreign or own:
        # Never half of it: without its proof a thinking block is refused.
        c["opaque"] = own + foreign
    return None


def _park(c: Node) -> None:
    """Report what else an item in an envelope holds as kept with it."""
    for key, value in c.items():
        if key not in ("extra", "turn", "cache") and type(value) is not Fated and value not in (None, []):
            c[key] = _PARKED
    if "extra" in c:
        c["extra"] = {}


def _thinking(c: Node, text: str, signature: str | None) -> Node:
    wire: Node = {"type": "thinking", "thinking": text}
    if signature is not None:
        wire["signature"] = signature
    parts = [*(c.get("summary") or ()), *(c.get("content") or ())]
    for key in ("summary", "content"):
        c.pop(key, None)
    if len([part for part in parts if part.get("text")]) > 1:
        c["content"] = Fated("approximated", "joined to one text")
    return wire


# ---- compaction -----------------------------------------------------------------------------------------------------

_PIECES = ("encrypted_content", "signature")


@blocks.read("compaction")
def read_compaction(w: Node, r: Reader) -> Node:
    sealed = w.get("encrypted_content")
    item: Node = {"type": "compaction"}
    if is_envelope(sealed, r):
        restored = restore(w.pop("encrypted_content"), item, None, r)
        if restored is None:
            r.note(item, ("opaque",), "lost", REFUSED)
        elif r.secret is not None:
            for key in ("content", "signature", "tool_changes"):
                w.pop(key, None)
            return restored
        else:
            item = restored
    if "content" in w:
        content = w["content"]
        if content is not None and type(content) is not str:
            raise IllTyped("content")
        item["content"] = w.pop("content")
    pieces = [opaque_piece(key, w.pop(key), r) for key in _PIECES if type(w.get(key)) is str]
    if pieces and "opaque" not in item:
        item["opaque"] = pieces
        for index, piece in enumerate(pieces):
            r.place(item, ("opaque", index), (piece["kind"],))
    if type(w.get("tool_changes")) is list:
        item["tool_changes"] = r.nodes(blocks, w.pop("tool_changes"))
    elif w.get("tool_changes", 0) is None:
        item["tool_changes"] = w.pop("tool_changes")
    return move_cache_in(w, item, r)


@blocks.write("compaction")
def write_compaction(c: Node, w: Writer) -> Node | None:
    item = {"type": "compaction", **c}
    own, foreign = split_opaque(c, w)
    if foreign and w.facing == "provider":
        c["opaque"] = own + foreign
        return None
    wire: Node = {"type": "compaction"}
    if type(c.get("content")) is list:
        wire["content"] = "\n\n".join(part["text"] for part in c["content"] if type(part.get("text")) is str)
        c["content"] = Fated("approximated", "joined to one text")
    elif "content" in c:
        wire["content"] = c.pop("content")
    elif not own_born(w):
        wire["content"] = None
    for piece in own:
        if piece.get("kind") in _PIECES:
            wire[piece["kind"]] = piece["data"]
        else:
            c["opaque"] = [piece]
    if foreign:
        tool_changes = c.pop("tool_changes", None)
        wire["encrypted_content"] = seal(ordered({k: v for k, v in item.items() if k != "turn"}), "", w.secret)
        c["opaque"] = _PARKED
        _park(c)
        if tool_changes is not None:
            c["tool_changes"] = tool_changes
    if type(c.get("tool_changes")) is list:
        wire["tool_changes"] = w.nodes(blocks, c.pop("tool_changes"))
    elif "tool_changes" in c:
        wire["tool_changes"] = c.pop("tool_changes")
    return move_cache_out(c, wire, w)
