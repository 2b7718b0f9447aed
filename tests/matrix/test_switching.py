"""Another provider at every request of a conversation with tools: in the midst of a loop, and between two of them.

Six requests, to two providers in turns, for each ordered pair. Each strict upstream takes what the other made, is sent
no signature of the other's, and finds all of its own again, byte for byte.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

import unified_llm as ul
from covering import covering
from matrix.loopback import PROTOCOLS, Loopback
from sdk_surfaces import NAME, PARAMETERS, SURFACES, Surface

PAIRS = pytest.mark.parametrize(("one", "other"), [*itertools.permutations(PROTOCOLS, 2)])
ASKED = (
    "[[reason Both, then.]] Let me look. [[call get_weather city=Oslo]] [[call get_weather city=Rome]] "
    "[[then]] [[reason One more.]] [[call get_weather city=Bern]] [[then]] [[reason I see.]] It is: [[results]]",
    "[[reason Again.]] [[call get_weather city=Bern]] [[then]] [[redact]] [[call get_weather city=Oslo]] "
    "[[call get_weather city=Rome]] [[then]] [[reason Hm.]] So: [[results]]",
)
CITIES = (["Oslo", "Rome"], ["Bern"], [], ["Bern"], ["Oslo", "Rome"], [])
SAYS = {2: "It is: get_weather: mild", 5: "So: get_weather: mild\nget_weather: mild"}


def judged(house: Loopback, home: str = "") -> None:
    """Every request was taken, and held the provider's own signatures: all, and no others.

    In its own protocol (`home`) a history goes out as the client holds it. What the other provider made may be refused
    in it, for lack of signatures; it is then repaired and accepted, and the client sees only the losses.
    """
    refused = [number for number, seen in enumerate(house.seen) if seen.status == 400]
    for number in refused:
        first, second = house.seen[number : number + 2]
        assert (first.protocol, second.protocol, second.status) == (home, home, 200)
    taken = [number for number in range(len(house.seen)) if number not in refused]
    assert len(taken) == 6 and all(house.seen[number].status == 200 for number in taken)
    for turn, number in enumerate(taken):
        protocol = house.seen[number].protocol
        own = set[str]().union(*(house.signed(at) for at in taken[:turn] if house.seen[at].protocol == protocol))
        assert house.sent(number) == own, f"request {number}, to {protocol}"
        assert bool(own) == (turn > 1 and protocol != "openai-chat"), "or there would be nothing to find"


# Of an SDK and its two providers each two meet: what a history loses, it loses where it is written or read.
MET = covering(SURFACES, PROTOCOLS, PROTOCOLS, where=lambda surface, one, other: one != other)


@pytest.mark.parametrize(("surface", "one", "other"), MET, ids=lambda each: getattr(each, "protocol", each))
def test_through_an_sdk(house: Loopback, surface: type[Surface], one: str, other: str) -> None:
    """As their users do it: two clients of one SDK, and the history that goes from one to the other."""
    talks = [house.talk(surface, protocol) for protocol in (one, other)]
    talks[1].sdk.history = talks[0].sdk.history
    for number, cities in enumerate(CITIES):
        talk = talks[number % 2]
        if number % 3 == 0:
            talk.sdk.ask(ASKED[number // 3])
        said = talk.call("stream" if number in (1, 2) else "plain")
        assert [call.arguments["city"] for call in said.calls] == cities
        assert number not in SAYS or said.text == SAYS[number]
        for call in said.calls:
            talk.sdk.give(call, "mild")
    judged(house, surface.protocol)


TOOL: dict[str, Any] = {"type": "function", "name": NAME, "parameters": PARAMETERS}


@PAIRS
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_through_our_client(house: Loopback, asynchronous: bool, one: str, other: str) -> None:
    """By the answer before (`previous=`) in one direction of a pair, by all items in the other."""
    way = ("async " if asynchronous else "") + ("previous" if one < other else "items")
    upstreams = [house.upstream(one), house.upstream(other)]
    sync, loop = ul.Client(), ul.AsyncClient()
    before: Any = None
    news: list[Any] = []
    for number, cities in enumerate(CITIES):
        if number % 3 == 0:
            news = [{"type": "message", "role": "user", "content": ASKED[number // 3]}]
        given: dict[str, Any] = {"upstream": upstreams[number % 2], "tools": [TOOL], "max_output_tokens": 4000}
        if "items" in way:
            given["input"] = [*(before.items if before is not None else ()), *news]
        else:
            given |= {"input": news, "previous": before}
        if asynchronous:
            before = house.run(loop.responses.create(**given))
        elif number in (1, 2):
            with sync.responses.create(**given, stream=True) as events:
                before = events.get_final_response()
        else:
            before = sync.responses.create(**given)
        calls = [item for item in before.output if item.type == "function_call"]
        assert [json.loads(call.arguments)["city"] for call in calls] == cities
        assert number not in SAYS or before.output_text == SAYS[number]
        news = [{"type": "function_call_output", "call_id": call.call_id, "output": "mild"} for call in calls]
    judged(house)
