"""The words of JSON Schema: types, the keywords of each type, and the shape of their values."""

from __future__ import annotations

from typing import Any

KINDS = ("string", "number", "integer", "boolean", "object", "array", "null")
OF_OBJECTS = frozenset(
    "properties required additionalProperties patternProperties propertyNames minProperties maxProperties "
    "dependentRequired dependentSchemas dependencies unevaluatedProperties propertyOrdering".split()
)
OF_ARRAYS = frozenset(
    "items prefixItems minItems maxItems uniqueItems contains minContains maxContains unevaluatedItems".split()
)
OF_STRINGS = frozenset("minLength maxLength pattern contentEncoding contentMediaType contentSchema".split())
OF_NUMBERS = frozenset("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split())
OF_KIND: dict[str, frozenset[str]] = {
    "object": OF_OBJECTS,
    "array": OF_ARRAYS,
    "string": OF_STRINGS,
    "number": OF_NUMBERS,
    "integer": OF_NUMBERS,
    "boolean": frozenset[str](),
    "null": frozenset[str](),
}
TYPED: frozenset[str] = frozenset().union(*OF_KIND.values())
COUNTS = frozenset("minItems maxItems minLength maxLength minProperties maxProperties minContains maxContains".split())
# Keyword to the Python types its value may have; a value of another type is not a schema and is refused everywhere.
SHAPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys("properties patternProperties dependentSchemas dependencies $defs definitions".split(), (dict,)),
    **dict.fromkeys("required enum anyOf oneOf allOf prefixItems examples propertyOrdering".split(), (list,)),
    **dict.fromkeys("additionalProperties not if then else contains propertyNames".split(), (dict, bool)),
    **dict.fromkeys("unevaluatedProperties unevaluatedItems additionalItems".split(), (dict, bool)),
    **dict.fromkeys("description title format pattern $ref".split(), (str,)),
    **dict.fromkeys("minimum maximum multipleOf".split(), (int, float)),
    **dict.fromkeys("nullable uniqueItems".split(), (bool,)),
    **dict.fromkeys(COUNTS, (int, float)),
    "exclusiveMinimum": (int, float, bool),
    "exclusiveMaximum": (int, float, bool),
    "items": (dict, bool, list),
    "type": (str, list),
    "dependentRequired": (dict,),
}


def kind_of(value: Any) -> str:
    """The JSON type of a value, whole numbers apart."""
    if type(value) is bool:
        return "boolean"
    if value is None:
        return "null"
    return {str: "string", int: "integer", float: "number", list: "array", dict: "object"}.get(type(value), "string")
