"""A value for any schema is valid under it: judged by jsonschema, on schemas that hypothesis makes up."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.sample import sample

NAMES = st.sampled_from(("a", "b", "c", "city"))


@st.composite
def numbers(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(("integer", "number")))
    low = draw(st.integers(-9, 9))
    schema: dict[str, Any] = {"type": kind}
    if draw(st.booleans()):
        schema[draw(st.sampled_from(("minimum", "exclusiveMinimum")))] = low
    if draw(st.booleans()):
        schema[draw(st.sampled_from(("maximum", "exclusiveMaximum")))] = low + draw(st.integers(12, 30))
    if draw(st.booleans()):
        schema["multipleOf"] = draw(st.sampled_from((2, 3, 5)))
    return schema


@st.composite
def texts(draw: st.DrawFn) -> dict[str, Any]:
    least = draw(st.integers(0, 9))
    return draw(
        st.sampled_from(
            (
                {"type": "string"},
                {"type": "string", "minLength": least, "maxLength": least + 2},
                {"type": "string", "enum": ["x", "y"]},
                {"const": "z"},
                {"type": "string", "format": "date-time"},
                {"type": "string", "format": "uuid"},
                {"type": "string", "pattern": r"^[A-Z]{3}-\d+(x|y)?$"},
                {"type": "string", "pattern": r"^\w+@[^@\s]+\.com$"},
            )
        )
    )


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    properties = draw(st.dictionaries(NAMES, inner, max_size=3))
    required = draw(st.lists(NAMES, unique=True, max_size=3))
    closed = draw(st.booleans())
    required = [name for name in required if not closed or name in properties]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        **({"additionalProperties": False} if closed else {}),
    }


@st.composite
def arrays(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    least = draw(st.integers(0, 3))
    return {"type": "array", "items": draw(inner), "minItems": least, "maxItems": least + draw(st.integers(0, 2))}


@st.composite
def choices(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    one = draw(inner)
    return draw(
        st.sampled_from(
            (
                {"anyOf": [{"type": "null"}, one]},
                {"anyOf": [one, {"type": "boolean"}]},
                {"allOf": [one, {"description": "d"}]},
                {**one, "type": [one["type"], "null"]} if isinstance(one.get("type"), str) else one,
            )
        )
    )


SCHEMAS = st.recursive(
    st.one_of(numbers(), texts(), st.just({"type": "boolean"}), st.just({"type": "null"}), st.just({})),
    lambda inner: st.one_of(objects(inner), arrays(inner), choices(inner)),
    max_leaves=8,
)


@given(SCHEMAS)
def test_the_sample_of_a_schema_is_valid(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(schema).validate(sample(schema))


NODE = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "next": {"$ref": "#/$defs/node"},
        "all": {"type": "array", "items": {"$ref": "#/$defs/node"}},
    },
    "required": ["name"],
}
PAIR = {"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False, "minItems": 2, "type": "array"}
SPECIAL = [
    {"$ref": "#/$defs/node", "$defs": {"node": NODE}},
    {
        "type": "object",
        "properties": {"a": {"allOf": [{"$ref": "#/$defs/p"}, {"minimum": 5}]}},
        "$defs": {"p": {"type": "integer"}},
    },
    PAIR,
    {"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True},
    {"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 3, "uniqueItems": True},
    {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2},
    {"oneOf": [{"type": "object", "properties": {"k": {"const": "a"}}, "required": ["k"]}, {"type": "string"}]},
    {"type": "object", "required": ["x"], "additionalProperties": {"type": "array", "minItems": 1}},
    {"properties": {"f": False, "g": True}},
]


@pytest.mark.parametrize("schema", SPECIAL, ids=range(len(SPECIAL)))
def test_the_sample_of_a_special_schema(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(schema).validate(sample(schema))


def test_the_words_of_another_dialect() -> None:
    schema = {
        "type": "OBJECT",
        "properties": {
            "n": {"type": "INTEGER", "minimum": "3"},
            "l": {"type": "ARRAY", "minItems": "2", "items": {"type": "STRING"}},
        },
    }
    assert sample(schema) == {"n": 3, "l": ["l", "l"]}
