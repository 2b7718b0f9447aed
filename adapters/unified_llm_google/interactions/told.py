"""Parts without a content of their own here, sent as text."""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated
from unified_llm.engine.pairs.writing import Writer

__all__ = ["as_text", "tell_document"]

Node = dict[str, Any]


def as_text(c: Node, key: str, how: str) -> Node:
    """The text under `key`, as a content."""
    wire = {"type": "text", "text": c[key] or ""}
    c[key] = c["type"] = Fated("approximated", how)
    return wire


def tell_document(c: Node, w: Writer) -> Node | None:
    """A document in parts, of which the texts can be sent here."""
    inner = c["content"]
    if type(inner) is str:
        return as_text(c, "content", "sent as text")
    told = [part for part in inner or () if type(part.get("text")) is str]
    for part in inner or ():
        if not any(part is each for each in told):
            w.drop(part, "a document is sent as text")
    if not told:
        return None
    c["content"] = c["type"] = Fated("approximated", "sent as text")
    return {"type": "text", "text": "\n".join([w.piece(_text_of, part) for part in told])}


def _text_of(c: Node, w: Writer) -> str:
    text: str = c.pop("text")
    return text
