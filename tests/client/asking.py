"""Requests over the wire, in threads and in event loops, with waits that take no time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from unified_llm.client.connections import io
from unified_llm.client.connections.io import AsyncWire, Wire
from unified_llm.client.sending.effects import Answer, Ask
from unified_llm.client.sending.retry import Retry
from upstreams import Canned

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
PLAIN = Ask(body=BODY, source="openai-chat")
STREAM = Ask(body={**BODY, "stream": True}, source="openai-chat", stream=True)
RETRY = Retry(jitter=0)

Call = Callable[..., Any]


def call(ask: Ask, *canned: Canned, retry: Retry = RETRY) -> Any:
    """The answer, or all the bytes of a stream."""
    with Wire(retry=retry) as wire:
        found = wire.send(ask, [each.upstream for each in canned])
        return found if isinstance(found, Answer) else b"".join(found)


def acall(ask: Ask, *canned: Canned, retry: Retry = RETRY) -> Any:
    async def run() -> Any:
        async with AsyncWire(retry=retry) as wire:
            found = await wire.send(ask, [each.upstream for each in canned])
            return found if isinstance(found, Answer) else b"".join([each async for each in found])

    return asyncio.run(run())


both = pytest.mark.parametrize("ask_for", [call, acall], ids=["sync", "async"])


@pytest.fixture(autouse=True, name="waits")
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waiting takes no time, and is written down."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(io.time, "sleep", waited.append)
    monkeypatch.setattr("anyio.sleep", sleep)
    return waited


def refusal(status: int, error: Any, **headers: str) -> Callable[[], httpx2.Response]:
    return lambda: httpx2.Response(status, json=error, headers={k.replace("_", "-"): v for k, v in headers.items()})


def openai(kind: str, code: str | None) -> Any:
    return {"error": {"message": "m", "type": kind, "param": None, "code": code}}


def anthropic(kind: str, message: str) -> Any:
    return {"type": "error", "error": {"type": kind, "message": message}}


def google(code: int, status: str) -> Any:
    return {"error": {"code": code, "message": "m", "status": status}}
