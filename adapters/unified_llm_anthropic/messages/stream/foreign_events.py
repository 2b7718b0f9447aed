"""Writing events of other protocols as a stream of Messages.

Blocks are numbered without a gap and never overlap: fragments of a later item wait until the earlier one is whole.
Every block gets the frames the official SDK's accumulator needs; what of an item was not streamed is sent when it is
done. An item that is done is weighed as a whole by the pairs that write answers, so that a stream reports what a
document does.

https://docs.claude.com/en/api/messages-streaming
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import is_run_by_provider
from unified_llm.provenance.opaque import announced, is_sealed
from unified_llm.streams.block_writer import THOUGHTS, UNHEARD, citations_of, report_late, sent_as_written

from ..blocks import blocks
from ..parts.citations import citations
from ..parts.content import answer_parts
from ..response import answered, finish_keys, write_head
from ..turns.carriers import carrier_of
from ..turns.messages import write_blocks
from ..turns.reasoning import sealed_signature, thinking_text
from .frames import FrameWriter

__all__ = ["ARGUMENTS", "THOUGHTS", "ForeignWriter"]

Event = dict[str, Any]
Node = dict[str, Any]

ARGUMENTS = {
    "response.function_call_arguments.delta",
    "response.mcp_call_arguments.delta",
}
_COUNTED_LAST = frozenset(
    ("cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens_details", "server_tool_use")
)
_TOLD = frozenset(("id", "type", "role", "model", "content", "usage", "container", *finish_keys()))
# The fields of the answer in an opening message.
_KNOWN_FIRST = ("id", "model", "service_tier", "usage")


class ForeignWriter(FrameWriter):
    """How events that were no frames of this protocol become some."""

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        # What was written of the item that is open.
        self._sent = ""
        self.pieces: list[str] = []
        # The last frame if it was a plain delta (`write_more`).
        self.last: Node | None = None
        self.inner = False
        # Of the parts of the open item: how many citations each was sent with, and those whose block has ended.
        self.cited: dict[Any, int] = {}
        self.over: set[Any] = set()
        self.tier: Any = None

    @property
    def sent(self) -> str:
        """What was written of the item, or of the part, that is open."""
        if self.pieces:
            self._sent += "".join(self.pieces)
            self.pieces.clear()
        return self._sent

    @sent.setter
    def sent(self, text: str) -> None:
        self._sent = text
        self.pieces.clear()

    def _begin(self, response: Node) -> list[Event]:
        if self.begun:
            return []
        self.begun = True
        opening = {key: response[key] for key in _KNOWN_FIRST if response.get(key) is not None}
        self.w.seed = str(opening.get("id") or "") or self.w.seed
        self.w.context["own"] = False
        mark = len(self.w.raw)
        message = self._message(opening, [])
        del self.w.raw[mark:]
        message.update(stop_reason=None, stop_sequence=None)
        self.tier = message["usage"].get("service_tier")
        return [{"event": "message_start", "data": {"type": "message_start", "message": message}}]

    def _inside(self, kind: str, event: Event, at: int) -> list[Event]:
        if kind == "response.output_item.added":
            self.at = at
            self.item, self.sent, self.inner = event["item"], "", False
            self.cited, self.over = {}, set()
            return self._open_item(event["item"], at)
        if kind == "response.output_item.done":
            out = self._close_item(event["item"], at)
            return out + self._next()
        item = self.item
        if item.get("role", "assistant") != "assistant":
            return []
        if item.get("type") == "message" and kind in ("response.output_text.delta", "response.refusal.delta"):
            return self._text(event["delta"], (at, event.get("content_index", 0)))
        if kind in ARGUMENTS and item.get("type") == "function_call":
            if not event["delta"] or is_run_by_provider(item):
                return []
            out = self._open_call(item, at)
            if at not in self.places:
                return out  # its name or id is yet to come
            self.pieces.append(event["delta"])
            return [*out, self._delta(at, {"type": "input_json_delta", "partial_json": event["delta"]})]
        if kind in THOUGHTS and item.get("type") == "reasoning":
            return self._think(event, at)
        if kind == "response.output_text.annotation.added":
            return self._cite([event["annotation"]], (at, event.get("content_index", 0)))
        if kind == "response.content_part.done":
            return self._part_done(event, at)
        if kind in UNHEARD:
            self.w.report(event, ("delta",), "lost", "anthropic-messages returns text only")
        elif kind == "response.content_part.added" and (event.get("part") or {}).get("id"):
            self.w.report(event, ("part",), "lost", "anthropic-messages returns text only")
        return []

    def _open_item(self, item: Node, at: int) -> list[Event]:
        if item.get("type") == "function_call":
            return self._open_call(item, at)
        return []

    def _open_call(self, item: Node, at: int, whole: bool = False) -> list[Event]:
        if at in self.places or is_run_by_provider(item) or not (whole or (item.get("call_id") and item.get("name"))):
            return []
        # The rest is reported when the item is whole.
        mark = len(self.w.raw)
        block = self.w.node(blocks, {**item, "arguments": ""})
        del self.w.raw[mark:]
        if block is None:
            return []
        # Before the call, as in a document, if it is signed by now: clients part calls that something stands between.
        carried = self._carry(item if whole else announced(item), at) if item.get("opaque") else []
        return [*carried, self._start_block(block, at)]

    def _carry(self, item: Node, at: int) -> list[Event]:
        """The block that carries what others signed on an item."""
        carrier = carrier_of(item, self.w)
        return self._block(carrier, ("carrier", at)) if carrier is not None else []

    def _open_text(self, place: Any) -> Event:
        self.inner = True
        return self._start_block({"type": "text", "text": ""}, place)

    def _text(self, text: str, place: Any) -> list[Event]:
        if not text:
            return []
        out = [] if place in self.places else [self._open_text(place)]
        self.pieces.append(text)
        return [*out, self._delta(place, {"type": "text_delta", "text": text})]

    def _cite(self, found: list[Any], place: Any) -> list[Event]:
        """Citations of a text whose block is open."""
        self.cited[place] = self.cited.get(place, 0) + len(found)
        if place in self.over:
            report_late(found, self.w)
            return []
        self.w.context["text length"] = len(self.sent)
        out: list[Event] = []
        for citation in self.w.nodes(citations, found):
            out += [] if place in self.places else [self._open_text(place)]
            out.append(self._delta(place, {"type": "citations_delta", "citation": citation}))
        return out

    def _think(self, event: Event, at: int) -> list[Event]:
        text = event["delta"]
        if not text:
            return []
        out = []
        key = (event["type"], event.get("content_index", event.get("summary_index", 0)))
        if at not in self.places:
            out.append(self._start_block({"type": "thinking", "thinking": "", "signature": ""}, at))
        elif self.sent and key != self.part:
            text = "\n\n" + text
        self.part = key
        self.pieces.append(text)
        return [*out, self._delta(at, {"type": "thinking_delta", "thinking": text})]

    def _part_done(self, event: Event, at: int) -> list[Event]:
        """The end of a part of a message: what of it was not streamed is sent, and its block ends."""
        part, place = event.get("part"), (at, event.get("content_index", 0))
        if self.item.get("type") != "message" or type(part) is not dict:
            return []
        out = []
        text = part.get("text", part.get("refusal"))
        if type(text) is str and text.startswith(self.sent) and len(text) > len(self.sent):
            out = self._text(text[len(self.sent) :], place)
        if place in self.places:
            out += self._cite(citations_of(part)[self.cited.get(place, 0) :], place)
            self.over.add(place)
        self.sent = ""
        if place in self.places:
            out.append(self._stop_block(place))
            self.inner = False
        return out

    def _close_message(self, item: Node, at: int) -> list[Event]:
        out = []
        content = item.get("content")
        if type(content) is str:
            content = [{"type": "output_text", "text": content}]
        for number, part in enumerate(content or ()):
            place = (at, number)
            if place in self.places:
                self._report_rest(answer_parts, part)
                report_late(citations_of(part)[self.cited.get(place, 0) :], self.w)
                self.w.too_late(part, "its block had begun")
                continue
            block = self.w.node(answer_parts, part)
            if block is not None and (block.get("type") != "text" or block.get("text")):
                out += self._block(block, place)
        if self.inner:
            out.append(self._stop_block((at, 0)))
            self.inner = False
        self._report_item(item)
        alone = not out and at not in self.parted
        carrier = carrier_of(item, self.w, alone)
        return out + (self._block(carrier, ("carrier", at)) if carrier is not None else [])

    def _report_rest(self, family: Any, node: Node) -> None:
        """Report what a node that was streamed holds beside what was streamed of it."""
        self.w.nodes(family, (node,))

    def _report_item(self, item: Node) -> None:
        def pair(c: Node, w: Writer) -> Node:
            c.pop("role", None)
            c.pop("content", None)
            if "opaque" in c:
                c["opaque"] = Fated("parked", "kept in an envelope")
            return {}

        self.w.piece(pair, item)

    def _close_reasoning(self, item: Node, at: int) -> list[Event]:
        out = []
        block = self.w.node(blocks, item)
        if block is None:
            return []
        if at not in self.places:
            return self._block(block, at)
        text = thinking_text(item)
        if text.startswith(self.sent) and len(text) > len(self.sent):
            rest = text[len(self.sent) :]
            out.append(self._delta(at, {"type": "thinking_delta", "thinking": rest}))
            self.sent = text
        signature = block.get("signature") or sealed_signature(item, self.sent, self.w)
        if is_sealed(signature):
            self.w.travels(item)
        out.append(self._delta(at, {"type": "signature_delta", "signature": signature}))
        return [*out, self._stop_block(at)]

    def _close_call(self, item: Node, at: int) -> list[Event]:
        if is_run_by_provider(item):
            return self._whole(item)
        told, opened = self.item.get("opaque"), at not in self.places
        out = self._open_call(item, at, whole=True)
        arguments = item.get("arguments") or ""
        goes_on = arguments.startswith(self.sent)
        if goes_on and len(arguments) > len(self.sent):
            rest = arguments[len(self.sent) :]
            if at in self.places and (self.sent or arguments != "{}"):
                out.append(self._delta(at, {"type": "input_json_delta", "partial_json": rest}))
        mark = len(self.w.raw)
        self.w.node(blocks, item)
        if at in self.places:
            if goes_on:
                sent_as_written(item, mark, self.w)
            if self._left_with(self.item) != self._left_with(item):
                self.w.too_late(item, "its block had begun")
            out.append(self._stop_block(at))
        is_carried = ("carrier", at) in self.places and (item.get("opaque") == told or opened)
        return out if is_carried else out + self._carry(item, at)

    def _left_with(self, item: Node) -> Any:
        """The fields this protocol keeps with an item, in the start of its block."""
        return ((item.get("extra") or {}).get(self.w.protocol) or {}).get("rest")

    def _whole(self, item: Node) -> list[Event]:
        out: list[Event] = []
        if not answered([item], self.w):
            return out
        for number, block in enumerate(write_blocks([item], self.w)):
            if type(block) is dict:
                out += self._block(block, ("whole", len(self.places), number))
        return out

    def _finish(self, response: Node) -> list[Event]:
        def pair(c: Node, w: Writer) -> Node:
            c.pop("output", None)
            return write_head(c, [], self.output, w)

        message = self._document(pair, response)
        counts = message.get("usage") or {}
        usage = {key: count for key, count in counts.items() if count is not None or key in _COUNTED_LAST}
        if self.tier is not None and usage.get("service_tier") == self.tier:
            del usage["service_tier"]
        # In place: what was added to it is known by its identity.
        counts.clear()
        counts.update({"output_tokens": 0, **usage})
        delta = {key: message.get(key) for key in (*finish_keys(), "container")}
        data = {"type": "message_delta", "delta": delta, "usage": counts}
        data.update({key: value for key, value in message.items() if key not in _TOLD})
        return [
            {"event": "message_delta", "data": data},
            {"event": "message_stop", "data": {"type": "message_stop"}},
        ]
