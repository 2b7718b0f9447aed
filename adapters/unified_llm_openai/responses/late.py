"""Citations of texts that ended before: the events of these are over, and the whole answer in the last event has them."""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.writing import Writer
from unified_llm.streams.block_writer import TOO_LATE, LateCitations

from .complete import complete_text
from .content import foreign_citations
from .stream_state import Place

__all__ = ["add_late"]

Node = dict[str, Any]


def add_late(
    done: dict[int, Node], places: dict[Any, Place | None], late: LateCitations, output: Any, w: Writer
) -> None:
    """Give the written items that are done the citations that the whole output has beside them."""
    for at, _, number, found in late.beyond(output):
        place = places.get(at)
        if place is None:
            continue  # without a form here, as the end of the item reported
        wire = done.get(place.index, {})
        index = place.content_index(number)
        content = wire.get("content")
        if number in place.left or type(content) is not list or not 0 <= index < len(content):
            content, index = [{}], 0
        part = content[index]
        if type(part) is not dict or part.get("type") != "output_text":
            for note in found:
                w.report(note, (), "lost", TOO_LATE)
            continue
        w.context["text length"] = len(part.get("text") or "")
        # What the end of the item has was sent: it stays as it is.
        part = {**part, "annotations": [*(part.get("annotations") or ()), *w.nodes(foreign_citations, found)]}
        complete_text(part, w)
        done[place.index] = {**wire, "content": [*content[:index], part, *content[index + 1 :]]}
