"""One choice of a chunked stream: which items its deltas open, build and close.

An item is closed as soon as something else begins, calls excepted (`stream_calls.py`), so that the items are in the
order in which the model spoke. What nobody understands adds up and goes to the first item when the choice ends.
"""

from __future__ import annotations

from typing import Any

from unified_llm.jsonvalue import dump_text
from unified_llm.mapping import Owned, Reader
from unified_llm.provenance import is_sealed, opaque_piece, open_sealed

from .content import citations
from .messages import AUDIO_KEYS
from .reasoning import THINKING, detail_text
from .response import message_and_choice
from .stream_calls import Calls
from .stream_merge import merged, merged_details
from .tables import REASONING_FIELDS

__all__ = ["ChoiceReader", "copied", "terminal_type"]

Event = dict[str, Any]
Node = dict[str, Any]
Path = list[Any]

_INCOMPLETE = ("length", "context_window", "safety", "recitation", "pause")
_FAILED = ("error", "malformed_call", "cancelled")


def terminal_type(finish: Node | None) -> str:
    reason = finish["reason"] if finish else None
    if reason in _INCOMPLETE:
        return "response.incomplete"
    return "response.failed" if reason in _FAILED else "response.completed"


def copied(value: Any) -> Any:
    if type(value) is dict:
        return {key: copied(inner) for key, inner in value.items()}
    return [copied(inner) for inner in value] if type(value) is list else value


class _Open:
    """An open message or reasoning item: its place, its parts with their text so far."""

    __slots__ = ("at", "details", "fields", "item", "parts", "sealed", "wire")

    def __init__(self, at: Node, item: Node, wire: Node) -> None:
        self.at = at
        self.item = item
        self.wire = wire
        self.parts: list[tuple[Node, list[str]]] = []
        self.fields: list[str] = []
        self.details: list[Any] = []
        self.sealed: str | None = None

    def part(self, kind: str) -> int | None:
        return next((i for i, (part, _) in enumerate(self.parts) if part["type"] == kind), None)


_STEMS = {
    "output_text": "response.output_text",
    "refusal": "response.refusal",
    "reasoning_text": "response.reasoning_text",
    "output_audio": "response.output_audio",
}
_VALUES = {"output_text": "text", "refusal": "refusal", "reasoning_text": "text", "output_audio": "data"}


class ChoiceReader:
    """The state of one choice."""

    def __init__(self, index: int, reader: Reader) -> None:
        self.index = index
        self.r = reader
        self.ended = False
        self.finish_node: Node | None = None
        self.open: _Open | None = None
        self.calls = Calls(self)
        self.items: list[Node] = []
        self.count = 0
        self.message: Node = {}
        self.rest: Node = {}
        self.logprobs: Node = {}
        self.content: str | None = None
        self.open_fragments: list[str] = []

    def feed(self, wire: Node, path: Path, left: Node, events: list[Event], slots: list[list[Any]]) -> None:
        """The events of one choice of a chunk; `left` is the copy that canonical values are taken out of."""
        delta = wire["delta"]
        d, dpath = left["delta"], [*path, "delta"]
        self._reasoning(delta, d, dpath, wire, events, slots)
        content = delta.get("content")
        logprobs = wire.get("logprobs")
        if type(content) is str:
            if content:
                event = self._text("output_text", content, wire, events)
                slots.append([len(events) - 1, ["delta"], [*dpath, "content"]])
                del d["content"]
                if type(logprobs) is dict and type(logprobs.get("content")) is list:
                    event["logprobs"] = logprobs["content"]
            elif self.content is None:
                self.content = ""
        elif type(content) is list:
            self._list(content, d["content"], [*dpath, "content"], wire, events, slots)
        if type(delta.get("refusal")) is str and delta["refusal"]:
            event = self._text("refusal", delta["refusal"], wire, events)
            slots.append([len(events) - 1, ["delta"], [*dpath, "refusal"]])
            del d["refusal"]
            if type(logprobs) is dict and type(logprobs.get("refusal")) is list:
                event["logprobs"] = logprobs["refusal"]
        if type(delta.get("audio")) is dict:
            self._audio(delta["audio"], d["audio"], [*dpath, "audio"], wire, events, slots)
        if type(delta.get("annotations")) is list and delta["annotations"]:
            self._annotations(delta["annotations"], events)
        if type(delta.get("tool_calls")) is list:
            for place, fragment in enumerate(delta["tool_calls"]):
                if type(fragment) is dict:
                    self.calls.fragment(
                        fragment, d["tool_calls"][place], [*dpath, "tool_calls", place], wire, events, slots
                    )
        if type(delta.get("function_call")) is dict:
            self.calls.legacy_call(
                delta["function_call"], d["function_call"], [*dpath, "function_call"], wire, events, slots
            )
        self._keep(delta, wire, logprobs)
        if wire.get("finish_reason") and not self.ended:
            self.finish(wire, events)

    def _keep(self, delta: Node, wire: Node, logprobs: Any) -> None:
        """What nobody understands of a delta adds up like everything else in it."""
        for key, value in delta.items():
            if key not in _UNDERSTOOD or (value is None and key in _NULLS and key not in self.message):
                self.message = merged(self.message, {key: value})
        for key, value in wire.items():
            if key not in ("index", "delta", "logprobs", "finish_reason"):
                if value is not None or key not in self.rest:
                    self.rest[key] = value
        if type(logprobs) is dict:
            for key, value in logprobs.items():
                if type(value) is list:
                    self.logprobs[key] = [*(self.logprobs.get(key) or ()), *value]
                else:
                    self.logprobs.setdefault(key, value)
        elif "logprobs" in wire and not self.logprobs:
            self.rest["logprobs"] = logprobs

    # ---- text ----------------------------------------------------------------------------------------------------

    def event(self, kind: str, at: Node, **fields: Any) -> Event:
        return {"type": kind, **({"choice": self.index} if self.index else {}), **at, **fields}

    def place(self) -> Node:
        at = {"output_index": self.count}
        self.count += 1
        self.items.append({})
        return at

    def _begin(self, item: Node, wire: Node, events: list[Event]) -> _Open:
        self.close_open(events)
        if item["type"] == "message":
            self.calls.close(events, only_whole=True)
        self.open = _Open(self.place(), item, wire)
        announced = {**item, "content": []}
        events.append(self.event("response.output_item.added", self.open.at, item=announced))
        return self.open

    def _text(self, kind: str, text: str, wire: Node, events: list[Event]) -> Event:
        """A delta of text of this kind; opens what is not open yet."""
        bearer = "reasoning" if kind == "reasoning_text" else "message"
        open_ = self.open
        if open_ is None or open_.item["type"] != bearer:
            item: Node = (
                {"type": bearer, "role": "assistant"} if bearer == "message" else {"type": bearer, "summary": []}
            )
            open_ = self._begin(item, wire, events)
        place = open_.part(kind)
        if place is None:
            place = self._part(open_, {"type": kind, _VALUES[kind]: ""}, events)
        fragments = self.open_fragments = open_.parts[place][1]
        fragments.append(text)
        event = self.event(f"{_STEMS[kind]}.delta", open_.at, content_index=place, delta=text)
        events.append(event)
        return event

    def _part(self, open_: _Open, part: Node, events: list[Event]) -> int:
        open_.parts.append((part, []))
        place = len(open_.parts) - 1
        events.append(self.event("response.content_part.added", open_.at, content_index=place, part=dict(part)))
        return place

    def _reasoning(
        self, delta: Node, d: Node, path: Path, wire: Node, events: list[Event], slots: list[list[Any]]
    ) -> None:
        fields = [field for field in REASONING_FIELDS if type(delta.get(field)) is str and delta[field]]
        details = delta.get("reasoning_details")
        details = details if type(details) is list and details else None
        if type(delta.get("reasoning_opaque")) is str:
            if self.open is not None and self.open.item["type"] == "reasoning":
                self.open.sealed = delta["reasoning_opaque"]
            else:
                self.message = merged(self.message, {"reasoning_opaque": delta["reasoning_opaque"]})
        if not fields and details is None:
            return
        texts = [detail_text(detail)[0] for detail in details or ()]
        # Beside a field that holds the text, details only repeat it.
        told = self.open is not None and self.open.item["type"] == "reasoning" and bool(self.open.fields)
        text = delta[fields[0]] if fields else "" if told else "".join(texts)
        if text:
            self._text("reasoning_text", text, wire, events)
            number = len(events) - 1
            for field in fields:
                if delta[field] == text:
                    slots.append([number, ["delta"], [*path, field]])
                    del d[field]
            if details is not None and texts == [text]:
                key = "text" if "text" in details[0] else "summary"
                slots.append([number, ["delta"], [*path, "reasoning_details", 0, key]])
                del d["reasoning_details"][0][key]
        elif self.open is None or self.open.item["type"] != "reasoning":
            last = next((item for item in reversed(self.items) if item), None)
            if last is not None and last.get("type") != "reasoning":
                self.message = merged(self.message, {"reasoning_details": details})
                return
            self._begin({"type": "reasoning", "summary": []}, wire, events)
        if self.open is not None:
            self.open.fields += [field for field in fields if field not in self.open.fields]
            if details is not None:
                self.open.details = merged_details(self.open.details, details)

    def _list(
        self, content: list[Any], left: Any, path: Path, wire: Node, events: list[Event], slots: list[list[Any]]
    ) -> None:
        """Content as a list of chunks: thinking chunks and text."""
        for place, chunk in enumerate(content):
            kind = chunk.get("type") if type(chunk) is dict else None
            if kind == "text" and type(chunk.get("text")) is str and chunk["text"]:
                self._text("output_text", chunk["text"], wire, events)
                slots.append([len(events) - 1, ["delta"], [*path, place, "text"]])
                del left[place]["text"]
            elif kind == THINKING and type(chunk.get(THINKING)) is list:
                for inner, piece in enumerate(chunk[THINKING]):
                    if type(piece) is dict and type(piece.get("text")) is str and piece["text"]:
                        self._text("reasoning_text", piece["text"], wire, events)
                        slots.append([len(events) - 1, ["delta"], [*path, place, THINKING, inner, "text"]])
                        del left[place][THINKING][inner]["text"]
                        if self.open is not None and THINKING not in self.open.fields:
                            self.open.fields.append(THINKING)

    def _audio(
        self, audio: Node, left: Node, path: Path, wire: Node, events: list[Event], slots: list[list[Any]]
    ) -> None:
        if not any(audio.values()):
            self.message = merged(self.message, {"audio": audio})
            return
        open_ = self.open
        if open_ is None or open_.item["type"] != "message":
            open_ = self._begin({"type": "message", "role": "assistant"}, wire, events)
        place = open_.part("output_audio")
        if place is None:
            place = self._part(open_, {"type": "output_audio"}, events)
        part, fragments = open_.parts[place]
        for key in AUDIO_KEYS:
            value = audio.get(key)
            if value is None:
                continue
            if key == "data" and type(value) is str:
                fragments.append(value)
                events.append(self.event("response.output_audio.delta", open_.at, content_index=place, delta=value))
            elif key == "transcript" and type(value) is str:
                part[key] = part.get(key, "") + value
                kind = "response.output_audio_transcript.delta"
                events.append(self.event(kind, open_.at, content_index=place, delta=value))
            else:
                part[key] = value
                continue
            slots.append([len(events) - 1, ["delta"], [*path, key]])
            del left[key]

    def _annotations(self, wires: list[Any], events: list[Event]) -> None:
        open_ = self.open
        place = open_.part("output_text") if open_ is not None else None
        if open_ is None or place is None:
            self._late_annotations(wires)
            return
        part = open_.parts[place][0]
        for node in self.r.nodes(citations, wires):
            index = len(part.setdefault("annotations", []))
            part["annotations"].append(node)
            kind = "response.output_text.annotation.added"
            at = {**open_.at, "content_index": place, "annotation_index": index}
            events.append(self.event(kind, at, annotation=node))

    def _late_annotations(self, wires: list[Any]) -> None:
        """Sources that come when the text is closed: only the whole answer can still hold them."""
        for item in reversed(self.items):
            for part in item["content"] if item.get("type") == "message" else ():
                if part["type"] == "output_text":
                    part["annotations"] = [*(part.get("annotations") or ()), *self.r.nodes(citations, wires)]
                    return
        self.message = merged(self.message, {"annotations": wires})

    def close_open(self, events: list[Event]) -> None:
        open_, self.open = self.open, None
        if open_ is None:
            return
        item = open_.item
        content = []
        for place, (part, fragments) in enumerate(open_.parts):
            kind, key = part["type"], _VALUES[part["type"]]
            if fragments or kind != "output_audio":
                part[key] = "".join(fragments)
            at = {**open_.at, "content_index": place}
            if kind in ("output_text", "refusal") and "logprobs" not in part:
                found = self.logprobs.pop("content" if kind == "output_text" else "refusal", None)
                if found is not None:
                    part["logprobs"] = found
            if kind == "output_audio":
                events.append(self.event("response.output_audio.done", at))
                events.append(
                    self.event("response.output_audio_transcript.done", at, transcript=part.get("transcript", ""))
                )
            else:
                events.append(self.event(f"{_STEMS[kind]}.done", at, **{key: part[key]}))
            events.append(self.event("response.content_part.done", at, part=part))
            content.append(part)
        if content or item["type"] == "message":
            item["content"] = content
        if item["type"] == "reasoning":
            self._seal_reasoning(open_)
        self.done(open_.at, self.r.made(item, open_.wire), events)

    def _seal_reasoning(self, open_: _Open) -> None:
        r, item = self.r, open_.item
        sealed = [detail for detail in open_.details if type(detail) is dict and is_sealed(detail.get("data"))]
        opened = open_sealed(sealed[0]["data"]) if len(sealed) == 1 else None
        if opened is not None and opened.get("type") == "reasoning":
            item.clear()
            item.update(opened)
            return
        fields = open_.fields or ["reasoning_details"]
        r.form(item, "field", fields[0])
        if len(fields) > 1:
            r.form(item, "also", fields[1:])
        if open_.details:
            data = dump_text(open_.details)
            item["opaque"] = [opaque_piece("reasoning_details", data, r.protocol, r.model)]
        if open_.sealed is not None:
            item.setdefault("opaque", []).append(opaque_piece("reasoning_opaque", open_.sealed, r.protocol, r.model))

    def done(self, at: Node, item: Node, events: list[Event]) -> None:
        self.items[at["output_index"]] = item
        events.append(self.event("response.output_item.done", at, item=item))

    # ---- the end -------------------------------------------------------------------------------------------------

    def finish(self, wire: Node, events: list[Event]) -> None:
        """The choice ends: everything open is closed, and what is left over goes to the first item."""
        self.ended = True
        self.close_open(events)
        self.calls.close(events)
        if not self.items:
            open_ = self._begin({"type": "message", "role": "assistant"}, wire, events)
            del open_
            self.close_open(events)
        items = self.output()
        rest: Node = {"index": self.index, **self.rest, "finish_reason": wire.get("finish_reason")}
        if self.logprobs:
            rest["logprobs"] = self.logprobs
        message = rest["message"] = Owned(self.message)
        has_text = any(
            part["type"] == "output_text" for item in items if item["type"] == "message" for part in item["content"]
        )
        if not has_text and not any(item["type"] == "message" and item["content"] == "" for item in items):
            self.r.form(
                items[0], "content", "empty" if self.content == "" else "null" if "content" in message else "absent"
            )
        message.pop("content", None)
        for item in items:
            for part in item["content"] if item["type"] == "message" else ():
                if message.get(part["type"], 0) is None:
                    del message[part["type"]]
        self.finish_node = message_and_choice(items, rest, message, wire, self.index, self.r)

    def output(self) -> list[Node]:
        return [item for item in self.items if item]


_NULLS = frozenset(("content", "refusal", "audio", "tool_calls", "function_call"))
_UNDERSTOOD = frozenset(
    (
        *"content refusal audio annotations tool_calls function_call reasoning_details reasoning_opaque".split(),
        *REASONING_FIELDS,
    )
)
