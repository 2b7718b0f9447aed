"""JSON-schema lowering, rule by rule: what is undone in arguments, and each spelling of a keyword."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import unified_llm as ul
from schemas import ALL_OF_IT, ROOT_ONLY, STRICT, SUBSET_OF_JSON_SCHEMA, SUBSET_OF_OPENAPI, changed, inside
from unified_llm.passes.schemas import Change, NameRule, SchemaProfile, fit_name, lower, restore_arguments

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


def test_a_root_that_is_not_an_object_is_wrapped_and_unwrapped() -> None:
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


def test_a_map_at_the_root_is_wrapped_where_objects_are_closed() -> None:
    """Closed like other roots it could only be `{}`."""
    dog = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    schema = {"type": "object", "additionalProperties": {"$ref": "#/$defs/Dog"}, "$defs": {"Dog": dog}}
    done = lower(schema, STRICT)
    assert done.schema["required"] == ["value"] and done.schema["additionalProperties"] is False
    text = done.schema["properties"]["value"]["description"].partition("JSON text of: ")[2]
    assert done.schema["properties"]["value"]["type"] == "string" and json.loads(text) == schema
    assert {change.fate for change in done.changes} == {"approximated"}
    assert restore_arguments({"value": '{"x":{"name":"Rex"}}'}, done) == {"x": {"name": "Rex"}}


def test_a_root_that_names_no_properties_and_no_others_stays_an_object() -> None:
    for schema in ({"type": "object"}, {"type": "object", "properties": {}, "additionalProperties": False}):
        assert lower(schema, STRICT).schema == {"type": "object", "properties": {}, "additionalProperties": False}


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
    assert lowered == {
        "type": "ARRAY",
        "items": {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]},
        "maxItems": 2,
        "description": 'prefixItems: [{"type":"string"},{"type":"integer"}]',
    }
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


def test_the_least_number_of_items_is_at_most_what_is_accepted() -> None:
    """Messages refuses `minItems` above 1: https://docs.claude.com/en/docs/build-with-claude/structured-outputs"""
    pair = {"type": "array", "items": {"type": "number"}, "minItems": 2}
    done = lower(pair, SchemaProfile(most_min_items=1))
    assert done.schema == {**pair, "minItems": 1, "description": "minItems: 2"}
    assert changed(done) == [("/minItems", "minItems", "approximated")]
    for count in (0, 1):
        assert lower({**pair, "minItems": count}, SchemaProfile(most_min_items=1)).schema == {**pair, "minItems": count}
    schema = {"type": "object", "properties": {"pair": pair}, "required": ["pair"], "additionalProperties": False}
    format = {"type": "json_schema", "name": "pairs", "schema": schema, "strict": True}
    body = {"model": "m", "input": "Hi", "text": {"format": format}}
    sent = ul.convert(body, source="openai-responses", target="anthropic-messages", model="claude-opus-4-7").value
    assert sent["output_config"]["format"]["schema"]["properties"]["pair"]["minItems"] == 1


def test_a_placeholder_is_told_from_what_the_profile_calls_accepted() -> None:
    assert SUBSET_OF_OPENAPI.accepts("nullable") and not SUBSET_OF_OPENAPI.accepts("oneOf")
    assert ALL_OF_IT.accepts("anything")


def test_an_optional_constant_may_be_null_in_a_strict_schema() -> None:
    """null is among the values of `enum` and no value of `const`, whatever type stands beside them."""
    properties = {"a": {"const": 3}, "b": {"type": ["string", "null"], "enum": ["x"]}, "c": {"const": "y"}}
    done = lower({"type": "object", "properties": properties, "required": ["c"]}, STRICT)
    assert done.schema["properties"] == {
        "a": {"anyOf": [{"const": 3, "type": "integer"}, {"type": "null"}]},
        "b": {"type": ["string", "null"], "enum": ["x", None]},
        "c": {"const": "y", "type": "string"},
    }
    assert restore_arguments({"a": None, "b": None, "c": "y"}, done) == {"c": "y"}
