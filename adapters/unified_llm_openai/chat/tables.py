"""The facts of Chat Completions that are tables: settings, enums, and what no other protocol has a word for."""

from __future__ import annotations

from typing import Any

from unified_llm.mapping import Bimap, IllTyped
from unified_llm.table import Field, Table

__all__ = ["CHUNK", "FINISH", "NATIVES", "REASONING_FIELDS", "REQUEST", "RESPONSE", "USAGE"]


def _read_stop(value: Any) -> Any:
    if type(value) is list:
        return value
    raise IllTyped("stop")


# `stop` as a string is a form and handled in request.py; so are `logprobs`, `response_format`, `tool_choice`.
REQUEST = Table(
    "request",
    Field("model"),
    Field("temperature"),
    Field("top_p"),
    Field("top_k"),
    Field("n"),
    Field("seed"),
    Field("stop", read=_read_stop),
    Field("frequency_penalty"),
    Field("presence_penalty"),
    Field("logit_bias"),
    Field("top_logprobs"),
    Field("max_completion_tokens", "max_output_tokens"),
    Field("parallel_tool_calls"),
    Field("reasoning_effort", "reasoning.effort"),
    Field("verbosity", "text.verbosity"),
    Field("modalities"),
    Field("audio"),
    Field("prediction"),
    Field("stream"),
    Field("stream_options"),
    Field("store"),
    Field("metadata"),
    Field("service_tier"),
    Field("safety_identifier"),
    Field("prompt_cache_key"),
    Field("prompt_cache_options"),
    Field("prompt_cache_retention"),
    Field("moderation"),
    Field("user"),
)

RESPONSE = Table(
    "response",
    Field("id"),
    Field("created", "created_at"),
    Field("model"),
    Field("service_tier"),
    Field("metadata"),
    Field("moderation"),
)

USAGE = Table(
    "usage",
    Field("prompt_tokens", "input_tokens"),
    Field("completion_tokens", "output_tokens"),
    Field("total_tokens"),
)

# finish_reason; the words of other vendors are their dialects'.
FINISH = Bimap(
    {
        "stop": "stop",
        "length": "length",
        "tool_calls": "tool_calls",
        "content_filter": "safety",
        "error": "error",
    },
    reading={"function_call": "tool_calls"},
    writing={
        "stop_sequence": "stop",
        "context_window": "length",
        "refusal": "stop",
        "recitation": "content_filter",
        "malformed_call": "error",
        "pause": "stop",
        "cancelled": "error",
        "other": "stop",
    },
)

# Where servers put reasoning in a message or delta, in the order they are believed; two may hold the same text.
REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")

NATIVES = {
    "system_fingerprint": "native.field",
}

CHUNK = "chat.completion.chunk"
