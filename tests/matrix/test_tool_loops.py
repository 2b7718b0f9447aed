"""Tool loops: two calls in a turn, both results, another call, an answer; strict upstreams take each step."""

from __future__ import annotations

import pytest

from matrix.loopback import Loopback, surfaces, upstreams
from sdk_surfaces import Surface

LOOP = (
    "[[reason Both, then.]] Let me look. [[call get_weather city=Oslo]] [[call get_weather city=Rome]] [[then]] "
    "[[reason One more.]] [[call get_weather city=Bern]] [[then]] It is: [[results]]"
)


@surfaces
@upstreams
@pytest.mark.parametrize("mode", ["stream", "async plain"])
def test_a_tool_loop_with_parallel_calls(house: Loopback, surface: type[Surface], protocol: str, mode: str) -> None:
    talk = house.talk(surface, protocol)
    talk.sdk.ask(LOOP)
    first = talk.call(mode)
    assert [(call.name, call.arguments) for call in first.calls] == [
        ("get_weather", {"city": "Oslo"}),
        ("get_weather", {"city": "Rome"}),
    ]
    assert len({call.id for call in first.calls}) == 2
    talk.sdk.give(first.calls[0], "4 degrees")
    talk.sdk.give(first.calls[1], "20 degrees")
    (third,) = talk.call(mode).calls
    assert third.arguments == {"city": "Bern"} and third.id not in {call.id for call in first.calls}
    talk.sdk.give(third, "11 degrees")
    last = talk.call(mode)
    assert last.text == "It is: get_weather: 11 degrees" and not last.calls
    talk.sdk.ask("Thank you.")
    assert talk.call(mode).text == "Thank you."
    assert [seen.status for seen in house.seen] == [200] * 4


@surfaces
@upstreams
def test_results_are_matched_to_their_calls_in_any_order(
    house: Loopback, surface: type[Surface], protocol: str
) -> None:
    talk = house.talk(surface, protocol)
    talk.sdk.ask("[[call get_weather city=Oslo]] [[call get_weather city=Rome]] [[then]] [[results]]")
    oslo, rome = talk.call("plain").calls
    talk.sdk.give(rome, "in Rome")
    talk.sdk.give(oslo, "in Oslo")
    assert sorted(talk.call("plain").text.split("\n")) == ["get_weather: in Oslo", "get_weather: in Rome"]
    made = {call.id: call.arguments["city"] for call in (oslo, rome)}
    assert sorted(made.values()) == ["Oslo", "Rome"] and len(house.seen) == 2
