"""What Google accepts of JSON Schema where it takes JSON Schema, and of the names of functions.

https://ai.google.dev/gemini-api/docs/structured-output#json_schema_support
"""

from __future__ import annotations

from unified_llm.passes.schemas import NameRule, SchemaProfile

__all__ = ["JSON_SCHEMA", "NAMES"]

NAMES = NameRule("A-Za-z_", "A-Za-z0-9_.:-", 128)

JSON_SCHEMA = SchemaProfile(
    keywords=frozenset(
        "$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum "
        "maximum anyOf oneOf properties additionalProperties required propertyOrdering".split()
    ),
    ref_siblings=False,
    recursion="optional",
    type_case="either",
    enum_types=frozenset({"string", "number"}),
    required_exact=True,
    described=False,
)
