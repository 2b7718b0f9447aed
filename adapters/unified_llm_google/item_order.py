"""One item after the other: both protocols send an answer in order, so what belongs to a later item waits.

An item is open from its first event to the one for its end. Choices are answers of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unified_llm.streams.grammar import UNSTREAMED

__all__ = ["InTurn"]

Event = dict[str, Any]

_DONE = "response.output_item.done"


class InTurn:
    """Canonical events in, the same events out, those of one item together. Events of no item pass as they come."""

    __slots__ = ("aside", "current", "waiting")

    def __init__(self) -> None:
        # By choice: the item that is open, and the events of items that wait, in the order they came.
        self.current: dict[int, int] = {}
        self.waiting: dict[int, dict[int, list[Event]]] = {}
        # The items that nothing waits for: they go out when they are done.
        self.aside: set[tuple[int, int]] = set()

    def feed(self, event: Event) -> list[Event]:
        """The events that may go out now."""
        place = event["output_index"] if "output_index" in event else None
        choice = event["choice"] if "choice" in event else 0
        if type(place) is not int or type(choice) is not int:  # an unknown event may have anything there
            return [event]
        if event["type"] == "response.output_item.added" and event["item"].get("type") in UNSTREAMED:
            self.aside.add((choice, place))
        if self.aside and (choice, place) in self.aside:
            self.waiting.setdefault(choice, {}).setdefault(place, []).append(event)
            return [] if choice in self.current else self._next(choice)
        if choice not in self.current:
            self.current[choice] = place
        elif self.current[choice] != place:
            self.waiting.setdefault(choice, {}).setdefault(place, []).append(event)
            return []
        if event["type"] != _DONE:
            return [event]
        del self.current[choice]
        return [event, *self._next(choice)] if choice in self.waiting else [event]

    def _next(self, choice: int) -> list[Event]:
        """The items that are done already, and the first that is not."""
        out: list[Event] = []
        queue = self.waiting.get(choice)
        while queue and choice not in self.current:
            ready = (at for at, held in queue.items() if (choice, at) not in self.aside or held[-1]["type"] == _DONE)
            place = next(ready, None)
            if place is None:
                break
            events = queue.pop(place)
            out += events
            if events[-1]["type"] != _DONE:
                self.current[choice] = place
        return out

    def rest(self) -> Iterator[list[Event]]:
        """What still waits at the end, item by item."""
        self.current.clear()
        for queue in self.waiting.values():
            yield from queue.values()
        self.waiting.clear()
