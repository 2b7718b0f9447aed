"""Growing conversations: closed turns are written to the same bytes, so that provider prompt caches keep hitting."""

from __future__ import annotations

import pytest

from corpus import pairs, records, show
from unified_llm import suite

HISTORY = {
    "openai-chat": "messages",
    "openai-responses": "input",
    "google-interactions": "input",
    "google-generate-content": "contents",
    "anthropic-messages": "messages",
    "amazon-converse": "messages",
}


@pytest.mark.parametrize(("source", "target", "_kind"), pairs("request"))
def test_prefix_stability(source: str, target: str, _kind: str) -> None:
    found = list(records(source, "request"))
    failures = suite.prefix_stability(found, target, history=HISTORY[source], target_history=HISTORY[target])
    assert any(_users(record["body"], HISTORY[source]) > 2 for record in found), "no conversation that grows"
    assert not failures, show(failures, "prefix stability", len(found))


def _users(body: object, key: str) -> int:
    turns = body.get(key) if isinstance(body, dict) else None
    return (
        sum(isinstance(node, dict) and node.get("role") == "user" for node in turns) if isinstance(turns, list) else 0
    )
