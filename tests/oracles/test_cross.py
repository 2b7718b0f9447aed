"""What our adapters write is judged by other code: every valid request, converted, is taken by the target's strict
validator, or the refusal is listed here with its reason. Recorded requests, and those of our fixtures that their own
protocol takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import unified_llm as ul
from corpus import records, show
from oracles import (
    anthropic_messages,
    google_generate_content,
    google_interactions,
    openai_responses,
    strict_anthropic_messages,
    strict_google_generate_content,
    strict_google_interactions,
    strict_openai_chat,
    strict_openai_responses,
)
from oracles.refusal import Refused
from oracles.surfaces import CHAT, CONTENT, INTERACTIONS, MESSAGES, PROTOCOLS, RESPONSES
from oracles.test_strict_corpus import CHECKS

MODELS = {
    CHAT: "gpt-5.6",
    RESPONSES: "gpt-5.6",
    MESSAGES: "claude-opus-4-8",
    CONTENT: "gemini-3-pro-preview",
    INTERACTIONS: "gemini-3-pro-preview",
}

ALONE = "a request that only goes on with a conversation which the server holds"
NOTHING = "a conversation of nothing, which Responses takes because a stored prompt says it all"
SAID = "what the caller said, and no other protocol says: it is theirs to change"
KNOWN = [
    ("*", r"without|unexpected|No tool (call|output) found|No function call found|has no function result", ALONE),
    ("*", r"must be a response to a preceeding|did not have response messages|function response turn comes", ALONE),
    (
        "*",
        r"'input': expected|at least one message|contents is not specified|'messages'.*empty|'input' (must|is missing)"
        r"|Missing required parameter: 'input'",
        NOTHING,
    ),
    ("*", r"user messages must have non-empty content|value of 'input' must not be empty", NOTHING),
    ("*", r"on_demand|ultrafast|'smell'|\"smell\"|\"document\"", SAID),
    (CHAT, r"'video_url'", "video, which servers of other vendors take"),
    (CHAT, r"Unknown parameter: 'top_k'", "a setting that servers of other vendors take"),
]
"""(target, pattern of the refusal, why): what is refused today. A line that nothing needs any more may go."""


def valid(source: str) -> Iterator[dict[str, Any]]:
    for record in records(source, "request"):
        try:
            CHECKS[source](record)
        except Refused:
            continue
        yield record


def judge(target: str, done: ul.Converted) -> None:
    """Raises what the provider would say."""
    headers = {name.lower(): value for name, value in ((done.http or {}).get("headers") or {}).items()}
    if target == CHAT:
        strict_openai_chat.check(done.value)
    elif target == RESPONSES:
        strict_openai_responses.check(done.value, seal=openai_responses.SEAL)
    elif target == MESSAGES:
        betas = [each.strip() for each in headers.get("anthropic-beta", "").split(",")]
        version = headers.get("anthropic-version", "2026-10-21")
        strict_anthropic_messages.check(done.value, seal=anthropic_messages.SEAL, version=version, betas=betas)
    elif target == CONTENT:
        strict_google_generate_content.check(done.value, MODELS[target], seal=google_generate_content.SEAL)
    else:
        strict_google_interactions.check(done.value, seal=google_interactions.SEAL)


@pytest.mark.parametrize("target", PROTOCOLS)
@pytest.mark.parametrize("source", PROTOCOLS)
def test_what_is_converted_is_taken(source: str, target: str) -> None:
    if source == target:
        pytest.skip("identity is a law of its own")
    failures, listed, count = [], 0, 0
    for record in valid(source):
        count += 1
        try:
            done = ul.convert(record["body"], source=source, target=target, model=MODELS[target], repair="auto")
            judge(target, done)
        except ul.CapabilityRefused:
            continue  # raised to the caller, before anything is sent
        except Refused as error:
            if any(to in ("*", target) and re.search(pattern, error.message) for to, pattern, _ in KNOWN):
                listed += 1
            else:
                failures.append((record["id"], error.message[:200]))
    assert count > 10 and not failures, show(failures, f"{source} to {target}", count)
    assert listed <= 0.1 * count + 1
