"""From the arguments of `responses.run` and `responses.resume` to a tool loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...foundation.errors import InvalidBody
from ..history import ASKS
from ..inputs.argument_types import check_arguments
from ..params import Decided, RunOptions
from ..requests import Call
from ..structured.snapshots import Growing
from .approval import Decisions, decided
from .run_limits import Limits
from .run_results import RunResult
from .tool_loop import Loop, unforced

if TYPE_CHECKING:
    from ..call_flows import Core

__all__ = ["RUN_OPTIONS", "begun", "growing", "resumed"]

Node = dict[str, Any]

RUN_OPTIONS = frozenset((*RunOptions.__annotations__, "max_tool_calls", "text_format"))
"""What `run` takes beside what `create` takes; the calls that it counts are those of tools that run here."""

_LIMITS = ("max_turns", "max_tool_calls", "max_total_tokens", "max_cost")
_LOOP = ("retries", "approve", "parallel", "hooks", "on_step", "context")


def begun(core: Core, given: Mapping[str, Any]) -> Loop:
    """The loop for the arguments of `run`."""
    options, asking = _split(given)
    call = core.call(asking)
    return _loop(core, call, options)


def resumed(core: Core, run: RunResult | Any, given: Mapping[str, Any]) -> Loop:
    """The loop that goes on from a run that was paused. Raises `InvalidBody` for decisions that do not fit it."""
    decided_here = {name: given[name] for name in Decided.__annotations__ if name in given}
    options, asking = _split({name: value for name, value in given.items() if name not in decided_here})
    for name in ("input", "previous", "previous_response_id", "conversation"):
        if asking.get(name) is not None:
            raise InvalidBody(f"/{name}", "cannot be passed to resume; the run has its conversation")
    if not isinstance(run, RunResult):
        hint = "; read JSON with RunResult.from_json" if isinstance(run, (str, bytes, Mapping)) else ""
        raise InvalidBody("/run", f"should be the RunResult of responses.run, not {type(run).__name__}{hint}")
    if run.stopped == "answered":
        raise InvalidBody("/run", "the run has its answer; go on with responses.run(previous=run, ...)")
    if run.final.strategy is not None and options.get("text_format") is None:
        raise InvalidBody("/text_format", "the run has structured output; pass text_format= again")
    if run.withheld and asking.get("tools") is None:
        raise InvalidBody("/tools", f"credentials are not kept ({', '.join(run.withheld)}); pass tools= again")
    decisions = decided(run.pending, **decided_here)
    call = core.call({**asking, "previous": run})
    asked = dict(run.asked)
    if call.upstream is not None or call.base_url is not None:
        asked.pop("model", None)
    elif core.upstream is None and core.model is None and not core.models:
        # No model is named: the run goes on where it was, with the credentials that are found here.
        where = run.final.upstream
        if where is not None and where.provider and where.model:
            asked.setdefault("model", f"{where.provider}/{where.model}")
    call.body = unforced({**asked, **call.body})
    for each in run.pending:
        # A request for approval is of a tool that the provider runs.
        id_, called = each.call_id, getattr(each, "name", None)
        if each.type != ASKS and id_ in decisions.approved and called not in call.tools:
            raise InvalidBody("/tools", f"call {id_!r} is approved; pass tools= with the function {called!r}")
    return _loop(core, call, options, run, decisions)


def _split(given: Mapping[str, Any]) -> tuple[Node, Node]:
    options = {name: value for name, value in given.items() if name in RUN_OPTIONS and value is not None}
    check_arguments(options)
    asking = {name: value for name, value in given.items() if name not in RUN_OPTIONS}
    if asking.get("background"):
        raise InvalidBody("/background", "a tool loop waits for each of its turns; use responses.create or parse")
    for name in ("strategy", "retries", "name"):
        if options.get(name) not in (None, 0, "auto") and "text_format" not in options:
            raise InvalidBody(f"/{name}", "needs text_format=")
    return options, asking


def _loop(
    core: Core, call: Call, options: Node, run: RunResult | None = None, decisions: Decisions | None = None
) -> Loop:
    limits = Limits(**{name: options[name] for name in _LIMITS if name in options})
    asked = {name: value for name, value in call.body.items() if name != "input"}
    parser = None
    if "text_format" in options:
        how = {name: options[name] for name in ("strategy", "name") if name in options}
        parser = core.parser(call, options["text_format"], loop=True, **how)
    if limits.max_cost is not None:
        limits.check_prices(core.upstreams(call))
    chosen: Node = {name: options[name] for name in _LOOP if name in options}
    steps = run.steps if run is not None else ()
    return Loop(call, limits=limits, asked=asked, parser=parser, steps=steps, decisions=decisions, **chosen)


def growing(loop: Loop) -> Growing | None:
    """The structured output of a loop as it grows; None where none was requested."""
    return None if loop.parser is None else Growing(loop.parser)
