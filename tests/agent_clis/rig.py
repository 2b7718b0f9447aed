"""A strict upstream that follows a script, the gateway in front of it, and a record of what both were sent.

The upstream calls the two tools one after the other and signs a thought before each; then it repeats the result of
the second. It counts the results, not the user's words, because programs add reminders and requests of their own.
"""

from __future__ import annotations

import dataclasses
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from gateway.served import Served
from gateway.strict_upstreams import strict_upstreams
from oracles.plan import Facts, Plan, Turn, plan_of
from oracles.service import Service
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.configuration.config import Config
from unified_llm.gateway.upstreams.routing import Router

FINAL = "All done:"


def script(*calls: tuple[str, dict[str, str]]) -> str:
    """The script of an upstream, in its directives: a thought, a text and a call; the next; the last result."""
    steps = [one_call(number, call) for number, call in enumerate(calls, 1)]
    return " [[then]] ".join([*steps, f"{FINAL} [[results]]"])


def one_call(number: int, call: tuple[str, dict[str, str]]) -> str:
    """A thought, a text and a call, none of which is that of another number."""
    name, arguments = call
    given = " ".join(f"{key}={json.dumps(value)}" for key, value in arguments.items())
    return f"[[reason Thought {number}.]] Step {number}. [[call {name} {given}]]"


class Scripted(Service):
    """A strict upstream that follows one script, whatever the user says."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def plan(self, facts: Facts) -> Plan:
        """The next step. Requests without tools are for titles and the like."""
        asked = self.text if facts.tools and not facts.structured else "A title"
        turns = [Turn("user", asked), *(turn for turn in facts.turns if turn.by != "user")]
        return plan_of(dataclasses.replace(facts, turns=turns))


class Conversing(Service):
    """A strict upstream that calls one tool after each prompt, thinks before it, and then repeats the result.

    It distinguishes the prompts by its final texts in the history, no matter who wrote them.
    """

    def __init__(self, call: tuple[str, dict[str, str]]) -> None:
        super().__init__()
        self.call = call

    def plan(self, facts: Facts) -> Plan:
        """A call, or the end of a turn."""
        finals = sum(FINAL in turn.text for turn in facts.turns if turn.by == "model")
        results = sum(turn.by == "result" for turn in facts.turns)
        step = f"{FINAL} {finals + 1} [[results]]"
        if not facts.tools or facts.structured:
            step = "A title"
        elif results == finals:
            step = one_call(finals + 1, self.call)
        turns = [*(turn for turn in facts.turns if turn.by != "user"), Turn("user", step)]
        return plan_of(dataclasses.replace(facts, turns=turns))


class Reply(NamedTuple):
    """A response of the gateway: its route, its status and the losses in its header."""

    route: str
    status: int
    losses: list[list[str]]
    count: int


class RecordingGateway(Gateway):
    """A gateway that sends all requests to one upstream, and keeps what is known of each response."""

    def __init__(self, config: Config, router: Router) -> None:
        super().__init__(config, router)
        self.upstream = ""
        self.replies: list[Reply] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def kept(message: Any) -> None:
            if message["type"].endswith("response.start"):
                headers = {name.decode(): value.decode() for name, value in message["headers"]}
                told = json.loads(headers.get("x-unified-llm-losses") or "{}")
                route = f"{scope.get('method', 'WebSocket')} {scope['path']}"
                self.replies.append(Reply(route, message["status"], told.get("first", []), told.get("count", 0)))
            await send(message)

        if scope["type"] in ("http", "websocket"):
            scope = {**scope, "headers": [*scope["headers"], (b"x-llm-upstream", self.upstream.encode())]}
        await super().__call__(scope, receive, kept)


class Outside:
    """A proxy that refuses everything and keeps the names of the requested hosts."""

    def __init__(self) -> None:
        self.hosts: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client:
                client.settimeout(2)
                try:
                    words = client.recv(4096).split(b"\r\n")[0].decode("latin-1").split()
                    client.sendall(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                except OSError:
                    continue
                if len(words) > 1:
                    self.hosts.append(words[1].removeprefix("http://").partition("/")[0].partition(":")[0])

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


class Rig(NamedTuple):
    """The address of the gateway, and everything that was seen."""

    url: str
    services: Mapping[str, Service]
    gateway: RecordingGateway
    outside: Outside

    @property
    def seen(self) -> list[Any]:
        """The requests that reached an upstream."""
        return [seen for service in self.services.values() for seen in service.seen]


@contextmanager
def rig(services: Mapping[str, Service]) -> Iterator[Rig]:
    """A gateway over one upstream for each protocol; requests go to the first until another one is chosen."""
    with ExitStack() as stack:
        outside = Outside()
        stack.callback(outside.close)
        upstreams = strict_upstreams(services, stack)
        tables = {"gateway": {"listen": "127.0.0.1:0", "providers": ["local"]}, "state": {"url": "sqlite://"}}
        settings = Config.model_validate(tables)
        gateway = RecordingGateway(settings, Router(settings, upstreams))
        gateway.upstream = next(iter(services))
        served = stack.enter_context(Served(gateway))
        yield Rig(served.url, services, gateway, outside)
