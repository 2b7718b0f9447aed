"""History repair: the demands a strict target makes on a conversation, declared as data and met before writing.

A conversation the target would accept is not touched; each change is recorded as a loss entry; repairing twice is
repairing once. Which demands a protocol makes is its adapter's declaration (`Rules`), never a branch here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .mapping import Writer

__all__ = ["Rules", "repair"]

Node = dict[str, Any]

_OUTPUTS = {"function_call_output", "custom_tool_call_output"}


class Rules(NamedTuple):
    """What a target demands of a request's history. Everything is off by default.

    `call_id_length` is the longest call id accepted; `reasoning_follower` says that a reasoning item must stand before
    the item it led to; `reasoning_needs_content` that one without opaque data or a stored id is refused.
    """

    call_id_length: int | None = None
    reasoning_follower: bool = False


def repair(request: Node, rules: Rules, writer: Writer) -> Node:
    """The request as the target's rules want it: the same object when nothing had to change."""
    items = request.get("input")
    if type(items) is not list:
        return request
    fixed = items
    if rules.reasoning_follower:
        fixed = _without_dangling_reasoning(fixed, writer)
    if rules.call_id_length is not None:
        fixed = _with_short_call_ids(fixed, rules.call_id_length, writer)
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


def _with_short_call_ids(items: list[Node], longest: int, writer: Writer) -> list[Node]:
    """Call ids over the limit become a digest, the same for the call and its result, told apart even when cut alike."""
    if not any(len(item.get("call_id") or "") > longest for item in items):
        return items
    from .ids import made_id

    out = []
    renamed: dict[str, str] = writer.context.setdefault("ids", {})
    for item in items:
        call_id = item.get("call_id")
        if type(call_id) is str and len(call_id) > longest:
            short = made_id("call", call_id)
            renamed[short] = call_id
            writer.report(item, ("call_id",), "approximated", f"renamed to {short}")
            copy = {**item, "call_id": short}
            writer.context.setdefault("replaced", []).append((copy, item))
            item = copy
        out.append(item)
    return out
