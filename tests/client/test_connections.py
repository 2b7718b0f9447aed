"""Over real sockets (of the file system): streams pass as they come, and whatever happens, no connection is leaked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from oracles import mounts
from sdk_surfaces import Chat, Messages, Responses, Surface
from waiting import PATIENCE

SURFACES = pytest.mark.parametrize("surface", [Chat, Responses, Messages], ids=lambda each: each.protocol)


class Wired:
    """An upstream behind a Unix socket, with a pool that is looked into."""

    def __init__(self, service: mounts.Oracle, path: str, protocol: str) -> None:
        self.service = service
        self.pipe = httpx2.HTTPTransport(uds=path)
        self.apipe = httpx2.AsyncHTTPTransport(uds=path)
        self.upstream = ul.Upstream.of(f"local/echo:{protocol}").with_(
            http_client=httpx2.Client(transport=self.pipe), async_http_client=httpx2.AsyncClient(transport=self.apipe)
        )

    def busy(self, pipe: Any = None) -> list[Any]:
        connections = (pipe or self.pipe)._pool.connections
        return [each for each in connections if not each.is_idle() and not each.is_closed()]


@pytest.fixture(params=["openai-chat", "anthropic-messages", "google-interactions"])
def wired(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Wired]:
    path = str(tmp_path / "echo")
    service = mounts.Oracle()
    with mounts.serve(service, uds=path):
        found = Wired(service, path, request.param)
        yield found
        found.pipe.close()


def told(surface: type[Surface], wired: Wired, text: str) -> Surface:
    sdk = surface(ul.http_client(wired.upstream), ul.async_http_client(wired.upstream))
    sdk.ask(text)
    return sdk


@SURFACES
@pytest.mark.parametrize("text", ["Good morning.", "[[error 429]]", "Hi [[garble json]]"])
@pytest.mark.parametrize("stream", [False, True])
def test_nothing_is_left_open(surface: type[Surface], wired: Wired, text: str, stream: bool) -> None:
    sdk = told(surface, wired, text)
    try:
        said: Any = sdk.call(stream).text
    except Exception as error:
        said = error
    assert (said == text) == ("[[" not in text), said
    assert wired.busy() == []


@SURFACES
def test_nothing_is_left_open_by_a_stream_that_breaks(surface: type[Surface], wired: Wired) -> None:
    sdk = told(surface, wired, "One two three four five six. [[break after 4]]")
    heard = []
    try:
        heard = list(sdk.method(False)(**sdk.arguments(True)))
    except Exception as error:
        assert "broke" in str(error) or "peer" in str(error), error
    else:
        assert "error" in heard[-1].model_dump_json(warnings=False) or "failed" in heard[-1].model_dump_json()
    assert wired.busy() == []


@SURFACES
def test_nothing_is_left_open_by_who_stops_listening(surface: type[Surface], wired: Wired) -> None:
    sdk = told(surface, wired, "One two three. [[slow 200]] [[repeat 50]]")
    with sdk.method(False)(**sdk.arguments(True)) as stream:
        next(iter(stream))
    assert wired.busy() == []


@SURFACES
@pytest.mark.parametrize("stream", [False, True])
def test_nothing_is_left_open_by_a_cancelled_task(surface: type[Surface], wired: Wired, stream: bool) -> None:
    async def run() -> None:
        sdk = told(surface, wired, "One two three. [[slow 200]] [[repeat 50]]")
        task = asyncio.create_task(sdk.acall(stream))
        while not wired.busy(wired.apipe):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)
        if stream or not task.done():  # what is not streamed is not slow
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert wired.busy(wired.apipe) == []
        await wired.apipe.aclose()

    asyncio.run(asyncio.wait_for(run(), PATIENCE))


@SURFACES
def test_the_first_piece_does_not_wait_for_the_last(surface: type[Surface], wired: Wired) -> None:
    sdk = told(surface, wired, "One two three. [[slow 5]] [[repeat 20000]]")
    with sdk.method(False)(**sdk.arguments(True)) as stream:
        for event in stream:
            if "One" in event.model_dump_json(warnings=False):
                break
        else:
            raise AssertionError("nothing was said")
        assert wired.service.seen[-1].ended == "open", "all of it takes minutes"
