"""A null stays in its own protocol: others declare none there, and it has no content that could be lost."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

REQUESTS: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "model": "m",
        "messages": [{"role": "user", "content": "Hello"}],
        "stop": None,
        "temperature": None,
        "store": None,
        "service_tier": None,
        "stream": None,
    },
    "openai-responses": {
        "model": "m",
        "input": "Hello",
        "previous_response_id": None,
        "max_output_tokens": None,
        "reasoning": {"effort": None, "summary": None},
        "tools": [
            {"type": "function", "name": "f", "description": None, "parameters": {"type": "object"}, "strict": False},
            {"type": "web_search", "user_location": {"type": "approximate", "country": "NO"}},
        ],
    },
}


def nulls(value: Any, path: str = "") -> list[str]:
    if value is None:
        return [path]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, each in inner for found in nulls(each, f"{path}/{key}")]


@pytest.mark.parametrize("source", REQUESTS)
@pytest.mark.parametrize(
    "target",
    ["anthropic-messages", "google-generate-content", "google-interactions", "openai-chat", "openai-responses"],
)
def test_nulls_stay_in_their_protocol(source: str, target: str) -> None:
    body = REQUESTS[source]
    done = ul.convert(body, source=source, target=target)
    if source == target:
        assert done.value == body
        return
    assert nulls(body)
    assert not nulls(done.value)
    assert not [loss for loss in done.losses if loss.side == "source" and loss.path in nulls(body)]


def test_nulls_in_data_of_the_user_stay() -> None:
    schema = {"type": "object", "properties": {"x": {"enum": [None, "a"], "default": None}}}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    body = {**REQUESTS["openai-chat"], "tools": [tool]}
    done = ul.convert(body, source="openai-chat", target="openai-responses")
    assert done.value["tools"][0]["parameters"]["properties"] == schema["properties"]


def test_nulls_of_a_place_are_not_sent_where_it_has_none() -> None:
    place = {"type": "approximate", "city": None, "country": "NO"}
    body = {"model": "m", "input": "Hello", "tools": [{"type": "web_search", "user_location": place}]}
    done = ul.convert(body, source="openai-responses", target="openai-chat")
    location = done.value["web_search_options"]["user_location"]
    assert location == {"type": "approximate", "approximate": {"country": "NO"}}


def test_an_output_that_is_null_is_an_empty_list() -> None:
    body = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": None}
    assert ul.read(body, "openai-responses", "response").output == []
    assert ul.convert(body, source="openai-responses", target="openai-responses", kind="response").value == body
    text = {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
            "content": [{"type": "output_text", "text": "Hi", "annotations": []}]}  # fmt: skip
    datas = [
        {"type": "response.created", "sequence_number": 0, "response": {**body, "status": "in_progress"}},
        {"type": "response.output_item.done", "sequence_number": 1, "output_index": 0, "item": text},
        {"type": "response.completed", "sequence_number": 2, "response": body},
    ]
    events = [{"event": data["type"], "data": data} for data in datas]
    assert list(ul.convert_stream(events, source="openai-responses", target="openai-responses")) == events
    assert "Hi" in str(ul.collect(ul.read_stream(events, "openai-responses"))["output"])
