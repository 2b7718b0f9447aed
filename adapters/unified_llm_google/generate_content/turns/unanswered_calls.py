"""The calls of a conversation that no result has answered so far: the first of all, of an id, or of a name.

A result mostly answers the first of them, which costs next to nothing; the others are found in an index that is made
on first use. What was added and answered from a mark on can be taken back, for a content that turns out
to be none of the usual ones.
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.reading import Reader

__all__ = ["Waiting", "waiting_of"]

Node = dict[str, Any]


class _Line:
    """Some of the calls in their order; those before `head` have a result."""

    __slots__ = ("calls", "head")

    def __init__(self) -> None:
        self.calls: list[Node] = []
        self.head = 0

    def first(self, answered: dict[int, Node]) -> Node | None:
        calls, head = self.calls, self.head
        while head < len(calls) and id(calls[head]) in answered:
            head += 1
        self.head = head
        return calls[head] if head < len(calls) else None


class Waiting:
    """The calls without a result; `add` is the `append` of a list."""

    __slots__ = ("_all", "_answered", "_lines", "_places", "add")

    def __init__(self) -> None:
        self._all = _Line()
        self.add = self._all.calls.append
        self._answered: dict[int, Node] = {}  # in the order of their results
        # The calls by key and value ("call_id" or "name"), and where each stands in its lines.
        self._lines: dict[tuple[str, str], _Line] = {}
        self._places: dict[int, tuple[int, int]] = {}

    def first(self) -> Node | None:
        """The one that waits longest."""
        return self._all.first(self._answered)

    def of(self, key: str, value: str) -> Node | None:
        """The one that waits longest of those with this `call_id` or `name`."""
        calls = self._all.calls
        for call in calls[len(self._places) :]:
            by_id, by_name = (self._lines.setdefault((each, call[each]), _Line()) for each in ("call_id", "name"))
            self._places[id(call)] = len(by_id.calls), len(by_name.calls)
            by_id.calls.append(call)
            by_name.calls.append(call)
        line = self._lines.get((key, value))
        return None if line is None else line.first(self._answered)

    def answer(self, call: Node) -> None:
        """It waits no longer."""
        self._answered[id(call)] = call

    def mark(self) -> tuple[int, int, int]:
        """What `undo` goes back to."""
        return len(self._all.calls), self._all.head, len(self._answered)

    def undo(self, mark: tuple[int, int, int]) -> None:
        """Take back what was added and answered since."""
        size, self._all.head, answered = mark
        calls = self._all.calls
        while len(self._answered) > answered:
            call = self._answered.popitem()[1]
            for key, place in zip(("call_id", "name"), self._places.get(id(call), ())):
                line = self._lines[key, call[key]]
                line.head = min(line.head, place)
        for call in reversed(calls[size:]):
            if self._places.pop(id(call), None) is not None:
                for key in ("call_id", "name"):
                    self._lines[key, call[key]].calls.pop()
        del calls[size:]


def waiting_of(r: Reader) -> Waiting:
    """Those of the document that is read."""
    found: Waiting | None = r.context.get("open")
    if found is None:
        found = r.context["open"] = Waiting()
    return found
