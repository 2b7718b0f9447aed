"""Ids of calls: results get those they lack, and ids that the target refuses or that are not unique are renamed."""

from __future__ import annotations

from collections import deque
from hashlib import blake2b
from typing import Any

from ...engine.pairs.mapping import lookup
from ...foundation.generated_ids import made_id
from .call_pairs import Pairs, hashed, is_by_name, is_call
from .editor import Mending
from .rules import Rules, fits

__all__ = ["RESULT", "fit_ids", "give_ids"]

Node = dict[str, Any]

RESULT = "tools.result"
"""The capability of what is reported of results."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def give_ids(m: Mending) -> None:
    """A result without an id answers the one call that is open, or the one open call of its name."""
    results = frozenset(m.rules.calls.values())
    if all(item.get("call_id") or item.get("type") not in results for item in m.items):
        return
    open_ = _OpenCalls()
    for item in [*m.items]:
        if is_call(item, m.rules.calls):
            open_.add(item)
        elif item.get("type") in results and not is_by_name(item, m.rules):
            if not item.get("call_id"):
                call = open_.only(item.get("name"))
                if call is None:
                    continue
                m.report(item, ("call_id",), "approximated", "that of the only open call", RESULT)
                item = m.own(item, call_id=call["call_id"])
            open_.answer(item)


class _OpenCalls:
    """The calls that have no result so far."""

    __slots__ = ("_all", "_by_id", "_by_name", "_early")

    def __init__(self) -> None:
        self._all: dict[int, Node] = {}
        self._by_name: dict[Any, dict[int, Node]] = {}
        self._by_id: dict[str, deque[Node]] = {}
        self._early: dict[Any, int] = {}  # results of an id that stand before their call

    def add(self, call: Node) -> None:
        if self._early.get(call["call_id"]):
            self._early[call["call_id"]] -= 1
            return
        self._all[id(call)] = call
        self._by_name.setdefault(hashed(call.get("name")), {})[id(call)] = call
        self._by_id.setdefault(call["call_id"], deque()).append(call)

    def answer(self, result: Node) -> None:
        call_id = hashed(result.get("call_id"))
        waiting = self._by_id.get(call_id)
        if not waiting:
            self._early[call_id] = self._early.get(call_id, 0) + 1
            return
        call = waiting.popleft()
        del self._all[id(call)], self._by_name[hashed(call.get("name"))][id(call)]

    def only(self, name: Any) -> Node | None:
        """The one that is open, of this name if it is one; None where there are several."""
        found = self._all if name is None else self._by_name.get(hashed(name), {})
        return next(iter(found.values())) if len(found) == 1 else None


def fit_ids(m: Mending, pairs: Pairs) -> None:
    """Ids that do not fit, or are there already, become a digest: the same for call and result, and unique."""
    rules = m.rules
    form, longest = rules.call_id_form, rules.call_id_length
    taken = {item["call_id"] for item in m.items if type(item.get("call_id")) is str}
    steps: dict[int, dict[str, int]] = {}
    fitted: dict[str, str] = {}
    for call in pairs.calls:
        call_id = call["call_id"]
        seen = steps.setdefault(0 if rules.unique else pairs.step[id(call)], {})
        times = seen[call_id] = seen.get(call_id, 0) + 1
        if times == 1 and fits(call_id, form, longest):
            continue
        fit = fitted.get(call_id) if times == 1 else None
        if fit is None:
            fit = _fit(call_id, times - 1, rules, taken)
        if times == 1:
            fitted[call_id] = fit
        result = pairs.result.get(id(call))
        for item in (call, result) if result is not None else (call,):
            _rename(m, item, call_id, fit)
    paired = {id(item) for call in pairs.calls for item in (call, pairs.result.get(id(call)))}
    strays = {id(item) for item in pairs.strays}
    for item in m.items:
        call_id = item.get("call_id")
        if type(call_id) is str and call_id and id(item) not in paired and id(item) not in strays:
            if not fits(call_id, form, longest) and call_id not in m.writer.context.get("ids", ()):
                fitted.setdefault(call_id, "")
                fitted[call_id] = fitted[call_id] or _fit(call_id, 0, rules, taken)
                _rename(m, item, call_id, fitted[call_id])
        caller = item.get("caller")
        if type(caller) is dict and (called := lookup(fitted, caller.get("caller_id"))):
            m.own(item, caller={**caller, "caller_id": called})


def _rename(m: Mending, item: Node, call_id: str, fit: str) -> None:
    m.writer.context.setdefault("ids", {})[fit] = call_id
    m.report(item, ("call_id",), "approximated", f"renamed to {fit}")
    m.own(item, call_id=fit)


def _fit(call_id: str, times: int, rules: Rules, taken: set[Any]) -> str:
    """An id for a digest of another one, in a form the target takes; the id itself where no form does."""
    turn = 0
    while True:
        seed = [word for word in (times, turn) if word] if not (turn and not times) else [0, turn]
        words = [made_id("call", call_id, *seed)]
        number = int.from_bytes(blake2b(words[0].encode(), digest_size=32).digest())
        digest = ""
        while number:
            number, digit = divmod(number, 36)
            digest += _DIGITS[digit]
        words += [digest[:length] for length in (rules.call_id_length or 32, 24, 16, 12, 9, 8)]
        fit = next((word for word in words if fits(word, rules.call_id_form, rules.call_id_length)), None)
        if fit is None:
            return call_id
        if fit not in taken:
            taken.add(fit)
            return fit
        turn += 1
