"""The fast path of a stream's bulk: a frame equal to the last one but for its text and its counts.

The last frame is kept as a template. What varies in a new one is put into it, and one comparison of dicts, made in C,
checks whether anything else differs; if not, only the text of the event is new. Usage is cumulative, so that each
frame's own counts only: our own writer gets it beside the text, to put it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unified_llm.streams.event_fast_path import ReadMore, WriteMore

if TYPE_CHECKING:
    from .reader import GenerateContentReader

__all__ = ["is_one_text", "more_frames", "more_text", "reader_of_more"]

Event = dict[str, Any]
Node = dict[str, Any]

_USAGE = "usageMetadata"
_CANDIDATE = frozenset(("content", "index"))
_CONTENT = frozenset(("parts", "role"))
# Where the text of a frame stands.
_PATH = ("data", "candidates", 0, "content", "parts", 0, "text")


def reader_of_more(event: Event, reader: GenerateContentReader) -> ReadMore | None:
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
    said, head = state.text.append, reader.head
    if type(data.get(_USAGE)) is not dict:
        return ReadMore(event, _PATH, said)

    def count(event: Event) -> bool:
        data = event["data"]
        usage, before = data[_USAGE], head[_USAGE]
        if type(usage) is not dict:
            return False
        head[_USAGE] = usage if before.keys() <= usage.keys() else {**before, **usage}
        reader.counted = data
        return True

    counts = tuple(key for key, value in data[_USAGE].items() if type(value) is int)
    return ReadMore(event, _PATH, said, (_USAGE,), counts=count, inside=counts)


def is_one_text(data: Node) -> bool:
    """Whether a frame of ours has one candidate with one part, which is text and nothing else but a thought."""
    candidates = data.get("candidates")
    content = candidates[0].get("content") if type(candidates) is list and len(candidates) == 1 else None
    parts = content.get("parts") if type(content) is dict else None
    return type(parts) is list and len(parts) == 1 and "text" in parts[0] and parts[0].keys() <= {"text", "thought"}


def more_text(place: int, thought: bool, head: Node) -> WriteMore:
    """How more text of another protocol's is written."""
    part = {"text": "", **({"thought": True} if thought else {})}
    data = {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": place}], **head}
    return WriteMore({"event": None, "data": data}, _PATH)


def more_frames(like: Event) -> WriteMore:
    """How more frames of our own are written, like the last one."""
    return WriteMore(like, _PATH, beside=(_USAGE,) if _USAGE in like["data"] else ())
