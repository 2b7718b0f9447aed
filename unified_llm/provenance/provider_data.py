"""What belongs to one provider, on its way through a conversion: opaque data and provider references.

Towards a provider: what is kept is restored, what is foreign is withheld (and kept, where there is a vault). Towards
a client: everything goes along, in an envelope where the surface has no field of its own, and into the vault. A
document with nothing of the kind is not looked at twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..engine.pairs.origins import is_own
from ..engine.registry import adapter
from ..foundation.errors import UnknownProtocol
from ..foundation.json_codec import detached
from ..streams.collect_and_decompose import TERMINAL
from .answer_envelope import (
    CALLS,
    carrier,
    carry,
    cites,
    hides,
    is_hidden,
    parked,
    pieces,
    strip_between_calls,
    strip_leading,
    uncarried,
    withhold_leading,
)
from .opaque import is_sealed, unescaped
from .provider_references import has_handles, is_foreign_here, withhold
from .vault import park, parked_answers, thread_for, unpark

if TYPE_CHECKING:
    from ..engine.adapter import Adapter, WireWriter
    from ..engine.pairs.reading import Reader
    from ..engine.pairs.writing import Writer
    from ..streams.event_fast_path import WriteMore

__all__ = ["LeavingWriter", "conversation", "handed", "leaving"]

Node = dict[str, Any]
Event = dict[str, Any]
# Nodes that were made, each with the one it stands for.
Made = list[tuple[Node, Node]]


def leaving(node: Node, reader: Reader | None, writer: Writer, crossing: bool) -> None:
    """An answer on its way to a client: what it holds in the vault, and what carries it home beside it."""
    output = node["output"]
    signed = reader is None or reader.signed
    if not (signed or (crossing and (has_handles(output) or hides(output, writer.carries)))):
        return
    if writer.vault is not None:
        park(output, writer.vault, thread_for(writer))
    if writer.facing == "client":
        if writer.secret is None:
            withhold_leading(output, writer)
        _put(node, "output", carry(output, writer, reader, True), writer)


# The events whose losses the carrier may turn out to keep.
_HELD = frozenset(("response.output_item.done", "response.output_text.annotation.added"))
_HISTORY = frozenset(("reasoning", "function_call", "custom_tool_call"))


class LeavingWriter:
    """A writer of a stream's wire events, which leaves its answer in the vault, and carries home what has no slot.

    What an answer holds is known when it ends: the carrier is its last item.
    """

    write_more: Callable[[], WriteMore | None]

    def __init__(self, writer: WireWriter, reading: Reader | None, writing: Writer, crossing: bool) -> None:
        self.writer = writer
        self.reading = reading
        self.writing = writing
        self.crossing = crossing
        self.items: dict[int, Node] = {}
        # Without a secret: the ends of reasoning items that wait for what they lead to.
        self.waiting: list[Event] = []
        # The losses of items that are done, and of sources, which the carrier may turn out to keep.
        self.held: list[Any] = []
        self.sources: list[Any] = []
        if hasattr(writer, "write_more"):
            self.write_more = writer.write_more

    def feed(self, event: Event) -> list[Event]:
        """Write one event; the end of reasoning may wait for the item it led to."""
        kind = event["type"]
        out = self._follow(event) if self.waiting else []
        if kind == "response.output_item.done":
            item = event["item"]
            if not event.get("choice"):
                self.items[event.get("output_index", 0)] = item
                if item.get("type") == "reasoning" and (self.waiting or self._may_strip(item)):
                    if self.writing.adapter.joins and any(each.get("type") in CALLS for each in self.items.values()):
                        self._detach()
                        strip_between_calls(item, self.writing)
                    self.waiting.append(event)
                    return out
        elif kind in TERMINAL and self.items:
            return out + self._end(event, self._release())
        elif kind == "error":
            self._release()
        out += self.writer.feed(event)
        if self.writing.raw and kind in _HELD and not event.get("choice"):
            if kind == "response.output_item.done":
                self._hold(event["item"])
            else:
                self._hold_source(event)
        return out

    def close(self) -> list[Event]:
        """End the stream: write the events that waited."""
        out = [each for event in self.waiting for each in self.writer.feed(event)]
        self.waiting.clear()
        self._release()
        return out + self.writer.close()

    def _hold(self, item: Node) -> None:
        """Report what an item lost when the answer ends, if a carrier may keep it."""
        may_cite = self.writing.secret is not None and cites(item)
        if self.writing.facing != "client" or not (may_cite or uncarried([item], self.writing)):
            return
        self.held += self._taken({id(item), *(id(bearer) for bearer, _ in pieces(item))})

    def _hold_source(self, event: Event) -> None:
        """Report a source that the surface has no field for when the answer ends."""
        if self.writing.facing == "client" and self.writing.secret is not None:
            self.sources += self._taken({id(event), id(event.get("annotation"))})

    def _taken(self, nodes: set[int]) -> list[Any]:
        """The losses of these nodes, which are not reported yet."""
        self.writing.unfold()
        raw = self.writing.raw
        out = [entry for entry in raw if entry[2] == "lost" and id(entry[0]) in nodes]
        raw[:] = [entry for entry in raw if entry[2] != "lost" or id(entry[0]) not in nodes]
        return out

    def _release(self) -> list[Any]:
        """Report what was held as lost; gives the losses of sources."""
        if not (self.held or self.sources):
            return []
        held, sources = self.held, self.sources
        self.held, self.sources = [], []
        self.writing.raw += [*held, *sources]
        return sources

    def _may_strip(self, item: Node) -> bool:
        """Whether opaque data is taken from this reasoning if it leads to an item that not every surface shows."""
        pieces = item.get("opaque") if self.writing.secret is None else None
        return any(not is_own(piece, self.writing) for piece in pieces or ())

    def _follow(self, event: Event) -> list[Event]:
        """The ends of reasoning that waited, now that it is known what they lead to."""
        item = event.get("item")
        if type(item) is dict and item.get("type") == "reasoning":
            return []
        if (
            type(item) is dict
            and is_hidden(item, self.writing.carries)
            and event["type"] == "response.output_item.added"
        ):
            self._detach()
            for each in self.waiting:
                strip_leading(each["item"], self.writing)
        out = [done for each in self.waiting for done in self.writer.feed(each)]
        self.waiting.clear()
        return out

    def _detach(self) -> None:
        """Keep the items for the vault as they are, before something is taken from one of them."""
        if self.writing.vault is not None:
            self.items = {place: detached(each) for place, each in self.items.items()}

    def _end(self, event: Event, sources: list[Any]) -> list[Event]:
        items = [self.items[place] for place in sorted(self.items)]
        if self.writing.vault is None and not uncarried(items, self.writing):
            return self.writer.feed(event)
        signed = self.reading is None or self.reading.signed
        if not (signed or (self.crossing and (has_handles(items) or hides(items, self.writing.carries)))):
            return self.writer.feed(event)
        if self.writing.vault is not None:
            park(items, self.writing.vault, thread_for(self.writing))
        if not uncarried(items, self.writing):
            return self.writer.feed(event)
        item = carrier(items, self.writing, self.reading)
        at = {"output_index": max(self.items) + 1}
        opening = {**item, "opaque": []}
        self.writing.context["carriers"].append(opening)
        out = self.writer.feed({"type": "response.output_item.added", **at, "item": opening})
        out += self.writer.feed({"type": "response.output_item.done", **at, "item": item})
        response = event.get("response")
        if type(response) is dict and type(response.get("output")) is list:
            # In place: what is reported of a response is known by its identity.
            response["output"] = [*response["output"], item]
        out += self.writer.feed(event)
        parked(self.writing, sources)
        return out


def conversation(node: Node, reader: Reader | None, writer: Writer) -> None:
    """The items of a request get back what was parked, and go with what has to travel."""
    items: list[Any] = node["input"]
    answers = []
    if writer.vault is not None:
        # Without opaque data there is nothing to park, and no thread to work out for each answer.
        if writer.facing == "provider" and (reader is None or reader.signed) and any(True for _ in pieces(items)):
            answers = list(parked_answers(items, node))
        kept = unpark(node, writer.vault, reader, writer)
        writer.unparked = kept is not items
        node["input"] = items = kept
    if writer.facing == "provider" and (reader is None or reader.stuffed or writer.unparked):
        _spell_out(items, writer)
    if reader is not None and not reader.signed:
        return
    if writer.facing == "client":
        # A history has no slot for the pieces of texts on some surfaces where an answer has one.
        writer.carries &= _HISTORY
        _put(node, "input", carry(items, writer, reader, False), writer)
    elif writer.vault is not None:
        for answer, thread in answers:
            if any(not is_own(piece, writer) for _, piece in pieces(answer)):
                park(answer, writer.vault, thread, back=True)


def _spell_out(items: list[Any], writer: Writer) -> None:
    """Opaque data as its provider spelled it; what only looks like an envelope has no origin and is not sent."""
    for bearer, piece in pieces(items):
        if is_sealed(piece["data"]):
            writer.report(bearer, ("opaque",), "lost", "an envelope in a field that holds none")
            bearer["opaque"] = [each for each in bearer["opaque"] if each is not piece]
        else:
            if type(piece.get("data")) is str:
                piece["data"] = unescaped(piece["data"])


def _put(node: Node, key: str, items: list[Any], writer: Writer) -> None:
    """Put the items in their place; what was given stays known, for the report."""
    if items is not node[key]:
        writer.context.setdefault("given", {**node})
        node[key] = items


def handed(node: Node, goal: Adapter, source: Adapter, reader: Reader, writer: Writer) -> Made:
    """Withhold from a request the handles that mean nothing to its target, or something else."""
    target = writer.here["provider"]
    foreign = is_foreign_here(source.family, reader.provider, goal.family, target)
    restored: dict[int, bool] = {}
    for item, origin in reader.restored:
        family = _family(origin.get("protocol"))
        restored[id(item)] = is_foreign_here(family, origin.get("provider"), goal.family, target)
    plain = reader.plain and not writer.unparked
    return withhold(node, writer, foreign, restored, plain) if foreign or True in restored.values() else []


def _family(protocol: Any) -> str:
    try:
        return adapter(str(protocol)).family
    except UnknownProtocol:
        return ""
