"""What the pieces of a call have and no call repeats is in the report of a stream."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from stream_reports import MESSAGE, chunk, lost, named, others, plain

Node = dict[str, Any]


def test_a_choice_that_goes_on_after_its_end() -> None:
    frames = plain(chunk({"content": "Hi"}, "stop"), chunk({"content": " there"}, "length"))
    assert "/1/data/choices/0/finish_reason" in lost(frames, "openai-chat", "openai-responses")
    told = ul.collect(ul.read_stream(frames, "openai-chat"))
    assert [part["text"] for item in told["output"] for part in item["content"]] == ["Hi", " there"]
    blocks = [each["event"] for each in ul.convert_stream(frames, source="openai-chat", target="anthropic-messages")]
    assert blocks.count("content_block_stop") == blocks.count("content_block_start") == 2


def test_a_call_that_is_told_as_a_stream_keeps_an_unknown_caller() -> None:
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}, "caller": {"type": "dial", "number": 1}}
    head = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use"}
    usage = {"input_tokens": 1, "output_tokens": 1}
    answer = {**head, "content": [call], "stop_sequence": None, "usage": usage}
    canonical = ul.read(answer, "anthropic-messages", "response")
    stream = ul.write_stream(ul.decompose(canonical), "anthropic-messages")
    started = next(event["data"] for event in stream if event["event"] == "content_block_start")
    assert started["content_block"]["caller"] == call["caller"]
    assert not [loss for loss in stream.losses if "caller" in loss.path]


def test_a_call_in_pieces_is_reported_where_it_opens() -> None:
    def frame(call: Node, finish: Node | None = None, **part: Any) -> Node:
        content = {"role": "model", "parts": [{"functionCall": call, **part}]}
        return {"candidates": [{"content": content, **(finish or {})}], "modelVersion": "g"}

    frames = plain(
        frame({"name": "f", "willContinue": True}, thoughtSignature="U0lHTkFUVVJFLUxPTkc=", zz=1),
        frame({"partialArgs": [{"jsonPath": "$.a", "stringValue": "B"}], "willContinue": True}),
        frame({}, {"finishReason": "STOP"}),
    )
    for target in others("google-generate-content"):
        stream = ul.convert_stream(frames, source="google-generate-content", target=target)
        list(stream)
        told = {loss.path: loss.fate for loss in stream.losses}
        assert told["/0/data/candidates/0/content/parts/0/zz"] == "lost"
        assert "/2/data" not in told


@pytest.mark.parametrize("target", others("anthropic-messages"))
def test_a_detail_of_the_usage_is_named_and_not_what_holds_it(target: str) -> None:
    counts = {"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4, "zz": 1}}
    frames = named(
        {"type": "message_start", "message": MESSAGE},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": counts},
        {"type": "message_stop"},
    )
    found = {path for path in lost(frames, "anthropic-messages", target) if "details" in path}
    assert found == {"/1/data/usage/output_tokens_details/zz"}
