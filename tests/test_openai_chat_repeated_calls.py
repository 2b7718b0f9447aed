"""A call that a server of Chat Completions repeats in the old form, beside `tool_calls`."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
ID = "call__0_get_weather_cmpl-1"
HEAD: dict[str, Any] = {"id": "chatcmpl-1", "created": 1760000001, "model": "test-model"}


def said(arguments: str, **more: Any) -> dict[str, Any]:
    """A call, or a piece of it, in both forms."""
    function = {"name": "get_weather", "arguments": arguments}
    call = {**more, "id": ID, "type": "function", "function": function}
    return {"content": None, "function_call": dict(function), "tool_calls": [call]}


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": finish, "logprobs": None, "delta": delta}
    return {"event": None, "data": {**HEAD, "object": "chat.completion.chunk", "choices": [choice]}}


NONE: dict[str, Any] = {"content": None, "function_call": None, "tool_calls": None}
MESSAGE = {"role": "assistant", **said('{"city": "Oslo"}')}
CHOICE = {"index": 0, "message": MESSAGE, "logprobs": None, "finish_reason": "tool_calls"}
ANSWER: dict[str, Any] = {**HEAD, "object": "chat.completion", "choices": [CHOICE]}
STREAM = [
    chunk({"role": "assistant", **NONE}),
    *(chunk({"role": None, **said(piece, index=0)}) for piece in ('{"city":', ' "Os', 'lo"}')),
    chunk({"role": None, **NONE}, "tool_calls"),
    {"event": None, "data": "[DONE]"},
]


@pytest.mark.parametrize("kind", ["response", "stream"])
def test_a_call_that_is_repeated_in_the_old_form_is_one_call(kind: str) -> None:
    """llama-cpp-python has each call twice, for clients that read `function_call` only; a stream so piece by piece."""
    found: Any = STREAM if kind == "stream" else ANSWER
    if kind == "stream":
        answer = ul.collect(ul.read_stream(found, CHAT))
        assert list(ul.convert_stream(found, source=CHAT, target=CHAT)) == found
        stream = ul.convert_stream(found, source=CHAT, target=MESSAGES)
        blocks = [each["data"] for each in stream if each["event"] == "content_block_start"]
        assert [each["content_block"]["type"] for each in blocks] == ["tool_use"]
        losses = stream.losses
    else:
        answer = ul.read(found, CHAT, "response").dump()
        assert ul.convert(found, source=CHAT, target=CHAT, kind="response").value == found
        done = ul.convert(found, source=CHAT, target=MESSAGES, kind="response")
        assert [each["type"] for each in done.value["content"]] == ["tool_use"]
        losses = done.losses
    calls = [(each["type"], each["call_id"], each["name"], each["arguments"]) for each in answer["output"]]
    assert calls == [("function_call", "call__0_get_weather_cmpl-1", "get_weather", '{"city": "Oslo"}')]
    assert any("function_call" in loss.path and loss.fate == "lost" for loss in losses)


@pytest.mark.parametrize("key", ["name", "arguments"])
def test_an_old_call_beside_others_that_differs_is_a_call_of_its_own(key: str) -> None:
    body = copy.deepcopy(ANSWER)
    body["choices"][0]["message"]["function_call"][key] = "{}"
    items = ul.read(body, CHAT, "response").dump()["output"]
    assert [each[key] for each in items][1:] == ["{}"] and len(items) == 2
    assert ul.convert(body, source=CHAT, target=CHAT, kind="response").value == body


def test_a_conversation_with_a_call_in_both_forms_goes_on() -> None:
    message = ANSWER["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "4 C"}
    body = {"model": "m", "messages": [{"role": "user", "content": "Weather?"}, message, result]}
    assert ul.convert(body, source=CHAT, target=CHAT).value == body
    kinds = [each.get("type") for each in ul.convert(body, source=CHAT, target=RESPONSES).value["input"]]
    assert kinds == ["message", "function_call", "function_call_output"]
