"""What the two OpenAI protocols share: how problems read, and when a schema may be `strict`."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from oracles.shapes import Checker, Node, Path, kind_of, nodes

NAME = re.compile(r"[a-zA-Z0-9_-]+")
ARTICLES = {"integer": "an integer", "object": "an object", "array": "an array", "string": "a string",
            "number": "a decimal", "boolean": "a boolean", "null": "null"}  # fmt: skip
STRICT_REFUSES = ("allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "oneOf",
                  "patternProperties", "unevaluatedProperties", "propertyNames", "contains", "uniqueItems")  # fmt: skip
"""Keywords that structured outputs do not know: developers.openai.com, guides/structured-outputs, supported schemas."""


def mentions_json(given: Any) -> bool:
    """Whether a text of messages, or of the input, has the word that JSON mode demands."""
    return "json" in json.dumps(given, ensure_ascii=False).lower()


class OpenAI(Checker):
    """Problems in OpenAI's words."""

    def missing(self, path: Path) -> NoReturn:
        self.refuse(path, f"Missing required parameter: '{self.path(path)}'.", "missing_required_parameter")

    def unknown(self, path: Path) -> NoReturn:
        self.refuse(path, f"Unknown parameter: '{self.path(path)}'.", "unknown_parameter")

    def wrong(self, path: Path, expected: str, value: Any) -> NoReturn:
        wanted = " or ".join(ARTICLES.get(word, word) for word in expected.split(" or "))
        self.refuse(
            path, f"Invalid type for '{self.path(path)}': expected {wanted}, but got {ARTICLES[kind_of(value)]} "
                  "instead.",
            "invalid_type",
        )  # fmt: skip

    def value(self, path: Path, values: tuple[str, ...], value: Any) -> NoReturn:
        supported = ", ".join(f"'{each}'" for each in values)
        self.refuse(path, f"Invalid value: '{value}'. Supported values are: {supported}.", "invalid_value")

    def bound(self, path: str, bound: str, value: Any) -> str:
        low, sign = ("below minimum", ">=") if "greater" in bound else ("above maximum", "<=")
        return f"Invalid '{path}': {low} value. Expected a value {sign} {bound.split()[-1]}, but got {value} instead."

    def longest(self, value: Any, path: Path, most: int) -> None:
        """A text of at most so many characters."""
        if isinstance(value, str) and len(value) > most:
            self.refuse(
                path, f"Invalid '{self.path(path)}': string too long. Expected a string with maximum length {most}, "
                      f"but got a string with length {len(value)} instead.", "string_above_max_length",
            )  # fmt: skip

    def name(self, value: Any, path: Path, most: int = 64) -> None:
        """The name of a tool, a schema or a participant."""
        if not value:
            self.refuse(path, f"Invalid '{self.path(path)}': empty string. Expected a string with minimum length 1, "
                        "but got an empty string instead.", "empty_string")  # fmt: skip
        self.longest(value, path, most)
        if not NAME.fullmatch(value):
            self.refuse(path, f"Invalid '{self.path(path)}': string does not match pattern. Expected a string that "
                        "matches the pattern '^[a-zA-Z0-9_-]+$'.", "invalid_value")  # fmt: skip

    def metadata(self, value: Any, path: Path) -> None:
        """At most 16 pairs of texts, keys up to 64 and values up to 512 characters."""
        if value is None:
            return
        if len(value) > 16:
            self.refuse(path, f"Invalid '{self.path(path)}': too many properties. Expected an object with at most 16 "
                        f"properties, but got an object with {len(value)} properties instead.",
                        "object_above_max_properties")  # fmt: skip
        for key, each in value.items():
            if not isinstance(each, str):
                self.wrong((*path, key), "string", each)
            self.longest(key, (*path, key), 64)
            self.longest(each, (*path, key), 512)

    def parameters(self, schema: Any, path: Path, tool: str, strict: Any) -> None:
        """The schema of a function's arguments."""
        if schema is None:
            return
        if not isinstance(schema, dict):
            self.wrong(path, "object", schema)
        kind = schema.get("type")
        if schema and kind is not None and (kind.lower() if isinstance(kind, str) else kind) != "object":
            self.refuse(path, f"Invalid schema for function '{tool}': schema must be a JSON Schema of 'type: "
                        f"\"object\"', got 'type: \"{kind}\"'.", "invalid_function_parameters")  # fmt: skip
        self.schema(schema, path)
        if strict is True:
            self.strict(schema, path, f"function '{tool}'", "invalid_function_parameters")

    def strict(self, schema: Node, path: Path, what: str, code: str) -> None:
        """The rules of strict mode: closed objects, everything required, no unknown keywords."""
        if schema.get("type") != "object":
            self.refuse(path, f"Invalid schema for {what}: schema must be a JSON Schema of 'type: \"object\"', got "
                        f"'type: \"{schema.get('type')}\"'.", code)  # fmt: skip
        for at, node in nodes(schema):
            place = "(" + ", ".join(f"'{step}'" for step in at) + ")"
            for keyword in STRICT_REFUSES:
                if keyword in node:
                    self.refuse(
                        path, f"Invalid schema for {what}: In context={place}, '{keyword}' is not permitted.", code
                    )
            kinds = node.get("type")
            if "object" not in (kinds if isinstance(kinds, list) else [kinds]):
                continue
            if node.get("additionalProperties") is not False:
                self.refuse(path, f"Invalid schema for {what}: In context={place}, 'additionalProperties' is required "
                            "to be supplied and to be false.", code)  # fmt: skip
            wanted, given = node.get("properties", {}), node.get("required", [])
            absent = next((name for name in wanted if name not in given), None)
            if absent is not None:
                self.refuse(
                    path, f"Invalid schema for {what}: In context={place}, 'required' is required to be supplied and "
                          f"to be an array including every key in properties. Missing '{absent}'.", code,
                )  # fmt: skip
            extra = next((name for name in given if name not in wanted), None)
            if extra is not None:
                self.refuse(path, f"Invalid schema for {what}: In context={place}, 'required' holds '{extra}', which "
                            "is not a property.", code)  # fmt: skip
