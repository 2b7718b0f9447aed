"""Streams read: every frame is a whole response in the making, without names, numbers or an end mark.

Text grows a part as long as the same kind of it comes; a signed part stands alone, and so do media; calls come whole,
or in pieces that are put together. Usage is cumulative: the last one counts. The last frame is the one after which
the wire ends: a frame that finishes every candidate is held until the next one, or the end, decides which it was.
So is one that ends with a call: Gemini executed those itself whose results follow.
Everything a frame repeats or has about itself stays in its own drawer, for this protocol's writer.

https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.reading import Reader
from unified_llm.streams.event_fast_path import ReadMore

from ..errors import read_error_node
from ..response import read_answer, read_time
from ..values.tables import PROTOCOL
from ..values.usage import counts_of, read_usage
from .candidate import JOINED, Candidate, ends_with_call
from .fast_path import reader_of_more
from .frames import kept_candidate, kept_frame, without_said
from .late_sources import Late, noted

__all__ = ["GenerateContentReader"]

Event = dict[str, Any]
Node = dict[str, Any]

_GROWING = frozenset(("response.output_text.delta", "response.reasoning_summary_text.delta"))
_INCOMPLETE = frozenset(("length", "context_window", "safety", "recitation", "pause"))
_FAILED = frozenset(("malformed_call", "error", "cancelled"))
# The cost before any output.
_ASKED = ("input_tokens", "input_tokens_details")
_SPEAKER = {"role": "model"}
_KNOWN = frozenset(("parts", "role"))
# The fields of an answer in the first event.
_FIRST = frozenset(("responseId", "modelVersion", "createTime"))


class GenerateContentReader:
    """Wire frames to canonical events."""

    def __init__(self, r: Reader) -> None:
        self.r = r
        self.head: Node = {}
        self.candidates: dict[int, Candidate] = {}
        # The frames that wait, with their numbers; whether they end with a call; and the results in the frames.
        self.held: list[tuple[int | None, Node]] = []
        self.calling = False
        self.answers: dict[int, list[Node]] = {}
        # The last event, where the next may be more of it.
        self.last: Event | None = None
        self.counted: Node | None = None
        # The frames with the values that the end combines: number and frame, by key.
        self.told: dict[str, tuple[int | None, Node]] = {}
        self.counts: dict[str, tuple[int | None, Node]] = {}
        self.started = False
        self.ended = False
        self.blocked = False
        self.odd: dict[int, Any] = {}

    def feed(self, event: Event) -> list[Event]:
        data = event["data"]
        self.last = None
        if self.counted is not None:
            self._note_counted(None if self.r.number is None else self.r.number - 1)
        if type(data) is dict and "error" not in data:
            calling = ends_with_call(data, self.answers)
            out = [] if calling and self.calling else self._release(False)
            if calling or self._finishes(data):
                self.held.append((self.r.number, data))
                self.calling = calling
                return out
            found = self._frame(data, False)
            self.answers = {}
            if len(found) == 1 and not out and found[0]["type"] in _GROWING:
                self.last = event
            return out + found
        out = self._release(False)
        if type(data) is list:
            for each in data:
                out += self.feed({"event": None, "data": each})
        elif type(data) is dict and type(data["error"]) is dict:
            self.ended = True
            rest = data.copy()
            error = read_error_node(rest, data, self.r)
            made: Event = {"type": "error", "error": error}
            if rest:
                made["extra"] = {PROTOCOL: {"frame": {"count": 1}, "rest": rest}}
            out.append(self.r.made(made, data))
        else:
            out.append(
                {"type": "unified_llm:frame", "extra": {PROTOCOL: {"frame": {"whole": data, "event": event["event"]}}}}
            )
        return out

    def read_more(self) -> ReadMore | None:
        return reader_of_more(self.last, self) if self.last is not None else None

    def _note_counted(self, number: int | None) -> None:
        """Note which frame brought the usage of the last fast path: its number is known when another comes."""
        counted, self.counted = self.counted, None
        if counted is not None:
            self._counts(number, counted)

    def _counts(self, number: int | None, data: Node) -> None:
        """Note the frame of each count: one that no later frame repeats stays."""
        self.told["usageMetadata"] = here = (number, data)
        for key in data["usageMetadata"]:
            self.counts[key] = here

    def close(self) -> list[Event]:
        self._note_counted(self.r.number)
        out = self._release(True)
        if self.ended:
            return out
        error = {"type": "server_error", "code": "stream_truncated", "message": "the stream ended before its end"}
        return [*out, {"type": "error", "error": error, "extra": {PROTOCOL: {"frame": {"synthetic": True}}}}]

    # ---- frames -----------------------------------------------------------------------------------------------------

    def _finishes(self, data: Node) -> bool:
        """Whether every candidate seen so far has a finish reason, once this frame is read."""
        wires = data.get("candidates")
        if type(wires) is not list or not wires:
            feedback = data.get("promptFeedback")
            return (type(feedback) is dict and "blockReason" in feedback) or self._all_ended(set())
        ending = set()
        for place, wire in enumerate(wires):
            if type(wire) is not dict or wire.get("finishReason") is None:
                return False
            index = wire.get("index", place)
            ending.add(index if type(index) is int else place)
        return self._all_ended(ending) if len(self.candidates) > len(ending) else True

    def _release(self, last: bool) -> list[Event]:
        """The events of the frames that were held, which stand where they came; with the `last`, the answer may end."""
        held, self.held, self.calling = self.held, [], False
        out: list[Event] = []
        r, now = self.r, self.r.number
        for place, (r.number, data) in enumerate(held, 1):
            if r.number is not None:
                r.docs[r.number] = data
            out += self._frame(data, last and place == len(held) and self._finishes(data))
        r.number = now
        return out

    def _all_ended(self, ending: set[Any]) -> bool:
        return bool(self.candidates) and all(
            "finishReason" in candidate.final or index in ending for index, candidate in self.candidates.items()
        )

    def _frame(self, data: Node, last: bool) -> list[Event]:
        """The events of one frame; the first of them has the frame."""
        head = data.copy()
        wires = head.pop("candidates", None)
        usage = head.get("usageMetadata")
        if self.head:
            known = self.head
            before = known.get("usageMetadata")
            if type(usage) is dict:
                if type(before) is dict and not before.keys() <= usage.keys():
                    usage = {**before, **usage}
                known["usageMetadata"] = usage
                self._counts(self.r.number, data)
            for key in head:
                if key not in known:
                    known[key] = head[key]
                    self.told[key] = (self.r.number, data)
        else:
            self.head = head.copy() if self.r.frames else head
            self.told = dict.fromkeys(head, (self.r.number, data))
            if type(usage) is dict:
                self._counts(self.r.number, data)
        out: list[Event] = []
        if not self.started:
            self.started = True
            opening = {
                hub: head[key]
                for key, hub in (("responseId", "id"), ("modelVersion", "model"))
                if type(head.get(key)) is str
            }
            asked = counts_of(usage, self.r)[0] if type(usage) is dict else {}
            if type(asked.get("input_tokens")) is int:
                opening["usage"] = {key: asked[key] for key in _ASKED if key in asked}
            read_time({"createTime": head.get("createTime")}, opening, self.r)
            if "id" in opening:
                self.r.seed = opening["id"]
            out.append({"type": "response.created", "response": self.r.made(opening, data)})
        mine = [
            self._candidate(wire, place, data, out) for place, wire in enumerate(wires if type(wires) is list else ())
        ]
        if last:
            self._end(out)
        odd = self._odd(data) if self.odd else {}
        if self.r.frames:
            odd["frame"] = kept_frame(data, head, mine, len(out))
            if last:
                without_said(odd["frame"], self.head, self.candidates)
        if not out:
            out.append({"type": "unified_llm:frame"})
        first = out[0]
        if odd:
            extra = first.get("extra", {})
            first["extra"] = {**extra, PROTOCOL: {**extra.get(PROTOCOL, {}), **odd}}
        if "extra" in first and "rest" in first["extra"].get(PROTOCOL, ()):
            self.r.made(first, data)
        return out

    def _odd(self, data: Node) -> Node:
        """The part of a frame that no event has, neither now nor at the end: `{"rest": ...}`."""
        odd, self.odd = self.odd, {}
        return {"rest": {"candidates": [odd.get(place, {}) for place in range(len(data["candidates"]))]}}

    def _candidate(self, wire: Any, place: int, data: Node, out: list[Event]) -> Node:
        """Add the events of a candidate's parts to `out`; gives what its frame has beside them, where that is kept."""
        index = (wire["index"] if "index" in wire else place) if type(wire) is dict else None
        if type(index) is not int:
            self.odd[place] = wire
            return {"literal": wire}
        if index in self.candidates:
            state = self.candidates[index]
        else:
            state = self.candidates[index] = Candidate(index, self.r)
        state.answers = self.answers[index] if index in self.answers else None
        here = (self.r.number, data, place)
        mark = len(out) if index else 0
        content = wire["content"] if "content" in wire else None
        template = self._content(state, content, place, out) if type(content) is dict else ()
        final = state.final
        for key, value in wire.items():
            if key != "content" and (value or key not in final):
                if key in JOINED and key in final:
                    value = state.join(key, value, here)
                final[key] = value
                if key != "index":
                    state.told[key] = here
        state.last = here
        if index:
            self._place(state, out[mark:])
        return kept_candidate(wire, index, template) if self.r.frames else {}

    def _content(self, state: Candidate, content: Node, place: int, out: list[Event]) -> list[Any] | tuple[()] | None:
        """What of the parts of a content no event has, in their places; None for no parts, () for parts like any."""
        if not (content.keys() <= _KNOWN and content.get("role", "model") == "model"):
            left = {key: value for key, value in content.items() if key != "parts" and _SPEAKER.get(key) != value}
            self.odd[place] = {"content": left}
        if "parts" not in content:
            return None
        wires = content["parts"]
        if type(wires) is not list:
            return ()
        if len(wires) == 1 and type(wires[0]) is dict and len(wires[0]) == 1 and "text" in wires[0]:
            text = wires[0]["text"]
            if text and type(text) is str:
                state.grow("message", text, out)
                return ()
        template = []
        odd: list[Any] = []
        for part in wires:
            state.odd = {}
            template.append(state.read(part, out))
            odd.append(state.odd)
        if any(odd):
            self.odd.setdefault(place, {}).setdefault("content", {})["parts"] = odd
        return () if template and template == [None] * len(template) else template

    def _place(self, state: Candidate, events: list[Event]) -> None:
        """A target that has no form for a second candidate has none for each of its events."""
        if state.at:
            _, data, place = state.last
            for event in events:
                self.r.made(event, data["candidates"][place])

    # ---- the end ----------------------------------------------------------------------------------------------------

    def _end(self, out: list[Event]) -> None:
        """Close what is open with its finish reason."""
        self.ended = True
        states = [self.candidates[index] for index in sorted(self.candidates)]
        tails: list[list[Event]] = []
        for state in states:
            state.end_call(out)
            tails.append([])
            state.end_text(tails[-1])
        final = dict(self.head)
        if states:
            final["candidates"] = [state.final for state in states]
        told = [noted(state) for state in states]
        rest = final.copy()
        doc, self.r.doc = self.r.doc, final
        node = read_answer(rest, self.r, [state.nodes for state in states])
        self.r.doc = doc
        self.r.keep(node, rest)
        self.r.made(node, final)
        if self.r.number is not None:
            self._gather(final, states)
        homes = [node, *node.get("choices", ())]
        ending = Late(out)
        for state, home, tail, before in zip(states, homes, tails, told):
            beside = home.pop("output")
            mark = len(out)
            cited, earlier, late = ending.cite(state, before)
            out += [*cited, *tail]
            state.close(out)
            for item in beside:
                state.whole(item, out)
            if late:
                home["output"] = list(state.items)
            self._place(state, [*earlier, *out[mark:]])
        ending.place(out)
        if not states:
            node.pop("output", None)
        out.append({"type": _terminal(node), "response": node})

    def unfinished(self) -> Node | None:
        """The fields of the frames beside their parts, when an error has ended the stream."""
        if not self.head:
            return None
        states = [self.candidates[index] for index in sorted(self.candidates)]
        final = {key: value for key, value in self.head.items() if key not in _FIRST}
        final["candidates"] = [state.final for state in states]
        rest = {key: value for key, value in final.items() if key not in ("usageMetadata", "candidates")}
        rest["candidates"] = [
            {key: value for key, value in state.final.items() if key not in ("content", "index")} for state in states
        ]
        node: Node = self.r.made({}, final)
        self.r.extra(node)["rest"] = rest
        if type(final.get("usageMetadata")) is dict:
            node["usage"] = self.r.made(read_usage(dict(final["usageMetadata"]), self.r), final["usageMetadata"])
            self.r.place(node, ("usage",), ("usageMetadata",))
        if self.r.number is not None:
            self._gather(final, states)
        return node

    def _gather(self, final: Node, states: list[Candidate]) -> None:
        """Note for the combined answer the frame of each value."""
        r, docs = self.r, self.r.docs
        here = r.here()
        sources: dict[tuple[Any, ...], tuple[Any, ...]] = {(): here}
        for key, (number, data) in self.told.items():
            if number is not None:
                docs[number] = data
                sources[(key,)] = (number, "data", key)
        if type(final.get("usageMetadata")) is dict:
            said: dict[tuple[Any, ...], tuple[Any, ...]] = {(): sources.get(("usageMetadata",), here)}
            for key, (number, data) in self.counts.items():
                if number is not None:
                    docs[number] = data
                    said[key,] = (number, "data", "usageMetadata", key)
            r.gather(final["usageMetadata"], said)
        for index, state in enumerate(states):
            own: dict[tuple[Any, ...], tuple[Any, ...]] = {}
            for name, (number, data, index_there) in (((), state.last), *(((k,), v) for k, v in state.told.items())):
                if number is not None:
                    docs[number] = data
                    own[name] = (number, "data", "candidates", index_there, *name)
            for (number, data, index_there), below, above in state.joined:
                if number is not None:
                    docs[number] = data
                    own[above] = (number, "data", "candidates", index_there, *below)
            r.gather(state.final, own)
            sources.update({("candidates", index, *keys): path for keys, path in own.items()})
        r.gather(final, sources)
        for leaf, place in r.places.items():
            # What counts from the root counts from that of the answer.
            if place[:1] == (...,) and place[1:3] == here:
                below = place[3:]
                known = next(size for size in range(len(below), -1, -1) if below[:size] in sources)
                r.places[leaf] = (..., *sources[below[:known]], *(below[known:] if known else ()))


def _terminal(node: Node) -> str:
    reason = (node.get("finish") or {}).get("reason")
    if reason in _FAILED:
        return "response.failed"
    return "response.incomplete" if reason in _INCOMPLETE else "response.completed"
