"""Reading a stream of chunks.

A chunk names no items: what opens, goes on and closes is worked out here (`choice_reader.py` holds one choice). The
first event of a chunk carries its frame: what is left of the chunk once the canonical values are taken out, and the
slots they go back into, so that our own writer rebuilds it. A chunk that repeats the shape of the last but for its
text takes a path of its own (`fast_path.py`).

The terminal event waits for `[DONE]` or the end, since usage and moderation come after the last choice has ended. A
stream that ends before a choice did was cut off; some servers never send a finish reason, and their usage followed by
`[DONE]` is taken for it.

https://platform.openai.com/docs/api-reference/chat-streaming
"""

from __future__ import annotations

from collections.abc import KeysView
from typing import Any

from unified_llm.engine.pairs.reading import Reader
from unified_llm.foundation.json_paths import at
from unified_llm.streams.collect_and_decompose import FRAME
from unified_llm.streams.event_fast_path import ReadMore

from ..errors import read_error_node
from ..response import read_head
from ..values.tables import CHUNK, COMPLETION, OWN_KEYS, PADDING
from ..values.timings import has_timings, read_timings
from .choice_reader import ChoiceReader
from .fast_path import Plain, learn
from .items import opened, overtake, terminal_type
from .usage import Usages

__all__ = ["ChatReader"]

Event = dict[str, Any]
Node = dict[str, Any]
Path = tuple[Any, ...]
Sources = dict[Path, Path]

_HEAD = ("id", "object", "created", "model")
_PER_CHUNK = frozenset(("choices", "usage", *PADDING))


def _beside(event: Event) -> Node:
    """What an event has beside its data; nothing, as a rule."""
    if len(event) == 2 and event.get("event") is None:
        return {}
    beside = {key: value for key, value in event.items() if key not in ("event", "data")}
    return {"event": event.get("event"), **({"beside": beside} if beside else {})}


def _is_usage_in(value: Any) -> bool:
    """Whether a server keeps the usage of the answer under a key of its own, which has this value."""
    return type(value) is dict and type(value.get("usage")) is dict


class ChatReader:
    """Chunks to canonical events."""

    def __init__(self, reader: Reader) -> None:
        self.r = reader
        self.head: Node | None = None
        self.response: Node = {}
        self.choices: dict[int, ChoiceReader] = {}
        self.usages = Usages()
        self.usage_null = False
        # The last chunk with the counts of an answer without usage, and its number.
        self.timings: tuple[int | None, Node] | None = None
        # The keys of the last chunk, and those of them that are a server's own.
        self.keys: KeysView[str] = {}.keys()
        self.own: list[str] = []
        # The fields of the whole answer in the first chunk, what of it is kept, and what later chunks add; where from.
        self.first: Node = {}
        self.kept: Node = {}
        self.late: Node = {}
        self.sources: Sources = {}
        self.told: set[str] = set()
        self.ended = False
        self.failed = False
        # The shape of the last chunk, where the next may be more of it.
        self.plain: Plain | None = None

    def feed(self, event: Event) -> list[Event]:
        data = event["data"]
        if self.plain is not None and not self.plain.asked:
            same = self.plain.same(event)
            if same is not None:
                return [same]
        if type(data) is not dict:
            if type(data) is str and data.startswith("[DONE]"):
                return self._done(event)
            return [self._whole(event, data)]
        return self._chunk(data, event)

    def read_more(self) -> ReadMore | None:
        if self.plain is None:
            return None
        self.plain.asked = True
        return self.plain.more

    def close(self) -> list[Event]:
        if self.ended or self.failed:
            return []
        if self.head is None or not all(choice.ended for choice in self.choices.values()):
            self.failed = True
            error = {
                "type": "server_error",
                "code": "stream_truncated",
                "message": "the stream ended before the answer did",
            }
            return [self._synthetic({"type": "error", "error": error})]
        return [self._synthetic(event) for event in self._end()]

    # ---- frames ------------------------------------------------------------------------------------------------------

    def _synthetic(self, event: Event) -> Event:
        return {**event, "extra": {self.r.protocol: {"frame": {"synthetic": True}}}} if self.r.frames else event

    def _whole(self, event: Event, rest: Any = None) -> Event:
        """A frame that means nothing to the others, or nothing yet; `rest` is what of it is not converted later."""
        data, found = event["data"], Event(type=FRAME)
        if self.r.frames:
            self.r.extra(found)["frame"] = {"data": data, **_beside(event)}
        if rest:
            self.r.extra(found)["rest"] = rest
            self.r.made(found, data)
        return found

    def _framed(self, events: list[Event], event: Event, slots: list[list[Any]], *bare: str) -> None:
        """Keep the frame of a chunk with its first event: what it consists of but for what goes into the slots.

        The keys of its head that are `bare` are not put there again.
        """
        if not self.r.frames:
            return
        chunk = event["data"]
        if type(chunk) is dict:
            chunk = opened(chunk, [path for _, _, path, *_ in slots])
        for _, _, path, *_ in slots:
            at(chunk, path[:-1]).pop(path[-1], None)
        frame: Node = {"count": len(events), "chunk": chunk, "slots": slots}
        if bare:
            frame["bare"] = [*bare]
        elif type(chunk) is dict:
            self._strip_head(chunk, frame)
        self.r.extra(events[0])["frame"] = {**frame, **_beside(event)}

    def _keep(self, event: Event, rest: Node) -> None:
        """Keep with the first event of a chunk the part that no later event has."""
        if rest:
            self.r.extra(event)["rest"] = rest
            self.r.made(event, self.r.doc)

    # ---- the end -----------------------------------------------------------------------------------------------------

    def _done(self, event: Event) -> list[Event]:
        if self.head is None or self.ended or self.failed:
            return [self._whole(event)]
        if self.usages.whole is None and not all(choice.ended for choice in self.choices.values()):
            return [self._whole(event)]
        events = self._end()
        self._framed(events, event, [])
        return events

    def _end(self) -> list[Event]:
        self.ended = True
        self.plain = None
        events: list[Event] = []
        for choice in self.choices.values():
            if not choice.ended:
                choice.finish({}, events)
            choice.close(events)
        response, finish = self._answer()
        events.append({"type": terminal_type(finish), "response": response})
        return events

    def unfinished(self) -> Node | None:
        """The answer as far as it came, when an error has ended the stream."""
        if self.head is None:
            return None
        for choice in self.choices.values():
            if not choice.ended:
                choice.finish({}, [])
            choice.close([])
        return self._answer()[0]

    def _answer(self) -> tuple[Node, Node | None]:
        """The response of all chunks, with its finish reason."""
        response, first = self.response, self.choices.get(0)
        response["output"] = first.output() if first is not None else []
        finish = first.finish_node if first is not None else None
        if first is not None and finish:
            response["finish"] = finish
            self._place_finish(response, first, ("choices", 0), self.sources)
        others = []
        for index in sorted(self.choices):
            choice = self.choices[index]
            if index:
                node: Node = {"index": index, "output": choice.output()}
                if choice.finish_node:
                    node["finish"] = choice.finish_node
                    self._place_finish(node, choice, (), choice.sources)
                others.append(self.r.made(node, self.r.gather({"index": index}, choice.sources)))
        if others:
            response["choices"] = others
        if self.usages.whole is not None:
            response["usage"], place = self.usages.read(response, self.r)
            if place is not None:
                self.sources["usage",] = place
        elif self.timings is not None:
            number, data = self.timings
            if number is not None:
                self.r.docs[number] = data
            self.kept, self.late = self.kept.copy(), self.late.copy()
            response["usage"] = read_timings(data, self.r, self.kept, self.late)
        elif self.usage_null:
            response["usage"] = None
        if self.kept or self.late:
            self.r.keep(response, {**self.kept, **self.late})
        return self.r.made(response, self.r.gather(self.first, self.sources)), finish

    def _place_finish(self, node: Node, choice: ChoiceReader, above: Path, sources: Sources) -> None:
        """Note where the words for the end of a choice stand."""
        for key, word in (("reason", "finish_reason"), ("native", "finish_reason"), ("native", "native_finish_reason")):
            if (word,) in choice.sources:
                sources[*above, word] = choice.sources[word,]
                self.r.place(node, ("finish", key), (*above, word))

    # ---- chunks ------------------------------------------------------------------------------------------------------

    def _chunk(self, data: Node, event: Event) -> list[Event]:
        self.plain = None
        if data.keys() != self.keys:
            self.keys = data.keys()
            self.own = [key for key in data if key.startswith(OWN_KEYS)]
        if type(data.get("usage")) is dict:
            self.usages.add(data["usage"], (self.r.number, data, ("usage",)))
        elif own := next((key for key in self.own if _is_usage_in(data[key])), None):
            self.usages.add(data[own]["usage"], (self.r.number, data, (own, "usage")))
        elif has_timings(data):
            self.timings = (self.r.number, data)
        if data.get("error"):
            return self._error(data, event)
        choices = data.get("choices")
        failure = at(choices, (0, "error"))
        if type(failure) is dict and failure:
            bare = {key: value for key, value in data["choices"][0].items() if key != "error"}
            return self._error({**data, "choices": [bare, *data["choices"][1:]], "error": failure}, event)
        if type(choices) is not list or not choices or self.ended:
            return [self._whole(event, self._beside_choices(data))]
        events: list[Event] = []
        slots: list[list[Any]] = []
        rest: Node = {}
        if self.head is None:
            events.append(self._open(data))
        else:
            rest = self._late(data)
        odd: list[Any] = []
        for place, wire in enumerate(choices):
            if type(wire) is not dict or type(wire.get("delta", {})) is not dict:
                odd += [*[{}] * (place - len(odd)), wire]
                continue
            index = wire.get("index")
            if type(index) is not int or index < 0:
                index = 0
            choice = self.choices.get(index)
            if choice is None:
                choice = self.choices[index] = ChoiceReader(index, self.r)
            choice.feed(wire, ["choices", place], events, slots)
            if choice.odd:
                odd += [*[{}] * (place - len(odd)), choice.odd]
        if odd:
            rest["choices"] = [*odd, *[{}] * (len(choices) - len(odd))]
        if not events:
            return [self._whole(event, rest)]
        plain = len(events) == 1 and len(slots) > 0 and all(len(slot) == 3 for slot in slots)
        if plain and len(choices) == 1 and not rest and not _beside(event):
            choice = self.choices[events[0].get("choice", 0)]
            # What differed from the first chunk was reported, and is of no more interest.
            varies = [key for key in data if key in PADDING or (key in self.told and key not in self.own)]
            self.plain = learn(data, events[0], [slot[2] for slot in slots], choice, self.r.protocol, varies)
        self._framed(events, event, slots)
        self._keep(events[0], rest)
        if self.plain is not None and self.r.frames:
            self.plain.share(events[0])
        return events

    def _open(self, data: Node) -> Event:
        self.head = {key: data[key] for key in _HEAD if key in data}
        self.r.seed = data["id"] if type(data.get("id")) is str else ""
        self.first = {key: value for key, value in data.items() if key not in _PER_CHUNK}
        self.sources.update({(key,): self.r.here(key) for key in self.first})
        rest = dict(self.first)
        if rest.get("object") == CHUNK:
            del rest["object"]
        response: Node = {}
        read_head(rest, response)
        self.response = dict(response)
        self.usage_null = "usage" in data
        self.kept = rest
        if rest:
            self.r.keep(response, rest)
        if data.get("object") == COMPLETION:
            self.r.form(response, "object", "whole")
        return {"type": "response.created", "response": self.r.made(response, data)}

    def _beside_choices(self, data: Node) -> Node:
        """The part of a chunk without choices that the terminal event does not have."""
        if self.ended or self.head is None:
            late = {key: value for key, value in data.items() if key not in _HEAD and key not in PADDING}
            if not self.ended and "usage" in late:
                del late["usage"]
            return late
        return self._late(data)

    def _late(self, data: Node) -> Node:
        """The fields of the whole answer in a later chunk: the new ones, and the fingerprint, which the last one
        decides.

        Other values that differ from the first are given back, once for each key.
        """
        first, late = self.first, self.late
        node: Node
        rest: Node = {}
        for key, value in data.items():
            if key in self.own and _is_usage_in(value):
                value = {name: inner for name, inner in value.items() if name != "usage"}
            if key in _PER_CHUNK or (key in first and first[key] == value):
                continue
            if key == "system_fingerprint" or key not in first:
                left, node = {key: value}, {}
                read_head(left, node)
                for name, inner in node.items():
                    self.response.setdefault(name, inner)
                late.update(left)
                overtake(self.sources, key, first.get(key), self.r.here(key))
                first[key] = value
            elif key not in self.told:
                self.told.add(key)
                rest[key] = value
        return rest

    def _strip_head(self, chunk: Node, frame: Node) -> None:
        head = self.head or {}
        bare = []
        for key in _HEAD:
            if key not in chunk:
                bare.append(key)
            elif key in head and chunk[key] == head[key] and type(chunk[key]) is type(head[key]):
                del chunk[key]
        if bare:
            frame["bare"] = bare

    def _error(self, data: Node, event: Event) -> list[Event]:
        rest = data.copy()
        error = read_error_node(rest, self.r)
        self.failed = True
        out: list[Event] = [{"type": "error", "error": error}]
        if self.ended:
            return [self._whole(event, data)]
        self.ended = True
        # Values of earlier chunks were sent already.
        left = {key: value for key, value in rest.items() if key not in PADDING and self.first.get(key, ...) != value}
        self._framed(out, event, [], *_HEAD)
        self._keep(out[0], left)
        return out
