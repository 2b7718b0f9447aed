"""The facts of Chat Completions that are tables: settings, enums, and what no other protocol has a word for."""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Bimap, IllTyped
from unified_llm.engine.pairs.markers import MOST
from unified_llm.engine.pairs.table import Field, Table
from unified_llm.engine.shared.nearest_values import NEAREST_TIERS

__all__ = [
    "AUDIO_FORMATS",
    "CACHED_SPELLINGS",
    "CHUNK",
    "COMPLETION",
    "CONSTANTS",
    "FINISH",
    "INPUT_DETAILS",
    "NATIVES",
    "NEVER_NULL",
    "OUTPUT_DETAILS",
    "OWN_KEYS",
    "PADDING",
    "REASONING_FIELDS",
    "REFUSES",
    "REQUEST",
    "RESPONSE",
]

# What stands for a thought signature where there is none, plain and in base64.
# https://ai.google.dev/gemini-api/docs/thought-signatures
CONSTANTS = frozenset(
    (
        "skip_thought_signature_validator",
        "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
        "context_engineering_is_the_way_to_go",
        "Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv",
    )
)
COMPLETION = "chat.completion"
CHUNK = "chat.completion.chunk"


def _read_stop(value: Any) -> Any:
    if type(value) is list:
        return value
    raise IllTyped("stop")


_TIERS = {"ultrafast": "fast", **NEAREST_TIERS}
"""Tiers of other surfaces, with the nearest there is here."""


def _read_tier(value: Any) -> Any:
    if value in _TIERS:
        raise IllTyped("service_tier")
    return value


def _write_moderation(value: Any) -> Any:
    """Each side is a list of results here, and may be one result elsewhere."""
    return {side: _result_list(each) for side, each in value.items()}


def _result_list(side: Any) -> Any:
    if type(side) is not dict or side.get("type") != "moderation_result":
        return side
    return {"type": "moderation_results", "model": side.get("model"), "results": [side]}


# `stop` as a string is a form and handled in request/settings.py; so are `logprobs`, `response_format`, `tool_choice`.
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
    Field("service_tier", values=Bimap({}, writing=_TIERS), read=_read_tier),
    Field("safety_identifier"),
    Field("prompt_cache_key"),
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
    Field("moderation", write=_write_moderation),
)
# Settings for which null is not a value.
NEVER_NULL = frozenset(
    """audio functions function_call metadata parallel_tool_calls response_format safety_identifier prompt_cache_key
    prompt_cache_options tool_choice tools user verbosity""".split()
)

# The details of usage have the same names on both sides; the sums are renamed in response.py.
INPUT_DETAILS = ("cached_tokens", "cache_write_tokens", "text_tokens", "audio_tokens", "image_tokens", "video_tokens")
OUTPUT_DETAILS = (
    "reasoning_tokens",
    "text_tokens",
    "audio_tokens",
    "image_tokens",
    "accepted_prediction_tokens",
    "rejected_prediction_tokens",
)
# Where servers without `prompt_tokens_details` have the tokens that were read from a cache.
CACHED_SPELLINGS = ("cached_tokens", "prompt_cache_hit_tokens", "num_cached_tokens")
# What pads chunks against guessing from their length.
PADDING = ("obfuscation", "p")
# How the keys begin under which servers keep what is theirs alone; a chunk's usage may be in there.
OWN_KEYS = "x_"

# finish_reason, the words of other servers among them.
FINISH = Bimap(
    {
        "stop": "stop",
        "length": "length",
        "tool_calls": "tool_calls",
        "content_filter": "safety",
        "error": "error",
    },
    reading={
        "function_call": "tool_calls",
        "end_turn": "stop",
        "eos": "stop",
        "eos_token": "stop",
        "STOP": "stop",
        "completed": "stop",
        "stop_sequence": "stop_sequence",
        "max_tokens": "length",
        "MAX_TOKENS": "length",
        "max_output_tokens": "length",
        "model_length": "context_window",
        "model_context_window_exceeded": "context_window",
        "sensitive": "safety",
        "insufficient_system_resource": "error",
        "network_error": "error",
        "abort": "cancelled",
        "tool_use": "tool_calls",
    },
    writing={
        "stop_sequence": "stop",
        "context_window": "length",
        # Beside the text of the refusal; without it, what a filter blocked (finish.py).
        "refusal": "stop",
        "recitation": "content_filter",
        "malformed_call": "error",
        "pause": "length",
        "cancelled": "length",
        "other": "length",
    },
)

# Where servers put reasoning in a message or delta, in the order they are believed; two may hold the same text.
REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")

AUDIO_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/flac": "flac",
    "audio/ogg": "ogg",
    "audio/aac": "aac",
    "audio/pcm": "pcm16",
    "audio/l16": "pcm16",
    "audio/aiff": "aiff",
    "audio/mp4": "m4a",
    "audio/m4a": "m4a",
    "audio/x-m4a": "m4a",
}

NATIVES = {
    "system_fingerprint": "native.field",
    "message.audio": "audio.output",
    "message.annotations": "citations.url",
    "json_schema.name": "output.structured",
    "json_schema.strict": "output.structured",
    "logprobs": "output.logprobs",
    "logprobs.reasoning_content": "output.logprobs",
    "obfuscation": "stream.detail",
    "content_filter_results": "safety.settings",
    "prompt_filter_results": "safety.settings",
    "reasoning_details": "reasoning.signature",
    "reasoning_content": "reasoning.text",
    "reasoning": "reasoning.text",
    "reasoning_text": "reasoning.text",
    "extra_content": "reasoning.signature",
    "native_finish_reason": "finish.detail",
    "citations": "citations.url",
    "search_results": "citations.url",
    "executed_tools": "tools.hosted.other",
    "max_tokens": "output.max_tokens",
    "cache_control": "cache.breakpoint",
    "thinking": "reasoning.control",
    "enable_thinking": "reasoning.control",
    "thinking_budget": "reasoning.budget",
    "reasoning_format": "reasoning.visibility",
    "include_reasoning": "reasoning.visibility",
    "parallel_function_calling": "tools.parallel",
    "repetition_penalty": "sampling.penalties",
    "usage_breakdown": "usage.detail",
    "timings": "usage.detail",
    "cost": "usage.detail",
}

_STATELESS = "openai-chat has no server-side state; send the full history"
_ITEMS = "openai-chat has no such part"
# Canonical fields and item types without a form here, with the detail of their loss.
REFUSES = {
    **dict.fromkeys(("previous_response_id", "conversation", "prompt", "item_reference"), _STATELESS),
    **dict.fromkeys(("background", "continuation_token"), "openai-chat has no background mode"),
    "container": "openai-chat has no containers",
    **dict.fromkeys(
        ("truncation", "context_management", "compaction", "compaction_trigger"),
        "openai-chat has no context management",
    ),
    "max_tool_calls": "openai-chat executes no tools",
    "cached_content": "a provider reference of another provider",
    **dict.fromkeys(
        """web_search_call web_search_result web_fetch_call web_fetch_result code_interpreter_call
        code_interpreter_result file_search_call file_search_result image_generation_call maps_call maps_result
        retrieval_call retrieval_result processing_call processing_result computer_call computer_call_output shell_call
        shell_call_output local_shell_call local_shell_call_output apply_patch_call apply_patch_call_output""".split(),
        "openai-chat supports only function and custom tools",
    ),
    **dict.fromkeys(
        "mcp_list_tools mcp_call mcp_result mcp_approval_request mcp_approval_response".split(),
        "openai-chat has no MCP tools",
    ),
    **dict.fromkeys(
        """additional_tools tool_change configuration_update tool_search_call tool_search_output tool_search_result
        program program_output fallback agent_message multi_agent_call multi_agent_call_output""".split(),
        _ITEMS,
    ),
}

FORMS = {
    "also": frozenset(REASONING_FIELDS),
    "cached": CACHED_SPELLINGS,
    "delta": frozenset(("role", "content")),
    "field": (*REASONING_FIELDS, "reasoning_details", "thinking", "tags"),
    "plugin": range(MOST + 1),
}
"""The words of markers of form (`Adapter.forms`)."""
