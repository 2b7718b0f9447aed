"""Calls of a client whose hooks record their events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import unified_llm as ul
from upstreams import CHAT_STREAM, Canned, frames

RETRY = ul.Retry(jitter=0)


CHAT_USAGE = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt-up", "choices": [],
              "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}}  # fmt: skip
STREAMED = [*CHAT_STREAM[:-1], *frames(CHAT_USAGE, b"[DONE]")]


class Heard(list[Any]):
    """The events of a client, in their order."""

    @property
    def names(self) -> list[str]:
        return [type(each).__name__.removesuffix("Info") for each in self]

    @property
    def hooks(self) -> dict[str, Callable[[Any], Any]]:
        return dict.fromkeys(("on_request", "on_response", "on_retry"), self.append)

    @property
    def ahooks(self) -> dict[str, Callable[[Any], Any]]:
        async def hear(event: Any) -> None:
            await asyncio.sleep(0)
            self.append(event)

        return dict.fromkeys(self.hooks, hear)


def call(heard: Heard, *canned: Canned, stream: bool = False, **options: Any) -> None:
    first, *others = (each.upstream for each in canned)
    with ul.Client(first, models=others, retry=RETRY, **{**heard.hooks, **options}) as client:
        found: Any = client.responses.create(input="Hi", stream=stream or None, models=[first, *others])
        for _ in found if stream else ():
            pass


def acall(heard: Heard, *canned: Canned, stream: bool = False, **options: Any) -> None:
    async def run() -> None:
        first, *others = (each.upstream for each in canned)
        async with ul.AsyncClient(first, retry=RETRY, **{**heard.ahooks, **options}) as client:
            found: Any = await client.responses.create(input="Hi", stream=stream or None, models=[first, *others])
            if stream:
                async for _ in found:
                    pass

    asyncio.run(run())


both = pytest.mark.parametrize("ask", [call, acall], ids=["sync", "async"])
