"""A block of a stream that is read: what came of it, where each piece came from, and how pieces are joined."""

from __future__ import annotations

import base64
import binascii
from typing import Any, NamedTuple

from unified_llm.foundation.json_codec import load_text

__all__ = ["Apart", "Block", "Ended", "below", "joined", "value_of"]

Node = dict[str, Any]


class Block:
    """A block that is open: what it is, where it stands, and what came of it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.wire: Node = {}  # from its start
        self.text: list[str] = []
        self.rest: list[Any] = []  # citations, results, sources
        self.groups: list[int] = []  # how many citations each block behind this one had
        self.sources: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self.at = 0
        self.part: int | None = None


class Ended(NamedTuple):
    """A text block that has ended: its last frame, as one that is kept and as the end of its part."""

    block: Block
    frame: dict[str, Any]
    done: dict[str, Any]


class Apart(NamedTuple):
    """A block of which only citations came so far: the events of these, without a place, and where it began."""

    number: int
    events: list[dict[str, Any]]
    source: tuple[Any, ...]


def below(block: Block, wire: Node) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Where the pieces of a block that was put together came from."""
    sources = block.sources
    found: dict[tuple[Any, ...], tuple[Any, ...]] = {(): sources[()]}
    if "text" in wire:
        found["text",] = sources.get(("text",), sources[()])
    elif "toolResult" in wire:
        found["toolResult",] = sources[()]
        for number in range(len(block.rest)):
            found["toolResult", "content", number] = sources["delta", number]
    elif "image" in wire:
        found["image",] = sources[()]
        for number, each in enumerate(block.rest):
            found |= {("image", key): (*sources["delta", number], key) for key in each}
    elif "toolUse" in wire:
        found["toolUse",] = sources[()]
        found["toolUse", "input"] = sources.get(("input",), sources[()])
    for key in ("text", "signature", "redactedContent"):
        if "reasoningContent" in wire and (key,) in sources:
            inner = ("reasoningContent",) if key == "redactedContent" else ("reasoningContent", "reasoningText")
            found[*inner, key] = sources[(key,)]
    return found


def value_of(text: str) -> Any:
    """Return the JSON value of arguments; an empty object where they are not JSON."""
    try:
        return load_text(text) if text else {}
    except ValueError:
        return {}


def joined(before: Any, piece: str) -> str:
    """Two pieces of bytes in base64 as one."""
    if type(before) is not str:
        return piece
    try:
        both = base64.b64decode(before, validate=True) + base64.b64decode(piece, validate=True)
    except (binascii.Error, ValueError):
        return before + piece
    return base64.b64encode(both).decode()
