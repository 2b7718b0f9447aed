"""The grammar of canonical events, and its two folds: `collect` (events to a response) and `decompose` (the reverse).

Theory of operation. A stream is one response. It opens with a lifecycle event (`response.created`), goes through items,
and closes with one terminal event (`response.completed`, `.incomplete` or `.failed`). An item opens with
`response.output_item.added` under its place (choice, output_index), may be built up by parts and deltas while it is
open, and closes with `response.output_item.done`, whose item is the truth: deltas are only its preview. An `error`
event may come at any time; after it only a failed end may follow. Frames without canonical meaning
(`unified_llm:frame`) and events of types nobody knows may come anywhere and change nothing.

Rule 1: everything that decides whether an event is legal stands in the two tables below. Rule 2: this file knows
neither a protocol nor a direction; whoever feeds it says whose fault an illegal event is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .errors import InvalidBody, LocalProtocolError, ProtocolError, RemoteProtocolError
from .paths import pointer

__all__ = ["ADDRESS", "ALONE", "FRAME", "PASSING", "TERMINAL", "Grammar", "collect", "decompose", "framed"]

Event = dict[str, Any]
Node = dict[str, Any]
Place = tuple[int, int]

FRAME = "unified_llm:frame"
ALONE = frozenset(
    """response.steer.accepted response.steer.pending response.steer.failed response.audio.delta
    response.audio.transcript.delta response.image_generation_call.partial_image""".split()
)
"""Events that say what no item and no response says again: a writer that has no form for them loses it."""
PASSING = frozenset(("response.in_progress", "response.queued"))
"""Events about an answer under way, whose `continuation_token` no response at the end says again."""
ADDRESS = frozenset(
    """type sequence_number stream_id response_id item_id choice output_index content_index summary_index obfuscation
    extra""".split()
)
"""Keys of an event that say where it belongs, and not what."""
TERMINAL = {"response.completed": "completed", "response.incomplete": "incomplete", "response.failed": "failed"}

# What an event does to the response. "item" and "part" events are checked against ITEM as well.
CLASS: dict[str, str] = {
    "response.created": "open",
    "response.queued": "open",
    "response.in_progress": "open",
    **dict.fromkeys(TERMINAL, "end"),
    "error": "error",
    "response.output_item.added": "added",
    "response.output_item.done": "done",
}
# (state of the response, class of the event) -> the next state. What is missing is illegal.
RESPONSE: dict[tuple[str, str], str] = {
    ("idle", "open"): "open",
    ("idle", "error"): "errored",
    ("idle", "end"): "closed",
    ("open", "open"): "open",
    ("open", "added"): "open",
    ("open", "inside"): "open",
    ("open", "done"): "open",
    ("open", "error"): "errored",
    ("open", "end"): "closed",
    ("errored", "end"): "closed",
    ("errored", "error"): "errored",
}
# (state of the item at an event's place, class of the event) -> the next state. What is missing is illegal.
ITEM: dict[tuple[str, str], str] = {
    ("absent", "added"): "open",
    ("open", "inside"): "open",
    ("open", "done"): "done",
}

# How a delta builds up its item: event stem -> (list it lives in, index key, key it extends).
# `<stem>.delta` appends its `delta`; `<stem>.done` sets the value it names.
_ANNOTATION = "response.output_text.annotation.added"
_CONTENT, _SUMMARY = ("content", "content_index"), ("summary", "summary_index")
BUILDS: dict[str, tuple[str, str, str]] = {
    "response.output_text": (*_CONTENT, "text"),
    "response.refusal": (*_CONTENT, "refusal"),
    "response.reasoning_text": (*_CONTENT, "text"),
    "response.reasoning": (*_CONTENT, "text"),
    "response.reasoning_summary_text": (*_SUMMARY, "text"),
    "response.output_audio": (*_CONTENT, "data"),
    "response.output_audio_transcript": (*_CONTENT, "transcript"),
    "response.function_call_arguments": ("", "", "arguments"),
    "response.custom_tool_call_input": ("", "", "input"),
    "response.mcp_call_arguments": ("", "", "arguments"),
    "response.code_interpreter_call_code": ("", "", "code"),
}
_PARTS = {
    "response.content_part.added": _CONTENT,
    "response.content_part.done": _CONTENT,
    "response.reasoning_summary_part.added": _SUMMARY,
    "response.reasoning_summary_part.done": _SUMMARY,
}
_INSIDE = frozenset([*(f"{stem}.{end}" for stem in BUILDS for end in ("delta", "done")), *_PARTS, _ANNOTATION])


class Grammar:
    """The state of one stream. `feed` raises for an event that cannot come now.

    `local=True` says that the events come from our side, so an illegal one is a `LocalProtocolError`; otherwise it is
    the provider's, a `RemoteProtocolError`.
    """

    __slots__ = ("_error", "_same", "items", "state")

    def __init__(self, *, local: bool = False) -> None:
        self._error: type[ProtocolError] = LocalProtocolError if local else RemoteProtocolError
        self.state = "idle"
        self.items: dict[Place, str] = {}
        self._same: tuple[Any, ...] | None = None

    def feed(self, event: Event) -> None:
        """Check one event and move on."""
        kind = event["type"]
        class_ = CLASS.get(kind)
        if class_ is None:
            if kind not in _INSIDE:
                return
            # Nearly all of a stream: the same kind of event in the same open item, which changes nothing.
            same = self._same
            if same is not None and kind == same[0]:
                if event.get("output_index") == same[1] and event.get("choice") == same[2]:
                    return
            class_ = "inside"
        state = RESPONSE.get((self.state, class_))
        if state is None:
            raise self._error(f"{kind} cannot come when the response is {self.state}")
        self.state = state
        if class_ in ("added", "inside", "done"):
            place = (event.get("choice", 0), event.get("output_index", 0))
            item = ITEM.get((self.items.get(place, "absent"), class_))
            if item is None:
                was = self.items.get(place, "absent")
                raise self._error(f"{kind} cannot come when item {place[1]} of choice {place[0]} is {was}")
            self.items[place] = item
        self._same = (kind, event.get("output_index"), event.get("choice")) if class_ == "inside" else None

    def close(self) -> None:
        """The end of the events: a stream without its terminal event is an error, never a success."""
        if self.state != "closed":
            raise self._error(f"the stream ended while the response was {self.state}")


class _Collector:
    def __init__(self) -> None:
        self.response: Node = {}
        self.items: dict[Place, Node] = {}
        self.ended = False

    def feed(self, event: Event) -> None:
        kind = event["type"]
        place = (event.get("choice", 0), event.get("output_index", 0))
        if kind == "response.output_item.added" or kind == "response.output_item.done":
            if event.get("item") is not None:
                done = kind.endswith("done")
                self.items[place] = event["item"] if done else _copy(event["item"])
            return
        class_ = CLASS.get(kind)
        if class_ in ("open", "end"):
            if class_ == "end":
                # An opening says that the response is under way; only the end says how it came out.
                self.response.pop("status", None)
                self.ended = True
            self.response = {**self.response, **event["response"]}
            if class_ == "end":
                self._whole(event["response"], kind)
            return
        item = self.items.get(place)
        if item is not None:
            _build(item, kind, event)

    def _whole(self, terminal: Node, kind: str) -> None:
        if "output" not in terminal:
            self.response["output"] = [item for place, item in sorted(self.items.items(), key=_place) if place[0] == 0]
        others = sorted({place[0] for place in self.items if place[0]})
        known = {choice.get("index"): choice for choice in terminal.get("choices") or []}
        if others or known:
            self.response["choices"] = [
                {
                    "index": index,
                    "output": [x for place, x in sorted(self.items.items(), key=_place) if place[0] == index],
                    **known.get(index, {}),
                }
                for index in sorted({*others, *known})
            ]


def collect(events: Iterable[Event]) -> Node:
    """The canonical response a stream of canonical events amounts to.

    The terminal event's own output wins; without one, items are what their done events say, or what their deltas add
    up to. Raises `RemoteProtocolError` for a stream that failed, was cut off, or breaks the grammar.

    >>> answer = {"id": "r", "status": "completed", "output": [
    ...     {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}]}
    >>> collect(decompose(answer)) == answer
    True
    """
    grammar, collector = Grammar(), _Collector()
    failure: Node | None = None
    for event in events:
        grammar.feed(event)
        if event["type"] == "error":
            failure = event.get("error") or {}
        collector.feed(event)
    if not collector.ended and failure is not None:
        raise RemoteProtocolError(str(failure.get("message") or failure.get("code") or "the stream failed"))
    grammar.close()
    return collector.response


def decompose(response: Node) -> Iterator[Event]:
    """The canonical events a canonical response could have come as: each part in one delta, each item closed.

    Takes the object or its JSON form; the way back is `collect`.

    >>> answer = {"id": "r", "status": "completed", "output": []}
    >>> [event["type"] for event in decompose(answer)]
    ['response.created', 'response.in_progress', 'response.completed']
    """
    if hasattr(response, "model_dump"):
        from .convert import load

        response = load(response)
    opening = {key: value for key, value in response.items() if key not in _LATE}
    opening.update(status="in_progress", output=[])
    forms = {name: {"form": own["form"]} for name, own in (response.get("extra") or {}).items() if "form" in own}
    if forms:
        opening["extra"] = forms
    yield {"type": "response.created", "response": opening}
    yield {"type": "response.in_progress", "response": opening}
    choices = [(0, response.get("output") or [])]
    choices += [(choice["index"], choice.get("output") or []) for choice in response.get("choices") or []]
    for choice, items in choices:
        for index, item in enumerate(items):
            at: Node = {"output_index": index, **({"choice": choice} if choice else {})}
            yield from _item_events(item, at)
    yield {"type": _terminal(response), "response": response}


_LATE = ("output", "choices", "usage", "finish", "error", "completed_at", "extra")
_ZEROED = ("arguments", "input", "code")


def _terminal(response: Node) -> str:
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
    for where in ("content", "summary"):
        if type(item.get(where)) is list:
            opening[where] = []
    if "status" in item:
        opening["status"] = "in_progress"
    yield {"type": "response.output_item.added", **at, "item": opening}
    for index, part in enumerate(item["summary"] if type(item.get("summary")) is list else ()):
        yield from _part_events(part, {**named, "summary_index": index}, "response.reasoning_summary_part")
    for index, part in enumerate(item["content"] if type(item.get("content")) is list else ()):
        yield from _part_events(part, {**named, "content_index": index}, "response.content_part")
    for stem, key in streamed:
        yield {"type": f"{stem}.delta", **named, "delta": item[key]}
        yield {"type": f"{stem}.done", **named, key: item[key]}
    yield {"type": "response.output_item.done", **at, "item": item}


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
    if annotations:
        opening["annotations"] = []
    yield {"type": f"{bracket}.added", **at, "part": opening}
    logprobs = {"logprobs": part["logprobs"]} if "logprobs" in part else {}
    yield {"type": f"{stem}.delta", **at, "delta": part[key], **logprobs}
    for index, annotation in enumerate(annotations or ()):
        yield {"type": _ANNOTATION, **at, "annotation_index": index, "annotation": annotation}
    yield {"type": f"{stem}.done", **at, key: part[key], **logprobs}
    yield {"type": f"{bracket}.done", **at, "part": part}


def _build(item: Node, kind: str, event: Event) -> None:
    """Apply one event to an item that is still open."""
    bracket = _PARTS.get(kind)
    if bracket is not None:
        _put(_list(item, bracket[0]), event.get(bracket[1], 0), event.get("part"))
        return
    stem, _, end = kind.rpartition(".")
    if kind == _ANNOTATION:
        part = _part(item, "content", event.get("content_index", 0))
        if part is not None:
            _list(part, "annotations").append(event.get("annotation"))
        return
    build = BUILDS.get(stem)
    if build is None:
        return
    where, index_key, key = build
    target = _part(item, where, event.get(index_key, 0)) if where else item
    if target is None:
        return
    if end == "delta":
        target[key] = (target.get(key) or "") + (event.get("delta") or "")
        if event.get("logprobs"):
            target["logprobs"] = [*(target.get("logprobs") or ()), *event["logprobs"]]
    elif key in event:
        target[key] = event[key]


def _list(node: Node, key: str) -> list[Any]:
    """The list at a key, opened where there is none yet: some open with null what they then fill."""
    found = node.get(key)
    if type(found) is not list:
        found = node[key] = []
    return found


def _part(item: Node, where: str, index: int) -> Node | None:
    parts = item.get(where)
    found = parts[index] if type(parts) is list and index < len(parts) else None
    return found if type(found) is dict else None


def _put(parts: list[Any], index: int, part: Any) -> None:
    if part is None:
        return
    while len(parts) <= index:
        parts.append({})
    parts[index] = _copy(part)


def _copy(value: Any) -> Any:
    if type(value) is dict:
        return {key: _copy(inner) for key, inner in value.items()}
    return [_copy(inner) for inner in value] if type(value) is list else value


def _place(entry: tuple[Place, Node]) -> Place:
    return entry[0]


def framed(event: Any, number: int | None) -> Event:
    """A wire event with its name, or with none where it says none; `InvalidBody` for what is no event."""
    if type(event) is not dict or "data" not in event:
        raise InvalidBody(pointer((number,)), "a wire event is an object with its `data`, and its name under `event`")
    return event if "event" in event else {"event": None, **event}
