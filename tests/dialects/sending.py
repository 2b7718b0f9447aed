"""A request to a vendor's server: what is sent, and what is reported."""

from __future__ import annotations

from typing import Any

import unified_llm as ul

Node = dict[str, Any]

USER = {"role": "user", "content": "q"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
NAMED = {"type": "function", "function": {"name": "f"}}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object", "properties": {}}}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "r"}


def send(vendor: str, source: str = "openai-chat", **body: Any) -> ul.Converted:
    body = {"model": "m", "messages": [USER], **body} if source == "openai-chat" else body
    return ul.convert(body, source=source, target=f"openai-chat:{vendor}")


def fates(done: ul.Converted) -> dict[str, str]:
    return {loss.path: loss.fate for loss in done.losses}


def rest(done: ul.Converted) -> Node:
    return {key: value for key, value in done.value.items() if key not in ("model", "messages", "tools")}
