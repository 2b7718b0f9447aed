"""The annotations of a written choice, which go out with its end: those of texts that were done before among them."""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.writing import Writer
from unified_llm.streams.block_writer import LateCitations

from .content import citations

__all__ = ["Annotations"]

Node = dict[str, Any]


class Annotations:
    """Those of the messages that are done, and where the text of each begins."""

    def __init__(self) -> None:
        self.found: list[Any] = []
        self.late = LateCitations()
        self.offsets: dict[int, int] = {}

    def done(self, place: int, item: Node) -> None:
        """Count what an item cites when it is done."""
        self.late.done(place, item)

    def add(self, place: int, written: list[Any] | None, offset: int) -> None:
        """Take those of a message whose text begins at `offset`."""
        self.found += written or ()
        self.offsets[place] = offset

    def all(self, output: list[Node], w: Writer) -> list[Any]:
        """They, and those that only the whole output has."""
        for at, item, number, found in self.late.beyond(output):
            if at in self.offsets:
                *before, part = item["content"][: number + 1]
                said = sum(len(each.get("text") or "") for each in before if each.get("type") == "output_text")
                w.context.update({"offset": self.offsets[at] + said, "text length": len(part.get("text") or "")})
                self.found += w.nodes(citations, found)
                del w.context["offset"]
        return self.found
