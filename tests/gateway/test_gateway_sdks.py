"""The official SDKs through the gateway, by base URL alone: every surface over an upstream of every protocol."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest

from gateway.serving import PROTOCOLS, House, Served, sdk
from matrix.test_errors import status_of
from sdk_surfaces import SURFACES, Interactions, Messages, Responses, Said, Surface, plain
from waiting import PATIENCE

surfaces = pytest.mark.parametrize("surface", SURFACES, ids=lambda each: each.protocol)
upstreams = pytest.mark.parametrize("protocol", PROTOCOLS)
LOOP = "Let me look. [[call get_weather city=Oslo]] [[call get_weather city=Rome]] [[then]] It is: [[results]]"


class Talk:
    """A conversation of one SDK through a gateway in this process."""

    def __init__(self, house: House, surface: type[Surface], model: str) -> None:
        self.house = house
        self.http = house.http(house.gateway())
        self.sdk = sdk(surface, model, ahttp=self.http)

    def call(self, stream: bool) -> Said:
        return self.house.run(self.sdk.acall(stream))

    def stored(self, stream: bool, **more: Any) -> Said:
        """The same, of a response that is to be kept."""

        async def called() -> Said:
            found = await self.sdk.method(True)(**{**self.sdk.arguments(stream), "store": True, **more})
            return self.sdk.take([plain(each) async for each in found] if stream else plain(found))

        return self.house.run(called())


@surfaces
@upstreams
def test_a_tool_loop_and_another_turn(house: House, surface: type[Surface], protocol: str) -> None:
    talk = Talk(house, surface, protocol)
    talk.sdk.ask(LOOP)
    first = talk.call(stream=True)
    assert [(each.name, each.arguments) for each in first.calls] == [
        ("get_weather", {"city": "Oslo"}),
        ("get_weather", {"city": "Rome"}),
    ]
    talk.sdk.give(first.calls[0], "4 degrees")
    talk.sdk.give(first.calls[1], "20 degrees")
    last = talk.call(stream=False)
    assert last.text == "It is: get_weather: 4 degrees\nget_weather: 20 degrees" and last.model == protocol
    talk.sdk.ask("Thank you.")
    assert talk.call(stream=True).text == "Thank you."
    assert [(seen.protocol, seen.status) for seen in house.seen] == [(protocol, 200)] * 3


@surfaces
@upstreams
def test_an_error_is_the_sdks_own(house: House, surface: type[Surface], protocol: str) -> None:
    talk = Talk(house, surface, protocol)
    status = 429 if (SURFACES.index(surface) + PROTOCOLS.index(protocol)) % 2 else 400
    talk.sdk.ask(f'[[error {status} message="on purpose"]]')
    with pytest.raises(Exception, match="on purpose") as caught:
        talk.call(stream=status == 429)
    assert status_of(caught.value) == status
    assert [seen.status for seen in house.seen] == [status], "one request, one attempt"


@surfaces
def test_an_unknown_model(house: House, surface: type[Surface]) -> None:
    talk = Talk(house, surface, "nowhere/has-this")
    talk.sdk.ask("Hi")
    with pytest.raises(Exception, match="nowhere/has-this") as caught:
        talk.call(stream=False)
    assert status_of(caught.value) == 404 and not house.seen


@surfaces
@pytest.mark.parametrize("protocol", ["anthropic-messages", "google-interactions"])
def test_a_stream_that_breaks_is_an_error_of_the_sdk(house: House, surface: type[Surface], protocol: str) -> None:
    talk = Talk(house, surface, protocol)
    talk.sdk.ask("One two three four. [[break after 4]]")
    try:
        said = talk.call(stream=True)
    except Exception as error:  # SDKs that have an exception for it
        assert "broke off" in str(error) or "peer" in str(error) or "closed" in str(error), error
    else:  # those that hand the event out
        assert any("error" in str(each) for each in talk.sdk.events), said


@pytest.mark.parametrize("surface", [Responses, Interactions], ids=lambda each: each.protocol)
@upstreams
@pytest.mark.parametrize("stream", [False, True])
def test_a_response_is_continued_by_its_id(house: House, surface: type[Surface], protocol: str, stream: bool) -> None:
    talk = Talk(house, surface, protocol)
    key = "previous_response_id" if surface is Responses else "previous_interaction_id"
    talk.sdk.ask("One.")
    first = talk.stored(stream)
    talk.sdk.history.clear()
    talk.sdk.ask("Two.")
    talk.stored(stream, **{key: id_of(first, talk.sdk)})
    assert "One." in str(house.seen[1].body), "the upstream is sent the whole conversation"
    with pytest.raises(Exception, match="resp_unknown") as caught:
        talk.stored(stream, **{key: "resp_unknown"})
    assert status_of(caught.value) == (400 if surface is Responses else 404) and len(house.seen) == 2


def id_of(said: Said, talk: Surface) -> str:
    """The id of a response, whole or in the events of a stream."""
    ids = {(each.get("interaction") or {}).get("id") for each in talk.events} - {None} or {said.answer.get("id")}
    (found,) = ids
    assert isinstance(found, str)
    return found


# ---- over HTTP ------------------------------------------------------------------------------------------------------


@surfaces
@pytest.mark.parametrize("stream", [False, True])
def test_the_synchronous_sdks_over_http(served: Served, house: House, surface: type[Surface], stream: bool) -> None:
    for protocol in (surface.protocol, "anthropic-messages" if surface is not Messages else "openai-chat"):
        with httpx2.Client() as http:
            talk = sdk(surface, protocol, served.url, http=http)
            talk.ask("Good morning, Oslo.")
            assert talk.call(stream).text == "Good morning, Oslo."


@surfaces
def test_the_asynchronous_sdks_over_http(served: Served, house: House, surface: type[Surface]) -> None:
    async def talked() -> list[str]:
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            made = [sdk(surface, protocol, served.url, ahttp=http) for protocol in PROTOCOLS]
            for each in made:
                each.ask("Good morning.")
            return [said.text for said in await asyncio.gather(*(each.acall(True) for each in made))]

    assert house.run(talked()) == ["Good morning."] * len(PROTOCOLS)


def test_models_in_the_shape_of_each_sdk(served: Served) -> None:
    ids: dict[str, set[str]] = {}
    with httpx2.Client() as http:
        for surface in SURFACES:
            talk = sdk(surface, "any", served.url, http=http)
            client: Any = talk.client(False)
            found = [getattr(each, "id", None) or each.name.removeprefix("models/") for each in client.models.list()]
            ids[surface.protocol] = set(found)
            wanted = "openai-chat"
            one = (
                client.models.get(model=wanted)
                if surface.protocol.startswith("google")
                else client.models.retrieve(wanted)
            )
            assert wanted in str(one)
    assert len({frozenset(each) for each in ids.values()}) == 1
    assert {*PROTOCOLS, "local/echo"} <= ids["openai-chat"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tokens_are_counted(served: Served, house: House, protocol: str) -> None:
    with httpx2.Client() as http:
        messages: Any = sdk(Messages, protocol, served.url, http=http).client(False)
        count = messages.messages.count_tokens(model=protocol, messages=[{"role": "user", "content": "Good morning."}])
        assert count.input_tokens > 0
        responses: Any = sdk(Responses, protocol, served.url, http=http).client(False)
        assert responses.responses.input_tokens.count(model=protocol, input="Good morning.").input_tokens > 0
        google: Any = sdk(SURFACES[3], protocol, served.url, http=http).client(False)
        assert google.models.count_tokens(model=protocol, contents="Good morning.").total_tokens > 0
