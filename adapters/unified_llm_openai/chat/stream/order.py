"""The order of items that share a field of the chunks: texts of several messages, and reasoning of several items.

They share a field of the delta, so what comes of a later one waits until the earlier one is done.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Order"]

Event = dict[str, Any]

_ADDED, _DONE = "response.output_item.added", "response.output_item.done"
_ALONE = frozenset(("message", "reasoning"))


class Order:
    """Gives the events of a choice item by item, as far as the items share a field."""

    __slots__ = ("open", "waiting")

    def __init__(self) -> None:
        # The place of the item of a type that is open, and the events of the later ones by their places.
        self.open: dict[str, Any] = {}
        self.waiting: dict[Any, list[Event]] = {}

    def take(self, event: Event) -> list[Event]:
        """The events that are written now: this one, none, or also those that waited for it."""
        kind, at = event["type"], event.get("output_index", 0)
        if type(at) is not int:
            return [event]  # events of unknown types are not checked
        if at in self.waiting:
            self.waiting[at].append(event)
            return []
        if kind == _ADDED and (type_ := _type(event)) in _ALONE and self.open.setdefault(type_, at) != at:
            self.waiting[at] = [event]
            return []
        if kind == _DONE and (type_ := _type(event)) in _ALONE and self.open.get(type_, at) == at:
            return [event, *self._next(type_)]
        return [event]

    def rest(self) -> list[Event]:
        """The events that wait for items without an end."""
        waiting, self.waiting = self.waiting, {}
        return [event for events in waiting.values() for event in events]

    def _next(self, type_: str) -> list[Event]:
        """The events of the next items of a type, up to one that is not done yet."""
        self.open.pop(type_, None)
        out: list[Event] = []
        for at in [at for at, events in self.waiting.items() if _type(events[0]) == type_]:
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
