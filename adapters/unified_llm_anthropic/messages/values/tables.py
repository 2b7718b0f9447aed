"""The facts of Messages that are tables: settings, enums, versions, and what no other protocol has a word for.

https://docs.claude.com/en/api/messages
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine import Approximate, Cannot, Context, codec, enum
from unified_llm.engine.pairs.mapping import Bimap, IllTyped
from unified_llm.engine.pairs.table import Field, Table
from unified_llm.engine.shared.nearest_values import nearest

from .diagnostics import read_diagnostics, write_diagnostics

__all__ = [
    "API_VERSION",
    "BETAS",
    "CACHE",
    "DEFAULT_MAX_TOKENS",
    "ERRORS",
    "ERROR_STATUS",
    "FINISH",
    "FORMS",
    "HOSTED_NAMES",
    "LEGACY_VERSION",
    "LIFETIMES",
    "MODES",
    "NATIVES",
    "PROGRAMS",
    "PROTOCOL",
    "REFUSES",
    "RESPONSE",
    "SERVED_TIER",
    "read_cache",
    "write_cache",
]

PROTOCOL = "anthropic-messages"

# The newer version refuses temperature, top_p and top_k, documents in assistant messages and citations of the user.
# https://docs.claude.com/en/api/versioning
API_VERSION = "2026-10-21"
LEGACY_VERSION = "2023-06-01"

# The wire demands a limit. This one lies below what every model makes and below the length from which the official
# SDK refuses to wait without streaming. https://docs.claude.com/en/api/errors#long-requests
DEFAULT_MAX_TOKENS = 16_384

_CACHE_MODE = Bimap({"ephemeral": "explicit"})
LIFETIMES = ("5m", "1h")


def read_cache(value: Any) -> Any:
    """`cache_control` as a canonical cache breakpoint: its one type is what others call an explicit breakpoint."""
    if type(value) is not dict or type(value.get("type")) is not str or not value.keys() <= {"type", "ttl"}:
        raise IllTyped("cache_control")
    cache = {"mode": _CACHE_MODE.read(value["type"])}
    if "ttl" in value:
        cache["ttl"] = value["ttl"]
    return cache


def write_cache(value: Any) -> Any:
    """A cache breakpoint as `cache_control`. Raises `IllTyped` for any other value."""
    if type(value) is not dict or not value.keys() <= {"mode", "ttl"} or type(value.get("mode")) is not str:
        raise IllTyped("cache")
    wire = {"type": _CACHE_MODE.write(value["mode"])}
    if "ttl" in value:
        wire["ttl"] = value["ttl"]
    return wire


def _write_ttl(word: str, x: Context) -> str:
    if x.own or word in LIFETIMES:
        return word
    fitting = nearest(word, LIFETIMES)
    if fitting is None:
        raise Cannot("no lifetime")
    raise Approximate(fitting, f"sent as {fitting!r}")


CACHE = {
    "cache_control?": {
        "type?": enum("cache.mode", {"ephemeral": "explicit"}).required("ephemeral", "there is one type"),
        "ttl?": codec("cache.ttl", str, read=lambda word, x: word, write=_write_ttl, canonical=(str,)).nullable(),
    }
}
"""A cache breakpoint, of every object that may be one."""

# service_tier of a response's usage.
SERVED_TIER = Bimap({"standard": "default"})


RESPONSE = Table(
    "response",
    Field("id"),
    Field("model"),
    Field("container"),
    Field("diagnostics", "prompt_cache_diagnostics", read=read_diagnostics, write=write_diagnostics),
)


# stop_reason. "compaction" is read as a pause of its own kind. https://docs.claude.com/en/api/handling-stop-reasons
FINISH = Bimap(
    {
        "end_turn": "stop",
        "stop_sequence": "stop_sequence",
        "max_tokens": "length",
        "model_context_window_exceeded": "context_window",
        "tool_use": "tool_calls",
        "refusal": "refusal",
        "pause_turn": "pause",
    },
    reading={"compaction": "pause"},
    # No wire word means "broken off": the one for a refusal is what clients do not take for success.
    writing={
        "safety": "refusal",
        "recitation": "refusal",
        "malformed_call": "refusal",
        "error": "refusal",
        "cancelled": "refusal",
        "other": "max_tokens",
    },
)

# The versions of code that may call tools; the last is the one requested here.
PROGRAMS = ("code_execution_20250825", "code_execution_20260521", "code_execution_20260120")
FORMS = {
    "type": ("absent",),
    "role": ("user", "assistant", "system"),
    "signature": ("", "absent"),
    "stop_details": ("null", "text", "category", "no category"),
}
"""The words of markers of form (`Adapter.forms`)."""

# Canonical hosted tool type -> the name its calls go by.
HOSTED_NAMES = {
    "web_search": "web_search",
    "url_fetch": "web_fetch",
    "web_fetch": "web_fetch",
    "code_interpreter": "code_execution",
    "computer": "computer",
    "shell": "bash",
}

# tool_choice.type by the canonical mode it is
MODES = {"auto": "auto", "any": "required", "none": "none"}

# Headers that are part of a request. https://platform.claude.com/docs/en/api/versioning
REQUEST_HEADERS = ("anthropic-version", "anthropic-beta")
# What is in beta needs a flag in the header `anthropic-beta`, by the wire key or tool type that uses it.
BETAS = {
    "mcp_servers": "mcp-client-2025-11-20",
    "context_management": "context-management-2025-06-27",
    "compact_20260112": "compact-2026-01-12",
    "computer_20250124": "computer-use-2025-01-24",
    "computer_20251124": "computer-use-2025-11-24",
    "fallbacks": "server-side-fallback-2026-07-01",
    "task_budget": "task-budgets-2026-03-13",
    "tool_change": "mid-conversation-tool-changes-2026-07-01",
}

ERRORS = Bimap(
    {
        "invalid_request_error": "invalid_request",
        "authentication_error": "authentication",
        "billing_error": "quota",
        "permission_error": "permission",
        "not_found_error": "not_found",
        "conflict_error": "conflict",
        "request_too_large": "too_large",
        "rate_limit_error": "rate_limit",
        "api_error": "server_error",
        "timeout_error": "timeout",
        "overloaded_error": "overloaded",
    },
    reading={"server_error": "server_error", "internal_server_error": "server_error"},  # of compatible servers
    writing={
        "context_overflow": "invalid_request_error",
        "content_filter": "invalid_request_error",
        "other": "api_error",
    },
)

# Codes that are more specific than the word beside them: an account that is used up is a rate limit by that word.
ERROR_CODES = {
    "contract_spend_limit_reached": "quota",
    "enforced_spend_limit_reached": "quota",
    "linked_organization_spend_limit_reached": "quota",
    "organization_on_hold": "permission",
}

ERROR_STATUS = {
    "invalid_request": 400,
    "context_overflow": 400,
    "content_filter": 400,
    "authentication": 401,
    "quota": 402,
    "permission": 403,
    "not_found": 404,
    "conflict": 409,
    "too_large": 413,
    "rate_limit": 429,
    "server_error": 500,
    "timeout": 504,
    "overloaded": 529,
    "other": 500,
}

NATIVES = {
    # request and response fields
    "anthropic_version": "native.field",
    "anthropic_beta": "native.field",
    "betas": "native.field",
    "billing_policy": "service.tier",
    "compaction": "context.compaction",
    "context_management": "context.compaction",
    "diagnostics": "cache.key",
    "fallback_credit": "service.tier",
    "fallback_credit_token": "service.tier",
    "inference_geo": "service.tier",
    "input_transformations": "reasoning.context",
    "iterations": "usage.detail",
    "mcp_servers": "tools.mcp",
    "metadata": "metadata",
    "output_config.task_budget": "reasoning.budget",
    "output_format": "output.structured",
    "service_tier": "service.tier",
    "speed": "service.tier",
    "stop_details": "finish.detail",
    "stop_sequence": "finish.detail",
    "thinking.block_binding": "reasoning.context",
    "thread": "state.previous_response",
    "user_profile_id": "safety.identifier",
    # messages and blocks
    "clear_at": "context.changes",
    "output_config": "context.changes",
    "toolset_name": "tools.namespace",
    "caller": "tools.programmatic",
    "transformations": "media.detail",
    "container_upload": "state.environment",
    "server_tool_use": "tools.hosted.other",
    "advisor_tool_result": "tools.hosted.other",
    "text_editor_code_execution_tool_result": "tools.hosted.code_interpreter",
    "encrypted_code_execution_result": "tools.hosted.code_interpreter",
    "browser_state": "tools.hosted.computer",
    # tools
    "eager_input_streaming": "stream.options",
    "allowed_callers": "tools.programmatic",
    "response_inclusion": "tools.hosted.web_search",
    "url_sources": "tools.hosted.web_fetch",
    "use_cache": "tools.hosted.web_fetch",
    "enable_zoom": "tools.hosted.computer",
    "advisor_20260301": "tools.hosted.other",
    "browser_toolset_20260801": "tools.hosted.computer",
    "computer_toolset_20260801": "tools.hosted.computer",
    "mcp_toolset": "tools.mcp",
    "memory_20250818": "tools.hosted.other",
    "text_editor_20241022": "tools.hosted.apply_patch",
    "text_editor_20250124": "tools.hosted.apply_patch",
    "text_editor_20250429": "tools.hosted.apply_patch",
    "text_editor_20250728": "tools.hosted.apply_patch",
    # context edits
    "clear_tool_uses_20250919": "context.compaction",
    "clear_thinking_20251015": "reasoning.context",
}

REFUSES = {
    "n": "anthropic-messages returns one response",
    "seed": "anthropic-messages has no seed",
    "presence_penalty": "anthropic-messages has no penalties",
    "frequency_penalty": "anthropic-messages has no penalties",
    "logit_bias": "anthropic-messages has no penalties",
    "top_logprobs": "anthropic-messages returns no log probabilities",
    "store": "anthropic-messages has no server-side state",
    "previous_response_id": "anthropic-messages has no server-side state",
    "conversation": "anthropic-messages has no server-side state",
    "prompt": "anthropic-messages has no stored prompts",
    "item_reference": "anthropic-messages has no stored items",
    "background": "anthropic-messages has no background mode",
    "truncation": "no truncation field; use context_management",
    "input_audio": "anthropic-messages has no audio input",
    "input_video": "anthropic-messages has no video input",
    "modalities": "anthropic-messages returns text only",
    "audio": "anthropic-messages returns text only",
    "prediction": "anthropic-messages has no predicted output",
    "prompt_cache_key": "caching goes by breakpoints",
}
