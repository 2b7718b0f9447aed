"""Translation delays nothing: a text is in the caller's hands before the event behind it is read from the upstream.

No clock is looked at. The upstream's stream is cut into its events; each time another one is taken from it, the caller
must have all the text of those before. Over every protocol, through the client and under every SDK, in both forms.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import cache
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.providers import PROTOCOLS
from unified_llm.client.connections.io import Wire
from unified_llm.client.sending.decoding import EventReader
from unified_llm.client.sending.effects import Ask
from unified_llm.streams.framings.sse import SSEDecoder, parse_data
from upstreams import Canned

SAID = "One two three four five six seven eight nine ten."


@cache
def pieces(protocol: str) -> tuple[tuple[bytes, str], ...]:
    """The events of a stream, and the text up to each."""
    upstream = ul.Upstream.of(f"local/echo:{protocol}")
    with Wire() as wire:
        raw = b"".join(wire.send(Ask(body={"input": SAID, "stream": True}, stream=True), [upstream]))  # type: ignore[arg-type]
    said, out, text = Said(protocol), [], ""
    for frame in raw.replace(b"\r\n", b"\n").split(b"\n\n"):
        if frame:
            text += said.feed(frame + b"\n\n")
            out.append((frame + b"\n\n", text))
    assert text == SAID and len({each for _, each in out}) > 5
    return tuple(out)


class Said:
    """The text in the bytes of a stream."""

    def __init__(self, protocol: str) -> None:
        self.decoder, self.reader = SSEDecoder(), EventReader(protocol)

    def feed(self, chunk: bytes) -> str:
        out = ""
        for event in self.decoder.feed(chunk):
            wire = {"event": event["event"], "data": parse_data(event["data"])}
            out += "".join(each["delta"] for each in self.reader.feed(wire) if _is_text(each["type"]))
        return out


def _is_text(kind: str) -> bool:
    return kind == "response.output_text.delta"


class Watched(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A stream that looks, at each read, at what the caller has."""

    def __init__(self, protocol: str) -> None:
        self.protocol, self.heard, self.late = protocol, "", []

    def __iter__(self) -> Iterator[bytes]:
        before = ""
        for piece, text in pieces(self.protocol):
            if self.heard != before:
                self.late.append((self.heard, before))
            yield piece
            before = text

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


def watched(protocol: str) -> tuple[Watched, ul.Upstream]:
    stream = Watched(protocol)
    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=stream)
    return stream, Canned(lambda: answer, protocol=protocol).upstream


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_through_the_client(protocol: str, mode: str) -> None:
    stream, upstream = watched(protocol)

    async def main() -> None:
        async for event in await ul.AsyncClient(upstream).responses.create(input="Hi", stream=True):
            stream.heard += event.delta if _is_text(event.type) else ""

    if mode == "sync":
        for event in ul.Client(upstream).responses.create(input="Hi", stream=True):
            stream.heard += event.delta if _is_text(event.type) else ""
    else:
        asyncio.run(main())
    assert stream.heard == SAID
    assert stream.late == []


@pytest.mark.parametrize("surface", PROTOCOLS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_under_a_sdk(surface: str, protocol: str) -> None:
    stream, upstream = watched(protocol)
    said = Said(surface)
    http = ul.http_client(upstream)
    with http.stream("POST", **REQUESTS[surface]) as answer:
        for chunk in answer.iter_raw():
            stream.heard += said.feed(chunk)
    assert stream.heard == SAID
    assert stream.late == []


USER = {"role": "user", "content": "Hi"}
REQUESTS: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "url": "http://any/v1/chat/completions",
        "json": {"model": "m", "messages": [USER], "stream": True},
    },
    "openai-responses": {"url": "http://any/v1/responses", "json": {"model": "m", "input": "Hi", "stream": True}},
    "anthropic-messages": {
        "url": "http://any/v1/messages",
        "json": {"model": "m", "max_tokens": 9, "messages": [USER], "stream": True},
        "headers": {"anthropic-version": "2023-06-01"},
    },
    "google-generate-content": {
        "url": "http://any/v1beta/models/m:streamGenerateContent?alt=sse",
        "json": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    },
    "google-interactions": {
        "url": "http://any/v1beta/interactions",
        "json": {"model": "m", "input": "Hi", "stream": True},
    },
}
