"""OpenAI Responses: `adapter` is the whole declaration."""

from __future__ import annotations

from unified_llm.adapter import Adapter, Kind, Streams

from .content import items, parts, tools
from .request import REQUEST, read_request, write_request

__all__ = ["adapter"]

adapter = Adapter(
    protocol="openai-responses",
    title="OpenAI Responses",
    url="https://platform.openai.com/docs/api-reference/responses",
    kinds={"request": Kind(read_request, write_request, "request", "provider")},
    streams=Streams(None, None),
    mappings=(parts, items, tools),
    settings={"request": REQUEST},
)
