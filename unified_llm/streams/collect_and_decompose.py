"""The two folds of canonical events: `collect` (events to a response) and `decompose` (the reverse).

The grammar of the events is in `grammar.py`.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Iterator
from typing import Any

from ..engine.malformed import FAULTS, refuse_conversion, refuse_document, refuse_event
from ..foundation.errors import InvalidBody, RemoteProtocolError
from ..foundation.json_codec import load
from ..foundation.json_paths import pointer
from ..types._tables import KNOWN_TYPES
from .grammar import (
    ADDRESS,
    ALONE,
    ANNOTATION,
    BUILDS,
    CLASS,
    CONTENT,
    FRAME,
    INSIDE,
    PARTS,
    PASSING,
    TERMINAL,
    Grammar,
    Place,
    place_of,
)

__all__ = [
    "ADDRESS",
    "ALONE",
    "FRAME",
    "PASSING",
    "TERMINAL",
    "Collector",
    "Grammar",
    "aclose",
    "checked",
    "collect",
    "decompose",
    "framed",
    "index_of",
    "terminal_of",
]

Event = dict[str, Any]
Node = dict[str, Any]


class Collector:
    """What the events amount to so far. Indices are names: only what was received takes room, whatever its index."""

    def __init__(self) -> None:
        self.response: Node = {}
        self.items: dict[Place, Node] = {}
        self.ended: bool = False
        # Of each list of an open item: the position of the part that events call by an index.
        self._positions: dict[tuple[Place, str], dict[int, int]] = {}
        # What deltas add to the items that are open: by item, the node and key with the pieces.
        self._pieces: dict[Place, dict[tuple[int, str], tuple[Node, list[Any]]]] = {}

    def feed(self, event: Event) -> None:
        kind = event["type"]
        place = place_of(event)
        if kind == "response.output_item.added" or kind == "response.output_item.done":
            if event.get("item") is not None:
                done = kind.endswith("done")
                self.items[place] = event["item"] if done else _copy(event["item"])
                self._pieces.pop(place, None)
            return
        class_ = CLASS.get(kind)
        if class_ in ("open", "end"):
            if class_ == "end":
                # An opening has the status of a response under way; only the end has the final one.
                self.response.pop("status", None)
                self.ended = True
            self.response = {**self.response, **event["response"]}
            if class_ == "end":
                self.settle()
                self._whole(event["response"])
            return
        if kind in INSIDE and place in self.items:
            self._build(place, kind, event)

    def settle(self) -> None:
        """Put into the items what deltas added to them so far."""
        for pieces in self._pieces.values():
            for (_, key), (node, added) in pieces.items():
                if key == "logprobs":
                    node[key] = [*_grown(node.get(key), list), *added]
                else:
                    node[key] = "".join([_grown(node.get(key), str), *added])
        self._pieces.clear()

    def _whole(self, terminal: Node) -> None:
        outputs: dict[int, list[Node]] = {}
        for place in sorted(self.items):
            outputs.setdefault(place[0], []).append(self.items[place])
        first = outputs.pop(0, [])
        if "output" not in terminal:
            self.response["output"] = first
        choices = enumerate(terminal.get("choices") or [], 1)
        known = {index_of(choice, number): choice for number, choice in choices}
        if outputs or known:
            self.response["choices"] = [
                {"index": index, "output": outputs.get(index, []), **known.get(index, {})}
                for index in sorted({*outputs, *known})
            ]

    def _build(self, place: Place, kind: str, event: Event) -> None:
        """Apply one event to an item that is still open."""
        item = self.items[place]
        bracket = PARTS.get(kind)
        if bracket is not None:
            parts = _list(item, bracket[0])
            position = self._position(place, *bracket, event, parts)
            parts[position : position + 1] = [_copy(event["part"])]
            return
        if kind == ANNOTATION:
            part = self._part(place, *CONTENT, event)
            if part is not None:
                _list(part, "annotations").append(event["annotation"])
            return
        stem, _, end = kind.rpartition(".")
        where, index_key, key = BUILDS[stem]
        target = self._part(place, where, index_key, event) if where else item
        if target is None:
            return
        if end == "delta":
            pieces, delta = self._pieces.setdefault(place, {}), event.get("delta") or ""
            if type(delta) is not str:
                raise TypeError("the delta is not a string")
            pieces.setdefault((id(target), key), (target, []))[1].append(delta)
            if type(event.get("logprobs")) is list:
                pieces.setdefault((id(target), "logprobs"), (target, []))[1].extend(event["logprobs"])
        elif key in event:
            self._pieces.get(place, {}).pop((id(target), key), None)
            target[key] = event[key]

    def _position(self, place: Place, where: str, index_key: str, event: Event, parts: list[Any]) -> int:
        """The position of the part of an event. What is new comes last: parts stand in order of appearance."""
        known = self._positions.get((place, where))
        if known is None:
            known = self._positions[place, where] = {index: index for index in range(len(parts))}
        return known.setdefault(event.get(index_key) or 0, len(parts))

    def _part(self, place: Place, where: str, index_key: str, event: Event) -> Node | None:
        parts = self.items[place].get(where)
        position = self._positions.get((place, where), {}).get(event.get(index_key) or 0, event.get(index_key) or 0)
        found = parts[position] if type(parts) is list and position < len(parts) else None
        return found if type(found) is dict else None


def collect(events: Iterable[Event]) -> Node:
    """The canonical response a stream of canonical events (JSON form or objects) amounts to.

    The terminal event's own output wins; without one, items are those of their done events, or what their deltas add
    up to. Raises `RemoteProtocolError` for a stream that failed, was cut off, or breaks the grammar, and `InvalidBody`
    for an event that is not what its type declares.

    >>> answer = {"id": "r", "status": "completed", "output": [
    ...     {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}]}
    >>> collect(decompose(answer)) == answer
    True
    """
    grammar, collector = Grammar(), Collector()
    failure: Node | None = None
    for number, event in enumerate(events):
        if hasattr(event, "model_dump"):
            event = load(event)
        try:
            grammar.feed(event)
            if event["type"] == "error":
                failure = event.get("error") or {}
            collector.feed(event)
        except FAULTS as error:
            refuse_event(number, event, error, local=False)
    if not collector.ended and failure is not None:
        texts = (failure.get(name) for name in ("message", "code"))
        raise RemoteProtocolError(next((text for text in texts if type(text) is str and text), "the stream failed"))
    grammar.close()
    return collector.response


def decompose(response: Node) -> Iterator[Event]:
    """The canonical events a canonical response could have come as: each part in one delta, each item closed.

    Takes the object or its JSON form; the reverse is `collect`. Raises `InvalidBody` for what is not a response.

    >>> answer = {"id": "r", "status": "completed", "output": []}
    >>> [event["type"] for event in decompose(answer)]
    ['response.created', 'response.in_progress', 'response.completed']
    """
    if hasattr(response, "model_dump"):
        response = load(response)
    if type(response) is not dict:
        raise InvalidBody("", "a canonical response is an object")
    try:
        yield from _events(response)
    except FAULTS as error:
        refuse_document("response", response, error)


def _events(response: Node) -> Iterator[Event]:
    opening = {key: value for key, value in response.items() if key not in _LATE}
    opening.update(status="in_progress", output=[])
    forms = {name: {"form": own["form"]} for name, own in (response.get("extra") or {}).items() if "form" in own}
    if forms:
        opening["extra"] = forms
    yield {"type": "response.created", "response": opening}
    yield {"type": "response.in_progress", "response": opening}
    choices = [(0, response.get("output") or [])]
    others = enumerate(response.get("choices") or [], 1)
    choices += [(index_of(choice, number), choice.get("output") or []) for number, choice in others]
    for choice, items in choices:
        for index, item in enumerate(items):
            at: Node = {"output_index": index, **({"choice": choice} if choice else {})}
            yield from _item_events(item, at)
    yield {"type": terminal_of(response), "response": response}


def index_of(choice: Node, number: int) -> Any:
    """The index of a further choice; `number`, its place among them from 1, where it has none."""
    index = choice.get("index")
    return number if index is None else index


_LATE = ("output", "choices", "usage", "finish", "error", "completed_at", "extra")


def terminal_of(response: Node) -> str:
    """The event that ends the stream of a response: by its status, else by the reason of its end."""
    status = response.get("status")
    if status in ("failed", "cancelled") or (status is None and response.get("error")):
        return "response.failed"
    reason = (response.get("finish") or {}).get("reason")
    if status == "incomplete" or (status is None and reason in ("length", "context_window", "safety", "recitation")):
        return "response.incomplete"
    return "response.completed"


def _item_events(item: Node, at: Node) -> Iterator[Event]:
    named: Node = {"item_id": item["id"], **at} if item.get("id") else at
    opening = {key: value for key, value in item.items() if key not in ("status", "opaque", "extra")}
    streamed = [(stem, key) for stem, (where, _, key) in BUILDS.items() if not where and _is_stem(stem, item, key)]
    for _, key in streamed:
        opening[key] = ""
    parts = {where: item[where] for where in ("content", "summary") if _has_parts(item, where)}
    opening.update((where, []) for where in parts)
    if "status" in item:
        opening["status"] = "in_progress"
    if streamed and item.get("extra"):
        # Where a call is opened by all of it but its arguments, so is what its protocol keeps with it.
        kept = {name: {"rest": own["rest"]} for name, own in item["extra"].items() if own.get("rest")}
        opening.update({"extra": kept} if kept else {})
    yield {"type": "response.output_item.added", **at, "item": opening}
    for index, part in enumerate(parts.get("summary", ())):
        yield from _part_events(part, {**named, "summary_index": index}, "response.reasoning_summary_part")
    for index, part in enumerate(parts.get("content", ())):
        yield from _part_events(part, {**named, "content_index": index}, "response.content_part")
    for stem, key in streamed:
        yield {"type": f"{stem}.delta", **named, "delta": item[key]}
        yield {"type": f"{stem}.done", **named, key: item[key]}
    yield {"type": "response.output_item.done", **at, "item": item}


def _has_parts(item: Node, where: str) -> bool:
    """Whether an item is streamed part by part; the lists of an unknown item may hold any values."""
    parts = item.get(where)
    return type(parts) is list and (item.get("type") in KNOWN_TYPES or all(map(_is_part, parts)))


def _is_part(value: Any) -> bool:
    return (
        type(value) is dict
        and type(value.get("type", "")) is str
        and type(value.get("annotations")) in (list, type(None))
    )


def _is_stem(stem: str, item: Node, key: str) -> bool:
    return type(item.get(key)) is str and stem.startswith(f"response.{item['type']}_")


_PART_STEMS = {
    "output_text": ("response.output_text", "text"),
    "refusal": ("response.refusal", "refusal"),
    "reasoning_text": ("response.reasoning_text", "text"),
    "summary_text": ("response.reasoning_summary_text", "text"),
}


def _part_events(part: Node, at: Node, bracket: str) -> Iterator[Event]:
    stem, key = _PART_STEMS.get(part.get("type", ""), ("", ""))
    if not stem or type(part.get(key)) is not str:
        yield {"type": f"{bracket}.added", **at, "part": part}
        yield {"type": f"{bracket}.done", **at, "part": part}
        return
    opening = {name: value for name, value in part.items() if name not in ("opaque", "extra", "logprobs")}
    opening[key] = ""
    annotations = part.get("annotations")
    annotations = annotations if type(annotations) is list else []
    if annotations:
        opening["annotations"] = []
    yield {"type": f"{bracket}.added", **at, "part": opening}
    logprobs = {"logprobs": part["logprobs"]} if "logprobs" in part else {}
    yield {"type": f"{stem}.delta", **at, "delta": part[key], **logprobs}
    for index, annotation in enumerate(annotations):
        yield {"type": ANNOTATION, **at, "annotation_index": index, "annotation": annotation}
    yield {"type": f"{stem}.done", **at, key: part[key], **logprobs}
    yield {"type": f"{bracket}.done", **at, "part": part}


def _grown(value: Any, type_: type) -> Any:
    """What a delta is added to; the value of an opening in its place has no information."""
    return value if type(value) is type_ else type_()


def _list(node: Node, key: str) -> list[Any]:
    """The list at a key, opened where there is none yet: some open with null what they then fill."""
    found = node.get(key)
    if type(found) is not list:
        found = node[key] = []
    return found


def _copy(value: Any) -> Any:
    if type(value) is dict:
        return {key: _copy(inner) for key, inner in value.items()}
    return [_copy(inner) for inner in value] if type(value) is list else value


def framed(event: Any, number: int | None) -> Event:
    """A wire event with its name, or without one where it has none; `InvalidBody` for what is not an event."""
    if type(event) is not dict or "data" not in event:
        raise InvalidBody(pointer((number,)), "a wire event is an object with its `data`, and its name under `event`")
    name = event.get("event")
    if name is not None and type(name) is not str:
        raise InvalidBody(pointer((number, "event")), "the name of an event should be a string or null")
    return event if "event" in event else {"event": None, **event}


def checked(reader: Any, events: Iterable[Any]) -> Iterator[Event]:
    """The canonical events of wire events, read by a `WireReader`, in an order that the grammar allows."""
    grammar, number, event = Grammar(), 0, None
    for number, event in enumerate(events):
        try:
            found = reader.feed(framed(event, number))
        except FAULTS as error:
            refuse_conversion((number,), event, error)
        for canonical in found:
            grammar.feed(canonical)
            yield canonical
    try:
        found = reader.close()
    except FAULTS as error:
        refuse_conversion((number,), event, error)
    for canonical in found:
        grammar.feed(canonical)
        yield canonical


async def aclose(source: AsyncIterable[Any]) -> None:
    """Close what a stream came from: a caller that stops reading would leave it open, with its connection."""
    close = getattr(source, "aclose", None)
    if close is not None:
        await close()
