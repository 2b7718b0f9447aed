"""The facts of the Responses API that are tables: settings, keys of items and tools, enums.

The canonical model took its names from this wire, so most tables are lists of keys. `openai-responses` is OpenAI's own
form; the dialect `open-responses` is the strict one of the specification.

https://platform.openai.com/docs/api-reference/responses https://www.openresponses.org/specification
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Bimap, IllTyped
from unified_llm.engine.pairs.table import Field, Table
from unified_llm.engine.shared.nearest_values import NEAREST_TIERS

__all__ = [
    "CORE_EVENTS",
    "CORE_ITEMS",
    "ENCRYPTED",
    "INCOMPLETE",
    "ITEMS",
    "NATIVES",
    "OBJECTS",
    "REFUSES",
    "REQUEST",
    "RESPONSE",
    "SLUG",
    "TOOLS",
    "read_choice",
]

_SHARED = """model max_output_tokens max_tool_calls temperature top_p presence_penalty frequency_penalty top_logprobs
    parallel_tool_calls previous_response_id conversation prompt truncation store background metadata
    safety_identifier user moderation access_programs prompt_cache_key prompt_cache_options
    prompt_cache_retention"""


def read_choice(value: Any) -> Any:
    """A choice of tools, if it is what it should be as far as anybody looks into it."""
    if type(value) is str:
        return value
    tools = value.get("tools", [])
    words = [value["type"], value.get("mode"), value.get("name")]
    words += [each.get(key) for each in tools for key in ("type", "name", "server_label")]
    if type(tools) is not list or any(type(word) not in (str, type(None)) for word in words) or words[0] is None:
        raise IllTyped("tool_choice")
    return value


def _read_tier(value: Any) -> Any:
    if value in NEAREST_TIERS:
        raise IllTyped("service_tier")
    return value


_CHOICE = Field("tool_choice", read=read_choice)
_TIER = Field("service_tier", values=Bimap({}, writing=NEAREST_TIERS), read=_read_tier)


def _edits(value: Any) -> Any:
    """Edits of the context, each an object with its type, if any, as a word."""
    if type(value) is not list or any(type(edit.get("type", "")) is not str for edit in value):
        raise IllTyped("context_management")
    return value


REQUEST = Table(
    "request",
    _CHOICE,
    _TIER,
    Field("context_management", read=_edits),
    *map(Field, f"{_SHARED} include stream multi_agent background_options".split()),
)
"""Settings that are one value. `input`, `instructions`, `tools` and the objects below are read beside it."""

RESPONSE = Table(
    "response",
    _CHOICE,
    _TIER,
    *map(
        Field,
        f"""id object created_at completed_at status {_SHARED} tool_usage billing prompt_cache_diagnostics
        input_transformations""".split(),
    ),
)

OBJECTS = {
    "reasoning": "effort summary generate_summary context mode".split(),
    "text": "format verbosity".split(),
    "stream_options": ["include_obfuscation"],
    "image": ["context_compression"],
}
"""Settings that are objects, with the keys this wire has; the canonical ones hold more."""

# incomplete_details.reason. Words of ours that have none there travel as they are: the set is open.
INCOMPLETE = Bimap(
    {"max_output_tokens": "length", "content_filter": "safety"},
    writing={"context_window": "max_output_tokens", "pause": "max_output_tokens", "recitation": "content_filter"},
)

_ITEM = "id status agent created_by"
_CALL = f"{_ITEM} call_id"
ITEMS = {
    "function_call": f"{_CALL} name arguments namespace caller async",
    "custom_tool_call": f"{_CALL} name input namespace caller async",
    "additional_tools": f"{_ITEM} role",
    "compaction_trigger": _ITEM,
    "configuration_update": f"{_ITEM} reasoning text",
    "tool_search_call": f"{_CALL} arguments execution",
    "tool_search_output": f"{_CALL} execution",
    "program_output": f"{_CALL} result",
    "file_search_call": f"{_ITEM} queries results",
    "web_search_call": f"{_ITEM} action results",
    "computer_call": f"{_CALL} action actions pending_safety_checks",
    "image_generation_call": f"""{_ITEM} result action background output_format quality revised_prompt size prompt
        error svg_usage""",
    "code_interpreter_call": f"{_ITEM} code container_id outputs",
    "local_shell_call": f"{_CALL} action",
    "local_shell_call_output": f"{_CALL} output",
    "shell_call": f"{_CALL} action environment caller",
    "shell_call_output": f"{_CALL} output max_output_length caller",
    "apply_patch_call": f"{_CALL} operation caller",
    "apply_patch_call_output": f"{_CALL} output caller",
    "mcp_list_tools": f"{_ITEM} server_label tools error",
    "mcp_approval_request": f"{_ITEM} name arguments server_label",
    "mcp_approval_response": f"{_ITEM} approval_request_id approve reason",
    "mcp_call": f"{_ITEM} name arguments server_label output error approval_request_id",
    "item_reference": "id",
    "agent_message": f"{_ITEM} author recipient",
    "multi_agent_call": f"{_CALL} action arguments",
    "multi_agent_call_output": f"{_CALL} action",
}
"""Items with the keys that are the canonical ones; those with parts, tools or opaque pieces are in turns/items.py."""

_TOOL = "defer_loading allowed_callers"
TOOLS = {
    "function": f"name description parameters strict output_schema async {_TOOL}",
    "custom": f"name description format async {_TOOL}",
    "tool_search": "execution description parameters",
    "programmatic_tool_calling": "",
    **dict.fromkeys(
        ("web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"),
        "filters search_context_size user_location external_web_access search_content_types",
    ),
    "file_search": "vector_store_ids filters max_num_results ranking_options",
    "code_interpreter": "container allowed_callers",
    "image_generation": """model action quality size background output_format output_compression moderation
        partial_images input_fidelity input_image_mask complexity frame_count frame_duration_ms svg""",
    "mcp": f"""server_label server_url connector_id tunnel_id authorization headers allowed_tools require_approval
        server_description {_TOOL}""",
    "computer": "",
    "computer_use_preview": "display_width display_height environment",
    "shell": "environment allowed_callers",
    "local_shell": "",
    "apply_patch": "allowed_callers",
}
"""Tools with their keys; `namespace`, which holds tools, is in tools.py."""


ENCRYPTED = "reasoning.encrypted_content"
"""The value of `include` that requests encrypted reasoning."""

SLUG = "openai:"
"""The prefix that Open Responses requires before the types of items, tools and events that are not its own."""
CORE_ITEMS = frozenset(("message", "function_call", "function_call_output", "reasoning", "compaction"))
CORE_EVENTS = frozenset(
    f"response.{name}"
    for name in """created queued in_progress completed failed incomplete output_item.added output_item.done
    content_part.added content_part.done output_text.delta output_text.done output_text.annotation.added refusal.delta
    refusal.done reasoning.delta reasoning.done reasoning_summary_part.added reasoning_summary_part.done
    reasoning_summary_text.delta reasoning_summary_text.done function_call_arguments.delta
    function_call_arguments.done""".split()
) | {"error"}

NATIVES = {
    "format.name": "output.structured",
    "format.strict": "output.structured",
    "safety": "native.field",
    "generate": "stream.options",
    "stream_id": "stream.options",
    "betas": "native.field",
    "personality": "native.field",
    "client_metadata": "metadata",
    "status_details": "native.field",
    "next_response_ids": "state.previous_response",
    "context_edits": "context.compaction",
    "cost_token": "usage.detail",
    "content_filters": "safety.settings",
}

_SEPARATE = "the API holds results inside the call"
REFUSES = {
    "web_search_result": _SEPARATE,
    "code_interpreter_result": _SEPARATE,
    "file_search_result": _SEPARATE,
    "mcp_result": _SEPARATE,
    "tool_search_result": "the API names the tools that were found with their definitions",
    "web_fetch_call": "the API has no tool that reads given URLs",
    "web_fetch_result": "the API has no tool that reads given URLs",
    "maps_call": "the API has no maps tool",
    "maps_result": "the API has no maps tool",
    "retrieval_call": "the API has no retrieval beside file search",
    "retrieval_result": "the API has no retrieval beside file search",
    "processing_call": "the API does not show how media are looked at",
    "processing_result": "the API does not show how media are looked at",
    "tool_change": "the API adds tools with additional_tools and removes none",
    "fallback": "the API does not change the model within an answer",
    "output_image": "assistant messages hold text only",
    "output_audio": "the API has no audio in messages",
    "output_video": "assistant messages hold text only",
    "output_file": "assistant messages hold text only",
    "search_result": "the API has no search results in messages",
    "tool_reference": "the API names no tools in messages",
    "url_fetch": "the API has no tool that reads given URLs",
    "web_fetch": "the API has no tool that reads given URLs",
    "maps": "the API has no maps tool",
    "retrieval": "the API has no retrieval beside file search",
    "stop": "the API has no stop sequences",
    "seed": "the API has no seed",
    "top_k": "the API has no top_k",
    "n": "the API gives one answer",
    "logit_bias": "the API has no logit bias",
    "prediction": "the API has no predicted output",
}
"""Canonical types and settings that have no form here, with the detail of their loss."""
