"""OpenAI Chat Completions: `adapter` is the whole declaration."""

from __future__ import annotations

from unified_llm.adapter import Adapter, Kind, Streams

from .content import assistant_parts, calls, tools, user_parts
from .request import read_request, write_request
from .tables import NATIVES, REQUEST

__all__ = ["adapter"]

adapter = Adapter(
    protocol="openai-chat",
    title="OpenAI Chat Completions",
    url="https://platform.openai.com/docs/api-reference/chat",
    kinds={"request": Kind(read_request, write_request, "request", "provider")},
    streams=Streams(None, None),
    mappings=(user_parts, assistant_parts, calls, tools),
    settings={"request": REQUEST},
    natives=NATIVES,
)
