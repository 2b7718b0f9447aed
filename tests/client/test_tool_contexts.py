"""A context is the run's: whatever the annotation looks like, no model is shown it and no model gives it."""

import functools
from dataclasses import dataclass
from typing import Annotated, Any, NewType, Optional, TypeVar, Union

import pytest
from pydantic import BaseModel
from typing_extensions import TypeAliasType

import unified_llm as ul
from unified_llm.client import Tool
from unified_llm.client.sending.flows import do, drive
from unified_llm.client.tools.function_tools import answering


def called(tool: Tool, arguments: str) -> dict[str, Any]:
    call = {"type": "function_call", "call_id": "c1", "name": tool.name, "arguments": arguments}
    return drive(answering(tool, call, ul.ToolContext("c1", tool.name, data=7)), do)


class Inherited(ul.ToolContext[int]):
    """A context of the caller's own."""


Named = TypeAliasType("Named", ul.ToolContext[int] | None)
Supplied = NewType("Supplied", ul.ToolContext[int])
Bound = TypeVar("Bound", bound=ul.ToolContext[Any])


@pytest.mark.parametrize(
    "annotation",
    [
        ul.ToolContext[int] | None,
        Optional[ul.ToolContext[int]],  # noqa: UP045
        Union[None, ul.ToolContext[int], ul.ToolContext[str]],  # noqa: UP007
        "ul.ToolContext[int] | None",
        Optional["ul.ToolContext[int]"],
        Annotated[ul.ToolContext[int], "d"],
        Annotated[Annotated[ul.ToolContext[int], "d"] | None, "e"],
        "Annotated[ul.ToolContext[int], 'd'] | None",
        Inherited | None,
        Named,
        Supplied,
        Bound,
    ],
    ids=str,
)
def test_no_spelling_of_a_context_is_shown_or_taken_from_the_model(annotation: Any) -> None:
    def who(context: Any, city: str) -> str:
        return f"{context.data} in {city}"

    who.__annotations__["context"] = annotation
    tool = ul.tool(who)
    assert list(tool.definition()["parameters"]["properties"]) == ["city"]
    forged = '{"city": "Oslo", "context": {"call_id": "c", "name": "who", "data": 1}}'
    assert called(tool, forged)["is_error"] is True
    assert called(tool, '{"city": "Oslo"}')["output"] == "7 in Oslo"


@dataclass
class Visit:
    context: ul.ToolContext[int] | None
    city: str = "Oslo"


class Plain:
    def __init__(self, context: ul.ToolContext[int] | None, city: str = "Oslo") -> None:
        self.context = context


def visit(context: ul.ToolContext[int] | None, /, city: str = "Oslo", days: int = 1) -> str:
    return str(context and context.data)


@pytest.mark.parametrize(
    "function", [Visit, Plain, visit, functools.partial(visit, days=2)], ids=["dataclass", "class", "/", "partial"]
)
def test_a_context_of_a_class_by_position_or_of_a_partial_is_not_shown(function: Any) -> None:
    tool = ul.tool(name="visit")(function)
    assert "context" not in tool.definition()["parameters"]["properties"]
    call = {"type": "function_call", "call_id": "c1", "name": "visit", "arguments": "{}"}
    positional, keywords = tool.arguments(call, ul.ToolContext("c1", "visit", data=7))
    made = tool(*positional, **keywords)
    assert (made if isinstance(made, str) else str(made.context.data)) == "7"


def test_a_context_inside_of_what_a_model_gives_is_refused() -> None:
    class Order(BaseModel):
        context: ul.ToolContext[int] | None = None

    def order(what: Order) -> None: ...

    order.__annotations__["what"] = Order
    with pytest.raises(TypeError, match="a field is a ToolContext, which no model can give"):
        ul.tool(order)
