"""Which result answers which call.

A result belongs to the open call of its id in the latest step that has one, the first of them where an id occurs more
than once, so that ids which are only unique within a turn pair as they were meant.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from collections.abc import Mapping as MappingABC
from typing import Any

from .editor import is_model
from .rules import Rules

__all__ = ["Pairs", "hashed", "is_by_name", "is_call"]

Node = dict[str, Any]


# Results that have the id of their call for their own.
_NAMED_BY_ID = frozenset(("local_shell_call_output",))


class Pairs:
    """Which result answers which call, and what is left on both sides."""

    __slots__ = ("_waiting", "calls", "result", "step", "strays")

    def __init__(self, items: list[Node], rules: Rules) -> None:
        kinds, results = rules.calls, frozenset(rules.calls.values())
        self.calls: list[Node] = []
        self.step: dict[int, int] = {}
        self.result: dict[int, Node] = {}
        self.strays: list[Node] = []
        # The open calls of each id: a queue for each step that has some, the steps in their order.
        self._waiting: dict[str, list[deque[Node]]] = {}
        told = {item.get("id") for item in items if item.get("type") in _NAMED_BY_ID}
        step, before = 0, False
        for item in items:
            model, kind = is_model(item), item.get("type")
            step += model and not before
            before = model
            if kind in kinds and is_call(item, kinds) and not (told and item["call_id"] in told):
                self._wait(item, step)
            elif kind in results and item.get("executor") != "provider" and not is_by_name(item, rules):
                self._answer(item)
        strays, self.strays = self.strays, []
        for stray in strays:  # some stand before their call
            self._answer(stray)

    def _wait(self, call: Node, step: int) -> None:
        self.calls.append(call)
        self.step[id(call)] = step
        steps = self._waiting.setdefault(call["call_id"], [])
        if steps and self.step[id(steps[-1][0])] == step:
            steps[-1].append(call)
        else:
            steps.append(deque((call,)))

    def _answer(self, result: Node) -> None:
        call_id = result.get("call_id")
        steps = self._waiting.get(call_id) if type(call_id) is str and call_id else None
        if steps:
            call = steps[-1].popleft()
            if not steps[-1]:
                steps.pop()
            self.result[id(call)] = result
        else:
            self.strays.append(result)

    def open(self) -> Iterator[Node]:
        """Yield the calls without a result."""
        return (call for call in self.calls if id(call) not in self.result)


def is_call(item: Node, kinds: MappingABC[str, str]) -> bool:
    """Whether an item is a call that waits for a result of the client's."""
    call_id = item.get("call_id")
    return item.get("type") in kinds and item.get("executor") != "provider" and type(call_id) is str and bool(call_id)


def is_by_name(result: Node, rules: Rules) -> bool:
    """Whether a result names its function instead of a call."""
    if not rules.by_name or result.get("call_id") is not None or not result.get("name"):
        return False
    return rules.by_name == "any" or type(result.get("output")) is str


def hashed(value: Any) -> Any:
    """What stands for a JSON value in a key."""
    return value if type(value) is str or value is None else (repr(value),)
