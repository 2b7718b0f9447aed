"""What stands around an answer: when it was made, what it cost, and that reading and writing is converting."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

import unified_llm as ul
from corpus import pairs, records

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
GENERATE, INTERACTIONS = "google-generate-content", "google-interactions"
Node = dict[str, Any]
Event = dict[str, Any]

ENVELOPE = base64.b64encode(b"unified_llm:").decode()
TIME, SECONDS = "2026-05-27T16:53:45.443719Z", 1779900825


def frame(text: str, **candidate: Any) -> Node:
    part = {"content": {"role": "model", "parts": [{"text": text}]}, **candidate}
    return {
        "candidates": [part],
        "createTime": TIME,
        "modelVersion": "m",
        "usageMetadata": {"trafficType": "ON_DEMAND"},
    }


FRAMES = [{"event": None, "data": frame("a")}, {"event": None, "data": frame("b", finishReason="STOP")}]


def stream(events: list[Event], source: str, target: str) -> tuple[list[Any], ul.Losses]:
    converted = ul.convert_stream(iter(events), source=source, target=target)
    data = [event["data"] for event in converted]
    return data, converted.losses


def test_chat_tells_whole_seconds_and_says_that_the_rest_is_gone() -> None:
    done = ul.convert(frame("a", finishReason="STOP"), source=GENERATE, target=CHAT, kind="response")
    assert (done.value["created"], type(done.value["created"])) == (SECONDS, int)
    data, losses = stream(FRAMES, GENERATE, CHAT)
    assert {chunk["created"] for chunk in data if type(chunk) is dict} == {SECONDS}
    for report in (done.losses, losses):
        assert [loss.fate for loss in report if loss.path.endswith("/createTime")] == ["approximated"]


def test_a_stream_says_when_from_its_first_event_on() -> None:
    data, _ = stream(FRAMES, GENERATE, RESPONSES)
    assert {each["response"]["created_at"] for each in data if "response" in each} == {1779900825.443719}
    data, _ = stream(FRAMES, GENERATE, INTERACTIONS)
    assert data[0]["interaction"]["created"] == "2026-05-27T16:53:45.443719Z"


def test_a_fraction_of_a_second_in_chat_stays_in_chat() -> None:
    body = {"id": "c", "object": "chat.completion", "created": 1.5, "model": "m"}
    body["choices"] = [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]
    assert ul.convert(body, source=CHAT, target=CHAT, kind="response").value == body


@pytest.mark.parametrize("target", [CHAT, INTERACTIONS, GENERATE])
def test_an_object_of_counts_that_would_be_empty_is_not_written(target: str) -> None:
    sources = {GENERATE: frame("a", finishReason="STOP"), CHAT: {
        "id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": {"odd": 1},
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
    }}  # fmt: skip
    for source, body in sources.items():
        if source != target:
            done = ul.convert(body, source=source, target=target, kind="response")
            if target == GENERATE:  # each answer of the API has the object
                assert done.value["usageMetadata"] == {}
                assert ("/usageMetadata", "added") in {(loss.path, loss.fate) for loss in done.losses}
            else:
                assert not done.value.keys() & {"usage", "usageMetadata"}, source
    if target != GENERATE:
        data, _ = stream(FRAMES, GENERATE, target)
        text = json.dumps(data)
        assert '"usage": {}' not in text


def test_empty_counts_are_kept_by_their_own_protocol() -> None:
    bodies = {
        GENERATE: {**frame("a", finishReason="STOP"), "usageMetadata": {}},
        CHAT: {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [], "usage": {}},
        INTERACTIONS: {"id": "i", "object": "interaction", "status": "completed", "steps": [], "usage": {}},
    }
    for protocol, body in bodies.items():
        assert ul.convert(body, source=protocol, target=protocol, kind="response").value == body


def test_lifetimes_of_a_cache_are_told_in_the_words_of_their_own_protocol_only() -> None:
    written = {"ephemeral_5m_input_tokens": 85, "ephemeral_1h_input_tokens": 5}
    usage = {"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 90, "cache_creation": written}
    body = {
        "id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "stop_sequence": None, "content": [{"type": "text", "text": "x"}], "usage": usage,
    }  # fmt: skip
    for target in (CHAT, RESPONSES):
        done = ul.convert(body, source=MESSAGES, target=target, kind="response")
        assert "ephemeral" not in json.dumps(done.value)
        assert {loss.fate for loss in done.losses if "/usage/cache_creation/" in loss.path + "/"} == {"lost"}
    assert ul.convert(body, source=MESSAGES, target=MESSAGES, kind="response").value == body


def test_a_collected_stream_of_interactions_is_written_with_its_steps() -> None:
    head = {"id": "i", "object": "interaction"}
    events = [
        {"interaction": {**head, "status": "in_progress"}, "event_type": "interaction.created"},
        {"index": 0, "step": {"type": "model_output"}, "event_type": "step.start"},
        {"index": 0, "delta": {"text": "Hello", "type": "text"}, "event_type": "step.delta"},
        {"index": 0, "event_type": "step.stop"},
        {"interaction": {**head, "status": "completed"}, "event_type": "interaction.completed"},
    ]
    wire = [{"event": data["event_type"], "data": data} for data in events]
    wire.append({"event": "done", "data": "[DONE]"})
    answer = ul.collect(ul.read_stream(iter(wire), INTERACTIONS))
    written = ul.write(answer, INTERACTIONS, "response").value
    assert written["steps"] == [{"type": "model_output", "content": [{"type": "text", "text": "Hello"}]}]
    data, _ = stream(wire, INTERACTIONS, INTERACTIONS)
    assert data == [event["data"] for event in wire]


def test_an_answer_read_and_written_as_responses_is_complete() -> None:
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    body["choices"] = [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]
    value = ul.write(ul.read(body, CHAT, "response"), RESPONSES, "response").value
    assert (value["object"], value["status"], value["output"][0]["status"]) == ("response", "completed", "completed")
    assert value["output"][0]["id"].startswith("msg_")


# The words and the order that only a source protocol decides on: an error's code, the counts of modalities.
KIN = (GENERATE, INTERACTIONS)


@pytest.mark.parametrize(("source", "target", "_kind"), [pair for pair in pairs("response") if pair[1] not in KIN])
def test_write_of_read_is_convert(source: str, target: str, _kind: str) -> None:
    """But for envelopes and nulls: without a source there is none, and a null of another protocol's is not written."""
    seen = 0
    for record in list(records(source, "response"))[::2]:
        options = {"http": record["http"]} if record.get("http") else {}
        converted = ul.convert(record["body"], source=source, target=target, kind="response", **options).value
        written = ul.write(ul.read(record["body"], source, "response", **options), target, "response").value
        if ENVELOPE not in json.dumps([converted, written]):
            seen += 1
            assert without_nulls(written) == without_nulls(converted), record["id"]
    assert seen >= 5


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


def test_the_tokens_of_a_prompt_are_known_from_the_first_event_on() -> None:
    counts = {"promptTokenCount": 7, "candidatesTokenCount": 2, "totalTokenCount": 9}
    events = [{"event": None, "data": {**each["data"], "usageMetadata": counts}} for each in FRAMES]
    data, _ = stream(events, GENERATE, MESSAGES)
    assert data[0]["message"]["usage"]["input_tokens"] == 7
    data, _ = stream(events, GENERATE, INTERACTIONS)
    assert "usage" not in data[0]["interaction"]


def test_an_end_that_names_no_calls_beside_a_call_is_reported() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    body = {
        "id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "stop_sequence": None, "content": [call], "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    done = ul.convert(body, source=MESSAGES, target=CHAT, kind="response")
    assert done.value["choices"][0]["finish_reason"] == "tool_calls"
    assert [loss.fate for loss in done.losses if loss.path == "/stop_reason"] == ["approximated"]
