"""What is clear only when an item has ended: late citations, texts without anything in them, an answer cut off."""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.writing import Writer
from unified_llm.streams.block_writer import LateCitations

from ..parts import foreign_citations
from ..response.complete import complete_item, complete_text
from ..response.document import status_of
from ..turns.history import is_only_signed
from ..turns.images import PICTURE_ITEMS
from .events import TERMINAL
from .stream_state import Place

__all__ = ["PART_ADDED", "EmptyTexts", "add_late", "draws", "is_cut_off", "rest_of"]

Node = dict[str, Any]

PART_ADDED = "response.content_part.added"
"""The only event that an empty text begins with."""


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


def draws(event: Node, kind: str) -> bool:
    """Whether an event is one of an image in a message, or the end of an item: neither begins a message."""
    if kind in ("response.content_part.added", "response.content_part.done"):
        return bool(event["part"].get("type") == "output_image")
    return kind == "response.output_item.done"


def rest_of(place: Place, written: list[Node], done: dict[int, Node], w: Writer) -> tuple[Node | None, list[Node]]:
    """What is to be sent of a message with images at its end: the message that is open, and the items behind it.

    The messages that ended before get what only the end of the whole has, in the whole response (`done`).
    """
    messages = [wire for wire in written if wire["type"] == "message"]
    pictures = [wire for wire in written if wire["type"] in PICTURE_ITEMS]
    others = [wire for wire in written if wire["type"] not in ("message", *PICTURE_ITEMS)]
    content = [part for wire in messages for part in wire["content"]]
    begins = 0
    for index, number in place.messages:
        parts, begins = content[begins : begins + number], begins + number
        if parts != done[index]["content"]:
            done[index] = complete_item({**done[index], "content": parts}, w)
    wire = None
    if place.is_open or len(messages) > len(place.messages):
        wire = {**(messages[-1] if messages else place.opening), "content": content[begins:]}
    return wire, [*pictures[place.drawn :], *others]


class EmptyTexts:
    """The beginning of a text behind another one, held until it is clear whether there is anything in it.

    One that is empty, and there for another provider's opaque data alone, is left out.
    """

    def __init__(self, w: Writer) -> None:
        self.w = w
        self.held: list[Node] = []

    def takes(self, event: Node, kind: str, places: dict[Any, Place | None]) -> bool:
        """Whether an event is held, or left out with those that are."""
        place = places.get(event.get("output_index", 0))
        if place is None:
            return False
        if not self.held:
            begins = kind == PART_ADDED and bool(event.get("content_index"))
            begins = begins and event["part"] == {"type": "output_text", "text": ""}
            self.held += [event] if begins else []
            return begins
        if any(event.get(key) != self.held[0].get(key) for key in ("output_index", "content_index")):
            return False
        if kind == "response.output_text.done" and not event.get("text"):
            self.held.append(event)
            return True
        if kind == "response.content_part.done" and is_only_signed(event["part"], event["content_index"], self.w):
            place.left.add(event["content_index"])
            self.held = []
            return True
        return False

    def released(self) -> list[Node]:
        """The events that were held: there is something behind them."""
        held, self.held = self.held, []
        return held
