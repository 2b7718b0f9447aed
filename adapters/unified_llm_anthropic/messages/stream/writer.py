"""Writing a stream: canonical events to message and blocks.

Blocks are numbered without a gap and never overlap: fragments of a later item wait until the earlier one is whole. What
came from this protocol goes back frame by frame; what did not is given the frames the official SDK's accumulator needs:
one message_start, a signature before the end of every thinking block, one message_delta with why and how much, and
message_stop. A failed response is an `error` frame and nothing after it.

https://docs.claude.com/en/api/messages-streaming
"""

from __future__ import annotations

from typing import Any

from unified_llm.streams.collect_and_decompose import FRAME, TERMINAL
from unified_llm.streams.event_fast_path import WriteMore

from ..blocks import blocks
from ..parts.citations import citations
from ..parts.content import answer_parts
from ..turns.messages import write_blocks
from .foreign_events import ARGUMENTS, THOUGHTS, ForeignWriter

__all__ = ["MessagesWriter"]

Event = dict[str, Any]
Node = dict[str, Any]

_PIECES = frozenset(("response.output_text.delta", "response.refusal.delta", *ARGUMENTS, *THOUGHTS))
_KEYS = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking"}


class MessagesWriter(ForeignWriter):
    """Canonical events to wire events."""

    def feed(self, event: Event) -> list[Event]:
        out = self._feed(event)
        # A delta that stands in a frame as it is: the next one is written in the same way.
        plain = len(out) == 1 and event["type"] in _PIECES and self._is_plain(event.get("extra") or {})
        self.last = out[0]["data"] if plain else None
        return out

    def _is_plain(self, extra: Node) -> bool:
        """Whether no protocol keeps anything with an event that is reported each time."""
        return self.w.protocol not in extra and not any("rest" in drawer for drawer in extra.values())

    def write_more(self) -> WriteMore | None:
        if self.last is None:
            return None
        like = {"event": "content_block_delta", "data": self.last}
        return WriteMore(like, ("data", "delta", _KEYS[self.last["delta"]["type"]]), self.pieces.append)

    def _feed(self, event: Event) -> list[Event]:
        extra = event.get("extra")
        if extra is not None:
            own = extra.get(self.w.protocol)
            if own is not None:
                frame = own.get("frame") or {}
                if frame.get("synthetic"):
                    return []
                if event["type"] == FRAME:
                    return self._kept(frame)
                self.override = frame
                self.rest = own.get("rest") or {}
        kind = event["type"]
        if self.own:
            return self._own(kind, event)
        if kind == "response.created" and extra is not None and self.w.protocol in extra:
            self.own = self.w.context["own"] = True
            return self._own(kind, event)
        return self._foreign(kind, event)

    def close(self) -> list[Event]:
        return []

    # ---- events that were frames of this protocol ----------------------------------------------------------------

    def _own(self, kind: str, event: Event) -> list[Event]:
        at = event.get("output_index", 0)
        if kind == "response.output_text.delta":
            return [self._delta((at, event["content_index"]), {"type": "text_delta", "text": event["delta"]})]
        if kind in ARGUMENTS:
            return [self._delta(at, {"type": "input_json_delta", "partial_json": event["delta"]})]
        if kind in THOUGHTS:
            return [self._delta(at, {"type": "thinking_delta", "thinking": event["delta"]})]
        if kind == "response.created":
            return [self._message_start(event["response"])]
        if kind == "response.output_text.annotation.added":
            place = (at, event["content_index"])
            citation = self.w.node(citations, event["annotation"])
            return [self._delta(place, {"type": "citations_delta", "citation": citation})] if citation else []
        if kind == "response.content_part.added":
            block = self.w.node(answer_parts, event["part"])
            if block is None:
                return []
            if "text" in self.override:
                block["text"] = self.override["text"]
            return [self._start_block(block, (at, event["content_index"]))]
        if kind == "response.output_item.added":
            return self._own_item(event["item"], at)
        if kind == "response.content_part.done":
            place = (at, event["content_index"])
            return [self._stop_block(place)] if place in self.places else []
        if kind == "response.output_item.done":
            return [self._stop_block(at)] if at in self.places else []
        if kind in TERMINAL:
            return self._own_end(event["response"])
        if kind == "error":
            return self._error(event)
        return []

    def _own_item(self, item: Node, at: int) -> list[Event]:
        if item.get("type") == "message":
            return []
        if "status" in item:
            item = {key: value for key, value in item.items() if key != "status"}
        block = self.w.node(blocks, item)
        if block is None:
            return []
        if "text" in self.override:
            block["thinking"] = self.override["text"]
        return [self._start_block(block, at)]

    def _message_start(self, response: Node) -> Event:
        self.begun = True
        message = self._message(response, write_blocks(response.get("output") or [], self.w))
        return self._emit({"type": "message_start", "message": message})

    def _own_end(self, response: Node) -> list[Event]:
        shape = self.override.pop("delta", None) if "delta" in self.override else None
        out = []
        if shape is not None:
            message = self._message(response, [])
            data: Node = {"type": "message_delta", "delta": {key: message[key] for key in shape["delta"]}}
            data.update({key: message[key] for key in shape["top"]})
            if "usage" in shape:
                data["usage"] = {key: message["usage"][key] for key in shape["usage"]}
            out.append({"event": shape.get("event", "message_delta"), "data": data})
        return [*out, self._emit({"type": "message_stop"})]
