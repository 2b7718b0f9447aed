"""Official SDKs over transports of ours, over strict upstreams of every protocol: plain, streamed, in tool loops, in
threads and event loops. What is said is what the upstream said, under the model's name that the SDK asked for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from sdk_surfaces import SURFACES, Chat, Contents, Messages, Responses, Said, Surface
from unified_llm_local import echo
from upstreams import CHAT, CHAT_STREAM, MESSAGE, Canned, chunk, frames, streamed

PROTOCOLS = sorted(each.protocol for each in SURFACES)
TWO = "[[reason Both, then.]] [[call get_weather city=Oslo]] [[call get_weather city=Rome]] [[then]] [[results]]"


class Pair:
    """A surface's SDK over an upstream that speaks `protocol`, and what that upstream saw."""

    def __init__(self, surface: type[Surface], protocol: str, **options: Any) -> None:
        self.service = echo.Echo()
        inside = echo.transport(self.service)
        self.upstream = ul.Upstream.of(f"local/echo:{protocol}").with_(
            http_client=httpx2.Client(transport=inside), async_http_client=httpx2.AsyncClient(transport=inside)
        )
        self.losses: list[ul.Losses] = []
        given = {"on_losses": self.losses.append, **options}
        self.sdk = surface(ul.http_client(self.upstream, **given), ul.async_http_client(self.upstream, **given))

    def call(self, mode: str) -> Said:
        if mode.startswith("async"):
            return asyncio.run(self.sdk.acall("stream" in mode))
        return self.sdk.call("stream" in mode)


surfaces = pytest.mark.parametrize("surface", SURFACES, ids=lambda each: each.protocol)
protocols = pytest.mark.parametrize("protocol", PROTOCOLS)
modes = pytest.mark.parametrize("mode", ["plain", "stream", "async plain", "async stream"])


@surfaces
@protocols
@modes
def test_what_the_upstream_says(surface: type[Surface], protocol: str, mode: str) -> None:
    pair = Pair(surface, protocol)
    pair.sdk.ask("[[reason Hm.]] Good morning, Oslo.")
    said = pair.call(mode)
    assert said.text.strip() == "Good morning, Oslo." and not said.calls
    assert said.model == pair.sdk.alias
    (seen,) = pair.service.seen
    assert seen.protocol == protocol and seen.ended in ("done", "closed")


@surfaces
@protocols
@pytest.mark.parametrize("mode", ["stream", "async plain"])
def test_a_tool_loop_with_parallel_calls(surface: type[Surface], protocol: str, mode: str) -> None:
    pair = Pair(surface, protocol)
    pair.sdk.ask(TWO)
    first = pair.call(mode)
    assert [(call.name, call.arguments) for call in first.calls] == [
        ("get_weather", {"city": "Oslo"}),
        ("get_weather", {"city": "Rome"}),
    ]
    assert len({call.id for call in first.calls}) == 2
    pair.sdk.give(first.calls[0], "4 degrees")
    pair.sdk.give(first.calls[1], "20 degrees")
    assert pair.call(mode).text == "get_weather: 4 degrees\nget_weather: 20 degrees"
    assert [seen.status for seen in pair.service.seen] == [200, 200], "the strict upstream takes what it is sent"


def opaque(value: Any) -> Iterator[str]:
    """What providers sign and encrypt, wherever it stands in a document."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("signature", "encrypted_content", "thoughtSignature") and isinstance(inner, str):
                yield inner
            else:
                yield from opaque(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from opaque(inner)


SIGNING = ["anthropic-messages", "google-generate-content", "google-interactions", "openai-responses"]


@surfaces
@pytest.mark.parametrize("protocol", SIGNING)
@pytest.mark.parametrize("mode", ["plain", "async stream"])
@pytest.mark.parametrize("echoing", [True, False], ids=["echoes", "drops"])
def test_a_conversation_keeps_its_mind(surface: type[Surface], protocol: str, mode: str, echoing: bool) -> None:
    """Signatures come home byte for byte; who keeps nothing but words and calls is helped by the vault."""
    pair = Pair(surface, protocol)
    answers: list[bytes] = []
    pair.upstream.http_client.event_hooks = {"response": [lambda r: answers.append(r.read())]}  # type: ignore[union-attr]

    async def keep(response: httpx2.Response) -> None:
        answers.append(await response.aread())

    pair.upstream.async_http_client.event_hooks = {"response": [keep]}  # type: ignore[union-attr]
    pair.sdk.ask(TWO)
    first = pair.call(mode)
    if not echoing:
        pair.sdk.history[:] = [bare(each) for each in pair.sdk.history]
        pair.sdk.history[:] = [each for each in pair.sdk.history if each]
    for call in first.calls:
        pair.sdk.give(call, "mild")
    pair.call(mode)
    signed = [each for each in opaque(pair.service.seen[1].body) if not each.startswith("skip")]
    assert signed, "the upstream's own signatures are back"
    # Google's SDK decodes base64 and spells it anew in the alphabet of URLs.
    said = answers[0].decode().replace("-", "+").replace("_", "/")
    assert all(each.replace("-", "+").replace("_", "/") in said for each in signed), "and nothing else is"


def bare(turn: Any) -> Any:
    """A turn as a careless client keeps it: words and calls, and no more."""
    if turn.get("type") in ("reasoning", "thought"):
        return None
    kept = {key: value for key, value in turn.items() if key not in ("signature", "extra_content", "reasoning_details")}
    kept.pop("reasoning_content", None)
    for key in ("content", "parts", "tool_calls"):
        if isinstance(kept.get(key), list):
            kept[key] = [
                _bare_part(each) for each in kept[key] if not each.get("thought") and each.get("type") not in _MIND
            ]
    return kept


_MIND = ("thinking", "redacted_thinking")


def _bare_part(part: Any) -> Any:
    return {key: value for key, value in part.items() if key not in ("thoughtSignature", "extra_content", "signature")}


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


# ---- errors ---------------------------------------------------------------------------------------------------------


@surfaces
@protocols
@pytest.mark.parametrize(
    ("status", "mode"), [(401, "plain"), (404, "async stream"), (429, "stream"), (500, "async plain")]
)
def test_errors_come_in_the_words_of_the_surface(surface: type[Surface], protocol: str, status: int, mode: str) -> None:
    pair = Pair(surface, protocol)
    pair.sdk.ask(f'[[error {status} retry-after=7 message="on purpose"]]')
    with pytest.raises(Exception, match="on purpose") as caught:
        pair.call(mode)
    error: Any = caught.value
    said = getattr(error, "status_code", None) or getattr(error, "code", None)
    assert said == status
    expected = {401: "AuthenticationError", 404: "NotFoundError", 429: "RateLimitError", 500: "InternalServerError"}
    if surface in (Chat, Responses, Messages):
        assert type(error).__name__ == expected[status]
        if status == 429:
            assert error.response.headers["retry-after"] == "7"
    elif surface is Contents:
        assert type(error).__name__ == ("ClientError" if status < 500 else "ServerError")


@surfaces
def test_a_request_that_is_none_is_refused_in_the_words_of_the_surface(surface: type[Surface]) -> None:
    sdk = surface(ul.http_client(Canned(CHAT, protocol="openai-chat").upstream))
    sdk.history = "nonsense"  # type: ignore[assignment]
    if surface in (Responses, Contents) or surface.protocol == "google-interactions":
        pytest.skip("a string is a prompt there")
    with pytest.raises(Exception, match="list of messages") as caught:
        sdk.call()
    assert caught.value.status_code == 400  # type: ignore[attr-defined]


# ---- faults ---------------------------------------------------------------------------------------------------------


@surfaces
@pytest.mark.parametrize("fault", [httpx2.ReadError("reset"), httpx2.ReadTimeout("stalled"), None], ids=str)
def test_a_stream_that_breaks_off_is_no_success(surface: type[Surface], fault: Exception | None) -> None:
    """Reset, stall, and a stream that just ends: the SDK raises, or is told in the surface's own error event."""
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
    with pytest.raises(Exception, match="no JSON") as caught:
        sdk.call()
    error: Any = caught.value
    assert (getattr(error, "status_code", None) or error.code) >= 500


@surfaces
@protocols
def test_json_that_is_no_answer_is_a_server_error(surface: type[Surface], protocol: str) -> None:
    canned = Canned(lambda: httpx2.Response(200, json=["what"]), protocol=protocol)
    sdk = surface(ul.http_client(canned.upstream))
    sdk.ask("Hi")
    with pytest.raises(Exception, match=f"no response of {protocol}") as caught:
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


# ---- losses, fallbacks, who is asked --------------------------------------------------------------------------------


def test_losses_are_in_a_header_and_called_back() -> None:
    canned = Canned(MESSAGE, protocol="anthropic-messages")
    told: list[ul.Losses] = []
    http = ul.http_client(canned.upstream, on_losses=told.append)
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "seed": 7}
    answer = http.post("http://any/v1/chat/completions", json=body)
    header = json.loads(answer.headers["x-unified-llm-losses"])
    assert ["/seed", "sampling.seed", "lost", "source"] in header["first"]
    assert header["count"] == len(told[0]) and answer.headers["x-unified-llm-upstream"] == "canned/up-1"
    assert ("/seed", "lost") in [(loss.path, loss.fate) for loss in told[0]]


def test_the_header_of_losses_is_bounded() -> None:
    canned = Canned(MESSAGE, protocol="anthropic-messages")
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        **{f"odd{'x' * 50}{n}": n for n in range(300)},
    }
    answer = ul.http_client(canned.upstream).post("http://any/v1/chat/completions", json=body)
    header = answer.headers["x-unified-llm-losses"]
    assert len(header) < 4_200 and header.isascii()
    assert json.loads(header)["count"] >= 300 > len(json.loads(header)["first"]) > 0


def test_losses_of_a_streams_answer_are_called_back_at_its_end() -> None:
    told: list[ul.Losses] = []
    odd = [chunk({"role": "assistant", "content": "Hi", "odd_field": 1}, "stop")]
    canned = Canned(lambda: streamed(*frames(*odd, b"[DONE]")))
    sdk = Messages(ul.http_client(canned.upstream, on_losses=told.append))
    sdk.ask("Hi")
    sdk.call(stream=True)
    assert len(told) == 1 and any("odd_field" in loss.path for loss in told[0])


@pytest.mark.parametrize("mode", ["stream", "async stream"])
def test_losses_of_a_stream_are_called_back_although_the_sdk_hangs_up_on_its_last_word(mode: str) -> None:
    pair = Pair(Chat, "anthropic-messages")  # `[DONE]`, behind which nothing is read
    pair.sdk.ask("Hi")
    pair.sdk.call(stream=True, seed=7) if mode == "stream" else asyncio.run(pair.sdk.acall(stream=True, seed=7))
    (told,) = pair.losses
    assert ("/seed", "lost") in [(loss.path, loss.fate) for loss in told]


def test_a_loss_that_must_not_be_raises_through_the_sdk() -> None:
    canned = Canned(MESSAGE, protocol="anthropic-messages")
    http = ul.http_client(canned.upstream, on_loss={"sampling.seed": "raise"})
    with pytest.raises(ul.CapabilityLost):
        Chat(http).method(False)(model="m", messages=[{"role": "user", "content": "Hi"}], seed=7)
    assert not canned.seen


def test_fallbacks_in_their_order_with_the_reason_of_each_hop() -> None:
    busy = Canned(lambda: httpx2.Response(529, json={"error": {"message": "busy"}}), model="one")
    good = Canned(MESSAGE, protocol="anthropic-messages", model="two")
    answer = ul.http_client([busy.upstream, good.upstream]).post(
        "http://any/v1/chat/completions", json={"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    )
    assert answer.json()["choices"][0]["message"]["content"] == "Hello"
    ((name, attempts, reason),) = json.loads(answer.headers["x-unified-llm-hops"])["first"]
    assert (name, attempts) == ("canned/one", 1) and "busy" in reason
    assert answer.headers["x-unified-llm-upstream"] == "canned/two"


def test_the_request_may_name_the_provider() -> None:
    sdk = Chat(ul.http_client())
    sdk.alias = "local/echo:anthropic-messages"
    sdk.ask("Good morning.")
    said = sdk.call()
    assert said.text == "Good morning." and said.model == sdk.alias
    sdk.alias = "nameless"
    with pytest.raises(Exception, match="provider/model") as caught:
        sdk.call()
    assert caught.value.status_code == 400  # type: ignore[attr-defined]


def test_a_wrong_name_is_told_at_once() -> None:
    with pytest.raises(ul.UnknownProvider):
        ul.http_client("nobody/nothing")


def test_the_clients_own_key_goes_nowhere() -> None:
    canned = Canned(MESSAGE, protocol="anthropic-messages")
    sdk = Chat(ul.http_client(canned.upstream))
    sdk.ask("Hi")
    sdk.call()
    Contents(ul.http_client(canned.upstream)).method(False)(stream=False, model="m", contents="Hi")
    for request in canned.seen:
        assert not {"authorization", "x-api-key", "x-goog-api-key"} & set(request.headers)
        assert "key" not in request.url.params


def test_a_route_nobody_has() -> None:
    answer = ul.http_client("local/echo").post("http://any/v1/embeddings", json={})
    assert answer.status_code == 404 and "embeddings" in answer.json()["error"]["message"]


def test_what_is_kept_is_asked_for_where_the_protocol_is_the_same() -> None:
    http = ul.http_client("local/echo:openai-responses")
    made = http.post("http://any/v1/responses", json={"model": "echo", "input": "Hello.", "store": True}).json()
    assert http.get(f"http://any/v1/responses/{made['id']}").json()["output"] == made["output"]
    assert http.delete(f"http://any/v1/responses/{made['id']}").json()["deleted"] is True
    other = ul.http_client("local/echo:anthropic-messages").get("http://any/v1/responses/resp_1")
    assert other.status_code == 404 and "anthropic-messages" in other.json()["error"]["message"]


# ---- models and counts ----------------------------------------------------------------------------------------------


@protocols
def test_models_in_the_shape_of_whoever_asks(protocol: str) -> None:
    http = ul.http_client(f"local/echo:{protocol}")
    plain = http.get("http://any/v1/models").json()
    assert [each["id"] for each in plain["data"]] == ["echo", "echo-mini"] and plain["object"] == "list"
    messages = http.get("http://any/v1/models", headers={"anthropic-version": "2023-06-01"}).json()
    assert [each["type"] for each in messages["data"]] == ["model", "model"]
    google = http.get("http://any/v1beta/models", headers={"x-goog-api-key": "x"}).json()
    assert [each["name"] for each in google["models"]] == ["models/echo", "models/echo-mini"]


@protocols
def test_tokens_are_counted(protocol: str) -> None:
    http = ul.http_client(f"local/echo:{protocol}")
    body = {"model": "m", "messages": [{"role": "user", "content": "Good morning, Oslo."}]}
    answer = http.post("http://any/v1/messages/count_tokens", json=body, headers={"anthropic-version": "2023-06-01"})
    assert answer.json()["input_tokens"] > 0 and "x-unified-llm-estimate" not in answer.headers


def test_tokens_are_estimated_where_nobody_counts() -> None:
    gone = Canned(lambda: httpx2.Response(404, json={"error": {"message": "no such route"}}))
    body = {"model": "m", "messages": [{"role": "user", "content": "word " * 400}]}
    answer = ul.http_client(gone.upstream).post(
        "http://any/v1/messages/count_tokens", json=body, headers={"anthropic-version": "2023-06-01"}
    )
    assert 350 < answer.json()["input_tokens"] < 700
    assert answer.headers["x-unified-llm-estimate"] == "true"


# ---- the older HTTP library -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("surface", [Chat, Responses, Contents], ids=lambda each: each.protocol)
@modes
def test_the_older_library(surface: type[Surface], mode: str) -> None:
    pytest.importorskip("httpx")
    pair = Pair(surface, "anthropic-messages", library="httpx")
    pair.sdk.ask("Good morning.")
    assert pair.call(mode).text == "Good morning."


def test_one_transport_serves_both_kinds_of_calls() -> None:
    from unified_llm.client.transport import transport

    both = transport("local/echo")
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    url = "http://any/v1/chat/completions"
    told = httpx2.Client(transport=both).post(url, json=body).json()["choices"]

    async def run() -> Any:
        return (await httpx2.AsyncClient(transport=both).post(url, json=body)).json()["choices"]

    assert asyncio.run(run()) == told


def test_an_unknown_library() -> None:
    with pytest.raises(ValueError, match="httpx2"):
        ul.http_client("local/echo", library="requests")
