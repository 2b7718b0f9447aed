"""What SDKs over transports of ours lose on the way, and get back. What they send and receive is in `tests/matrix`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from client.pairs import Pair
from matrix.loopback import SIGNING, bare
from sdk_surfaces import Contents


@pytest.mark.parametrize("protocol", SIGNING)
@pytest.mark.parametrize("signed", [True, False], ids=["keeps signatures", "drops them too"])
def test_calls_that_lost_their_ids_get_them_back(protocol: str, signed: bool) -> None:
    """LangChain's Gemini sends calls and results without the ids they came with; what is signed may be for an id."""
    pair = Pair(Contents, protocol)
    history: list[Any] = pair.sdk.history
    for city in ("Oslo", "Rome"):
        pair.sdk.ask(
            f"[[reason Well.]] [[call get_weather city={city}]] [[call get_weather city=Bonn]] [[then]] [[results]]"
        )
        for call in pair.call("stream").calls:
            pair.sdk.give(call, f"mild as {city}")
        _drop_ids(history, signed)
        assert pair.call("stream").text == f"get_weather: mild as {city}\nget_weather: mild as {city}"
        _drop_ids(history, signed)
    assert [seen.status for seen in pair.service.seen] == [200] * 4
    seen = json.dumps(pair.service.seen[3].body)
    assert "call_ulm_" not in seen, "the ids are the provider's own"


def _drop_ids(history: list[Any], signed: bool) -> None:
    history[:] = [turn if signed else bare(turn) for turn in history]
    for turn in history:
        for part in turn["parts"]:
            for key in ("functionCall", "function_response"):
                part.get(key, {}).pop("id", None)
