"""The frames of a stream as its reader keeps them with their events: for the writer of this protocol alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .candidate import Candidate

__all__ = ["kept_candidate", "kept_frame", "without_said"]

Node = dict[str, Any]


def kept_frame(data: Node, head: Node, candidates: list[Node], count: int) -> Node:
    """What a frame has beside its events, of which there are `count`; `head` is all of it but its candidates."""
    if not count:
        return {"whole": data, "event": None}
    if type(data.get("candidates")) is list:
        return {"count": count, "head": head, "candidates": candidates}
    return {"count": count, "head": {**head, "candidates": data["candidates"]} if "candidates" in data else head}


def kept_candidate(wire: Node, index: int, parts: Any) -> Node:
    """What a candidate of a frame has beside its parts; `parts` are those that no event has, () where events do."""
    rest, content = wire.copy(), wire.get("content")
    if type(content) is not dict:
        return {"index": index, "rest": rest}
    inner = rest["content"] = content.copy()
    if type(content.get("parts")) is list:
        del inner["parts"]
    return {"index": index, "rest": rest, **({"parts": parts} if parts != () else {})}


def without_said(frame: Node, head: Node, candidates: dict[int, Candidate]) -> None:
    """The part of the last frame that the end repeats: noted, not kept."""
    here = frame["head"]
    frame["said"] = [key for key in here if key in head and here[key] == head[key]]
    frame["head"] = {key: value for key, value in here.items() if key not in frame["said"]}
    for candidate in frame.get("candidates") or ():
        if "literal" in candidate:
            continue
        final, rest = candidates[candidate["index"]].final, candidate["rest"]
        candidate["said"] = [key for key in rest if key != "content" and key in final and rest[key] == final[key]]
        candidate["rest"] = {key: value for key, value in rest.items() if key not in candidate["said"]}
