"""JSON-schema lowering: the traps by name. The profiles are examples of what adapters declare."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from schemas import (
    ALL_OF_IT,
    BARE,
    PROFILES,
    ROOT_ONLY,
    STRICT,
    SUBSET_OF_JSON_SCHEMA,
    SUBSET_OF_OPENAPI,
    changed,
    inside,
)
from unified_llm.passes.schemas import Change, Lowered, SchemaProfile, lower, restore_arguments

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


@pytest.mark.parametrize(
    "draft", ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"]
)
@pytest.mark.parametrize("profile", [SUBSET_OF_OPENAPI, SUBSET_OF_JSON_SCHEMA])
def test_the_name_of_a_published_meta_schema_is_not_lost(draft: str, profile: SchemaProfile) -> None:
    done = lower({"$schema": draft, "type": "object", "properties": {"a": {"type": "string"}}}, profile)
    assert done.schema.keys() == {"type", "properties"}
    assert changed(done) == [("/$schema", "$schema", "approximated")]


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
    assert changed(done) == [("/definitions/X", "definitions", "approximated")]


def test_definitions_that_only_unused_definitions_refer_to_constrain_nothing_either() -> None:
    chain = {
        "X": {"$ref": "#/definitions/Y"},
        "Y": {"items": {"$ref": "#/definitions/X"}},
        "Z": {"type": "string"},
    }
    schema = {"type": "object", "properties": {"a": {"type": "string", "if": {}}}, "definitions": chain}
    places = [f"/definitions/{name}" for name in chain]
    done = lower(schema, SUBSET_OF_OPENAPI)
    assert [change for change in changed(done) if change[0] in places] == [
        (place, "definitions", "approximated") for place in places
    ]
    schema["properties"]["a"]["if"] = {"$ref": "#/definitions/X"}  # is not written
    fates = {place: fate for place, _, fate in changed(lower(schema, SUBSET_OF_OPENAPI))}
    assert [fates[place] for place in places] == ["lost", "lost", "approximated"]


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
    # Without strict, a caller checks whether the schema comes through as it is.
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
