"""The tool loop: ask, run what is called, tell what came of it, until there is an answer.

One flow for threads, event loops, streams and plain answers. The conversation travels as items, so that a loop over a
provider that keeps nothing is the same loop; calls of one turn run at once. Every turn is handed to the hooks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from ...errors import LimitReached
from ..history import Segment
from ..requests import Call
from ..results import Result, RunResult, Step
from ..sending.flows import Do, Hook, Steps, Turn
from .function_tools import ToolContext, answering

__all__ = ["Hooks", "ToolOutput", "TurnDone", "loop"]

Node = dict[str, Any]
_FORCED = ("required", "validated")


class Hooks:
    """What may be said to a tool loop at each step: override what you want; all of it may be async in `AsyncClient`.

    >>> class NoDeletes(Hooks):
    ...     def before_call(self, call, context):
    ...         return "not allowed" if call["name"] == "delete" else None
    """

    def before_turn(self, number: int, request: Node) -> Any:
        """Before the model is asked: return another canonical request to send that instead, None to go on."""

    def after_turn(self, step: Step) -> Any:
        """After the tools of a turn have answered, and after the last turn."""

    def before_call(self, call: Node, context: ToolContext[Any]) -> Any:
        """Before a tool runs: return a text to be the call's output without running it, None to run it."""

    def after_call(self, call: Node, output: Node) -> Any:
        """After a tool has run: return another output item to send that instead, None to go on."""


class ToolOutput:
    """In the stream of a tool loop: a tool has answered. `call` and `item` are canonical items.

    >>> ToolOutput({"type": "function_call", "name": "now"}, {"type": "function_call_output", "output": "noon"}).type
    'unified_llm:tool_output'
    """

    type: Literal["unified_llm:tool_output"] = "unified_llm:tool_output"

    def __init__(self, call: Node, item: Node) -> None:
        self.call, self.item = call, item

    def __repr__(self) -> str:
        return f"ToolOutput({self.call.get('name')!r}, {self.item.get('output')!r})"


class TurnDone:
    """In the stream of a tool loop: a turn is over, its tools have answered. `step` is that turn's.

    >>> import unified_llm as ul
    >>> stream = ul.Client().responses.run(model="local/echo", input="Hi", tools=[], stream=True)
    >>> [event.step.number for event in stream if event.type == "unified_llm:turn_done"]
    [1]
    """

    type: Literal["unified_llm:turn_done"] = "unified_llm:turn_done"

    def __init__(self, step: Step) -> None:
        self.step = step

    def __repr__(self) -> str:
        return f"TurnDone({self.step.number})"


def loop(
    call: Call,
    *,
    max_turns: int = 10,
    max_tool_calls: int | None = None,
    parallel: bool = True,
    hooks: Hooks | None = None,
    on_step: Callable[[Step], Any] | None = None,
    context: Any = None,
    tell: Callable[[Any], None] = lambda event: None,
) -> Steps[RunResult]:
    """The flow of a run. `tell` is given what happens between the turns, for streams.

    Raises `LimitReached` (with everything so far in `.result`) when the model still calls tools after `max_turns`
    answers, or would have called more than `max_tool_calls` tools.
    """
    hooks = hooks or Hooks()
    steps: list[Step] = []
    ran = 0
    for number in range(1, max_turns + 1):
        changed = yield Hook(hooks.before_turn, (number, call.body))
        if changed is not None:
            call.body = changed
        response: Result = yield Turn(call)
        here, others = _sorted(response, call)
        ran += len(here)
        if max_tool_calls is not None and ran > max_tool_calls:
            steps.append(Step(number, response))
            raise LimitReached(f"more than {max_tool_calls} tool calls", RunResult(tuple(steps), "limit"))
        outputs: list[Node] = []
        if here:
            given = tuple(response.request.get("input") or ()) if type(response.request.get("input")) is list else ()
            flows = []
            for each in here:
                at = ToolContext(each.get("call_id") or "", each.get("name") or "", number, context, given)
                flows.append(_hooked(call, each, at, hooks))
            outputs = yield Do(flows, parallel)
            for each, item in zip(here, outputs):
                tell(ToolOutput(each, item))
        step = Step(number, response, tuple(outputs))
        steps.append(step)
        tell(TurnDone(step))
        yield Hook(hooks.after_turn, (step,))
        if on_step is not None:
            yield Hook(on_step, (step,))
        if others or not here:
            return RunResult(tuple(steps), "calls" if others else "answered")
        _go_on(call, response, outputs)
    raise LimitReached(f"no answer after {max_turns} turns", RunResult(tuple(steps), "limit"))


def _sorted(response: Result, call: Call) -> tuple[list[Node], list[Any]]:
    """The calls that are answered here, and what waits for the caller.

    A call of a tool that nobody declared is answered too: with an error, for the model to mend.
    """
    here: list[Node] = []
    others: list[Any] = []
    declared = {node.get("name") for node in call.body.get("tools") or ()}
    for each in response.pending_calls:
        node = each.dump()
        name = node.get("name")
        known = name in call.tools or (node["type"] == "function_call" and name not in declared)
        if node["type"] in ("function_call", "custom_tool_call") and known:
            here.append(node)
        else:
            others.append(each)
    return here, others


def _hooked(call: Call, node: Node, context: ToolContext[Any], hooks: Hooks) -> Steps[Node]:
    """One call with the hooks around it."""
    said = yield Hook(hooks.before_call, (node, context))
    if said is None:
        item = yield from answering(call.tools.get(context.name), node, context)
    else:
        kind = "custom_tool_call_output" if node["type"] == "custom_tool_call" else "function_call_output"
        item = {"type": kind, "call_id": node.get("call_id"), "output": said}
    changed = yield Hook(hooks.after_call, (node, item))
    return item if changed is None else changed


def _go_on(call: Call, response: Result, outputs: list[Node]) -> None:
    """The next turn's request: the conversation so far, and no tool is forced twice."""
    call.segments = (*response.segments, Segment(len(outputs), response.upstream))
    call.body = {**call.body, "input": [*response.items, *outputs]}
    choice = call.body.get("tool_choice")
    if choice in _FORCED or (type(choice) is dict and choice.get("type") != "allowed_tools"):
        call.body["tool_choice"] = "auto"
    elif type(choice) is dict and choice.get("mode") in _FORCED:
        call.body["tool_choice"] = {**choice, "mode": "auto"}
