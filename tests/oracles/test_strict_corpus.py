"""What providers took is taken: recorded requests pass the strict validators, but for those listed here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from corpus import recorded, show
from oracles import (
    strict_anthropic_messages,
    strict_google_generate_content,
    strict_google_interactions,
    strict_openai_chat,
    strict_openai_responses,
)
from oracles.refusal import Refused
from oracles.surfaces import CHAT, CONTENT, INTERACTIONS, MESSAGES, PROTOCOLS, RESPONSES

Check = Callable[[dict[str, Any]], None]
OPENAI = ("openai", "azure", "fixture")
"""Whose two protocols are held to the letter; keys of other vendors pass."""
CHECKS: dict[str, Check] = {
    CHAT: lambda record: strict_openai_chat.check(record["body"], record["vendor"] not in OPENAI),
    RESPONSES: lambda record: strict_openai_responses.check(record["body"], record["vendor"] not in OPENAI),
    MESSAGES: lambda record: strict_anthropic_messages.check(record["body"]),
    CONTENT: lambda record: strict_google_generate_content.check(record["body"], record.get("model") or "gemini-2"),
    INTERACTIONS: lambda record: strict_google_interactions.check(record["body"]),
}
REFUSED = {
    "pai-5fa30f7044": "tool_calls: null, of a vendor whose server is lenient",
    "pai-b2ce6651dc": "a part of nothing but videoMetadata, which only gemini-2.0 took",
}
"""Recorded requests that are refused here, with the reason."""


def refusals(records: Any, protocol: str) -> tuple[dict[str, str], int]:
    found, count = {}, 0
    for record in records:
        count += 1
        try:
            CHECKS[protocol](record)
        except Refused as error:
            found[record["id"]] = error.message
    return found, count


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_recorded_requests_are_taken(protocol: str) -> None:
    found, count = refusals(recorded(protocol, "request"), protocol)
    if not count:
        pytest.skip("no recorded traffic: UNIFIED_LLM_CORPUS names none")
    assert not {key: text for key, text in found.items() if key not in REFUSED}, show([*found.items()], protocol, count)
    assert len(found) <= 0.03 * count
