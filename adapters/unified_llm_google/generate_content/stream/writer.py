"""Streams written: every frame a response of its own, with what came since the last one.

Text goes out as it comes, calls when they are whole, sources and usage with the end. What our own reader made goes
back into its frames: it noted how many events each frame became and what else the frame held. A signature is an
attribute of the part it signs, so a text of our own waits for the next event before it goes out. Texts of two items
that grow at the same time would grow into each other, so the later one waits.

https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent
"""

from __future__ import annotations

from functools import partial
from typing import Any

from unified_llm.engine.pairs.mapping import fill
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import is_input
from unified_llm.streams.event_fast_path import NOTHING_MORE, WriteMore

from ...item_order import InTurn
from ..calls.calls_and_results import names_of
from ..errors import write_error_body
from ..parts.searches import is_search
from ..response import write_end, write_head
from ..turns.contents import parts, write_item
from ..turns.signature import SLOT, attach_sealed, sealed_text
from ..values.finish import write_block
from ..values.tables import PROTOCOL
from .fast_path import is_one_text, more_frames, more_text
from .parts import Choice, apart, fill_candidate, is_ours, medium, own_signature, report_once, spot_of, spots_of

__all__ = ["GenerateContentWriter"]

Event = dict[str, Any]
Node = dict[str, Any]

_WORDS = {"response.completed": "STOP", "response.incomplete": "MAX_TOKENS", "response.failed": "OTHER"}
_TERMINAL = frozenset(_WORDS)
_DELTAS = {
    "response.output_text.delta": False,
    "response.refusal.delta": False,
    "response.reasoning_summary_text.delta": True,
    "response.reasoning_text.delta": True,
}
_PIECES = frozenset(("response.function_call_arguments.delta", "response.custom_tool_call_input.delta"))
_TALKING = frozenset(("message", "reasoning"))
# What repeats the deltas before it, or comes again with the part or the item it belongs to.
_QUIET = frozenset((*(kind[:-5] + "done" for kind in _DELTAS), "response.output_text.annotation.added"))
_PART_DONE = frozenset(("response.content_part.done", "response.reasoning_summary_part.done"))


class GenerateContentWriter:
    """Canonical events to wire frames."""

    def __init__(self, w: Writer) -> None:
        self.w = w
        w.context["streaming"] = True
        self.own = w.source in (None, w.protocol)
        self.choices: dict[int, Choice] = {}
        self.head: Node = {}
        self.held: tuple[int, Node] | None = None
        self.group: Node | None = None
        self.left = 0
        self.gathered: list[tuple[int, Any]] = []
        self.failed = False
        self.turn = InTurn()
        # What the next piece of the text is like that came last: its choice and whether it is a thought; its frame.
        self.like: tuple[int, bool] | None = None
        self.frame: Event | None = None
        # Whether the last event was a piece of what goes out whole.
        self.piece = False

    # ---- events -----------------------------------------------------------------------------------------------------

    def feed(self, event: Event) -> list[Event]:
        self.like = self.frame = None
        if self.w.source == PROTOCOL:
            return self._feed(event)
        self.piece = event["type"] in _PIECES
        if event["type"] in _TERMINAL or event["type"] == "error":
            late = [each for events in self.turn.rest() for each in events]
            return [wire for each in [*late, event] for wire in self._feed(each)]
        ready = self.turn.feed(event)
        return self._feed(event) if len(ready) == 1 else [wire for each in ready for wire in self._feed(each)]

    def write_more(self) -> WriteMore | None:
        if self.frame is not None:
            return more_frames(self.frame)
        if self.like is not None:
            return more_text(*self.like, self.head)
        return NOTHING_MORE if self.piece else None

    def _feed(self, event: Event) -> list[Event]:
        kind = event["type"]
        extra = event.get("extra")
        own = extra.get(PROTOCOL) if extra else None
        frame = own.get("frame") if own else None
        if kind == "unified_llm:frame":
            return [{"event": frame.get("event"), "data": frame["whole"]}] if frame is not None else []
        if frame is not None:
            if frame.get("synthetic"):
                return []
            if "head" in frame:
                self.group, self.left = frame, frame["count"]
        if kind in _TERMINAL:
            return self._end(event)
        if kind == "error":
            return self._error(event)
        made = self._parts(kind, event)
        if self.group is None:
            return [self._chunk(choice, [part]) for choice, part in made]
        self.gathered += made
        self.left -= 1
        if self.left:
            return []
        wire = self._close_group()
        if frame is not None and kind in _DELTAS and is_one_text(wire["data"]):
            self.frame = wire
        return [wire]

    def close(self) -> list[Event]:
        return []

    def _parts(self, kind: str, event: Event) -> list[tuple[int, Any]]:
        """The parts an event makes, each with its choice."""
        thought = _DELTAS.get(kind)
        place = event.get("choice", 0)
        if thought is not None:
            return self._delta(kind, event, place, thought)
        if kind in _QUIET:
            return []
        if kind == "response.output_item.added":
            item = event.get("item") or {}
            if item.get("type") not in _TALKING or (self.w.crosses and is_input(item)):
                self._choice(place).mute.add(event.get("output_index", 0))
            return []
        out = self._release(event if kind in _PART_DONE else None)
        if kind == "response.output_item.done":
            out += [(place, part) for part in self._item(event, place)]
        elif kind in _PART_DONE:
            out += [(place, part) for part in self._part(kind, event, place)]
        elif kind == "response.created" or kind == "response.in_progress":
            self._open(event["response"])
        return out

    def _delta(self, kind: str, event: Event, place: int, thought: bool) -> list[tuple[int, Any]]:
        choice = self._choice(place)
        index = event.get("output_index", 0)
        if index in choice.mute:
            return []
        out = self._release(None)
        wire: Node = {"text": event.get("delta") or ""}
        if thought:
            wire["thought"] = True
        elif self.w.context.get("sealed"):
            wire = attach_sealed(wire, self.w)
        spot = spot_of(kind, event)
        choice.sent.setdefault(index, set()).add(spot)
        if not wire["text"] and SLOT not in wire:
            return out
        text, choice.text = choice.text, (thought, index, *spot)
        if self.group is None and text is not None and text[0] == thought and text != choice.text:
            # Another part of the same kind: an empty one between them keeps them apart.
            out.append((place, {"text": "", "thought": True} if thought else {"text": ""}))
        if self.own:
            self.held = (place, wire)
            return out
        if not out and SLOT not in wire:
            self.like = (place, thought)
        return [*out, (place, wire)]

    def _release(self, done: Event | None) -> list[tuple[int, Any]]:
        """The text that waited, with the signature of its part where this is its end."""
        held, self.held = self.held, None
        if held is None:
            return []
        part = (done or {}).get("part") or {}
        if done is not None and is_ours(part, self.w):
            self._choice(held[0]).signed.add((done.get("output_index", 0), spot_of("", done)[1]))
            if part.get("text") == held[1]["text"]:
                return [(held[0], self._whole(part, "thought" in held[1]))]
            piece = own_signature(part, self.w)
            if piece is not None:
                held[1][SLOT] = piece
        return [held]

    def _whole(self, part: Node, thought: bool) -> Any:
        """A part of our own with all that it held."""
        if thought:
            self.w.context["thought"] = True
        self.w.context["citations"] = []
        written = self.w.nodes(parts, (part,))
        self.w.context.pop("thought", None)
        del self.w.context["citations"]
        return written[0] if written else {"text": ""}

    def _choice(self, place: int) -> Choice:
        found = self.choices.get(place)
        if found is None:
            found = self.choices[place] = Choice()
        return found

    def _open(self, response: Node) -> None:
        for name, hub in (("responseId", "id"), ("modelVersion", "model")):
            if type(response.get(hub)) is str:
                self.head[name] = response[hub]
        alias = self.w.exchange.alias if self.w.exchange is not None else None
        if alias:
            self.head["modelVersion"] = alias

    def _part(self, kind: str, event: Event, place: int) -> list[Any]:
        """A part that came without deltas."""
        part = event.get("part") or {}
        choice = self._choice(place)
        index = event.get("output_index", 0)
        spot = spot_of(kind, event)
        if spot in choice.sent.get(index, ()) or index in choice.mute:
            return []
        if part.get("type") not in ("output_text", "summary_text", "reasoning_text", "refusal"):
            if not self.own:
                return apart(medium(part, index, spot, choice, self.w), index, choice)
            choice.sent.setdefault(index, set()).add(spot)
            choice.signed.add((index, spot[1]))
            return self._alone(self._whole(part, spot[0] == "summary"), index, choice)
        ours = is_ours(part, self.w)
        text = part.get("text") or part.get("refusal") or ""
        if not text and not ours:
            return []
        choice.sent.setdefault(index, set()).add(spot)
        thought = part["type"] in ("summary_text", "reasoning_text")
        if ours:
            choice.signed.add((index, spot[1]))
            return self._alone(self._whole(part, thought), index, choice)
        return self._alone({"text": text, "thought": True} if thought else {"text": text}, index, choice)

    def _alone(self, part: Any, index: int, choice: Choice) -> list[Any]:
        """A whole part; what our own reader made goes back into its frames as it is."""
        if self.group is None:
            return apart([part], index, choice)
        choice.text = None
        return [part]

    def _item(self, event: Event, place: int) -> list[Any]:
        """What of an item did not go out with its deltas."""
        item = event.get("item")
        if type(item) is not dict:
            return []
        choice = self._choice(place)
        choice.items.append(item)
        index = event.get("output_index", 0)
        choice.late.done(index, item)
        sent = choice.sent.pop(index, set())
        if is_search(item, self.w):
            return []
        self.w.context["citations"] = []
        self.w.context.setdefault("names", {}).update(names_of([item]))
        mark = len(self.w.raw)
        written = write_item(item, self.w)
        del self.w.context["citations"]
        if written and item.get("type") == "message" and type(item.get("content")) is list:
            for i, part in enumerate(item["content"]):
                if part.get("type") == "output_text":
                    choice.homes[index, i] = len(choice.texts)
                    choice.texts.append((choice.parts + i, part))
        choice.parts += len(written)
        if not sent:
            return apart(written, index, choice)
        out = []
        spots = spots_of(item)
        # A thought in an envelope is opened when it is whole: its other parts repeat what was written already.
        told = sent if sent <= set(spots) else set(spots)
        report_once([part for spot, part in zip(spots, written) if spot in told and "text" not in part], mark, self.w)
        for spot, part in zip(spots, written):
            if spot not in told:
                out.append(part)
            elif SLOT in part and (index, spot[1]) not in choice.signed:
                out.append({"text": "", SLOT: part[SLOT]})
        # A signature of the whole item stands on a part of its own.
        return [*out, *(part for part in written[len(spots) :] if SLOT in part)]

    # ---- frames -----------------------------------------------------------------------------------------------------

    def _chunk(self, place: int, parts: list[Any]) -> Event:
        candidate = {"content": {"parts": parts, "role": "model"}, "index": place}
        return {"event": None, "data": {"candidates": [candidate], **self.head}}

    def _close_group(self, answer: Node | None = None) -> Event:
        """The frame of a group of events: what they made, in what the frame held beside it."""
        frame, self.group = self.group, None
        assert frame is not None
        if self.held is not None:
            self.gathered += self._release(None)
        made, self.gathered = self.gathered, []
        data: Node = dict(frame["head"])
        alias = self.w.exchange.alias if self.w.exchange is not None else None
        if alias and "modelVersion" in data:
            data["modelVersion"] = alias
        for key in frame.get("said", ()):
            if answer is not None and key in answer:
                data[key] = answer[key]
        if "candidates" in frame:
            candidates = []
            ends = {end.get("index"): end for end in (answer or {}).get("candidates") or ()}
            for candidate in frame["candidates"]:
                if "literal" in candidate:
                    candidates.append(candidate["literal"])
                    continue
                index = candidate["index"]
                mine = [part for place, part in made if place == index]
                # The first candidate is the answer, be its number another than 0.
                end = ends.get(index) or {**ends.get(0, {}), "index": index}
                candidates.append(fill_candidate(candidate, mine, end))
            data["candidates"] = candidates
        return {"event": None, "data": data}

    def _end(self, event: Event) -> list[Event]:
        """The last frame: why it ended, what it cost, where it came from."""
        response = event["response"]
        if response.get("error") and not self.failed:
            return self._error({"error": response["error"]})
        released = self._release(None)
        out: list[Event] = []
        if self.failed:
            return []
        self.w.context["ended"] = _WORDS[event["type"]]
        answer: Node = self.w.piece(self._write_answer, response)
        if self.group is not None:
            self.gathered += released
            return [self._close_group(answer)]
        given = answer.get("candidates")
        # What could not be read is there as it came: a list of something else, or no list.
        candidates = {at: each for at, each in enumerate(given) if type(each) is dict} if type(given) is list else {}
        for candidate in candidates.values():
            if "finishReason" not in candidate:  # a stream without it counts as cut off
                candidate["finishReason"] = _WORDS[event["type"]]
                self.w.added(candidate, "finishReason", "a stream without it is cut off")
        carrier = sealed_text(self.w)
        for place, part in released[:-1]:
            out.append(self._chunk(place, [part]))
        for number, candidate in candidates.items():
            place = candidate.get("index", number)
            parts = [part for there, part in released[-1:] if there == place]
            if number == 0 and carrier is not None:
                parts.append(carrier)
            candidate["content"] = {"parts": parts or [{"text": ""}], "role": "model"}
        for place, part in released[-1:]:
            if all(candidate.get("index", 0) != place for candidate in candidates.values()):
                out.append(self._chunk(place, [part]))
        return [*out, {"event": None, "data": {**answer, **{k: v for k, v in self.head.items() if k not in answer}}}]

    def _write_answer(self, c: Node, w: Writer) -> Node:
        wire: Node = {}
        output = c.pop("output", None)
        choices = c.pop("choices", None) or []
        blocked = w.form(c, "blocked")
        if blocked and type(c.get("finish")) is dict and not self.choices:
            wire["promptFeedback"] = write_block(c, w)
        else:
            self._choice(0).whole(output, w)
            candidates = [self._write_candidate(c, c, 0, w)]
            for number, choice in enumerate(choices, 1):
                index = choice.get("index", number)
                candidates.append(w.piece(partial(self._write_choice, node=choice, place=index), choice))
            wire["candidates"] = candidates
        write_head(c, wire, w)
        return wire

    def _write_choice(self, c: Node, w: Writer, node: Node, place: int) -> Node:
        c.pop("index", None)
        self._choice(place).whole(c.pop("output", None), w)
        return self._write_candidate(c, node, place, w)

    def _write_candidate(self, c: Node, node: Node, place: int, w: Writer) -> Node:
        choice = self._choice(place)
        wire: Node = {"index": place}
        searches = [item for item in choice.items if is_search(item, w)]
        write_end(c, node, wire, choice.texts, searches, place, w, choice.items)
        return wire

    def _error(self, event: Event) -> list[Event]:
        self.failed = True
        # What came before it, and waited for more, was received all the same.
        if self.group is not None:
            out = [self._close_group()] if self.gathered or self.held is not None else []
            self.group = None
        else:
            out = [self._chunk(place, [part]) for place, part in self._release(None)]
        extra = (event.get("extra") or {}).get(PROTOCOL) or {}
        error = event.get("error")
        if type(error) is not dict:
            error = {key: event[key] for key in ("code", "message", "param", "status") if event.get(key) is not None}
            error["type"] = "server_error"
        body = write_error_body(error, self.w)
        rest = extra.get("rest")
        return [*out, {"event": None, "data": fill(body, rest) if rest else body}]
