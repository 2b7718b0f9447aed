"""What the tests of meaning across protocols have in common: names, small requests, and a report by its paths."""

from __future__ import annotations

from typing import Any

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
INTERACTIONS, GENERATE, CONVERSE = "google-interactions", "google-generate-content", "amazon-converse"
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
Node = dict[str, Any]

PARAMETERS = {"type": "object", "properties": {"x": {"type": "string"}}}
LOCAL = {"type": "function", "name": "f", "parameters": PARAMETERS, "strict": False}


def told(done: ul.Converted) -> dict[str, tuple[str, str]]:
    """The capability and the fate of each entry of a report, by its path."""
    return {loss.path: (loss.capability, loss.fate) for loss in done.losses}


def messages(**settings: Any) -> Node:
    """A small request of Messages."""
    return {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "q"}], **settings}


def interaction(**settings: Any) -> Node:
    """A small request of Interactions."""
    return {"model": "m", "input": "q", **settings}
