"""JSON-schema lowering: the traps by name, and the laws over generated schemas.

The laws: what is accepted is not touched; lowering twice is lowering once; nothing is dropped in silence; no value
that was valid becomes invalid unless a change says that it narrows (the `jsonschema` package is the judge); any JSON
value is taken. The profiles are examples of what adapters declare.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema.exceptions import SchemaError

from unified_llm.schema import Change, Lowered, NameRule, SchemaProfile, fit_name, lower, restore_arguments
from unified_llm.schema.lowering import _lower
from unified_llm.schema.merge import same
from unified_llm.suite.mutate import altered, deleted, replaced
from unified_llm.suite.walk import is_prefix, leaves, pointer

SUBSET_OF_OPENAPI = SchemaProfile(
    keywords=frozenset(
        "type format title description nullable enum items minItems maxItems properties required minProperties "
        "maxProperties minLength maxLength pattern example anyOf propertyOrdering default minimum maximum".split()
    ),
    formats=frozenset("enum date-time int32 int64 float double".split()),
    recursion="unrolled",
    unroll=1,
    type_case="upper",
    type_lists=False,
    type_required=True,
    typed_keywords=True,
    null_type=False,
    nullable=True,
    boolean_schemas=False,
    string_counts=True,
    enum_types=frozenset({"string"}),
    root_object=True,
    empty_root="omitted",
    required_exact=True,
    items_required=True,
    names=NameRule("A-Za-z_", "A-Za-z0-9_.:-", 128),
)
STRICT = SchemaProfile(
    keywords=frozenset(
        "type description title enum const anyOf $ref $defs properties required additionalProperties items pattern "
        "format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems".split()
    ),
    formats=frozenset("date-time time date duration email hostname ipv4 ipv6 uuid".split()),
    ref_siblings=False,
    type_required=True,
    boolean_schemas=False,
    root_object=True,
    empty_objects="text",
    closed_objects=True,
    all_required=True,
    required_exact=True,
    items_required=True,
    max_depth=10,
    max_properties=5000,
    max_enum_values=1000,
    property_names=NameRule("A-Za-z0-9_.-", "A-Za-z0-9_.-", 64),
)
SUBSET_OF_JSON_SCHEMA = SchemaProfile(
    keywords=frozenset(
        "$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum "
        "maximum anyOf oneOf properties additionalProperties required propertyOrdering".split()
    ),
    ref_siblings=False,
    recursion="optional",
    enum_types=frozenset({"string", "number"}),
    required_exact=True,
)
ALL_OF_IT = SchemaProfile()
ROOT_ONLY = SchemaProfile(root_object=True, property_names=NameRule("A-Za-z0-9_.-", "A-Za-z0-9_.-", 64))
CLOSED = SchemaProfile(
    keywords=frozenset(
        "type anyOf allOf enum const $ref $defs title description properties required items additionalProperties "
        "format minItems".split()
    ),
    recursion="unrolled",
    closed_objects=True,
)
BARE = SchemaProfile(
    keywords=frozenset({"type", "properties", "required", "items", "enum"}),
    type_lists=False,
    boolean_schemas=False,
    empty_objects="placeholder",
    max_depth=3,
    max_properties=4,
    max_enum_values=3,
)
PROFILES = {
    "openapi": SUBSET_OF_OPENAPI,
    "strict": STRICT,
    "subset": SUBSET_OF_JSON_SCHEMA,
    "all": ALL_OF_IT,
    "root": ROOT_ONLY,
    "closed": CLOSED,
    "bare": BARE,
}


def changed(done: Lowered) -> list[tuple[str, str, str]]:
    return [(change.pointer, change.keyword, change.fate) for change in done.changes]


def inside(schema: Any, profile: SchemaProfile, name: str = "p") -> tuple[Any, list[tuple[str, str, str]]]:
    """A schema lowered as a property, so that the rules of the root stay out of sight; pointers are relative."""
    root = {"type": "object", "properties": {name: schema}, "required": [name]}
    done = lower(root, profile)
    prefix = f"/properties/{name}"
    found = [(at[len(prefix) :], key, fate) for at, key, fate in changed(done) if at.startswith(prefix)]
    return done.schema["properties"][name], found


# Traps ---------------------------------------------------------------------------------------------------------------


def test_trap_089_unknown_keywords_are_named_one_by_one() -> None:
    schema = {
        "type": "object",
        "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}},
        "$schema": "x",
    }
    done = lower(schema, SUBSET_OF_OPENAPI)
    assert done.schema == {
        "type": "OBJECT",
        "properties": {"m": {"type": "OBJECT", "description": 'additionalProperties: {"type":"string"}'}},
    }
    assert changed(done) == [
        ("/properties/m/additionalProperties", "additionalProperties", "approximated"),
        ("/$schema", "$schema", "lost"),
    ]
    done = lower(schema, SUBSET_OF_JSON_SCHEMA)
    assert done.schema == {key: schema[key] for key in ("type", "properties")}
    assert changed(done) == [("/$schema", "$schema", "lost")]


def test_trap_090_references_are_inlined_with_their_siblings() -> None:
    schema = {
        "type": "object",
        "properties": {"q": {"$ref": "#/$defs/Q", "title": "t"}},
        "$defs": {"Q": {"type": "string"}},
    }
    done = lower(schema, SUBSET_OF_OPENAPI)
    assert done == (
        {"type": "OBJECT", "properties": {"q": {"title": "t", "type": "STRING"}}}, (), schema, ()
    )  # fmt: skip
    # Where references are accepted, only those with siblings are inlined; the definition stays.
    done = lower(schema, SUBSET_OF_JSON_SCHEMA)
    assert done.schema["properties"] == {"q": {"title": "t", "type": "string"}}
    assert done.schema["$defs"] == schema["$defs"]
    assert done.changes == ()
    assert lower(schema, ALL_OF_IT).schema is schema


def test_trap_090_a_reference_that_leads_nowhere_is_named() -> None:
    for ref in ("#/$defs/None", "https://example.com/schema.json", "#nowhere", 7):
        schema = {"type": "object", "properties": {"q": {"$ref": ref, "type": "string"}}}
        done = lower(schema, SUBSET_OF_JSON_SCHEMA)
        assert done.schema == {"type": "object", "properties": {"q": {"type": "string"}}}
        assert changed(done) == [("/properties/q/$ref", "$ref", "lost")]


def test_trap_091_recursion_is_unrolled_and_ends() -> None:
    schema = {"$defs": {"N": {"type": "object", "properties": {"c": {"$ref": "#/$defs/N"}}}}, "$ref": "#/$defs/N"}
    done = lower(schema, SUBSET_OF_OPENAPI)
    assert done.schema == {
        "type": "OBJECT",
        "properties": {"c": {"type": "OBJECT", "properties": {"c": {"type": "OBJECT"}}}},
    }
    assert done.changes == (Change("/$defs/N/properties/c/$ref", "$ref", "approximated", "unrolled 1 times"),)
    # A target that follows references keeps it, and one with closed objects has a place for the rest.
    assert lower(schema, SUBSET_OF_JSON_SCHEMA).schema is schema
    strict = lower(schema, STRICT).schema
    child = {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]}
    node = {"type": "object", "properties": {"c": child}, "required": ["c"], "additionalProperties": False}
    assert strict == {"$defs": {"N": node}, **node}


def test_trap_091_circular_references_only_below_optional_properties() -> None:
    node = {"type": "object", "properties": {"c": {"$ref": "#/$defs/N"}}, "required": ["c"]}
    schema = {"$defs": {"N": node}, "type": "object", "properties": {"n": {"$ref": "#/$defs/N"}}}
    done = lower(schema, SUBSET_OF_JSON_SCHEMA)
    third = {**node, "properties": {"c": {"type": "object"}}}
    second = {**node, "properties": {"c": third}}
    assert done.schema == {**schema, "$defs": {"N": {**node, "properties": {"c": second}}}}
    assert changed(done) == [("/$defs/N/properties/c/$ref", "$ref", "approximated")]


def test_trap_091_a_circular_reference_beside_siblings_gets_a_place_of_its_own() -> None:
    node = {"type": "object", "properties": {"left": {"$ref": "#/$defs/N", "description": "the left one"}}}
    schema = {"$defs": {"N": node}, "type": "object", "properties": {"n": {"$ref": "#/$defs/N"}}}
    left = lower(schema, SUBSET_OF_JSON_SCHEMA).schema["$defs"]["N"]["properties"]["left"]
    assert left == {"description": "the left one", "anyOf": [{"$ref": "#/$defs/N"}]}


def test_trap_091_definitions_that_double_stay_bounded() -> None:
    names = [f"D{i}" for i in range(40)]
    defs: dict[str, Any] = {
        name: {"type": "object", "properties": {side: {"$ref": f"#/$defs/{below}"} for side in "ab"}}
        for name, below in pairwise(names)
    }
    schema = {"$defs": {**defs, "D39": {"type": "string"}}, "$ref": "#/$defs/D0"}
    done = lower(schema, SUBSET_OF_OPENAPI)
    assert len(json.dumps(done.schema)) < 2_000_000
    assert any(change.detail == "too many definitions to be written out" for change in done.changes)


def test_trap_092_a_root_reference_shows_its_parameters_everywhere() -> None:
    schema = {
        "$ref": "#/$defs/Input",
        "$defs": {"Input": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    }
    assert lower(schema, SUBSET_OF_OPENAPI).schema == {"type": "OBJECT", "properties": {"a": {"type": "INTEGER"}}}
    for name, profile in PROFILES.items():
        done = lower(schema, profile).schema
        assert "$ref" not in done or done["$defs"]["Input"]["properties"] == {"a": {"type": "integer"}}, name
        assert "$ref" in done or "a" in done["properties"], name
    assert "$ref" not in lower(schema, STRICT).schema and "$ref" not in lower(schema, ROOT_ONLY).schema


def test_trap_092_definitions_nothing_refers_to_are_named() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "definitions": {"X": {"type": "string"}}}
    done = lower(schema, SUBSET_OF_OPENAPI)
    assert changed(done) == [("/definitions/X", "definitions", "lost")]


def test_trap_092_references_by_path_and_old_definitions_find_their_target() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"$ref": "#/properties/a"}, "c": {"$ref": "#/definitions/C"}},
        "definitions": {"C": {"type": "object", "properties": {"d": {"$ref": "#/definitions/C"}}}},
    }
    assert lower(schema, ALL_OF_IT).schema is schema
    done = lower(schema, SUBSET_OF_JSON_SCHEMA)
    assert done.schema == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"$ref": "#/$defs/a"}, "c": {"$ref": "#/$defs/C"}},
        "$defs": {"a": {"type": "integer"}, "C": {"type": "object", "properties": {"d": {"$ref": "#/$defs/C"}}}},
    }
    assert done.changes == ()


@pytest.mark.parametrize("schema", [{"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": ["string", "null"]}])
def test_trap_093_nullability_survives(schema: dict[str, Any]) -> None:
    assert inside(schema, SUBSET_OF_OPENAPI) == ({"type": "STRING", "nullable": True}, [])
    for profile in (STRICT, SUBSET_OF_JSON_SCHEMA, ALL_OF_IT):
        assert inside(schema, profile) == (schema, [])


def test_trap_093_several_types_become_a_union() -> None:
    schema = {"type": ["string", "integer", "null"], "minLength": 2, "maximum": 9, "description": "d"}
    assert inside(schema, SUBSET_OF_OPENAPI) == (
        {
            "anyOf": [{"type": "STRING", "minLength": 2}, {"type": "INTEGER", "maximum": 9}],
            "description": "d",
            "nullable": True,
        },
        [],
    )


def test_trap_093_nullable_becomes_null_where_null_is_a_type() -> None:
    assert inside({"type": "STRING", "nullable": True}, STRICT) == ({"type": ["string", "null"]}, [])
    enum = {"type": "STRING", "nullable": True, "enum": ["a"]}
    assert inside(enum, STRICT) == ({"type": ["string", "null"], "enum": ["a", None]}, [])
    union = {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}], "nullable": True}
    branches = [{"type": "string"}, {"type": "number"}, {"type": "null"}]
    assert inside(union, STRICT) == ({"anyOf": branches}, [])
    assert inside({"type": "string", "nullable": False}, STRICT)[0] == {"type": "string"}


def test_trap_094_constants_become_an_enum() -> None:
    expected = {"type": "STRING", "enum": ["md", "json"]}
    typed_by_value = [("", "type", "approximated")]
    for union in ("anyOf", "oneOf"):
        assert inside({union: [{"const": "md"}, {"const": "json"}]}, SUBSET_OF_OPENAPI) == (expected, typed_by_value)
        typed = [{"type": "string", "const": "md"}, {"type": "string", "const": "json"}]
        assert inside({union: typed}, SUBSET_OF_OPENAPI) == (expected, [])
    assert inside({"const": "a"}, SUBSET_OF_OPENAPI) == ({"type": "STRING", "enum": ["a"]}, typed_by_value)
    described = {
        "oneOf": [
            {"type": "string", "const": "a", "description": "first"},
            {"type": "string", "const": "b", "description": "second"},
        ]
    }
    assert inside(described, SUBSET_OF_OPENAPI) == (
        {
            "anyOf": [
                {"type": "STRING", "enum": ["a"], "description": "first"},
                {"type": "STRING", "enum": ["b"], "description": "second"},
            ]
        },
        [("/oneOf", "oneOf", "approximated")],
    )


def test_trap_095_other_enums_keep_their_type_and_go_into_words() -> None:
    assert inside({"type": "integer", "enum": [60, 1440]}, SUBSET_OF_OPENAPI) == (
        {"type": "INTEGER", "description": "Allowed values: 60, 1440"},
        [("/enum", "enum", "approximated")],
    )
    typed_by_value = ("", "type", "approximated")
    assert inside({"enum": [1, 2.5], "description": "How much."}, SUBSET_OF_OPENAPI) == (
        {"type": "NUMBER", "description": "How much.\n\nAllowed values: 1, 2.5"},
        [typed_by_value, ("/enum", "enum", "approximated")],
    )
    assert inside({"enum": ["a", None]}, SUBSET_OF_OPENAPI) == (
        {"type": "STRING", "enum": ["a"], "nullable": True},
        [typed_by_value],
    )
    assert inside({"enum": ["a", "b"]}, SUBSET_OF_OPENAPI) == (
        {"type": "STRING", "enum": ["a", "b"]},
        [typed_by_value],
    )
    assert inside({"type": "integer", "const": 5}, SUBSET_OF_OPENAPI) == (
        {"type": "INTEGER", "description": "Allowed values: 5"},
        [("/const", "enum", "approximated")],
    )
    # Null as a type, and an enum that may not hold it.
    assert inside({"enum": ["a", None]}, SUBSET_OF_JSON_SCHEMA) == (
        {"anyOf": [{"enum": ["a"]}, {"type": "null"}]},
        [],
    )
    odd = {"enum": [float("nan"), float("inf")]}
    assert inside(odd, SUBSET_OF_OPENAPI)[0] == {"type": "NUMBER", "description": "Allowed values: NaN, Infinity"}


def test_trap_096_properties_want_a_type_and_the_right_one() -> None:
    done = lower({"properties": {"a": {"type": "string"}}}, SUBSET_OF_OPENAPI)
    assert done.schema == {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}
    assert inside({"type": "string", "properties": {}, "required": ["x"]}, SUBSET_OF_OPENAPI) == (
        {"type": "STRING"},
        [("/properties", "properties", "lost"), ("/required", "required", "lost")],
    )
    nested, found = inside({"properties": {"a": {"type": "string"}}}, SUBSET_OF_OPENAPI)
    assert nested == {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}
    assert found == [("", "type", "approximated")]


def test_trap_097_required_names_what_is_there() -> None:
    assert inside({"type": "object", "required": ["t"]}, SUBSET_OF_OPENAPI) == (
        {"type": "OBJECT"},
        [("/required/0", "required", "lost")],
    )
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": []}
    for profile in (SUBSET_OF_OPENAPI, SUBSET_OF_JSON_SCHEMA):
        done = lower(schema, profile)
        assert "required" not in done.schema
        assert changed(done) == [("/required", "required", "approximated")]
    assert lower(schema, ROOT_ONLY).schema is schema


@pytest.mark.parametrize("schema", [None, {}, {"type": "object", "properties": {}}])
def test_trap_098_a_tool_without_parameters(schema: Any) -> None:
    assert lower(schema, SUBSET_OF_OPENAPI).schema is None
    assert lower(schema, ROOT_ONLY).schema == {"type": "object", "properties": {}}


def test_trap_098_a_placeholder_does_not_leak_into_arguments() -> None:
    schema = {"type": "object", "properties": {"o": {"type": "object"}}}
    done = lower(schema, BARE)
    assert list(done.schema["properties"]["o"]["properties"]) == ["unused"]
    assert done.undo == ("placeholder",)
    assert restore_arguments({"o": {"unused": "", "x": 1}}, done) == {"o": {"x": 1}}
    assert restore_arguments('{"o":{"unused":""}}', done) == '{"o":{}}'
    own = lower({"type": "object", "properties": {"unused": {"type": "object"}}}, BARE)
    assert restore_arguments({"unused": {"unused": 1}}, own) == {"unused": {}}


def test_trap_099_bounds_and_formats() -> None:
    assert inside({"type": "integer", "exclusiveMinimum": 0}, SUBSET_OF_OPENAPI) == (
        {"type": "INTEGER", "minimum": 1},
        [],
    )
    assert inside({"type": "integer", "exclusiveMaximum": 2.5}, SUBSET_OF_OPENAPI) == (
        {"type": "INTEGER", "maximum": 2},
        [("/exclusiveMaximum", "exclusiveMaximum", "approximated")],
    )
    assert inside({"type": "integer", "exclusiveMinimum": 0, "minimum": 5}, SUBSET_OF_OPENAPI) == (
        {"type": "INTEGER", "minimum": 5},
        [("/exclusiveMinimum", "exclusiveMinimum", "approximated"), ("/minimum", "minimum", "approximated")],
    )
    assert inside({"type": "number", "exclusiveMinimum": 0}, SUBSET_OF_OPENAPI) == (
        {"type": "NUMBER", "description": "exclusiveMinimum: 0"},
        [("/exclusiveMinimum", "exclusiveMinimum", "approximated")],
    )
    assert inside({"type": "string", "format": "uri"}, SUBSET_OF_OPENAPI) == (
        {"type": "STRING", "description": 'format: "uri"'},
        [("/format", "format", "approximated")],
    )
    kept = {"type": "STRING", "format": "date-time"}
    assert inside(kept, SUBSET_OF_OPENAPI) == (kept, [])
    draft_4 = {"type": "integer", "minimum": 3, "exclusiveMinimum": True}
    assert inside(draft_4, ALL_OF_IT) == ({"type": "integer", "exclusiveMinimum": 3}, [])
    assert inside({"type": "array", "items": {"type": "STRING"}, "minItems": "2"}, ALL_OF_IT)[0] == {
        "type": "array", "items": {"type": "string"}, "minItems": 2,
    }  # fmt: skip


TRAP_100 = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    "required": ["a"],
}


def test_trap_100_a_schema_that_does_not_qualify_is_told_from_one_that_does() -> None:
    # A caller that did not ask for strict looks whether the schema comes through as it is.
    assert lower(TRAP_100, STRICT).schema is not TRAP_100
    strict = lower(TRAP_100, STRICT)
    assert strict.schema == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    assert strict.changes == (
        Change("", "additionalProperties", "approximated", "must be false", True),
        Change("/properties/b", "required", "approximated", "optional, became required and nullable", True),
    )
    assert lower(strict.schema, STRICT).schema is strict.schema
    default = {**strict.schema, "properties": {**strict.schema["properties"], "a": {"type": "string", "default": "x"}}}
    assert lower(default, STRICT).schema["properties"]["a"] == {"type": "string", "description": 'default: "x"'}


def test_trap_101_nulls_of_optional_fields_are_removed() -> None:
    done = lower(TRAP_100, STRICT)
    assert restore_arguments({"a": "x", "b": None}, done) == {"a": "x"}
    assert restore_arguments('{"a":"x","b":null}', done) == '{"a":"x"}'
    assert restore_arguments({"a": None, "b": "y"}, done) == {"a": None, "b": "y"}
    assert restore_arguments({"a": None, "c": None}, done) == {"a": None, "c": None}
    again = Lowered.from_json(json.loads(json.dumps(done.to_json())))
    assert restore_arguments({"a": "x", "b": None}, again) == {"a": "x"}


def test_trap_101_nulls_the_original_allows_stay() -> None:
    schema = {
        "type": "object",
        "properties": {
            "null": {"type": ["string", "null"]},
            "any": {},
            "one": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/M"}]},
            "deep": {"type": "array", "items": {"$ref": "#/$defs/D"}},
        },
        "$defs": {
            "M": {"enum": [None, "x"]},
            "D": {"type": "object", "properties": {"n": {"type": "integer"}, "d": {"$ref": "#/$defs/D"}}},
        },
    }
    done = lower(schema, STRICT)
    given_back = {"null": None, "any": None, "one": None, "deep": [{"n": None, "d": {"n": 1, "d": None}}]}
    assert restore_arguments(given_back, done) == {**given_back, "deep": [{"d": {"n": 1}}]}
    untouched = {"null": "a", "deep": [{"n": 1}]}
    assert restore_arguments(untouched, done) is untouched


def test_trap_079_arguments_that_need_nothing_keep_their_text() -> None:
    done = lower(TRAP_100, STRICT)
    for text in ('{ "a": "2512292042121000001", "n": 2512292042121000001.50 }', "{broken", "", "[1]", '"x"'):
        assert restore_arguments(text, done) is text
    assert restore_arguments('{"a":"x","b":null,"id":2512292042121000001251229204}', done) == (
        '{"a":"x","id":2512292042121000001251229204}'
    )


# What is visible in arguments ----------------------------------------------------------------------------------------


def test_open_objects_travel_as_text_through_a_strict_target() -> None:
    schema = {"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "integer"}}},
              "required": ["m"]}  # fmt: skip
    done = lower(schema, STRICT)
    assert done.schema["properties"]["m"] == {
        "type": "string",
        "description": 'JSON text of: {"type":"object","additionalProperties":{"type":"integer"}}',
    }
    assert restore_arguments({"m": '{"x":1}'}, done) == {"m": {"x": 1}}
    assert restore_arguments({"m": "no json"}, done) == {"m": "no json"}
    assert restore_arguments({"m": "[1]"}, done) == {"m": "[1]"}


def test_a_root_that_is_no_object_is_wrapped_and_unwrapped() -> None:
    schema = {"type": "array", "items": {"$ref": "#/$defs/I"}, "$defs": {"I": {"type": "integer"}}}
    done = lower(schema, STRICT)
    assert done.schema == {
        "type": "object",
        "properties": {"value": {"type": "array", "items": {"$ref": "#/$defs/I"}}},
        "required": ["value"],
        "additionalProperties": False,
        "$defs": {"I": {"type": "integer"}},
    }
    assert restore_arguments('{"value":[1,2]}', done) == "[1,2]"
    assert lower(done.schema, STRICT).schema is done.schema


def test_names_of_properties_are_made_to_fit_and_given_back() -> None:
    schema = {"type": "object", "properties": {"größe": {"type": "integer"}, "ok": {"type": "string"}},
              "required": ["größe"]}  # fmt: skip
    done = lower(schema, ROOT_ONLY)
    name, other = done.schema["properties"]
    assert name.startswith("gr__e_") and other == "ok" and done.schema["required"] == [name]
    assert changed(done) == [("/properties/größe", "properties", "approximated")]
    assert restore_arguments({name: 1, "ok": "x"}, done, ROOT_ONLY) == {"größe": 1, "ok": "x"}


@given(st.lists(st.text(max_size=80), unique=True, max_size=5))
def test_names_fit_stay_apart_and_are_left_alone_when_they_fit(names: list[str]) -> None:
    rule = NameRule("A-Za-z_", "A-Za-z0-9_-", 64)
    fitted = [fit_name(name, rule) for name in names]
    assert len(set(fitted)) == len(names)
    for name in fitted:
        assert len(name) <= 64
        assert re.fullmatch("[A-Za-z_][A-Za-z0-9_-]*", name)
        assert fit_name(name, rule) == name


# Single rules --------------------------------------------------------------------------------------------------------


def test_all_of_is_merged_and_what_cannot_be_is_said_in_words() -> None:
    schema = {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]},
            {"$ref": "#/$defs/B"},
        ],
        "description": "both",
        "$defs": {"B": {"properties": {"a": {"maximum": 9}, "b": {"type": "string"}}, "required": ["b"]}},
    }
    assert lower(schema, SUBSET_OF_OPENAPI).schema == {
        "description": "both",
        "type": "OBJECT",
        "properties": {"a": {"type": "INTEGER", "minimum": 1, "maximum": 9}, "b": {"type": "STRING"}},
        "required": ["a", "b"],
    }
    patterns = {"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "z$"}]}
    assert inside(patterns, SUBSET_OF_OPENAPI) == (
        {"type": "STRING", "pattern": "^a", "description": 'pattern: "z$"'},
        [("/allOf/1/pattern", "pattern", "approximated")],
    )


def test_tuples_become_lists_of_their_members() -> None:
    pair = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False}
    lowered, found = inside(pair, SUBSET_OF_OPENAPI)
    assert lowered == {"type": "ARRAY", "items": {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]}, "maxItems": 2}
    assert found == [("/prefixItems", "prefixItems", "approximated"), ("/items", "items", "approximated")]
    old = {"type": "array", "items": [{"type": "number"}, {"type": "number"}], "minItems": 2, "maxItems": 2}
    assert inside(old, SUBSET_OF_OPENAPI)[0] == {
        "type": "ARRAY", "items": {"type": "NUMBER"}, "minItems": 2, "maxItems": 2,
    }  # fmt: skip
    assert inside(old, SUBSET_OF_JSON_SCHEMA)[0] == {
        "type": "array", "prefixItems": old["items"], "minItems": 2, "maxItems": 2,
    }  # fmt: skip


def test_closed_objects_open_when_their_patterns_are_gone() -> None:
    schema = {"type": "object", "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": False}
    lowered, found = inside(schema, SUBSET_OF_JSON_SCHEMA)
    assert lowered == {"type": "object", "description": 'patternProperties: {"^x":{"type":"string"}}'}
    assert [key for _, key, _ in found] == ["patternProperties", "additionalProperties"]


def test_one_of_that_was_relaxed_becomes_any_of() -> None:
    relaxed = {"oneOf": [{"type": "string", "minLength": 3}, {"type": "string", "maxLength": 2}]}
    lowered, found = inside(relaxed, SUBSET_OF_JSON_SCHEMA)
    assert "oneOf" not in lowered and len(lowered["anyOf"]) == 2
    assert ("/oneOf", "oneOf", "approximated") in found
    exact = {"oneOf": [{"type": "string"}, {"type": "integer"}]}
    assert inside(exact, SUBSET_OF_JSON_SCHEMA) == (exact, [])


def test_a_union_at_the_root_becomes_one_object() -> None:
    schema = {
        "anyOf": [
            {"type": "object", "properties": {"a": {"type": "string"}, "k": {"const": 1}}, "required": ["a", "k"]},
            {"type": "object", "properties": {"b": {"type": "string"}, "k": {"const": 2}}, "required": ["b", "k"]},
        ]
    }
    done = lower(schema, ROOT_ONLY)
    assert done.schema == {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "k": {"anyOf": [{"const": 1}, {"const": 2}]},
            "b": {"type": "string"},
        },
        "required": ["k"],
    }
    assert Change("/anyOf", "anyOf", "approximated", "one object with the properties of all", True) in done.changes


def test_negations_are_kept_whole_or_not_at_all() -> None:
    kept = {"type": "string", "not": {"enum": ["x"]}}
    profile = SchemaProfile(keywords=frozenset({"type", "not", "enum", "description"}))
    assert inside(kept, ALL_OF_IT) == (kept, [])
    assert lower(kept, profile).schema is kept
    done = lower({"type": "string", "not": {"enum": ["x"], "maxLength": 1}}, profile)
    assert done.schema == {"type": "string", "description": 'not: {"enum":["x"],"maxLength":1}'}
    assert changed(done) == [("/not", "not", "approximated")]


def test_limits_of_depth_and_number() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(4):
        deep = {"type": "object", "properties": {"o": deep}}
    done = lower(deep, SchemaProfile(max_depth=3))
    assert done.schema["properties"]["o"]["properties"]["o"] == {
        "type": "object", "properties": {"o": {"type": "object"}},
    }  # fmt: skip
    assert changed(done) == [("/properties/o/properties/o/properties/o/properties", "properties", "lost")]
    many = {"type": "object", "properties": {str(i): {"type": "string", "enum": ["a", "b"]} for i in range(4)}}
    done = lower(many, SchemaProfile(max_properties=3, max_enum_values=4))
    assert [at for at, _, _ in changed(done)] == ["/properties/2/enum", "/properties/3"]


def test_a_placeholder_is_told_from_what_the_profile_calls_accepted() -> None:
    assert SUBSET_OF_OPENAPI.accepts("nullable") and not SUBSET_OF_OPENAPI.accepts("oneOf")
    assert ALL_OF_IT.accepts("anything")


# Laws ----------------------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.sampled_from([None, True, False, -2, 0, 1, 3, 0.5, 1.0, -2.5, "", "a", "bb", "2020-01-01"])
VALUES = st.recursive(
    SCALARS, lambda v: st.one_of(st.lists(v, max_size=3), st.dictionaries(NAMES, v, max_size=3)), max_leaves=6
)
REFS = ["#", "#/$defs/a", "#/$defs/b", "#/definitions/c", "#/properties/a"]
TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"]
ANY = "title description default enum const anyOf oneOf allOf not if then else $comment x-unknown".split()
OF_TYPE = {
    "object": "properties required additionalProperties patternProperties propertyNames minProperties maxProperties "
    "dependentRequired dependentSchemas unevaluatedProperties".split(),
    "array": "items prefixItems minItems maxItems uniqueItems contains minContains maxContains "
    "unevaluatedItems".split(),
    "number": "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split(),
    "string": "minLength maxLength pattern format".split(),
}
OF_TYPE["integer"] = OF_TYPE["number"]
ALL = [*ANY, *(key for keys in OF_TYPE.values() for key in keys)]
SINGLE = "not if then else propertyNames contains additionalProperties items".split()
CHOICES: dict[str, list[Any]] = {
    "title": ["t", "u"],
    "description": ["d", "e"],
    "$comment": ["c"],
    "pattern": ["^a", "b$"],
    "format": ["date", "date-time", "uri"],
    "multipleOf": [2, 0.5],
    "required": [[], ["a"], ["b"], ["a", "b"], ["b", "c"]],
    "dependentRequired": [{"a": ["b"]}, {"a": [], "c": ["a"]}],
    "uniqueItems": [True, False],
    "unevaluatedProperties": [True, False],
    "unevaluatedItems": [True, False],
    **{key: [-2, 0, 1, 2, 0.5, -1.5] for key in OF_TYPE["number"][:4]},
    **{key: [0, 1, 2, 3] for key in ALL if key.startswith(("min", "max")) and key[3:] not in ("imum",)},
}
PICKS = {key: st.sampled_from(values) for key, values in CHOICES.items()}
KINDS = st.sampled_from("object object array string number integer several none mixed bool".split())
FEW, TWO, SEED = st.integers(1, 3), st.integers(0, 2), st.integers(0, 999)


def make(draw: st.DrawFn, depth: int, refs: list[str]) -> Any:
    """A schema; by hand, because composed strategies take a hundred times as long."""
    if depth <= 0:
        simple = [True, False, {}, *({"type": kind} for kind in TYPES), *({"$ref": ref} for ref in refs)]
        return draw(st.sampled_from(simple))
    kind = draw(KINDS)
    if kind == "bool":
        return draw(st.sampled_from([True, False, *({"$ref": ref} for ref in refs)]))
    out: dict[str, Any] = {}
    pool = ALL
    if kind in OF_TYPE:
        out["type"] = kind
        pool = [*OF_TYPE[kind], *OF_TYPE[kind], *ANY]
    elif kind == "several":
        out["type"] = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True))
    elif kind == "mixed" and refs:
        out["$ref"] = draw(st.sampled_from(refs))
    for key in draw(st.lists(st.sampled_from(pool), max_size=4, unique=True)):
        out[key] = value_of(draw, key, depth, refs)
    return out


def value_of(draw: st.DrawFn, key: str, depth: int, refs: list[str]) -> Any:
    if key in PICKS:
        return json.loads(json.dumps(draw(PICKS[key])))
    if key in ("properties", "dependentSchemas"):
        return {name: make(draw, depth - 1, refs) for name in "abc"[: draw(TWO) + 1]}
    if key == "patternProperties":
        return {name: make(draw, depth - 1, refs) for name in ("^a", "c$")[: draw(FEW)]}
    if key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        return [make(draw, depth - 1, refs) for _ in range(draw(FEW))]
    if key in SINGLE:
        return make(draw, depth - 1, refs)
    if key == "enum":
        return draw(st.lists(SCALARS, min_size=1, max_size=3, unique_by=repr))
    return draw(SCALARS)


@st.composite
def documents(draw: st.DrawFn, foreign: bool = False) -> dict[str, Any]:
    """A whole schema with definitions; with `foreign`, other spellings and nonsense too."""
    refs = [*REFS, "#/$defs/none"] if foreign else REFS
    root = make(draw, 3, refs)
    if type(root) is not dict:
        root = {}
    if draw(st.booleans()):
        root.setdefault("type", "object")
    root["properties"] = {"a": make(draw, 1, []), **root.get("properties", {})}
    if draw(st.booleans()):
        root["$defs"] = {"a": make(draw, 2, refs), "b": make(draw, 2, refs)}
        root["definitions"] = {"c": make(draw, 2, refs)}
    else:
        root["$defs"] = {"a": {"type": "string"}, "b": {"enum": ["x", None]}}
        root["definitions"] = {"c": {"type": "object", "properties": {"a": {"$ref": "#/definitions/c"}}}}
    if foreign:
        paths = [path for path, _ in leaves(root)]
        for _ in range(draw(TWO)):
            path = draw(st.sampled_from(paths))
            odd = draw(st.sampled_from([None, {}, [], 7, "STRING", "OBJECT", "2", float("nan"), [True], {"a": None}]))
            try:
                root = replaced(root, path, odd)
            except (LookupError, TypeError):
                continue
        if draw(st.booleans()):
            root["nullable"] = draw(st.booleans())
    return root


def tree(value: Any) -> str:
    """JSON text in which key order counts and 1 is not true."""
    return json.dumps(value)


@given(schema=documents(foreign=True))
def test_lowering_twice_is_lowering_once(schema: Any) -> None:
    before = tree(schema)
    for name, profile in PROFILES.items():
        done = lower(schema, profile)
        assert tree(schema) == before, "the caller's schema is not touched"
        again = lower(done.schema, profile)
        assert tree(again.schema) == tree(done.schema), name
        if done.schema is not None:
            assert again.schema is done.schema and again.changes == () and again.undo == (), name
        other = lower(json.loads(before), profile)
        assert (tree(other.schema), other.changes) == (tree(done.schema), done.changes), "deterministic"


@given(value=st.one_of(VALUES, documents(foreign=True)), extra=VALUES)
def test_any_value_is_taken(value: Any, extra: Any) -> None:
    shapes = (value, {"properties": value, "type": extra}, {"anyOf": value}, {"items": value, "$ref": extra})
    for profile, schema in product(PROFILES.values(), shapes):
        done = lower(schema, profile)
        assert done.original is schema
        assert json.dumps(done.schema) is not None
        for change in done.changes:
            assert change.fate in ("approximated", "lost")
            assert change.pointer == "" or get(schema, change.pointer) is not ...
        restore_arguments(extra, done)


def get(document: Any, pointer: str) -> Any:
    """The value a pointer leads to; an error when it leads nowhere."""
    for key in pointer.split("/")[1:]:
        key = key.replace("~1", "/").replace("~0", "~")
        document = document[int(key)] if type(document) is list else document[key]
    return document


@given(schema=documents(foreign=True))
def test_nothing_is_dropped_in_silence(schema: Any) -> None:
    for name, profile in PROFILES.items():
        done = lower(schema, profile)
        for path, value in leaves(schema):
            if named(done, pointer(path)) or (value is None and path[-1] not in ("const", "default")):
                continue
            for other in edits(schema, path, value):
                again = lower(other, profile)
                if tree(again.schema) != tree(done.schema) or tree(other) == tree(schema):
                    continue
                assert named(again, pointer(path)), (name, pointer(path), value, done.schema)


def edits(schema: Any, path: Any, value: Any) -> Iterator[Any]:
    # Two definitions may say the same, so a reference is altered to lead nowhere; and what it leads to may add nothing
    # to what stands beside it, which is no loss of the reference.
    other = "#/nowhere" if path[-1] == "$ref" else altered(value)
    if not same(other, value):
        yield replaced(schema, path, other)
    if path[-1] != "$ref":
        yield deleted(schema, path)


def named(done: Lowered, pointer: str) -> bool:
    return any(is_prefix(change.pointer, pointer) for change in done.changes)


def as_json_schema(schema: Any) -> Any:
    """A lowered schema in the words of the judge: lower-case types, null instead of nullable."""
    if type(schema) is list:
        return [as_json_schema(item) for item in schema]
    if type(schema) is not dict:
        return schema
    out = {key: value if key in ("enum", "const", "default", "example") else as_json_schema(value)
           for key, value in schema.items()}  # fmt: skip
    if type(out.get("type")) is str:
        out["type"] = out["type"].lower()
    if out.pop("nullable", None) is True:
        return {"anyOf": [out, {"type": "null"}]}
    return out


def accepts(schema: Any, value: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))


@settings(max_examples=300)
@given(schema=documents(), values=st.lists(VALUES, min_size=5, max_size=20))
def test_no_valid_value_is_excluded(schema: Any, values: list[Any]) -> None:
    try:
        valid = [value for value in values if accepts(schema, value)]
    except RecursionError:  # references that only lead to one another
        assume(False)
    for name, profile in PROFILES.items():
        done = lower(schema, profile)
        if done.schema is None or any(change.narrows for change in done.changes):
            continue
        judged = as_json_schema(done.schema)
        for value in valid:
            if type(value) is dict or not profile.root_object:
                assert accepts(judged, value), (name, done.schema, value)


@settings(max_examples=300)
@given(schema=documents())
def test_a_profile_without_demands_never_narrows(schema: Any) -> None:
    for profile in (SUBSET_OF_JSON_SCHEMA, ALL_OF_IT):
        assert not [change for change in lower(schema, profile).changes if change.narrows]


@given(schema=documents())
def test_what_is_accepted_is_the_same_object(schema: Any) -> None:
    done = lower(schema, ALL_OF_IT)
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except SchemaError:
        assume(False)
    assert done.schema is schema and done.changes == ()


@given(schema=documents())
def test_the_result_is_a_schema(schema: Any) -> None:
    for profile in PROFILES.values():
        done = lower(schema, profile)
        if done.schema is not None:
            jsonschema.Draft202012Validator.check_schema(as_json_schema(done.schema))


def schemas_in(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema in a schema, wherever a keyword holds one."""
    if type(schema) is not dict:
        return
    yield schema
    for key, value in schema.items():
        if key in ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"):
            for inner in value.values():
                yield from schemas_in(inner)
        elif key in (*SINGLE, "unevaluatedProperties", "unevaluatedItems"):
            yield from schemas_in(value)
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for inner in value:
                yield from schemas_in(inner)


@settings(max_examples=300)
@given(schema=documents(foreign=True))
def test_only_what_is_accepted_is_left(schema: Any) -> None:
    for name, profile in PROFILES.items():
        root = lower(schema, profile).schema
        for node in schemas_in(root):
            assert all(profile.accepts(key) or (key == "nullable" and profile.nullable) for key in node), (name, node)
            kinds = node.get("type", [])
            kinds = kinds if type(kinds) is list else [kinds]
            assert all(kind in TYPES if profile.type_case == "lower" else kind.lower() in TYPES for kind in kinds)
            assert profile.type_lists or type(node.get("type")) is not list, (name, node)
            if profile.type_required:
                assert node.keys() & {"type", "anyOf", "oneOf", "$ref"}, (name, node)
            if profile.closed_objects and "object" in kinds:
                assert node["additionalProperties"] is False, (name, node)
            if profile.all_required and "properties" in node:
                assert sorted(node.get("required", [])) == sorted(node["properties"]), (name, node)
            if profile.required_exact and "required" in node:
                assert 0 < len(node["required"]) and set(node["required"]) <= node["properties"].keys(), (name, node)
            if profile.enum_types == {"string"}:
                assert all(type(value) is str for value in node.get("enum", [])), (name, node)
            if not profile.ref_siblings and "$ref" in node:
                assert all(key[0] == "$" for key in node), (name, node)
        if profile.root_object and root is not None:
            assert root["type"] in ("object", "OBJECT") and "properties" in root
            assert not root.keys() & {"anyOf", "oneOf", "allOf", "$ref", "enum", "const"}, (name, root)


@given(schema=documents(), value=VALUES)
def test_a_strict_target_returns_what_the_original_accepts(schema: Any, value: Any) -> None:
    """Filling in the nulls a strict target wants and restoring gives the arguments back."""
    done = lower(schema, STRICT)
    if type(value) is not dict or "wrapped" in done.undo or not (value.keys() <= done.schema["properties"].keys()):
        return
    original = {name: inner for name, inner in value.items() if inner is not None}
    filled = {**dict.fromkeys(done.schema["properties"]), **original}
    restored = restore_arguments(filled, done)
    assert {name: inner for name, inner in restored.items() if inner is not None}.keys() == original.keys()


@given(schema=documents())
def test_what_is_remembered_is_what_would_be_made(schema: Any) -> None:
    schema["$defs"] = {"a": {"type": "string"}, "b": {"enum": ["x"]}}  # without nulls, which are not remembered
    for profile in PROFILES.values():
        first, second, fresh = lower(schema, profile), lower(schema, profile), _lower(schema, profile)
        assert tree(first.schema) == tree(second.schema) == tree(fresh.schema)
        assert first.changes == second.changes == fresh.changes and first.undo == fresh.undo
        assert (first.schema is schema) == (fresh.schema is schema)
        if first.schema is not schema and first.schema is not None:
            first.schema.clear()  # a caller may do with its result what it likes
            assert tree(lower(schema, profile).schema) == tree(fresh.schema)


# Size ----------------------------------------------------------------------------------------------------------------


def test_depth_and_odd_nesting_raise_nothing() -> None:
    for key in ("items", "not", "allOf", "anyOf", "enum", "default", "properties", "x"):
        deep: Any = {"type": "string"}
        for _ in range(5000):
            inner = [deep] if key in ("allOf", "anyOf", "enum") else {"a": deep} if key == "properties" else deep
            deep = {key: inner}
        for profile in PROFILES.values():
            done = lower(deep, profile)
            assert done.changes or done.schema is deep, key


def test_time_is_linear_in_size() -> None:
    def wide(count: int) -> dict[str, Any]:
        properties = {f"p{i}": {"$ref": f"#/$defs/d{i}", "description": "x"} for i in range(count)}
        defs = {f"d{i}": {"type": ["string", "null"], "enum": ["a", None], "maxLength": 3} for i in range(count)}
        return {"type": "object", "properties": properties, "$defs": defs}

    def seconds(schema: Any) -> float:
        start = time.perf_counter()
        lower(schema, SUBSET_OF_OPENAPI)
        return time.perf_counter() - start

    small, large = wide(300), wide(3000)
    assert min(seconds(large) for _ in range(3)) < 40 * min(seconds(small) for _ in range(3))
