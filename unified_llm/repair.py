"""History repair: the demands a strict target makes on a conversation, declared as data and met before writing.

A conversation the target would accept is not touched; each change is recorded as a loss entry; repairing twice is
repairing once. Which demands a protocol makes is its adapter's declaration (`Rules`), never a branch here.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from .ids import made_id
from .writing import Writer

__all__ = ["Rules", "repair"]

Node = dict[str, Any]

_OUTPUTS = {"function_call_output", "custom_tool_call_output"}


class Rules(NamedTuple):
    """What a target demands of a request's history. Everything is off by default.

    `call_id_length` is the longest call id accepted, `call_id_form` the pattern it has to match; `reasoning_follower`
    says that a reasoning item must stand before the item it led to.
    """

    call_id_length: int | None = None
    reasoning_follower: bool = False
    call_id_form: str | None = None


def repair(request: Node, rules: Rules, writer: Writer) -> Node:
    """The request as the target's rules want it: the same object when nothing had to change."""
    items = request.get("input")
    if type(items) is not list:
        return request
    fixed = items
    if rules.reasoning_follower:
        fixed = _without_dangling_reasoning(fixed, writer)
    if rules.call_id_length is not None or rules.call_id_form is not None:
        fixed = _with_fit_call_ids(fixed, rules, writer)
    return request if fixed is items else {**request, "input": fixed}


def _without_dangling_reasoning(items: list[Node], writer: Writer) -> list[Node]:
    """A reasoning item whose follower is gone is refused whole, so it is left out whole."""
    dangling = set()
    for index, item in enumerate(items):
        if item.get("type") != "reasoning":
            continue
        after = next((x for x in items[index + 1 :] if x.get("type") != "reasoning"), None)
        if after is None or after.get("type") in _OUTPUTS or after.get("role") in ("user", "system", "developer"):
            dangling.add(index)
    if not dangling:
        return items
    for index in sorted(dangling):
        writer.drop(items[index], "the item it led to is not there")
    return [item for index, item in enumerate(items) if index not in dangling]


def _with_fit_call_ids(items: list[Node], rules: Rules, writer: Writer) -> list[Node]:
    """Call ids that do not fit become a digest, the same for call and result, told apart even when cut alike."""
    form = re.compile(rules.call_id_form or ".*", re.DOTALL)
    longest = rules.call_id_length

    def fits(call_id: object) -> bool:
        if type(call_id) is not str or not call_id:
            return True
        return form.fullmatch(call_id) is not None and (longest is None or len(call_id) <= longest)

    if all(fits(item.get("call_id")) for item in items):
        return items
    out = []
    renamed: dict[str, str] = writer.context.setdefault("ids", {})
    for item in items:
        call_id = item.get("call_id")
        if not fits(call_id):
            fit = made_id("call", str(call_id))
            renamed[fit] = str(call_id)
            writer.report(item, ("call_id",), "approximated", f"renamed to {fit}")
            copy = {**item, "call_id": fit}
            writer.context.setdefault("replaced", []).append((copy, item))
            item = copy
        out.append(item)
    return out
