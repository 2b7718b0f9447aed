"""How a step ends on the wire: the fields of a finished item beyond its deltas, and steps that are sent at once.

https://ai.google.dev/gemini-api/docs/interactions#streaming
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import fill
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.json_codec import dump_text
from unified_llm.streams.block_writer import LateCitations, citations_of, report_late, sent_as_written

from ...byte_offsets import Span
from ..parts import citations, model_parts
from ..turns.steps import write_step
from ..turns.timeline import carriers, sealed_whole, write_thought
from ..values.tables import CONTENTS
from .frames import Sent, wire_delta, wire_event

__all__ = ["CALLS", "Ends"]

Event = dict[str, Any]
Node = dict[str, Any]

CALLS = ("function_call", "custom_tool_call")
# The fields of a step that its start has, and those without a place in a delta.
_PAYLOAD = ("id", "call_id", "type", "search_type")


class Ends:
    """The steps of a stream being written: where the next one goes, what was sent of the open ones."""

    def __init__(self, writer: Writer) -> None:
        self.w = writer
        self.own = False
        self.next = 0
        self.steps: dict[int, Sent] = {}
        self.items: list[Node] = []
        self.late = LateCitations()

    def _open(self, step: Sent, wire: Node) -> list[Event]:
        step.index, step.started = self.next, True
        self.next += 1
        return [wire_event("step.start", {"index": step.index, "step": wire})]

    def _again(self, step: Sent) -> list[Event]:
        return [wire_event("step.stop", {"index": step.index}), *self._open(step, {"type": "model_output"})]

    def _done(self, place: int, item: Node, frame: Node) -> list[Event]:
        step = self.steps.pop(place, None) or Sent(item)
        self.items.append(item)
        if self.own:
            return self._done_own(place, item, frame)
        self.late.done(place, item)
        kind = item.get("type")
        if kind == "reasoning":
            return self._done_thought(step, item)
        mark = len(self.w.raw)
        wires = write_step(item, self.w)
        carried = carriers(item, self.w) if wires else sealed_whole(item, self.w, mark)
        wires += self.w.context.pop("after", ())
        if any(type(wire) is not dict or type(wire.get("type")) is not str for wire in wires):
            self.w.drop(item, "a stream has no place for it")
            return []
        self._kept(item)
        if kind == "message" and wires:
            out = [] if step.started else self._open(step, {"type": wires[0]["type"]})
            out += self._rest_of_message(step, item)
        elif kind in CALLS and wires:
            head = {"type": "function_call", "id": wires[0]["id"], "name": wires[0]["name"], "arguments": {}}
            if step.carried and step.item.get("opaque") == item.get("opaque"):
                carried = []
            out = []
            if not step.started:
                out = [*(each for wire in carried for each in self._whole(wire)), *self._open(step, head)]
                carried = []
            if step.args:
                sent_as_written(item, mark, self.w)
            elif wires[0].get("arguments"):
                out.append(
                    wire_delta(step.index, {"arguments": dump_text(wires[0]["arguments"]), "type": "arguments_delta"})
                )
            if wires[0].get("signature"):
                out.append(wire_delta(step.index, {"type": "function_call", "signature": wires[0]["signature"]}))
        else:
            return [each for wire in [*wires, *carried] for each in self._whole(wire)]
        out.append(wire_event("step.stop", {"index": step.index}))
        return [*out, *(each for wire in [*wires[1:], *carried] for each in self._whole(wire))]

    def _kept(self, item: Node) -> None:
        """What this protocol kept with an item has no place among deltas."""
        content = item.get("content")
        for node in [item, *(content if type(content) is list else ())]:
            if type(node) is dict:  # the content of an unknown item may hold any values
                self.w.too_late(node, "a stream has no place for it")

    def _done_own(self, place: int, item: Node, frame: Node) -> list[Event]:
        out: list[Event] = []
        if "deltas" in frame:
            wire = write_step(item, self.w)[0]
            for held in frame["deltas"]:
                delta = {"type": held["type"], **{key: wire[key] for key in held["keys"] if key in wire}}
                event = wire_delta(place, delta)
                data = fill(event["data"], held.get("rest", {}))
                if "event" in held:
                    if held["event_type"] is None:
                        del data["event_type"]
                    else:
                        data["event_type"] = held["event_type"]
                out.append({"event": held.get("event", "step.delta"), "data": data})
        return [*out, wire_event("step.stop", {"index": place})]

    def _done_thought(self, step: Sent, item: Node) -> list[Event]:
        wires = write_thought(item, self.w)
        wire = wires[0] if wires else {}
        out = [] if step.started else self._open(step, {"type": "thought"})
        if not step.thoughts:
            for content in wire.get("summary") or ():
                out.append(wire_delta(step.index, {"type": "thought_summary", "content": content}))
        if wire.get("signature"):
            out.append(wire_delta(step.index, {"signature": wire["signature"], "type": "thought_signature"}))
        return [*out, wire_event("step.stop", {"index": step.index})]

    def _rest_of_message(self, step: Sent, item: Node) -> list[Event]:
        """The fields of a finished message beyond its deltas."""
        out: list[Event] = []
        content = item.get("content")
        parts = [{"type": "output_text", "text": content}] if type(content) is str else content or []
        for index, part in enumerate(parts):
            text = part.get("text") if "text" in part else part.get("refusal")
            if type(text) is str:
                sent = step.text(index)
                if text.startswith(sent) and (len(text) > len(sent) or not text):
                    if step.open not in (None, index):
                        out += self._again(step)
                    step.open = index
                    out.append(wire_delta(step.index, {"text": text[len(sent) :], "type": "text"}))
                if step.open != index:
                    report_late(citations_of(part)[step.cited.get(index, 0) :], self.w)
                else:
                    self.w.context["span"] = Span(text)
                    missing = citations_of(part)[step.cited.get(index, 0) :]
                    if missing:
                        delta = {"type": "text_annotation_delta", "annotations": self.w.nodes(citations, missing)}
                        out.append(wire_delta(step.index, delta))
            elif index not in step.media:
                step.open = None
                for wire in self.w.nodes(model_parts, (part,)):
                    if type(wire) is dict and wire.get("type") in CONTENTS:
                        out.append(wire_delta(step.index, wire))
                    else:
                        self.w.drop(part, "a stream has no place for it")
        return out

    def _whole(self, wire: Node) -> list[Event]:
        """A step that is sent at once: its ids, one delta with all the rest, its end."""
        index = self.next
        self.next += 1
        kind = wire["type"]
        start = {key: wire[key] for key in _PAYLOAD if key in wire}
        rest = {key: value for key, value in wire.items() if key not in start}
        out = [wire_event("step.start", {"index": index, "step": start})]
        if kind == "thought":
            out += [wire_delta(index, {"type": "thought_summary", "content": each}) for each in rest.pop("summary", ())]
            rest = {"signature": rest["signature"]} if "signature" in rest else {}
            kind = "thought_signature"
        elif kind in ("model_output", "user_input") and type(rest.get("content")) is list:
            out += [wire_delta(index, each) for each in rest.pop("content")]
        if rest:
            out.append(wire_delta(index, {"type": kind, **rest}))
        return [*out, wire_event("step.stop", {"index": index})]
