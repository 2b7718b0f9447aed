"""Which values of a report are about nothing: defaults that the target keeps, echoes, and what the library made."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.losses import Loss
from unified_llm.losses.defaults import Weighing, significant

Node = dict[str, Any]
CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
CONTENTS, INTERACTIONS = "google-generate-content", "google-interactions"

ASKED: dict[str, Node] = {
    CHAT: {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
    RESPONSES: {"model": "m", "input": "Hi"},
    MESSAGES: {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
    CONTENTS: {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    INTERACTIONS: {"model": "m", "input": "Hi"},
}
TOOL = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}

# What the SDK declares as the words for no value, in the places where they may be.
UNSPECIFIED: Node = {
    "generationConfig": {
        "mediaResolution": "MEDIA_RESOLUTION_UNSPECIFIED",
        "responseModalities": ["MODALITY_UNSPECIFIED"],
        "thinkingConfig": {"thinkingLevel": "THINKING_LEVEL_UNSPECIFIED"},
        "imageConfig": {"prominentPeople": "PROMINENT_PEOPLE_UNSPECIFIED"},
    },
    "contents": [
        {
            "role": "user",
            "parts": [
                {
                    "inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="},
                    "mediaResolution": {"level": "MEDIA_RESOLUTION_UNSPECIFIED"},
                }
            ],
        },
        {"role": "model", "parts": [{"functionCall": {"id": "1", "name": "f", "args": {}}}]},
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "id": "1",
                        "name": "f",
                        "response": {"output": "r"},
                        "scheduling": "SCHEDULING_UNSPECIFIED",
                    }
                }
            ],
        },
    ],
    "tools": [{"functionDeclarations": [{"name": "f", "description": "d", "behavior": "UNSPECIFIED"}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "MODE_UNSPECIFIED"}},
}


def fates(source: str, target: str, more: Node, kind: str = "request", **options: Any) -> dict[str, str]:
    body = {**ASKED[source], **more} if kind == "request" else more
    done = ul.convert(body, source=source, target=target, kind=kind, **options)
    return {loss.path: loss.fate for loss in done.losses if loss.side == "source"}


@pytest.mark.parametrize(
    ("source", "target", "more"),
    [
        (CHAT, MESSAGES, {"n": 1}),
        (CHAT, RESPONSES, {"n": 1, "frequency_penalty": 0.0, "logprobs": False, "logit_bias": {}}),
        (CHAT, MESSAGES, {"top_p": 1.0, "temperature": 1.0, "stop": None}),
        (CHAT, INTERACTIONS, {"parallel_tool_calls": True, "store": False}),
        (RESPONSES, MESSAGES, {"truncation": "disabled", "background": False, "metadata": {}, "include": []}),
        (RESPONSES, CHAT, {"tools": [], "tool_choice": "none"}),
        (MESSAGES, CHAT, {"service_tier": "auto", "metadata": {}}),
        (CONTENTS, MESSAGES, {"generationConfig": {"responseModalities": ["TEXT"], "candidateCount": 1}}),
        (CONTENTS, RESPONSES, {"generation_config": {"response_modalities": ["TEXT"], "candidate_count": 1}}),
        *((CONTENTS, target, UNSPECIFIED) for target in (CHAT, RESPONSES, MESSAGES, INTERACTIONS)),
    ],
)
def test_a_default_that_the_target_keeps_is_not_a_loss(source: str, target: str, more: Node) -> None:
    assert "lost" not in fates(source, target, more).values()


@pytest.mark.parametrize(
    ("source", "target", "more", "path"),
    [
        (CHAT, MESSAGES, {"frequency_penalty": 0.1}, "/frequency_penalty"),
        (CHAT, MESSAGES, {"parallel_tool_calls": False, "seed": 1}, "/seed"),
        (CHAT, RESPONSES, {"logit_bias": {"1": 2}}, "/logit_bias"),
        # Responses keeps answers, and makes schemas strict, by default; these APIs do neither.
        (RESPONSES, MESSAGES, {"store": True}, "/store"),
        (RESPONSES, CONTENTS, {"tools": [{**TOOL, "strict": True}]}, "/tools/0/strict"),
        (RESPONSES, CHAT, {"truncation": "auto"}, "/truncation"),
        (CONTENTS, MESSAGES, {"generationConfig": {"responseModalities": ["TEXT", "IMAGE"]}}, ""),
        # The API documents no default of either: the model is to be shown the mark again, and decides about the mode.
        (RESPONSES, MESSAGES, {"reasoning": {"mode": "standard"}}, "/reasoning/mode"),
        (
            RESPONSES,
            CHAT,
            {
                "input": [
                    {"role": "user", "content": "Hi"},
                    {"type": "message", "role": "assistant", "content": "Ho", "phase": "final_answer"},
                ]
            },
            "/input/1/phase",
        ),
    ],
)
def test_another_value_is_a_loss(source: str, target: str, more: Node, path: str) -> None:
    assert (path or "/generationConfig/responseModalities") in {
        place for place, fate in fates(source, target, more).items() if fate == "lost"
    }


def test_true_is_not_one() -> None:
    assert fates(CHAT, MESSAGES, {"presence_penalty": False})["/presence_penalty"] == "lost"


@pytest.mark.parametrize(
    ("source", "target", "more", "path"),
    [
        (RESPONSES, MESSAGES, {"store": False}, "/store"),
        (RESPONSES, CONTENTS, {"tools": [{**TOOL, "strict": False}]}, "/tools/0/strict"),
        (CHAT, MESSAGES, {"stream": True, "stream_options": {"include_usage": True}}, "/stream_options"),
    ],
)
def test_what_the_target_does_anyway_is_approximated(source: str, target: str, more: Node, path: str) -> None:
    assert fates(source, target, more)[path] == "approximated"


def test_a_container_is_lost_as_long_as_one_value_in_it_says_something() -> None:
    options = {"include_usage": True, "include_obfuscation": False}
    assert fates(CHAT, MESSAGES, {"stream": True, "stream_options": options})["/stream_options"] == "lost"


def test_an_empty_object_may_be_a_tool() -> None:
    assert fates(CONTENTS, CHAT, {"tools": [{"codeExecution": {}}]})["/tools/0/codeExecution"] == "lost"


ANSWER: Node = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "m",
    "output": [
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
        }
    ],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "truncation": "disabled",
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "temperature": 1.0,
    "top_p": 1.0,
    "top_logprobs": 0,
    "store": True,
    "background": False,
    "metadata": {},
    "user": None,
}


@pytest.mark.parametrize("target", [CHAT, MESSAGES, CONTENTS, INTERACTIONS])
def test_an_answer_that_repeats_the_defaults_loses_nothing(target: str) -> None:
    assert "lost" not in fates(RESPONSES, target, ANSWER, "response").values()


@pytest.mark.parametrize("target", [CHAT, MESSAGES, CONTENTS])
def test_an_answer_that_repeats_its_request_loses_nothing(target: str) -> None:
    echo = {"tools": [{**TOOL, "strict": False, "description": None}], "instructions": "Be brief.", "top_p": 0.98}
    assert {"/tools", "/instructions", "/top_p"} <= fates(RESPONSES, target, {**ANSWER, **echo}, "response").keys()
    asked = {"input": "Hi", "model": "m", "instructions": "Be brief.", "tools": [TOOL]}
    exchange = ul.write(asked, RESPONSES).exchange
    told = fates(RESPONSES, target, {**ANSWER, **echo}, "response", exchange=exchange)
    assert "lost" not in told.values()
    told = fates(RESPONSES, target, {**ANSWER, **echo, "instructions": "Be long."}, "response", exchange=exchange)
    assert [path for path, fate in told.items() if fate == "lost"] == ["/instructions"]


def test_a_stream_loses_no_more_than_the_whole_answer() -> None:
    opening = {**ANSWER, "status": "in_progress", "output": []}
    item = ANSWER["output"][0]
    at = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": []}
    events = [
        {"type": "response.created", "response": opening},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**item, "status": "in_progress", "content": []},
        },
        {"type": "response.content_part.added", **at, "part": part},
        {"type": "response.output_text.delta", **at, "delta": "Hi", "logprobs": []},
        {"type": "response.output_text.done", **at, "text": "Hi", "logprobs": []},
        {"type": "response.content_part.done", **at, "part": item["content"][0]},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": ANSWER},
    ]
    for target in (CHAT, MESSAGES, CONTENTS, INTERACTIONS):
        wire = [{"event": each["type"], "data": {**each, "sequence_number": i}} for i, each in enumerate(events)]
        stream = ul.convert_stream(wire, source=RESPONSES, target=target, on_loss="raise")
        assert list(stream)


def test_ids_that_the_library_made_are_no_loss_on_the_return() -> None:
    given = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": "Hi", "tool_calls": [call]}
    given["choices"] = [{"index": 0, "message": message, "finish_reason": "tool_calls"}]
    made = ul.convert(given, source=CHAT, target=RESPONSES, kind="response").value
    back = [*made["output"], {"type": "function_call_output", "call_id": "call_1", "output": "1"}]
    for target in (CHAT, MESSAGES, CONTENTS, INTERACTIONS):
        assert fates(RESPONSES, target, {"input": [{"role": "user", "content": "Hi"}, *back]}) == {}


@pytest.mark.parametrize("target", [CHAT, MESSAGES, CONTENTS, INTERACTIONS])
def test_canonical_answers_are_weighed_as_well(target: str) -> None:
    answer = {key: ANSWER[key] for key in ("id", "created_at", "status", "model", "output", "parallel_tool_calls")}
    assert ul.write(answer, target, kind="response", on_loss="raise").value
    assert list(ul.write_stream(ul.decompose(answer), target, on_loss="raise"))
    answer["parallel_tool_calls"] = False
    with pytest.raises(ul.CapabilityLost, match="parallel_tool_calls"):
        list(ul.write_stream(ul.decompose(answer), target, on_loss="raise"))


def test_what_an_exchange_fills_in_is_not_a_loss() -> None:
    """The time of an answer whose provider gives none, to a surface that has no place for one."""
    contents = {"role": "model", "parts": [{"text": "Hi"}]}
    body = {
        "responseId": "r",
        "modelVersion": "m",
        "candidates": [{"index": 0, "content": contents, "finishReason": "STOP"}],
    }
    exchange = ul.convert(ASKED[MESSAGES], source=MESSAGES, target=CONTENTS).exchange
    assert exchange is not None
    asked = dataclasses.replace(exchange, created_at=1_700_000_000)
    assert "lost" not in fates(CONTENTS, MESSAGES, body, "response", exchange=asked).values()
    wire = [{"event": None, "data": body}]
    assert list(ul.convert_stream(wire, source=CONTENTS, target=MESSAGES, exchange=asked, on_loss="raise"))


@pytest.mark.parametrize("target", [CHAT, MESSAGES, CONTENTS, INTERACTIONS])
def test_the_mark_of_a_final_answer_is_lost(target: str) -> None:
    said = {"type": "output_text", "text": "Hi", "annotations": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "phase": "final_answer"}
    answer = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m"}
    found = fates(RESPONSES, target, {**answer, "output": [{**item, "content": [said]}]}, "response")
    assert found["/output/0/phase"] == "lost"


@pytest.mark.parametrize("inner", [[], None, "x"])
def test_what_a_value_means_is_found_at_any_depth(inner: Any) -> None:
    value = inner
    for _ in range(20_000):
        value = {"a": value}
    loss = Loss("/new", "native.field", "lost", "", "source")
    found = significant([loss], Weighing(MESSAGES, RESPONSES, "request"), {"new": value})
    assert [each.path for each in found] == ([] if inner is None else ["/new"])
