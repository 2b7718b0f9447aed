"""The signature of a tool call: `extra_content.google.thought_signature`, the slot that chat clients echo with a call.

A server's own signature is an opaque piece of the call and goes back byte for byte. What another provider signed
travels in the same slot, in an envelope, when we face a client, and never reaches a server.

https://ai.google.dev/gemini-api/docs/openai
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unified_llm.engine.pairs.mapping import take
from unified_llm.engine.pairs.origins import is_own
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.provenance.opaque import anchor_of, is_constant, is_envelope, opaque_piece, open_sealed, seal

from ..values.tables import CONSTANTS

__all__ = ["read_signature", "takes_opaque", "write_signature"]

Node = dict[str, Any]

_KIND = "thought_signature"


def read_signature(w: Node, item: Node, r: Reader) -> None:
    """Read a thought signature in `extra_content` into the opaque data of an item."""
    content = w["extra_content"]
    google = content.get("google") if type(content) is dict else None
    signature = google.get(_KIND) if type(google) is dict else None
    if type(signature) is not str or not signature:
        return
    take(take(w, "extra_content"), "google").pop(_KIND)
    if is_constant(signature, r):
        r.form(item, "signature", signature)
        return
    if is_envelope(signature, r):
        opened = open_sealed(signature, anchor_of(item), r)
        if opened is not None and opened.get("opaque"):
            item["opaque"] = opened["opaque"]
        else:
            r.note(item, ("opaque",), "lost", "the envelope is refused: damaged, moved, or not ours")
        return
    item["opaque"] = [opaque_piece(_KIND, signature, r)]
    for keys in (("opaque",), ("opaque", 0)):
        r.place(item, keys, ("extra_content", "google", _KIND))


def takes_opaque(pieces: Iterable[Node], w: Writer) -> bool:
    """Whether the server of the dialect has a slot for these pieces."""
    if not w.dialect or w.same or w.facing == "client":
        return True
    kinds = w.dialect.get("opaque", ())
    return all(piece.get("kind") in kinds for piece in pieces)


def write_signature(c: Node, wire: Node, w: Writer) -> None:
    """Pops the pieces that go into the slot; what stays in `c` is reported as lost by the engine.

    The call they belong to is in the writer's context, for the report.
    """
    if "opaque" not in c:
        if (constant := w.form(c, "signature")) in CONSTANTS:
            wire["extra_content"] = {"google": {_KIND: constant}}
        return
    bearer = w.context["bearer"]
    own: list[Node] = []
    foreign: list[Node] = []
    for piece in c["opaque"] or ():
        (own if is_own(piece, w) and takes_opaque((piece,), w) else foreign).append(piece)
    slot = None
    if own and not foreign and len(own) == 1 and own[0].get("kind") == _KIND:
        slot = own[0]["data"]
        del c["opaque"]
    elif foreign and w.facing == "client":
        slot = seal({"opaque": c.pop("opaque")}, anchor_of(bearer), w.secret)
        w.report(bearer, ("opaque",), "parked", "kept in an envelope")
    elif foreign:
        del c["opaque"]
        w.report(bearer, ("opaque",), "parked" if w.vault is not None else "lost", "foreign")
    if slot is not None:
        wire["extra_content"] = {"google": {_KIND: slot}}
