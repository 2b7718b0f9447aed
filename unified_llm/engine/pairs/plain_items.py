"""What the fast paths of the adapters look at alike: texts with nothing beside them, and what names an item.

A message, or a call, that a model's API gave has an id, a status or a phase, and empty lists beside its text. Most
protocols have a place for none of these: the item is as plain as one without them, and they are reported.
"""

from __future__ import annotations

from typing import Any

from .outline import STATED
from .writing import Writer

__all__ = ["is_only_stated", "plain_texts"]

Node = dict[str, Any]

_TEXTS = frozenset(("input_text", "output_text", "text"))
_EMPTY = ("annotations", "logprobs")


def is_only_stated(item: Node, count: int, w: Writer) -> bool:
    """Whether `count` keys of an item are what names it, of which nothing is written: then that is reported."""
    found = [key for key in STATED if key in item]
    if len(found) != count:
        return False
    for key in found:
        w.leftover(item, key)
    return True


def plain_texts(parts: list[Any], w: Writer) -> list[str] | None:
    """The texts of parts that are nothing else, and not empty; None where one is more than a text."""
    texts = []
    for part in parts:
        text, size = part.get("text"), len(part)
        if size != 2 and w.crosses:
            for key in _EMPTY:
                size -= key in part and part[key] == []
        if size != 2 or not text or type(text) is not str or part.get("type") not in _TEXTS:
            return None
        texts.append(text)
    return texts or None
