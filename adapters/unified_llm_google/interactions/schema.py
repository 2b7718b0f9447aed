"""What Interactions accepts of schemas and of names: what generateContent accepts where it takes JSON Schema.

https://ai.google.dev/gemini-api/docs/structured-output#json_schema_support
"""

from __future__ import annotations

from dataclasses import replace

from ..schema import JSON_SCHEMA, NAMES

__all__ = ["SCHEMAS"]

SCHEMAS = {"tools": replace(JSON_SCHEMA, root_object=True, names=NAMES), "output": JSON_SCHEMA}
