"""Calls of a computer, which take a list of actions elsewhere: calls of the tool `computer`, one for each action.

A client is given all of them in one answer and returns a result of each; the last one has the screen after the call.

https://docs.claude.com/en/docs/agents-and-tools/tool-use/computer-use-tool
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.writing import Writer
from unified_llm.passes.tools.screen_actions import TOOL, Step, derived_ids, steps_of

from ..blocks import blocks

__all__ = ["SCREENS", "write_screen"]

Node = dict[str, Any]

SCREENS = frozenset(("computer_call", "computer_call_output"))
"""The items of a computer, which become calls of a function and their results."""
_DONE = "Done."
_DERIVED = "each action has an id that is derived from it"


def write_screen(item: Node, w: Writer) -> list[Any] | None:
    """The blocks of an item of `SCREENS`; None where none of them represents it."""
    return _write_call(item, w) if item["type"] == "computer_call" else _write_result(item, w)


def _write_call(item: Node, w: Writer) -> list[Any] | None:
    key = "actions" if item.get("actions") is not None else "action"
    steps = steps_of(item["actions"] if key == "actions" else [item.get("action")])
    call_id = item.get("call_id")
    if steps is None or type(call_id) is not str:
        return None
    w.context.setdefault("screens", {})[call_id] = len(steps)
    rest = {name: value for name, value in item.items() if name not in ("type", "call_id", "action", "actions")}
    if not rest.get("pending_safety_checks"):
        rest.pop("pending_safety_checks", None)
    made = [
        {**(rest if not number else {}), "type": "function_call", "call_id": each, "name": TOOL, "arguments": step[0]}
        for number, (each, step) in enumerate(zip(derived_ids(call_id, len(steps)), steps))
    ]
    out = _written(made, item, w)
    w.report(item, (key,), "approximated", f"as calls of the tool {TOOL}")
    if len(steps) > 1:
        w.report(item, ("call_id",), "approximated", _DERIVED)
    _report_steps(steps, item, key, w)
    return out


def _report_steps(steps: list[Step], item: Node, key: str, w: Writer) -> None:
    for step in steps:
        place = (key, step.number) if key == "actions" else (key,)
        for name, how in step.changed.items():
            w.report(item, (*place, name), "approximated", how)
        for path in step.lost:
            w.report(item, (*place, *path), "lost", f"the tool {TOOL} has no such field")


def _write_result(item: Node, w: Writer) -> list[Any] | None:
    call_id, screen = item.get("call_id"), item.get("output")
    if type(call_id) is not str:
        return None
    made = {key: value for key, value in item.items() if key not in ("type", "output")}
    made.update(type="function_call_output", output=[screen] if type(screen) is dict else [])
    *others, made["call_id"] = derived_ids(call_id, w.context.get("screens", {}).get(call_id, 1))
    out = [{"type": "tool_result", "tool_use_id": each, "content": _DONE} for each in others]
    if others:
        w.report(item, ("call_id",), "approximated", _DERIVED)
    for block in out:
        w.added(block, "content", "the screen after all actions of the call is in the last result")
    return [*out, *_written([made], item, w)]


def _written(made: list[Node], item: Node, w: Writer) -> list[Any]:
    """The blocks of the nodes that an item became; what is reported of them is reported of the item."""
    mark = len(w.raw)
    out = w.nodes(blocks, made)
    of = {id(node) for node in made}
    for at in range(mark, len(w.raw)):
        if id(w.raw[at][0]) in of:
            w.raw[at] = (item, *w.raw[at][1:])
    return out
