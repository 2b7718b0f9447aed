"""Reasoning in the deltas of one choice: the fields it may come in, several of them at once, and chunks of content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unified_llm.engine.pairs.reading import Reader
from unified_llm.foundation.json_codec import dump_text
from unified_llm.provenance.opaque import anchor_of, is_envelope, opaque_piece, open_sealed

from ..turns.reasoning import LATE, THINKING, detail_text, fields_of
from ..turns.tags import TAGS, Scanner
from ..values.tables import REASONING_FIELDS
from .items import Open
from .merge import ONCE

__all__ = ["ReasoningReader"]

Event = dict[str, Any]
Node = dict[str, Any]
Path = list[Any]

_REASONING = frozenset((*REASONING_FIELDS, "reasoning_details", "reasoning_opaque"))


class ReasoningReader:
    """What of a choice's reader is about reasoning."""

    r: Reader
    open: Open | None
    items: list[Node]
    messages: list[Node]
    scanner: Scanner | None

    if TYPE_CHECKING:

        def add(self, key: str, value: Any) -> None: ...
        def _say_odd(self, key: str, value: Any) -> None: ...
        def _text(self, kind: str, text: str, events: list[Event], *keys: Any) -> Event: ...
        def _begin(self, item: Node, events: list[Event]) -> Open: ...

    def _reasoning(self, delta: Node, path: Path, events: list[Event], slots: list[list[Any]]) -> None:
        if _REASONING.isdisjoint(delta):
            return
        fields = [field for field in fields_of(self.r) if type(delta.get(field)) is str and delta[field]]
        details = delta.get("reasoning_details")
        details = self._sealed(details, events) if type(details) is list and details else None
        if type(delta.get("reasoning_opaque")) is str:
            if self.open is not None and self.open.item["type"] == "reasoning":
                self.open.sealed = delta["reasoning_opaque"]
                self.open.sources[("reasoning_opaque",)] = self.r.here(*path, "reasoning_opaque")
            else:
                self.add("reasoning_opaque", delta["reasoning_opaque"])
        if not fields and details is None:
            return
        texts = [detail_text(detail)[0] for detail in details or ()]
        # Beside a field that holds the text, details only repeat it.
        told = self.open is not None and self.open.item["type"] == "reasoning" and bool(self.open.fields)
        text = delta[fields[0]] if fields else "" if told else "".join(texts)
        if text:
            self._text("reasoning_text", text, events, fields[0] if fields else "reasoning_details")
            number = len(events) - 1
            for field in fields:
                if delta[field] == text:
                    slots.append([number, ["delta"], [*path, field]])
            if details is not None and texts == [text]:
                key = "text" if "text" in details[0] else "summary"
                slots.append([number, ["delta"], [*path, "reasoning_details", 0, key]])
        elif self.open is None or self.open.item["type"] != "reasoning":
            last = next((item for item in reversed(self.items) if item), None)
            if last is not None and last.get("type") != "reasoning":
                self.add("reasoning_details", details)
                return
            self._begin({"type": "reasoning", "summary": []}, events)
        if self.open is not None:
            self.open.fields += [field for field in fields if field not in self.open.fields]
            if details is not None:
                self._merge(self.open, details, path)

    def _merge(self, open_: Open, details: list[Any], path: Path) -> None:
        """More details of the item that is open; where the first came, and the other fields of later ones."""
        first = ("reasoning_details",) not in open_.sources
        if first:
            open_.sources[("reasoning_details",)] = self.r.here(*path, "reasoning_details")
        open_.details.add(details)
        for place, detail in enumerate(details):
            for keys in _news(detail, open_.told):
                if not first:
                    here = self.r.here(*path, "reasoning_details", place, *keys)
                    open_.sources[("reasoning_details", *here)] = here

    def _tagged(self, piece: str, path: Path, events: list[Event], slots: list[list[Any]]) -> None:
        """Content that may hold the tags around reasoning."""
        told = self.scanner.feed(piece) if self.scanner is not None else []
        for each in told:
            if each.kind == "opening":
                self._begin({"type": "reasoning", "summary": []}, events)
                if self.open is not None:
                    self.open.fields.append(TAGS)
                continue
            self._text("reasoning_text" if each.kind == "reasoning" else "output_text", each.text, events, "content")
            slots.append([len(events) - 1, ["delta"], [*path, "content"], each.before, each.skip, each.after])

    def _untold(self, events: list[Event]) -> None:
        """What waited for the rest of a tag that never came."""
        if self.scanner is None:
            return
        kind, text = self.scanner.close()
        if text:
            self._text("reasoning_text" if kind == "reasoning" else "output_text", text, events, "content")
        if self.scanner.state == "inside" and self.open is not None and self.open.item["type"] == "reasoning":
            self.r.form(self.open.item, "closing", "absent")

    def _sealed(self, details: list[Any], events: list[Event]) -> list[Any] | None:
        """The details that are not envelopes; each of the others is an item of its own."""
        if not any(is_envelope(_data(detail), self.r) for detail in details):
            return details
        found = [_opened(detail, self.r) for detail in details]
        for item in found:
            if item is None:
                continue
            if item["type"] == "message":
                self.messages.append(item)
                continue
            open_ = self.open
            if open_ is None or open_.item["type"] != "reasoning" or open_.restored is not None:
                open_ = self._begin({"type": "reasoning", "summary": []}, events)
            open_.restored = item
        # A damaged envelope has no origin, and never reaches a provider.
        others = [x for x, item in zip(details, found) if item is None and not is_envelope(_data(x), self.r)]
        if others:
            self.add("reasoning_details", others)
        return None

    def _restore_messages(self) -> None:
        """Messages whose envelope came beside their text, once the whole of it is there to recognize them."""
        for sealed in self.messages:
            for item in self.items:
                if item and item["type"] == "message" and anchor_of(item) == anchor_of(sealed):
                    extra = {**(sealed.get("extra") or {}), **item.get("extra", {})}
                    item.clear()
                    item.update({**sealed, **({"extra": extra} if extra else {})})
                    break

    def _list(self, content: list[Any], path: Path, events: list[Event], slots: list[list[Any]]) -> None:
        """Content as a list of chunks: thinking chunks and text."""
        odd = [_odd_chunk(chunk) for chunk in content]
        if any(odd):
            self._say_odd("content", odd)
        for place, chunk in enumerate(content):
            kind = chunk.get("type") if type(chunk) is dict else None
            if kind == "text" and type(chunk.get("text")) is str and chunk["text"]:
                self._text("output_text", chunk["text"], events, "content", place, "text")
                slots.append([len(events) - 1, ["delta"], [*path, place, "text"]])
            elif kind == THINKING and type(chunk.get(THINKING)) is list:
                for inner, piece in enumerate(chunk[THINKING]):
                    if type(piece) is dict and type(piece.get("text")) is str and piece["text"]:
                        self._text("reasoning_text", piece["text"], events, "content", place, THINKING, inner, "text")
                        slots.append([len(events) - 1, ["delta"], [*path, place, THINKING, inner, "text"]])
                        if self.open is not None and THINKING not in self.open.fields:
                            self.open.fields.append(THINKING)

    def _seal_reasoning(self, open_: Open) -> None:
        r, item = self.r, open_.item
        if open_.restored is not None:
            item.clear()
            item.update(open_.restored)
            return
        fields = open_.fields or ["reasoning_details"]
        r.form(item, "field", fields[0])
        if len(fields) > 1:
            r.form(item, "also", fields[1:])
        r.place(item, ("content",), ("reasoning_text",))
        for key, data in (
            ("reasoning_details", dump_text(open_.details.entries) if open_.details.entries else None),
            ("reasoning_opaque", open_.sealed),
        ):
            if data is not None:
                pieces = item.setdefault("opaque", [])
                r.place(item, ("opaque", len(pieces)), (key,))
                pieces.append(opaque_piece(key, data, r))


def _news(detail: Any, told: dict[Any, Any]) -> list[tuple[str, ...]]:
    """The part of a detail that no other of its index and type has: all of it, or keys; `told` is the others' part."""
    if type(detail) is not dict or "index" not in detail:
        return [()]
    entry = (str(detail["index"]), str(detail.get("type")))
    new = entry not in told
    told[entry] = True
    found: list[tuple[str, ...]] = []
    for key, value in detail.items():
        # The text is sent as it comes.
        if key in ("text", "summary") or value is None or (key in ONCE and told.get((*entry, key)) == value):
            continue
        if key in ONCE:
            told[(*entry, key)] = value
        found.append((key,))
    return [()] if new else found


def _odd_chunk(chunk: Any) -> Any:
    """The part of a chunk without a text: all of a chunk of another kind, what is beside the text of a known one."""
    kind = chunk.get("type") if type(chunk) is dict else None
    if kind == THINKING and type(chunk.get(THINKING)) is list:
        odd = {key: value for key, value in chunk.items() if key not in ("type", THINKING)}
        pieces = [_odd_chunk(piece) for piece in chunk[THINKING]]
        return {**odd, THINKING: pieces} if any(pieces) else odd
    if kind == "text" and type(chunk.get("text")) is str:
        return {key: value for key, value in chunk.items() if key not in ("type", "text")}
    if type(chunk) is dict and type(chunk.get("text")) is str:
        return {key: value for key, value in chunk.items() if key != "text"}
    return chunk or {}


def _data(detail: Any) -> Any:
    return detail.get("data") if type(detail) is dict else None


def _opened(detail: Any, r: Reader) -> Node | None:
    """The item an envelope of ours holds; a stream that a client was sent is read with the secret or not at all."""
    data = _data(detail)
    item = open_sealed(data, None, r) if r.secret is not None and is_envelope(data, r) else None
    if item is not None:
        item.pop(LATE, None)  # its place is in the stream
    return item
