"""One conversation for every framework: two turns with tools, three calls, over a strict upstream that signs.

The first turn requests two calls at once and thinks twice, the second goes on from what the first left in the
framework's own history. So ids and signatures of the answering provider go through the framework and back, where the
upstream refuses what is not as it made it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import httpx2
import pytest
from pydantic import BaseModel

import unified_llm as ul
from oracles import mounts
from sealed import opaque
from waiting import until

# Those of the strict servers. (Converse has its own, which botocore is run against.)
PROTOCOLS = tuple(name for name in ul.protocols() if name != "amazon-converse")
FIRST = (
    "[[reason Both, then.]] I will look. [[call get_weather city=Oslo]] [[call get_time city=Rome]] "
    "[[then]] [[reason So it is.]] It is said: [[results]]"
)
SECOND = "[[reason Once more.]] [[call get_weather city=Paris]] [[then]] At last: [[results]]"
QUESTIONS = (FIRST, SECOND)
MOVING = (
    "[[reason One.]] [[call get_weather city=Oslo]] [[call get_time city=Rome]] [[then]] First: [[results]]",
    "[[reason Two.]] [[call get_weather city=Paris]] [[then]] Second: [[results]]",
    "[[reason Three.]] [[call get_time city=Bonn]] [[then]] Third: [[results]]",
)
"""A conversation whose second turn is another provider's."""
MOVES = [(one, other) for one, other in zip(PROTOCOLS, PROTOCOLS[1:] + PROTOCOLS[:1])]
"""Every protocol once as the one that is left and come back to, once as the one in between."""

WAYS = pytest.mark.parametrize("way", ["transport", "gateway"], indirect=True)
"""The two ways to an upstream, for tests that go both."""
SIGNED = {
    "anthropic-messages": 3,
    "google-generate-content": 3,
    "google-interactions": 4,  # parallel calls are signed one by one
    "openai-chat": 0,
    "openai-responses": 3,
}
"""What an upstream has signed before its last answer: two thoughts of the first turn and one of the second."""
SUBSTANCE = {
    "text.input",
    "text.output",
    "message.role",
    "tools.call_id",
    "tools.result",
    "finish.reason",
    "usage.tokens",
}
"""What may not be lost: settings and counts may, which protocols have of their own."""


class City(BaseModel):
    """What structured output is to be."""

    name: str
    inhabitants: int
    kind: Literal["capital", "village"]
    twins: list[str]
    mayor: str | None = None


class Turn(NamedTuple):
    """What a framework gave of a turn: its final text, and the pieces of text in which it came."""

    text: str
    pieces: list[str]


def foreign(*own: str) -> list[tuple[str, str]]:
    """Every surface of a framework with every protocol that is not its own."""
    return [(surface, protocol) for surface in own for protocol in PROTOCOLS if protocol != surface]


class World:
    """An upstream with `protocol`, and everything that is known of what happened.

    Clients reach it through a transport in their process, or through `gateway` where there is one.
    """

    gateway: Any = None

    def __init__(self, protocol: str) -> None:
        self.protocol = protocol
        self.service = mounts.Oracle()
        inside = mounts.transport(self.service)
        self.upstream = ul.Upstream.of(f"local/echo:{protocol}").with_(
            http_client=httpx2.Client(transport=inside), async_http_client=httpx2.AsyncClient(transport=inside)
        )
        self.told: list[Sequence[ul.Loss]] = []
        self.called: list[tuple[str, str]] = []

    @property
    def options(self) -> dict[str, Any]:
        return {"on_losses": self.told.append}

    def http(self, **options: Any) -> Any:
        if self.gateway is not None:
            return self.gateway.client(self, **options)
        return ul.http_client(self.upstream, **self.options, **options)

    def ahttp(self, **options: Any) -> Any:
        if self.gateway is not None:
            return self.gateway.async_client(self, **options)
        return ul.async_http_client(self.upstream, **self.options, **options)

    def tools(self) -> tuple[Callable[[str], str], Callable[[str], str]]:
        """Two tools, as plain functions."""

        def get_weather(city: str) -> str:
            """Look up the weather in a city."""
            self.called.append(("get_weather", city))
            return f"Rain in {city}"

        def get_time(city: str) -> str:
            """Look up the time in a city."""
            self.called.append(("get_time", city))
            return f"Noon in {city}"

        return get_weather, get_time

    def judge(self, turns: list[Turn], result: str = "{}") -> None:
        """All of it went through: `result` is how the framework wraps a tool's result."""
        first, second = turns
        oslo, rome, paris = (result.format(f"{what} in {city}") for what, city in _SAID)
        assert first.text == f"It is said: get_weather: {oslo}\nget_time: {rome}"
        assert second.text == f"At last: get_weather: {paris}"
        assert "".join(first.pieces).endswith(first.text) and "".join(second.pieces).endswith(second.text)
        assert len(first.pieces) > 9 and len(second.pieces) > 3, "streams are streamed"
        assert sorted(self.called[:2]) == [("get_time", "Rome"), ("get_weather", "Oslo")]
        assert self.called[2:] == [("get_weather", "Paris")]
        seen = self.service.seen
        assert [(each.protocol, each.status) for each in seen] == [(self.protocol, 200)] * 4
        until(lambda: all(each.ended != "open" for each in seen))  # noted by the server's thread
        assert {each.ended for each in seen} <= {"done", "closed"}, "some hang up behind the last event"
        signed = set(opaque(seen[3].body))
        assert len(signed) == SIGNED[self.protocol], "everything it signed returns through the framework's history"
        assert all(each.startswith(_OWN) for each in signed), "and nothing else does"
        lost = {loss.capability for losses in self.told for loss in losses if loss.fate == "lost"}
        assert len(self.told) >= len(seen), "every answer has its report"
        assert not lost & SUBSTANCE


def judge_move(one: World, other: World, turns: list[Turn]) -> None:
    """A conversation that went from `one` to `other` and back, each of them strict about what is not its own."""
    for turn, words in zip(turns, (("First:", "Oslo", "Rome"), ("Second:", "Paris"), ("Third:", "Bonn"))):
        assert all(word in turn.text for word in words)
    assert [each.status for world in (one, other) for each in world.service.seen] == [200] * 6
    assert [len(world.service.seen) for world in (one, other)] == [4, 2]
    last = one.service.seen[3].body
    assert bool(set(opaque(last))) == bool(SIGNED[one.protocol]), (
        "what it signed in its first turn is back in its second"
    )
    assert "Paris" in str(last), "and so is what the other one said"


_SAID = (("Rain", "Oslo"), ("Noon", "Rome"), ("Rain", "Paris"))
_OWN = "CgRlY2hvEh"  # how every signature of echo begins
