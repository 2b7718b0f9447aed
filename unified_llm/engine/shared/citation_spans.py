"""Which part of a text a citation is about: bounds where there are none, and texts cut for wires that cite blocks.

A citation without `start_index` is about the whole part it stands on. Wires with a place in the text get the
bounds of that part; a wire whose citations stand on blocks gets a block for each cited place, where places do not
overlap. In a stream the bounds are unknown before the text is over: such a citation waits for that.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from ..pairs.mapping import Fated

if TYPE_CHECKING:
    from ...streams.event_fast_path import WriteMore
    from ..adapter import WireWriter
    from ..pairs.reading import Reader
    from ..pairs.writing import Writer

__all__ = ["CitingWriter", "add_bounds", "as_page", "cites_nothing", "is_placeless", "split_text"]

Node = dict[str, Any]
Event = dict[str, Any]

_ADDED = "response.output_text.annotation.added"
_DONE = "response.output_text.done"
_ENDS = frozenset(("response.content_part.done", "response.output_item.done", "error"))
_OVER = _ENDS | {_DONE}
_INDICES = ("start_index", "end_index")
_PAGES = ("url_citation", "place_citation")
_RECENT = 64  # notes of a reading, among which those of the last event are


def is_placeless(note: Any) -> bool:
    """Whether a citation of a page has no place, so that it is about the whole of its part."""
    return type(note) is dict and note.get("type") == "url_citation" and all(note.get(key) is None for key in _INDICES)


def cites_nothing(note: Node) -> bool:
    """Whether a citation of a page names none: nothing but a place in the text is known of it."""
    return not any(note.get(key) for key in ("url", "title", "cited_text"))


def _is_open(note: Any) -> bool:
    """Whether a citation of a page lacks a bound that the text has to give it."""
    return type(note) is dict and note.get("type") in _PAGES and any(note.get(key) is None for key in _INDICES)


def as_page(write: Callable[[Node, Writer], Any]) -> Callable[[Node, Writer], Any]:
    """How a place on a map is written where pages alone are cited: as the page that the map has of it.

    Google requires that the sources of an answer about places are shown.
    https://ai.google.dev/gemini-api/docs/maps-grounding
    """

    def pair(c: Node, w: Writer) -> Any:
        if type(c.get("url")) is not str:
            return None
        c["type"] = Fated("approximated", "sent as a page")
        if "name" in c:
            c["title"] = c.pop("name")
        return write(c, w)

    return pair


def add_bounds(wire: Node, length: int, w: Writer) -> None:
    """Give a written citation the bounds of its whole part where it has none of its own, under the canonical names."""
    for key, value in zip(_INDICES, (0, length)):
        if wire.get(key) is None:
            wire[key] = value
            w.added(wire, key, "without a place it applies to the whole text")


def split_text(part: Node) -> list[Node] | None:
    """The part as parts whose citations are about all of them; None where nothing is to be cut, or nothing can be.

    The citations themselves are the same objects, so that what is reported of them is found. Log probabilities are in
    none of the parts: no wire that cites blocks has any, and the caller reports them.
    """
    text, notes = part.get("text"), part.get("annotations")
    if part.get("type") != "output_text" or type(text) is not str or type(notes) is not list:
        return None
    if part.keys() - {"type", "text", "annotations", "logprobs", "extra"}:
        return None
    places: dict[tuple[int, int], list[Node]] = {}
    others: list[Node] = []
    for note in notes:
        if type(note) is not dict:
            return None
        kind = note.get("type")
        if (kind == "url_citation" and cites_nothing(note)) or (
            kind not in _OF_BLOCKS and not (kind in _PAGES and note.get("url"))
        ):
            others.append(note)
            continue
        start, end = (note.get(key) for key in _INDICES)
        if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
            return None
        places.setdefault((start, end), []).append(note)
    spans = sorted(places)
    if not spans or spans == [(0, len(text))] or any(one[1] > two[0] for one, two in pairwise(spans)):
        return None
    out: list[Node] = []
    at = 0
    for start, end in spans:
        if not text[start:end].strip():
            return None
        if text[at:start].strip():
            out.append({"type": "output_text", "text": text[at:start]})
        elif out:
            out[-1]["text"] += text[at:start]  # no wire takes a block of nothing but blanks
        first = at if not out and not text[at:start].strip() else start
        out.append({"type": "output_text", "text": text[first:end], "annotations": places[start, end]})
        at = end
    if text[at:].strip():
        out.append({"type": "output_text", "text": text[at:]})
    else:
        out[-1]["text"] += text[at:]
    if len(out) == 1:
        return None
    if others:
        out[0]["annotations"] = [*out[0].get("annotations", ()), *others]
    return out


# Citations that wires which cite blocks have; others are lost there, wherever they stand.
_OF_BLOCKS = frozenset(("document_citation", "search_result_citation", "url_citation"))


class CitingWriter:
    """A writer of wire events that gets a citation without a place when the text that it is about is over."""

    write_more: Callable[[], WriteMore | None]

    def __init__(self, writer: WireWriter, reader: Reader | None = None) -> None:
        self.writer = writer
        self.reader = reader
        # With the wire node that the citation was read from, where that is known.
        self.held: dict[tuple[Any, ...], list[tuple[Event, Any]]] = {}
        if hasattr(writer, "write_more"):
            self.write_more = writer.write_more

    def feed(self, event: Event) -> list[Event]:
        kind = event["type"]
        if kind == _ADDED and _is_open(event.get("annotation")):
            self.held.setdefault(_place(event), []).append((event, self._source(event["annotation"])))
            return []
        if self.held and kind in _OVER:
            out: list[Event] = []
            for held, source, text in self._over(event) if kind != "error" else ():
                if type(text) is str:
                    note = held["annotation"]
                    start, end = (note.get(key) for key in _INDICES)
                    placed = {**note, "start_index": 0 if start is None else start}
                    placed["end_index"] = len(text) if end is None else end
                    if source is not None and self.reader is not None:
                        self.reader.made(placed, source)
                        for key in note:
                            place = self.reader.places.get((id(note), key))
                            if place is not None and place[:1] != (...,):
                                self.reader.place(placed, (key,), place)
                    out += self.writer.feed({**held, "annotation": placed})
            return out + self.writer.feed(event)
        return self.writer.feed(event)

    def _over(self, event: Event) -> list[tuple[Event, Any, Any]]:
        """The citations that wait for this end, each with its source and its whole text."""
        kind, place = event["type"], _place(event)
        if kind != "response.output_item.done":
            text = event.get("text") if kind == _DONE else (event.get("part") or {}).get("text")
            return [(*each, text) for each in self.held.pop(place, ())]
        out: list[tuple[Event, Any, Any]] = []
        content = event["item"].get("content")
        for waiting in [each for each in self.held if each[:2] == place[:2]]:
            parts = content[waiting[2] :] if type(content) is list else []
            text = parts[0].get("text") if parts and type(parts[0]) is dict else None
            out += [(*each, text) for each in self.held.pop(waiting)]
        return out

    def _source(self, note: Node) -> Any:
        recent = islice(reversed(self.reader.traced()), _RECENT) if self.reader is not None else ()
        return next((wire for node, wire in recent if node is note), None)

    def close(self) -> list[Event]:
        return self.writer.close()


def _place(event: Event) -> tuple[Any, ...]:
    return event.get("choice", 0), event.get("output_index", 0), event.get("content_index", 0)
