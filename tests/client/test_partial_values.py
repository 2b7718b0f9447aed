"""Values from JSON that is not complete: what has arrived is there and fits its type, and nothing else is."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, RootModel
from typing_extensions import TypedDict

from unified_llm.client.structured.formats import format_of
from unified_llm.client.structured.snapshots import Growing
from unified_llm.client.structured.strategies import Parser


class Address(BaseModel):
    street: str
    number: int
    tags: list[str] = []


class Person(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    born: date | None = None
    mood: Literal["fine", "finer"]
    email: Annotated[str, Field(alias="e-mail", min_length=3)]
    home: Address
    friends: list[Address] = Field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    x: int
    label: str
    y: int = 7


class Movie(TypedDict):
    title: str
    year: int


class Cat(BaseModel):
    kind: Literal["cat"]
    name: str


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Chain(BaseModel):
    number: int
    rest: Chain | None = None


class Both(BaseModel):
    both: list[Both | Either]


class Either(BaseModel):
    either: list[Both | Either]


PERSON = {
    "name": 'Ada "L" \u00e9',
    "born": "1815-12-10",
    "mood": "finer",
    "e-mail": "ada@x.org",
    "home": {"street": "Main", "number": 12, "tags": ["a", "b"]},
    "friends": [{"street": "Side", "number": 3}],
}


def value_at(format_: Any, text: str, strategy: str = "native") -> Any:
    growing = Growing(Parser(format_of(format_), strategy))
    growing.add(text)
    return growing.value


def test_a_model_is_shown_field_by_field() -> None:
    text = json.dumps(PERSON, ensure_ascii=False)

    def upto(mark: str) -> Any:
        return value_at(Person, text[: text.index(mark) + len(mark)])

    begun = upto('"Ada')
    assert isinstance(begun, Person)
    assert (begun.name, begun.born, begun.mood, begun.email, begun.home, begun.friends) == ("Ada", *[None] * 4, [])
    assert begun.model_fields_set == {"name"}
    # A value other than plain text is shown when it is complete: neither half a date nor the shorter word.
    assert upto('"1815-12-10').born is None
    assert upto('"1815-12-10"').born == date(1815, 12, 10)
    assert upto('"mood": "fine').mood is None
    assert upto('"mood": "finer"').mood == "finer"
    # A constraint is of the complete text.
    assert upto('"ad').email == "ad"
    assert upto('"number": 1').home.number is None
    home = upto('"number": 12,').home
    assert isinstance(home, Address) and (home.number, home.tags) == (12, [])
    assert upto('["a", "b').home.tags == ["a", "b"]
    assert upto('"Side').friends[0].street == "Side"
    assert value_at(Person, text) == Person.model_validate_json(text)


FORMATS: list[tuple[Any, Any]] = [
    (Person, PERSON),
    (Point, {"x": 12, "label": "here", "y": 3}),
    (Movie, {"title": "Up", "year": 2009}),
    (list[Movie], [{"title": "Up", "year": 2009}, {"title": "Down", "year": 2010}]),
    (dict[str, list[int]], {"a": [1, 22], "b": []}),
    (tuple[int, str], [12, "two"]),
    (set[int], [1, 22]),
    (Sequence[Address], [PERSON["home"]]),
    (Cat | Dog, {"kind": "dog", "name": "Rex"}),
    (list[Annotated[Cat | Dog, Field(discriminator="kind")]], [{"name": "Tom", "kind": "cat"}]),
    (RootModel[list[int]], [1, 2]),
    (int, 123),
    (str, "text \\ \" with \n escapes"),
    ({"type": "object", "properties": {"a": {"type": "string"}}}, {"a": "b", "c": [1, {"d": None}]}),
]  # fmt: skip


# Words around a plain value cannot be distinguished from it.
ASKED = [
    (strategy, *each)
    for strategy in ("native", "tool", "prompt")
    for each in FORMATS
    if strategy != "prompt" or isinstance(each[1], (dict, list))
]


@pytest.mark.parametrize(("strategy", "format_", "value"), ASKED, ids=lambda each: str(each)[:30])
def test_the_last_of_all_beginnings_is_the_whole_value(strategy: str, format_: Any, value: Any) -> None:
    found = format_of(format_)
    wrapped = {"value": value} if strategy == "tool" and found.is_wrapped else value
    text = json.dumps(wrapped)
    growing = Growing(Parser(found, strategy))
    if strategy == "prompt":
        growing.add("Here you are:\n```json\n")
    for piece in text:
        growing.add(piece)
        seen = growing.value  # every beginning can be read
    if strategy == "prompt":
        growing.add("\n```")
        seen = growing.value
    if format_ is int and strategy == "native":
        assert seen is None  # it might go on
    else:
        assert seen == found.load(json.dumps(value))


@pytest.mark.parametrize(("format_", "value"), FORMATS, ids=lambda each: str(each)[:30])
def test_nothing_that_was_shown_is_taken_back(format_: Any, value: Any) -> None:
    growing = Growing(Parser(format_of(format_), "native"))
    before: Any = None
    for piece in json.dumps(value):
        growing.add(piece)
        now = _plain(growing.value)
        assert _grew(before, now), (before, now)
        before = now


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return {name: _plain(each) for name, each in value.__dict__.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def _grew(before: Any, now: Any) -> bool:
    if before is None:
        return True
    if isinstance(before, dict):
        return all(name in now and (_grew(each, now[name]) or name == "y") for name, each in before.items())
    if isinstance(before, list):
        return len(before) <= len(now) and all(_grew(one, other) for one, other in zip(before, now))
    if isinstance(before, set):
        return before <= now
    return str(now).startswith(before) if isinstance(before, str) else bool(before == now)


def test_a_union_is_shown_once_only_one_member_fits() -> None:
    assert value_at(Cat | Dog, '{"name": "Re') is None
    assert value_at(Cat | Dog, '{"name": "Rex", "kind": "dog"') == Dog(kind="dog", name="Rex")
    assert value_at(Cat | Dog, '{"kind": "cat", "name": "T') == Cat(kind="cat", name="T")
    assert value_at(list[int | str], '["on') == ["on"]


def test_a_union_of_types_that_contain_themselves_is_read_in_linear_time() -> None:
    value = value_at(
        Chain, '{"number": 1, "rest": ' * 40 + '{"number": 2'
    )  # 2**40 steps where each level is read twice
    for _ in range(40):
        value = value.rest
    assert isinstance(value, Chain) and value.rest is None
    found = value_at(list[Both | Either], "[" + '{"both": [' * 20 + '{"either": [')
    assert isinstance(found, list)


def test_what_a_validator_computes_waits_for_the_whole_value() -> None:
    class Loud(BaseModel):
        word: Annotated[str, AfterValidator(str.upper)]
        rest: str = ""

    assert value_at(Loud, '{"word": "ab').word is None
    assert value_at(Loud, '{"word": "ab", "rest": "c').word == "AB"


def test_values_that_do_not_fit_are_left_out() -> None:
    assert value_at(list[int], '[1, "x", 3, ') == [1, 3]
    assert value_at(Address, '{"street": 5, "number": 1, ').street is None
    assert value_at(Address, "no json") is None


def test_long_texts_are_read_in_linear_time() -> None:
    def seconds(count: int) -> float:
        growing = Growing(Parser(format_of(list[str]), "native"))
        began = time.process_time()
        growing.add("[")
        reads = 0
        for number in range(count):
            growing.add(f'"{number:09}",')
            reads += growing.changed()
        growing.add('"end"]')
        assert growing.changed(ended=True) and len(growing.value) == count + 1
        assert reads < 64 * 12
        return time.process_time() - began

    small = min(seconds(2000) for _ in range(2))
    assert seconds(16000) < 8 * 4 * small + 0.2
