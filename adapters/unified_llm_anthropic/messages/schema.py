"""What Messages accepts of schemas and of names.

Tools take any schema of an object whose properties have plain names. Output formats and strict tools take a subset in
which every object is closed; the rest is described to the model in text, as the official SDK does it.

https://docs.claude.com/en/docs/build-with-claude/structured-outputs
"""

from __future__ import annotations

from unified_llm.passes.schemas import NameRule, SchemaProfile

from .tools import cases

__all__ = ["SCHEMAS"]

_NAMES = NameRule("A-Za-z0-9_-", "A-Za-z0-9_-", 64)
_PROPERTIES = NameRule("A-Za-z0-9_.-", "A-Za-z0-9_.-", 64)

# A tool of the provider's has a fixed name, and the API refuses a second tool with it.
_OWN_NAMES = tuple(
    (type_, shape.declared["name?"])
    for type_, shapes in cases.by_type.items()
    for shape, _ in shapes
    if "name?" in shape.declared
)

_TOOLS = SchemaProfile(root_object=True, property_names=_PROPERTIES, names=_NAMES, own_names=_OWN_NAMES)
_CLOSED = SchemaProfile(
    keywords=frozenset(
        "type anyOf allOf enum const $ref $defs title description properties required items additionalProperties "
        "format minItems".split()
    ),
    formats=frozenset("date-time time date duration email hostname uri ipv4 ipv6 uuid".split()),
    recursion="unrolled",
    boolean_schemas=False,
    root_object=True,
    empty_objects="text",
    closed_objects=True,
    most_min_items=1,
    property_names=_PROPERTIES,
    described=False,
)

SCHEMAS = {"tools": _TOOLS, "tools.strict": _CLOSED, "output": _CLOSED}
