"""Canonical nodes that growing documents are made of (see `growth.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

Node = dict[str, Any]
CHAT, RESPONSES, MESSAGES, GENERATE, INTERACTIONS = PROTOCOLS = (
    "openai-chat",
    "openai-responses",
    "anthropic-messages",
    "google-generate-content",
    "google-interactions",
)


def message(role: str, text: Any) -> Node:
    return {"type": "message", "role": role, "content": text}


def call(n: int | str, arguments: str = '{"a": 1}') -> Node:
    return {"type": "function_call", "call_id": f"call_{n}", "name": "f", "arguments": arguments}


def result(n: int | str) -> Node:
    return {"type": "function_call_output", "call_id": f"call_{n}", "output": f"result {n}"}


def text(n: int, **more: Any) -> Node:
    return {"type": "input_text", "text": f"text {n}", **more}


def said(n: int, **more: Any) -> Node:
    return {"type": "output_text", "text": f"text {n}", **more}


def reasoning(n: int, signed_by: str = "") -> Node:
    node: Node = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": f"thought {n}"}]}
    if signed_by:
        origin = {"protocol": signed_by, "provider": signed_by.partition("-")[0]}
        node["opaque"] = [{"kind": "signature", "data": f"c2lnbmF0dXJl{n:08}", "origin": origin}]
    return node


def citation(n: int) -> Node:
    return {
        "type": "url_citation",
        "url": f"https://example.com/{n}",
        "title": f"Page {n}",
        "start_index": 7 * n,
        "end_index": 7 * n + 6,
    }


def tool(n: int | str, **schema: Any) -> Node:
    parameters = {"type": "object", "properties": {"a": {"type": "string", **schema}}, "required": ["a"]}
    return {"type": "function", "name": f"tool_{n}", "description": "A tool.", "parameters": parameters}


def cached(n: int) -> Node:
    return text(n, cache={"type": "ephemeral"})


ROLES = ("user", "assistant")
QUESTION = message("user", "question")
PNG = "data:image/png;base64,iVBORw0KGgo="


_SERIALS = count()


def asks(*items: Any, **more: Any) -> Node:
    """A request. Its first schema is another one each time: what became of a few tools is remembered, of many not."""
    first, *others = more.get("tools") or ({},)
    if "parameters" in first:
        schema = {**first["parameters"], "description": f"Number {next(_SERIALS)}."}
        more = {**more, "tools": [{**first, "parameters": schema}, *others]}
    return {"model": "m", "max_output_tokens": 9, "input": [*items], **more}


def pairs(n: int) -> Iterator[Node]:
    for i in range(n):
        yield call(i)
        yield result(i)


def answer(*items: Node, **more: Any) -> Node:
    items = tuple({"status": "completed", **item} for item in items)
    return {"id": "r", "status": "completed", "model": "m", "created_at": 1, "output": [*items], **more}


def answered(*parts: Node) -> Node:
    return message("assistant", [*parts])
