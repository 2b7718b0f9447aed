"""Items, parts and tools of the Responses API: mostly the canonical shapes themselves, declared key by key.

What differs is small: opaque pieces have names here (`encrypted_content`, `fingerprint`) and an origin in the canonical
model, a cache breakpoint is spelt `prompt_cache_breakpoint`, and items nest content, tools and other items.

https://platform.openai.com/docs/api-reference/responses
"""

from __future__ import annotations

from typing import Any

from unified_llm.mapping import Mapping, Reader, Writer

__all__ = ["items", "parts", "tools"]

Node = dict[str, Any]

parts = Mapping("openai-responses parts")
items = Mapping("openai-responses items", default="message")
tools = Mapping("openai-responses tools")

parts.same("output_text", "text annotations logprobs")
parts.same("refusal", "refusal")
parts.same("reasoning_text", "text")
parts.same("summary_text", "text")


@parts.read("input_text")
def read_text(w: Node, r: Reader) -> Node:
    return _read_cache(w, {"type": "input_text", "text": w.pop("text")})


@parts.write("input_text")
def write_text(c: Node, w: Writer) -> Node:
    return _write_cache(c, {"type": "input_text", "text": c.pop("text")})


def _read_cache(w: Node, part: Node) -> Node:
    if "prompt_cache_breakpoint" in w:
        part["cache"] = w.pop("prompt_cache_breakpoint")
    return part


def _write_cache(c: Node, wire: Node) -> Node:
    if "cache" in c:
        wire["prompt_cache_breakpoint"] = c.pop("cache")
    return wire


items.same("function_call", "id call_id name arguments status namespace caller async created_by")

_MESSAGE = ("id", "role", "status", "phase")


@items.read("message")
def read_message(w: Node, r: Reader) -> Node:
    item = {"type": "message", **{key: w.pop(key) for key in _MESSAGE if key in w}}
    item["content"] = r.parts(parts, w.pop("content"))
    return item


@items.write("message")
def write_message(c: Node, w: Writer) -> Node:
    wire = {"type": "message", **{key: c.pop(key) for key in _MESSAGE if key in c}}
    wire["content"] = w.parts(parts, c.pop("content", None))
    return wire


@items.read("function_call_output")
def read_output(w: Node, r: Reader) -> Node:
    item = {"type": "function_call_output", **{key: w.pop(key) for key in ("id", "call_id", "status") if key in w}}
    item["output"] = r.parts(parts, w.pop("output"))
    return item


@items.write("function_call_output")
def write_output(c: Node, w: Writer) -> Node:
    wire = {"type": "function_call_output", **{key: c.pop(key) for key in ("id", "call_id", "status") if key in c}}
    wire["output"] = w.parts(parts, c.pop("output", None))
    return wire


tools.same("function", "name description parameters strict defer_loading allowed_callers async output_schema")
