"""Requests and responses of the Messages protocol as shapes: evidence that the engine carries a real protocol.

Not the adapter, of which it takes what does not need the rest: no passes, and few of the tools that the provider hosts.
https://docs.claude.com/en/api/messages
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine import (
    CALLS,
    MEDIA,
    OPAQUE,
    RESULTS,
    TOOLS,
    Approximate,
    Blocks,
    Mismatch,
    Shape,
    Turns,
    Union,
    boolean,
    codec,
    constant,
    enum,
    flatten,
    integer,
    json,
    nested,
    number,
    opaque,
    string,
    turn,
    turns,
    union,
)
from unified_llm.foundation.json_codec import dump_text, load_text
from unified_llm_anthropic.messages.calls.client_calls import CALLER
from unified_llm_anthropic.messages.parts.citations import cases as citations
from unified_llm_anthropic.messages.parts.content import images
from unified_llm_anthropic.messages.values.tables import CACHE

Node = dict[str, Any]

# ---- values --------------------------------------------------------------------------------------------------------

FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop_sequence",
    "max_tokens": "length",
    "model_context_window_exceeded": "context_window",
    "tool_use": "tool_calls",
    "refusal": "refusal",
    "pause_turn": "pause",
}


def _write_arguments(text: Any, x: Any) -> Any:
    try:
        value = load_text(text) if text else {}
    except ValueError:
        value = None
    if type(value) is not dict:
        raise Approximate({"_raw": text}, "no JSON object; sent as _raw")
    return value


def _base64(key: str) -> Any:
    def read(source: Node, x: Any) -> str:
        if ";base64," in source["media_type"]:
            raise Mismatch
        return f"data:{source['media_type']};base64,{source['data']}"

    def write(url: str, x: Any) -> Node:
        if url[:5] != "data:" or ";base64," not in url:
            raise Mismatch
        media, _, data = url[5:].partition(";base64,")
        return {"type": "base64", "media_type": media, "data": data}

    return codec(key, dict, read=read, write=write, canonical=(str,))


arguments = codec(
    "arguments", dict, read=lambda v, x: dump_text(v), write=_write_arguments, canonical=(str,), exact=True
)
thought = codec(
    "content",
    str,
    read=lambda text, x: [{"type": "reasoning_text", "text": text}] if text else [],
    write=lambda found, x: "\n\n".join(part["text"] for part in found),
    canonical=(list,),
)
citable = {"citations?": {"enabled?": boolean("citations.enabled")}}

# ---- parts ---------------------------------------------------------------------------------------------------------

files = Union("document source")
files.whole("base64", _base64("file_data"))
files.case({"type": "url", "url": string("file_url")})
files.case({"type": "file", "file_id": string("file_id")})
files.case({"type": "text", "media_type?": "text/plain", "data": string("text")})


def _parts(name: str, text: str, *also: str) -> Union:
    found = Union(name)
    found.case(
        {
            "type": "text",
            "text": string("text").growing(),
            "citations?": union("annotations", citations).nullable(),
            **CACHE,
        },
        text,
        *also,
        text=True,
    )
    found.case({"type": "image", "source": flatten(images), **CACHE}, "input_image", fact=MEDIA)
    found.case(
        {"type": "document", "source": flatten(files), "title?": string("title").nullable(),
         "context?": string("context").nullable(), **citable, **CACHE},
        "input_file", fact=MEDIA,
    )  # fmt: skip
    found.case({"type": "tool_reference", "tool_name": string("name"), **CACHE}, "tool_reference")
    found.case(
        {"type": "search_result", "source": string("source"), "title": string("title"),
         "content": union("content", found), **citable, **CACHE},
        "search_result",
    )  # fmt: skip
    found.cannot("input_audio output_audio", "anthropic-messages takes no audio")
    return found


parts = _parts("parts", "input_text", "output_text")
answer_parts = _parts("assistant parts", "output_text", "input_text")

# ---- items ---------------------------------------------------------------------------------------------------------

blocks = Union("blocks", items=True)
blocks.case(
    {"type": "tool_use", "id": string("call_id"), "name": string("name"), "input": arguments, **CALLER, **CACHE},
    "function_call",
    fact=CALLS,
)
blocks.case(
    {"type": "tool_result", "tool_use_id": string("call_id"), "content?": union("output", parts, text=True),
     "is_error?": boolean("is_error").nullable(), **CACHE},
    "function_call_output", "custom_tool_call_output", fact=RESULTS,
)  # fmt: skip
blocks.case(
    {"type": "thinking", "thinking": thought, "signature?": opaque("signature")},
    "reasoning",
    fact=OPAQUE,
    when=lambda c: not any(piece.get("kind") == "redacted" for piece in c.get("opaque") or ()),
    summary=[],
)
blocks.case({"type": "redacted_thinking", "data": opaque("redacted")}, "reasoning", fact=OPAQUE, summary=[])
blocks.case(
    {"type": "mcp_tool_use", "id": string("call_id"), "name": string("name"), "server_name": string("server_label"),
     "input": arguments, **CACHE},
    "mcp_call",
)  # fmt: skip
blocks.case(
    {"type": "mcp_tool_result", "tool_use_id": string("call_id"), "content?": union("output", parts, text=True),
     "is_error?": boolean("is_error").nullable(), **CACHE},
    "mcp_result",
)  # fmt: skip
blocks.case(
    {"type": "server_tool_use", "id": string("call_id"), "name": "web_search",
     "input": {"query?": string("action.query")}, **CALLER, **CACHE},
    "web_search_call", action__type="search",
)  # fmt: skip
blocks.case(
    {"type": "server_tool_use", "id": string("call_id"), "name": "code_execution", "input": {"code?": string("code")},
     **CALLER, **CACHE},
    "code_interpreter_call",
)  # fmt: skip
hits = Union("search results")
hits.case(
    {"type": "web_search_result", "url?": string("url"), "title?": string("title"),
     "page_age?": string("page_age").nullable(), "encrypted_content?": opaque("encrypted_content")},
    "search_hit", fact=OPAQUE,
)  # fmt: skip
blocks.case(
    {
        "type": "web_search_tool_result",
        "tool_use_id": string("call_id"),
        "content": union("results", hits),
        **CALLER,
        **CACHE,
    },
    "web_search_result",
    when=lambda c: "results" in c,
)
blocks.case(
    {"type": "web_search_tool_result", "tool_use_id": string("call_id"),
     "content": {"type": "web_search_tool_result_error", "error_code": string("error.code")}, **CALLER, **CACHE},
    "web_search_result",
)  # fmt: skip

RESULT_TYPES = ("function_call_output", "custom_tool_call_output")
user = Blocks("user", role="user", parts=parts, items=blocks)
assistant = Blocks("assistant", role="assistant", parts=answer_parts, items=blocks)
timeline = Turns(
    "messages",
    layouts={
        "user": user,
        "assistant": assistant,
        "system": Blocks("system", role="system", parts=parts, items=blocks),
    },
    roles={"developer": "system"},
    sides={**dict.fromkeys(blocks.by_type, "assistant"), **dict.fromkeys(RESULT_TYPES, "user")},
)

# ---- the request ---------------------------------------------------------------------------------------------------

tools = Union("tools")
tools.case(
    {
        "type?": constant("custom", written=False),
        "name": string("name"),
        "description?": string("description"),
        "input_schema": json("parameters", dict),
        "strict?": boolean("strict"),
        "defer_loading?": boolean("defer_loading"),
        **CACHE,
    },
    "function",
)
tools.case(
    {
        "type": constant("web_search_20250305", "web_search_20260209", "web_search_20260318"),
        "name": "web_search",
        "max_uses?": integer("max_uses"),
        "allowed_domains?": json("filters.allowed_domains", list),
        "blocked_domains?": json("filters.blocked_domains", list),
        **CACHE,
    },
    "web_search",
)
tools.case(
    {
        "type": constant("code_execution_20250825", "code_execution_20260120", "code_execution_20260521"),
        "name": "code_execution",
        **CACHE,
    },
    "code_interpreter",
)
choice = Union("tool choice")
parallel = {"disable_parallel_tool_use?": boolean("parallel_tool_calls", inverted=True)}
for _wire, _word in (("auto", "auto"), ("any", "required"), ("none", "none")):
    choice.case({"type": _wire, **parallel}, tool_choice=_word)
choice.case({"type": "tool", "name": string("tool_choice.name"), **parallel}, tool_choice__type="function")
edits = Union("edits")
edits.case(
    {
        "type": "compact_20260112",
        "trigger?": {"type?": "input_tokens", "value?": integer("compact_threshold")},
        "instructions?": string("instructions").nullable(),
        "pause_after_compaction?": boolean("pause_after"),
    },
    "compaction",
)

request = Shape(
    {
        "messages": turns("input", timeline),
        "model?": string("model"),
        "max_tokens?": integer("max_output_tokens").required(16_384, "max_tokens is required; default written"),
        "stream?": boolean("stream"),
        "system?": union("instructions", parts, text=True),
        "tools?": union("tools", tools).means(TOOLS),
        "tool_choice?": flatten(choice),
        "temperature?": number("temperature"),
        "thinking?": {
            "type?": enum("reasoning.mode", {"adaptive": "adaptive", "enabled": "enabled", "disabled": "disabled"}),
            "budget_tokens?": integer("reasoning.budget_tokens"),
        },
        "metadata?": {"user_id?": string("safety_identifier").nullable()},
        "output_config?": {
            "effort?": string("reasoning.effort"),
            "format?": {"type?": string("text.format.type"), "schema?": json("text.format.schema", dict)},
        },
        "top_p?": number("top_p"),
        "top_k?": integer("top_k"),
        "stop_sequences?": json("stop", list),
        "service_tier?": enum("service_tier", {"auto": "auto", "standard_only": "default"}, {"priority": "auto"}),
        "container?": json("container", str),
        "context_management?": {"edits?": union("context_management", edits)},
        **CACHE,
    },
    name="messages request",
    node="request",
    cannot={"seed": "anthropic-messages has no seed"},
    natives={"mcp_servers": "tools.mcp", "anthropic_version": "native.field"},
)

# ---- the response --------------------------------------------------------------------------------------------------

PARTS = ("cached_tokens", "cache_write_tokens")


def _inclusive(node: Node) -> Node:
    details = node.get("input_tokens_details") or {}
    if type(node.get("input_tokens")) is int:
        node["input_tokens"] += sum(details.get(key) or 0 for key in PARTS)
    return node


def _disjoint(node: Node) -> Node:
    details = node.get("input_tokens_details") or {}
    if type(node.get("input_tokens")) is int:
        node["input_tokens"] -= sum(details.get(key) or 0 for key in PARTS)
    return node


usage = Shape(
    {
        "input_tokens?": integer("input_tokens"),
        "output_tokens?": integer("output_tokens"),
        "cache_read_input_tokens?": integer("input_tokens_details.cached_tokens").nullable(),
        "cache_creation_input_tokens?": integer("input_tokens_details.cache_write_tokens").nullable(),
        "cache_creation?": json("input_tokens_details.cache_write_tokens_details", dict),
        "server_tool_use?": {
            "web_search_requests?": integer("hosted_tools.web_search"),
            "web_fetch_requests?": integer("hosted_tools.web_fetch"),
        },
    },
    name="messages usage",
    node="usage",
)
response = Shape(
    {
        "id?": string("id"),
        "type?": "message",
        "role?": "assistant",
        "model?": string("model"),
        "content?": turn("output", assistant).required([], "an answer has content"),
        "stop_reason?": enum(
            "finish.reason", FINISH, {"safety": "refusal", "error": "refusal"}, same={"compaction": "pause_turn"}
        ),
        "stop_sequence?": string("finish.detail").nullable().required(None),
        "usage?": nested("usage", usage, read=_inclusive, write=_disjoint),
        "container?": json("container", dict),
    },
    name="messages response",
    node="response",
)
