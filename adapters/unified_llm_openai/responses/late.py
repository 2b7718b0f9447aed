"""What is clear only when an item has ended: citations that come after their text, and that the answer was cut off."""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.writing import Writer
from unified_llm.streams.block_writer import LateCitations

from .complete import complete_text
from .content import foreign_citations
from .events import TERMINAL
from .response import status_of
from .stream_state import Place

__all__ = ["add_late", "is_cut_off"]

Node = dict[str, Any]


def add_late(
    done: dict[int, Node], places: dict[Any, Place | None], late: LateCitations, output: Any, w: Writer
) -> None:
    """Give the written items that are done what the whole output has beside them."""
    anew: set[int] = set()
    for more in late.beyond(output):
        place = places.get(more.at)
        if place is None:
            continue  # without a form here, as the end of the item reported
        wire = done.get(place.index, {})
        content, index = wire.get("content"), place.content_index(more.number)
        if more.number in place.left or type(content) is not list or not 0 <= index < len(content):
            more.report(w)
            continue
        part = content[index]
        if type(part) is not dict or part.get("type") != "output_text":
            more.report(w)
            continue
        w.context["text length"] = len(part.get("text") or "")
        # What the end of the item has was sent: it stays as it is.
        part = {**part, "annotations": [*(part.get("annotations") or ()), *w.nodes(foreign_citations, more.citations)]}
        if more.logprobs:
            part["logprobs"] = more.part["logprobs"]
        complete_text(part, w)
        if place.index not in anew:
            anew.add(place.index)
            content = [*content]
            done[place.index] = {**wire, "content": content}
        content[index] = part


def is_cut_off(held: Node, event: Node) -> bool:
    """Whether an answer breaks off in the message that ended last, by the event after that end."""
    response = event.get("response") or {}
    is_last = len(response.get("output") or ()) <= (held.get("output_index") or 0) + 1
    return is_last and event.get("type") in TERMINAL and status_of(response) == "incomplete"
