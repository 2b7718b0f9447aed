"""Where requests to upstreams would have gone: what tests of names, logins and paths look at."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import httpx2

import unified_llm as ul
from unified_llm.client.upstreams.upstream import Upstream
from upstreams import CHAT

KEYS = {
    "OPENAI_API_KEY": "key-openai",
    "ANTHROPIC_API_KEY": "key-anthropic",
    "GEMINI_API_KEY": "key-google",
    "AZURE_API_KEY": "key-azure",
    "XAI_API_KEY": "key-xai",
    "AWS_BEARER_TOKEN_BEDROCK": "key-aws",
}
PLACES = {"resource": "res", "region": "eu-1", "project": "proj", "location": "global"}


class Framed(NamedTuple):
    event: str | None
    data: str


class Line:
    """Where a request would have gone."""

    def __init__(self, *answers: Any) -> None:
        self.seen: list[httpx2.Request] = []
        self.answers = answers or (CHAT,)
        self.http = httpx2.Client(transport=httpx2.MockTransport(self._answer))
        self.ahttp = httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer))

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.seen.append(request)
        answer = self.answers[min(len(self.seen), len(self.answers)) - 1]
        return httpx2.Response(200, json=answer) if isinstance(answer, dict) else answer()

    @property
    def body(self) -> Any:
        return json.loads(self.seen[-1].content)


def ask(upstream: Upstream, stream: bool = False) -> httpx2.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": stream}
    return ul.http_client(upstream).post("http://any/v1/chat/completions", json=body)  # type: ignore[no-any-return]
