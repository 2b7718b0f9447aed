"""Conversations with opaque data, and what a vault gives back to them."""

from __future__ import annotations

from typing import Any

import unified_llm as ul
from unified_llm.provenance.vault import unpark

Node = dict[str, Any]


def signed(data: str) -> list[Node]:
    return [{"kind": "thought_signature", "data": data, "origin": {"protocol": "p"}}]


def thought(data: str) -> Node:
    return {"type": "reasoning", "summary": [], "opaque": signed(data)}


def call(call_id: str, city: str = "Oslo", **more: Any) -> Node:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": f'{{"city":"{city}"}}', **more}


def result(call_id: str, text: str = "mild") -> Node:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def said(text: str, role: str = "assistant") -> Node:
    return {"type": "message", "role": role, "content": [{"type": "output_text", "text": text}]}


ASKED = said("q", "user")


def home(vault: ul.Vault, *items: Node, **settings: Any) -> list[Node]:
    return unpark({"input": list(items), **settings}, vault)
