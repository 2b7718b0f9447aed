"""A citation that comes when its text is complete and a tool call has begun."""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul

CITED = [
    {
        "type": "url_citation",
        "url_citation": {"url": "https://tides.test", "title": "T", "start_index": 0, "end_index": 4},
    }
]
CALL = [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}]


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    data = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {"event": None, "data": {**data, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}}


def stream(*deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [*map(chunk, deltas), chunk({}, "tool_calls"), {"event": None, "data": "[DONE]"}]


@pytest.mark.parametrize("target", ["anthropic-messages", "google-interactions", "amazon-converse", "openai-responses"])
def test_is_reported_where_it_has_no_place_any_more(target: str) -> None:
    events = stream({"role": "assistant", "content": "High water."}, {"tool_calls": CALL}, {"annotations": CITED})
    found = ul.convert_stream(events, source="openai-chat", target=target)
    assert "tides.test" not in json.dumps([*found])
    path = "/2/data/choices/0/delta/annotations/0"
    assert [(loss.capability, loss.fate) for loss in found.losses if loss.path == path] == [("citations.url", "lost")]


def test_arrives_where_a_stream_has_its_citations_at_its_end() -> None:
    events = stream({"role": "assistant", "content": "High water."}, {"tool_calls": CALL}, {"annotations": CITED})
    found = ul.convert_stream(events, source="openai-chat", target="google-generate-content")
    assert "tides.test" in json.dumps([*found])
    assert not [loss for loss in found.losses if "annotations/0" in loss.path and loss.path.endswith(("0", "url"))]


@pytest.mark.parametrize("target", ["anthropic-messages", "google-interactions"])
def test_one_in_time_is_sent(target: str) -> None:
    events = stream({"role": "assistant", "content": "High water."}, {"annotations": CITED}, {"tool_calls": CALL})
    found = ul.convert_stream(events, source="openai-chat", target=target)
    assert "tides.test" in json.dumps([*found])
    assert not [loss for loss in found.losses if loss.detail == "it came after its text was complete"]
