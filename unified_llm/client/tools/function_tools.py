"""Tools: a Python function that every provider's models can call.

The signature becomes the schema and the docstring the description; both are written once, and what a target does not
accept of them is lowered, with report, when a request is written. A call that fails is an answer to the model and no
crash: bad arguments, and whatever the function raises, go back as an output with the error.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, TypedDict, Unpack, overload

from pydantic import ValidationError
from typing_extensions import ParamSpec, TypeVar

from ...foundation.errors import InvalidBody
from ...foundation.json_paths import pointer
from ...passes.keyword_arguments import spelled_out, texts_in
from ..inputs.items import plain
from ..sending.deadline import Deadline, DeadlineReached
from ..sending.flows import Hook, Steps
from .function_schema import Signature, doc_of, name_of, signature_of
from .tool_outputs import ToolError, failed, output_of
from .wire_tools import MODES, check_choice, choice_from, declared_by_server, near, tools_from

if TYPE_CHECKING:
    from ...types import _twins as json

__all__ = ["Tool", "ToolContext", "answering", "choice_of", "tool", "tools_of"]

Node = dict[str, Any]
T = TypeVar("T", default=Any)
P = ParamSpec("P", default=...)
R = TypeVar("R", default=Any)
Q = ParamSpec("Q")
S = TypeVar("S")
U = TypeVar("U")
_log = logging.getLogger("unified_llm")


@dataclass(frozen=True, slots=True)
class ToolContext(Generic[T]):
    """Information about a call for its tool: annotate a parameter with it, and the model is not shown that parameter.

    `data` is what the caller passed as `context=`; `turn` counts the model's turns from 1; `input` are the canonical
    items the model was given in that turn.

    >>> import unified_llm as ul
    >>> def whose(context: ul.ToolContext[str]) -> str:
    ...     return f"{context.data}, turn {context.turn}"
    >>> run = ul.Client().responses.run(model="local/echo", input="[[call whose]]", tools=[whose], context="Ann's")
    >>> run.output_text
    "whose: Ann's, turn 1"
    """

    call_id: str
    name: str
    turn: int = 1
    data: T = None  # type: ignore[assignment]
    input: tuple[Node, ...] = ()

    @classmethod
    def __get_pydantic_json_schema__(cls, *_: Any) -> Node:
        raise TypeError("a field is a ToolContext, which no model can give; annotate a parameter with it")


class ToolKeywords(TypedDict, total=False):
    """Further fields of the canonical tool."""

    type: Literal["function", "custom"]
    """"custom" for a tool that takes free-form text."""
    strict: bool | None
    """Whether the model must follow the schema exactly."""
    output_schema: dict[str, Any] | None
    """The JSON schema of what the tool returns."""
    short_description: str | None
    """A description for lists of tools."""
    input_examples: list[Any] | None
    """Examples of arguments."""
    format: json.CustomFormat | None
    """The text or grammar that a custom tool takes."""
    cache: json.Cache | None
    """A cache breakpoint behind the tool."""
    defer_loading: bool | None
    """Whether the model sees the tool only after a tool search."""
    allowed_callers: list[str] | None
    """Who may call the tool: "direct", "programmatic", ..."""
    extra: dict[str, dict[str, Any]] | None
    """Fields that only one protocol has, by protocol."""


@dataclass(eq=False)
class Tool(Generic[P, R]):
    """A function with its description for the model. Made by `tool`; calling it calls the function.

    `options` are further fields of the canonical tool: `strict`, `cache`, `defer_loading`, `input_examples`, ...

    >>> def now(zone: str = "UTC") -> str:
    ...     "What time it is."
    ...     return f"noon {zone}"
    >>> made = tool(now)
    >>> made.name, made.description, made(zone="CET"), made.definition()["parameters"]["properties"]
    ('now', 'What time it is.', 'noon CET', {'zone': {'default': 'UTC', 'type': 'string'}})
    """

    function: Callable[P, R]
    name: str
    description: str
    signature: Signature | None = field(repr=False)
    options: Node = field(default_factory=dict)
    parameters: Node | None = None
    needs_approval: bool = False

    def __post_init__(self) -> None:
        self.__name__: str = self.name
        self.__doc__ = self.description
        self.__wrapped__: Callable[P, R] = self.function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, with its own arguments and result."""
        return self.function(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Tool[P, R]: ...
    @overload
    def __get__(self: Tool[Concatenate[S, Q], U], instance: S, owner: type | None = None) -> Tool[Q, U]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Tool[..., Any]:
        """A tool that is a method is bound like one."""
        if instance is None:
            return self
        bound = self.function.__get__(instance, owner)
        return Tool(
            bound,
            self.name,
            self.description,
            signature_of(bound, ToolContext),
            self.options,
            None,
            self.needs_approval,
        )

    def definition(self) -> Node:
        """The canonical tool: flat, as in the Responses API."""
        if "format" in self.options or self.options.get("type") == "custom":
            return {"type": "custom", "name": self.name, "description": self.description, **self.options}
        parameters = self.parameters
        if parameters is None and self.signature is not None:
            parameters = self.signature.parameters
        told: Node = {"type": "function", "name": self.name, "description": self.description}
        return {**told, "parameters": parameters, **self.options}

    def arguments(self, call: Node, context: ToolContext[Any]) -> tuple[tuple[Any, ...], Node]:
        """Positional and keyword arguments for a call; raises pydantic's `ValidationError`."""
        if call["type"] == "custom_tool_call":
            return (call.get("input") or "",), {}
        if self.signature is None:
            from pydantic_core import from_json

            return (), from_json(call.get("arguments") or "{}")
        keywords = self.signature.arguments(call.get("arguments") or "")
        if self.signature.context is not None:
            keywords[self.signature.context] = context
        return tuple(keywords.pop(name) for name in self.signature.positional if name in keywords), keywords


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    needs_approval: bool = False,
    **options: Unpack[ToolKeywords],
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
@spelled_out(ToolKeywords, meanings=functools.partial(texts_in, __file__))
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    needs_approval: bool = False,
    **options: Any,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a function: plain or async, a method too, with any types that pydantic can validate.

    The name is the function's, the description its docstring, which may describe parameters in Google, NumPy or reST
    style; so may `Annotated[int, Field(description=..., ge=0)]`. A parameter annotated `ToolContext` is not shown.
    Options go into the canonical tool as they are: `strict=True`, `cache={...}`, `defer_loading=True`. With
    `type="custom"`, or a `format` with a grammar, the tool takes free-form text, as its only parameter. A tool that
    `needs_approval` pauses `responses.run` before it is called (`responses.resume`).

    The function may return text, canonical parts (`image(...)`, `file(...)`), bytes, a `Path`, a list of those, or
    anything pydantic can write as JSON. What it raises is reported to the model; `ToolError` with the tool's own text.

    Raises `TypeError` for a function that no model could call.

    https://platform.openai.com/docs/guides/function-calling

    >>> @tool
    ... def add(a: int, b: int = 1) -> int:
    ...     '''Add two numbers.
    ...
    ...     Args:
    ...         a: the first one
    ...     '''
    ...     return a + b
    >>> add.definition()["parameters"]["properties"]["a"]
    {'type': 'integer', 'description': 'the first one'}
    >>> add(2)
    3
    """
    if function is None:
        given: Node = {"name": name, "description": description, "options": options}
        return functools.partial(_made, **given, needs_approval=needs_approval)
    return _made(function, name, description, options, needs_approval)


def _made(
    function: Callable[..., Any],
    name: str | None,
    description: str | None,
    options: Node,
    needs_approval: bool = False,
) -> Tool:
    if not callable(function):
        raise TypeError(f"tool() requires a function, got {type(function).__name__}")
    raw = "format" in options or options.get("type") == "custom"
    signature = None if raw else signature_of(function, ToolContext)
    if description is None:
        description = signature.description if signature is not None else doc_of(function) or ""
    called = name or name_of(function)
    if not called:
        raise TypeError("a tool needs a name: tool(name=...)")
    return Tool(function, called, description, signature, dict(options), None, needs_approval)


def tools_of(given: Any) -> tuple[list[Node], dict[str, Tool]]:
    """The canonical tools for what stands in `tools=`, and those of them that run here, by name.

    One tool, or any nesting of lists and servers of tools: functions, `Tool`s, canonical classes, types of hosted
    tools, and JSON or SDK objects in the shape of any protocol. Raises `InvalidBody` with the path of anything else.

    >>> tools_of([{"name": "now", "input_schema": {"type": "object"}}])[0][0]["parameters"]
    {'type': 'object'}
    """
    nodes: list[Node] = []
    here: dict[str, Tool] = {}
    for path, each in _flat(given, ("tools",)):
        found = _tool(each, path)
        if isinstance(found, Tool):
            if found.name in here:
                raise InvalidBody(pointer(path), f"duplicate tool name {found.name!r}; tool names must be unique")
            here[found.name] = found
            nodes.append(found.definition())
        else:
            nodes += tools_from(found, path)
    return nodes, here


def _flat(given: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The tools with their paths; those of anything with `.tools`, such as a server, in the place of that."""
    if isinstance(given, (str, Mapping, Tool)) or hasattr(given, "dump") or hasattr(given, "model_dump"):
        yield path, given
    elif hasattr(given, "tools"):
        for each in given.tools:
            yield from _flat(each, path)
    elif isinstance(given, Iterable) and not callable(given):
        for place, each in enumerate(given):
            yield from _flat(each, (*path, place))
    elif given is not None or len(path) > 1:
        yield path, given


def _tool(value: Any, path: tuple[Any, ...]) -> Tool | Node:
    if isinstance(value, Tool):
        return value
    if isinstance(value, str):
        return {"type": value}
    if not isinstance(value, type) and hasattr(value, "dump"):
        return dict(value.dump())
    if not isinstance(value, type) and hasattr(value, "model_dump"):
        value = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, Mapping):
        return declared_by_server(dict(value))
    if not callable(value):
        raise InvalidBody(pointer(path), f"a tool is a function, a Tool or an object, not {type(value).__name__}")
    try:
        return _made(value, None, None, {})
    except TypeError as error:
        raise InvalidBody(pointer(path), str(error)) from error


def choice_of(given: Any, tools: Sequence[Node], *, more: bool = False) -> Any:
    """The canonical `tool_choice`: a mode, the name of one of the tools, a tool itself, or an object of any protocol.

    Raises `InvalidBody` for a word that is neither a mode nor a tool of the call, and for an object that names no tool
    of it, unless there may be `more` tools elsewhere.

    >>> choice_of("now", [{"type": "function", "name": "now"}])
    {'type': 'function', 'name': 'now'}
    """
    given = given if isinstance(given, str) or callable(given) else plain(given)
    if isinstance(given, Mapping):
        choice = choice_from(dict(given))
        if not more:
            check_choice(choice, tools)
        return choice
    name = given
    if callable(given):
        made = _tool(given, ("tool_choice",))
        name = made.name if isinstance(made, Tool) else made.get("name")
    if not isinstance(name, str) or name in MODES:
        return name
    for node in tools:
        if name == node.get("name") and node["type"] in ("function", "custom"):
            return {"type": node["type"], "name": name}
        if name == node.get("server_label"):
            return {"type": "mcp", "server_label": name}
    if any(name == node["type"] for node in tools):
        return {"type": name}
    names = [*MODES, *(str(node.get("name") or node.get("server_label") or node["type"]) for node in tools)]
    other = choice_from({"type": name})
    hint = f"; did you mean {other!r}?" if other in MODES else near(name, names)
    raise InvalidBody("/tool_choice", f"{name!r} is neither a mode nor a tool of this call: {', '.join(names)}{hint}")


def answering(
    found: Tool | None, call: Node, context: ToolContext[Any], deadline: Deadline | None = None
) -> Steps[Node]:
    """The output item of a call, whatever comes of it. Raises `DeadlineReached` where it has no output in time."""
    kind = "custom_tool_call_output" if call["type"] == "custom_tool_call" else "function_call_output"
    item: Node = {"type": kind, "call_id": call.get("call_id")}
    if call.get("namespace"):
        item["namespace"] = call["namespace"]
    try:
        if found is None:
            raise LookupError(f"there is no tool {call.get('name')!r}")
        positional, keywords = found.arguments(call, context)
    except ValidationError as error:
        return {**item, "output": _misfit(error), "is_error": True}
    except (ValueError, LookupError) as error:
        return {**item, "output": failed(error.args[0] if error.args else error), "is_error": True}
    try:
        value = yield Hook(functools.partial(found.function, *positional, **keywords), deadline=deadline)
        return {**item, "output": output_of(value)}
    except DeadlineReached:
        raise
    except Exception as error:
        if not isinstance(error, ToolError):
            _log.warning("the tool %s failed", found.name, exc_info=error)
        return {**item, "output": failed(error), "is_error": True}


def _misfit(error: ValidationError) -> str:
    told = [
        f"{'/'.join(str(step) for step in each['loc']) or 'arguments'}: {each['msg']}"
        for each in error.errors(include_url=False, include_context=False)
    ]
    return "invalid arguments: " + "; ".join(told)
