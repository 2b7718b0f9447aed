"""Responses: each call of a stream is announced without its arguments, which come in pieces, and both are ended.

Clients join the pieces to what the announcement has, or wait for the end of the arguments.
https://platform.openai.com/docs/api-reference/responses-streaming/response/function_call_arguments
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from sdk_streams import followed_arguments
from unified_llm import suite

Node = dict[str, Any]
P = "openai-responses"
STEMS = {
    "function_call": ("response.function_call_arguments", "arguments"),
    "custom_tool_call": ("response.custom_tool_call_input", "input"),
    "mcp_call": ("response.mcp_call_arguments", "arguments"),
}
OTHERS = ("openai-chat", "anthropic-messages", "google-generate-content", "google-interactions", "amazon-converse")
RECORDS = [record for name in OTHERS for record in suite.records(name, "stream") if "truncated" not in record["id"]]


def calls(events: list[Node]) -> list[list[Node]]:
    """The frames of each call."""
    frames: dict[int, list[Node]] = {}
    for event in events:
        if type(event["data"]) is dict and "output_index" in event["data"]:
            frames.setdefault(event["data"]["output_index"], []).append(event["data"])
    return [each for each in frames.values() if each[0].get("item", {}).get("type") in STEMS]


@pytest.mark.parametrize("target", [P, "openai-responses:open-responses"])
@pytest.mark.parametrize("record", RECORDS, ids=lambda record: str(record["id"]))
def test_a_call_is_announced_streamed_and_ended(record: Node, target: str) -> None:
    for frames in calls(list(ul.convert_stream(record["events"], source=record["protocol"], target=target))):
        stem, key = STEMS[frames[0]["item"]["type"]]
        names = [frame["type"].rpartition("unified_llm:")[2] for frame in frames]
        assert names[0] == "response.output_item.added" and not frames[0]["item"][key]
        assert names[-2:] == [f"{stem}.done", "response.output_item.done"] and names.count(f"{stem}.done") == 1
        whole = frames[-1]["item"][key]
        assert "".join(frame["delta"] for frame in frames[1:-2] if "delta" in frame) == whole == frames[-2][key]


CONVERSE = [
    {"event": "messageStart", "data": {"role": "assistant"}},
    {
        "event": "contentBlockStart",
        "data": {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "t1", "name": "f"}}},
    },
    *(
        {"event": "contentBlockDelta", "data": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": piece}}}}
        for piece in ("", '{"a":', "1}")
    ),
    {"event": "contentBlockStop", "data": {"contentBlockIndex": 0}},
    {"event": "messageStop", "data": {"stopReason": "tool_use"}},
]
INTERACTIONS = [
    {
        "event": "interaction.start",
        "data": {
            "event_type": "interaction.start",
            "interaction": {"id": "v1", "status": "in_progress", "object": "interaction", "model": "m"},
        },
    },
    {
        "event": "content.start",
        "data": {"event_type": "content.start", "index": 0, "content": {"type": "function_call"}},
    },
    {
        "event": "content.delta",
        "data": {
            "event_type": "content.delta",
            "index": 0,
            "delta": {"type": "function_call", "id": "c1", "name": "f", "arguments": {"a": 1}},
        },
    },
    {"event": "content.stop", "data": {"event_type": "content.stop", "index": 0}},
    {
        "event": "interaction.complete",
        "data": {"event_type": "interaction.complete", "interaction": {"id": "v1", "status": "requires_action"}},
    },
]


@pytest.mark.parametrize(
    ("source", "events"),
    [("amazon-converse", CONVERSE), ("google-interactions", INTERACTIONS)],
    ids=["an empty piece comes first", "the name comes last"],
)
def test_the_sdk_joins_arguments_once(source: str, events: list[Node]) -> None:
    """Bedrock opens the input of each call of Claude with an empty piece."""
    written = list(ul.convert_stream(events, source=source, target=P))
    assert followed_arguments(written) == {0: '{"a":1}'}
