"""Forms that compatible servers give streams of Messages; the documents are packaged (`*/stream/vendor_*`)."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from corpus import by_id

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"


def fixture(name: str) -> Any:
    events: Any = by_id(MESSAGES, "stream")[f"{MESSAGES}/stream/{name}"]["events"]
    return events


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
def test_a_call_that_begins_without_its_input_is_a_call(target: str) -> None:
    """llama.cpp begins each call without `input`, and ends all blocks at the end of the message."""
    found = fixture("vendor_calls_without_input")
    output = ul.collect(ul.read_stream(found, MESSAGES))["output"]
    calls = [(each["call_id"], each["name"], each["arguments"]) for each in output[1:]]
    assert calls == [("A", "get_weather", '{"city": "Oslo"}'), ("B", "get_time", "{}")]
    assert list(ul.convert_stream(found, source=MESSAGES, target=MESSAGES)) == found
    stream = ul.convert_stream(found, source=MESSAGES, target=target)
    again = ul.collect(ul.read_stream(list(stream), target))["output"]
    assert [(each["call_id"], each["name"], each["arguments"]) for each in again[1:]] == calls
    assert not [loss for loss in stream.losses if loss.fate == "lost"]


def test_the_arguments_of_a_call_that_begins_without_its_input_come_piece_by_piece() -> None:
    kinds = [each["type"] for each in ul.read_stream(fixture("vendor_calls_without_input"), MESSAGES)]
    assert kinds.count("response.function_call_arguments.delta") == 2


def test_an_error_in_a_stream_may_have_its_own_type_for_that_of_the_event() -> None:
    """llama.cpp sends the error without the envelope of an event of Messages."""
    found = fixture("vendor_error_flat")
    error = list(ul.read_stream(found, MESSAGES))[-1]["error"]
    assert error["type"] == "context_overflow" and error["message"].startswith("the request exceeds the available")
    assert list(ul.convert_stream(found, source=MESSAGES, target=MESSAGES)) == found
    stream = ul.convert_stream(found, source=MESSAGES, target=CHAT)
    assert list(stream)[-1]["data"]["error"]["code"] == "context_length_exceeded"
    assert {"/3/data/code", "/3/data/n_ctx", "/3/data/n_prompt_tokens"} <= {loss.path for loss in stream.losses}


def test_the_word_of_an_error_without_an_envelope_counts() -> None:
    body = {"message": "no room", "type": "overloaded_error"}
    assert ul.convert(body, source=MESSAGES, target=MESSAGES, kind="error").value == body
    assert ul.read(body, MESSAGES, "error").dump()["error"]["type"] == "overloaded"
