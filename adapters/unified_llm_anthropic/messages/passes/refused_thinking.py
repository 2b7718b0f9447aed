"""Thoughts that Claude refuses because something before them changed: it is told to drop them.

Newer models take a thought only where all that came before it is as it was. A client of another protocol that cuts or
edits its conversation knows nothing of thoughts, and would get the same error for ever.

https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.adapter import Amended

__all__ = ["amended"]

Node = dict[str, Any]

_REFUSAL = "bound to a different conversation"
_BETA = "thinking-binding-controls-2026-08-01"
_BINDING = {"prefix_mismatch_behavior": "drop_block"}
_THOUGHTS = frozenset(("thinking", "redacted_thinking"))


def amended(body: Any, message: str) -> Amended | None:
    """A refused request with leave to drop its thoughts, or without them where it requests no thinking.

    >>> refused = "messages.1.content.0: Invalid `signature`. The block is bound to a different conversation."
    >>> found = amended({"thinking": {"type": "adaptive"}, "messages": []}, refused)
    >>> found.body["thinking"]
    {'type': 'adaptive', 'block_binding': {'prefix_mismatch_behavior': 'drop_block'}}
    >>> found.headers
    {'anthropic-beta': 'thinking-binding-controls-2026-08-01'}
    """
    if _REFUSAL not in message or type(body) is not dict or type(body.get("messages")) is not list:
        return None
    thinking = body.get("thinking")
    if thinking is None and "effort" in (body.get("output_config") or {}):
        thinking = {"type": "adaptive"}  # as these models take an effort alone
    if type(thinking) is dict and thinking.get("type") in ("adaptive", "enabled"):
        if "block_binding" in thinking:
            return None
        body = {**body, "thinking": {**thinking, "block_binding": _BINDING}}
        why = "the provider refused thoughts before which the conversation changed, and drops them"
        keys = ("thinking", "block_binding")
        return Amended(body, {"anthropic-beta": _BETA}, keys, "added", "reasoning.context", why)
    messages = [_without_thoughts(each) for each in body["messages"]]
    if messages == body["messages"]:
        return None
    why = "the provider refused thoughts before which the conversation changed"
    return Amended({**body, "messages": messages}, {}, ("messages",), "lost", "reasoning.signature", why)


def _without_thoughts(message: Any) -> Any:
    """A message of the model without its thoughts, if anything is left then."""
    if type(message) is not dict or message.get("role") != "assistant" or type(message.get("content")) is not list:
        return message
    content = [block for block in message["content"] if type(block) is not dict or block.get("type") not in _THOUGHTS]
    return {**message, "content": content} if content and len(content) < len(message["content"]) else message
