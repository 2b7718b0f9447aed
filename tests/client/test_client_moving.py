"""Conversations that go on elsewhere: what is reported, what stays with its provider, and streams that fail."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.providers import PROTOCOLS, Canned, message, response, stream, upstream

PNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg=="


def test_a_conversation_goes_on_at_another_provider() -> None:
    made = ul.Client()
    first = made.responses.create(upstream=upstream("anthropic-messages"), input="[[reason deep]] One.")
    second = made.responses.create(upstream=upstream("google-generate-content"), previous=first, input="Two.")
    third = made.responses.create(upstream=upstream("anthropic-messages"), previous=second, input="Three.")
    assert third.output_text == "Three."
    assert [item.type for item in third.items] == ["reasoning" if n == 1 else "message" for n in range(7)]
    sent = third.exchange
    assert sent is not None
    kept = [item for item in third.request["input"] if item["type"] == "reasoning"]
    assert kept[0]["opaque"][0]["data"] == first.output[0].opaque[0].data


def test_items_can_be_passed_by_hand() -> None:
    made = ul.Client(upstream("anthropic-messages"))
    first = made.responses.create(input="[[reason deep]] One.")
    for more in ([*first.items, "Two."], ["One.", first, "Two."], ["One.", *first.output, "Two."]):
        assert made.responses.create(input=more).output_text == "Two."


def test_a_file_of_one_provider_is_not_sent_to_another() -> None:
    here = Canned("openai-responses", response(message("Seen.")), provider="here")
    there = Canned("openai-responses", response(message("Hm.")), provider="there")
    upload = {
        "role": "user",
        "content": [{"type": "input_file", "file_id": "file_1"}, {"type": "input_text", "text": "?"}],
    }
    made = ul.Client()
    first = made.responses.create(upstream=here.upstream, input=[upload])
    again = made.responses.create(upstream=here.upstream, previous=first, input="And?")
    moved = made.responses.create(upstream=there.upstream, previous=again, input="And?")
    assert "file_1" in str(here.bodies[1])
    assert "file_1" not in str(there.bodies[0])
    assert [(loss.path, loss.fate, loss.detail) for loss in moved.losses] == [("/input/0/content/0", "lost", "foreign")]
    assert not again.losses
    with pytest.raises(ul.CapabilityLost, match="/input/0/content/0"):
        made.responses.create(upstream=there.upstream, previous=again, input="And?", on_loss="raise")
    assert len(there.requests) == 1
    made.responses.create(upstream=here.upstream, previous=moved, input="And now?")
    assert "file_1" in str(here.bodies[2])


def test_turns_of_two_answers_are_not_one() -> None:
    made = ul.Client(upstream("openai-chat"))
    first = made.responses.create(input="[[reason a]] One.")
    second = made.responses.create(previous=first, input="[[reason b]] Two.")
    turns = [item.turn for item in second.items if item.turn is not None]
    assert turns == [0, 0, 1, 1]


# ---- streams that fail ----------------------------------------------------------------------------------------------


def test_a_stream_that_is_cut_off_is_broken_and_what_came_is_there() -> None:
    canned = Canned("openai-responses", stream("Hello", end=False))
    events = ul.Client(canned.upstream).responses.create(input="Hi", stream=True)
    seen = []
    with pytest.raises(ul.StreamInterruptedError):
        for event in events:
            seen.append(event)
    assert [event.delta for event in seen if event.type == "response.output_text.delta"] == list("Hello")
    assert events.partial.output[0].content[0].text == "Hello"
    with pytest.raises(ul.StreamInterruptedError):
        events.get_final_response()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocols_broken_stream_is_broken(protocol: str) -> None:
    with pytest.raises(ul.APIError):
        list(ul.Client(upstream(protocol)).responses.create(input="[[break after 2]] Hello there", stream=True))


def test_an_error_in_a_stream_is_the_typed_error() -> None:
    events = stream("Hello", end=False)
    error = {"type": "error", "code": "rate_limit_exceeded", "message": "slow down", "param": None}
    canned = Canned("openai-responses", [*events, {**error, "sequence_number": len(events)}])
    with pytest.raises(ul.RateLimitError, match="slow down"):
        list(ul.Client(canned.upstream).responses.create(input="Hi", stream=True))


def test_an_error_in_a_stream_is_raised_when_it_comes() -> None:
    class Talking(httpx2.SyncByteStream):
        def __iter__(self) -> Any:
            for event in stream("Hello")[:4]:
                yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            error = {"type": "error", "code": "server_error", "message": "boom", "param": None, "sequence_number": 4}
            yield f"event: error\ndata: {json.dumps(error)}\n\n".encode()
            raise AssertionError("no reader waits for more")

    canned = Canned(
        "openai-responses",
        lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Talking()),
    )
    with pytest.raises(ul.ServerError, match="boom"):
        list(ul.Client(canned.upstream).responses.create(input="Hi", stream=True))


def test_what_one_provider_searched_for_is_not_a_call_of_another() -> None:
    """Grounding names no id of its searches, and OpenAI takes no search without one."""
    google, openai = ul.Client(upstream("google-generate-content")), ul.Client(upstream("openai-responses"))
    asked = 'Oslo is rainy. [[cite https://example.com title="T"]] So it is said.'
    first = google.responses.create(input=asked)
    assert "web_search_call" in [item.type for item in first.items]
    second = openai.responses.create(input="Go on.", previous=first)
    assert second.output_text == "Go on."
    assert "/input/2" in [loss.path for loss in second.losses if loss.fate == "lost"]
    third = google.responses.create(input="And on.", previous=second)
    assert "web_search_call" in [item.type for item in third.items]
