"""What Chat Completions accepts of schemas and of names; `plain` is for servers that `$schema` is too much for.

https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

from dataclasses import replace

from unified_llm.passes.schemas.vocabulary import SHAPES, TYPED

from ..schema import named

__all__ = ["SCHEMAS"]

_USUAL = named(tools=64)
_KNOWN = frozenset((*SHAPES, *TYPED, *"const default $id $anchor $comment deprecated readOnly writeOnly".split()))
SCHEMAS = {
    **_USUAL,
    **{f"plain:{use}": replace(_USUAL[use], keywords=_KNOWN) for use in ("tools", "output")},
}
