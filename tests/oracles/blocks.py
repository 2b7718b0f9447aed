"""The content blocks and tools of the Messages wire: what each may hold, and in which role.

From Anthropic's API description (Messages, tools, citations); beta blocks included.
"""

from __future__ import annotations

from oracles.shapes import Node

CACHE = "cache_control?:o"
SAY = f"type! tool_use_id!:s content! caller?:o {CACHE}"
BLOCKS = {
    "text": f"type! text!:s citations?:a {CACHE}",
    "image": f"type! source!:o transformations?:o {CACHE}",
    "document": f"type! source!:o title?:s context?:s citations?:o {CACHE}",
    "search_result": f"type! source!:s title!:s content!:a citations?:o {CACHE}",
    "thinking": "type! thinking!:s signature!:s",
    "redacted_thinking": "type! data!:s",
    "tool_use": f"type! id!:s name!:s input!:o caller?:o toolset_name?:s {CACHE}",
    "tool_result": f"type! tool_use_id!:s content:s/a is_error:b toolset_name?:s {CACHE}",
    "server_tool_use": f"type! id!:s name!:s input!:o caller?:o {CACHE}",
    "web_search_tool_result": SAY,
    "web_fetch_tool_result": SAY,
    "code_execution_tool_result": SAY,
    "bash_code_execution_tool_result": SAY,
    "text_editor_code_execution_tool_result": SAY,
    "tool_search_tool_result": SAY,
    "advisor_tool_result": SAY,
    "mcp_tool_use": f"type! id!:s name!:s server_name!:s input!:o {CACHE}",
    "mcp_tool_result": f"type! tool_use_id!:s is_error:b content:s/a {CACHE}",
    "mcp_tool_listing": "type! mcp_server_name!:s tools!:a",
    "container_upload": f"type! file_id!:s {CACHE}",
    "compaction": f"type! content?:s encrypted_content?:s signature?:s tool_changes?:a {CACHE}",
    "fallback": "type! from!:o to!:o trigger?:o",
    "tool_addition": f"type! tool!:o {CACHE}",
    "tool_removal": f"type! tool!:o {CACHE}",
}
USER = ("text", "image", "document", "search_result", "tool_result", "container_upload")
ASSISTANT = tuple(kind for kind in BLOCKS if kind not in ("image", "search_result", "tool_result", "tool_addition",
                                                          "tool_removal"))  # fmt: skip
SYSTEM = ("text", "tool_addition", "tool_removal")
RESULT = {"text": BLOCKS["text"], "image": BLOCKS["image"], "document": BLOCKS["document"],
          "search_result": BLOCKS["search_result"], "tool_reference": f"type! tool_name!:s {CACHE}",
          "browser_state": "type! tabs!:a state_changes?:a"}  # fmt: skip
SOURCES = {
    "image": {"base64": "type! media_type!=image/jpeg|image/png|image/gif|image/webp data!:s", "url": "type! url!:s",
              "file": "type! file_id!:s"},
    "document": {"base64": "type! media_type!=application/pdf data!:s", "text": "type! media_type!=text/plain data!:s",
                 "content": "type! content!:s/a", "url": "type! url!:s", "file": "type! file_id!:s"},
}  # fmt: skip
CITATIONS = {
    "char_location": "type! cited_text!:s document_index!:i document_title?:s start_char_index!:i end_char_index!:i "
    "file_id",
    "page_location": "type! cited_text!:s document_index!:i document_title?:s start_page_number!:i "
    "end_page_number!:i file_id",
    "content_block_location": "type! cited_text!:s document_index!:i document_title?:s start_block_index!:i "
    "end_block_index!:i file_id",
    "search_result_location": "type! cited_text!:s search_result_index!:i source!:s title?:s start_block_index!:i "
    "end_block_index!:i",
    "web_search_result_location": "type! cited_text!:s url!:s title?:s encrypted_index!:s",
}
CALLERS = f"{CACHE} strict?:b defer_loading?:b allowed_callers?:a input_examples?:a"
CUSTOM = f"type?:s name!:s input_schema!:o description:s eager_input_streaming?:b {CALLERS}"
BODY = """model!:s max_tokens!:i messages!:a system?:s/a stop_sequences?:a stream?:b tools?:a tool_choice?:o thinking?:o
output_config?:o cache_control?:o container?:s/o metadata?:o service_tier?=auto|standard_only speed?=standard|fast
inference_geo?:s diagnostics?:o temperature?:n top_p?:n top_k?:i mcp_servers?:a context_management?:o compaction?:o
fallbacks?:s/a fallback_credit_token?:s/o thread?:o billing_policy?:o"""
CLOUD = "anthropic_version:s anthropic_beta:a"
"""What the body holds where a cloud's path holds the model."""
COUNTED = ("messages", "model", "cache_control", "output_config", "speed", "system", "thinking", "tool_choice", "tools",
           "billing_policy", "compaction", "context_management", "mcp_servers")  # fmt: skip

BETA = {
    "mcp_servers": ("mcp-client-",), "context_management": ("context-management-", "compact-"),
    "compaction": ("compact-",), "fallbacks": ("server-side-fallback-",), "thread": ("message-threads-",),
    "fallback_credit_token": ("fallback-credit-",), "billing_policy": ("user-profiles-billing-",),
}  # fmt: skip
"""Fields that are there only with one of these in the header `anthropic-beta`."""

SCHEMA_REFUSES = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
                  "maxItems", "uniqueItems", "minProperties", "maxProperties", "patternProperties", "not", "if", "then",
                  "else", "dependentSchemas", "propertyNames", "contains")  # fmt: skip
"""Keywords outside of what structured outputs take: platform.claude.com, structured outputs, JSON Schema
limitations."""


def merged(messages: list[Node]) -> list[tuple[int, str, list[Node]]]:
    """The messages as the API sees them: neighbors of one role are one, system messages between are left out.

    A message that holds results stays one: all results of a turn are in the message right behind it.
    """
    turns: list[tuple[int, str, list[Node]]] = []
    for number, message in enumerate(messages):
        content = message.get("content") or []
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        if message["role"] == "system":
            continue
        holds = any(block.get("type") == "tool_result" for block in blocks)
        if turns and turns[-1][1] == message["role"] and not holds:
            turns[-1][2].extend(blocks)
        else:
            turns.append((number, message["role"], blocks))
    return turns
