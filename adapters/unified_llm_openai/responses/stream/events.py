"""The facts of the Responses API's streams that are tables: which events there are, and what stands in them.

https://platform.openai.com/docs/api-reference/responses-streaming
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import json_types
from unified_llm.streams.collect_and_decompose import FRAME
from unified_llm.types._tables import EVENT_TYPES

__all__ = [
    "ALIASES",
    "BRACKETS",
    "EVENTS",
    "FAMILY",
    "HOT",
    "LIFECYCLE",
    "OPENINGS",
    "PART_STEMS",
    "SIMPLE",
    "STEMS",
    "STRICT_NAMES",
    "TERMINAL",
    "UNFRAMED",
    "type_of_item",
]

FAMILY = "openai-responses events"
# In the context of a writer: what it writes was read from a server whose events are not framed for clients of the API.
UNFRAMED = "unframed"
TERMINAL = frozenset(("response.completed", "response.incomplete", "response.failed"))
LIFECYCLE = TERMINAL | {"response.created", "response.queued", "response.in_progress"}

# Canonical events of other protocols, which have no form here.
_OTHERS = ("response.output_audio", "response.output_image")

EVENTS: dict[str, dict[str, frozenset[type]]] = {
    kind: {
        key: types
        for key, types in json_types("event:error" if kind == "error" else kind).items()
        if key not in ("extra", "choice")
    }
    for kind in EVENT_TYPES
    if kind != FRAME and not kind.startswith(_OTHERS)
}
"""Event type -> the keys it has, with their JSON types."""

# Open Responses' names for raw reasoning, and vLLM's for its parts; the SDK's are the canonical ones.
ALIASES = {
    "response.reasoning.delta": "response.reasoning_text.delta",
    "response.reasoning.done": "response.reasoning_text.done",
    "response.reasoning_part.added": "response.content_part.added",
    "response.reasoning_part.done": "response.content_part.done",
}

# Stem -> (list it builds in, index key, key of its done event): `<stem>.delta` and `<stem>.done`.
STEMS: dict[str, tuple[str, str, str]] = {
    "response.output_text": ("content", "content_index", "text"),
    "response.refusal": ("content", "content_index", "refusal"),
    "response.reasoning_text": ("content", "content_index", "text"),
    "response.reasoning_summary_text": ("summary", "summary_index", "text"),
    "response.function_call_arguments": ("", "", "arguments"),
    "response.custom_tool_call_input": ("", "", "input"),
    "response.mcp_call_arguments": ("", "", "arguments"),
    "response.code_interpreter_call_code": ("", "", "code"),
}
# Type of part -> the stem of its deltas and the key they build.
PART_STEMS = {
    "output_text": ("response.output_text", "text"),
    "refusal": ("response.refusal", "refusal"),
    "reasoning_text": ("response.reasoning_text", "text"),
    "summary_text": ("response.reasoning_summary_text", "text"),
}
BRACKETS = {"content": "response.content_part", "summary": "response.reasoning_summary_part"}

# Open Responses' names of the events of raw reasoning.
STRICT_NAMES = {
    "response.reasoning_text.delta": "response.reasoning.delta",
    "response.reasoning_text.done": "response.reasoning.done",
}
# Deltas that a stream is full of.
HOT = frozenset(
    f"response.{stem}.delta" for stem in "output_text function_call_arguments refusal reasoning_text".split()
) | {"response.reasoning_summary_text.delta"}

# Events that hold nothing but words, with the keys they have here.
SIMPLE = {kind: frozenset(keys) for kind, keys in EVENTS.items() if not keys.keys() & {"part", "annotation", "item"}}

# How an item looks that was not announced, by its type; with the stem of its own deltas.
OPENINGS: dict[str, tuple[dict[str, Any], str]] = {
    "message": ({"role": "assistant", "content": []}, ""),
    "reasoning": ({"summary": []}, ""),
    "function_call": ({"name": "", "arguments": ""}, "response.function_call_arguments"),
    "custom_tool_call": ({"name": "", "input": ""}, "response.custom_tool_call_input"),
    "mcp_call": ({"arguments": ""}, "response.mcp_call_arguments"),
    "code_interpreter_call": ({"code": ""}, "response.code_interpreter_call_code"),
}


def varying(data: dict[str, Any]) -> tuple[str, ...]:
    """The keys that differ beside the text in deltas like this one: its number, and what hides its length."""
    return tuple(key for key in ("sequence_number", "obfuscation") if key in data)


def type_of_item(kind: str) -> str | None:
    """The type of the item that an event of this kind is about, as far as its name determines it."""
    name = kind.removeprefix("response.")
    if name.startswith(("output_text", "refusal", "content_part")):
        return "message"
    if name.startswith("reasoning"):
        return "reasoning"
    for type_ in OPENINGS:
        if name.startswith(type_):
            return type_
    return None
