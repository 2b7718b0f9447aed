"""Calls and results: paired, named, in their places.

What has no partner is left out, or given one with a text that there is none; a call at the open end of the
conversation may still get its result, and is left alone.
"""

from __future__ import annotations

from typing import Any

from ...engine.shared.answer_ends import call_id_of, is_run_by_provider
from .call_ids import RESULT, fit_ids, give_ids
from .call_pairs import Pairs, hashed
from .editor import Mending, is_model, opens_at

__all__ = ["mend_pairs"]

Node = dict[str, Any]

NO_RESULT = "No result: the call was interrupted."
_MADE = frozenset(("function_call_output", "custom_tool_call_output"))


def mend_pairs(m: Mending) -> None:
    """All demands on calls and results."""
    if m.writer.crosses:
        _leave_out_run(m)
    pairs = _pairs(m)
    if not pairs.calls and not pairs.strays:
        fit_ids(m, pairs)  # of hosted calls
        return
    give_ids(m)
    if m.rules.paired:
        _leave_out_strays(m)
        _leave_out_copies(m)
        _regroup(m, _pairs(m))
        if _answer_open_calls(m):
            _regroup(m, _pairs(m))
    pairs = _pairs(m)
    if m.rules.named:
        _name(m, pairs)
    fit_ids(m, pairs)
    if m.rules.one_turn:
        _join(m, _pairs(m))


def _pairs(m: Mending) -> Pairs:
    """The calls and results as they are now."""
    if m.pairs is None:
        m.pairs = Pairs(m.items, m.rules)
    found: Pairs = m.pairs
    return found


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
            m.report(item, ("call_id",), "approximated", "the call it answers is not in the request", RESULT)
        return
    for item in pairs.strays:
        twice = item.get("call_id") in answered
        m.report(item, (), "lost", "its call has a result already" if twice else "removed; no tool call with this id")
    m.leave_out(gone)


def _leave_out_run(m: Mending) -> None:
    """Calls of functions that another provider executed, with their results: no tool of the request is called."""
    # What this one executed itself returned in an envelope.
    run = [item for item in m.items if is_run_by_provider(item) and not m.writer.form(item, "home")]
    ids = {call_id_of(item) for item in run if call_id_of(item)}
    run += [item for item in m.items if item.get("type") in _MADE and call_id_of(item) in ids] if ids else []
    for item in run:
        m.report(item, (), "lost", "the provider does not know what another one did")
    m.leave_out({id(item) for item in run})


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
    said = [hashed(call.get(key)) for key in ("type", "call_id", "name", "arguments", "input")]
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
        m.report(call, ("call_id",), "approximated", "no result came: one with that fact was added", RESULT)
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
            m.report(result, said, "approximated", "named as its call", RESULT)
            m.own(result, name=call["name"])


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
