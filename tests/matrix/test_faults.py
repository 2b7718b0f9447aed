"""What goes wrong on the way, over a real socket: the right error or a recovery, at every door, for every upstream.

Doors are our client, and every SDK over our transport; each for threads and for event loops. Whatever happens: nothing
comes twice, no request is sent again after the first output, no connection is left over (the fixture looks), no hang.
"""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest

import unified_llm as ul
from matrix.loopback import ABANDONING, PROTOCOLS, Loopback, upstreams, words_in
from sdk_surfaces import SURFACES, Chat, Contents, Interactions, Messages, Responses, Surface

pytestmark = pytest.mark.timeout(120)

TEXT = "One two three four five six."
SDKS: dict[str, type[Surface]] = {each.protocol: each for each in SURFACES}
DOORS = [f"{form}{kind}" for kind in ("our client", *SDKS) for form in ("", "async ")]
doors = pytest.mark.parametrize("door", DOORS)
forms = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
# A different upstream at each door: what matters there is the door.
UPSTREAM_OF = {door: PROTOCOLS[place % 5] for place, door in enumerate(DOORS)}
NO_ANSWER = {Contents: "ConnectError"}
TOO_LATE = {Contents: "ReadTimeout"}


class Heard:
    """What came of a question: the words that came, in their order, and the error if there was one."""

    def __init__(
        self, house: Loopback, door: str, upstream: ul.Upstream, asked: str, stream: bool, **more: Any
    ) -> None:
        self.house, self.stream, self.upstream, self.asked = house, stream, upstream, asked
        self.loops, self.more = door.startswith("async "), more
        self.surface = SDKS.get(door.removeprefix("async "))
        house.abandons |= self.surface is not None and self.surface.protocol in ABANDONING
        self.words: list[str] = []
        self.error: Any = None
        before = time.monotonic()
        try:
            (self._of_ours if self.surface is None else self._of_sdk)()
        except Exception as error:
            self.error = error
        self.took = time.monotonic() - before

    def _of_ours(self) -> None:
        retry = self.more.get("retry") or ul.Retry(base=0.01, jitter=0)
        given: dict[str, Any] = {"upstream": self.upstream, "input": self.asked}
        if self.loops:
            self.house.run(self._in_loop(ul.AsyncClient(retry=retry), given))
        elif self.stream:
            with ul.Client(retry=retry).responses.create(**given, stream=True) as events:
                for event in events:
                    self.words += words_in(event.model_dump(), TEXT)
        else:
            self.words = ul.Client(retry=retry).responses.create(**given).output_text.split()

    async def _in_loop(self, client: ul.AsyncClient, given: Any) -> None:
        if not self.stream:
            self.words = (await client.responses.create(**given)).output_text.split()
            return
        async with await client.responses.create(**given, stream=True) as events:
            async for event in events:
                self.words += words_in(event.model_dump(), TEXT)

    def _of_sdk(self) -> None:
        assert self.surface is not None
        given = {key: value for key, value in self.more.items() if key == "retry"}
        options = {key: value for key, value in self.more.items() if key != "retry"}
        http, ahttp = ul.http_client(self.upstream, **given), ul.async_http_client(self.upstream, **given)
        sdk = self.surface(http, ahttp, **options)
        sdk.ask(self.asked)
        if not self.stream:
            self.words = (self.house.run(sdk.acall()) if self.loops else sdk.call()).text.split()
        elif self.loops:
            self.house.run(self._stream_in_loop(sdk))
        else:
            for event in sdk.method(False)(**sdk.asked(True)):
                self._took(event)

    async def _stream_in_loop(self, sdk: Surface) -> None:
        async for event in await sdk.method(True)(**sdk.asked(True)):
            self._took(event)

    def _took(self, event: Any) -> None:
        found = event.model_dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
        self.words += words_in(found, TEXT)
        if found.get("event_type") == "error":  # the one SDK that hands it out
            self.error = RuntimeError(found["error"]["message"])

    @property
    def kind(self) -> str:
        """The class of the error: ours, or the SDK's."""
        return type(self.error).__name__

    def failed(self, ours: type[Exception] | tuple[type[Exception], ...], theirs: str) -> None:
        if self.surface is None:
            assert isinstance(self.error, ours), repr(self.error)
        else:
            assert self.kind == theirs, repr(self.error)


def one_of(door: str, protocol: str, *words: str) -> str:
    """Each of the words at half of the pairs, at every door and for every upstream."""
    return words[(DOORS.index(door) // 2 + PROTOCOLS.index(protocol)) % len(words)]


# ---- no server ----------------------------------------------------------------------------------------------------


def closed_port() -> str:
    """A URL of this machine without a server."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}/v1"


@doors
@forms
def test_a_refused_connection(house: Loopback, door: str, stream: bool) -> None:
    upstream = house.upstream(UPSTREAM_OF[door]).with_(base_url=closed_port())
    heard = Heard(house, door, upstream, TEXT, stream)
    heard.failed(ul.APIConnectionError, NO_ANSWER.get(heard.surface, "APIConnectionError"))  # type: ignore[arg-type]
    assert heard.words == [] and heard.took < 60


@doors
@forms
def test_a_connection_that_is_reset_before_any_answer(house: Loopback, door: str, stream: bool) -> None:
    protocol = UPSTREAM_OF[door]
    heard = Heard(house, door, house.upstream(protocol), f"{TEXT} [[break after 0]]", stream, retry=ul.Retry.never())
    heard.failed(ul.APIConnectionError, NO_ANSWER.get(heard.surface, "APIConnectionError"))  # type: ignore[arg-type]
    assert heard.words == [] and len(house.seen) == 1


# ---- nothing more comes ---------------------------------------------------------------------------------------------


@doors
@forms
def test_an_upstream_that_stalls(house: Loopback, door: str, stream: bool) -> None:
    upstream = house.upstream(UPSTREAM_OF[door]).with_(timeout=0.15)
    heard = Heard(house, door, upstream, f"{TEXT} [[slow 20000]]", stream, retry=ul.Retry.never())
    if not stream:
        heard.failed(ul.APITimeoutError, TOO_LATE.get(heard.surface, "APITimeoutError"))  # type: ignore[arg-type]
    else:
        assert heard.error is not None
        assert heard.surface is not None or isinstance(heard.error, ul.APITimeoutError)
    assert 0.05 < heard.took < 18
    house.settle()
    house.until(lambda: [each.ended for each in house.seen] == ["closed"])


@forms
@pytest.mark.parametrize("surface", SURFACES, ids=lambda each: each.protocol)
def test_an_sdks_own_timeout_is_kept(house: Loopback, surface: type[Surface], stream: bool) -> None:
    """Where the upstream has none of its own, the patience is that of the caller."""
    patience: dict[str, Any] = {"timeout": 150 if surface in (Contents, Interactions) else 0.15}
    heard = Heard(house, surface.protocol, house.upstream("openai-chat"), f"{TEXT} [[slow 20000]]", stream, **patience)
    assert heard.error is not None and 0.05 < heard.took < 18
    house.settle()
    house.until(lambda: [each.ended for each in house.seen] == ["closed"])


# ---- it breaks off --------------------------------------------------------------------------------------------------


@doors
@upstreams
def test_a_stream_that_breaks_off(house: Loopback, door: str, protocol: str) -> None:
    """By a reset, or by an end where none can be."""
    how = one_of(door, protocol, "", " quietly")
    heard = Heard(house, door, house.upstream(protocol), f"{TEXT} [[break after 6{how}]]", True)
    assert heard.error is not None, "a missing end is not a success"
    if heard.surface is None:
        assert isinstance(heard.error, ul.StreamInterruptedError), repr(heard.error)
    assert heard.words == TEXT.split()[: len(heard.words)], "nothing is said twice"
    assert len(house.seen) == 1, "no request is sent again"


@doors
def test_an_answer_that_breaks_off(house: Loopback, door: str) -> None:
    heard = Heard(
        house, door, house.upstream(UPSTREAM_OF[door]), f"{TEXT} [[break after 1]]", False, retry=ul.Retry.never()
    )
    heard.failed(ul.APIConnectionError, NO_ANSWER.get(heard.surface, "APIConnectionError"))  # type: ignore[arg-type]
    assert len(house.seen) == 1


# ---- what comes is not a response ------------------------------------------------------------------------------------


@doors
@upstreams
def test_an_answer_that_is_none(house: Loopback, door: str, protocol: str) -> None:
    what = one_of(door, protocol, "json", "type")
    heard = Heard(house, door, house.upstream(protocol), f"{TEXT} [[garble {what}]]", False)
    heard.failed(ul.ServerError, "ServerError" if heard.surface is Contents else "InternalServerError")
    # JSON that breaks off may be whole the next time; another type of document is what this server sends.
    tries = ul.Retry().attempts if heard.surface is None and what == "json" else 1
    assert len(house.seen) == tries


@doors
@upstreams
def test_a_stream_that_is_none(house: Loopback, door: str, protocol: str) -> None:
    what = one_of(door, protocol, "type", "json")
    heard = Heard(house, door, house.upstream(protocol), f"{TEXT} [[garble {what}]]", True)
    assert heard.error is not None and len(house.seen) == 1
    if heard.surface is None:
        assert isinstance(
            heard.error, ul.ServerError if what == "type" else (ul.StreamInterruptedError, ul.ServerError)
        )
    assert heard.words == TEXT.split()[: len(heard.words)]


# ---- temporary errors ------------------------------------------------------------------------------------------------


def patient(surface: type[Surface] | None) -> dict[str, Any]:
    """Each SDK's own patience, where it has any; ours where it is our client, or the SDK has none."""
    if surface in (Chat, Responses, Messages):
        return {"max_retries": 2}
    return {"retry": ul.Retry(base=0.01, jitter=0)}


@doors
@upstreams
def test_what_is_tried_again(house: Loopback, door: str, protocol: str) -> None:
    """429 with Retry-After, and 500 twice: as long as the header requires, or by the patience that was set."""
    surface = SDKS.get(door.removeprefix("async "))
    fault = one_of(door, protocol, "429 retry-after=0.05 times=1", "500 times=2")
    waits = fault.startswith("429")
    # The first wait of an SDK is half a second where no header sets it.
    more = patient(surface) if waits else {"retry": ul.Retry(base=0.01, jitter=0)}
    stream = PROTOCOLS.index(protocol) % 2 == 0
    heard = Heard(house, door, house.upstream(protocol), f"[[error {fault}]] {TEXT}", stream, **more)
    assert heard.error is None and heard.words == TEXT.split()
    assert [seen.status for seen in house.seen] == ([429, 200] if waits else [500, 500, 200])
    assert heard.took >= (0.05 if waits else 0)
