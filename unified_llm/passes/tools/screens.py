"""Calls of a tool that takes one action on a screen, as calls of a computer, where the target has such calls.

A client that declared a computer has the calls in the form of its own surface: those that came of one call by their ids
are joined again, with the last screen for their result. A call whose result shows no screen,
or with another action, remains a call of a function.
"""

from __future__ import annotations

from typing import Any

from ...engine.adapter import Kind
from ...engine.pairs.writing import Writer
from ..trial import write_trial
from .screen_actions import TOOL, TOOLS, actions_of, joined_id

__all__ = ["as_screens"]

Node = dict[str, Any]

_JOINED = "one call with several actions"
_SENT = "sent as a call of a computer"
_LAST = "the last screen is the result of all actions of a call"


def as_screens(request: Node, writer: Writer, kind: Kind) -> list[tuple[Node, Node]]:
    """Make calls of a computer in `request`, in place; gives the nodes that were made, with the old ones."""
    tools, items = request.get("tools"), request.get("input")
    if type(tools) is not list or type(items) is not list or writer.source == writer.protocol:
        return []
    tool = next((tool for tool in tools if tool.get("type") in TOOLS), None)
    if tool is None or any(each.get("name") == TOOL and each.get("type") not in TOOLS for each in tools):
        return []
    if not any(_is_call(item) for item in items) or not _takes(tool, request, writer, kind):
        return []
    done = _Joining(items, writer, tool["type"] == "computer_use_preview")
    done.join()
    if done.replaced:
        writer.context.setdefault("given", {**request})
        writer.context.setdefault("asked", {}).setdefault("input", items)
        request["input"] = [done.instead.get(id(item), item) for item in items if id(item) not in done.gone]
    return done.replaced


def _is_call(item: Node) -> bool:
    return item.get("type") == "function_call" and item.get("name") == TOOL and type(item.get("call_id")) is str


def _takes(tool: Node, request: Node, writer: Writer, kind: Kind) -> bool:
    """Whether the target has calls of a computer."""
    call = {"type": "computer_call", "call_id": "call", "actions": [{"type": "screenshot"}]}
    trial = write_trial(writer, kind, model=request.get("model"), input=[call], tools=[tool])
    return id(call) not in trial.whole and id(tool) not in trial.whole


class _Joining:
    def __init__(self, items: list[Node], writer: Writer, single: bool) -> None:
        self.writer, self.single = writer, single
        self.calls = [item for item in items if _is_call(item)]
        self.ids = [item["call_id"] for item in self.calls]
        self.results: dict[Any, Node] = {}
        for item in items:
            if item.get("type") == "function_call_output" and type(item.get("call_id")) is str:
                self.results[item["call_id"]] = item
        self.instead: dict[int, Node] = {}
        self.gone: set[int] = set()
        self.replaced: list[tuple[Node, Node]] = []

    def join(self) -> None:
        """Look at each call, with those that were one with it."""
        at = 0
        while at < len(self.calls):
            base, number, count = joined_id(self.ids[at])
            whole = [f"{base}_ulm_{each}_{count}" for each in range(1, count + 1)]
            together = number == 1 and count > 1 and not self.single and self.ids[at : at + count] == whole
            size = count if together else 1
            if self.ids.count(self.ids[at]) == 1:
                self._made(self.calls[at : at + size], base if together else self.ids[at])
            at += size

    def _made(self, calls: list[Node], call_id: str) -> None:
        actions: list[Node] = []
        for call in calls:
            found = actions_of(call.get("arguments"), several=not self.single)
            if found is None:
                return
            actions += found
        results = [self.results.get(call["call_id"]) for call in calls]
        if None in results:
            return
        known: list[Any] = results
        shown = next((result for result in reversed(known) if _screens(result)), None)
        if shown is None:
            return
        told = {"action": actions[0]} if self.single else {"actions": actions}
        self._put(calls[0], {"name", "arguments"}, type="computer_call", call_id=call_id, **told)
        for call in calls[1:]:
            self._leave(call, _JOINED, "approximated")
        for node, key in ((calls[0], "name"), (calls[0], "arguments"), (shown, "output")):
            self.writer.report(node, (key,), "approximated", _SENT)
        if len(calls) > 1:
            for node in (calls[0], shown):
                self.writer.report(node, ("call_id",), "approximated", _JOINED)
        screen = _screens(shown)[-1]
        for number, part in enumerate(shown["output"]):
            if part is not screen:
                self.writer.report(shown, ("output", number), "lost", _LAST)
        picture = {**screen, "type": "computer_screenshot"}
        self.replaced.append((picture, screen))
        self._put(shown, set(), type="computer_call_output", call_id=call_id, output=picture)
        for result in known:
            if result is not shown:
                self._leave(result, _LAST, "lost")

    def _put(self, old: Node, without: set[str], **changes: Any) -> None:
        new = {**{key: value for key, value in old.items() if key not in without}, **changes}
        self.instead[id(old)] = new
        self.replaced.append((new, old))

    def _leave(self, item: Node, why: str, fate: str) -> None:
        self.gone.add(id(item))
        self.writer.drop(item, why, fate)


def _screens(result: Node) -> list[Node]:
    output = result.get("output")
    parts = output if type(output) is list else []
    return [part for part in parts if type(part) is dict and part.get("type") == "input_image"]
