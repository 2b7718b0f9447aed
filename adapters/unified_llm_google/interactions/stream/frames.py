"""Wire events and pieces of them, and what of an item was sent already.

https://ai.google.dev/gemini-api/docs/interactions#streaming
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import lookup
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import is_run_by_provider

from ...byte_offsets import Span
from ..response import write_response
from ..values.usage import write_usage
from .reader import LEGACY

__all__ = [
    "Sent",
    "gathered",
    "has_media",
    "legacy",
    "opening",
    "wire_delta",
    "wire_event",
    "write_head",
    "write_update",
]

Event = dict[str, Any]
Node = dict[str, Any]

_CALLS = ("function_call", "custom_tool_call")
_OLD = {new: old for old, new in LEGACY.items()}


class Sent:
    """One item being written: its place on the wire, and what of it was sent."""

    __slots__ = ("args", "carried", "cited", "index", "item", "media", "open", "spans", "started", "texts", "thoughts")

    def __init__(self, item: Node) -> None:
        self.item = item
        self.index = 0
        self.started = False
        self.texts: dict[int, list[str]] = {}
        self.spans: dict[int, Span] = {}
        self.cited: dict[int, int] = {}  # how many citations of a text part were sent
        self.media: set[int] = set()
        self.open: int | None = None  # the text part that the next text would go on
        self.thoughts = False
        self.args = False
        # What was sent before it, of what other providers signed on it.
        self.carried: list[Node] = []

    def text(self, part: int) -> str:
        """What of a text part was sent."""
        return "".join(self.texts.get(part, ()))

    def span(self, part: int) -> Span:
        """The same for citations of it, also when more of it is sent."""
        if part not in self.spans and part in self.texts:
            self.spans[part] = Span(self.texts[part])
        return self.spans.get(part) or Span("")


def wire_event(kind: str, data: Node) -> Event:
    """A wire event of a kind, with its data."""
    return {"event": kind, "data": {**data, "event_type": kind}}


def wire_delta(index: int, delta: Node) -> Event:
    """A `step.delta` event for the step at an index."""
    return {"event": "step.delta", "data": {"index": index, "delta": delta, "event_type": "step.delta"}}


def write_head(c: Node, w: Writer, status: str | None) -> Node:
    """The interaction in an opening or closing event; `status` applies where the response has none."""
    if status is not None and c.get("status") is None and w.form(c, "status") is None:
        c["status"] = status
    return write_response(c, w)


def write_update(c: Node, w: Writer) -> Node:
    """The fields of a status update."""
    wire: Node = {}
    for key, hub in (("interaction_id", "id"), ("status", "status"), ("continuation_token", "continuation_token")):
        if hub in c:
            wire[key] = c.pop(hub)
    if w.form(c, "id") == "empty":
        wire["interaction_id"] = ""
    if type(c.get("usage")) is dict:
        usage = c["usage"]
        del c["usage"]
        wire["usage"] = w.piece(write_usage, usage)
    return wire


def opening(item: Node) -> Node | None:
    """The start of a step that is built up by deltas; None for one that is sent at once."""
    kind = item.get("type")
    if kind == "message":
        return {"type": "model_output" if item.get("role", "assistant") == "assistant" else "user_input"}
    if kind == "reasoning":
        return {"type": "thought"}
    if kind in _CALLS and not is_run_by_provider(item) and item.get("call_id") and item.get("name"):
        return {"type": "function_call", "id": item["call_id"], "name": item["name"], "arguments": {}}
    return None


def has_media(part: Node) -> bool:
    """Whether a part has data or a reference of a medium."""
    return any(
        part.get(key) for key in ("image_url", "video_url", "file_data", "file_url", "data", "audio_url", "file_uri")
    )


def gathered(events: list[Event]) -> list[Node]:
    """The parts that the events of a frame build up."""
    parts: dict[int, Node] = {}
    for event in events:
        at = event["content_index"]
        if event["type"] == "response.content_part.added":
            parts[at] = event["part"]
        elif event["type"] == "response.output_text.delta":
            parts[at] = {**parts[at], "text": parts[at]["text"] + event["delta"]}
        elif event["type"] == "response.output_text.annotation.added":
            parts[at] = {**parts[at], "annotations": [*parts[at].get("annotations", ()), event["annotation"]]}
    return list(parts.values())


def legacy(name: Any, data: Node, frame: Node) -> tuple[Any, Node]:
    """Name and data of an event in the older form of streams, for a frame that was read in it."""
    old = lookup(_OLD, name, name)
    out = {**data, "event_type": old}
    if "step" in out:
        out = {("content" if key == "step" else key): value for key, value in out.items()}
        out["content"] = frame.get("content", out["content"])
    return old, out
