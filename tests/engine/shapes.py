"""Small invented protocols that together hold everything hard: what the laws of the engine are tested on."""

from __future__ import annotations

import json as stdjson
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from engine.documents import DOCUMENTS
from unified_llm.engine import (
    CALLS,
    MEDIA,
    OPAQUE,
    TOOLS,
    Approximate,
    Blocks,
    Cannot,
    Choices,
    Shape,
    Slots,
    Turns,
    Union,
    boolean,
    choices,
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

Node = dict[str, Any]

# ---- a protocol of tagged blocks -----------------------------------------------------------------------------------


def _write_arguments(text: Any, x: Any) -> Any:
    try:
        value = stdjson.loads(text)
    except ValueError:
        value = None
    if type(value) is not dict:
        raise Approximate({"_raw": text}, "wrapped")
    return value


arguments = codec(
    "arguments", dict, read=lambda v, x: stdjson.dumps(v), write=_write_arguments, canonical=(str,), exact=True
)
cache = {"type?": enum("cache.mode", {"ephemeral": "explicit"}), "ttl?": string("cache.ttl")}

source = Union("source")
source.case({"type": "url", "url": string("image_url")})
source.case({"type": "file", "file_id": string("file_id")})
source.case({"type": "link", "href": string("image_url")})

parts = Union("parts")
parts.case({"type": "text", "text": string("text").growing(), "cache?": cache}, "input_text", "output_text", text=True)
parts.case({"type": "image", "source": flatten(source), "cache?": cache}, "input_image", fact=MEDIA)
inside = Union("inside")
inside.case({"type": "note", "note": string("text")}, "input_text", text=True)
held = Union("held")
held.case({"type": "list", "list": union("content", inside)})
held.case({"type": "plain", "media?": "text/plain", "plain": string("file_data")})
held.case({"type": constant("tape", "reel"), "tape": string("file_url")})
parts.case({"type": "file", "from": flatten(held)}, "input_file")
fit = enum("detail", {"big": "high", "small": "low"}, same={"large": "big"})
parts.case({"type": "clip", "fit": fit, "url": string("video_url")}, "input_video")
parts.cannot("input_audio", "blocks takes no audio")
callers = Union("callers")
callers.case({"type": "direct"}, "direct")
callers.case({"type": constant("program_2", "program_1"), "id": string("caller_id")}, "program")

blocks = Union("blocks", items=True)
blocks.case(
    {
        "type": "use",
        "id": string("call_id"),
        "name": string("name"),
        "input": arguments,
        "caller?": union("caller", callers, one=True),
        "cache?": cache,
    },
    "function_call",
    fact=CALLS,
)
blocks.case(
    {"type": "result", "id": string("call_id"), "content?": union("output", parts, text=True)}, "function_call_output"
)
blocks.case(
    {"type": "thinking", "thinking": string("content"), "signature?": opaque("signature")},
    "reasoning",
    fact=OPAQUE,
    when=lambda c: not any(piece["kind"] == "redacted" for piece in c.get("opaque") or ()),
    summary=[],
)
blocks.case({"type": "redacted", "data": opaque("redacted")}, "reasoning", fact=OPAQUE, summary=[])
blocks.case(
    {"type": "hosted", "name": "search", "input": {"query?": string("action.query")}},
    "web_search_call",
    action__type="search",
)
blocks.case({"type": "hosted", "name": "code", "input": {"code": string("code")}}, "code_interpreter_call")

talk = Turns(
    "blocks talk",
    layouts={
        "user": Blocks("user", role="user", parts=parts, items=blocks),
        "assistant": Blocks("assistant", role="assistant", parts=parts, items=blocks),
    },
    roles={"developer": "user"},
    sides={
        "function_call_output": "user",
        **dict.fromkeys(("function_call", "reasoning", "web_search_call", "code_interpreter_call"), "assistant"),
    },
)

tools = Union("tools")
tools.case(
    {"type?": constant("custom", written=False), "name": string("name"), "schema": json("parameters", dict)}, "function"
)
tools.case({"type": constant("search_2026", "search_2025"), "most?": integer("max_uses")}, "web_search")

choice = Union("choice")
choice.case({"type": "auto", "serial?": boolean("parallel_tool_calls", inverted=True)}, tool_choice="auto")
choice.case(
    {"type": "tool", "name": string("tool_choice.name"), "serial?": boolean("parallel_tool_calls", inverted=True)},
    tool_choice__type="function",
)


def _refuse(value: Any, x: Any) -> Any:
    if x.own:
        return value
    raise Cannot("the wire has no grammar")


blocks_request = Shape(
    {
        "messages": turns("input", talk),
        "model?": string("model"),
        "max_tokens?": integer("max_output_tokens").required(16, "max_tokens is required; default written"),
        "limit?": integer("max_output_tokens").alias(),
        "tools?": union("tools", tools).means(TOOLS),
        "choice?": flatten(choice),
        "stop?": json("stop", list, lone=True),
        "thinking?": {
            "type?": enum("reasoning.mode", {"on": "enabled", "off": "disabled"}),
            "budget?": integer("reasoning.budget_tokens"),
        },
        "output?": {
            "effort?": string("reasoning.effort"),
            "kind?": "plain",
            "format?": {"schema?": json("text.format.schema", dict)},
        },
        "meta?": {
            "user?": string("safety_identifier").nullable(),
            "plan?": string("plan").required("free", "who names a user names a plan"),
        },
        "temperature?": number("temperature"),
        "stream?": boolean("stream"),
        "tier?": enum("service_tier", {"auto": "auto", "standard": "default"}, {"priority": "auto"}),
        "top_k?": integer("top_k"),
        "include?": json("include", list).filled(),
        "object?": "request",
        "grammar?": codec("grammar", str, read=lambda v, x: v, write=_refuse, canonical=(str,)),
    },
    name="blocks request",
    node="request",
    cannot={"seed": "anthropic-messages has no seed"},
    natives={"fallbacks": "service.tier"},
)
usage = Shape({"in?": integer("input_tokens"), "cached?": integer("input_tokens_details.cached_tokens")}, name="usage")


def _inclusive(node: Node) -> Node:
    details = node.get("input_tokens_details")
    if details and "input_tokens" in node:
        node["input_tokens"] += details["cached_tokens"]
    return node


def _disjoint(node: Node) -> Node:
    details = node.get("input_tokens_details")
    if type(details) is dict and type(details.get("cached_tokens")) is int and type(node.get("input_tokens")) is int:
        node["input_tokens"] -= details["cached_tokens"]
    return node


blocks_response = Shape(
    {
        "id?": string("id"),
        "type": "message",
        "role?": "assistant",
        "content": turn("output", talk.layouts["assistant"]).required([], "an answer has content"),
        "stop?": enum("finish.reason", {"end": "stop", "tool": "tool_calls"}, same={"done": "end"}),
        "usage?": nested("usage", usage, read=_inclusive, write=_disjoint),
    },
    name="blocks response",
    node="response",
)

# ---- a protocol of messages with slots, and several choices ----------------------------------------------------------

slot_parts = Union("slot parts")
slot_parts.case({"type": "text", "text": string("text")}, "output_text", "input_text", text=True)
slot_parts.case(
    {"type": "image_url", "image_url": {"url": string("image_url"), "detail?": string("detail").nullable()}},
    "input_image",
)
calls = Union("calls", items=True)
calls.case(
    {
        "id": string("call_id"),
        "type": "function",
        "function": {"name": string("name"), "arguments": string("arguments")},
    },
    "function_call",
    fact=CALLS,
)
calls.case(
    {"id": string("call_id"), "type": "custom", "custom": {"name": string("name"), "input": string("input")}},
    "custom_tool_call",
)

said = Union("messages", "role", items=True)
for _role in ("system", "user"):
    said.case(
        {"role": _role, "content": union("content", slot_parts, text=True), "name?": string("name")},
        "message",
        role=_role,
    )
said.case(
    {"role": "tool", "id": string("call_id"), "content": union("output", slot_parts, text=True)}, "function_call_output"
)

assistant = Slots("assistant", role="assistant")
assistant.item({"reasoning": string("content")}, "reasoning", summary=[])
assistant.item(
    {"content?": union("content", slot_parts, text=True), "refusal?": string("refusal"), "name?": string("name")},
    "message",
    role="assistant",
)
assistant.items("tool_calls", calls)
chat = Turns("slots talk", layouts={"assistant": assistant}, messages=said, merges=False)

slot_tools = Union("slot tools")
slot_tools.case(
    {"type": "function", "function": {"name": string("name"), "parameters?": json("parameters", dict)}}, "function"
)

slots_request = Shape(
    {
        "messages": turns("input", chat),
        "model?": string("model"),
        "max_tokens?": integer("max_output_tokens"),
        "temperature?": number("temperature"),
        "seed?": integer("seed"),
        "tools?": union("tools", slot_tools).means(TOOLS),
        "effort?": string("reasoning.effort"),
        "user?": string("safety_identifier"),
        "stop?": json("stop", list),
        "stream?": boolean("stream"),
    },
    name="slots request",
    node="request",
)
one_choice = Shape(
    {
        "index?": integer("index"),
        "message": turn("output", assistant),
        "why?": enum("finish.reason", {"stop": "stop", "calls": "tool_calls"}, {"pause": "stop"}),
    },
    name="choice",
)
slots_response = Shape(
    {"id?": string("id"), "object?": "completion", "choices": choices(Choices(one_choice))},
    name="slots response",
    node="response",
)

# ---- a oneof protocol -----------------------------------------------------------------------------------------------

oneof_parts = Union("oneof parts", tag=None)
oneof_parts.case({"thought": True, "text": string("content"), "sign?": opaque("signature")}, "reasoning", summary=[])
oneof_parts.case(
    {"call": {"name": string("name"), "args?": arguments, "id?": string("call_id")}}, "function_call", fact=CALLS
)
oneof_parts.case({"data": {"mime?": string("media_type"), "data": string("data")}}, "input_audio", fact=MEDIA)
oneof_parts.case({"text": string("text")}, "input_text", "output_text", text=True)
oneof_tools = Union("oneof tools", tag=None)
oneof_tools.case({"fn": {"name": string("name"), "schema?": json("parameters", dict)}}, "function")
oneof_request = Shape(
    {
        "parts": union("input", oneof_parts, lone=True),
        "config?": {
            "topP?": number("top_p"),
            "thinking?": {"level?": string("reasoning.effort"), "budget?": integer("reasoning.budget_tokens")},
            "mode?": constant("A", written=False),
        },
        "tools?": union("tools", oneof_tools, lone=True),
        "first?": union("first", oneof_tools, one=True),
    },
    name="oneof request",
    node="request",
)

SHAPES = {
    "blocks request": blocks_request,
    "blocks response": blocks_response,
    "slots request": slots_request,
    "slots response": slots_response,
    "oneof request": oneof_request,
}


def cases() -> Iterator[tuple[str, Node]]:
    """Every shape with each of its documents."""
    for name, documents in DOCUMENTS.items():
        for document in documents:
            yield name, deepcopy(document)
