"""Reasoning that a client sends more than once: put back once.

Some clients copy the signature of one part to every call beside it. A provider's own signature may stand on each of
them; an envelope would put the same reasoning back before each, and no conversation has an item twice: a provider
refuses the second as a duplicate.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from .untrusted_envelopes import TURN

if TYPE_CHECKING:
    from ..engine.pairs.reading import Reader

__all__ = ["without_copies"]

Node = dict[str, Any]
Mark = tuple[Any, ...]


def without_copies(items: list[Node], reader: Reader) -> list[Node]:
    """`items` without reasoning that stands before in them, of what envelopes held more than once.

    Without a secret anybody may have made the envelope: what the client shows stays, without the opaque data.
    """
    held = (each for node in reader.unsealed for each in (node, *_inside(node)))
    again = {mark for mark, number in Counter(map(_mark, held)).items() if mark and number > 1}
    if not again:
        return items
    out: list[Node] = []
    seen: set[Mark] = set()
    waiting: Node | None = None
    for item in items:
        mark = _mark(item)
        if mark in again and mark in seen:
            reader.note(item, ("opaque",), "approximated", "a copy; sent once")
            if reader.secret is not None:
                waiting = waiting or item
                continue
            item.pop("opaque", None)
        seen.add(mark)
        if waiting is not None:
            _hand_on(waiting, item, reader)
            waiting = None
        out.append(item)
    return out


def _inside(node: Node) -> list[Node]:
    """The items of an envelope that holds some beside what is its own."""
    found = node.get("items")
    return [item for item in found if type(item) is dict] if type(found) is list else []


def _mark(item: Node) -> Mark:
    """What reasoning is known by: its opaque data, or the id that stands for it; empty for all other items.

    Not that of a complete answer, whose data is the same in all (`answer_envelope.py`).
    """
    if item.get("type") != "reasoning":
        return ()
    pieces = item.get("opaque")
    data = tuple(piece["data"] for piece in pieces if type(piece.get("data")) is str) if pieces else ()
    if TURN in data:
        return ()
    return data or ((None, item["id"]) if type(item.get("id")) is str else ())


def _hand_on(left: Node, item: Node, reader: Reader) -> None:
    """Give what a message had beside its items to the next of them."""
    drawer = (left.get("extra") or {}).get(reader.protocol) or {}
    if "turn" in drawer and "turn" in left and item.get("turn") == left["turn"]:
        reader.extra(item).setdefault("turn", drawer["turn"])
        reader.turns += [(item, wire) for first, wire in reader.turns if first is left]
