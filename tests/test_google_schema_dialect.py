"""The OpenAPI dialect of schemas in generateContent is JSON schema to everybody else, and returns as it was written.

https://ai.google.dev/api/caching#Schema
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

import unified_llm as ul
from unified_llm_google.generate_content.schema import from_dialect, to_dialect

GC = "google-generate-content"
Node = dict[str, Any]


@pytest.mark.parametrize(
    ("dialect", "schema", "marks"),
    [
        ({"type": "STRING"}, {"type": "string"}, []),
        ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}, []),
        ({"type": "ARRAY", "items": {"type": "NUMBER"}, "minItems": "2"},
         {"type": "array", "items": {"type": "number"}, "minItems": 2}, ["counts"]),
        ({"any_of": [{"type": "STRING"}]}, {"anyOf": [{"type": "string"}]}, ["snake"]),
        # The numbers of the enum, as protobuf's JSON has them (the SDK of Vertex AI).
        ({"type": 6, "properties": {"a": {"type": 1}, "b": {"type": 5, "items": {"type": 3}}}},
         {"type": "object",
          "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}}}},
         ["numbers"]),
        ({"type": 4, "nullable": True}, {"type": ["boolean", "null"]}, ["numbers"]),
        ({"any_of": [{"type": 2}, {"type": 7}]},
         {"anyOf": [{"type": "number"}, {"type": "null"}]}, ["snake", "numbers"]),
        ({"type": 0}, {"type": 0}, []),
        ({"type": 8}, {"type": 8}, []),
        ({"type": "object"}, {"type": "object"}, None),
        ({"type": "OBJECT", "properties": {"type": {"type": "STRING"}}},
         {"type": "object", "properties": {"type": {"type": "string"}}}, []),
        # JSON schema has null among the values, https://json-schema.org/draft/2020-12/json-schema-validation#name-enum
        ({"type": "STRING", "nullable": True, "enum": ["x"]}, {"type": ["string", "null"], "enum": ["x", None]}, []),
        ({"type": "STRING", "nullable": True, "enum": ["x", None]},
         {"type": "STRING", "nullable": True, "enum": ["x", None]}, None),
        # An enum of the dialect is a list of texts, whatever the type.
        ({"type": "NUMBER", "enum": ["1", "2.5"]}, {"type": "number", "enum": [1, 2.5]}, []),
        ({"type": "INTEGER", "nullable": True, "enum": ["1", "inf", "01"]},
         {"type": ["integer", "null"], "enum": [1, "inf", "01", None]}, []),
        ({"type": "OBJECT", "properties": {"ref": {"ref": "#/defs/A"}}, "defs": {"A": {"type": "STRING"}}},
         {"type": "object", "properties": {"ref": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}}, []),
    ],
)  # fmt: skip
def test_the_dialect_of_schemas(dialect: Node, schema: Node, marks: list[str] | None) -> None:
    assert from_dialect(copy.deepcopy(dialect)) == (schema, marks)
    if marks is not None:
        assert to_dialect(schema, marks) == dialect


def test_types_as_numbers_reach_other_protocols_as_words() -> None:
    parameters = {"type": 6, "properties": {"a": {"type": 1}}, "required": ["a"]}
    words = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    tool = {"functionDeclarations": [{"name": "f", "description": "d", "parameters": parameters}]}
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "tools": [tool]}
    assert ul.convert(body, source=GC, target=GC, model="m").value == body
    done = ul.convert(body, source=GC, target="openai-chat", model="m")
    assert done.value["tools"][0]["function"]["parameters"] == words
    assert not done.losses


def test_a_nullable_enum_has_null_among_its_values_elsewhere() -> None:
    optional = {"type": "STRING", "nullable": True, "enum": ["x", "y"]}
    schema = {"type": "OBJECT", "properties": {"p": optional}, "required": ["p"]}
    config = {"responseMimeType": "application/json", "responseSchema": schema}
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": config}
    assert ul.convert(body, source=GC, target=GC, model="m").value == body
    wanted = {"type": ["string", "null"], "enum": ["x", "y", None]}
    chat = ul.convert(body, source=GC, target="openai-chat", model="m").value["response_format"]["json_schema"]
    assert chat["strict"] is True and chat["schema"]["properties"]["p"] == wanted
    messages = ul.convert(body, source=GC, target="anthropic-messages", model="claude-opus-4-7").value
    assert messages["output_config"]["format"]["schema"]["properties"]["p"] == wanted
