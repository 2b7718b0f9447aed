"""The facts of Interactions that are tables: settings, enums, and what no other protocol has a word for.

Everything is snake_case with lower-case enums. Settings sit in two places, the request itself and `generation_config`.

https://ai.google.dev/api/interactions-api
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Bimap, IllTyped
from unified_llm.engine.pairs.table import Field, Table
from unified_llm.engine.shared.nearest_values import NEAREST_TIERS

__all__ = [
    "AUDIO",
    "CODES",
    "CONTENTS",
    "ENTRIES",
    "GENERATION",
    "HANDLES",
    "KEEPING",
    "MODALITIES",
    "MODES",
    "NATIVES",
    "OLD",
    "REQUEST",
    "RESPONSE",
    "RPC",
    "SEARCHES",
    "SEARCH_TYPE",
    "TYPES",
]

_TIER = Bimap(
    {"standard": "default"},
    writing={
        **dict.fromkeys(("auto", "standard_only"), "standard"),
        **dict.fromkeys(("scale", "fast", "ultrafast"), "priority"),
        "reserved": NEAREST_TIERS["reserved"],
    },
)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise IllTyped("the system instruction is plain text")
    return value


# What request and response share; `input`, `tools` and the formats are in request/.
_SHARED = (
    Field("model"),
    Field("agent"),
    Field("agent_config"),
    Field("system_instruction", "instructions", read=_text),
    Field("previous_interaction_id", "previous_response_id"),
    Field("service_tier", values=_TIER),
    Field("labels"),
    Field("cached_content"),
    Field("continuation_token"),
)
REQUEST = Table("request", *_SHARED, Field("store"), Field("background"), Field("stream"))
RESPONSE = Table("response", *_SHARED, Field("id"))

_LEVEL = Bimap(
    {level: level for level in ("minimal", "low", "medium", "high", "xhigh")},
    writing={"none": "minimal", "max": "xhigh"},
)
_SUMMARIES = Bimap({"auto": "auto"}, writing={"concise": "auto", "detailed": "auto"})
GENERATION = Table(
    "request",
    Field("max_output_tokens"),
    Field("seed"),
    Field("stop_sequences", "stop"),
    Field("temperature"),
    Field("top_p"),
    Field("thinking_level", "reasoning.effort", _LEVEL),
    Field("thinking_summaries", "reasoning.summary", _SUMMARIES),
)
# Keys that are no part of `generation_config` (any more) and that clients send all the same.
OLD = ("top_k", "presence_penalty", "frequency_penalty")

MODES = Bimap({"any": "required"})
ENTRIES = ("text", "image", "audio", "video")
CONTENTS = ("text", "image", "audio", "video", "document")

# Media the service holds itself; any other URI is a plain URL, which every protocol can name.
HANDLES = ("https://generativelanguage.googleapis.com/", "gs://", "files/")

AUDIO = Bimap(
    {
        "audio/wav": "wav",
        "audio/mp3": "mp3",
        "audio/aiff": "aiff",
        "audio/aac": "aac",
        "audio/ogg": "ogg",
        "audio/ogg_opus": "ogg_opus",
        "audio/flac": "flac",
        "audio/m4a": "m4a",
        "audio/l16": "pcm16",
        "audio/opus": "opus",
        "audio/alaw": "g711_alaw",
        "audio/mulaw": "g711_ulaw",
        "audio/webm": "webm",
    }
)

SEARCH_TYPE = Bimap({"web_search": "web", "image_search": "image", "enterprise_web_search": "enterprise"})
SEARCHES = Bimap({"web_search": "text", "image_search": "image", "enterprise_web_search": "enterprise"})

# Usage: the wire's word for a kind of tokens, and the canonical detail it is counted under.
MODALITIES = {name: f"{name}_tokens" for name in CONTENTS}

# Protocols whose providers keep a conversation by default.
KEEPING = frozenset(("google-interactions", "openai-responses"))

# error.code, by class; the first of a class is what is written for it.
CODES = {
    "invalid_request": ("invalid_request", "failed_precondition", "parameter_unknown", "out_of_range"),
    "authentication": ("authentication",),
    "permission": ("permission_denied",),
    "quota": ("quota_exceeded", "payment_required"),
    "not_found": ("not_found", "model_not_found"),
    "conflict": ("aborted", "already_exists"),
    "rate_limit": ("rate_limit_exceeded", "too_many_requests"),
    "server_error": ("api_error", "unimplemented", "stream_truncated"),
    "overloaded": ("service_unavailable",),
    "timeout": ("deadline_exceeded", "gateway_timeout"),
    "content_filter": (
        "content_blocked",
        "safety",
        "recitation",
        "language",
        "prohibited_content",
        "spii",
        "blocklist",
        "image_safety",
        "image_prohibited_content",
        "image_recitation",
        "image_other",
    ),
}
TYPES = {code: name for name, codes in CODES.items() for code in codes} | {"cancelled": "other"}

# google.rpc status words, which older paths answer with beside a numeric code.
RPC = {
    "INVALID_ARGUMENT": "invalid_request",
    "FAILED_PRECONDITION": "invalid_request",
    "OUT_OF_RANGE": "invalid_request",
    "UNAUTHENTICATED": "authentication",
    "PERMISSION_DENIED": "permission",
    "NOT_FOUND": "not_found",
    "ALREADY_EXISTS": "conflict",
    "ABORTED": "conflict",
    "RESOURCE_EXHAUSTED": "rate_limit",
    "CANCELLED": "other",
    "INTERNAL": "server_error",
    "UNIMPLEMENTED": "server_error",
    "UNKNOWN": "server_error",
    "UNAVAILABLE": "overloaded",
    "DEADLINE_EXCEEDED": "timeout",
}

NATIVES = {
    "environment": "state.environment",
    "environment_id": "state.environment",
    "webhook_config": "state.background",
    "continuation_ids": "state.continuation",
    "generation_config.video_config": "media.output",
    "generation_config.transcription_config": "audio.input",
    "generation_config.image_config": "image.output",
    "generation_config.speech_config": "audio.output",
    "generation_config.tool_choice": "tools.choice",
    "top_k": "sampling.top_k",
    "response_format": "output.structured",
    "response_mime_type": "output.structured",
    "delivery": "output.modalities",
    "duration": "media.output",
    "gcs_uri": "media.output",
    "allowed_tools": "tools.allowed",
    "initial_input_tokens": "usage.detail",
    "output_tokens_by_modality": "usage.detail",
    "input_tokens_by_modality": "usage.detail",
    "grounding_tool_count": "usage.detail",
    "start_index": "citations.url",
    "end_index": "citations.url",
    "updated": "metadata",
    "created": "metadata",
    "error": "error.detail",
    "errors": "error.detail",
    "event_id": "stream.detail",
    "step_usage": "usage.detail",
    "metadata": "usage.detail",
    **dict.fromkeys(
        """usage.total_tokens usage.total_cached_tokens usage.total_input_tokens usage.total_output_tokens
        usage.total_thought_tokens usage.total_tool_use_tokens""".split(),
        "usage.detail",
    ),
    "aspect_ratio": "media.output",
    "resolution": "media.output",
    "rate": "media.detail",
    "uri": "file.reference",
}
