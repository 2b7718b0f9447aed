"""The arguments of a call, sent in pieces, add up to those of its end: for every source, towards Responses."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

import unified_llm as ul
from corpus import records

RESPONSES = "openai-responses"
SOURCES = ("openai-chat", "anthropic-messages", "google-generate-content", "google-interactions")
KEYS = {"function_call": "arguments", "custom_tool_call": "input", "mcp_call": "arguments"}


def differing(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What the pieces of each call add up to beside its end, where the two differ."""
    pieces: dict[int, str] = defaultdict(str)
    found = []
    for event in events:
        if event["type"].endswith(("_call_arguments.delta", "_call_input.delta")):
            pieces[event["output_index"]] += event["delta"]
        key = KEYS.get(event["item"]["type"]) if event["type"] == "response.output_item.done" else None
        if key is not None:
            said = event["item"].get(key) or ""
            if said != pieces[event["output_index"]]:
                found.append((pieces[event["output_index"]], said))
    return found


@pytest.mark.parametrize("source", SOURCES)
def test_pieces_of_arguments_add_up_to_what_is_said_at_the_end(source: str) -> None:
    calls = 0
    for record in records(source, "stream"):
        data = [event["data"] for event in ul.convert_stream(record["events"], source=source, target=RESPONSES)]
        calls += sum(event["type"] == "response.output_item.done" and event["item"]["type"] in KEYS for event in data)
        assert not differing(data), record["id"]
    assert calls >= 5
