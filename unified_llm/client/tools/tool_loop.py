"""The tool loop: send a request, run the called tools, send their results, until there is an answer.

One flow for threads, event loops, streams and plain answers. The conversation travels as items, so that a loop over a
provider that keeps nothing is the same loop; calls of one turn run at once. Every turn is handed to the hooks. A call
that needs approval pauses the loop; `resumed` takes it up with what was decided (`approval.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from ...foundation.errors import UnifiedLLMError
from ...foundation.run_errors import OutputParseError, ToolLoopLimitError, UnknownPrice
from ...foundation.usage_errors import InvalidArgument
from ...types.validation import validate
from ..history import Segment, answered_by, id_of
from ..inputs.items import plain
from ..requests import Call
from ..results import Result
from ..sending.api_errors import overdue
from ..sending.deadline import DeadlineReached
from ..sending.flows import Do, Hook, Steps, Turn
from ..structured.strategies import Parser, correction
from .approval import Approve, Decisions, decision, output_for
from .function_tools import ToolContext, answering
from .run_limits import Limits
from .run_results import RunResult, Step

if TYPE_CHECKING:
    from ...types.action_items import McpApprovalRequest, McpApprovalResponse
    from ...types.items import CustomToolCall, CustomToolCallOutput, FunctionCall, FunctionCallOutput
    from ...types.request import Request

__all__ = ["Hooks", "Loop", "ToolOutput", "TurnDone"]

Node = dict[str, Any]
_FORCED = ("required", "validated")
_CALLS = ("function_call", "custom_tool_call")


class Hooks:
    """Methods that a tool loop calls at each step. Override any of them; they may be async in `AsyncClient`.

    >>> class NoDeletes(Hooks):
    ...     def before_call(self, call, context):
    ...         return "not allowed" if call.name == "delete" else None
    """

    def before_turn(self, number: int, request: Request) -> Any:
        """Before a request is sent: return another `Request` to send that instead, None to go on.

        `request.model_copy(update={...})` makes one.
        """

    def after_turn(self, step: Step) -> Any:
        """Once for each turn: its tools have answered or wait for a decision, or the run ends with it."""

    def before_call(self, call: FunctionCall | CustomToolCall, context: ToolContext[Any]) -> Any:
        """Before a tool runs: return a text to be the call's output without running it, None to run it."""

    def after_call(self, call: FunctionCall | CustomToolCall, output: FunctionCallOutput | CustomToolCallOutput) -> Any:
        """After a tool has run: return a text or another output item to send that instead, None to go on."""


class ToolOutput:
    """In the stream of a tool loop: a tool has answered. `call` and `item` are canonical items.

    `call_node` and `item_node` are the same as JSON.

    >>> import unified_llm as ul
    >>> def now() -> str:
    ...     return "noon"
    >>> stream = ul.Client().responses.run(model="local/echo", input="[[call now]]", tools=[now], stream=True)
    >>> [(event.call.name, event.item.output) for event in stream if event.type == "unified_llm:tool_output"]
    [('now', 'noon')]
    """

    type: Literal["unified_llm:tool_output"] = "unified_llm:tool_output"

    def __init__(self, call: Node, item: Node) -> None:
        self.call_node: Node = call
        self.item_node: Node = item

    @property
    def call(self) -> FunctionCall | CustomToolCall | McpApprovalRequest:
        """The call that is answered."""
        found: FunctionCall | CustomToolCall | McpApprovalRequest = validate("item", self.call_node)
        return found

    @property
    def item(self) -> FunctionCallOutput | CustomToolCallOutput | McpApprovalResponse:
        """The output, or the decision about a call that a provider runs."""
        found: FunctionCallOutput | CustomToolCallOutput | McpApprovalResponse = validate("item", self.item_node)
        return found

    def __repr__(self) -> str:
        return f"ToolOutput({self.call_node.get('name')!r}, {self.item_node.get('output')!r})"


class TurnDone:
    """In the stream of a tool loop: a turn is over, its tools have answered. `step` is that turn's.

    A turn that waits for decisions has another one in the stream of `resume`, with all its outputs.

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


class Loop:
    """A run: its call, its limits, and the turns so far. `flow` is the flow of it.

    `asked` is the canonical request as the caller made it, without what a strategy of structured output added to it.
    """

    def __init__(
        self,
        call: Call,
        *,
        limits: Limits,
        asked: Node,
        parser: Parser | None = None,
        retries: int = 0,
        approve: Approve | None = None,
        parallel: bool = True,
        hooks: Hooks | None = None,
        on_step: Callable[[Step], Any] | None = None,
        context: Any = None,
        steps: Sequence[Step] = (),
        decisions: Decisions | None = None,
    ) -> None:
        self.call = call
        self.limits = limits
        self.asked = asked
        self.parser = parser
        self.retries: int = retries
        self.approve = approve
        self.parallel = parallel
        self.hooks: Hooks = hooks or Hooks()
        self.on_step = on_step
        self.context = context
        self.steps: list[Step[Any]] = list(steps)
        self.decisions = decisions
        self._tell: Callable[[Any], None] = lambda event: None
        self._earlier: tuple[Node, ...] = ()
        self._reported = 0  # the last turn that was reported to hooks; those of an earlier process too

    def flow(self, tell: Callable[[Any], None] | None = None) -> Steps[RunResult]:
        """The flow of a run. `tell` is given what happens between the turns, for streams.

        Raises `ToolLoopLimitError` and `UnknownPrice` at the limits, and `OutputParseError` where the answer
        is not the requested structured output. These and all errors of a later turn have everything so far in
        `.result`.
        """
        self._tell = tell or self._tell
        try:
            if self.decisions is not None:
                last = self.steps.pop()
                self._earlier, self._reported = last.output_nodes, last.number
                done = yield from self._answered(last.response, last.number, self.decisions)
                if done is not None:
                    return done
            while True:
                self.limits.check_turns(self.steps)
                number = len(self.steps) + 1
                if self._hooked("before_turn"):
                    given = (number, validate("request", self.call.body))
                    changed = yield Hook(self.hooks.before_turn, given, deadline=self.call.deadline)
                    if changed is not None:
                        self.call.body = _request(changed)
                response: Result = yield Turn(self.call)
                done = yield from self._answered(response, number, Decisions())
                if done is not None:
                    return done
        except (ToolLoopLimitError, UnknownPrice, OutputParseError) as error:
            error.result = self._result("answered" if isinstance(error, OutputParseError) else "limit")
            raise
        except (UnifiedLLMError, DeadlineReached) as error:
            failure = overdue(error) if isinstance(error, DeadlineReached) else error
            if self.steps:
                failure.result = self._result("error")
            if failure is error:
                raise
        raise failure

    def _result(self, stopped: str) -> RunResult:
        return RunResult(tuple(self.steps), stopped, self.asked)

    def _answered(self, response: Result, number: int, decisions: Decisions) -> Steps[RunResult | None]:
        """Everything behind an answer: its value, or the outputs of its calls. The result where the run is over."""
        here, others = self._sorted(response)
        if self.parser is not None:
            response._strategy = self.parser.strategy
            answers = [each for each in others if self.parser.is_answer(each)]
            if answers or not (here or others):
                return (yield from self._read(response, number, [*here, *others]))
        # The caller's own outputs require another turn as much as those of tools that run here.
        if here or decisions.outputs:
            yield from self._checked(response, number, len(here))
        found: dict[int, Node] = {}
        try:
            outputs = yield from self._outputs(response, number, here, others, decisions, found)
        except DeadlineReached:
            # What has run stays, and must not run twice.
            step = Step(number, response, tuple(found[place] for place in sorted(found)))
            self.steps.append(step)
            yield from self._report(step)
            raise
        step = yield from self._done(response, number, outputs)
        answered = {answered_by(item) for item in step.output_nodes}
        waiting = [each for each in (*here, *others) if id_of(each) not in answered]
        if waiting:
            known = {id_of(each) for each in here}
            held = any(id_of(each) in known or each["type"] == "mcp_approval_request" for each in waiting)
            return self._result("approval" if held else "calls")
        if not here and not others:
            return self._result("answered")
        self._go_on(response, step.output_nodes)
        return None

    def _checked(self, response: Result, number: int, calls: int) -> Steps[None]:
        """The limits, before the tools of a turn run: what it called stays pending where they are reached."""
        # Outputs from before a pause stay: those tools have run, and must not run twice.
        step = Step(number, response, self._earlier)
        try:
            self.limits.check_calls(self.steps, response, calls)
            self.limits.check_spent([*self.steps, step])
        except (ToolLoopLimitError, UnknownPrice):
            self.steps.append(step)
            yield from self._report(step)
            raise

    def _sorted(self, response: Result) -> tuple[list[Node], list[Node]]:
        """The calls that are answered here, and what waits for the caller.

        A call of a tool that was not declared is answered too: with an error, for the model to correct.
        """
        here: list[Node] = []
        others: list[Node] = []
        declared = {node.get("name") for node in self.call.body.get("tools") or ()}
        for each in response.pending_calls:
            node = each.dump()
            name = node.get("name")
            known = name in self.call.tools or (node["type"] == "function_call" and name not in declared)
            mine = node["type"] in _CALLS and known
            (here if mine else others).append(node)
        return here, others

    def _outputs(
        self,
        response: Result,
        number: int,
        here: list[Node],
        others: list[Node],
        decisions: Decisions,
        found: dict[int, Node],
    ) -> Steps[list[Node]]:
        """The outputs of the calls that may be answered, in the order of the calls. `found` gets each at once."""
        request = response.request.get("input")
        given = tuple(request) if type(request) is list else ()
        # A turn that was paused keeps the outputs it has.
        given_before = {str(answered_by(item)): item for item in self._earlier}
        decisions = replace(decisions, outputs={**decisions.outputs, **given_before})
        running: list[tuple[int, Node, ToolContext[Any]]] = []
        for place, node in enumerate((*here, *others)):
            at = ToolContext(id_of(node) or "", node.get("name") or "", number, self.context, given)
            mine = place < len(here)
            said = yield from decision(
                node, at, self.call.tools.get(at.name) if mine else None, decisions, self.approve, self.call.deadline
            )
            if type(said) is dict:
                found[place] = said
            elif said and mine:
                running.append((place, node, at))
        if running:
            yield Do([self._kept(found, *each) for each in running], self.parallel, self.call.deadline)
        for place in sorted(found):
            if found[place] not in self._earlier:
                self._tell(ToolOutput((*here, *others)[place], found[place]))
        self._earlier = ()
        return [found[place] for place in sorted(found)]

    def _kept(self, found: dict[int, Node], place: int, node: Node, context: ToolContext[Any]) -> Steps[None]:
        found[place] = yield from self._watched(node, context)

    def _watched(self, node: Node, context: ToolContext[Any]) -> Steps[Node]:
        """One call with the hooks around it. The deadline is not that of `after_call`: the tool has run."""
        said = None
        if self._hooked("before_call"):
            said = yield Hook(self.hooks.before_call, (validate("item", node), context), deadline=self.call.deadline)
            if said is not None and not isinstance(said, str):
                raise _refused("before_call", "a text or None", said)
        if said is None:
            item = yield from answering(self.call.tools.get(context.name), node, context, self.call.deadline)
        else:
            item = output_for(node, said)
        if self._hooked("after_call"):
            changed = yield Hook(self.hooks.after_call, (validate("item", node), validate("item", item)))
            if changed is not None:
                item = output_for(node, changed) if isinstance(changed, str) else _output(changed, item)
        return item

    def _hooked(self, name: str) -> bool:
        """Whether a hook is one of the caller's: objects are made for those only."""
        return getattr(type(self.hooks), name, None) is not getattr(Hooks, name)

    def _done(self, response: Result, number: int, outputs: Sequence[Node]) -> Steps[Step]:
        step = Step(number, response, tuple(outputs))
        self.steps.append(step)
        self._tell(TurnDone(step))
        yield from self._report(step)
        return step

    def _report(self, step: Step) -> Steps[None]:
        """Report a turn to the hooks, once: a paused one was reported when it was paused."""
        if step.number <= self._reported:
            return
        self._reported = step.number
        yield Hook(self.hooks.after_turn, (step,))
        if self.on_step is not None:
            yield Hook(self.on_step, (step,))

    def _read(self, response: Result, number: int, calls: list[Node]) -> Steps[RunResult | None]:
        """The value of an answer. One that does not fit is requested again, in a turn of its own."""
        assert self.parser is not None
        failure: OutputParseError | None = None
        try:
            self.parser.read(response)
        except OutputParseError as error:
            failure = error
        said = "not run: the answer was given in the same turn" if failure is None else "not accepted"
        outputs = [
            output_for(
                node, "accepted" if failure is None and self.parser.is_answer(node) else said, failed=bool(failure)
            )
            for node in calls
            if node["type"] in _CALLS
        ]
        step = yield from self._done(response, number, outputs)
        if failure is None:
            return self._result("answered")
        if failure.truncated or not self.retries:
            raise failure
        self.retries -= 1
        self.limits.check_spent(self.steps)
        self._go_on(response, step.output_nodes, correction(failure))
        return None

    def _go_on(self, response: Result, outputs: Sequence[Node], *more: Node) -> None:
        """The next turn's request: the conversation so far, and no tool is forced twice."""
        call = self.call
        call.segments = (*response.segments, Segment(len(outputs) + len(more), response.upstream))
        call.body = unforced({**call.body, "input": [*response.item_nodes, *outputs, *more]})
        if self.parser is not None and self.parser.strategy == "tool":
            # The answer is itself the call of a tool.
            call.body["tool_choice"] = "required"


def unforced(body: Node) -> Node:
    """A request that forces no tool."""
    choice = body.get("tool_choice")
    if choice in _FORCED or (type(choice) is dict and choice.get("type") != "allowed_tools"):
        return {**body, "tool_choice": "auto"}
    if type(choice) is dict and choice.get("mode") in _FORCED:
        return {**body, "tool_choice": {**choice, "mode": "auto"}}
    return body


def _refused(hook: str, allowed: str, returned: Any) -> InvalidArgument:
    return InvalidArgument(f"Hooks.{hook} returns {allowed}, not {type(returned).__name__}")


def _request(changed: Any) -> Node:
    """The request that `before_turn` returned."""
    from ...types.request import Request

    if not isinstance(changed, (Request, Mapping)):
        raise _refused("before_turn", "a Request or None", changed)
    found: Node = plain(changed)
    return found


def _output(changed: Any, item: Node) -> Node:
    """The item that `after_call` returned in place of an output of the same call."""
    node = plain(changed)
    if type(node) is not dict or node.get("type") != item["type"] or "output" not in node:
        raise _refused("after_call", f"a text, a {item['type']} or None", changed)
    return node
