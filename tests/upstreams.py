"""Canned upstreams for the tests of the client: answers by hand, after the wire references, over a mock transport."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx2

from unified_llm.client.upstreams.upstream import Upstream

Node = dict[str, Any]
Handler = Callable[[httpx2.Request], httpx2.Response]

MESSAGE: Node = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-up",
    "content": [{"type": "text", "text": "Hello"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 1},
}
CHAT: Node = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-up",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
}


def chunk(delta: Node, finish: str | None = None) -> Node:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-up", "choices": [choice]}


def frames(*values: Any) -> list[bytes]:
    return [b"data: " + (each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n\n" for each in values]


CHAT_STREAM = frames(chunk({"role": "assistant", "content": "Hel"}), chunk({"content": "lo"}, "stop"), b"[DONE]")


class Body(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body that comes piece by piece; an exception among the pieces is raised. It records whether it was closed."""

    def __init__(self, *pieces: bytes | Exception) -> None:
        self.pieces, self.closed, self.given = pieces, False, 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            self.given += 1
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece

    def close(self) -> None:
        self.closed = True

    async def aclose(self) -> None:
        self.closed = True


def streamed(*pieces: bytes | Exception, status: int = 200, kind: str = "text/event-stream") -> httpx2.Response:
    return httpx2.Response(status, headers={"content-type": kind}, stream=Body(*pieces))


class Canned:
    """An upstream that gives its answers in order (the last one again and again), and keeps what it was sent."""

    def __init__(self, *answers: Any, protocol: str = "openai-chat", **fields: Any) -> None:
        self.answers = list(answers)
        self.seen: list[httpx2.Request] = []
        self.bodies: list[Body] = []
        self.upstream = Upstream(
            protocol=protocol,
            **{"base_url": "http://up/v1", "model": "up-1", "provider": "canned", **fields},
            http_client=httpx2.Client(transport=httpx2.MockTransport(self._answer)),
            async_http_client=httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer)),
        )

    @property
    def sent(self) -> list[Any]:
        return [json.loads(each.content) for each in self.seen]

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.seen.append(request)
        answer = self.answers[min(len(self.seen), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            answer = answer()
        if isinstance(answer, dict):
            answer = httpx2.Response(200, json=answer)
        if isinstance(answer.stream, Body):
            self.bodies.append(answer.stream)
        found: httpx2.Response = answer
        return found
