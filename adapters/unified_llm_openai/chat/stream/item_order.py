"""The order of items that share a field of the chunks: texts of several messages, and reasoning of several items.

They share a field of the delta, so what comes of a later one waits until the earlier one is done.
"""

from __future__ import annotations

from collections import deque
from typing import Any

__all__ = ["Order"]

Event = dict[str, Any]

_ADDED, _DONE = "response.output_item.added", "response.output_item.done"
_ALONE = frozenset(("message", "reasoning"))


class Order:
    """Gives the events of a choice item by item, as far as the items share a field."""

    __slots__ = ("open", "places", "waiting")

    def __init__(self) -> None:
        # By type, the place of the item that is open and those of the later ones; and the events of these by place.
        self.open: dict[str, int] = {}
        self.places: dict[str, deque[int]] = {}
        self.waiting: dict[int, list[Event]] = {}

    def take(self, event: Event) -> list[Event]:
        """The events that are written now: this one, none, or also those that waited for it."""
        kind, at = event["type"], event["output_index"] if "output_index" in event else 0
        if type(at) is not int:
            return [event]  # events of unknown types are not checked
        if at in self.waiting:
            self.waiting[at].append(event)
            return []
        if kind == _ADDED and (type_ := _type(event)) in _ALONE and self.open.setdefault(type_, at) != at:
            self.waiting[at] = [event]
            self.places.setdefault(type_, deque()).append(at)
            return []
        if kind == _DONE and (type_ := _type(event)) in _ALONE and self.open.get(type_, at) == at:
            return [event, *self._next(type_)]
        return [event]

    def rest(self) -> list[Event]:
        """The events that wait for items without an end."""
        waiting, self.waiting = self.waiting, {}
        self.places.clear()
        return [event for events in waiting.values() for event in events]

    def _next(self, type_: str) -> list[Event]:
        """The events of the next items of a type, up to one that is not done yet."""
        self.open.pop(type_, None)
        out: list[Event] = []
        places = self.places.get(type_)
        while places:
            at = places.popleft()
            events = self.waiting.pop(at)
            out += events
            if not any(event["type"] == _DONE for event in events):
                self.open[type_] = at
                break
        return out


def _type(event: Event) -> str:
    item = event.get("item")
    found = item.get("type") if type(item) is dict else None
    return found if type(found) is str else ""
