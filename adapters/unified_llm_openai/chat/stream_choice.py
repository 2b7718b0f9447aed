"""One choice of a chunked stream: which items its deltas open, build and close.

Items are closed as soon as something else begins, calls excepted: fragments of parallel calls may interleave, so a call
stays open until its arguments are whole and another begins, or the choice ends. A fragment belongs to the call with
its id, else to the last one under its index, else to the last one; a new id, or a new name after whole arguments, is a new
call whatever its index. A call is announced once its id and name are known.
"""

from __future__ import annotations

from typing import Any

from unified_llm.jsonvalue import dump_text, load_text
from unified_llm.mapping import Owned, Reader

from .content import annotations
from .messages import AUDIO_KEYS
from .reasoning import THINKING, detail_text
from .response import message_and_choice
from .stream_merge import merged, merged_details
from .tables import REASONING_FIELDS
from .tools import call_id_of, calls

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

    __slots__ = ("at", "details", "fields", "item", "parts", "wire")

    def __init__(self, at: Node, item: Node, wire: Node) -> None:
        self.at = at
        self.item = item
        self.wire = wire
        self.parts: list[tuple[Node, list[str]]] = []
        self.fields: list[str] = []
        self.details: list[Any] = []

    def part(self, kind: str) -> int | None:
        return next((i for i, (part, _) in enumerate(self.parts) if part["type"] == kind), None)


class _Call:
    """A call being gathered."""

    __slots__ = ("arguments", "at", "done", "id", "index", "item", "kind", "marker", "name", "rest", "waiting")

    def __init__(self, index: Any) -> None:
        self.index = index
        self.id: str | None = None
        self.name: str | None = None
        self.kind = "function"
        self.arguments: list[str] = []
        self.waiting = ""
        self.rest: Node = {}
        self.at: Node | None = None
        self.item: Node | None = None
        self.done = False
        self.marker: str | None = None

    def whole(self) -> bool:
        text = "".join(self.arguments)
        if not text.rstrip().endswith("}"):
            return False
        try:
            return type(load_text(text)) is dict
        except ValueError:
            return False


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
        self.calls: list[_Call] = []
        self.items: list[Node] = []
        self.count = 0
        self.message: Node = {}
        self.rest: Node = {}
        self.logprobs: Node = {}
        self.content: str | None = None
        self.legacy: _Call | None = None
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
                    self._fragment(fragment, d["tool_calls"][place], [*dpath, "tool_calls", place], wire, events, slots)
        if type(delta.get("function_call")) is dict:
            self._legacy(delta["function_call"], d["function_call"], [*dpath, "function_call"], wire, events, slots)
        self._keep(delta, wire, logprobs)
        if wire.get("finish_reason") and not self.ended:
            self.finish(wire, events)

    def _keep(self, delta: Node, wire: Node, logprobs: Any) -> None:
        """What nobody understands of a delta adds up like everything else in it."""
        for key, value in delta.items():
            if key not in _UNDERSTOOD or value is None and key != "content" and key not in self.message:
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

    def _event(self, kind: str, at: Node, **fields: Any) -> Event:
        return {"type": kind, **({"choice": self.index} if self.index else {}), **at, **fields}

    def _place(self) -> Node:
        at = {"output_index": self.count}
        self.count += 1
        self.items.append({})
        return at

    def _begin(self, item: Node, wire: Node, events: list[Event]) -> _Open:
        self._close_open(events)
        if item["type"] == "message":
            self._close_calls(events, only_whole=True)
        self.open = _Open(self._place(), item, wire)
        announced = {**item, "content": []}
        events.append(self._event("response.output_item.added", self.open.at, item=announced))
        return self.open

    def _text(self, kind: str, text: str, wire: Node, events: list[Event]) -> Event:
        """A delta of text of this kind; opens what is not open yet."""
        bearer = "reasoning" if kind == "reasoning_text" else "message"
        open_ = self.open
        if open_ is None or open_.item["type"] != bearer:
            item: Node = {"type": bearer, "role": "assistant"} if bearer == "message" else {"type": bearer, "summary": []}
            open_ = self._begin(item, wire, events)
        place = open_.part(kind)
        if place is None:
            place = self._part(open_, {"type": kind, _VALUES[kind]: ""}, events)
        fragments = self.open_fragments = open_.parts[place][1]
        fragments.append(text)
        event = self._event(f"{_STEMS[kind]}.delta", open_.at, content_index=place, delta=text)
        events.append(event)
        return event

    def _part(self, open_: _Open, part: Node, events: list[Event]) -> int:
        open_.parts.append((part, []))
        place = len(open_.parts) - 1
        events.append(self._event("response.content_part.added", open_.at, content_index=place, part=dict(part)))
        return place

    def _reasoning(
        self, delta: Node, d: Node, path: Path, wire: Node, events: list[Event], slots: list[list[Any]]
    ) -> None:
        fields = [field for field in REASONING_FIELDS if type(delta.get(field)) is str and delta[field]]
        details = delta.get("reasoning_details")
        details = details if type(details) is list and details else None
        if not fields and details is None:
            return
        texts = [detail_text(detail)[0] for detail in details or ()]
        text = delta[fields[0]] if fields else "".join(texts)
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
                events.append(self._event("response.output_audio.delta", open_.at, content_index=place, delta=value))
            elif key == "transcript" and type(value) is str:
                part[key] = part.get(key, "") + value
                kind = "response.output_audio_transcript.delta"
                events.append(self._event(kind, open_.at, content_index=place, delta=value))
            else:
                part[key] = value
                continue
            slots.append([len(events) - 1, ["delta"], [*path, key]])
            del left[key]

    def _annotations(self, wires: list[Any], events: list[Event]) -> None:
        open_ = self.open
        place = open_.part("output_text") if open_ is not None else None
        if open_ is None or place is None:
            self.message = merged(self.message, {"annotations": wires})
            return
        part = open_.parts[place][0]
        for node in self.r.nodes(annotations, wires):
            index = len(part.setdefault("annotations", []))
            part["annotations"].append(node)
            kind = "response.output_text.annotation.added"
            at = {**open_.at, "content_index": place, "annotation_index": index}
            events.append(self._event(kind, at, annotation=node))

    def _close_open(self, events: list[Event]) -> None:
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
                events.append(self._event("response.output_audio.done", at))
                events.append(self._event("response.output_audio_transcript.done", at, transcript=part.get("transcript", "")))
            else:
                events.append(self._event(f"{_STEMS[kind]}.done", at, **{key: part[key]}))
            events.append(self._event("response.content_part.done", at, part=part))
            content.append(part)
        if content or item["type"] == "message":
            item["content"] = content
        if item["type"] == "reasoning":
            self._seal_reasoning(open_)
        self._done(open_.at, self.r.made(item, open_.wire), events)

    def _seal_reasoning(self, open_: _Open) -> None:
        from unified_llm.provenance import opaque_piece

        r, item = self.r, open_.item
        fields = open_.fields or ["reasoning_details"]
        r.form(item, "field", fields[0])
        if len(fields) > 1:
            r.form(item, "also", fields[1:])
        if open_.details:
            data = dump_text(open_.details)
            item["opaque"] = [opaque_piece("reasoning_details", data, r.protocol, r.model)]

    def _done(self, at: Node, item: Node, events: list[Event]) -> None:
        self.items[at["output_index"]] = item
        events.append(self._event("response.output_item.done", at, item=item))

    # ---- calls ---------------------------------------------------------------------------------------------------

    def _fragment(
        self, fragment: Node, left: Node, path: Path, wire: Node, events: list[Event], slots: list[list[Any]]
    ) -> None:
        custom = type(fragment.get("custom")) is dict
        inner = fragment.get("custom") if custom else fragment.get("function")
        inner = inner if type(inner) is dict else {}
        call_id = fragment.get("id")
        call_id = call_id if type(call_id) is str and call_id else None
        name = inner.get("name")
        name = name if type(name) is str and name else None
        call = self._find(fragment.get("index"), call_id, name)
        if call is None:
            self._close_open(events)
            self._close_calls(events, only_whole=True)
            call = _Call(fragment.get("index"))
            call.kind = "custom" if custom else "function"
            self.calls.append(call)
        opened = call.at is not None
        if call_id is not None and call.id is None:
            call.id = call_id
        if name is not None and call.name is None:
            call.name = name
        for key, value in fragment.items():
            if key not in ("index", "id", "type", "function", "custom"):
                call.rest = merged(call.rest, {key: value})
        value = inner.get("input" if custom else "arguments")
        text = value if type(value) is str else dump_text(value) if type(value) is dict else ""
        if not opened and call.id is not None and call.name is not None:
            self._announce(call, events)
            if "custom" in fragment or "function" in fragment:
                key = "custom" if custom else "function"
                if inner.get("name") == call.name:
                    slots.append([len(events) - 1, ["item", "name"], [*path, key, "name"]])
                    del left[key]["name"]
            if fragment.get("id") == call.id:
                slots.append([len(events) - 1, ["item", "call_id"], [*path, "id"]])
                del left["id"]
            if call.waiting:
                self._arguments(call, call.waiting, events)
                call.waiting = ""
        if not text or call.done:
            return
        if call.at is None:
            call.arguments.append(text)
            call.waiting += text
            return
        call.arguments.append(text)
        self._arguments(call, text, events)
        if type(value) is str:
            key = "custom" if custom else "function"
            slots.append([len(events) - 1, ["delta"], [*path, key, "input" if custom else "arguments"]])
            del left[key]["input" if custom else "arguments"]

    def _find(self, index: Any, call_id: str | None, name: str | None) -> _Call | None:
        """The call a fragment goes on with; None when it begins one."""
        if call_id is not None:
            for call in self.calls:
                if call.id == call_id:
                    return call
        last = None
        for call in self.calls:
            if index is None or call.index == index:
                last = call
        if last is None:
            return None
        if call_id is not None:
            return last if last.id is None else None
        if name is not None and last.name is not None and (index is None or name != last.name or last.whole()):
            return None if last.whole() or index is None else last
        return last

    def _announce(self, call: _Call, events: list[Event]) -> None:
        call.at = self._place()
        key = "input" if call.kind == "custom" else "arguments"
        type_ = "custom_tool_call" if call.kind == "custom" else "function_call"
        item = {"type": type_, "call_id": call.id, "name": call.name, key: ""}
        events.append(self._event("response.output_item.added", call.at, item=item))

    def _arguments(self, call: _Call, text: str, events: list[Event]) -> None:
        stem = "response.custom_tool_call_input" if call.kind == "custom" else "response.function_call_arguments"
        events.append(self._event(f"{stem}.delta", call.at or {}, delta=text))

    def _close_calls(self, events: list[Event], *, only_whole: bool = False) -> None:
        for call in self.calls:
            if call.done or (only_whole and not call.whole()):
                continue
            if call.name is None or (only_whole and call.at is None):
                continue
            if call.id is None:
                call.id = call_id_of(self.r.seed, self.index, self.calls.index(call))
                call.marker = "absent"
            if call.at is None:
                self._announce(call, events)
                if call.waiting:
                    self._arguments(call, call.waiting, events)
            call.done = True
            item = self._call_item(call)
            if item["type"] == "function_call":
                done = self._event("response.function_call_arguments.done", call.at or {}, arguments=item["arguments"])
            else:
                done = self._event("response.custom_tool_call_input.done", call.at or {}, input=item.get("input", ""))
            events.append(done)
            self._done(call.at or {}, item, events)

    def _call_item(self, call: _Call) -> Node:
        text = "".join(call.arguments)
        if call is self.legacy:
            item: Node = {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": text or "{}"}
            self.r.form(item, "legacy", True)
            if not text:
                self.r.form(item, "arguments", "empty")
            return item
        key = "input" if call.kind == "custom" else "arguments"
        wire = {"id": call.id, "type": call.kind, call.kind: {"name": call.name, key: text}, **call.rest}
        item = call.item = self.r.node(calls, wire)
        if call.marker:
            self.r.form(item, "id", call.marker)
        return item

    def _legacy(
        self, wire: Node, left: Node, path: Path, choice: Node, events: list[Event], slots: list[list[Any]]
    ) -> None:
        call = self.legacy
        if call is None:
            self._close_open(events)
            call = self.legacy = _Call(object())
            call.id = call_id_of(self.r.seed, "legacy", self.index)
            self.calls.append(call)
        if type(wire.get("name")) is str and wire["name"] and call.name is None:
            call.name = wire["name"]
            self._announce(call, events)
            slots.append([len(events) - 1, ["item", "name"], [*path, "name"]])
            del left["name"]
        text = wire.get("arguments")
        if type(text) is str and text and call.at is not None:
            call.arguments.append(text)
            self._arguments(call, text, events)
            slots.append([len(events) - 1, ["delta"], [*path, "arguments"]])
            del left["arguments"]

    # ---- the end -------------------------------------------------------------------------------------------------

    def finish(self, wire: Node, events: list[Event]) -> None:
        """The choice ends: everything open is closed, and what is left over goes to the first item."""
        self.ended = True
        self._close_open(events)
        self._close_calls(events)
        if not self.items:
            open_ = self._begin({"type": "message", "role": "assistant"}, wire, events)
            del open_
            self._close_open(events)
        items = self.output()
        rest: Node = {"index": self.index, **self.rest, "finish_reason": wire.get("finish_reason")}
        if self.logprobs:
            rest["logprobs"] = self.logprobs
        message = rest["message"] = Owned(self.message)
        has_text = any(part["type"] == "output_text" for item in items if item["type"] == "message" for part in item["content"])
        if not has_text and not any(item["type"] == "message" and item["content"] == "" for item in items):
            self.r.form(items[0], "content", "empty" if self.content == "" else "null" if "content" in message else "absent")
        message.pop("content", None)
        self.finish_node = message_and_choice(items, rest, message, wire, self.index, self.r)

    def output(self) -> list[Node]:
        return [item for item in self.items if item]


_UNDERSTOOD = frozenset(
    ("content", "refusal", "audio", "annotations", "tool_calls", "function_call", "reasoning_details", *REASONING_FIELDS)
)
