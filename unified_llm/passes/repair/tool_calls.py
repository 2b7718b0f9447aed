"""Calls and results: paired, named, in their places; ids that the target takes.

A result belongs to the open call of its id in the latest step that has one, the first of them where an id occurs more
than once, so that ids which are only unique within a turn pair as they were meant. What has no partner is left out, or
given one with that fact; a call at the open end of the conversation may still get its result, and is left
alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from collections.abc import Mapping as MappingABC
from hashlib import blake2b
from typing import Any

from ...engine.pairs.mapping import lookup
from ...foundation.generated_ids import made_id
from .editor import Mending, is_model, opens_at
from .rules import Rules, fits

__all__ = ["Pairs", "mend_pairs"]

Node = dict[str, Any]

NO_RESULT = "No result: the call was interrupted."
_RESULT = "tools.result"
_MADE = frozenset(("function_call_output", "custom_tool_call_output"))
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


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
        step, before = 0, False
        for item in items:
            model, kind = is_model(item), item.get("type")
            step += model and not before
            before = model
            if kind in kinds and is_call(item, kinds):
                self._wait(item, step)
            elif kind in results and not _is_by_name(item, rules):
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


def _is_by_name(result: Node, rules: Rules) -> bool:
    """Whether a result names its function instead of a call."""
    if not rules.by_name or result.get("call_id") is not None or not result.get("name"):
        return False
    return rules.by_name == "any" or type(result.get("output")) is str


def mend_pairs(m: Mending) -> None:
    """All demands on calls and results."""
    pairs = _pairs(m)
    if not pairs.calls and not pairs.strays:
        _fit_ids(m, pairs)  # of hosted calls
        return
    _give_ids(m)
    if m.rules.paired:
        _leave_out_strays(m)
        _leave_out_copies(m)
        _regroup(m, _pairs(m))
        if _answer_open_calls(m):
            _regroup(m, _pairs(m))
    pairs = _pairs(m)
    if m.rules.named:
        _name(m, pairs)
    _fit_ids(m, pairs)
    if m.rules.one_turn:
        _join(m, _pairs(m))


def _pairs(m: Mending) -> Pairs:
    """The calls and results as they are now."""
    if m.pairs is None:
        m.pairs = Pairs(m.items, m.rules)
    found: Pairs = m.pairs
    return found


def _give_ids(m: Mending) -> None:
    """A result without an id answers the one call that is open, or the one open call of its name."""
    results = frozenset(m.rules.calls.values())
    if all(item.get("call_id") or item.get("type") not in results for item in m.items):
        return
    open_ = _OpenCalls()
    for item in [*m.items]:
        if is_call(item, m.rules.calls):
            open_.add(item)
        elif item.get("type") in results and not _is_by_name(item, m.rules):
            if not item.get("call_id"):
                call = open_.only(item.get("name"))
                if call is None:
                    continue
                m.report(item, ("call_id",), "approximated", "that of the only open call", _RESULT)
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
        self._by_name.setdefault(_hashed(call.get("name")), {})[id(call)] = call
        self._by_id.setdefault(call["call_id"], deque()).append(call)

    def answer(self, result: Node) -> None:
        call_id = _hashed(result.get("call_id"))
        waiting = self._by_id.get(call_id)
        if not waiting:
            self._early[call_id] = self._early.get(call_id, 0) + 1
            return
        call = waiting.popleft()
        del self._all[id(call)], self._by_name[_hashed(call.get("name"))][id(call)]

    def only(self, name: Any) -> Node | None:
        """The one that is open, of this name if it is one; None where there are several."""
        found = self._all if name is None else self._by_name.get(_hashed(name), {})
        return next(iter(found.values())) if len(found) == 1 else None


def _hashed(value: Any) -> Any:
    """What stands for a JSON value in a key."""
    return value if type(value) is str or value is None else (repr(value),)


# ---- partners -------------------------------------------------------------------------------------------------------


def _leave_out_strays(m: Mending) -> None:
    pairs = _pairs(m)
    if not pairs.strays:
        return
    elsewhere = m.rules.elsewhere
    if any(m.request.get(key) for key in elsewhere) or any(item.get("type") in elsewhere for item in m.items):
        return
    gone = {id(item) for item in pairs.strays}
    answered = {call["call_id"] for call in pairs.calls}
    if all(id(item) in gone for item in m.items[opens_at(m.items) :]):
        # Nothing would be left: it goes on with a conversation that is stored elsewhere, and is reported.
        for item in pairs.strays:
            m.report(item, ("call_id",), "approximated", "the call it answers is not in the request", _RESULT)
        return
    for item in pairs.strays:
        twice = item.get("call_id") in answered
        m.report(item, (), "lost", "its call has a result already" if twice else "removed; no tool call with this id")
    m.leave_out(gone)


def _leave_out_copies(m: Mending) -> None:
    """A call that stands twice in a step and got one result was one call."""
    pairs = _pairs(m)
    same: dict[Any, int] = {}
    for call in pairs.calls:
        said = _call_as_said(call, pairs)
        same[said] = same.get(said, 0) + 1
    gone: set[int] = set()
    for call in pairs.open():
        said = _call_as_said(call, pairs)
        if same[said] > 1:
            m.report(call, (), "approximated", "the same call twice")
            same[said] -= 1
            gone.add(id(call))
    m.leave_out(gone)


def _call_as_said(call: Node, pairs: Pairs) -> Any:
    said = [_hashed(call.get(key)) for key in ("type", "call_id", "name", "arguments", "input")]
    return (pairs.step[id(call)], *said)


def _answer_open_calls(m: Mending) -> bool:
    """Results for the calls that will get none any more; whether there were any."""
    pairs = _pairs(m)
    places = {id(item): place for place, item in enumerate(m.items)}
    stop = max((place for place, item in enumerate(m.items) if not is_model(item)), default=-1)
    gone: set[int] = set()
    made: dict[int, list[Node]] = {}  # by the place they go to
    behind: list[int] | None = None
    for call in pairs.open():
        place = places[id(call)]
        if place >= stop or call.get("executor") == "agent" or (call.get("async") and not m.rules.adjacent):
            continue
        kind = m.rules.calls[call["type"]]
        if kind not in _MADE:
            m.report(call, (), "lost", "its result is not there")
            gone.add(id(call))
            continue
        m.report(call, ("call_id",), "approximated", "no result came: one with that fact was added", _RESULT)
        result = {"type": kind, "call_id": call["call_id"], "output": NO_RESULT, "is_error": True}
        behind = _behind_results(m) if behind is None else behind
        made.setdefault(behind[place], []).append(m.make(result))
    if made:
        m.put([each for place, item in enumerate([*m.items, None]) for each in (*made.get(place, ()), item) if each])
    m.leave_out(gone)
    return bool(made)


def _behind_results(m: Mending) -> list[int]:
    """For each place, where the results end that stand behind the model's turn there."""
    results = frozenset(m.rules.calls.values())
    out = [len(m.items)] * (len(m.items) + 1)
    end = len(m.items)
    for place in range(len(m.items) - 1, -1, -1):
        item = m.items[place]
        end = end if item.get("type") in results else place
        out[place] = out[place + 1] if is_model(item) else end
    return out


# ---- names and ids --------------------------------------------------------------------------------------------------


def _name(m: Mending, pairs: Pairs) -> None:
    """The name of a result is that of its call, whatever its own name is."""
    names: dict[str, set[Any]] = {}
    for call in pairs.calls:
        names.setdefault(call["call_id"], set()).add(call.get("name"))
    for call in pairs.calls:
        result = pairs.result.get(id(call))
        if result is None or type(call.get("name")) is not str or result.get("name") == call["name"]:
            continue
        if result.get("name") is not None or len(names[call["call_id"]]) > 1:
            said = ("name",) if "name" in result else ("call_id",)
            m.report(result, said, "approximated", "named as its call", _RESULT)
            m.own(result, name=call["name"])


def _fit_ids(m: Mending, pairs: Pairs) -> None:
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


# ---- places ---------------------------------------------------------------------------------------------------------


def _regroup(m: Mending, pairs: Pairs) -> None:
    """Results right behind the calls of their step; where they may stand apart, only those that stand before it."""
    call_of = {id(result): call for call in pairs.calls if (result := pairs.result.get(id(call))) is not None}
    place = {id(item): index for index, item in enumerate(m.items)}
    if not m.rules.adjacent:
        call_of = {each: call for each, call in call_of.items() if place[each] < place[id(call)]}
    out: list[Node] = []
    run: dict[int, Node] = {}

    def flush() -> None:
        results = [pairs.result[id(call)] for call in run.values() if id(pairs.result.get(id(call))) in call_of]
        if not m.rules.ordered:
            results.sort(key=lambda item: place[id(item)])
        out.extend(results)
        run.clear()

    for item in m.items:
        call = call_of.get(id(item))
        if call is not None:
            if id(call) in run:
                flush()
            continue
        if not is_model(item):
            flush()
        out.append(item)
        if id(item) in pairs.step:
            run[id(item)] = item
    flush()
    if all(one is other for one, other in zip(out, m.items)):
        return
    said = [item for item in m.items if not m.is_made(item)]
    before = {id(item): other for item, other in zip(said, [None, *said])}
    last, kept = None, True
    for item in out:
        if m.is_made(item):
            continue
        kept = before[id(item)] is last and (kept or id(last) not in call_of)
        if not kept and id(item) in call_of:
            m.report(item, ("call_id",), "approximated", "moved behind its call", "item.turn")
        last = item
    m.put(out)


_SAID = frozenset(("message", "reasoning"))


def _join(m: Mending, pairs: Pairs) -> None:
    """The calls of a step are one message, with the texts between them or, where the rule requires it, before."""
    start = 0
    turns = [item["turn"] if type(item.get("turn")) is int else 0 for item in m.items]
    fresh = min(turns, default=0) - 1
    while start < len(m.items):
        end = start
        while end < len(m.items) and is_model(m.items[end]):
            end += 1
        run = m.items[start:end]
        bound = pairs.step if m.rules.one_turn == "all" else pairs.result
        first = next((index for index, item in enumerate(run) if id(item) in bound), None)
        if first is not None:
            first = 0 if m.rules.one_turn == "all" else _with_its_text(run, first)
            said = [item for item in run[first:] if item.get("type") in _SAID or id(item) in pairs.step]
            fresh -= _join_run(m, said, fresh)
        start = end + 1


def _with_its_text(run: list[Node], first: int) -> int:
    """Where the message of a call begins, if what stands before the call may be its own."""
    turn = run[first].get("turn")
    while first and run[first - 1].get("turn") == turn and (turn is not None or run[first].get("type") != "message"):
        if turn is None and run[first - 1].get("type") not in _SAID:
            break
        first -= 1
    return first


def _join_run(m: Mending, run: list[Node], fresh: int) -> bool:
    """Give a run one turn, `fresh` where it has none; whether that was used."""
    turns = {item.get("turn") for item in run}
    if len(turns) == 1 and (turns != {None} or _joins_itself(run)):
        return False
    known = next((item["turn"] for item in run if item.get("turn") is not None), None)
    turn = fresh if known is None else known
    first = run[0].get("turn")
    for index, item in enumerate(run):
        if index and (first is None or item.get("turn") != first):
            keys = ("content",) if "content" in item else ("call_id",) if "call_id" in item else ()
            m.report(item, keys, "approximated", "in one message with the calls of its step", "item.turn")
        if item.get("turn") != turn:
            m.own(item, turn=turn)
    return known is None


def _joins_itself(run: list[Node]) -> bool:
    """Whether every writer takes a run without turns for one message: thoughts, a text, calls."""
    order = [0 if item.get("type") == "reasoning" else 1 if item.get("type") == "message" else 2 for item in run]
    return order == sorted(order) and order.count(1) < 2
