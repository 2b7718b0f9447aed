"""One choice being written as deltas: what was sent, what waits, and what the end still owes.

The role goes out with the first delta. Text goes out at once; calls one after the other; sources and envelopes at
the end. An item that is done is weighed as a whole by the pairs that write answers, so that a stream reports the
losses a whole answer would.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from unified_llm.engine.pairs.writing import Writer

from ...logprobs import trimmed
from ..turns.answer_message import answer_items, complete_audio, is_answered, leave_answered_call, message_fields
from ..turns.messages import AUDIO_KEYS, write_call, write_legacy_call
from ..turns.reasoning import numbered_behind, seal_message, write_reasoning
from ..turns.tags import TAGS
from ..values.tables import REASONING_FIELDS
from .late_annotations import Annotations

__all__ = ["HOT", "ChoiceWriter", "More"]

Event = dict[str, Any]
Node = dict[str, Any]
Delta = tuple[Node, Any]

_TEXT = {"response.output_text.delta": "content", "response.refusal.delta": "refusal"}
_REASONING = frozenset(
    ("response.reasoning_text.delta", "response.reasoning.delta", "response.reasoning_summary_text.delta")
)
_ARGUMENTS = frozenset(("response.function_call_arguments.delta", "response.custom_tool_call_input.delta"))
HOT = frozenset(("response.output_text.delta", "response.function_call_arguments.delta", *_REASONING))
_CALLS = frozenset(("function_call", "custom_tool_call"))


class Call:
    """A call that was announced: what was sent of it, and what waits for the calls before it."""

    __slots__ = ("closed", "index", "key", "kind", "legacy", "pieces", "waiting")

    def __init__(self, index: int, kind: str, legacy: bool) -> None:
        self.index = index
        self.kind = kind
        self.key = "input" if kind == "custom" else "arguments"
        self.legacy = legacy
        self.pieces: list[str] = []
        self.waiting: list[Node] = []
        self.closed = False


class More(NamedTuple):
    """What a delta goes on with: the key of its text, and the call, if it is one's."""

    key: str
    call: Call | None = None


class ChoiceWriter:
    """The state of one choice."""

    def __init__(self, index: int, writer: Writer) -> None:
        self.index = index
        self.w = writer
        self.begun = False
        self.glue = ""
        # The items that are done, how many of them are messages, and whether one of these is shown.
        self.items: list[Node] = []
        self.messages_done = 0
        self.shown = False
        # How long the texts are that are done, with the glue between them, and whether one began.
        self.length = 0
        self.spoke = False
        self.messages = 0
        self.calls: dict[int, Call] = {}
        # The calls that are not closed, as far as that is known, in order: the first of them sends.
        self.open_calls: deque[Call] = deque()
        # The parts of reasoning that were sent, by item, type and place.
        self.reasoned: set[tuple[Any, ...]] = set()
        self.reasoned_places: set[int] = set()
        # Whether a tag that opens reasoning waits for the one that closes it.
        self.tagged = False
        self.annotations = Annotations()
        self.tail: Node = {}
        self.texted: set[int] = set()
        self.audio: Node = {}
        self.beside: Node = {}
        self.done_places: set[int] = set()
        # The places of items that have no form here: nothing of them goes out, and their end reports it.
        self.mute: set[int] = set()
        self.details = 0
        # The places whose deltas had log probabilities, and whether the one audio part of an answer was written.
        self.weighed: set[int] = set()
        self.heard = False

    def feed(self, event: Event) -> list[Delta]:
        kind = event["type"]
        if self.mute and event.get("output_index", 0) in self.mute and kind != "response.output_item.done":
            return []
        if kind in _TEXT:
            return self._text(_TEXT[kind], event)
        if kind in _REASONING:
            return self._reasoning(event)
        if kind in _ARGUMENTS:
            return self._arguments(event)
        if kind == "response.output_item.added":
            return self._added(event)
        if kind == "response.output_item.done":
            return self._done(event.get("item") or {}, event.get("output_index", 0))
        if kind == "response.output_audio.delta":
            return self._sound("data", event["delta"])
        if kind == "response.output_audio_transcript.delta":
            return self._sound("transcript", event["delta"])
        if kind == "response.content_part.added" and (event.get("part") or {}).get("id"):
            return self._sound("id", event["part"]["id"])
        return []

    def _sound(self, key: str, value: Any) -> list[Delta]:
        if self.heard:
            return []
        self.audio[key] = True
        return self._first({"audio": {key: value}})

    def _first(self, delta: Node, logprobs: Any = None) -> list[Delta]:
        """A delta, with the role before it if it is the first."""
        if self.begun:
            return [(delta, logprobs)]
        self.begun = True
        if "tool_calls" in delta:
            return [({"role": "assistant", "content": None, **delta}, logprobs)]
        return [({"role": "assistant", "content": "", "refusal": None}, None), (delta, logprobs)]

    # ---- text ----------------------------------------------------------------------------------------------------

    def _text(self, key: str, event: Event) -> list[Delta]:
        found = event.get("logprobs")
        logprobs = None
        if found:
            side = "content" if key == "content" else "refusal"
            logprobs = {"content": None, "refusal": None, side: trimmed(found)}
            self.weighed.add(event.get("output_index", 0))
        text = event["delta"]
        if not text and not found:
            return []
        self.texted.add(event.get("output_index", 0))
        if key == "content":
            text = self.glue + text
            self.length += len(self.glue)
            self.glue = ""
            self.spoke = True
        return self._first({key: text}, logprobs)

    def _field(self) -> str:
        """Where reasoning goes; between tags it goes where the text does."""
        field: str = self.w.dialect.get("reasoning_field") or "reasoning_content"
        return "content" if field == TAGS else field if field in REASONING_FIELDS else "reasoning_content"

    def _reasoning(self, event: Event) -> list[Delta]:
        text = event["delta"]
        if not text:
            return []
        field, opening = self._field(), ""
        if field == "content" and not self.tagged:
            opening = self.w.dialect["reasoning_tags"][0]
            self.tagged = True
        at = (event.get("output_index", 0), event["type"], event.get("summary_index"), event.get("content_index"))
        if at not in self.reasoned and self.reasoned:
            text = "\n\n" + text
        self.reasoned.add(at)
        self.reasoned_places.add(at[0])
        return self._first({field: opening + text})

    def _untagged(self) -> list[Delta]:
        """The tag behind reasoning that was sent between tags."""
        if not self.tagged:
            return []
        self.tagged = False
        return self._first({"content": self.w.dialect["reasoning_tags"][1]})

    # ---- calls ---------------------------------------------------------------------------------------------------

    def _added(self, event: Event) -> list[Delta]:
        item = event.get("item") or {}
        kind = item.get("type")
        if kind == "message" and item.get("role") in ("assistant", None):
            self.messages += 1
            if self.messages > 1 and self.spoke:
                self.glue = "\n\n"
            return []
        if kind not in _CALLS or is_answered(item, (), self.w):
            if kind != "reasoning":
                self.mute.add(event.get("output_index", 0))
            return []
        return self._open_call(item, event.get("output_index", 0))

    def _open_call(self, item: Node, place: int) -> list[Delta]:
        legacy = bool(self.w.form(item, "legacy"))
        call = Call(len(self.calls), "custom" if item["type"] == "custom_tool_call" else "function", legacy)
        self.calls[place] = call
        self.open_calls.append(call)
        inner = {"name": item.get("name"), call.key: ""}
        if legacy:
            return self._in_turn(call, {"function_call": inner})
        wire = {"index": call.index, "id": item.get("call_id"), "type": call.kind, call.kind: inner}
        return self._in_turn(call, {"tool_calls": [wire]})

    def _arguments(self, event: Event) -> list[Delta]:
        call = self.calls.get(event.get("output_index", 0))
        if call is None or not event["delta"]:
            return []
        call.pieces.append(event["delta"])
        return self._in_turn(call, self._fragment(call, event["delta"]))

    def _fragment(self, call: Call, text: str) -> Node:
        if call.legacy:
            return {"function_call": {"arguments": text}}
        return {"tool_calls": [{"index": call.index, call.kind: {call.key: text}}]}

    def _in_turn(self, call: Call, delta: Node) -> list[Delta]:
        """Now, if no earlier call is still open; else it waits."""
        if self._speaking() in (None, call):
            return self._first(delta)
        call.waiting.append(delta)
        return []

    def _speaking(self) -> Call | None:
        """The first call that is not closed."""
        while self.open_calls and self.open_calls[0].closed:
            self.open_calls.popleft()
        return self.open_calls[0] if self.open_calls else None

    def _close_call(self, call: Call) -> list[Delta]:
        """What waited for the end of a call: nothing, unless it was the sending one."""
        out: list[Delta] = []
        was, call.closed = self._speaking(), True
        while was is not None:
            for delta in was.waiting:
                out += self._first(delta)
            was.waiting = []
            if not was.closed:
                break
            self.open_calls.popleft()
            was = self.open_calls[0] if self.open_calls else None
        return out

    def more(self, event: Event) -> More | None:
        """How a delta goes on that may be followed by its next piece without a look."""
        place = event.get("output_index", 0)
        if event["type"] in _REASONING:
            return More(self._field())
        if event["type"] == "response.output_text.delta":
            return More("content") if place in self.texted and not self.glue else None
        call = self.calls.get(place)
        if call is None or call.legacy or call.kind != "function":
            return None
        return More("arguments", call) if call is self._speaking() else None

    # ---- items ---------------------------------------------------------------------------------------------------

    def _done(self, item: Node, place: int) -> list[Delta]:
        if place in self.done_places:
            return []
        self.done_places.add(place)
        if not self.items and self.w.source is None and self.w.form(item, "turn") != "choice":
            # Of another protocol, or built by hand, as for an answer in one piece.
            self.w.source = ""
        self.items.append(item)
        self.annotations.done(place, item)
        kind, w = item.get("type"), self.w
        self.messages_done += kind == "message"
        if kind == "message" and item.get("role") in ("assistant", None):
            self.shown = True
            return self._message_done(item, place)
        if kind == "reasoning":
            fields = write_reasoning([item], w, late=(id(item),) if self.shown else ())
            if "tagged" in fields:
                return self._reasoning_done(item, place)
            text = next((fields[key] for key in REASONING_FIELDS if fields.get(key)), "")
            if "content" in fields and self.w.form(item, "field") == "thinking":
                self.w.too_late(item, "a delta holds text only")
            out: list[Delta] = []
            if text and place not in self.reasoned_places:
                key = "response.reasoning_text.delta"
                out += self._reasoning({"type": key, "output_index": place, "delta": text})
            late: Node = {key: fields[key] for key in ("reasoning_details", "reasoning_opaque") if key in fields}
            if "reasoning_details" in late:
                late["reasoning_details"] = self._numbered(late["reasoning_details"])
            return out + (self._first(late) if late else [])
        if is_answered(item, (), w):
            leave_answered_call(item, w)
            return []
        if kind in _CALLS:
            return self._call_done(item, place)
        w.native(item, answer_items.name, answer_items.cannots.get(kind, "") if type(kind) is str else "")
        return []

    def _reasoning_done(self, item: Node, place: int) -> list[Delta]:
        """The end of reasoning between tags, all of it where no delta had it."""
        out: list[Delta] = []
        if place not in self.reasoned_places:
            parts = [*(item.get("summary") or ()), *(item.get("content") or ())]
            text = "\n\n".join(part["text"] for part in parts if type(part.get("text")) is str)
            out += self._reasoning({"type": "response.reasoning_text.delta", "output_index": place, "delta": text})
        return out + self._untagged()

    def _message_done(self, item: Node, place: int) -> list[Delta]:
        w = self.w
        out: list[Delta] = []
        w.context.update(offset=self.length, heard=self.heard)
        fields = w.piece(message_fields, item)
        del w.context["offset"]
        self.heard = w.context.pop("heard")
        if self.messages_done > 1:
            w.report(item, (), "approximated", "joined with the message before", "item.turn")
        if place not in self.texted:
            for key in ("text", "refusal"):
                if fields.get(key):
                    kind = "response.output_text.delta" if key == "text" else "response.refusal.delta"
                    out += self._text(_TEXT[kind], {"output_index": place, "delta": fields[key]})
        for key in ("content", "refusal"):
            if fields.get(f"{key} logprobs") and place not in self.weighed:
                out += self._first({key: ""}, {"content": None, "refusal": None, key: fields[f"{key} logprobs"]})
        self.annotations.add(place, fields.get("annotations"), self.length)
        self.length += len(fields.get("text") or "")
        if "parts" in fields:
            for part in item.get("content") or ():
                self.w.too_late(part, "a delta holds text only")
        if fields.get("images"):
            out += self._first({"images": fields["images"]})
        audio = fields.get("audio") or {}
        late = {key: audio[key] for key in AUDIO_KEYS if key in audio and key not in self.audio}
        if audio and w.crosses:
            complete_audio(late, w, audio.get("data"), self.audio)
        if late:
            out += self._first({"audio": late})
        if w.context.pop("signed", None):
            self.tail.setdefault("reasoning_details", []).append(seal_message(item, w))
        return out

    def _numbered(self, details: list[Any]) -> list[Any]:
        """The SDK's accumulator requires an index in every object of a list, and joins those that share one."""
        out = []
        for detail in numbered_behind(details, self.details):
            if type(detail) is dict and type(detail.get("index")) is not int:
                detail = {**detail, "index": self.details}
            index = detail["index"] if type(detail) is dict else 0
            self.details = max(self.details, index) + 1
            out.append(detail)
        return out

    def _call_done(self, item: Node, place: int) -> list[Delta]:
        out: list[Delta] = []
        call = self.calls.get(place)
        if call is None:
            out += self._open_call(item, place)
            call = self.calls[place]
        if call.legacy:
            self.w.piece(write_legacy_call, item)
            written: Node = {}
        else:
            written = next(iter(write_call(item, self.w)), {})
        text = item.get(call.key) or ""
        sent = "".join(call.pieces)
        if text.startswith(sent) and text != sent:
            out += self._in_turn(call, self._fragment(call, text[len(sent) :]))
        late = {key: value for key, value in written.items() if key not in ("index", "id", "type", call.kind)}
        if late:
            # The SDK's helper breaks down on a fragment without its function.
            fragment = {"index": call.index, call.kind: {call.key: ""}, **late}
            out += self._in_turn(call, {"tool_calls": [fragment]})
        return out + self._close_call(call)

    def close(self, output: list[Node]) -> list[Delta]:
        """What the end of the choice still owes: items that were only in the terminal event, sources, envelopes."""
        out: list[Delta] = []
        for place, item in enumerate(output):
            if place not in self.done_places and len(self.items) < len(output):
                out += self._done(item, place)
        for call in self.calls.values():
            if not call.closed:
                out += self._close_call(call)
        annotations = self.annotations.all(output, self.w)
        if annotations:
            out += self._first({"annotations": annotations})
        if self.tail:
            if "reasoning_details" in self.tail:
                # Numbered when they go: an accumulator requires them in order.
                self.tail["reasoning_details"] = self._numbered(self.tail["reasoning_details"])
            out += self._first(self.tail)
        kept = dict(((output[0] if output else {}).get("extra") or {}).get(self.w.protocol, {}).get("turn") or {})
        if kept and self.w.form(output[0], "turn") == "choice":
            message = kept.pop("message", None)
            self.beside = kept
            if message:
                out += self._first(message)
        if not self.begun:
            self.begun = True
            out.append(({"role": "assistant", "content": "", "refusal": None}, None))
        return out
