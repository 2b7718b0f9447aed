"""Writing a stream of Interactions.

Events read from this protocol carry the forms of their frames and go back into them; made ones are skipped. For all
others the rules of the service hold: created, a status update, then one step after the other, never two at a time (what
belongs to a later step waits), a thought's signature last, the interaction without its steps, and `[DONE]`. A step
whose payload comes in one delta waits until it is whole, and the fields of a finished item beyond its deltas follow.
Nothing follows an `error` event.

https://ai.google.dev/gemini-api/docs/interactions#streaming
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import fill
from unified_llm.engine.pairs.writing import Writer
from unified_llm.provenance.opaque import announced
from unified_llm.streams.block_writer import report_late
from unified_llm.streams.collect_and_decompose import FRAME, TERMINAL
from unified_llm.streams.event_fast_path import WriteMore
from unified_llm.types._tables import EVENT_TYPES

from ...byte_offsets import Span
from ...item_order import InTurn
from ..errors import write_error_body
from ..parts import citations, model_parts, summaries
from ..turns.steps import write_step
from ..turns.timeline import carriers
from .fast_path import more_deltas
from .frames import Sent, gathered, has_media, legacy, opening, wire_delta, wire_event, write_head, write_update
from .step_ends import Ends

__all__ = ["StreamWriter"]

Event = dict[str, Any]
Node = dict[str, Any]

_ARGUMENTS = ("response.function_call_arguments.delta", "response.mcp_call_arguments.delta")
_TEXTS = ("response.output_text.delta", "response.refusal.delta")
_THOUGHTS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta", "response.reasoning.delta")
_REPEATED = ("response.output_text.delta", "response.function_call_arguments.delta", *_THOUGHTS)
_DONE = {"event": "done", "data": "[DONE]"}


class StreamWriter(Ends):
    """Canonical events to wire events."""

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self.id: Any = ""
        self.turn = InTurn()
        self.group: list[Event] = []
        self.count = 0
        self.over = False
        self.failed = False
        # How more of the last delta is written, if it was one, and what it is more of.
        self.more: WriteMore | None = None
        self.like: tuple[str, Any, Any] = ("", None, None)

    def feed(self, event: Event) -> list[Event]:
        kind = event["type"]
        if self.more is not None:
            if kind == self.like[0] and self._goes_on(event):
                return [self.more.event(event["delta"])]
            self.more = None
        if self.group:
            return self._gather(event)
        own: Node = ((event["extra"] or {}).get(self.w.protocol) or {}) if "extra" in event else {}
        frame: Node = own.get("frame") or {} if own else own
        if frame:
            self.own = self.own or "own" in frame or "synthetic" in frame
            if "synthetic" in frame:
                return []
        if kind == FRAME:
            return (
                [{"event": frame["event"], "data": frame["data"], **frame.get("beside", {})}] if "data" in frame else []
            )
        if frame and frame.get("count", 1) > 1:
            self.count, self.group = frame["count"] - 1, [event]
            return []
        out = self._events(kind, event, frame)
        if own:
            out = self._framed(out, own)
        if kind in _REPEATED and len(out) == 1:
            self._learn(kind, event)
        return out

    def write_more(self) -> WriteMore | None:
        return self.more

    def close(self) -> list[Event]:
        out: list[Event] = []
        if not self.own:
            out += self._finish_all()
            if self.over and not self.failed:
                out.append(dict(_DONE))
        return out

    # ---- more of the same -------------------------------------------------------------------------------------------

    def _goes_on(self, event: Event) -> bool:
        """Whether a delta has only more of the last one's text."""
        if (event.get("output_index"), event.get("content_index")) != self.like[1:] or not event.get("delta"):
            return False
        return not event.get("choice") and self._is_bare(event)

    def _is_bare(self, event: Event) -> bool:
        """Whether nothing is kept with a delta that is to be reported or restored."""
        extra = event.get("extra")
        return not extra or not (self.w.protocol in extra or any("rest" in drawer for drawer in extra.values()))

    def _learn(self, kind: str, event: Event) -> None:
        """How what follows a delta is written: to the open step of the turn, and on to its open text."""
        place, part = event["output_index"], event.get("content_index")
        step = self.steps.get(place)
        if step is None or event.get("choice") or not self._is_bare(event):
            return
        if not self.own and not (step.started and self.turn.current.get(0) == place):
            return
        more: WriteMore | None = None
        if kind == _REPEATED[0]:
            if type(part) is int and part in step.texts and (self.own or step.open == part):
                more = more_deltas(step.index, "text", step.texts[part].append)
        elif kind == _REPEATED[1]:
            if step.args:
                more = more_deltas(step.index, "arguments_delta")
        elif step.thoughts:
            more = more_deltas(step.index, "thought_summary")
        self.more, self.like = more, (kind, place, part)

    # ---- frames -----------------------------------------------------------------------------------------------------

    def _gather(self, event: Event) -> list[Event]:
        """Events that were one frame become one again."""
        self.group.append(event)
        self.count -= 1
        if self.count:
            return []
        group, self.group = self.group, []
        first = group[0]
        own = first["extra"][self.w.protocol]
        at = first["output_index"]
        if first["type"] == "response.output_item.added":
            wire = self._start(first["item"])
            wire["content"] = self.w.nodes(model_parts, gathered(group[1:]))
            self.steps[at] = Sent(first["item"])
            self.steps[at].index = at
            for each in group[1:]:
                self._note(each)
            out = [wire_event("step.start", {"index": at, "step": wire})]
        else:
            out = [wire_delta(at, self._annotations(at, [each["annotation"] for each in group], own["frame"]))]
        return self._framed(out, own)

    def _framed(self, out: list[Event], own: Node) -> list[Event]:
        """The last wire event of an event gets back what its reader left of it."""
        frame, rest = own.get("frame") or {}, own.get("rest")
        if not out or not (frame or rest):
            return out
        last = out[-1]
        data = fill(last["data"], rest) if rest else last["data"]
        name: Any = last["event"]
        if frame.get("legacy"):
            name, data = legacy(name, data, frame)
        if frame.get("untyped"):
            data = {key: value for key, value in data.items() if key != "event_type"}
        out[-1] = {"event": frame.get("event", name), "data": data, **frame.get("beside", {})}
        return out

    # ---- events -----------------------------------------------------------------------------------------------------

    def _events(self, kind: str, event: Event, frame: Node) -> list[Event]:
        if self.failed and not self.own:
            return self._after_error(event)
        if kind in TERMINAL:
            return self._terminal(event, frame)
        if kind == "response.created":
            return self._created(event, frame)
        if kind in ("response.in_progress", "response.queued"):
            return self._progress(event)
        if kind == "error":
            return self._error(event)
        if (type(event.get("output_index")) is not int and kind not in EVENT_TYPES) or "output_index" not in event:
            return []
        if event.get("choice"):
            # It is unknown whether its item will ever be done.
            self.w.report(event, (), "lost", "google-interactions returns one response", "output.choices")
            return []
        if self.own:
            return self._item(kind, event, frame)
        return self._in_turn(event)

    def _interaction(self, response: Node, status: str | None) -> Node:
        """An interaction without its steps, which are streamed."""
        self.w.doc = response
        streamed = not self.own or self.w.form(response, "steps") == "streamed"
        self.w.context.update(answer={"output": self.items}, streamed=streamed)
        wire: Node = self.w.piece(lambda c, w: write_head(c, w, status), response)
        self.w.context.update(answer=None, streamed=False)
        return wire

    def _created(self, event: Event, frame: Node) -> list[Event]:
        response = event["response"]
        self.id = response.get("id") or ""
        self.w.seed = str(self.id) or self.w.seed
        interaction = self._interaction(response, "in_progress")
        if self.own:
            return [wire_event("interaction.created", {"interaction": interaction})]
        interaction.setdefault("id", self.id)
        interaction.pop("usage", None)  # the end has it
        update = {"interaction_id": self.id, "status": interaction["status"]}
        return [
            wire_event("interaction.created", {"interaction": interaction}),
            wire_event("interaction.status_update", update),
        ]

    def _progress(self, event: Event) -> list[Event]:
        if not self.own:
            return []  # sent when it was created
        wire: Node = self.w.piece(write_update, event["response"])
        return [wire_event("interaction.status_update", wire)]

    def _terminal(self, event: Event, frame: Node) -> list[Event]:
        out = [] if self.own else self._finish_all()
        if not self.own:
            self.late.report(event["response"], self.w)
        self.over = True
        interaction = self._interaction(event["response"], None)
        if not self.own:
            interaction.setdefault("id", self.id)
        return [*out, wire_event("interaction.completed", {"interaction": interaction})]

    def _error(self, event: Event) -> list[Event]:
        self.over = self.failed = True
        out = [] if self.own else self._finish_all()
        node = event.get("error")
        if type(node) is not dict:
            node = {key: value for key, value in event.items() if key not in ("type", "sequence_number")}
        self.w.context["class"] = node.get("type")
        wire = self.w.piece(write_error_body, node)
        return [*out, wire_event("error", {"error": wire})]

    def _after_error(self, event: Event) -> list[Event]:
        """Nothing: an `error` event ends a stream. Only the usage was not sent before."""
        if event["type"] in TERMINAL and event["response"].get("usage"):
            self.w.report(event, ("response", "usage"), "lost", "an error event ends the stream")
        return []

    # ---- one step after the other -----------------------------------------------------------------------------------

    def _in_turn(self, event: Event) -> list[Event]:
        """Now, if the event's step is the open one; else it waits for its turn."""
        return [wire for each in self.turn.feed(event) for wire in self._item(each["type"], each, {})]

    def _finish_all(self) -> list[Event]:
        """Steps that were not closed."""
        out = self._stop()
        for events in self.turn.rest():
            out += [wire for each in events for wire in self._item(each["type"], each, {})]
            out += self._stop()
        return out

    def _stop(self) -> list[Event]:
        open_, self.steps = self.steps, {}
        return [wire_event("step.stop", {"index": step.index}) for step in open_.values() if step.started]

    def _item(self, kind: str, event: Event, frame: Node) -> list[Event]:
        place = event["output_index"]
        if kind == "response.output_item.added":
            return self._added(place, event["item"], frame)
        if kind == "response.output_item.done":
            return self._done(place, event["item"], frame)
        step = self.steps.get(place)
        if step is None or not (step.started or self.own):
            return []
        out = [] if self.own else self._apart(kind, event, step)
        out += self._inside(kind, event, step, frame)
        self._note(event)
        return out

    def _apart(self, kind: str, event: Event, step: Sent) -> list[Event]:
        """A text after another text would go on with it: it gets a step of its own."""
        part = event.get("content_index", 0)
        if kind == "response.content_part.added" and has_media(event.get("part") or {}):
            step.open = None
        elif kind in _TEXTS:
            before, step.open = step.open, part
            if before not in (None, part):
                return self._again(step)
        return []

    def _added(self, place: int, item: Node, frame: Node) -> list[Event]:
        step = self.steps[place] = Sent(item)
        if self.own:
            step.index = place
            wire = frame["content"] if "content" in frame and not frame.get("legacy") else self._start(item)
            return [wire_event("step.start", {"index": place, "step": wire})]
        wire = opening(item)
        if wire is None:
            return []
        if wire["type"] == "function_call" and item.get("opaque"):
            # Before the call, as in documents, if it is signed by now: clients part calls with something between them.
            step.carried = carriers(announced(item), self.w)
        return [*(each for thought in step.carried for each in self._whole(thought)), *self._open(step, wire)]

    def _start(self, item: Node) -> Node:
        """The step as it was before its deltas."""
        wire = write_step({**item, "arguments": "{}"} if item.get("arguments") == "" else item, self.w)[0]
        if item.get("type") == "message" and wire.get("content") == []:
            wire = {key: value for key, value in wire.items() if key != "content"}
        return dict(wire)

    def _inside(self, kind: str, event: Event, step: Sent, frame: Node) -> list[Event]:
        index = step.index
        if kind in _TEXTS and event.get("delta"):
            if kind == "response.refusal.delta":
                self.w.report(event, ("delta",), "approximated", "sent as text")
            return [wire_delta(index, {"text": event["delta"], "type": "text"})]
        if kind in _TEXTS and self.own:
            return [wire_delta(index, {"text": event.get("delta"), "type": "text"})]
        if kind in _THOUGHTS and (event.get("delta") or self.own):
            return [wire_delta(index, {"type": "thought_summary", "content": {"text": event["delta"], "type": "text"}})]
        if kind in _ARGUMENTS and (event.get("delta") or self.own) and step.item.get("type") != "custom_tool_call":
            return [wire_delta(index, {"arguments": event["delta"], "type": "arguments_delta"})]
        if kind == "response.output_text.annotation.added" and type(event.get("annotation")) is dict:
            part = event.get("content_index", 0)
            step.cited[part] = step.cited.get(part, 0) + 1
            if not self.own and part in step.texts and part != step.open:
                report_late([event["annotation"]], self.w)
                return []
            return [wire_delta(index, self._annotations(event["output_index"], [event["annotation"]], frame, event))]
        if kind == "response.content_part.added":
            return self._media(event.get("part") or {}, index)
        if kind == "response.reasoning_summary_part.added" and _is_picture(event):
            return [
                wire_delta(index, {"type": "thought_summary", "content": wire})
                for wire in self.w.nodes(summaries, (event["part"],))
            ]
        return []

    def _media(self, part: Node, index: int) -> list[Event]:
        if part.get("type") in ("output_text", "refusal", None) or not has_media(part):
            return []
        return [wire_delta(index, wire) for wire in self.w.nodes(model_parts, (part,))]

    def _annotations(self, place: int, found: list[Node], frame: Node, event: Event | None = None) -> Node:
        step = self.steps.get(place)
        part = (event or {}).get("content_index", max(step.texts, default=0) if step else 0)
        self.w.context["span"] = step.span(part) if step else Span("")
        return {"type": frame.get("delta", "text_annotation_delta"), "annotations": self.w.nodes(citations, found)}

    def _note(self, event: Event) -> None:
        """Remember what of an item was sent."""
        step = self.steps.get(event["output_index"])
        kind = event["type"]
        if step is None:
            return
        part = event.get("content_index", 0)
        if kind in _TEXTS:
            step.texts.setdefault(part, []).append(event.get("delta") or "")
        elif kind in _THOUGHTS:
            step.thoughts = step.thoughts or bool(event.get("delta"))
        elif kind == "response.reasoning_summary_part.added":
            step.thoughts = step.thoughts or _is_picture(event)
        elif kind in _ARGUMENTS:
            step.args = step.args or bool(event.get("delta"))
        elif kind == "response.content_part.added" and has_media(event.get("part") or {}):
            step.media.add(part)


def _is_picture(event: Event) -> bool:
    """Whether a part of a summary is sent at once, and not in deltas."""
    return (event.get("part") or {}).get("type") not in ("summary_text", None)
