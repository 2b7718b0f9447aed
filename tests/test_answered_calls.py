"""A call of a function whose result is in the same answer was executed: no client may be given it to execute again."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from folds import FOLDS

Node = dict[str, Any]

INTERACTIONS = "google-interactions"
OTHERS = ["anthropic-messages", "amazon-converse", "openai-chat", "openai-responses", "google-generate-content"]

THOUGHT = {"type": "thought", "summary": [{"type": "text", "text": "t"}], "signature": "VEhPVUdIVA=="}
CALL = {"type": "function_call", "id": "c1", "name": "f", "arguments": {"a": 1}}
SIGNED = {**CALL, "signature": "Q0FMTA=="}
RESULT = {"type": "function_result", "call_id": "c1", "name": "f", "result": "sunny"}
SPOKEN = {"type": "model_output", "content": [{"type": "text", "text": "It is sunny."}]}
OPEN = {**CALL, "id": "c2"}

ANSWERS: dict[str, list[Node]] = {
    "plain": [THOUGHT, CALL, RESULT, SPOKEN],
    "signed": [SIGNED, RESULT, SPOKEN],
    "thought of": [THOUGHT, SIGNED, RESULT, SPOKEN],
    "at the end": [SPOKEN, SIGNED, RESULT],
    "a thought between": [
        SIGNED,
        THOUGHT,
        {**OPEN, "signature": "Q0FMTDI="},
        RESULT,
        {**RESULT, "call_id": "c2"},
        SPOKEN,
    ],
    "two at once": [SIGNED, OPEN, {**RESULT, "call_id": "c2"}, RESULT, SPOKEN],
}


def interaction(steps: list[Node], status: str = "completed") -> Node:
    usage = {"total_input_tokens": 1, "total_output_tokens": 2, "total_tokens": 3}
    return {"id": "int_1", "object": "interaction", "model": "m", "status": status, "steps": steps, "usage": usage}


def streamed(steps: list[Node], target: str, secret: str | None = None, status: str = "completed") -> Node:
    """What a client keeps of the converted stream."""
    events = ul.decompose(ul.read(interaction(steps, status), INTERACTIONS, "response"))
    frames = ul.write_stream(events, INTERACTIONS)
    out = ul.convert_stream(frames, source=INTERACTIONS, target=target, secret=secret)
    return FOLDS[target](list(out))


def whole(steps: list[Node], target: str, secret: str | None = None, status: str = "completed") -> Node:
    body = interaction(steps, status)
    answer: Node = ul.convert(body, source=INTERACTIONS, target=target, kind="response", secret=secret).value
    return answer


def to_execute(answer: Node) -> list[Any]:
    """The ids of the calls that clients of each API execute, as their documentation describes."""
    if "choices" in answer:
        return [call["id"] for call in answer["choices"][0]["message"].get("tool_calls") or ()]
    if "candidates" in answer:
        parts = answer["candidates"][0]["content"]["parts"]
        return [part["functionCall"]["id"] for part in parts if "functionCall" in part]
    if "output" in answer and "message" in answer["output"]:
        uses = [block["toolUse"] for block in answer["output"]["message"]["content"] if "toolUse" in block]
        return [use["toolUseId"] for use in uses if use.get("type") != "server_tool_use"]
    if "output" in answer:
        return [item["call_id"] for item in answer["output"] if item["type"] == "function_call"]
    return [block["id"] for block in answer["content"] if block["type"] == "tool_use"]


@pytest.mark.parametrize("secret", [None, "s"])
@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize("steps", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("form", [whole, streamed])
def test_a_call_that_was_answered_is_not_to_be_executed(form: Any, steps: list[Node], target: str, secret: Any) -> None:
    assert to_execute(form(steps, target, secret)) == []


@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize("form", [whole, streamed])
@pytest.mark.parametrize("steps", [[SIGNED, RESULT, OPEN], [CALL, OPEN, RESULT], [OPEN, SIGNED, RESULT]])
def test_a_call_that_waits_is(steps: list[Node], form: Any, target: str) -> None:
    assert to_execute(form(steps, target, None, "requires_action")) == ["c2"]


def test_calls_reach_the_client_before_the_end_of_the_stream_only_if_they_wait() -> None:
    steps = [CALL, OPEN, RESULT, SPOKEN]
    frames = ul.write_stream(ul.decompose(ul.read(interaction(steps), INTERACTIONS, "response")), INTERACTIONS)
    out = list(ul.convert_stream(frames, source=INTERACTIONS, target="anthropic-messages"))
    starts = [event["data"]["content_block"] for event in out if event["event"] == "content_block_start"]
    assert [(start["type"], start.get("id")) for start in starts] == [("tool_use", "c2"), ("text", None)]


def test_a_stream_that_breaks_off_behind_a_call_has_the_call() -> None:
    frames = list(ul.write_stream(ul.decompose(ul.read(interaction([CALL]), INTERACTIONS, "response")), INTERACTIONS))
    cut = [frame for frame in frames if frame["event"] != "interaction.completed"]
    out = list(ul.convert_stream(iter(cut), source=INTERACTIONS, target="anthropic-messages"))
    assert [event["data"]["content_block"]["id"] for event in out if event["event"] == "content_block_start"] == ["c1"]
    assert out[-1]["event"] == "error"


@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize("steps", ANSWERS.values(), ids=ANSWERS)
def test_what_is_withheld_is_reported(steps: list[Node], target: str) -> None:
    done = ul.convert(interaction(steps), source=INTERACTIONS, target=target, kind="response")
    told = {loss.path: loss.fate for loss in done.losses}
    for place, step in enumerate(steps):
        if step["type"] == "function_call" and target != "amazon-converse":
            assert told[f"/steps/{place}"] == "lost"
        if "signature" in step and step["type"] == "function_call" and target == "amazon-converse":
            assert told[f"/steps/{place}/signature"] == "lost"


# ---- back at the provider --------------------------------------------------------------------------------------------


def request(answer: Node) -> Node:
    """What a client of the surface sends with the next question."""
    if "choices" in answer:
        message = answer["choices"][0]["message"]
        return {"model": "m", "messages": [said("q"), message, said("more")]}
    if "candidates" in answer:
        content = answer["candidates"][0]["content"]
        user = [{"role": "user", "parts": [{"text": text}]} for text in ("q", "more")]
        return {"contents": [user[0], content, user[1]]}
    if "output" in answer and "message" in answer["output"]:
        user = [{"role": "user", "content": [{"text": text}]} for text in ("q", "more")]
        return {"messages": [user[0], answer["output"]["message"], user[1]]}
    if "output" in answer:
        return {"model": "m", "input": [said("q"), *answer["output"], said("more")]}
    message = {"role": "assistant", "content": answer["content"]}
    return {"model": "m", "max_tokens": 9, "messages": [said("q"), message, said("more")]}


def said(text: str) -> Node:
    return {"role": "user", "content": text}


@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize("steps", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("form", [whole, streamed])
def test_with_a_secret_the_answer_returns_whole(form: Any, steps: list[Node], target: str) -> None:
    body = request(form(steps, target, "s"))
    back = ul.convert(body, source=target, target=INTERACTIONS, model="m", secret="s").value["input"]
    assert back[1:-1] == steps


@pytest.mark.parametrize("target", OTHERS)
def test_without_one_nothing_pretends_to_return(target: str) -> None:
    """No envelope that is refused when it comes back, and no result without its call."""
    body = request(whole(ANSWERS["signed"], target))
    done = ul.convert(body, source=target, target=INTERACTIONS, model="m")
    assert [step["type"] for step in done.value["input"]] == ["user_input", "model_output", "user_input"]
    assert not [loss for loss in done.losses if "envelope" in loss.detail]


def test_a_call_that_gemini_executed_returns_to_generate_content() -> None:
    call = {"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}, "thoughtSignature": "Q0FMTA=="}
    result = {"functionResponse": {"id": "c1", "name": "f", "response": {"output": "sunny"}}}
    content = {"role": "model", "parts": [call, result, {"text": "It is sunny."}]}
    body = {"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}]}
    options: Node = {"source": "google-generate-content", "target": "openai-chat"}
    answer = ul.convert(body, kind="response", model="m", secret="s", **options).value
    assert to_execute(answer) == []
    back = ul.convert(request(answer), source="openai-chat", target="google-generate-content", secret="s").value
    assert [part for item in back["contents"][1:-1] for part in item["parts"]] == content["parts"]


@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize("steps", ANSWERS.values(), ids=ANSWERS)
def test_what_returns_is_not_reported_as_lost(steps: list[Node], target: str) -> None:
    done = ul.convert(interaction(steps), source=INTERACTIONS, target=target, kind="response", secret="s")
    frames = ul.write_stream(ul.decompose(ul.read(interaction(steps), INTERACTIONS, "response")), INTERACTIONS)
    stream = ul.convert_stream(frames, source=INTERACTIONS, target=target, secret="s")
    assert [*stream]
    assert [loss for loss in (*done.losses, *stream.losses) if loss.fate == "lost"] == []


def test_arguments_that_came_in_pieces_are_reported_where_they_stood() -> None:
    frames = list(
        ul.write_stream(ul.decompose(ul.read(interaction([CALL, RESULT]), INTERACTIONS, "response")), INTERACTIONS)
    )
    place = next(at for at, frame in enumerate(frames) if "arguments" in frame["data"].get("delta", ()))
    stream = ul.convert_stream(iter(frames), source=INTERACTIONS, target="openai-responses")
    assert [*stream]
    assert {loss.path: loss.fate for loss in stream.losses}[f"/{place}/data/delta/arguments"] == "lost"


def test_arguments_that_came_with_their_step_are_reported_too() -> None:
    frames = [
        ("interaction.created", {"interaction": {"id": "i", "object": "interaction", "status": "in_progress"}}),
        ("step.start", {"index": 0, "step": CALL}),
        ("step.stop", {"index": 0}),
        ("step.start", {"index": 1, "step": RESULT}),
        ("step.stop", {"index": 1}),
        ("interaction.completed", {"interaction": {"id": "i", "object": "interaction", "status": "completed"}}),
    ]
    events = ({"event": kind, "data": {**data, "event_type": kind}} for kind, data in frames)
    stream = ul.convert_stream(events, source=INTERACTIONS, target="openai-responses")
    assert [*stream]
    assert {loss.path: loss.fate for loss in stream.losses}["/1/data/step"] == "lost"
