"""The laws of schema lowering over generated schemas.

What is accepted is not touched; lowering twice is lowering once; nothing is dropped without a report; no value that was
valid becomes invalid unless a change is marked as narrowing (the `jsonschema` package is the judge); any JSON value is
taken.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import product
from typing import Any

import jsonschema
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema.exceptions import SchemaError

from covering import examples
from schemas import (
    ALL_OF_IT,
    PROFILES,
    SINGLE,
    STRICT,
    SUBSET_OF_JSON_SCHEMA,
    SUBSET_OF_OPENAPI,
    TYPES,
    VALUES,
    documents,
    tree,
)
from unified_llm.passes.schemas import Lowered, lower, restore_arguments
from unified_llm.passes.schemas.lowering import _lower
from unified_llm.passes.schemas.merge import same
from unified_llm.suite.mutate import altered, deleted, replaced
from unified_llm.suite.walk import is_prefix, leaves, pointer


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
    # Two definitions may be equal, so a reference is altered to lead nowhere; and what it leads to may add nothing
    # to what stands beside it, which is not a loss of the reference.
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


@settings(max_examples=examples(300))
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


@settings(max_examples=examples(300))
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


@settings(max_examples=examples(300))
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
    """Filling in the nulls a strict target requires and restoring gives the arguments back."""
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
        start = time.process_time()
        lower(schema, SUBSET_OF_OPENAPI)
        return time.process_time() - start

    small, large = wide(300), wide(3000)
    assert min(seconds(large) for _ in range(3)) < 40 * min(seconds(small) for _ in range(3))
