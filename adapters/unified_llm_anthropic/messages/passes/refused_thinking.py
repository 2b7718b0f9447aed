"""Thoughts that Claude refuses because something before them changed: the request allows it to drop them.

Newer models take a thought only where all that came before it is as it was. A client of another protocol that cuts or
edits its conversation sees no thoughts, and would get the same error in each turn.

https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.adapter import Amended
from unified_llm.engine.shared.refused_thoughts import REFUSED, are_refused, without_thoughts

__all__ = ["amended"]

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
    if not are_refused(message) or type(body) is not dict or type(body.get("messages")) is not list:
        return None
    thinking = body.get("thinking")
    if thinking is None and "effort" in (body.get("output_config") or {}):
        thinking = {"type": "adaptive"}  # as these models take an effort alone
    if type(thinking) is not dict or thinking.get("type") not in ("adaptive", "enabled"):
        return without_thoughts(body, lambda block: block.get("type") in _THOUGHTS)
    if "block_binding" in thinking:
        return None
    body = {**body, "thinking": {**thinking, "block_binding": _BINDING}}
    why = f"{REFUSED}; it drops them now"
    return Amended(body, "reasoning.context", why, ("thinking", "block_binding"), {"anthropic-beta": _BETA})
