"""Reasoning state over three turns: what a provider signed or encrypted returns byte for byte, through any SDK.

Once with a client that echoes what it got, and once with one that keeps nothing but words and calls, which the vault
of the transport makes up for.
"""

from __future__ import annotations

import pytest

from matrix.loopback import SIGNING, Loopback, bare, surfaces
from sdk_surfaces import Surface
from sealed import opaque

TURNS = (
    "[[reason Both, then.]] Let me look. [[call get_weather city=Oslo]] [[call get_weather city=Rome]] "
    "[[then]] [[reason I see.]] Mild.",
    "[[reason Once more.]] [[call get_weather city=Bern]] [[then]] [[reason Hm.]] Cold.",
    "[[redact]] Good bye.",
)


def converse(house: Loopback, surface: type[Surface], protocol: str, mode: str, echoes: bool) -> list[set[str]]:
    """The three turns; what was signed in each answer."""
    talk = house.talk(surface, protocol)
    signed: list[set[str]] = []
    for text, says in zip(TURNS, ("Mild.", "Cold.", "Good bye.")):
        talk.sdk.ask(text)
        said = talk.call(mode)
        while said.calls:
            signed.append(house.signed(-1))
            if not echoes:
                talk.sdk.history[:] = [kept for each in talk.sdk.history if (kept := bare(each))]
            for call in said.calls:
                talk.sdk.give(call, "mild")
            said = talk.call(mode)
        assert said.text == says
        signed.append(house.signed(-1))
        if not echoes:
            talk.sdk.history[:] = [kept for each in talk.sdk.history if (kept := bare(each))]
    assert [seen.status for seen in house.seen] == [200] * 5, "the strict upstream takes every signature it is sent"
    return signed


@surfaces
@pytest.mark.parametrize("protocol", SIGNING)
@pytest.mark.parametrize("mode", ["plain", "async stream"])
def test_what_was_signed_returns(house: Loopback, surface: type[Surface], protocol: str, mode: str) -> None:
    signed = converse(house, surface, protocol, mode, echoes=True)
    assert all(signed), "the upstream signs every answer"
    for turn in range(len(house.seen)):
        assert house.sent(turn) == set().union(*signed[:turn]), f"all of it and nothing else, at request {turn}"


@surfaces
@pytest.mark.parametrize("protocol", SIGNING)
@pytest.mark.parametrize("mode", ["stream", "async plain"])
def test_a_client_that_drops_it_is_helped(house: Loopback, surface: type[Surface], protocol: str, mode: str) -> None:
    signed = converse(house, surface, protocol, mode, echoes=False)
    for turn in range(len(house.seen)):
        assert house.sent(turn) <= set().union(*signed[:turn])
    # What goes with the calls of the turn that is under way has to be there: providers refuse or forget without it.
    assert house.sent(1) & signed[0] and house.sent(3) & signed[2]


@surfaces
@pytest.mark.parametrize("mode", ["plain", "async stream"])
def test_reasoning_that_has_no_signature_is_shown(house: Loopback, surface: type[Surface], mode: str) -> None:
    """Chat servers reason aloud and sign nothing: the three turns go on, and the client sees the thoughts."""
    converse(house, surface, "openai-chat", mode, echoes=True)
    assert not any(set(opaque(seen.body)) for seen in house.seen)
    assert not house.sent(4)
