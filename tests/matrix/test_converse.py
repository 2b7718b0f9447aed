"""Converse on either side: botocore's client over every upstream, and every SDK over a strict server of Converse."""

from __future__ import annotations

import pytest

pytest.importorskip("botocore", reason="the extra amazon is not installed")

import unified_llm as ul
from botocore_surface import Converse
from botocore_wire import at
from matrix.loopback import SIGNING, Loopback, surfaces, upstreams
from matrix.test_reasoning import converse
from matrix.test_tool_loops import LOOP
from oracles.amazon_converse import Converse as Server
from sdk_surfaces import Surface

WORDS = "One two three four five."


@upstreams
@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_what_the_upstream_says(house: Loopback, protocol: str, mode: str) -> None:
    talk = house.talk(Converse, protocol)
    talk.sdk.ask(f"[[reason Hm.]] {WORDS} [[usage input=70]]")
    said = talk.call(mode)
    assert said.text.strip() == WORDS and not said.calls
    assert said.answer["stopReason"] == "end_turn" and said.answer["usage"]["inputTokens"] == 70
    if mode == "stream":
        deltas = [each["contentBlockDelta"]["delta"] for each in talk.sdk.events if "contentBlockDelta" in each]
        assert [word for each in deltas if (word := each.get("text", "").strip())] == WORDS.split()
    (seen,) = house.seen
    assert seen.protocol == protocol


@upstreams
@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_a_tool_loop_with_parallel_calls(house: Loopback, protocol: str, mode: str) -> None:
    talk = house.talk(Converse, protocol)
    talk.sdk.ask(LOOP)
    oslo, rome = talk.call(mode).calls
    assert (oslo.arguments, rome.arguments) == ({"city": "Oslo"}, {"city": "Rome"}) and oslo.id != rome.id
    talk.sdk.give(oslo, "4 degrees")
    talk.sdk.give(rome, "20 degrees")
    (bern,) = talk.call(mode).calls
    talk.sdk.give(bern, "11 degrees")
    assert talk.call(mode).text == "It is: get_weather: 11 degrees"
    assert [seen.status for seen in house.seen] == [200] * 3


@pytest.mark.parametrize("protocol", SIGNING)
@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_what_was_signed_returns(house: Loopback, protocol: str, mode: str) -> None:
    signed = converse(house, Converse, protocol, mode, echoes=True)
    assert all(signed), "the upstream signs every answer"
    for turn in range(len(house.seen)):
        assert house.sent(turn) == set().union(*signed[:turn]), f"all of it and nothing else, at request {turn}"


@surfaces
@pytest.mark.parametrize("stream", [False, True])
def test_an_sdk_over_a_strict_server(surface: type[Surface], stream: bool) -> None:
    server = Server()
    sdk = surface(ul.http_client(at(server)))
    sdk.ask("Rain?")
    (call,) = sdk.call(stream).calls
    assert (call.name, call.arguments) == ("get_weather", {"city": "Oslo"})
    sdk.give(call, "Wet.")
    said = sdk.call(stream)
    assert said.text == "Wet." and not said.calls and said.model == sdk.alias
    assert [verb for verb, _, _ in server.seen] == ["converse-stream" if stream else "converse"] * 2
