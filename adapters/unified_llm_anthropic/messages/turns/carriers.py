"""What another provider signed on a call or a text, and this wire has no slot for.

It travels towards a client in a redacted thinking block of its own, in an envelope, and finds its item again when
it comes back.
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.origins import is_own
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.provenance.opaque import anchor_of, anchors_of, is_envelope, is_reply, joined_parts, open_sealed, seal

from ..blocks import ordered

__all__ = ["CARRIER", "carried_by", "carrier_of", "join_carried"]

Node = dict[str, Any]

CARRIER = "unified_llm:carrier"


def carried_by(block: Node, r: Reader) -> Node | None:
    """The opaque data in a block's envelope that belongs to another item; None for any other block."""
    data = block.get("data")
    if type(data) is not str or not is_envelope(data, r):
        return None
    opened = open_sealed(data, None, r)
    if opened is None or opened.get("type") != CARRIER:
        return None
    return opened if type(opened.get("anchor")) is type(opened.get("bearer")) is str else None


def join_carried(items: list[Node], carried: list[Node], r: Reader) -> list[Node]:
    """Give opaque data that came apart back to the assistant's items; what finds none of them is returned."""
    waiting = {(each["anchor"], each["bearer"]): each for each in carried}
    left = dict(waiting)
    for item in items:
        if is_reply(item):
            continue
        keys = [(anchor, item.get("type")) for anchor in anchors_of(item)]
        key = next((key for key in keys if key in waiting), None)
        if key is None:
            continue
        each = waiting[key]
        for known in keys:
            left.pop(known, None)
        if each.get("opaque"):
            item["opaque"] = each["opaque"]
        if "content" in each:
            item["content"] = each["content"] if r.secret is not None else joined_parts(item, each["content"])
    return [*left.values()]


def carrier_of(item: Node, w: Writer, alone: bool = False) -> Node | None:
    """The block that carries what others signed on an item, None when there is nothing of that kind.

    Of an item that became no block (an empty text, which is refused) it carries the item itself.
    """
    signed = [*(item.get("opaque") or ())]
    content = item.get("content")
    parts = content if type(content) is list else []
    on_parts = [piece for part in parts for piece in part.get("opaque") or ()]
    if not any(not is_own(piece, w) for piece in signed + on_parts):
        return None
    if alone:
        _found(w, [item, *parts])
        bare = ordered({k: v for k, v in item.items() if k != "turn"})
        return {"type": "redacted_thinking", "data": seal(bare, "", w.secret)}
    anchor = anchor_of(item)
    node: Node = {"type": CARRIER, "bearer": item.get("type"), "anchor": anchor}
    if signed:
        node["opaque"] = signed
    if on_parts:
        node["content"] = content
        _found(w, [part for part in parts if part.get("opaque") and not part.get("text")])
    return {"type": "redacted_thinking", "data": seal(ordered(node), "", w.secret)}


def _found(w: Writer, bearers: list[Node]) -> None:
    """An empty text that is refused, and was left out, is not lost where its opaque data travels with it."""
    for at, (node, keys, fate, _, capability) in enumerate(w.raw):
        if fate == "lost" and not keys and node in bearers:
            w.raw[at] = (node, keys, "parked", "kept in an envelope", capability)
