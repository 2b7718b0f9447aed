"""A changed canonical leaf is in the wire document of its own protocol, and nothing else moved."""

from __future__ import annotations

import pytest

import unified_llm as ul
from corpus import cases, records, show
from unified_llm import suite


@pytest.mark.parametrize(("protocol", "kind"), cases("request", "response", "error"))
def test_edit(protocol: str, kind: str) -> None:
    seen: set[tuple[str, ...]] = set()
    failures = suite.edit(protocol, records(protocol, kind), seen)
    assert len(seen) >= 4
    assert not failures, show(failures, "edit", len(seen))


HI = [{"role": "user", "content": "Hi"}]
DETAILS = [
    {"type": "reasoning.text", "text": "t", "signature": "s", "format": "anthropic-claude-v1", "index": 0},
    {"kind": "reasoning.summary", "summary": "u", "index": 1},
]
THOUGHTFUL = {"role": "assistant", "content": "x", "reasoning_details": DETAILS}


@pytest.mark.parametrize(
    "own",
    [
        {"thinking": {"type": "disabled"}, "reasoning_effort": "high"},
        {"thinking": {"type": "enabled", "budget_tokens": 100}, "reasoning_effort": "high"},
        {"thinking": {"type": "adaptive"}, "reasoning": {"max_tokens": 100}},
        {"messages": [*HI, THOUGHTFUL, *HI]},
    ],
    ids=["off", "on", "two objects", "details"],
)
def test_edit_of_what_other_servers_of_chat_have(own: dict[str, object]) -> None:
    """DeepSeek's switch beside the effort, OpenRouter's details: what is edited is what is written, or reported."""
    body = {"model": "m", "messages": HI, **own}
    record = {"id": "own", "protocol": "openai-chat", "kind": "request", "body": body}
    assert suite.edit("openai-chat", [record]) == []
    assert ul.write(ul.read(body, "openai-chat"), "openai-chat").value == body
