"""Two kinds of schema: `parametersJsonSchema` holds a JSON schema, `parameters` the older OpenAPI dialect of one.

What comes from elsewhere goes into the former, but for servers and models that support only the latter (`openapi`).

The canonical schema is JSON schema. The dialect is turned into it (types in lower case, `nullable`, counts and the
values of a number's enum as numbers, `defs` and `ref`) only where turning it back gives the very same schema; else it
stays what it is, and markers of form note how it was written.

https://ai.google.dev/api/caching#Schema
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from unified_llm.passes.schemas import SchemaProfile

from ..schema import JSON_SCHEMA, NAMES
from .values.enums import GEMINI, MARKER, name_of, number_of
from .values.spelling import snake

__all__ = ["SCHEMAS", "from_dialect", "to_dialect"]

Node = dict[str, Any]

_SUBSET = SchemaProfile(
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
    empty_objects="placeholder",
    required_exact=True,
    items_required=True,
    described=False,
)
# A function's parameters are an object; what it gives, and structured output, may be anything.
SCHEMAS = {
    "tools": replace(JSON_SCHEMA, root_object=True, names=NAMES),
    "tools.output": JSON_SCHEMA,
    "output": replace(JSON_SCHEMA, bare_texts=True),
    "openapi:tools": replace(_SUBSET, root_object=True, empty_root="omitted", empty_objects="kept", names=NAMES),
    "openapi:tools.output": _SUBSET,
    "openapi:output": replace(_SUBSET, bare_texts=True),
}

_COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
_NUMBERS = ("integer", "number")
_DEFS, _OWN_DEFS = "#/$defs/", "#/defs/"
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_KEYWORDS: dict[str, str] = {
    snake(key): key for key in (*_COUNTS, *_LISTS, "propertyOrdering", "additionalProperties") if snake(key) != key
}
_SNAKES = {key: name for name, key in _KEYWORDS.items()}


def from_dialect(schema: Node) -> tuple[Node, list[str] | None]:
    """The JSON schema of a schema in the dialect, and the markers that turn it back; None where it had to stay."""
    read = _read(schema)
    spellings: tuple[list[str], ...] = ([], ["snake"], ["counts"], ["counts", "snake"])
    for marks in (*spellings, *([*each, MARKER] for each in spellings)):
        if _same(to_dialect(read, marks), schema):
            return read, marks
    return schema, None


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if type(one) is dict:
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if type(one) is list:
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _read(schema: Any) -> Any:
    if type(schema) is not dict:
        return schema
    out: Node = {}
    for name, value in schema.items():
        key = str(_KEYWORDS.get(name, name))
        if key == "type" and type(value) is str:
            value = value.lower()
        elif key == "type" and type(value) is int and value:  # 0 is "unspecified"
            value = (name_of(value, "Type") or "").lower() or value
        elif key in _COUNTS and type(value) is str and value.isdigit():
            value = int(value)
        elif key == "properties" and type(value) is dict:
            value = {name: _read(inner) for name, inner in value.items()}
        elif key in _LISTS and type(value) is list:
            value = [_read(each) for each in value]
        elif key in ("items", "additionalProperties"):
            value = _read(value)
        elif key == "defs" and type(value) is dict:
            key, value = "$defs", {name: _read(inner) for name, inner in value.items()}
        elif key == "ref" and type(value) is str and value.startswith(_OWN_DEFS):
            key, value = "$ref", _DEFS + value.removeprefix(_OWN_DEFS)
        out[key] = value
    if out.get("type") in _NUMBERS and type(out.get("enum")) is list:
        out["enum"] = [_number(each) for each in out["enum"]]
    if out.get("nullable") is True and type(out.get("type")) is str:
        del out["nullable"]
        out["type"] = [out["type"], "null"]
        if type(out.get("enum")) is list and None not in out["enum"]:
            out["enum"] = [*out["enum"], None]  # the dialect's enum is of strings, and null is accepted beside them
    return out


def _number(text: Any) -> Any:
    """The number that a text of the dialect's enum is, where it is written as JSON writes it."""
    for kind in (int, float):
        try:
            value = kind(text) if type(text) is str else text
        except ValueError:
            continue
        if str(value) == text and math.isfinite(value):
            return value
    return text


def _type(word: str, marks: list[str]) -> Any:
    return number_of(word.upper(), "Type", GEMINI if MARKER in marks else None)


def _own_enum(values: list[Any], kind: Any) -> list[Any]:
    """The values of an enum as the dialect has them: texts, and null beside them."""
    if type(kind) is list and values[-1:] == [None]:
        values, kind = values[:-1], kind[0]
    return [str(each) if type(each) in (int, float) else each for each in values] if kind in _NUMBERS else values


def to_dialect(schema: Any, marks: list[str]) -> Any:
    """The dialect's form of a JSON schema that `from_dialect` made."""
    if type(schema) is not dict:
        return schema
    out: Node = {}
    key: str
    for key, value in schema.items():
        if key == "type" and type(value) is str:
            value = _type(value, marks)
        elif key == "type" and type(value) is list and len(value) == 2 and value[1] == "null":
            out["nullable"] = True
            value = _type(str(value[0]), marks)
        elif key in _COUNTS and "counts" in marks and type(value) is int:
            value = str(value)
        elif key == "properties" and type(value) is dict:
            value = {name: to_dialect(inner, marks) for name, inner in value.items()}
        elif key in _LISTS and type(value) is list:
            value = [to_dialect(each, marks) for each in value]
        elif key in ("items", "additionalProperties"):
            value = to_dialect(value, marks)
        elif key == "enum" and type(value) is list:
            value = _own_enum(value, schema.get("type"))
        elif key == "$defs" and type(value) is dict:
            key, value = "defs", {name: to_dialect(inner, marks) for name, inner in value.items()}
        elif key == "$ref" and type(value) is str and value.startswith(_DEFS):
            key, value = "ref", _OWN_DEFS + value.removeprefix(_DEFS)
        out[_SNAKES.get(key, key) if "snake" in marks else key] = value
    return out
