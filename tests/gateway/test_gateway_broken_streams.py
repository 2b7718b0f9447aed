"""A stream of the Responses API that breaks off ends as the API ends one: an `error` event and the failed response.

https://platform.openai.com/docs/api-reference/responses-streaming/error
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import httpx2
import pytest
from openai.types.responses import ResponseErrorEvent, ResponseFailedEvent

from gateway.serving import House, Served
from upstreams import CHAT_STREAM, Canned, streamed
from waiting import PATIENCE

RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "in_progress",
    "model": "up",
    "output": [],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "in_progress",
    "content": [],
}
SPOT: dict[str, Any] = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
PART: dict[str, Any] = {"type": "output_text", "text": "", "annotations": []}
BEGUN: list[dict[str, Any]] = [
    {"type": "response.created", "response": RESPONSE},
    {"type": "response.in_progress", "response": RESPONSE},
    {"type": "response.output_item.added", "output_index": 0, "item": MESSAGE},
    {"type": "response.content_part.added", **SPOT, "part": PART},
    *({"type": "response.output_text.delta", **SPOT, "delta": text, "logprobs": []} for text in "abcdef"),
]
FRAMES = [
    b"event: %b\ndata: %b\n\n" % (each["type"].encode(), json.dumps({**each, "sequence_number": number}).encode())
    for number, each in enumerate(BEGUN)
]
CUT = httpx2.ReadError("gone")


def asked(house: House, pieces: list[Any], *, alias: bool = False, protocol: str = "openai-responses") -> list[Any]:
    up = Canned(lambda: streamed(*pieces), protocol=protocol, model="up")
    gateway = house.gateway({"up": up.upstream}, models={"up": ["up"], "other": ["up"]})
    body = {"model": "other" if alias else "up", "stream": True, "input": "Hi"}
    whole = house.ask(gateway, "POST", "/v1/responses", json=body).text
    return [json.loads(line[6:]) for line in whole.splitlines() if line.startswith("data: {")]


def check_end(events: list[Any]) -> None:
    assert [each["sequence_number"] for each in events] == list(range(len(events)))
    error, failed = events[-2:]
    assert error["type"] == "error" and failed["type"] == "response.failed"
    assert ResponseErrorEvent.model_validate(error, strict=True).message
    assert error["message"] == error["error"]["message"] == failed["response"]["error"]["message"]
    final = ResponseFailedEvent.model_validate(failed).response
    assert final.status == "failed" and final.id == events[0]["response"]["id"] and final.error is not None


@pytest.mark.parametrize("size", [1, 2, 5, 10])
@pytest.mark.parametrize("alias", [False, True], ids=["as it is", "converted"])
def test_a_stream_that_breaks_off_ends_in_the_failed_response(house: House, alias: bool, size: int) -> None:
    events = asked(house, [*FRAMES[:size], CUT], alias=alias)
    assert [each["type"] for each in events[:size]] == [each["type"] for each in BEGUN[:size]]
    check_end(events)


def test_events_in_one_chunk_are_numbered_on(house: House) -> None:
    check_end(asked(house, [b"".join(FRAMES[:4]), b"".join(FRAMES[4:]) + b"event: res", CUT]))


def test_a_converted_stream_that_stops_before_its_end_ends_in_the_failed_response(house: House) -> None:
    check_end(asked(house, FRAMES, alias=True))


@pytest.mark.parametrize("end", [[CUT], []], ids=["broken", "short"])
def test_so_does_one_of_another_protocol(house: House, end: list[Any]) -> None:
    check_end(asked(house, [*CHAT_STREAM[:1], *end], protocol="openai-chat"))


# ---- clients that read no error in a stream -------------------------------------------------------------------------

CONTENT = {"candidates": [{"content": {"role": "model", "parts": [{"text": "One two"}]}, "index": 0}]}
PIECE = b"data: %b\r\n\r\n" % json.dumps({**CONTENT, "modelVersion": "up", "responseId": "r"}).encode()
ENDED = (
    b"data: %b\r\n\r\n"
    % json.dumps(
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "."}]}, "finishReason": "STOP", "index": 0}]}
    ).encode()
)
FAILED = b'data: {"error": {"message": "busy", "type": "server_error"}}\n\n'
ASKED = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
OURS, CHAT = "google-generate-content", "openai-chat"


@pytest.mark.parametrize("framing", ["?alt=sse", ""])
@pytest.mark.parametrize(
    ("protocol", "pieces", "whole"),
    [
        (OURS, [PIECE, CUT], False),
        (OURS, [PIECE, ENDED], True),
        (CHAT, [*CHAT_STREAM[:1], CUT], False),
        (CHAT, CHAT_STREAM[:1], False),
        (CHAT, [*CHAT_STREAM[:1], FAILED], False),
        (CHAT, CHAT_STREAM, True),
    ],
)
def test_a_stream_of_generate_content_that_breaks_off_has_no_end(
    house: House, protocol: str, pieces: list[Any], whole: bool, framing: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Several of its clients take what came before the error for the whole answer, but none an unfinished body."""
    up = Canned(lambda: streamed(*pieces), protocol=protocol, model="up")
    gateway = house.gateway({"up": up.upstream}, models={"up": ["up"]}, gateway={"listen": "127.0.0.1:0"})
    found: list[bytes] = []
    with Served(gateway) as served, httpx2.Client(timeout=PATIENCE) as http:
        url = f"{served.url}/v1beta/models/up:streamGenerateContent{framing}"
        with http.stream("POST", url, json=ASKED) as response:
            end = nullcontext() if whole else pytest.raises(httpx2.RemoteProtocolError)
            with end:
                found.extend(response.iter_bytes())
        assert (b'"error"' in b"".join(found)) is not whole
        assert http.get(f"{served.url}/health/live").status_code == 200
    assert not caplog.records


def test_official_clients_raise_the_error_of_such_a_stream(house: House) -> None:
    genai = pytest.importorskip("google.genai")
    up = Canned(lambda: streamed(PIECE, CUT), protocol=OURS, model="up")
    gateway = house.gateway({"up": up.upstream}, models={"up": ["up"]}, gateway={"listen": "127.0.0.1:0"})
    with Served(gateway) as served:
        client = genai.Client(api_key="k", http_options={"base_url": served.url})
        with pytest.raises(genai.errors.APIError, match=r"gone|broke|connection"):
            for _ in client.models.generate_content_stream(model="up", contents="Hi"):
                pass
