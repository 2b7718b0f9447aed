"""Opaque pieces of an item: one slot on the wire, pieces with an origin in the canonical form."""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated
from unified_llm.engine.pairs.origins import is_own
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.provenance.opaque import opaque_piece

__all__ = ["is_foreign_piece", "read_opaque", "write_opaque"]

Node = dict[str, Any]


def read_opaque(w: Node, slot: str, item: Node, r: Reader) -> None:
    """Take the piece of a slot; null and empty are forms."""
    if slot not in w:
        return
    if w[slot] == "" and item["type"] == "reasoning":
        # Servers without state write none (llama.cpp).
        del w[slot]
        r.form(item, slot, "empty")
    elif type(w[slot]) is str:
        item["opaque"] = [opaque_piece(slot, w.pop(slot), r)]
        r.place(item, ("opaque",), (slot,))
    elif w[slot] is None:
        del w[slot]
        r.form(item, slot, "null")


def is_foreign_piece(piece: Any, w: Writer) -> bool:
    """Whether an opaque piece was made elsewhere, so that it must not go to the provider we write for."""
    return not is_own(piece, w)


def write_opaque(c: Node, slot: str, wire: Node, w: Writer) -> None:
    """Fill a slot with the provider's own piece, or with the envelope of another's."""
    pieces = c.get("opaque")
    if not pieces:
        c.pop("opaque", None)
        form = w.form(c, slot)
        if "sealed" in w.context or form == "null":
            wire[slot] = w.context.get("sealed")
        elif form == "empty":
            wire[slot] = ""
        return
    own = [piece for piece in pieces if not is_foreign_piece(piece, w) and piece.get("kind") == slot]
    if own:
        wire[slot] = own[0].get("data")
        left = [piece for piece in pieces if piece is not own[0]]
        if left:
            c["opaque"] = left
        else:
            del c["opaque"]
    elif "sealed" in w.context:
        wire[slot] = w.context["sealed"]
        c["opaque"] = Fated("parked", "kept in an envelope")
