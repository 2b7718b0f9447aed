"""`thoughtSignature`: what proves a thought, an attribute of the very part it came on.

The provider's own signature is an opaque piece of the canonical item or part and goes back to the same place byte for
byte. What another provider signed its thoughts with never reaches this one; facing a client it travels in the same
slot, in an envelope on the next part of the turn, because clients echo signatures on real parts and drop thoughts.

https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated
from unified_llm.engine.pairs.origins import has_field, is_own
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.json_codec import dump_text
from unified_llm.provenance.opaque import anchor_of, is_constant, is_envelope, opaque_piece, open_sealed, seal

from ...constants import CONSTANTS

__all__ = [
    "KIND",
    "SLOT",
    "attach_sealed",
    "is_foreign",
    "park",
    "place_opened",
    "read_signature",
    "sealed_text",
    "write_signature",
]

Node = dict[str, Any]

KIND = "thought_signature"
SLOT = "thoughtSignature"


def read_signature(w: Node, node: Node, r: Reader, slot: str) -> None:
    """Pop the signature of a part into the canonical node it signs; `slot` is how the document spells it."""
    signature = w[SLOT]
    if type(signature) is not str or not signature:
        return
    del w[SLOT]
    if is_constant(signature, r):
        r.form(node, "signature", signature)
        return
    r.place(node, ("opaque",), (slot,))
    if not is_envelope(signature, r):
        node["opaque"] = [opaque_piece(KIND, signature, r)]
        return
    opened = open_sealed(signature, anchor_of(node), r) if r.context.get("model") else None
    if opened is None:
        # Damaged, or moved to another part: it has no origin and never reaches a provider.
        r.note(node, ("opaque",), "lost", "an envelope that does not open here")
        return
    if opened.get("opaque"):
        node["opaque"] = opened["opaque"]
    if r.secret is not None:
        # Reasoning that this surface does not show: a client may not add an item.
        r.context.setdefault("opened", []).extend(opened.get("items") or ())


def place_opened(opened: list[Node], out: list[Node], apart: bool) -> None:
    """Put the items of an envelope where they were; a thought that a client was shown of them is there already, whole.

    `apart` is for an envelope on a thought. None of ours is on one: a client that keeps signatures as thoughts took it
    off the text before it, or off the first piece of that, so the items stand before the text.
    """
    reasoning = [item for item in opened if item.get("type") == "reasoning"]
    place = len(out)
    if apart and reasoning and out and out[-1]["type"] == "message":
        place -= 1
        reasoning = [item for item in reasoning if item.get("summary") or item.get("content")]
    first = place - 1 if reasoning and place and out[place - 1]["type"] == "reasoning" else place
    out[first:place] = opened


def _own(piece: Any, w: Writer) -> bool:
    origin = piece.get("origin") if type(piece) is dict else None
    return type(origin) is dict and origin.get("protocol") is not None and is_own(piece, w)


def is_foreign(item: Node, w: Writer) -> bool:
    """Whether an item has opaque pieces that this provider did not make, or is one that a client returns to its own."""
    pieces = item.get("opaque")
    if type(pieces) is list and any(not _own(piece, w) for piece in pieces):
        return True
    return w.facing == "client" and item.get("type") == "reasoning" and has_field(item, w)


def write_signature(c: Node, wire: Node, w: Writer) -> None:
    """Give a part its signature back: its own, or an envelope of what others signed, where a client echoes it.

    Pops `opaque` of the node being written, or leaves its fate; what waits in the writer's context goes along.
    """
    waiting = w.context.pop("sealed", None)
    pieces = c.get("opaque")
    if type(pieces) is list and pieces:
        if len(pieces) == 1 and _own(pieces[0], w) and pieces[0].get("kind") == KIND and not waiting:
            wire[SLOT] = pieces[0]["data"]
            del c["opaque"]
            return
        if w.facing != "client":
            c["opaque"] = Fated("parked" if w.vault is not None else "lost", "foreign")
            if waiting:
                w.context["sealed"] = waiting
            return
        c["opaque"] = Fated("parked", "kept in an envelope")
    elif not waiting:
        constant = w.form(c, "signature")
        if type(constant) is str and constant in CONSTANTS:
            wire[SLOT] = constant
        return
    wire[SLOT] = seal({"items": waiting or [], "opaque": pieces or []}, _anchor(wire, w), w.secret)


def _anchor(wire: Node, w: Writer) -> str:
    """What identifies the part for the one who reads it back; in a stream text comes in pieces, and any will do."""
    call = wire.get("functionCall")
    if type(call) is dict and call.get("id"):
        if w.context.get("streaming"):
            return anchor_of({"call_id": call["id"]})
        return anchor_of({"call_id": call["id"], "arguments": dump_text(call.get("args") or {})})
    if "text" in wire and not w.context.get("streaming"):
        return anchor_of({"text": wire["text"]})
    return ""


def park(item: Node, w: Writer) -> None:
    """Withhold a whole item whose proof is another provider's: it waits for the next part, or is reported.

    A client is shown the text of a thought, so its proof alone is withheld from it.
    """
    if w.facing == "client":
        is_shown = item.get("type") == "reasoning" and bool(item.get("summary") or item.get("content"))
        if w.secret is None:
            # When it comes back it cannot be distinguished from a forged one.
            fate, why = "lost" if w.vault is None else "parked", "without a secret no client can return it"
            if not is_shown:
                w.drop(item, why, fate)
            w.report(item, ("opaque",), fate, why)
            return
        w.context.setdefault("sealed", []).append(item if item.get("opaque") else _with_forms(item))
        if not is_shown:
            w.drop(item, "kept in an envelope", "parked")
        if item.get("opaque"):
            w.report(item, ("opaque",), "parked", "kept in an envelope")
    else:
        w.drop(item, "foreign", "parked" if w.vault is not None else "lost")


def _with_forms(item: Node) -> Node:
    """Reasoning without opaque data, of which only the form matters to its provider: what stood beside it is lost."""
    extra = {key: {"form": drawer["form"]} for key, drawer in item["extra"].items() if "form" in drawer}
    return {**{key: value for key, value in item.items() if key != "turn"}, "extra": extra}


def sealed_text(w: Writer) -> Node | None:
    """An empty part for the envelope of what no later part could carry; None when nothing waits."""
    if not w.context.get("sealed"):
        return None
    wire: Node = {"text": ""}
    write_signature({}, wire, w)
    return wire


def attach_sealed(wire: Node, w: Writer) -> Node:
    """Put what waits on a part that has no signature of its own."""
    if w.context.get("sealed") and SLOT not in wire:
        write_signature({}, wire, w)
    return wire
