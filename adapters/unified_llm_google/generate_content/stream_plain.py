"""The short way of a stream's bulk: a frame equal to the last one but for its text and its counts.

The last frame is kept as a template. What varies in a new one is put into it, and one comparison of dicts, made in C,
says whether anything else differs; if not, the event is known but for its text. Usage is cumulative, so that each
frame's own counts only: our own writer gets it beside the text, to put it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unified_llm.adapter import ReadMore, WriteMore

if TYPE_CHECKING:
    from collections.abc import Callable

    from .stream import GenerateContentReader

__all__ = ["is_one_text", "more_frames", "more_text", "reader_of_more"]

Event = dict[str, Any]
Node = dict[str, Any]

_USAGE = "usageMetadata"
_CANDIDATE = frozenset(("content", "index"))
_CONTENT = frozenset(("parts", "role"))


def reader_of_more(event: Event, reader: GenerateContentReader, write: Callable[..., Event]) -> ReadMore | None:
    """What reads more frames like this one, which is one delta of a text that is open; None for any other frame."""
    data = event["data"]
    wires = data.get("candidates")
    wire = wires[0] if type(wires) is list and len(wires) == 1 else None
    if type(wire) is not dict or not wire.keys() <= _CANDIDATE:
        return None
    content, state = wire.get("content"), reader.candidates.get(wire.get("index", 0))
    if type(content) is not dict or not content.keys() <= _CONTENT or state is None or not state.part or state.apart:
        return None
    (part,) = content["parts"]
    thought = part.get("thought")
    if len(part) != (1 if thought is None else 2) or not (thought is None or thought is True) or "text" not in part:
        return None
    if state.call is not None or state.kind != ("reasoning" if thought else "message"):
        return None
    counted = type(data.get(_USAGE)) is dict
    varying = part.copy()
    top = {**data, "candidates": [{**wire, "content": {**content, "parts": [varying]}}]}
    like = {**event, "data": top}
    said, head = state.text.append, reader.head

    def more(event: Event) -> Event | None:
        try:
            data = event["data"]
            text = varying["text"] = data["candidates"][0]["content"]["parts"][0]["text"]
            if counted:
                top[_USAGE] = data[_USAGE]
        except (KeyError, TypeError, IndexError):
            return None
        if event != like or not text or type(text) is not str:
            return None
        if counted:
            if type(data[_USAGE]) is not dict:
                return None
            count(event)
        said(text)
        return write(text, event)

    def count(event: Event) -> None:
        data = event["data"]
        usage, before = data[_USAGE], head[_USAGE]
        head[_USAGE] = usage if before.keys() <= usage.keys() else {**before, **usage}
        reader.counted = data

    if not counted:
        return ReadMore(more, said, "text")
    counts = tuple(key for key, value in data[_USAGE].items() if type(value) is int)
    return ReadMore(more, said, "text", counts, count)


def is_one_text(data: Node) -> bool:
    """Whether a frame of ours has one candidate with one part, which is text and nothing else but a thought."""
    candidates = data.get("candidates")
    content = candidates[0].get("content") if type(candidates) is list and len(candidates) == 1 else None
    parts = content.get("parts") if type(content) is dict else None
    return type(parts) is list and len(parts) == 1 and "text" in parts[0] and parts[0].keys() <= {"text", "thought"}


def more_text(place: int, thought: bool, head: Node) -> WriteMore:
    """What writes more text of another protocol's."""
    # Copies of dicts that have all their keys are quicker than any way to build them.
    top: Node = {"candidates": None, **head}
    new_event, new_data = {"event": None, "data": top}.copy, top.copy
    candidate: Node = {"content": None, "index": place}
    content: Node = {"parts": None, "role": "model"}
    new_candidate, new_content = candidate.copy, content.copy
    new_part = {"text": "", **({"thought": True} if thought else {})}.copy

    def more(text: str, source: Event | None = None) -> Event:
        event: Event = new_event()
        event["data"] = data = new_data()
        candidate = new_candidate()
        data["candidates"] = [candidate]
        candidate["content"] = content = new_content()
        part = new_part()
        content["parts"] = [part]
        part["text"] = text
        return event

    return WriteMore(more, None, "text")


def more_frames(like: Event) -> WriteMore:
    """What writes more frames of our own, like the last one."""
    top: Node = like["data"]
    (candidate,) = top["candidates"]
    content = candidate["content"]
    (part,) = content["parts"]

    def more(text: str, source: Event | None = None) -> Event:
        data = top.copy()
        data["candidates"] = [{**candidate, "content": {**content, "parts": [{**part, "text": text}]}}]
        if source is not None and _USAGE in source["data"]:
            data[_USAGE] = source["data"][_USAGE]
        return {"event": None, "data": data}

    return WriteMore(more)
