"""Streams of the Responses API that its own clients cannot follow: from the dialect of the server they become ones that
they can.

llama.cpp's events have no numbers and no places; Transformers repeats the message behind the calls, at the place of the
last of them. The SDK's accumulator raises an error at both.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import unified_llm as ul
from sdk_streams import final_response

Node = dict[str, Any]
RESPONSES, CHAT = "openai-responses", "openai-chat"
LLAMACPP, TRANSFORMERS = f"{RESPONSES}:llamacpp", f"{RESPONSES}:transformers"
USAGE = {"input_tokens": 5, "output_tokens": 4, "total_tokens": 9}


def event(kind: str, **data: Any) -> Node:
    return {"event": kind, "data": {"type": kind, **data}}


def llamacpp() -> list[Node]:
    head = {"id": "resp_x", "object": "response", "status": "in_progress"}
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": "hello world"}
    message = {"type": "message", "status": "completed", "id": "msg_x", "content": [part], "role": "assistant"}
    calls = [
        {
            "id": f"fc_{name}",
            "type": "function_call",
            "status": "completed",
            "arguments": '{"city":"Oslo"}',
            "call_id": f"call_{name}",
            "name": "get_weather",
        }
        for name in "AB"
    ]
    out = [
        event("response.created", response=head),
        event("response.in_progress", response=head),
        event("response.output_item.added", item={**message, "status": "in_progress", "content": []}),
        event("response.content_part.added", item_id="msg_x", part={"type": "output_text", "text": ""}),
        event("response.output_text.delta", item_id="msg_x", delta="hello"),
    ]
    for call in calls:
        out.append(event("response.output_item.added", item={**call, "status": "in_progress", "arguments": ""}))
        for piece in ('{"city":', '"Oslo"}'):
            out.append(event("response.function_call_arguments.delta", delta=piece, item_id=call["id"]))
    out += [
        event("response.output_text.done", item_id="msg_x", text="hello world"),
        event("response.content_part.done", item_id="msg_x", part=part),
        *(event("response.output_item.done", item=item) for item in (message, *calls)),
    ]
    whole = {**head, "created_at": 1, "status": "completed", "model": "m", "output": [message, *calls], "usage": USAGE}
    return [*out, event("response.completed", response=whole, timings={"cache_n": 1, "prompt_n": 4})]


def transformers(text: str) -> list[Node]:
    number = itertools.count()
    out: list[Node] = []

    def add(kind: str, **data: Any) -> None:
        out.append({"event": None, "data": {"type": kind, "sequence_number": next(number), **data}})

    def begin(place: int) -> None:
        item = {"id": "msg_u", "content": [], "role": "assistant", "status": "in_progress", "type": "message"}
        add("response.output_item.added", item=item, output_index=place)
        add(
            "response.content_part.added",
            content_index=0,
            item_id="msg_u",
            output_index=place,
            part={**part, "text": ""},
        )

    def end(place: int) -> None:
        at = {"content_index": 0, "item_id": "msg_u", "output_index": place}
        add("response.output_text.done", **at, text=text, logprobs=[])
        add("response.content_part.done", **at, part=part)
        add("response.output_item.done", item=message, output_index=place)

    head = {"id": "resp_u", "created_at": 1.5, "model": "m", "object": "response", "output": [], "tools": []}
    part = {"annotations": [], "text": text, "type": "output_text"}
    message = {"id": "msg_u", "content": [part], "role": "assistant", "status": "completed", "type": "message"}
    call = {
        "arguments": '{"city": "Oslo"}',
        "call_id": "u_tool_call_0",
        "name": "get_weather",
        "type": "function_call",
        "id": "u_tool_call_0",
        "status": "completed",
    }
    add("response.created", response={**head, "status": "queued"})
    add("response.in_progress", response={**head, "status": "in_progress"})
    if text:
        begin(0)
        add("response.output_text.delta", content_index=0, delta=text, item_id="msg_u", output_index=0, logprobs=[])
        end(0)
    add("response.output_item.added", item=call, output_index=1)
    whole = {"item_id": call["id"], "name": "get_weather", "arguments": call["arguments"]}
    add("response.function_call_arguments.done", **whole, output_index=1)
    add("response.output_item.done", item=call, output_index=1)
    begin(1)
    end(1)
    add("response.completed", response={**head, "output": [message, call], "status": "completed", "usage": USAGE})
    return out


CASES = {
    "llamacpp": (LLAMACPP, llamacpp(), ["message", "function_call", "function_call"]),
    "transformers": (TRANSFORMERS, transformers("hi"), ["message", "function_call"]),
    "transformers, calls only": (TRANSFORMERS, transformers(""), ["function_call", "message"]),
}


@pytest.mark.parametrize("case", CASES)
def test_clients_of_the_api_can_follow_a_stream_that_is_not_framed_for_them(case: str) -> None:
    source, events, kinds = CASES[case]
    with pytest.raises((TypeError, RuntimeError)):
        final_response(events)
    stream = ul.convert_stream(events, source=source, target=RESPONSES)
    written = list(stream)
    final = final_response(written)
    assert [each["type"] for each in final["output"]] == kinds
    assert [each["data"]["sequence_number"] for each in written] == [*range(len(written))]
    calls = [each for each in final["output"] if each["type"] == "function_call"]
    assert all(each["arguments"].replace(" ", "") == '{"city":"Oslo"}' for each in calls)
    assert final["usage"]["total_tokens"] == 9
    # The items are those that the server's last event has.
    wanted = {each["id"] for each in events[-1]["data"]["response"]["output"]}
    assert {each["id"] for each in final["output"]} == wanted


@pytest.mark.parametrize("case", CASES)
def test_its_own_dialect_is_given_the_stream_as_it_is(case: str) -> None:
    source, events, _ = CASES[case]
    assert list(ul.convert_stream(events, source=source, target=source)) == events


def test_the_own_fields_of_its_events_stay() -> None:
    last = list(ul.convert_stream(llamacpp(), source=LLAMACPP, target=RESPONSES))[-1]
    assert last["data"]["timings"] == {"cache_n": 1, "prompt_n": 4}


def test_events_at_the_place_of_another_item_are_reported() -> None:
    events = transformers("hi")
    stream = ul.convert_stream(events, source=TRANSFORMERS, target=RESPONSES)
    texts = [each["data"] for each in stream if each["data"]["type"] == "response.output_text.done"]
    assert len(texts) == 1
    again = [f"/{number}/data" for number in range(len(events) - 6, len(events) - 1)]
    assert [loss.path for loss in stream.losses if loss.fate == "lost"] == again


def test_a_stream_without_the_dialect_stays_as_it_is() -> None:
    assert list(ul.convert_stream(llamacpp(), source=RESPONSES, target=RESPONSES)) == llamacpp()


def test_an_error_in_such_a_stream_is_the_one_of_the_api() -> None:
    broken = [
        *llamacpp()[:5],
        {"event": None, "data": {"error": {"code": 500, "message": "boom", "type": "server_error"}}},
    ]
    written = list(ul.convert_stream(broken, source=LLAMACPP, target=RESPONSES))
    assert [each["data"]["type"] for each in written[-2:]] == ["error", "response.failed"]
    assert written[-1]["data"]["response"]["error"]["message"] == "boom"
