"""The sources of a stream's texts, which its last frame has, whatever came after the texts.

Where a text can still be cited, in an item that is open or ends in this frame, that is an event of its own. For others
the response at the end repeats the output.
"""

from __future__ import annotations

from typing import Any

from .candidate import Candidate

__all__ = ["Late", "noted"]

Event = dict[str, Any]
Node = dict[str, Any]

_ADDED = "response.output_text.annotation.added"
_ITEM_DONE = "response.output_item.done"
_PART_DONE = "response.content_part.done"
_TEXT_DONE = "response.output_text.done"


def noted(state: Candidate) -> dict[int, tuple[int, bool]]:
    """By the identity of each text: how many annotations it has before the end, and whether it has probabilities."""
    return {
        id(part): (len(part.get("annotations") or ()), "logprobs" in part)
        for part in state.nodes
        if part["type"] == "output_text"
    }


class Late:
    """The annotations that the end of a stream adds, and `out`, the events of its last frame so far."""

    def __init__(self, out: list[Event]) -> None:
        self.items = {id(event["item"]) for event in out if event["type"] == _ITEM_DONE}
        self.parts = {id(event["part"]) for event in out if event["type"] == _PART_DONE}
        # By the identity of the part, or of the item, before whose end they come.
        self.news: dict[int, list[Event]] = {}

    def cite(self, state: Candidate, before: dict[int, tuple[int, bool]]) -> tuple[list[Event], list[Event], bool]:
        """The events for texts of the open item, and for others; and whether an item that is over has more."""
        late, after, earlier = False, list[Event](), list[Event]()
        for place, item in enumerate([*state.items, state.item] if state.kind else state.items):
            for number, part in enumerate(item["content"] if item["type"] == "message" else ()):
                if part["type"] != "output_text":
                    continue
                told, weighed = before.get(id(part), (0, False))
                notes = (part.get("annotations") or ())[told:]
                if place < len(state.items) and id(item) not in self.items:
                    late = late or bool(notes) or ("logprobs" in part and not weighed)
                elif notes:
                    at = {"output_index": place, "content_index": number, **state.at}
                    events = [
                        {"type": _ADDED, **at, "annotation": note, "annotation_index": index}
                        for index, note in enumerate(notes, told)
                    ]
                    end = part if id(part) in self.parts else item if id(item) in self.items else None
                    if end is not None:
                        self.news.setdefault(id(end), []).extend(events)
                    (after if end is None else earlier).extend(events)
        return after, earlier, late

    def place(self, out: list[Event]) -> None:
        """Put them where their texts, or their items, end."""
        if not self.news:
            return
        events, out[:] = list(out), []
        for event in events:
            kind = event["type"]
            end = event["part"] if kind == _PART_DONE else event["item"] if kind == _ITEM_DONE else None
            added = self.news.pop(id(end), None)
            if added:
                closing = [out.pop()] if out and out[-1]["type"] == _TEXT_DONE and kind == _PART_DONE else []
                out += [*added, *closing]
            out.append(event)
