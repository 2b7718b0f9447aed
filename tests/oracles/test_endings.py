"""How the oracles frame a stream, and how an answer ends there."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from oracles import mounts
from oracles.surfaces import (
    CHAT,
    CONTENT,
    HEADERS,
    INTERACTIONS,
    MESSAGES,
    PROTOCOLS,
    RESPONSES,
    client,
    path,
    post,
    request,
    stream,
)

every = pytest.mark.parametrize("protocol", PROTOCOLS)


FRAMING = {
    CHAT: (rb"data: \{", b"\n\ndata: [DONE]\n\n"),
    RESPONSES: (rb"event: response.created\ndata: \{", b"}\n\n"),
    MESSAGES: (rb"event: message_start\ndata: \{", b'event: message_stop\ndata: {"type":"message_stop"}\n\n'),
    CONTENT: (rb"data: \{", b"}\r\n\r\n"),
    INTERACTIONS: (rb"event: interaction.created\ndata: \{", b"event: done\ndata: [DONE]\n\n"),
}


@every
def test_the_framing_is_the_surface_s_own_and_a_chunk_is_a_frame(protocol: str) -> None:
    body = request(protocol, "a b") if protocol == CONTENT else {**request(protocol, "a b"), "stream": True}
    with (
        client() as http,
        http.stream("POST", path(protocol, True), json=body, headers=HEADERS.get(protocol)) as response,
    ):
        chunks = list(response.iter_raw())
    opening, end = FRAMING[protocol]
    assert re.match(opening, chunks[0]) and b"".join(chunks).endswith(end)
    assert all(chunk.endswith((b"\n\n", b"\r\n\r\n")) and chunk.count(b"data: ") == 1 for chunk in chunks)


@every
def test_streams_are_not_held_back(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    came: list[Any] = []  # chunks, and the waits between them
    monkeypatch.setattr(time, "sleep", came.append)
    text = "a b c d e [[slow 40]]"
    body = request(protocol, text) if protocol == CONTENT else {**request(protocol, text), "stream": True}
    with (
        client() as http,
        http.stream("POST", path(protocol, True), json=body, headers=HEADERS.get(protocol)) as response,
    ):
        for chunk in response.iter_raw():
            came.append(chunk)
    assert len(came) > 6 and came[1::2] == [0.04] * (len(came) // 2)
    assert all(type(chunk) is bytes for chunk in came[::2])


@every
def test_garbled_answers(protocol: str) -> None:
    assert post(protocol, request(protocol, "x [[garble type]]")).headers["content-type"] == "text/html"
    with pytest.raises(ValueError):
        post(protocol, request(protocol, "x [[garble json]]")).json()
    with pytest.raises(ValueError):
        stream(protocol, request(protocol, "x [[garble json]]"))


@every
def test_an_error_after_some_frames(protocol: str) -> None:
    frames = stream(protocol, request(protocol, 'a b c d e [[error 503 after 3 message="on purpose"]]'))
    told = [
        frame["data"]["error"]["message"]
        for frame in frames
        if isinstance(frame["data"], dict) and frame["data"].get("error")
    ]
    assert told == ["on purpose"]
    assert len(frames) == 3 + (2 if protocol == RESPONSES else 1)


@every
def test_an_error_that_passes(protocol: str) -> None:
    service, body = mounts.Oracle(), request(protocol, "[[error 500 times=2]] Done.")
    assert [post(protocol, body, service).status_code for _ in range(4)] == [500, 500, 200, 200]
