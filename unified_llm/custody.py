"""What belongs to one provider, on its way through a conversion: opaque pieces and handles.

Towards a provider: what was parked comes back, what is foreign is withheld (and kept, where there is a vault). Towards
a client: everything goes along, in an envelope where the surface has no slot of its own, and into the vault. A document
with nothing of the kind is not looked at twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import UnknownProtocol
from .handles import has_handles, is_foreign_here, withhold
from .provenance import is_own
from .registry import adapter
from .stream import TERMINAL
from .turns import carrier, carry, parked, pieces, regions, uncarried
from .vault import park, thread_of, unpark

if TYPE_CHECKING:
    from .adapter import Adapter, WireWriter
    from .reading import Reader
    from .writing import Writer

__all__ = ["LeavingWriter", "conversation", "handed", "leaving"]

Node = dict[str, Any]
Event = dict[str, Any]
# Nodes that were made, each with the one it stands for.
Made = list[tuple[Node, Node]]


def leaving(node: Node, reader: Reader | None, writer: Writer, crossing: bool) -> None:
    """An answer on its way to a client: what it holds in the vault, and what carries it home beside it."""
    output = node["output"]
    signed = reader is None or reader.signed
    if not (signed or (crossing and has_handles(output))):
        return
    if writer.vault is not None:
        park(output, writer.vault, writer.exchange.thread if writer.exchange else "")
    if writer.facing == "client":
        _put(node, "output", carry(output, writer, True), writer)


_HISTORY = frozenset(("reasoning", "function_call", "custom_tool_call"))


class LeavingWriter:
    """A writer of a stream's wire events, which leaves its answer in the vault, and carries home what has no slot.

    What an answer holds is known when it ends: the carrier is its last item.
    """

    def __init__(self, writer: WireWriter, reading: Reader | None, writing: Writer, crossing: bool) -> None:
        self.writer, self.reading, self.writing, self.crossing = writer, reading, writing, crossing
        self.items: dict[int, Node] = {}
        if hasattr(writer, "write_more"):
            self.write_more = writer.write_more

    def feed(self, event: Event) -> list[Event]:
        kind = event["type"]
        if kind == "response.output_item.done":
            if not event.get("choice"):
                self.items[event.get("output_index", 0)] = event["item"]
        elif kind in TERMINAL and self.items:
            return self._end(event)
        return self.writer.feed(event)

    def close(self) -> list[Event]:
        return self.writer.close()

    def _end(self, event: Event) -> list[Event]:
        items = [self.items[place] for place in sorted(self.items)]
        signed = self.reading is None or self.reading.signed
        if not (signed or (self.crossing and has_handles(items))):
            return self.writer.feed(event)
        if self.writing.vault is not None:
            park(items, self.writing.vault, self.writing.exchange.thread if self.writing.exchange else "")
        if not uncarried(items, self.writing):
            return self.writer.feed(event)
        item = carrier(items, self.writing)
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
        parked(self.writing)
        return out


def conversation(node: Node, reader: Reader | None, writer: Writer) -> None:
    """The items of a request get back what was parked, and go with what has to travel."""
    items: list[Any] = node["input"]
    thread = ""
    if writer.vault is not None:
        thread = thread_of(node)
        node["input"] = items = unpark(items, writer.vault, thread, reader)
    if reader is not None and not reader.signed:
        return
    if writer.facing == "client":
        # A history has no slot for the pieces of texts on some surfaces where an answer has one.
        writer.carries &= _HISTORY
        _put(node, "input", carry(items, writer, False), writer)
    elif writer.vault is not None:
        for start, end in regions(items):
            if any(not is_own(piece, writer) for _, piece in pieces(items[start:end])):
                park(items[start:end], writer.vault, thread)


def _put(node: Node, key: str, items: list[Any], writer: Writer) -> None:
    """Put the items in their place; what was given stays known, for the report."""
    if items is not node[key]:
        writer.context.setdefault("given", {**node})
        node[key] = items


def handed(node: Node, goal: Adapter, source: Adapter, reader: Reader, writer: Writer) -> Made:
    """Withhold from a request the handles that mean nothing to its target, or something else."""
    target = writer.here["provider"]
    foreign = is_foreign_here(source.family, reader.provider, goal.family, target)
    restored = {
        id(item): is_foreign_here(_family(origin.get("protocol")), origin.get("provider"), goal.family, target)
        for item, origin in reader.restored
    }
    plain = reader.plain and writer.vault is None
    return withhold(node, writer, foreign, restored, plain) if foreign or True in restored.values() else []


def _family(protocol: Any) -> str:
    try:
        return adapter(str(protocol)).family
    except UnknownProtocol:
        return ""
