"""Structured output of `local/echo`: a value of the type, whatever the protocol makes of its schema."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import uuid
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, HttpUrl

import unified_llm as ul
from client.providers import PROTOCOLS


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    good: bool


class Tree(BaseModel):
    name: str
    children: list[Tree]
    pets: dict[str, list[Cat]]


class Chain(BaseModel):
    number: int
    rest: Chain | None


@dataclasses.dataclass
class Node:
    number: int
    inner: Node | None = None


class Mappings(BaseModel):
    """Where descriptions are: the author's own, and the one that stands for keywords."""

    scores: dict[str, int] = Field(description="by name; format: as you like")
    cats: dict[str, Cat]
    colors: dict[Color, int]
    pair: tuple[int, str]
    several: tuple[int, ...]


class Bounds(BaseModel):
    age: int = Field(ge=18, le=99)
    code: str = Field(pattern=r"^[A-Z]{3}-\d{2}$")
    tags: list[str] = Field(min_length=2, max_length=3)
    share: float = Field(gt=0, lt=1)
    dozen: int = Field(multiple_of=12, ge=10)
    when: dt.datetime
    url: HttpUrl
    id: uuid.UUID
    amount: Decimal


TYPES: list[Any] = [
    Tree, Chain, Node, Mappings, Bounds, Cat | Dog, dict[str, int], tuple[int, str], list[dict[str, str]],
    Annotated[int, Field(ge=5)],
]  # fmt: skip


@pytest.mark.parametrize("strategy", ["native", "tool", "prompt"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_the_value_is_one_of_the_type(type_: Any, protocol: str, strategy: Any) -> None:
    client = ul.Client(model="local/echo", protocol=protocol)
    assert client.responses.parse(input="Any.", text_format=type_, strategy=strategy).output_parsed is not None


@pytest.mark.parametrize("strategy", ["native", "tool", "prompt"])
@pytest.mark.parametrize("asked", ["Hi.", "What is the weather?", "[[call weather city=Oslo]] [[then]] [[results]]"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_with_a_type_ends_by_every_strategy(protocol: str, asked: str, strategy: Any) -> None:
    def weather(city: str) -> str:
        """The weather in a city."""
        return f"rain in {city}"

    client = ul.Client(model="local/echo", protocol=protocol)
    run = client.responses.run(input=asked, tools=[weather], text_format=dict[str, int], strategy=strategy, max_turns=3)
    assert isinstance(run.output_parsed, dict)
    called = [each for step in run.steps for each in step.outputs if "rain in" in str(each.output)]
    assert len(called) == (asked != "Hi." or strategy == "tool")


def test_a_schema_in_words_stands_at_the_end_of_instructions() -> None:
    client = ul.Client(model="local/echo")
    for said in ("The schema: {}. Be brief.", "schema: {not JSON}", "A schema"):
        assert client.responses.create(input="Hi", instructions=said).output_text == "Hi"
    given: list[Any] = [{"role": "system", "content": 'Use this schema: {"type": "boolean"}'}, "Hi"]
    assert client.responses.create(input=given).output_text in ("true", "false")
