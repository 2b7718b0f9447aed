"""The oracles behind a socket of this machine: every SDK's surface over every upstream protocol, over HTTP.

One server, one connection pool for threads and one for an event loop, for all tests of a session; each test has a
service of its own. What goes over the wire is seen on the server's side: requests, the bytes of answers, and how each
exchange ended.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeVar

import httpx2
import pytest

import unified_llm as ul
from oracles import mounts
from oracles.service import Reply, Seen
from sdk_surfaces import SURFACES, Said, Surface
from sealed import opaque
from waiting import PATIENCE, until

PROTOCOLS = sorted(each.protocol for each in SURFACES)
SIGNING = [each for each in PROTOCOLS if each != "openai-chat"]
BASES = {each: ("/v1beta" if each.startswith("google") else "/v1") for each in PROTOCOLS}

ABANDONING = ("google-generate-content", "google-interactions")

surfaces = pytest.mark.parametrize("surface", SURFACES, ids=lambda each: each.protocol)
upstreams = pytest.mark.parametrize("protocol", PROTOCOLS)
T = TypeVar("T")
# What stands for a signature that there is none of: "skip_thought_signature_validator", plain and in base64.
_PLACEHOLDERS = ("skip", "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=")


class Recorded(mounts.Oracle):
    """The service, and the bytes of each of its answers as far as they were sent."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[bytearray] = []

    def handle(self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes) -> Reply:
        reply = super().handle(method, path, query, headers, body)
        self.answers.append(bytearray())
        reply.body = self._kept(reply.body, self.answers[-1])
        return reply

    @staticmethod
    def _kept(body: Any, answer: bytearray) -> Iterator[bytes | float]:
        try:
            for piece in body:
                if not isinstance(piece, float):
                    answer += piece
                yield piece
        finally:
            body.close()


class Loopback:
    """The server and the pools; `service` is of the test that runs."""

    def __init__(self) -> None:
        self.service = Recorded()
        self.abandons = False
        self.server = mounts.serve(self.service)
        self.runner = asyncio.Runner()
        self.pipe = httpx2.HTTPTransport()
        self.apipe = httpx2.AsyncHTTPTransport()
        self.clients = {
            "http_client": httpx2.Client(transport=self.pipe),
            "async_http_client": httpx2.AsyncClient(transport=self.apipe),
        }

    def renew(self) -> None:
        self.abandons = False  # whether an SDK is looked at that leaves its streams lying
        self.service = self.server.service = Recorded()

    def close(self) -> None:
        self.pipe.close()
        self.runner.run(self.apipe.aclose())
        self.runner.close()
        self.server.close()

    def run(self, doing: Awaitable[T], seconds: float = PATIENCE) -> T:
        """Await something in the session's event loop."""
        return self.runner.run(asyncio.wait_for(doing, seconds))

    def upstream(self, protocol: str, **changes: Any) -> ul.Upstream:
        """The server as a provider of its own for each protocol."""
        url = f"{self.server.url}{BASES[protocol]}"
        given = {"model": "echo", "provider": f"echo-{protocol}", **self.clients, **changes}
        return ul.Upstream(protocol=protocol, base_url=url, **given)

    def talk(self, surface: type[Surface], protocol: str, **options: Any) -> Talk:
        return Talk(self, surface, self.upstream(protocol), **options)

    @property
    def seen(self) -> list[Seen]:
        return list(self.service.seen)

    def signed(self, number: int) -> set[str]:
        """What the upstream signed in one of its answers, whole or streamed."""
        return set(opaque(list(_documents(bytes(self.service.answers[number])))))

    def sent(self, number: int) -> set[str]:
        """What it was sent of that, in one of its requests."""
        return {each for each in opaque(self.seen[number].body) if not each.startswith(_PLACEHOLDERS)}

    @property
    def busy(self) -> list[Any]:
        """Connections that are neither free nor closed."""
        pools = (self.pipe._pool, self.apipe._pool)
        return [each for pool in pools for each in pool.connections if not each.is_idle() and not each.is_closed()]

    def settle(self) -> None:
        """Let generators end that an SDK left lying, as google-genai does: its own are closed by the collector alone,
        in the loop that an application keeps running."""
        tries = itertools.count()

        def looked(seconds: float) -> None:
            gc.collect(min(next(tries) // 10, 2))  # what was left just now is young; looking through all takes long
            self.run(asyncio.sleep(seconds))

        if self.abandons:
            until(lambda: not self.busy, "a connection is still busy", looked)

    def until(self, true: Callable[[], Any]) -> None:
        """Wait for the server's side to notice something."""
        until(true, lambda: f"the server never heard of it: {[each.ended for each in self.seen]}")


class Talk:
    """A conversation over an SDK, in front of an upstream."""

    def __init__(self, house: Loopback, surface: type[Surface], upstream: ul.Upstream, **options: Any) -> None:
        self.house, self.losses = house, []
        given = {"on_losses": self.losses.append, **options}
        self.http = ul.http_client(upstream, **given)
        self.ahttp = ul.async_http_client(upstream, **given)
        self.sdk = surface(self.http, self.ahttp)
        house.abandons |= surface.protocol in ABANDONING

    def call(self, mode: str) -> Said:
        """One exchange; `mode` is "plain" or "stream", and "async" before it."""
        if mode.startswith("async"):
            return self.house.run(self.sdk.acall("stream" in mode))
        return self.sdk.call("stream" in mode)


def words_in(event: Any, text: str) -> list[str]:
    """The words of a text that an event brings: each as a piece of its own, not in an earlier text."""
    if isinstance(event, dict):
        return [word for each in event.values() for word in words_in(each, text)]
    if isinstance(event, list):
        return [word for each in event for word in words_in(each, text)]
    return [event.strip()] if isinstance(event, str) and event.strip() in text.split() else []


def _documents(answer: bytes) -> Iterator[Any]:
    if answer.lstrip().startswith((b"{", b"[")):
        yield json.loads(answer)
        return
    for line in answer.splitlines():
        if line.startswith(b"data:") and b"[DONE]" not in line:
            yield json.loads(line[5:])


_MIND = ("thinking", "redacted_thinking")
_SIGNS = ("signature", "thoughtSignature", "extra_content", "reasoning_details", "reasoning_content")


def bare(turn: Any) -> Any:
    """A turn as a careless client keeps it: words and calls, and no more."""
    if turn.get("type") in ("reasoning", "thought"):
        return None
    kept = {key: value for key, value in turn.items() if key not in _SIGNS}
    for key in ("content", "parts", "tool_calls"):
        if isinstance(kept.get(key), list):
            parts = [each for each in kept[key] if not each.get("thought") and each.get("type") not in _MIND]
            kept[key] = [{name: value for name, value in each.items() if name not in _SIGNS} for each in parts]
    return kept
