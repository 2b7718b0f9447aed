"""The sources of a stream's texts, which its last frame has, whatever came after the texts.

Where a text can still be cited, in an item that is open or ends in this frame, that is an event of its own. For others
the response at the end repeats the output.
"""

from __future__ import annotations

from typing import Any

from .stream_candidate import Candidate

__all__ = ["cite", "noted"]

Event = dict[str, Any]
Node = dict[str, Any]

_ADDED = "response.output_text.annotation.added"
_PART_DONE = "response.content_part.done"
_TEXT_DONE = "response.output_text.done"


def noted(state: Candidate) -> dict[int, tuple[int, bool]]:
    """By the identity of each text: how many annotations it has before the end, and whether it has probabilities."""
    return {
        id(part): (len(part.get("annotations") or ()), "logprobs" in part)
        for part in state.nodes
        if part["type"] == "output_text"
    }


def cite(state: Candidate, before: dict[int, tuple[int, bool]], out: list[Event]) -> bool:
    """Put events for new annotations into `out`, the events of the last frame; whether an item that is done has more.

    The texts of the open item end behind `out`, where its other events are.
    """
    late, here = False, {id(event["item"]) for event in out if event["type"] == "response.output_item.done"}
    news: dict[int, list[Event]] = {}
    for place, item in enumerate([*state.items, state.item] if state.kind else state.items):
        for number, part in enumerate(item["content"] if item["type"] == "message" else ()):
            if part["type"] != "output_text":
                continue
            told, weighed = before.get(id(part), (0, False))
            notes = (part.get("annotations") or ())[told:]
            if place < len(state.items) and id(item) not in here:
                late = late or bool(notes) or ("logprobs" in part and not weighed)
            elif notes:
                at = {"output_index": place, "content_index": number, **state.at}
                news[id(part)] = [
                    {"type": _ADDED, **at, "annotation": note, "annotation_index": index}
                    for index, note in enumerate(notes, told)
                ]
    if news:
        out[:] = _placed(news, out)
    return late


def _placed(news: dict[int, list[Event]], events: list[Event]) -> list[Event]:
    """The events with the new ones of each part before its end."""
    out: list[Event] = []
    for event in events:
        added = news.pop(id(event["part"]), None) if event["type"] == _PART_DONE else None
        if added:
            end = [out.pop()] if out and out[-1]["type"] == _TEXT_DONE else []
            out += [*added, *end]
        out.append(event)
    return [*out, *(event for added in news.values() for event in added)]
