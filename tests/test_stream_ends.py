"""How a translated stream ends where its source did not come to an end: garbled, or left by its reader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

import unified_llm as ul
from unified_llm import suite
from unified_llm.streams.framings.sse import SSEDecoder, parse_data
from upstreams import CHAT_STREAM, chunk, frames

OTHERS = ["anthropic-messages", "google-generate-content", "google-interactions", "openai-responses"]
HALF = b'data: {"id":"chatcmpl-1","choices":[{"index":0,"del\n\n'


@pytest.mark.parametrize("size", [None, 1, 7])
@pytest.mark.parametrize("target", OTHERS)
def test_an_event_that_is_half_of_its_json_ends_in_an_error(target: str, size: int | None) -> None:
    """What it contained is unknown; an answer without it would look whole."""
    wire = b"".join([CHAT_STREAM[0], HALF, *frames(chunk({"content": "lo"}, "stop"), b"[DONE]")])
    chunks = [wire] if size is None else [wire[at : at + size] for at in range(0, len(wire), size)]
    told = b"".join(ul.translate_sse(chunks, source="openai-chat", target=target))
    assert b"not JSON" in told and b'"lo"' not in told
    events = [{"event": each["event"], "data": parse_data(each["data"])} for each in SSEDecoder().feed(told)]
    if target == "openai-responses":  # which has an answer that failed
        assert ul.collect(ul.read_stream(events, target))["status"] == "failed"
        return
    with pytest.raises(ul.RemoteProtocolError):
        ul.collect(ul.read_stream(events, target))


def test_an_event_that_is_half_of_its_json_stays_what_it_is_at_home() -> None:
    wire = b"".join([CHAT_STREAM[0], HALF, *CHAT_STREAM[1:]])
    assert b"".join(ul.translate_sse([wire], source="openai-chat", target="openai-chat")) == wire


async def _bytes(closed: list[bool]) -> AsyncIterator[Any]:
    try:
        for frame in CHAT_STREAM:
            yield frame
    finally:
        closed.append(True)


async def _events(closed: list[bool]) -> AsyncIterator[Any]:
    try:
        for each in SSEDecoder().feed(b"".join(CHAT_STREAM)):
            yield {"event": each["event"], "data": parse_data(each["data"])}
    finally:
        closed.append(True)


@pytest.mark.parametrize("target", ["openai-chat", "anthropic-messages"])
@pytest.mark.parametrize(("translate", "source"), [(ul.atranslate_sse, _bytes), (ul.aconvert_stream, _events)])
def test_who_stops_listening_closes_what_is_listened_to(translate: Any, source: Any, target: str) -> None:
    """At once, and not when the garbage is collected: behind it is a connection, and an answer that is paid for."""

    async def main() -> None:
        closed: list[bool] = []
        stream = translate(source(closed), source="openai-chat", target=target)
        assert await anext(stream) and not closed
        await stream.aclose()
        assert closed

    asyncio.run(main())


@pytest.mark.parametrize(
    "target", ["google-generate-content", "google-interactions", "openai-chat", "openai-responses"]
)
@pytest.mark.parametrize("levels", ["raise", {"*": "raise"}, {"usage.*": "raise"}])
def test_a_provider_error_is_told_whatever_a_loss_does(target: str, levels: Any) -> None:
    message = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": [], "stop_reason": None}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}}
    data: list[Any] = [
        {"type": "message_start", "message": {**message, "usage": {"input_tokens": 17, "output_tokens": 3}}},
        block,
        delta,
        {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
    ]
    frames = [{"event": each["type"], "data": each} for each in data]
    stream = ul.convert_stream(iter(frames), source="anthropic-messages", target=target, on_loss=levels)
    assert "busy" in str([frame["data"] for frame in stream])


@pytest.mark.parametrize("protocol", ul.protocols())
def test_a_stream_that_ends_in_an_error_is_written_as_it_was_read(protocol: str) -> None:
    """An error ends a stream as a terminal event does: events that were read can be written again."""
    ended = 0
    for record in suite.records(protocol, "stream"):
        events = list(ul.read_stream(record["events"], protocol))
        if events[-1]["type"] == "error":
            ended += 1
            written = [event["data"] for event in ul.write_stream(events, protocol)]
            assert written == [event["data"] for event in record["events"]]
    assert ended > 2


@pytest.mark.parametrize("name", [None, "error"])
@pytest.mark.parametrize(
    "body", [{"error": {"type": "overloaded_error", "message": "busy"}}, {"error": "busy"}], ids=str
)
@pytest.mark.parametrize("source", ["openai-chat", "openai-responses", "anthropic-messages"])
def test_the_body_of_an_error_ends_a_stream(source: str, body: Any, name: str | None) -> None:
    events = [{"event": name, "data": body}]
    assert list(ul.convert_stream(events, source=source, target=source)) == events
    last = list(ul.read_stream(events, source))[-1]
    assert (last["type"], last["error"]["message"]) == ("error", "busy")
    stream = ul.convert_stream(events, source=source, target="google-generate-content")
    assert list(stream)[-1]["data"]["error"]["message"] == "busy"
    assert not [loss for loss in stream.losses if loss.fate == "lost"]
