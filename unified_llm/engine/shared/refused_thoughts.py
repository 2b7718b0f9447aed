"""Thoughts that Claude refuses because something before them changed, at every API that has them: the request without.

https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..adapter import Amended

__all__ = ["REFUSED", "are_refused", "without_thoughts"]

REFUSED = "the provider refused thoughts before which the conversation changed"


def are_refused(message: str) -> bool:
    """Whether these are the words for such a refusal, which an API may put words of its own around."""
    return "bound to a different conversation" in message


def without_thoughts(body: Any, is_thought: Callable[[dict[str, Any]], bool]) -> Amended | None:
    """A request without the thoughts in messages of the model that hold anything else; None where there are none.

    >>> said = {"role": "assistant", "content": [{"type": "thinking"}, {"type": "text", "text": "Hi"}]}
    >>> without_thoughts({"messages": [said]}, lambda block: block["type"] == "thinking").body
    {'messages': [{'role': 'assistant', 'content': [{'type': 'text', 'text': 'Hi'}]}]}
    """
    messages = []
    for message in body["messages"]:
        is_said = type(message) is dict and message.get("role") == "assistant"
        content = message.get("content") if is_said else None
        blocks = content if type(content) is list else []
        kept = [block for block in blocks if type(block) is not dict or not is_thought(block)]
        messages.append({**message, "content": kept} if kept else message)
    if messages == body["messages"]:
        return None
    return Amended({**body, "messages": messages}, "reasoning.signature", REFUSED)
