"""Who hangs up on us makes us hang up: the upstream's connection is closed, and its server notices it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from matrix.loopback import Loopback, surfaces, upstreams
from sdk_surfaces import Surface

# google-genai leaves a generator of its own to the garbage collector when its stream is left; when that is, is chance.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:Exception ignored in. <async_generator object AsyncResponseStream:pytest.PytestUnraisableExceptionWarning"
)

ENDLESS = "One two three. [[slow 5]] [[repeat 4000]]"
"""A minute of it, so that it has not ended by itself when a busy machine comes to leave it."""


def closed(house: Loopback) -> bool:
    (seen,) = house.seen
    return seen.ended == "closed"


def heard(event: Any) -> bool:
    return "One" in event.model_dump_json(warnings=False)


@surfaces
@upstreams
def test_who_stops_listening(house: Loopback, surface: type[Surface], protocol: str) -> None:
    sdk = house.talk(surface, protocol).sdk
    sdk.ask(ENDLESS)
    stream = sdk.method(False)(**sdk.arguments(True))
    assert any(heard(event) for event in stream), "what is said first comes long before the last"
    assert house.seen[0].ended == "open"
    stream.close()
    house.settle()
    assert house.busy == []
    house.until(lambda: closed(house))


@surfaces
@upstreams
def test_who_stops_listening_in_an_event_loop(house: Loopback, surface: type[Surface], protocol: str) -> None:
    sdk = house.talk(surface, protocol).sdk
    sdk.ask(ENDLESS)

    async def run() -> None:
        stream = await sdk.method(True)(**sdk.arguments(True))
        async for event in stream:
            if heard(event):
                break
        await (stream.aclose() if hasattr(stream, "aclose") else stream.close())

    house.run(run())
    house.settle()
    assert house.busy == []
    house.until(lambda: closed(house))


@surfaces
@upstreams
@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_a_task_that_is_cancelled(house: Loopback, surface: type[Surface], protocol: str, mode: str) -> None:
    """Before any answer is there, and in the midst of one."""
    sdk = house.talk(surface, protocol).sdk
    sdk.ask("One two. [[slow 5000]]" if mode == "plain" else ENDLESS)

    async def run() -> None:
        task = asyncio.create_task(sdk.acall(mode == "stream"))
        while not house.service.answers or (mode == "stream" and b"One" not in house.service.answers[0]):
            await asyncio.sleep(0.002)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    house.run(run())
    house.settle()
    assert house.busy == []
    house.until(lambda: closed(house))
