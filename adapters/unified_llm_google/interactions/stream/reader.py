"""Reading a stream of Interactions.

One wire event is one canonical event, the primary one; what the wire leaves out (parts that open and close, `done`
events) is made and marked synthetic, so that our own writer prints the primary ones alone. A signature and the payload
of a hosted tool's step come as deltas that mean nothing before their step is whole: they are held, become part of the
item that is done, and the frame of its event notes which keys they brought. An interaction that completes names no
steps; its output is what was streamed. Events of older servers (`content.start`, ...) are read as the newer ones.

https://ai.google.dev/gemini-api/docs/interactions#streaming
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unified_llm.engine.pairs.mapping import ILL_TYPED, IllTyped, Owned, lookup, remainder, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.streams.collect_and_decompose import FRAME
from unified_llm.streams.event_fast_path import ReadMore

from ..errors import read_error_body
from ..parts import citations, summaries
from ..response import note_pending, read_response
from ..turns.steps import steps
from ..turns.timeline import unsealed
from ..values.usage import read_usage
from .fast_path import Plain
from .held_calls import HeldCalls
from .steps import ARGUMENTS, MEDIA, Step

__all__ = ["LEGACY", "StreamReader"]

Event = dict[str, Any]
Node = dict[str, Any]

LEGACY = {
    "interaction.start": "interaction.created",
    "content.start": "step.start",
    "content.delta": "step.delta",
    "content.stop": "step.stop",
    "interaction.complete": "interaction.completed",
}
_TERMINAL = {
    "failed": "response.failed",
    "cancelled": "response.failed",
    "incomplete": "response.incomplete",
    "budget_exceeded": "response.incomplete",
    "requires_continuation": "response.incomplete",
}
_TRUNCATED = {
    "type": "server_error",
    "code": "stream_truncated",
    "message": "the stream ended before the interaction did",
}


class StreamReader:
    """Wire events to canonical events."""

    def __init__(self, reader: Reader) -> None:
        self.r = reader
        self.steps: dict[int, Step] = {}
        self.done: dict[int, Node] = {}
        self.holding: Step | None = None
        self.calls = HeldCalls(reader)
        self.plain: Plain | None = None  # the last delta of text, as a template for the next one
        self.opened = self.ended = self.failed = False

    def feed(self, event: Event) -> list[Event]:
        plain, self.plain = self.plain, None
        if plain is not None and not plain.asked:
            same = plain.same(event)
            if same is not None:
                self.plain = plain
                return [same]
        data = event["data"]
        if type(data) is not dict or self.ended:
            return [*self._flush(), self._unknown_event(event)]
        kind = data.get("event_type", "error" if "error" in data else event["event"])
        handler = _HANDLERS.get(kind) if type(kind) is str else None
        if handler is None:
            return [*self._flush(), self._unknown_event(event)]
        mark = len(self.r.trace)
        rest = data.copy()
        rest.pop("event_type", None)
        before = self._before(kind, data) if self.holding is not None or not self.opened else []
        try:
            events = handler(self, rest, data, event)
        except ILL_TYPED:
            del self.r.trace[mark:]
            return [*before, self._unknown_event(event)]
        if before and not self.opened:
            self.opened = True
        return self.calls.feed(before + events)

    def read_more(self) -> ReadMore | None:
        if self.plain is None:
            return None
        self.plain.asked = True
        return self.plain.more

    def close(self) -> list[Event]:
        out = [*self._flush(), *self.calls.release()]
        if not self.ended and not self.failed:
            self.failed = True
            out.append(self._synthetic({"type": "error", "error": dict(_TRUNCATED)}))
        return out

    # ---- frames, for the writer of this protocol alone (`Reader.frames`) --------------------------------------------

    def _synthetic(self, event: Event) -> Event:
        if self.r.frames:
            event["extra"] = {self.r.protocol: {"frame": {"synthetic": True}}}
        return event

    def _whole(self, event: Event) -> Event:
        """A frame that means nothing to the others."""
        if not self.r.frames:
            return {"type": FRAME}
        frame = {"event": event.get("event"), "data": event["data"]}
        beside = {key: value for key, value in event.items() if key not in frame}
        return {
            "type": FRAME,
            "extra": {self.r.protocol: {"frame": {**frame, **({"beside": beside} if beside else {})}}},
        }

    def _unknown_event(self, event: Event) -> Event:
        """The frame of an unknown event: what it held is reported for other protocols."""
        found = self._whole(event)
        if type(event["data"]) is dict:
            self.r.extra(found)["rest"] = event["data"]
            self.r.made(found, event["data"])
        return found

    def _primary(self, node: Event, rest: Node, data: Node, event: Event, **frame: Any) -> Event:
        """The canonical event of a frame: what is left of the frame, and the forms it had."""
        if rest:
            self.r.keep(node, rest)
        if self.r.frames:
            kind = data.get("event_type")
            if kind in LEGACY:
                frame["legacy"] = True
            if "event_type" not in data:
                frame["untyped"] = True
            if event.get("event") != kind or kind is None:
                frame["event"] = event.get("event")
            if len(event) > 2 or "event" not in event:
                frame["beside"] = {key: value for key, value in event.items() if key not in ("event", "data")}
            if frame:
                self.r.extra(node)["frame"] = frame
        return self.r.made(node, data)

    def _before(self, kind: Any, data: Node) -> list[Event]:
        """What has to come first: held frames that do not wait any longer, and an opening that was not announced."""
        out: list[Event] = []
        holding = self.holding
        if holding is not None:
            waits = data.get("index") == holding.index and (
                LEGACY.get(kind, kind) == "step.stop" or holding.takes(data.get("delta"))
            )
            if not waits:
                out = self._flush()
        if not self.opened and LEGACY.get(kind, kind) not in ("interaction.created", "error"):
            self.opened = True
            out.append(self._synthetic({"type": "response.created", "response": {"status": "in_progress"}}))
        return out

    def _flush(self) -> list[Event]:
        holding, self.holding = self.holding, None
        if holding is None:
            return []
        held, holding.held = holding.held, []
        return [self._whole(event) for event, _ in held]

    # ---- the interaction --------------------------------------------------------------------------------------------

    def _response(self, rest: Node, final: bool) -> Node:
        source = rest["interaction"]
        inner = take(rest, "interaction")
        self.r.context.update(at=("interaction",), input=inner.get("input"))
        response = read_response(inner, self.r)
        if final and "output" not in response:
            response["output"] = unsealed([self.done[index] for index in sorted(self.done)], self.r)
            self.r.form(response, "steps", "streamed")
            note_pending(response, self.r)
        left = remainder(inner)
        del rest["interaction"]
        if left:
            self.r.keep(response, left)
        return self.r.made(response, source)

    def _created(self, rest: Node, data: Node, event: Event) -> list[Event]:
        response = self._response(rest, False)
        self.opened = True
        self.r.seed = response.get("id") or ""
        return [self._primary({"type": "response.created", "response": response}, rest, data, event, own=True)]

    def _updated(self, rest: Node, data: Node, event: Event) -> list[Event]:
        status = rest.get("status")
        response: Node = {}
        if rest.get("interaction_id") == "":
            del rest["interaction_id"]
            self.r.form(response, "id", "empty")
        for key, hub in (("interaction_id", "id"), ("status", "status"), ("continuation_token", "continuation_token")):
            if key in rest:
                response[hub] = rest.pop(key)
        if type(rest.get("usage")) is dict:
            self._usage(rest, response)
        kind = "response.queued" if status == "queued" else "response.in_progress"
        return [self._primary({"type": kind, "response": self.r.made(response, data)}, rest, data, event)]

    def _usage(self, rest: Node, node: Node) -> None:
        source = rest["usage"]
        usage = take(rest, "usage")
        node["usage"] = read_usage(usage, source, self.r)
        if usage:
            self.r.keep(node["usage"], usage)
        del rest["usage"]

    def _completed(self, rest: Node, data: Node, event: Event) -> list[Event]:
        out: list[Event] = []
        for index in sorted(self.steps):
            out += [self._synthetic(each) for each in self._close(self.steps.pop(index))]
        response = self._response(rest, True)
        self.ended = self.opened = True
        kind = lookup(_TERMINAL, response.get("status"), "response.completed")
        return [*out, self._primary({"type": kind, "response": response}, rest, data, event)]

    def _error(self, rest: Node, data: Node, event: Event) -> list[Event]:
        source = rest["error"]
        if type(source) is dict and not source.keys() & {"code", "message"}:
            return [self._unknown_event(event)]  # seen in the wild, and not the end
        inner = take(rest, "error")
        error = read_error_body(inner, self.r)
        if inner:
            self.r.keep(error, inner)
        del rest["error"]
        self.failed = True
        return [self._primary({"type": "error", "error": self.r.made(error, source)}, rest, data, event, own=True)]

    # ---- steps ------------------------------------------------------------------------------------------------------

    def _start(self, rest: Node, data: Node, event: Event) -> list[Event]:
        legacy = "content" in rest and "step" not in rest
        key = "content" if legacy else "step"
        wire = rest[key]
        del rest[key]
        index = rest.pop("index")
        if type(wire) is not dict or type(index) is not int:
            raise IllTyped("step")
        frame: Node = {}
        if legacy and wire.get("type") not in steps.reads:
            frame["content"] = wire
            said = (type(wire.get("text")) is str and wire["text"]) or len(wire.keys() - {"type", "text"})
            wire = {"type": "model_output", **({"content": [wire]} if said else {})}
        step = Step(index, wire, self.r, key)
        self.steps[index] = step
        events: list[Event] = []
        contents = wire.get("content")
        if step.speaks and type(contents) is list:
            for content in contents:
                events += self._content(step, content)
            frame["count"] = len(events) + 1
        added = {"type": "response.output_item.added", "output_index": index, "item": step.opening}
        return [self._primary(added, rest, data, event, **frame), *events]

    def _content(self, step: Step, content: Any) -> list[Event]:
        """The events of a content that is there from the start."""
        part = self.r.node(step.mapping, content)
        if part["type"] != step.text_type:
            return [*step.close_part(), *step.media(part)]
        text = {key: value for key, value in part.items() if key != "annotations"}
        out = [*step.close_part(), *step.open_part({**text, "text": ""})]
        if part["text"]:
            out.append(step.text_delta(part["text"]))
        for annotation in part.get("annotations") or ():
            out.append(step.annotation(annotation))
        return out

    def _delta(self, rest: Node, data: Node, event: Event) -> list[Event]:
        step = self.steps[rest["index"]]
        del rest["index"]
        delta = take(rest, "delta")
        kind = delta.get("type")
        if kind == "text" and step.speaks:
            out = [self._synthetic(each) for each in step.open_part()] if step.text is None else []
            step.say(self.r, "delta")
            del delta["type"]
            text = delta.pop("text")
            if type(text) is not str:
                raise IllTyped("text")
            return [*out, self._text(step.text_delta(text), step.text, rest, data, event)]
        if kind in MEDIA and step.speaks:
            out = [self._synthetic(each) for each in step.close_part()]
            step.say(self.r, "delta")
            added, done = step.media(self.r.node(step.mapping, data["delta"]))
            del rest["delta"]
            return [*out, self._primary(added, rest, data, event), self._synthetic(done)]
        if kind in ("text_annotation_delta", "text_annotation") and step.speaks:
            return self._annotations(step, delta, rest, data, event)
        if kind == "thought_summary" and step.kind == "thought":
            return self._summary(step, delta, rest, data, event)
        if kind == "arguments_delta" and step.kind in ARGUMENTS and type(delta.get("arguments")) is str:
            step.sources.setdefault(("arguments",), self.r.here("delta", "arguments"))
            del delta["type"]
            return [self._text(step.arguments_delta(delta.pop("arguments")), step.args, rest, data, event)]
        if step.takes(data["delta"]):
            step.hold(event, delta, rest, self.r)
            self.holding = step
            return []
        raise IllTyped("delta")

    def _text(self, node: Event, said: list[str] | None, rest: Node, data: Node, event: Event) -> Event:
        """The event of a delta, and the template it is for those that follow."""
        found = self._primary(node, rest, data, event)
        held = self.calls.holds(data["index"])
        if "extra" not in found and said is not None and not held and _is_usual(event, data):
            like = {key: value for key, value in found.items() if key != "delta"}
            self.plain = Plain(data["index"], data["delta"]["type"], like, said.append)
        return found

    def _annotations(self, step: Step, delta: Owned | Node, rest: Node, data: Node, event: Event) -> list[Event]:
        out = [self._synthetic(each) for each in step.open_part()] if step.text is None else []
        self.r.context["span"] = step.span
        found = self.r.nodes(citations, delta["annotations"])
        if not found:
            raise IllTyped("annotations")
        spelled = {"delta": delta["type"]} if delta["type"] != "text_annotation_delta" else {}
        del delta["type"], delta["annotations"]
        events = [step.annotation(annotation) for annotation in found]
        self._primary(events[0], rest, data, event, count=len(events), **spelled)
        return [*out, *events]

    def _summary(self, step: Step, delta: Owned | Node, rest: Node, data: Node, event: Event) -> list[Event]:
        content = take(delta, "content")
        del delta["type"]
        if content.get("type") == "text" and type(content.get("text")) is str:
            out = [self._synthetic(each) for each in step.open_summary()] if step.text is None else []
            step.say(self.r, "delta", "content")
            del content["type"]
            return [*out, self._text(step.summary_delta(content.pop("text")), step.text, rest, data, event)]
        out = [self._synthetic(each) for each in step.close_summary()]
        step.say(self.r, "delta", "content")
        added, done = step.picture(self.r.node(summaries, data["delta"]["content"]))
        del delta["content"]
        return [*out, self._primary(added, rest, data, event), self._synthetic(done)]

    def _stop(self, rest: Node, data: Node, event: Event) -> list[Event]:
        step = self.steps.pop(rest["index"])
        del rest["index"]
        *made, done = self._close(step)
        frame = {"deltas": step.frames()} if step.held else {}
        self.holding = None
        return [*[self._synthetic(each) for each in made], self._primary(done, rest, data, event, **frame)]

    def _close(self, step: Step) -> list[Event]:
        out = step.finish()
        item = self.done[step.index] = step.item(self.r)
        if step.kind == "function_call":
            said = {"output_index": step.index, "arguments": item.get("arguments")}
            out.append({"type": "response.function_call_arguments.done", **said})
        out.append({"type": "response.output_item.done", "output_index": step.index, "item": item})
        return out


def _is_usual(event: Event, data: Node) -> bool:
    """Whether a frame of a delta is named as the API names them, with nothing beside its data."""
    return len(event) == 2 and event["event"] == "step.delta" == data.get("event_type")


Handler = Callable[[StreamReader, Node, Node, Event], list[Event]]
_HANDLERS: dict[str, Handler] = {
    "interaction.created": StreamReader._created,
    "interaction.status_update": StreamReader._updated,
    "step.start": StreamReader._start,
    "step.delta": StreamReader._delta,
    "step.stop": StreamReader._stop,
    "interaction.completed": StreamReader._completed,
    "error": StreamReader._error,
}
_HANDLERS.update({older: _HANDLERS[newer] for older, newer in LEGACY.items()})
