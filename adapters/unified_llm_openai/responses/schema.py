"""What the Responses API accepts of schemas and of names; `open` is Open Responses, where names are shorter.

https://platform.openai.com/docs/api-reference/responses/create https://www.openresponses.org/specification
"""

from __future__ import annotations

from ..schema import named

__all__ = ["SCHEMAS"]

SCHEMAS = {**named(tools=128), **{f"open:{use}": profile for use, profile in named(tools=64).items()}}
