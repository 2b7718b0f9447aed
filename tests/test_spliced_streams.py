"""A second message spliced into a stream of Messages: what was open ends, and nothing is dropped."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

MESSAGES = "anthropic-messages"
Node = dict[str, Any]


def start(id_: str) -> Node:
    message = {
        "id": id_, "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
        "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    return {"type": "message_start", "message": message}


def call(id_: str, name: str, *, stop: bool) -> list[Node]:
    block = {"type": "tool_use", "id": id_, "name": name, "input": {}}
    frames: list[Node] = [
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a":1}'}},
    ]  # fmt: skip
    return [*frames, {"type": "content_block_stop", "index": 0}] if stop else frames


FRAMES = [
    start("msg_1"), *call("t1", "f", stop=False), start("msg_2"), *call("t2", "g", stop=True),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None},
     "usage": {"output_tokens": 3}},
    {"type": "message_stop"},
]  # fmt: skip
EVENTS = [{"event": frame["type"], "data": frame} for frame in FRAMES]


@pytest.mark.parametrize(
    "target", ["openai-chat", "openai-responses", "google-generate-content", "google-interactions"]
)
def test_both_calls_arrive_and_what_has_no_place_is_told(target: str) -> None:
    stream = ul.convert_stream(iter(EVENTS), source=MESSAGES, target=target)
    answer = ul.collect(ul.read_stream(stream, target))
    calls = [(item["name"], item["arguments"]) for item in answer["output"] if item["type"] == "function_call"]
    assert calls == [("f", '{"a":1}'), ("g", '{"a":1}')]
    assert ("/3/data/message/id", "lost") in [(loss.path, loss.fate) for loss in stream.losses]


def test_every_item_that_opens_in_responses_is_closed() -> None:
    data = [event["data"] for event in ul.convert_stream(iter(EVENTS), source=MESSAGES, target="openai-responses")]
    opened = [each["output_index"] for each in data if each["type"] == "response.output_item.added"]
    closed = [each["output_index"] for each in data if each["type"] == "response.output_item.done"]
    assert opened == closed == [0, 1]


def test_its_own_protocol_keeps_every_frame() -> None:
    stream = ul.convert_stream(iter(EVENTS), source=MESSAGES, target=MESSAGES)
    assert [event["data"] for event in stream] == FRAMES


def test_results_of_a_search_have_the_list_that_interactions_requires() -> None:
    hit = {"type": "web_search_result", "url": "https://e.org", "title": "E", "encrypted_content": "RW5j"}
    content = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [hit]},
    ]
    body = {**start("msg_1")["message"], "content": content, "stop_reason": "end_turn"}
    done = ul.convert(body, source=MESSAGES, target="google-interactions", kind="response")
    (result,) = [step for step in done.value["steps"] if step["type"] == "google_search_result"]
    assert result["result"] == []
