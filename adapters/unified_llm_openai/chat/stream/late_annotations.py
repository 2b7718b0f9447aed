"""The annotations of a written choice, which go out with its end: those of texts that were done before among them."""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.writing import Writer
from unified_llm.streams.block_writer import LateCitations

from ..parts.content import citations

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
        at, number, said = -1, 0, 0  # how much text of an item stands before a part
        for late in self.late.beyond(output):
            if late.at in self.offsets:
                late.report_logprobs(w)
                if late.at != at:
                    at, number, said = late.at, 0, 0
                between = late.item["content"][number : late.number]
                said += sum(len(each.get("text") or "") for each in between if each.get("type") == "output_text")
                number = late.number
                length = len(late.part.get("text") or "")
                w.context.update({"offset": self.offsets[late.at] + said, "text length": length})
                self.found += w.nodes(citations, late.citations)
                del w.context["offset"]
        return self.found
