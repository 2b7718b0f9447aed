"""The grammar of canonical events: one table for the response, one for its items.

Theory of operation. A stream is one response. It opens with a lifecycle event (`response.created`), goes through items,
and closes with one terminal event (`response.completed`, `.incomplete` or `.failed`). An item opens with
`response.output_item.added` under its place (choice, output_index), may be built up by parts and deltas while it is
open, and closes with `response.output_item.done`, whose item is the truth: deltas are only its preview. An `error`
event may come at any time; after it only a failed end may follow. Frames without canonical meaning
(`unified_llm:frame`) and events of unknown types may come anywhere and change nothing.

Rule 1: everything that decides whether an event is legal stands in the tables below. Rule 2: this file contains
neither a protocol nor a direction; its caller says whose fault an illegal event is. Rule 3: an index is a name.
It is an integer of at least 0, and nothing is allocated for the size of it.
"""

from __future__ import annotations

from typing import Any

from ..foundation.errors import LocalProtocolError, ProtocolError, RemoteProtocolError

__all__ = ["ADDRESS", "ALONE", "FRAME", "PASSING", "TERMINAL", "UNSTREAMED", "Grammar", "place_of"]

Event = dict[str, Any]
Place = tuple[int, int]

FRAME = "unified_llm:frame"
ALONE = frozenset(
    """response.steer.accepted response.steer.pending response.steer.failed response.audio.delta
    response.audio.transcript.delta response.image_generation_call.partial_image""".split()
)
"""Events whose content no item and no response repeats: a writer that has no form for them loses it."""
PASSING = frozenset(("response.in_progress", "response.queued"))
"""Events about an answer under way, whose `continuation_token` no response at the end repeats."""
ADDRESS = frozenset(
    """type sequence_number stream_id response_id item_id choice output_index content_index summary_index obfuscation
    extra""".split()
)
"""Keys of an event for its place, not for its content."""
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
ANNOTATION = "response.output_text.annotation.added"
# Types of items without deltas that a provider may leave open until the answer ends (OpenAI, where several MCP servers
# list their tools): on a wire of one item after the other nothing waits for them.
UNSTREAMED = frozenset(("mcp_list_tools",))
CONTENT, SUMMARY = ("content", "content_index"), ("summary", "summary_index")
BUILDS: dict[str, tuple[str, str, str]] = {
    "response.output_text": (*CONTENT, "text"),
    "response.refusal": (*CONTENT, "refusal"),
    "response.reasoning_text": (*CONTENT, "text"),
    "response.reasoning": (*CONTENT, "text"),
    "response.reasoning_summary_text": (*SUMMARY, "text"),
    "response.output_audio": (*CONTENT, "data"),
    "response.output_audio_transcript": (*CONTENT, "transcript"),
    "response.function_call_arguments": ("", "", "arguments"),
    "response.custom_tool_call_input": ("", "", "input"),
    "response.mcp_call_arguments": ("", "", "arguments"),
    "response.code_interpreter_call_code": ("", "", "code"),
}
PARTS = {
    "response.content_part.added": CONTENT,
    "response.content_part.done": CONTENT,
    "response.reasoning_summary_part.added": SUMMARY,
    "response.reasoning_summary_part.done": SUMMARY,
}
INSIDE = frozenset([*(f"{stem}.{end}" for stem in BUILDS for end in ("delta", "done")), *PARTS, ANNOTATION])
# The object without which an event is empty.
_NEEDS: dict[str, str] = {
    **dict.fromkeys([kind for kind, class_ in CLASS.items() if class_ in ("open", "end")], "response"),
    **dict.fromkeys(("response.output_item.added", "response.output_item.done"), "item"),
    **dict.fromkeys(PARTS, "part"),
    ANNOTATION: "annotation",
}
_INDICES = ("choice", "output_index", "content_index", "summary_index", "annotation_index")
_DELTAS = frozenset(f"{stem}.delta" for stem in BUILDS)
_IN_ITEM = frozenset(("added", "inside", "done"))
# What is checked of each kind of event: its class, the object without which it is empty, and whether it is a delta.
_CHECKED: dict[str, tuple[str, str, bool]] = {
    kind: (CLASS.get(kind, "inside"), _NEEDS.get(kind, ""), kind in _DELTAS) for kind in (*CLASS, *INSIDE)
}


class Grammar:
    """The state of one stream. `feed` raises for an event that cannot come now.

    `local=True` means that the events come from our side, so an illegal one is a `LocalProtocolError`; otherwise it is
    the provider's, a `RemoteProtocolError`.
    """

    __slots__ = ("_error", "_same", "items", "state", "usage")

    def __init__(self, *, local: bool = False) -> None:
        self._error: type[ProtocolError] = LocalProtocolError if local else RemoteProtocolError
        self.state: str = "idle"
        self.usage: dict[str, Any] | None = None  # of the terminal event
        self.items: dict[Place, str] = {}
        self._same: tuple[str, tuple[Any, ...]] | None = None

    # Every event of every stream comes through here: tables are looked up without a call.

    def feed(self, event: Event) -> None:
        """Check one event and move on."""
        kind = event["type"]
        output = event["output_index"] if "output_index" in event else None
        choice = event["choice"] if "choice" in event else None
        address = (
            output,
            choice,
            event["content_index"] if "content_index" in event else None,
            event["summary_index"] if "summary_index" in event else None,
        )
        # Nearly all of a stream: the same kind of event in the same open item, which changes nothing.
        same = self._same
        if same is not None and kind == same[0] and address == same[1]:
            if "delta" in event and type(event["delta"]) is str:
                return
        try:
            class_, needed, is_delta = _CHECKED[kind]
        except KeyError:
            if type(kind) is not str:
                raise TypeError("the type of an event is a string") from None
            return
        try:
            state = RESPONSE[self.state, class_]
        except KeyError:
            raise self._error(f"event {kind} is not allowed while the response is {self.state}") from None
        if needed and (needed not in event or type(event[needed]) is not dict):
            raise self._error(f"{kind} has no object as its {needed}")
        if is_delta and ("delta" not in event or type(event["delta"]) is not str):
            raise self._error(f"{kind}: delta should be a string, not {str(event.get('delta'))[:50]!r}")
        for index in address:
            if index is not None and (type(index) is not int or index < 0):
                self._check_indices(kind, event)
        if "annotation_index" in event:
            self._check_indices(kind, event)
        self.state = state
        if class_ in _IN_ITEM:
            place = (choice or 0, output or 0)
            was = self.items[place] if place in self.items else "absent"
            try:
                self.items[place] = ITEM[was, class_]
            except KeyError:
                wrong = f"event {kind} is not allowed while item {place[1]} of choice {place[0]} is {was}"
                raise self._error(wrong) from None
        elif class_ == "end":
            self.usage = event["response"].get("usage")
        self._same = (kind, address) if is_delta else None

    def _check_indices(self, kind: str, event: Event) -> None:
        for key in _INDICES:
            index = event.get(key)
            if index is not None and (type(index) is not int or index < 0):
                raise self._error(f"{kind}: {key} should be an integer of at least 0, not {str(index)[:50]!r}")

    def close(self) -> None:
        """The end of the events: a stream without its terminal event, or an error, was cut off, never a success."""
        if self.state not in ("closed", "errored"):
            raise self._error(f"the stream ended while the response was {self.state}")


def place_of(event: Event) -> Place:
    """Where an event's item stands; null for one that is not an integer."""
    return event.get("choice") or 0, event.get("output_index") or 0
