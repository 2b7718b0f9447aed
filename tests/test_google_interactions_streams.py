"""Google Interactions: how a stream begins and ends, and that steps come one after the other."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

IA = "google-interactions"


def chunks(*deltas: dict[str, Any], finish: str = "stop") -> list[dict[str, Any]]:
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    bodies = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    bodies.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return [{"event": None, "data": body} for body in bodies] + [{"event": None, "data": "[DONE]"}]


def call(index: int, **function: Any) -> dict[str, Any]:
    named = {"id": f"c{index}", "type": "function"} if "name" in function else {}
    return {"tool_calls": [{"index": index, **named, "function": function}]}


def test_a_stream_opens_and_ends_as_the_service_does() -> None:
    out = list(ul.convert_stream(chunks({"role": "assistant", "content": "Hi"}), source="openai-chat", target=IA))
    assert [event["event"] for event in out] == [
        "interaction.created",
        "interaction.status_update",
        "step.start",
        "step.delta",
        "step.stop",
        "interaction.completed",
        "done",
    ]
    assert "steps" not in out[-2]["data"]["interaction"]
    assert out[-1] == {"event": "done", "data": "[DONE]"}


def test_steps_never_interleave() -> None:
    deltas = [
        call(0, name="f", arguments=""),
        call(1, name="g", arguments=""),
        call(0, arguments="{}"),
        call(1, arguments="{}"),
    ]
    out = list(ul.convert_stream(chunks(*deltas, finish="tool_calls"), source="openai-chat", target=IA))
    inside = [(event["event"], event["data"]["index"]) for event in out if "index" in event["data"]]
    assert [index for _, index in inside] == sorted(index for _, index in inside)
    assert [name for name, _ in inside].count("step.stop") == 2


def test_a_cut_off_stream_is_an_error_event() -> None:
    whole = chunks({"role": "assistant", "content": "Hi"})
    out = list(ul.convert_stream(whole[:1], source="openai-chat", target=IA))
    assert "error" in [event["event"] for event in out]
    assert "interaction.completed" not in [event["event"] for event in out]


@pytest.mark.parametrize("word", [{"a": 1}, ["a"], 1, True, None])
@pytest.mark.parametrize("target", [IA, "openai-chat", "openai-responses", "google-generate-content"])
def test_words_that_are_no_words_break_no_stream(word: Any, target: str) -> None:
    whole = {"interaction": {"id": "v", "status": word, "errors": [{"code": word}]}}
    stream = [
        {"event_type": "interaction.created", "interaction": {"id": "v", "status": word}},
        {"event_type": word, "index": word},
        {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
        {"event_type": "step.delta", "index": word, "delta": {"type": "text", "text": "x"}},
        {"event_type": "step.stop", "index": word},
        {"event_type": "interaction.completed", **whole},
    ]
    events = [{"event": "step.delta", "data": data} for data in stream]
    done = list(ul.convert_stream(events, source=IA, target=target))
    assert done == events if target == IA else done


def test_nothing_follows_an_error_event() -> None:
    usage = {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4}
    response = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "in_progress",
        "output": [],
    }
    failed = {**response, "status": "failed", "error": {"code": "server_error", "message": "No."}, "usage": usage}
    bodies = [
        {"type": "response.created", "response": response, "sequence_number": 0},
        {"type": "error", "code": "server_error", "message": "No.", "param": None, "sequence_number": 1},
        {"type": "response.failed", "response": failed, "sequence_number": 2},
    ]
    frames = [{"event": body["type"], "data": body} for body in bodies]
    for sent in (frames[:2], frames):
        done = ul.convert_stream(sent, source="openai-responses", target=IA)
        names = [event["event"] for event in done]
        assert names == ["interaction.created", "interaction.status_update", "error"]
    assert {loss.path: loss.fate for loss in done.losses}["/2/data/response/usage"] == "lost"


def test_a_failed_interaction_without_an_error_event_is_completed_and_done() -> None:
    response = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "in_progress",
        "output": [],
    }
    failed = {**response, "status": "failed", "error": {"code": "server_error", "message": "No."}}
    bodies = [{"type": "response.created", "response": response}, {"type": "response.failed", "response": failed}]
    frames = [{"event": body["type"], "data": body} for body in bodies]
    out = list(ul.convert_stream(frames, source="openai-responses", target=IA))
    assert [event["event"] for event in out[-2:]] == ["interaction.completed", "done"]
    assert out[-2]["data"]["interaction"]["status"] == "failed"


@pytest.mark.parametrize("target", ["anthropic-messages", "openai-chat", "amazon-converse"])
def test_a_summary_sent_as_reasoning_is_reported_where_the_summary_is(target: str) -> None:
    """Neither at the start of the step nor at its signature."""
    text = {"type": "thought_summary", "content": {"type": "text", "text": "I think"}}
    frames: list[dict[str, Any]] = [
        {"event_type": "interaction.created", "interaction": {"id": "i", "status": "in_progress", "model": "g"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "thought"}},
        {"event_type": "step.delta", "index": 0, "delta": text},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "thought_signature", "signature": "QUJDRA=="}},
        {"event_type": "step.stop", "index": 0},
        {"event_type": "interaction.completed", "interaction": {"id": "i", "status": "completed", "model": "g"}},
    ]
    events = [*({"event": frame["event_type"], "data": frame} for frame in frames), {"event": "done", "data": "[DONE]"}]
    stream = ul.convert_stream(events, source="google-interactions", target=target)
    list(stream)
    told = [(loss.path, loss.fate) for loss in stream.losses if loss.capability == "reasoning.summary"]
    assert told == [("/2/data/delta/content", "approximated")]
