"""One choice of a chunked stream: which items its deltas open, build and close.

An item is closed as soon as something else begins, calls excepted (`call_fragments.py`), so that the items are in the
order of the model's output. What is not understood adds up and goes to the first item when the choice ends.
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Owned
from unified_llm.engine.pairs.reading import Reader

from ..parts.content import are_pictures, citations, pictures
from ..response import message_and_choice
from ..turns.messages import AUDIO_KEYS
from ..turns.tags import Scanner
from .call_fragments import Calls
from .items import NULLS, TYPES, UNDERSTOOD, VALUES, Open, is_void, is_whole, not_streamed, overtake
from .merge import Fragments
from .reasoning import ReasoningReader

__all__ = ["ChoiceReader"]

Event = dict[str, Any]
Node = dict[str, Any]
Path = list[Any]
Sources = dict[tuple[Any, ...], tuple[Any, ...]]

_STEMS = {
    "output_text": "response.output_text",
    "refusal": "response.refusal",
    "reasoning_text": "response.reasoning_text",
    "output_audio": "response.output_audio",
}


class ChoiceReader(ReasoningReader):
    """The state of one choice."""

    def __init__(self, index: int, reader: Reader) -> None:
        self.index = index
        self.r = reader
        self.ended = False
        self.reason: Any = None
        self.finish_node: Node | None = None
        self.open: Open | None = None
        self.calls = Calls(self)
        self.items: list[Node] = []
        self.messages: list[Node] = []
        self.count = 0
        self.message: Node = {}
        self.fragments = Fragments()  # what it consists of
        self.rest: Node = {}
        self.logprobs: Node = {}
        self.content: str | None = None
        tags = reader.dialect.get("reasoning_tags")
        self.scanner = Scanner(*tags) if tags is not None else None
        self.open_fragments: list[str] = []
        # Sources that came before the text they are about, each list with its place.
        self.early: list[tuple[list[Any], tuple[Any, ...]]] = []
        # The choice in the chunk that is read now, its path, and where the pieces that add up came from first.
        self.wire: Node = {}
        self.path: Path = []
        # The key of its delta.
        self.key = "delta"
        # What of it is not understood and does not add up: known keys with odd values, a second end.
        self.odd: Node = {}
        self.sources: Sources = {}

    def feed(self, wire: Node, path: Path, events: list[Event], slots: list[list[Any]]) -> None:
        """The events of one choice of a chunk; `slots` are where canonical values stand in that."""
        self.wire, self.path, self.odd = wire, path, {}
        self.key = "message" if is_whole(wire) and not self.items and not self.ended else "delta"
        delta = wire.get(self.key, {})
        self.sources.setdefault((), self.r.here(*path))
        dpath = [*path, self.key]
        self._reasoning(delta, dpath, events, slots)
        content = delta.get("content")
        logprobs = wire.get("logprobs")
        if type(content) is str:
            if content and self.scanner is not None and self.scanner.state != "outside":
                self._tagged(content, dpath, events, slots)
            elif content:
                event = self._text("output_text", content, events, "content")
                slots.append([len(events) - 1, ["delta"], [*dpath, "content"]])
                if type(logprobs) is dict and type(logprobs.get("content")) is list:
                    event["logprobs"] = logprobs["content"]
                    self._logprobs("content")
            elif self.content is None:
                self.content = ""
        elif type(content) is list:
            self._list(content, [*dpath, "content"], events, slots)
        if type(delta.get("refusal")) is str and delta["refusal"]:
            event = self._text("refusal", delta["refusal"], events, "refusal")
            slots.append([len(events) - 1, ["delta"], [*dpath, "refusal"]])
            if type(logprobs) is dict and type(logprobs.get("refusal")) is list:
                event["logprobs"] = logprobs["refusal"]
                self._logprobs("refusal")
        if type(delta.get("audio")) is dict:
            self._audio(delta["audio"], [*dpath, "audio"], events, slots)
        if are_pictures(delta.get("images")):
            self._pictures(delta["images"], events)
        elif delta.get("images"):
            self.add("images", delta["images"])
        if type(delta.get("annotations")) is list and delta["annotations"]:
            self._annotations(delta["annotations"], events)
        if type(delta.get("tool_calls")) is list:
            odd: list[Any] = []
            for place, fragment in enumerate(delta["tool_calls"]):
                if type(fragment) is dict:
                    at = [*dpath, "tool_calls", place]
                    odd.append(self.calls.fragment(fragment, at, events, slots))
                else:
                    odd.append(fragment or {})
            if any(odd):
                self._say_odd("tool_calls", odd)
        if type(delta.get("function_call")) is dict:
            if left := self.calls.legacy_call(delta, dpath, events, slots):
                self._say_odd("function_call", left)
        self._keep(delta, wire, logprobs)
        if wire.get("finish_reason") and not self.ended:
            self.reason = wire["finish_reason"]
            self.finish(wire, events)
        elif wire.get("finish_reason") not in (None, self.reason):
            self.odd["finish_reason"] = wire["finish_reason"]

    def _keep(self, delta: Node, wire: Node, logprobs: Any) -> None:
        """What is not understood of a delta adds up like everything else in it."""
        for key, value in delta.items():
            if key not in UNDERSTOOD or (key in NULLS and self.message.get(key) is None and is_void(key, value)):
                if key == "role" and value != self.message.get(key, value):
                    self._say_odd(key, value)
                self.add(key, value)
            elif key in TYPES and value and type(value) not in TYPES[key]:
                self._say_odd(key, value)
        for key, value in wire.items():
            if key == "message" and type(value) is dict:
                if key != self.key and (odd := not_streamed(value, self.items, self.open, self.calls.gathered())):
                    self.odd[key] = odd
            elif key not in ("index", "delta", "logprobs", "finish_reason"):
                known = self.rest.get(key)
                if self.ended and value not in (None, {}, known):
                    self.odd[key] = value
                elif value not in (None, {}) or key not in self.rest:
                    if known != value or key not in self.rest:
                        overtake(self.sources, key, known, self.r.here(*self.path, key))
                    self.rest[key] = value
        if type(logprobs) is dict:
            self.sources.setdefault(("logprobs",), self.r.here(*self.path, "logprobs"))
            for key, value in logprobs.items():
                known = self.logprobs.get(key)
                if value and key not in _WEIGHED:
                    # Of a text that has none here (of reasoning): each piece is lost with it.
                    here = self.r.here(*self.path, "logprobs", key)
                    if self.sources.setdefault(("logprobs", key), here) != here:
                        self.sources["logprobs", key, len(self.sources)] = here
                if type(value) is list and (known is None or type(known) is list):
                    if known and value and self.open is not None:
                        self.open.sources["logprobs", key, len(known)] = self.r.here(*self.path, "logprobs", key)
                    if known is None:
                        known = self.logprobs[key] = []  # not the wire's: it grows
                    known += value
                else:
                    self.logprobs.setdefault(key, value)
        elif "logprobs" in wire and not self.logprobs:
            self.rest["logprobs"] = logprobs

    def _say_odd(self, key: str, value: Any) -> None:
        self.odd.setdefault(self.key, {})[key] = value

    def add(self, key: str, value: Any) -> None:
        """What is not understood of a delta; a text that grows is reported at its first place."""
        replaced = type(value) in (int, float, bool) and self.message.get(key) != value
        self.fragments.enter(self.message, key, value)
        here = self.r.here(*self.path, self.key, key)
        if self.sources.setdefault(("message", key), here) != here and (replaced or type(value) in (list, dict)):
            # Each of its pieces is lost with it.
            self.sources["message", key, len(self.sources)] = here

    def _logprobs(self, side: str) -> None:
        if self.open is not None:
            self.open.sources.setdefault(("logprobs", side), self.r.here(*self.path, "logprobs", side))

    # ---- text ----------------------------------------------------------------------------------------------------

    def event(self, kind: str, at: Node, **fields: Any) -> Event:
        if not self.index:
            return {"type": kind, **at, **fields}
        # A target that has no form for a second choice has none for each of its events.
        return self.r.made({"type": kind, "choice": self.index, **at, **fields}, self.wire)

    def place(self) -> Node:
        at = {"output_index": self.count}
        self.count += 1
        self.items.append({})
        return at

    def _begin(self, item: Node, events: list[Event]) -> Open:
        self.close_open(events)
        if item["type"] == "message":
            self.calls.close(events, only_whole=True)
        open_ = self.open = Open(self.place(), item)
        open_.sources[()] = self.r.here(*self.path)
        self.r.made(item, self.r.gather(open_.wire, open_.sources))
        announced = {**item, "content": []}
        events.append(self.event("response.output_item.added", open_.at, item=announced))
        return open_

    def _text(self, kind: str, text: str, events: list[Event], *keys: Any) -> Event:
        """A delta of text of this kind, from `keys` below the wire's; opens what is not open yet."""
        bearer = "reasoning" if kind == "reasoning_text" else "message"
        open_ = self.open
        if open_ is None or open_.item["type"] != bearer or open_.restored is not None:
            item: Node = (
                {"type": bearer, "role": "assistant"} if bearer == "message" else {"type": bearer, "summary": []}
            )
            open_ = self._begin(item, events)
        place = open_.part(kind)
        if place is None:
            place = self._part(open_, {"type": kind, VALUES[kind]: ""}, events, *keys)
        fragments = self.open_fragments = open_.parts[place][1]
        fragments.append(text)
        event = self.event(f"{_STEMS[kind]}.delta", open_.at, content_index=place, delta=text)
        events.append(event)
        return event

    def _part(self, open_: Open, part: Node, events: list[Event], *keys: Any) -> int:
        open_.parts.append((part, []))
        place = len(open_.parts) - 1
        kind = part["type"]
        open_.sources[(kind,)] = self.r.here(*self.path, self.key, *keys)
        self.r.made(part, open_.wire)
        for key, where in ((VALUES[kind], (kind,)), ("annotations", ("annotations",))):
            self.r.place(part, (key,), where)
        if kind in _SIDES:
            self.r.place(part, ("logprobs",), ("logprobs", _SIDES[kind]))
        events.append(self.event("response.content_part.added", open_.at, content_index=place, part=dict(part)))
        return place

    def _audio(self, audio: Node, path: Path, events: list[Event], slots: list[list[Any]]) -> None:
        if not any(audio.values()):
            self.add("audio", audio)
            return
        open_ = self.open
        if open_ is None or open_.item["type"] != "message":
            open_ = self._begin({"type": "message", "role": "assistant"}, events)
        place = open_.part("output_audio")
        if place is None:
            place = self._part(open_, {"type": "output_audio"}, events, "audio")
        part, fragments = open_.parts[place]
        odd = {key: value for key, value in audio.items() if key not in AUDIO_KEYS}
        if odd:
            self._say_odd("audio", odd)
        for key in AUDIO_KEYS:
            value = audio.get(key)
            if value is None:
                continue
            self.r.place(part, (key,), ("output_audio", key))
            open_.sources.setdefault(("output_audio", key), self.r.here(*path, key))
            if key == "data" and type(value) is str:
                fragments.append(value)
                events.append(self.event("response.output_audio.delta", open_.at, content_index=place, delta=value))
            elif key == "transcript" and type(value) is type(part.get(key, "")) is str:
                part[key] = part.get(key, "") + value
                kind = "response.output_audio_transcript.delta"
                events.append(self.event(kind, open_.at, content_index=place, delta=value))
            else:
                part[key] = value
                continue
            slots.append([len(events) - 1, ["delta"], [*path, key]])

    def _pictures(self, wires: list[Any], events: list[Event]) -> None:
        open_ = self.open
        if open_ is None or open_.item["type"] != "message":
            open_ = self._begin({"type": "message", "role": "assistant"}, events)
        for node in self.r.nodes(pictures, wires):
            open_.parts.append((node, []))
            at = {**open_.at, "content_index": len(open_.parts) - 1}
            events.append(self.event("response.content_part.added", at, part=dict(node)))

    def _annotations(self, wires: list[Any], events: list[Event]) -> None:
        open_ = self.open
        place = open_.part("output_text") if open_ is not None else None
        here = self.r.here(*self.path, self.key, "annotations")
        if open_ is None or place is None:
            if not self._late_annotations(wires):
                self.early.append((wires, here))
            return
        self._annotate(open_, place, wires, here, events)

    def _annotate(self, open_: Open, place: int, wires: list[Any], here: Any, events: list[Event]) -> None:
        part = open_.parts[place][0]
        open_.sources.setdefault(("annotations",), here)
        for node in self.r.nodes(citations, wires):
            index = len(part.setdefault("annotations", []))
            part["annotations"].append(node)
            kind = "response.output_text.annotation.added"
            at = {**open_.at, "content_index": place, "annotation_index": index}
            events.append(self.event(kind, at, annotation=node))

    def _late_annotations(self, wires: list[Any]) -> bool:
        """Sources that come when the text is closed: only the whole answer can hold them. False without a text."""
        for item in reversed(self.items):
            for part in item["content"] if item.get("type") == "message" else ():
                if part["type"] == "output_text":
                    part["annotations"] = [*(part.get("annotations") or ()), *self.r.nodes(citations, wires)]
                    return True
        return False

    def close_open(self, events: list[Event]) -> None:
        open_, self.open = self.open, None
        if open_ is None:
            return
        item = open_.item
        content = []
        for place, (part, fragments) in enumerate(open_.parts):
            kind, at = part["type"], {**open_.at, "content_index": place}
            content.append(part)
            if kind == "output_image":
                events.append(self.event("response.content_part.done", at, part=part))
                continue
            key = VALUES[kind]
            if fragments or kind != "output_audio":
                part[key] = "".join(fragments)
            while kind == "output_text" and self.early:
                self._annotate(open_, place, *self.early.pop(0), events)
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
        if content or item["type"] == "message":
            item["content"] = content
        if item["type"] == "reasoning":
            self._seal_reasoning(open_)
        self.done(open_.at, item, events)

    def done(self, at: Node, item: Node, events: list[Event]) -> None:
        self.items[at["output_index"]] = item
        events.append(self.event("response.output_item.done", at, item=item))

    # ---- the end -------------------------------------------------------------------------------------------------

    def close(self, events: list[Event]) -> None:
        """Close everything that is open: some servers go on sending behind the finish reason."""
        self.close_open(events)
        self.calls.close(events)

    def finish(self, wire: Node, events: list[Event]) -> None:
        """The choice ends: everything open is closed, and what is left over goes to the first item."""
        self.ended = True
        self._untold(events)
        self.close(events)
        for wires, here in self.early:
            self.sources.setdefault(("message", "annotations"), here)
            self.add("annotations", wires)
        if not self.items:
            self._begin({"type": "message", "role": "assistant"}, events)
            self.close_open(events)
        self._restore_messages()
        items = self.output()
        rest: Node = {"index": self.index, **self.rest, "finish_reason": wire.get("finish_reason")}
        if self.logprobs:
            rest["logprobs"] = self.logprobs
        if wire:
            self.sources[("finish_reason",)] = self.r.here(*self.path, "finish_reason")
        # The choice as it would have come in one piece.
        whole = self.r.gather({**rest, "message": self.message}, self.sources)
        message = rest["message"] = Owned(self.message)
        # What follows an end does not change what was gathered.
        self.message, self.fragments = dict(self.message), Fragments()
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
                if message.get(part["type"], 0) in (None, ""):
                    del message[part["type"]]
        self.r.made(rest, whole)  # a note, so that what is kept of the message now is reported now
        self.finish_node = message_and_choice(items, rest, message, whole, self.index, self.r)

    def output(self) -> list[Node]:
        return [item for item in self.items if item]


_SIDES = {"output_text": "content", "refusal": "refusal"}
_WEIGHED = frozenset(_SIDES.values())
