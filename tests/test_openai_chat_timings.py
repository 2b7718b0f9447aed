"""Usage in the `timings` of llama.cpp's server: the counts of an answer that has no other."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from corpus import by_id

CHAT, MESSAGES = "openai-chat", "anthropic-messages"


def fixture(kind: str, name: str) -> Any:
    record = by_id(CHAT, kind)[f"{CHAT}/{kind}/{name}"]
    return record["events"] if kind == "stream" else record["body"]


COUNTED = {"input_tokens": 237, "output_tokens": 35, "input_tokens_details": {"cached_tokens": 236}}


@pytest.mark.parametrize("kind", ["response", "stream"])
def test_the_timings_of_llama_cpp_are_the_usage_where_there_is_no_other(kind: str) -> None:
    """A stream of its server has usage where the request has `include_usage`, and timings always."""
    found = fixture(kind, "vendor_timings")
    if kind == "stream":
        answer = ul.collect(ul.read_stream(found, CHAT))
        assert list(ul.convert_stream(found, source=f"{CHAT}:llamacpp", target=CHAT)) == found
        events = list(ul.convert_stream(found, source=CHAT, target=MESSAGES))
        usage = next(each["data"]["usage"] for each in events if each["event"] == "message_delta")
    else:
        answer = ul.read(found, CHAT, "response").dump()
        assert ul.convert(found, source=f"{CHAT}:llamacpp", target=CHAT, kind="response").value == found
        done = ul.convert(found, source=CHAT, target=MESSAGES, kind="response")
        usage = done.value["usage"]
        lost = [loss.path for loss in done.losses if loss.path.startswith("/timings")]
        assert sorted(lost) == [f"/timings/{key}" for key in sorted(found["timings"]) if not key.endswith("_n")]
    assert {key: value for key, value in answer["usage"].items() if key != "extra"} == COUNTED
    assert (usage["input_tokens"], usage["cache_read_input_tokens"], usage["output_tokens"]) == (1, 236, 35)


def test_usage_that_is_null_beside_the_timings_comes_back() -> None:
    body = {**fixture("response", "vendor_timings"), "usage": None}
    assert ul.read(body, CHAT, "response").dump()["usage"]["output_tokens"] == 35
    assert ul.convert(body, source=CHAT, target=CHAT, kind="response").value == body


def test_usage_of_llama_cpp_is_believed_before_its_timings() -> None:
    counts = {"prompt_tokens": 237, "completion_tokens": 35, "total_tokens": 272}
    body = {**fixture("response", "vendor_timings"), "usage": counts}
    assert ul.read(body, CHAT, "response").dump()["usage"] == dict(
        zip(("input_tokens", "output_tokens", "total_tokens"), counts.values())
    )
    first, *others, last, done = fixture("stream", "vendor_timings")
    bare = {**last["data"], "choices": [], "usage": counts}
    ending = {**last, "data": {key: value for key, value in last["data"].items() if key != "timings"}}
    events = [first, *others, ending, {**last, "data": bare}, done]
    assert ul.collect(ul.read_stream(events, CHAT))["usage"]["total_tokens"] == 272
    assert list(ul.convert_stream(events, source=CHAT, target=CHAT)) == events
