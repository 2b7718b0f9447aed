"""What goes wrong under an SDK: answers that no upstream of ours gives. Over sockets it is in `tests/matrix`."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.pairs import protocols, surfaces
from sdk_surfaces import Chat, Contents, Messages, Responses, Surface
from unified_llm.client.upstreams.credentials import KeyAuth
from upstreams import CHAT, CHAT_STREAM, Canned, chunk, frames, streamed

# ---- errors ---------------------------------------------------------------------------------------------------------


@surfaces
def test_a_request_that_is_none_is_refused_in_the_words_of_the_surface(surface: type[Surface]) -> None:
    sdk = surface(ul.http_client(Canned(CHAT, protocol="openai-chat").upstream))
    sdk.history = "nonsense"  # type: ignore[assignment]
    if surface in (Responses, Contents) or surface.protocol == "google-interactions":
        pytest.skip("a string is a prompt there")
    with pytest.raises(Exception, match="missing or not a list") as caught:
        sdk.call()
    assert caught.value.status_code == 400  # type: ignore[attr-defined]


@pytest.mark.parametrize("source", ["openai-responses", "anthropic-messages"])
def test_an_error_is_spelled_as_openai_spells_it(source: str) -> None:
    """LiteLLM looks for `"code": "context_length_exceeded"` in the text of a body, with this space."""
    if source == "openai-responses":
        body: Any = {"error": {"message": "m", "type": "invalid_request_error", "code": "context_length_exceeded"}}
    else:
        body = {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}}
    canned = Canned(lambda: httpx2.Response(400, json=body), protocol=source)
    reply = ul.http_client(canned.upstream).post("http://x/v1/responses", json={"model": "m", "input": "Hi"})
    assert reply.status_code == 400 and '"code": "context_length_exceeded"' in reply.text
    assert reply.json()["error"]["code"] == "context_length_exceeded"


# ---- faults ---------------------------------------------------------------------------------------------------------


@surfaces
@pytest.mark.parametrize("fault", [httpx2.ReadError("reset"), httpx2.ReadTimeout("stalled"), None], ids=str)
def test_a_stream_that_breaks_off_is_not_success(surface: type[Surface], fault: Exception | None) -> None:
    """Reset, stall, and a stream that just ends: the SDK raises, or gets the surface's own error event."""
    pieces = [CHAT_STREAM[0], *([fault] if fault else [])]
    canned = Canned(lambda: streamed(*pieces))
    sdk = surface(ul.http_client(canned.upstream))
    sdk.ask("Hi")
    failed = None
    try:
        found = list(sdk.method(False)(**sdk.arguments(True)))
    except Exception as error:
        failed = error
    if failed is None:
        told = json.dumps([each.model_dump(mode="json", warnings=False) for each in found])
        assert '"error"' in told or "failed" in told, told
        assert "response.completed" not in told and "interaction.completed" not in told
    assert len(canned.seen) == 1 and canned.bodies[0].closed


@surfaces
def test_an_error_behind_the_first_event_shows_no_key(surface: type[Surface]) -> None:
    """A server that repeats what it was sent does so in the middle of a stream as well."""
    key = "sk-very-secret"
    error = {"error": {"message": f"bad key {key}", "type": "server_error", "code": key}}
    canned = Canned(lambda: streamed(CHAT_STREAM[0], *frames(error)), auth=KeyAuth("authorization", "{key}", key))
    sdk = surface(ul.http_client(canned.upstream))
    sdk.ask("Hi")
    try:
        told = repr([each.model_dump() for each in sdk.method(False)(**sdk.arguments(True))])
    except Exception as raised:
        told = f"{raised!r} {vars(raised)}"
    assert "bad key [redacted]" in told and key not in told


def test_an_error_behind_the_first_event_shows_no_key_to_the_client() -> None:
    key = "sk-very-secret"
    error = {"error": {"message": f"bad key {key}", "type": "server_error", "code": key}}
    canned = Canned(lambda: streamed(CHAT_STREAM[0], *frames(error)), auth=KeyAuth("authorization", "{key}", key))
    with pytest.raises(ul.APIError, match=r"bad key \[redacted\]") as caught:
        list(ul.Client(upstream=canned.upstream).responses.create(input="Hi", stream=True))
    assert key not in f"{caught.value!r} {caught.value.body} {caught.value.error}"


@surfaces
@pytest.mark.parametrize("fault", [httpx2.ReadError("reset"), httpx2.ReadTimeout("stalled")], ids=str)
def test_a_connection_that_breaks_after_the_last_word_broke_nothing(surface: type[Surface], fault: Exception) -> None:
    canned = Canned(lambda: streamed(*CHAT_STREAM, fault))
    sdk = surface(ul.http_client(canned.upstream))
    sdk.ask("Hi")
    assert sdk.call(stream=True).text == "Hello"


@surfaces
@pytest.mark.parametrize("mode", ["plain", "async plain"])
def test_no_connection_is_what_the_sdk_always_raises(surface: type[Surface], mode: str) -> None:
    for fault, names in (
        (httpx2.ConnectError("refused"), ("APIConnectionError", "ConnectError")),
        (httpx2.ReadTimeout("stalled"), ("APITimeoutError", "ReadTimeout")),
    ):
        canned = Canned(fault)
        sdk = surface(ul.http_client(canned.upstream), ul.async_http_client(canned.upstream))
        sdk.ask("Hi")
        with pytest.raises(Exception) as caught:
            asyncio.run(sdk.acall()) if mode.startswith("async") else sdk.call()
        chain = [caught.value, caught.value.__cause__, caught.value.__context__]
        assert {type(each).__name__ for each in chain if each} & set(names)


@surfaces
@pytest.mark.parametrize("answer", [b"{broken", b"<html>"], ids=["json", "page"])
def test_an_answer_that_is_none_is_a_server_error(surface: type[Surface], answer: bytes) -> None:
    kind = "text/html" if answer.startswith(b"<") else "application/json"
    canned = Canned(lambda: httpx2.Response(200, content=answer, headers={"content-type": kind}))
    sdk = surface(ul.http_client(canned.upstream))
    sdk.ask("Hi")
    with pytest.raises(Exception, match="not JSON") as caught:
        sdk.call()
    error: Any = caught.value
    assert (getattr(error, "status_code", None) or error.code) >= 500


@surfaces
@protocols
def test_json_that_is_not_an_answer_is_a_server_error(surface: type[Surface], protocol: str) -> None:
    canned = Canned(lambda: httpx2.Response(200, json=["what"]), protocol=protocol)
    sdk = surface(ul.http_client(canned.upstream))
    sdk.ask("Hi")
    with pytest.raises(Exception, match=f"not a response of {protocol}") as caught:
        sdk.call()
    error: Any = caught.value
    assert (getattr(error, "status_code", None) or error.code) >= 500


@surfaces
@protocols
@pytest.mark.parametrize("body", [{}, {"detail": "odd"}, "<html>", [], None], ids=str)
def test_an_error_of_any_shape_is_an_error(surface: type[Surface], protocol: str, body: Any) -> None:
    canned = Canned(lambda: httpx2.Response(503, json=body), protocol=protocol)
    sdk = surface(ul.http_client(canned.upstream))
    sdk.ask("Hi")
    with pytest.raises(Exception) as caught:
        sdk.call()
    error: Any = caught.value
    assert (getattr(error, "status_code", None) or error.code) >= 500


@surfaces
def test_500_twice_then_success(surface: type[Surface]) -> None:
    broken = lambda: httpx2.Response(500, json={"error": {"message": "m"}})  # noqa: E731
    canned = Canned(broken, broken, CHAT)
    sdk = surface(ul.http_client(canned.upstream, retry=ul.Retry(base=0, jitter=0)))
    sdk.ask("Hi")
    assert sdk.call().text == "Hello" and len(canned.seen) == 3


# ---- streams are streamed, and end when the client does -------------------------------------------------------------


@surfaces
def test_a_piece_is_handed_on_before_the_next_one_is_there(surface: type[Surface]) -> None:
    canned = Canned(lambda: streamed(*frames(*[chunk({"content": f"word{n} "}) for n in range(20)]), *CHAT_STREAM[1:]))
    sdk = surface(ul.http_client(canned.upstream))
    sdk.ask("Hi")
    for event in sdk.method(False)(**sdk.arguments(True)):
        if "word1 " in event.model_dump_json(warnings=False):
            break
    assert canned.bodies[0].given <= 3, "nothing is collected"


@pytest.mark.parametrize("surface", [Chat, Responses, Messages], ids=lambda each: each.protocol)
def test_who_stops_listening_hangs_up(surface: type[Surface]) -> None:
    canned = Canned(lambda: streamed(*frames(*[chunk({"content": "word "})] * 50)))
    sdk = surface(ul.http_client(canned.upstream), ul.async_http_client(canned.upstream))
    sdk.ask("Hi")
    with sdk.method(False)(**sdk.arguments(True)) as stream:
        next(iter(stream))
    assert canned.bodies[0].closed and canned.bodies[0].given < 10

    async def run() -> None:
        async with await sdk.method(True)(**sdk.arguments(True)) as stream:
            await anext(aiter(stream))

    asyncio.run(run())
    assert canned.bodies[1].closed and canned.bodies[1].given < 10
