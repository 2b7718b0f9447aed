"""The ways to mount `local/echo`: ASGI, HTTP clients, and streams that are not held back."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx2
import pytest

from local.echo_client import client, post
from oracles.surfaces import (
    CHAT,
    CONTENT,
    HEADERS,
    PROTOCOLS,
    path,
    request,
)
from unified_llm_local import echo

every = pytest.mark.parametrize("protocol", PROTOCOLS)


@every
def test_asgi_says_the_same(protocol: str) -> None:
    async def ask() -> bytes:
        inside = httpx2.ASGITransport(app=echo.Echo())
        async with httpx2.AsyncClient(transport=inside, base_url="http://echo") as http:
            body = {**request(protocol, "a b"), **({} if protocol == CONTENT else {"stream": True})}
            return (await http.post(path(protocol, True), json=body, headers=HEADERS.get(protocol))).content

    assert asyncio.run(ask()) == post(protocol, request(protocol, "a b"), stream=True).content


def test_asgi_starts_ends_and_breaks() -> None:
    sent: list[str] = []
    messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    asyncio.run(echo.Echo()({"type": "lifespan"}, receive, send))
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    body = json.dumps({**request(CHAT, "a b [[break after 1]]"), "stream": True}).encode()
    messages.append({"type": "http.request", "body": body})
    scope = {"type": "http", "method": "POST", "path": path(CHAT), "query_string": b"", "headers": []}
    with pytest.raises(ConnectionError):
        asyncio.run(echo.Echo()(scope, receive, send))


@every
def test_streams_are_not_held_back(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    came: list[Any] = []  # chunks, and the waits between them
    monkeypatch.setattr(time, "sleep", came.append)
    service = echo.Echo()
    body = {**request(protocol, "a b c d e [[slow 40]]"), **({} if protocol == CONTENT else {"stream": True})}
    with client(service) as http:
        with http.stream("POST", path(protocol, True), json=body, headers=HEADERS.get(protocol)) as response:
            for chunk in response.iter_raw():
                came.append(chunk)
        assert len(came) > 6 and came[1::2] == [0.04] * (len(came) // 2)
        assert all(type(chunk) is bytes for chunk in came[::2])
        with http.stream("POST", path(protocol, True), json=body, headers=HEADERS.get(protocol)) as response:
            next(response.iter_raw())
    assert service.seen[-1].ended == "closed"


def test_the_older_http_library() -> None:
    httpx = pytest.importorskip("httpx")
    with httpx.Client(transport=echo.transport(echo.Echo(), "httpx"), base_url="http://echo") as http:
        assert http.post(path(CHAT), json=request(CHAT, "Hi.")).json()["choices"][0]["message"]["content"] == "Hi."
