"""The calls of a stream wait for what comes after them: a client is not to execute those whose results follow.

A client that was given a call executes it, and no later event takes it back. For a client of this protocol, which has
the results too, nothing waits.
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.shared.answer_ends import call_id_of
from unified_llm.streams.collect_and_decompose import TERMINAL

from ..turns.answered_calls import CALL, RESULT, settle

__all__ = ["HeldCalls"]

Event = dict[str, Any]
Node = dict[str, Any]

_ENDS = frozenset((*TERMINAL, "error"))
# What stands between calls and their results.
_AMONG = frozenset((RESULT, "reasoning"))


class HeldCalls:
    """The events of calls, their results and thoughts among them, until another step begins or the stream ends."""

    def __init__(self, r: Reader) -> None:
        self.r = r
        self.waits = not r.frames
        self.events: list[Event] = []
        # The nodes of each step that is held: as it began, and as it is when it is done.
        self.nodes: dict[Any, list[Node]] = {}
        self.waiting: dict[str | None, list[Any]] = {}

    def feed(self, events: list[Event]) -> list[Event]:
        """The events that may go on."""
        out: list[Event] = []
        for event in events:
            kind, place = event["type"], event.get("output_index")
            if kind == "response.output_item.added":
                item = event["item"].get("type")
                if item == CALL or (item in _AMONG and self.nodes):
                    self.nodes[place] = [event["item"]]
                else:
                    out += self.release()
            elif kind in _ENDS:
                out += self.release()
            (self.events if self.holds(place) else out).append(event)
            if kind == "response.output_item.done" and place in self.nodes:
                self._done(place, event["item"])
        return out

    def holds(self, place: Any) -> bool:
        """Whether the events of the step at a place wait."""
        return self.waits and place in self.nodes

    def _done(self, place: Any, item: Node) -> None:
        self.nodes[place].append(item)
        waiting = self.waiting.setdefault(call_id_of(item), [])
        if item.get("type") == CALL:
            waiting.append(place)
        elif item.get("type") == RESULT and waiting:
            settle((*self.nodes[waiting.pop(0)], *self.nodes[place]), self.r)

    def release(self) -> list[Event]:
        """What is held."""
        out = self.events
        if out:
            self.events, self.nodes, self.waiting = [], {}, {}
        return out
