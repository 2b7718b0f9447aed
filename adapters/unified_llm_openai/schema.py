"""What OpenAI accepts of JSON Schema: nearly all of it, and with `strict` a subset every part of which is enforced.

Without `strict` a schema is only shown to the model, but its root has to be an object and nothing else. With it every
object is closed, every property required, and one that was optional may be null.

https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
"""

from __future__ import annotations

from dataclasses import replace

from unified_llm.passes.schemas import NameRule, SchemaProfile

__all__ = ["STRICT", "named"]

_WORD = "A-Za-z0-9_-"

ROOT = SchemaProfile(root_object=True)
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
)


def named(tools: int, output: int = 64) -> dict[str, SchemaProfile]:
    """The profiles by use, with the longest names of tools and of output schemas."""
    return {
        f"{use}{suffix}": replace(profile, names=NameRule(_WORD, _WORD, length))
        for use, length in (("tools", tools), ("output", output))
        for suffix, profile in (("", ROOT), (".strict", STRICT))
    }
