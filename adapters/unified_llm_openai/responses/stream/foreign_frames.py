"""The frames of a stream for what another protocol brought, and for the strict form of Open Responses.

They are what the API's own clients follow: numbers from 0, one id for each item in all its events, every item whole in
the last event, an error as the event and the failed response that the API sends. An item without a form here is left
out with all its events, and its end reports it.

https://platform.openai.com/docs/api-reference/responses-streaming https://www.openresponses.org/specification
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import NATIVE
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import call_id_of
from unified_llm.foundation.generated_ids import made_id
from unified_llm.streams.block_writer import LateCitations
from unified_llm.streams.collect_and_decompose import FRAME
from unified_llm.streams.event_fast_path import WriteMore

from ...deltas import spot_of
from ..errors import whole
from ..parts import PICTURE, answer_parts, foreign_citations, parts
from ..response.complete import (
    DONE,
    complete_item,
    complete_response,
    complete_text,
    id_prefix,
    with_bytes,
    without_bytes,
)
from ..response.document import give_error, pop_implied, resource, status_of
from ..turns.history import has_foreign, write_item
from ..turns.images import is_picture_item, picture_item
from ..turns.results_in_calls import fold_result, is_open, key_of
from ..turns.summaries import EVENTS_SUMMARIZED, summarized, wants_summary
from .events import EVENTS, FAMILY, HOT, LIFECYCLE, SIMPLE, TERMINAL
from .item_ends import PART_ADDED, EmptyTexts, add_late, draws, is_cut_off, rest_of
from .response_frames import ResponseFrames
from .stream_state import ENDS, WHOLE, Place, beginning_of, late_text

__all__ = ["ForeignWriter"]

Node = dict[str, Any]
Event = dict[str, Any]


class ForeignWriter(ResponseFrames):
    """Events of another protocol, and the strict form of this one's."""

    def __init__(self, w: Writer) -> None:
        super().__init__(w)
        w.context["streaming"] = True
        self.next = 0
        self.places: dict[Any, Place | None] = {}
        self.late = LateCitations()
        # The end of a message, until it is clear whether the answer breaks off there.
        self.held: Event | None = None
        self.empty = EmptyTexts(w)
        # The message that is announced as soon as there is anything but images in it.
        self.opening: Place | None = None
        self.summarizes = wants_summary(w)
        # Calls of hosted tools whose result, an item of its own elsewhere, is awaited, by their type and `call_id`.
        self.running: dict[Any, tuple[Place, Node, list[Node]]] = {}
        # What the deltas that come now go on with (`spot_of`), and how the next one is written.
        self.hot: tuple[Any, ...] | None = None
        self.more: WriteMore | None = None

    def feed(self, event: Event) -> list[Event]:
        kind = event["type"]
        # The next piece of a text or of arguments, with nothing beside it but frames of other protocols.
        if self.more is not None and self.hot == spot_of(event) and not event.get("logprobs"):
            extra = event.get("extra")
            if extra is None or self.w.protocol not in extra:
                return [self.more.event(event["delta"])]
        return self._feed(event, kind)

    def write_more(self) -> WriteMore | None:
        return self.more

    def close(self) -> list[Event]:
        out: list[Event] = []
        if self.state in ("open", "progressed"):
            # The canonical stream broke off; this must not look like a success.
            error = {"type": "server_error", "code": "stream_truncated", "message": "the stream broke off"}
            out = [*self._let_go({}), *self._error({"error": error})]
        if self.strict:
            out.append({"event": None, "data": "[DONE]"})
        return out

    # ---- one event --------------------------------------------------------------------------------------------------

    def _feed(self, event: Event, kind: str) -> list[Event]:
        w = self.w
        self.more = None
        if kind == FRAME:
            return []
        if event.get("choice"):
            w.report(event, (), "lost", "the API gives one answer", "output.choices")
            return []
        if kind == NATIVE or kind not in EVENTS:
            if w.form(event, "native") == FAMILY:
                return self._unknown(event)
            w.drop(event, "the API has no such event")
            return []
        if self.state == "ended":
            return []
        out = self._let_go(event) if self.held is not None else []
        if self.opening is not None and not (
            draws(event, kind) and self.places.get(event.get("output_index", 0)) is self.opening
        ):
            out += self._open_message(self.opening)
        if (self.empty.held or kind == PART_ADDED) and self.empty.takes(event, kind, self.places):
            return out
        for each in self.empty.released() if self.empty.held else ():
            out += self._inside(each, each["type"], self.places[each.get("output_index", 0)])  # type: ignore[arg-type]
        if self.running and (kind in TERMINAL or kind == "error"):
            out += [each for call in tuple(self.running) for each in self._whole(*self.running.pop(call))]
        if kind in LIFECYCLE or kind == "error":
            if kind in TERMINAL:
                return [*out, *self._begun(), *self._end(event, kind)]
            return out + (self._error(event) if kind == "error" else self._lifecycle(event, kind))
        if self.state != "progressed":
            out += self._begun()
        if kind == "response.output_item.added":
            return out + self._added(event)
        place = self.places.get(event.get("output_index", 0), self)
        if kind == "response.output_item.done":
            self.late.done(event.get("output_index", 0), event["item"])
            if event["item"]["type"] == "message" and event["item"].get("status") is None and isinstance(place, Place):
                self.held = event
                return out
            return out + self._done(event, None if place is self else place)  # type: ignore[arg-type]
        if place is None:
            return out  # of an item without a form here, which its end reports
        if place is self:
            return out + self._send(kind, {key: event[key] for key in EVENTS[kind] if key in event})
        return out + self._inside(event, kind, place)  # type: ignore[arg-type]

    def _unknown(self, event: Event) -> list[Event]:
        """An unknown event of this protocol: its strict clients must be able to skip it."""
        data = self.w.native(event, FAMILY)
        if type(data) is not dict or type(data.get("type")) is not str:
            return []
        if self.strict and ":" not in data["type"]:
            self.w.drop(event, "Open Responses has no such event")
            return []
        out = self._begun()
        data = {**data, "sequence_number": self.number()}
        return [*out, {"event": data["type"], "data": data}]

    # ---- the response -----------------------------------------------------------------------------------------------

    def _end(self, event: Event, kind: str) -> list[Event]:
        out: list[Event] = []
        status = kind.removeprefix("response.")

        def pair(c: Node, w: Writer) -> Node:
            given, wire = c.pop("output", None), resource(c, w)
            wire["output"] = self._output(given, w, out)
            wire["status"] = implied if status == "completed" or implied == "failed" else status
            if response.get("status") not in (None, wire["status"]):
                w.report(response, ("status",), "approximated", f"sent as {wire['status']!r}")
            if not any(response.get(key) for key in ("status", "finish", "error")):
                w.added(wire, "status", "no finish reason in the source")
            pop_implied(c, wire, wire["output"])
            if wire["status"] == "cancelled":
                wire["status"] = "failed"
            give_error(c, wire, w)
            for choice in c.pop("choices", None) or ():
                w.drop(choice, "the API gives one answer")
            return wire

        response = event["response"]
        implied = status_of(response)
        wire = whole(pair, response, self.w)
        for key, value in self.head.items():
            if wire.get(key) is None and key not in ("status", "usage"):
                wire[key] = value
        wire["id"] = self.head["id"]
        complete_response(wire, self.w, response)
        self._alias(wire)
        self.state = "ended"
        # A status that only other protocols have ends no stream here: clients wait for a known end.
        told = f"response.{wire['status']}"
        return out + self._send(told if told in TERMINAL else kind, {"response": wire})

    def _output(self, given: Any, w: Writer, out: list[Event]) -> list[Node]:
        """Every item as in its end event; those that only the whole response has are sent before it."""
        for index, item in enumerate(given if type(given) is list else ()):
            if index not in self.places:
                out += self._added({"output_index": index, "item": item})
                out += self._done({"output_index": index, "item": item}, self.places.get(index))
        add_late(self.done, self.places, self.late, given, w)
        return [self.done[index] for index in sorted(self.done)]

    # ---- items ------------------------------------------------------------------------------------------------------

    def _added(self, event: Event) -> list[Event]:
        w = self.w
        mark = len(w.raw)
        # (What stands inside a call that is running begins nothing.)
        written = [] if key_of(event["item"]) in self.running else write_item(beginning_of(event["item"]), w)
        del w.raw[mark:]  # the end of the item reports it
        if not written:
            self.places[event.get("output_index", 0)] = None
            return []
        opening = written[0]
        if opening["type"] != "message":
            wire = complete_item({**opening}, w, self.next, status="in_progress")
            del w.raw[mark:]
            return self._open(event, wire)[1]
        self.opening = Place(self.next, {"id": None, **opening}, is_open=False)
        self.opening.opening = opening
        self.places[event.get("output_index", 0)] = self.opening
        return []

    def _open_message(self, place: Place) -> list[Event]:
        """Announce a message, or the one that begins behind an image."""
        if self.opening is place:
            self.opening = None
        mark = len(self.w.raw)
        opening = {key: value for key, value in place.opening.items() if key != "id" or not place.messages}
        wire = complete_item(opening, self.w, self.next, status="in_progress")
        del self.w.raw[mark:]
        place.index, place.id, place.is_open = self.next, wire["id"], True
        self.next += 1
        return self._send("response.output_item.added", {"output_index": place.index, "item": wire})

    def _draw(self, place: Place) -> list[Event]:
        """The images that wait, when no part before them is open: the message ends before them."""
        if place.begun:
            return []
        out: list[Event] = []
        if place.is_open:
            wire = {**place.opening, "id": place.id, "content": place.end_message()}
            wire["status"] = None
            out += self._whole(place, wire, [])
        pictures, place.pictures = place.pictures, []
        place.drawn += len(pictures)
        return out + self._items(pictures)

    def _open(self, event: Event, wire: Node) -> tuple[Place, list[Event]]:
        place = self.places[event.get("output_index", 0)] = Place(self.next, wire)
        self.next += 1
        return place, self._send("response.output_item.added", {"output_index": place.index, "item": wire})

    def _all(self, events: list[tuple[str, Node]]) -> list[Event]:
        return [out for kind, data in events for out in self._send(kind, data)]

    def _let_go(self, event: Event) -> list[Event]:
        """The end of the message that was held, when this event has shown whether the answer breaks off in it."""
        held, self.held = self.held, None
        if held is None:
            return []
        status = "incomplete" if is_cut_off(held, event) else DONE
        return self._done(held, self.places.get(held.get("output_index", 0)), status)

    def _done(self, event: Event, place: Place | None, status: str = DONE) -> list[Event]:
        w = self.w
        item, out = event["item"], list[Event]()
        if self.running and not has_foreign(item, w):
            key = key_of(item)
            if key in self.running and fold_result(item, {key: self.running[key][1]}, w) is not None:
                return self._whole(*self.running.pop(key))
        written = write_item(item, w, place.index if place else self.next)
        if not written:
            return []
        behind = written[1:]
        wire: Any = written[0]
        if place is not None and any(map(is_picture_item, written)):
            self.opening = None if self.opening is place else self.opening
            wire, behind = rest_of(place, written, self.done, w)
            if wire is None:
                return self._items(behind)
            if any(map(is_picture_item, behind)):
                status = DONE  # an answer that breaks off does so in what is last
        if type(wire) is not dict or (place is None and type(wire.get("type")) is not str):
            w.drop(item, "a stream has no place for it")
            return []
        if place is None:
            # What was unknown at its opening is known at its end; clients add the pieces to what the opening has.
            opening = {**wire, "status": None}
            if opening["type"] in WHOLE:
                opening[WHOLE[opening["type"]]] = ""
            place, out = self._open(event, complete_item(opening, w, self.next, status="in_progress"))
        if not place.is_open:
            out += self._open_message(place)
        if place.kind != wire.get("type") and wire.get("type") is not None:
            wire = {**wire, "type": place.kind}
        wire["id"] = place.id
        if place.call is not None:
            wire["call_id"] = place.call
        out += self._all([*place.owed(wire), *place.ending(wire)])
        call_id = call_id_of(item)
        if call_id is not None and is_open(wire):
            self.running[item["type"], call_id] = place, wire, behind
            return out
        return out + self._whole(place, wire, behind, status)

    def _whole(self, place: Place, wire: Node, carriers: list[Node], status: str = DONE) -> list[Event]:
        """The end of an item, and the items that carry what it has no slot for."""
        complete_item(wire, self.w, place.index, status=status)
        self.done[place.index] = wire
        out = self._send("response.output_item.done", {"output_index": place.index, "item": wire})
        return out + self._items(carriers)

    def _items(self, items: list[Node]) -> list[Event]:
        """Items that begin and end at once."""
        out: list[Event] = []
        for item in items:
            index, self.next = self.next, self.next + 1
            item["id"] = made_id(id_prefix(item["type"]), self.w.seed, index)
            self.done[index] = item
            for end in ("added", "done"):
                out += self._send(f"response.output_item.{end}", {"output_index": index, "item": item})
        return out

    def _inside(self, event: Event, kind: str, place: Place) -> list[Event]:
        if self.summarizes and place.kind == "reasoning" and kind in EVENTS_SUMMARIZED:
            out = self._within(summarized(event), EVENTS_SUMMARIZED[kind], place)
            self.hot = spot_of(event)
            return out
        return self._within(event, kind, place)

    def _within(self, event: Event, kind: str, place: Place) -> list[Event]:
        w = self.w
        if place.is_past(event.get("content_index")):
            return []  # of a part before an image: the whole response has it
        owed = self._all(place.owed(event)) if not place.told and place.kind in WHOLE else []
        place.told = place.told or bool(event.get("delta"))
        place.ended = place.ended or kind in ENDS
        if kind in SIMPLE and event.keys() <= SIMPLE[kind]:
            return owed + self._placed(event, kind, place, event.copy())
        family = parts if place.kind.endswith("reasoning") else answer_parts

        def pair(c: Node, w: Writer) -> Node:
            wire: Node = {key: c.pop(key) for key in tuple(c) if key in EVENTS[kind]}
            c.pop("obfuscation", None)
            c.pop("choice", None)
            if type(wire.get("part")) is dict:
                wire["part"] = w.node(family, wire["part"])
                if wire["part"] is None or (type(wire["part"]) is dict and wire["part"].get("type") == PICTURE):
                    place.left.add(event.get("content_index") or 0)
                    if wire["part"] is not None and kind == "response.content_part.done":
                        place.pictures.append(picture_item(wire["part"], w))
                    wire = {}
            elif type(wire.get("annotation")) is dict:
                wire["annotation"] = w.node(foreign_citations, wire["annotation"])
                if wire["annotation"] is None:
                    wire = {}
            return wire

        mark = len(w.raw)
        wire = w.piece(pair, event)
        if "part" in EVENTS[kind]:
            # The item's end holds the part again, and reports what of it is lost.
            del w.raw[mark:]
        if not wire and place.pictures:
            return owed + self._draw(place)
        if wire and kind == "response.content_part.done" and place.is_late(event.get("content_index") or 0):
            return owed + [out for name, said in late_text(wire) for out in self._placed(event, name, place, said)]
        return owed + (self._placed(event, kind, place, wire) if wire else [])

    def _placed(self, event: Event, kind: str, place: Place, wire: Node) -> list[Event]:
        """The event of an item, in its place; `wire` is its content."""
        out = [] if place.is_open else self._open_message(place)
        wire["output_index"] = place.index
        if "item_id" in EVENTS[kind]:
            wire["item_id"] = place.id
        if "content_index" in EVENTS[kind]:
            # Not `wire`'s, which may be what a provider sent in the place of an index.
            wire["content_index"] = place.content_index(event.get("content_index") or 0, sent=True)
        if kind.startswith("response.output_text.") and "annotation" not in kind:
            probabilities = wire.get("logprobs") or []
            wire["logprobs"] = with_bytes(probabilities, []) if self.strict else without_bytes(probabilities)
        elif "logprobs" in wire:
            del wire["logprobs"]  # of a refusal: the item's end has them
        if type(wire.get("part")) is dict and wire["part"].get("type") == "output_text":
            complete_text(wire["part"], self.w)
        elif self.strict and type(wire.get("annotation")) is dict and wire["annotation"].get("type") != "url_citation":
            return out
        if place.kind == "message":
            place.follow(event.get("content_index") or 0, kind, wire)
        out += self._send(kind, wire)
        if kind in HOT and place.told and not wire.get("logprobs"):
            self.hot = spot_of(event)
            self.more = WriteMore(out[-1], ("data", "delta"), None, "sequence_number", self.number)
        return out
