"""What servers of Chat Completions send behind the deltas of a stream: whole messages, other values, counts again."""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"


def _chunks(*choices: dict[str, Any]) -> list[dict[str, Any]]:
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return [{"event": None, "data": {**head, "choices": [each]}} for each in choices] + [
        {"event": None, "data": "[DONE]"}
    ]


@pytest.mark.parametrize("more", [{}, {"delta": {}}])
def test_a_message_in_the_only_chunk_is_the_answer(more: dict[str, Any]) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": "Hi", "tool_calls": [call], "odd": 1}
    events = _chunks({"index": 0, **more, "message": message, "finish_reason": "tool_calls"})
    assert list(ul.convert_stream(events, source=CHAT, target=CHAT)) == events
    output = ul.collect(ul.read_stream(events, CHAT))["output"]
    assert [item["type"] for item in output] == ["message", "function_call"]
    assert output[0]["content"] == [{"type": "output_text", "text": "Hi"}]
    stream = ul.convert_stream(events, source=CHAT, target=MESSAGES)
    list(stream)
    assert [loss.path for loss in stream.losses if loss.fate == "lost"] == ["/0/data/choices/0/message/odd"]


@pytest.mark.parametrize(("text", "lost"), [("Hi", []), ("Hi all", ["/1/data/choices/0/message/content"])])
def test_a_message_behind_its_deltas_is_reported_where_it_differs(text: str, lost: list[str]) -> None:
    message = {"role": "assistant", "content": text, "audio_content": ""}
    events = _chunks(
        {"index": 0, "delta": {"role": "assistant", "content": "Hi"}},
        {"index": 0, "message": message, "finish_reason": "stop"},
    )
    stream = ul.convert_stream(events, source=CHAT, target=MESSAGES)
    assert [e["data"]["delta"]["text"] for e in stream if e["event"] == "content_block_delta"] == ["Hi"]
    assert [loss.path for loss in stream.losses if loss.fate == "lost"] == lost


@pytest.mark.parametrize(("text", "lost"), [("{}", []), ('{"a":1}', ["/1/data/choices/0/message/tool_calls"])])
def test_calls_behind_their_deltas_are_reported_where_they_differ(text: str, lost: list[str]) -> None:
    call: dict[str, Any] = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "tool_calls": [{**call, "function": {"name": "f", "arguments": text}}]}
    events = _chunks(
        {"index": 0, "delta": {"role": "assistant", "tool_calls": [{"index": 0, **call}]}},
        {"index": 0, "delta": {}, "message": message, "finish_reason": "tool_calls"},
    )
    stream = ul.convert_stream(events, source=CHAT, target=MESSAGES)
    list(stream)
    assert [loss.path for loss in stream.losses if loss.fate == "lost"] == lost


@pytest.mark.parametrize("place", ["choice", "chunk", "delta"])
@pytest.mark.parametrize("target", [RESPONSES, MESSAGES])
def test_each_value_that_a_later_chunk_replaces_is_reported(place: str, target: str) -> None:
    """The filter results of Azure stand beside each delta, and a chunk may have another fingerprint than the first."""
    key = {"choice": "content_filter_results", "chunk": "system_fingerprint", "delta": "channel_number"}[place]
    values: list[Any] = [{"hate": {"severity": "safe"}}, {"hate": {"severity": "low"}}, {"hate": {"severity": "low"}}]
    if place != "choice":
        values = ["fp_1", "fp_2", "fp_2"] if place == "chunk" else [1, 2, 2]
    stop: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": "stop"}
    texts = [{"index": 0, "delta": {"content": text}, "finish_reason": None} for text in "abc"]
    events = _chunks(*texts, stop)
    paths = []
    for number, value in enumerate(values):
        data = events[number]["data"]
        choice = data["choices"][0]
        {"choice": choice, "chunk": data, "delta": choice["delta"]}[place][key] = value
        paths.append({"choice": "choices/0/", "chunk": "", "delta": "choices/0/delta/"}[place] + key)
    stream = ul.convert_stream(events, source=CHAT, target=target)
    list(stream)
    lost = sorted(loss.path for loss in stream.losses if loss.fate == "lost")
    assert lost == [f"/{number}/data/{path}" for number, path in enumerate(paths[:2])]
    assert list(ul.convert_stream(events, source=CHAT, target=CHAT)) == events


def test_usage_of_an_earlier_chunk_is_kept_where_the_last_one_has_none() -> None:
    """Servers that count as they go may leave the details, or a count of their own, to one chunk."""
    details = {"cached_tokens": 2, "image_tiles": 1}
    first = {
        "prompt_tokens": 3,
        "completion_tokens": 0,
        "total_tokens": 3,
        "queue": 5,
        "prompt_tokens_details": details,
    }
    last = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "prompt_tokens_details": None}
    texts = [{"index": 0, "delta": {"content": text}, "finish_reason": None} for text in "ab"]
    events = _chunks(*texts, {"index": 0, "delta": {}, "finish_reason": "stop"})
    for event, usage in zip(events, (first, {**last, "prompt_tokens_details": {"image_tiles": 4}}, last), strict=False):
        event["data"]["usage"] = usage
    stream = ul.convert_stream(events, source=CHAT, target=RESPONSES)
    usage = list(stream)[-1]["data"]["response"]["usage"]
    assert (usage["output_tokens"], usage["input_tokens_details"]["cached_tokens"]) == (2, 2)
    lost = sorted(loss.path for loss in stream.losses if loss.fate == "lost")
    assert lost == ["/0/data/usage/queue", "/1/data/usage/prompt_tokens_details/image_tiles"]


@pytest.mark.parametrize("target", [CHAT, MESSAGES, RESPONSES])
def test_usage_that_grows_leaves_the_chunks_as_they_are(target: str) -> None:
    counts = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    events: list[dict[str, Any]] = []
    for delta, finish, details in (({"content": "a"}, None, {}), ({}, "stop", {"cached_tokens": 2})):
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        data = {**head, "choices": [choice], "usage": {**counts, "prompt_tokens_details": details}}
        events.append({"event": None, "data": data})
    before = json.dumps(events)
    stream = list(ul.convert_stream([*events, {"event": None, "data": "[DONE]"}], source=CHAT, target=target))
    assert json.dumps(events) == before
    assert ul.collect(ul.read_stream(stream, target))["usage"]["input_tokens_details"]["cached_tokens"] == 2
    assert list(ul.convert_stream(events, source=CHAT, target=CHAT)) == events


def test_a_value_beside_a_delta_behind_the_end_is_reported() -> None:
    choice = {"index": 0, "delta": {"content": "a"}, "finish_reason": "stop", "region": "x"}
    events = _chunks(choice, {"index": 0, "delta": {}, "finish_reason": None, "region": "y"})
    for target in (RESPONSES, MESSAGES):
        stream = ul.convert_stream(events, source=CHAT, target=target)
        list(stream)
        lost = {loss.path for loss in stream.losses if loss.fate == "lost"}
        assert lost == {"/0/data/choices/0/region", "/1/data/choices/0/region"}
