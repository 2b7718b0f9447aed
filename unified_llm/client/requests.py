"""What a caller passes, as one canonical request: names checked, shorthands spelled out, the conversation put together.

A misspelled name is refused before anything is sent, and so is an item or a part of an unknown type: in a request
of the caller's own making that is a mistake, and what a translator would report as lost would never be noticed.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..engine.malformed import FAULTS, refuse_document
from ..foundation.errors import InvalidBody
from ..losses import Levels, Losses
from ..types._tables import KEYS
from .history import Segment, withheld
from .inputs.argument_types import check_arguments
from .inputs.items import input_items, plain
from .inputs.settings import check_settings
from .inputs.unknown_arguments import refuse_argument
from .params import Asked
from .results import Result, items_of
from .sending.deadline import Deadline
from .tools.run_results import RunResult

if TYPE_CHECKING:
    from .tools.function_tools import Tool

__all__ = ["OPTIONS", "Call", "call_of"]

Node = dict[str, Any]

OPTIONS = frozenset(Asked.__annotations__)
"""What may be passed beside the fields of a canonical request."""


@dataclass(slots=True, kw_only=True)
class Call:
    """One request on its way: the canonical body, the tools that run here, the upstreams, and the options.

    `value_tool` is the tool whose arguments are the structured output, if one is.
    """

    body: Node
    tools: dict[str, Tool] = field(default_factory=dict)
    segments: tuple[Segment, ...] = ()
    losses: Losses = field(default_factory=Losses)
    models: tuple[Any, ...] = ()
    upstream: Any = None
    protocol: str | None = None
    on_loss: Levels | None = None
    timeout: Any = None
    total_timeout: float | None = None
    deadline: Deadline | None = None
    previous: str | None = None
    said: list[Node] | None = None
    value_tool: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, Any] = field(default_factory=dict, repr=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    api_key: Any = field(default=None, repr=False)
    base_url: str | None = None

    def names(self) -> tuple[Any, ...]:
        """The models to use, in order."""
        return tuple(dict.fromkeys(each for each in (self.body.get("model"), *self.models) if each is not None))


def call_of(given: Mapping[str, Any]) -> Call:
    """The call for the keyword arguments of a method.

    Raises `TypeError` for a name that is not a field of a request, `InvalidBody` for a value that is none, and
    `InvalidArgument` for an option that is none.
    """
    fields = KEYS["request"]
    for name in given:
        if name not in fields and name not in OPTIONS:
            refuse_argument(name, [*fields, *OPTIONS])
    check_arguments(given)
    options = {name: given[name] for name in OPTIONS if given.get(name) is not None}
    body = {
        name: value if name in _LATER else _setting(name, value)
        for name, value in given.items()
        if name in fields and name != "model" and value is not None
    }
    tools: dict[str, Tool] = {}
    if body.keys() & {"tools", "tool_choice"}:
        from .tools.function_tools import choice_of, tools_of
    if "tools" in body:
        body["tools"], tools = tools_of(given["tools"])
    if "tool_choice" in body:
        more = bool(body.keys() & _STANDS_FOR_TOOLS) or "tools" in options.get("extra_body", ())
        body["tool_choice"] = choice_of(given["tool_choice"], body.get("tools", ()), more=more)
    if isinstance(body.get("stop"), str):
        body["stop"] = [body["stop"]]
    try:
        said = input_items(given.get("input"))
    except FAULTS as error:
        refuse_document("request", {"input": given["input"]}, error)
    segments: tuple[Segment, ...] = ()
    previous = options.get("previous")
    if previous is not None:
        before, segments = _before(previous)
        said = [*before, *items_of(said)]
    if said is not None:
        body["input"] = said
    check_settings({name: value for name, value in body.items() if name not in ("input", "tools")})
    if given.get("model") is not None:
        body = {"model": given["model"], **body}
    return Call(
        body=body,
        tools=tools,
        segments=segments,
        models=tuple(options.get("models", ())),
        upstream=options.get("upstream"),
        protocol=options.get("protocol"),
        on_loss=options.get("on_loss"),
        timeout=options.get("timeout"),
        total_timeout=options.get("total_timeout"),
        headers=options.get("extra_headers", {}),
        query=options.get("extra_query", {}),
        extra_body=options.get("extra_body", {}),
        api_key=options.get("api_key"),
        base_url=options.get("base_url"),
    )


_LATER = frozenset(("input", "tools", "tool_choice"))  # with rules of their own

# With one of these a request may have no input: the provider has it. What `extra_body` has is the caller's affair.
_STANDS_FOR_INPUT = frozenset(("previous_response_id", "conversation", "prompt", "continuation_token"))

# With one of these there may be tools that the request does not have.
_STANDS_FOR_TOOLS = frozenset(("prompt", "agent", "extra"))


def _setting(name: str, value: Any) -> Any:
    try:
        return plain(value)
    except InvalidBody as error:
        raise InvalidBody(f"/{name}{error.path}", error.reason) from error


def _before(previous: Any) -> tuple[list[Node], tuple[Segment, ...]]:
    if isinstance(previous, RunResult):
        last, items = previous.final, previous.item_nodes
        return items, (*last.segments, Segment(len(items) - len(last.item_nodes), last.upstream))
    if isinstance(previous, Result):
        return previous.item_nodes, previous.segments
    if isinstance(previous, str):
        reason = (
            "should be a result or its item_nodes; a saved text needs json.loads(), and an id is previous_response_id="
        )
        raise InvalidBody("/previous", reason)
    try:
        return items_of(input_items(previous)), ()
    except InvalidBody as error:
        raise InvalidBody(error.path.replace("/input", "/previous", 1), error.reason) from error


def traveling(call: Call, upstreams: Sequence[Any]) -> Node:
    """The body as it may leave: what names something that a provider keeps goes to that provider only.

    The call's own body keeps it, for the response. Raises `InvalidBody` where there is nothing to answer.
    """
    if call.body.get("input", []) == [] and not call.body.keys() & _STANDS_FOR_INPUT and not call.extra_body:
        reason = "no input given; pass input=..., or go on from previous=, previous_response_id= or conversation="
        raise InvalidBody("/input", reason)
    if not call.segments or type(call.body.get("input")) is not list:
        return call.body
    items, found = withheld(call.body["input"], call.segments, upstreams)
    if not found:
        return call.body
    call.losses = Losses([*call.losses, *found])
    return {**call.body, "input": items}


def accepts(function: Any, name: str) -> bool:
    """Whether a function takes a keyword of that name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return name in parameters or any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
