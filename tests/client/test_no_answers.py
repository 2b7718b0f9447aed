"""Invalid bodies with status 200, and responses that break: typed errors, retries, the next upstream."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.drivers import OverAiohttp, aiohttp_installed
from client.loopback import ANSWER, HEAD, STREAM, Exchange, Loopback, event, loopback, piece, streamed, whole
from corpus import records
from unified_llm.client.sending.response_check import is_answer, is_event
from unified_llm.engine.registry import adapter
from upstreams import MESSAGE, Canned
from upstreams import streamed as canned_stream

QUICK = ul.Retry(base=0.001, jitter=0)
PROTOCOLS = [
    "anthropic-messages",
    "google-generate-content",
    "google-interactions",
    "openai-chat",
    "openai-responses",
]
JSON, HTML, SSE = "application/json", "text/html", "text/event-stream"
NOTHINGS: dict[str, tuple[bytes, str]] = {
    "null": (b"null", JSON),
    "list": (b"[]", JSON),
    "string": (b'"ok"', JSON),
    "lists of nothing": (
        b'{"choices": [null], "content": [null], "output": [null], "steps": [null], "candidates": [null]}',
        JSON,
    ),
    "number": (b"5", JSON),
    "empty object": (b"{}", JSON),
    "detail": (b'{"detail": "Not Found"}', JSON),
    "another protocol": (b'{"generated_text": "Hello"}', JSON),
    "string error": (b'{"error": "model not found"}', JSON),
    "error": (b'{"error": {"message": "model not found"}}', JSON),
    "page": (b"<!doctype html><html>Welcome</html>", HTML),
    "empty": (b"", JSON),
    "no event": (b": hello\n\n", SSE),
    "foreign events": (b'data: {"detail": "Not Found"}\n\ndata: 5\n\ndata: null\n\n', SSE),
    "done alone": (b"data: [DONE]\n\n", SSE),
    "error event": (b'data: {"error": {"message": "overloaded", "code": 503}}\n\n', SSE),
}


def bad(what: str, protocol: str = "openai-chat") -> Canned:
    body, kind = NOTHINGS[what]
    return Canned(lambda: httpx2.Response(200, content=body, headers={"content-type": kind}), protocol=protocol)


def sync(upstreams: list[Any], stream: bool, **options: Any) -> str:
    with ul.Client(retry=QUICK) as client:
        found = client.responses.create(models=upstreams, input="Hi", stream=stream or None, **options)
        return "".join(found.text_deltas) if stream else found.output_text  # type: ignore[union-attr]


def in_loop(upstreams: list[Any], stream: bool, *, made: Any = ul.AsyncClient, **options: Any) -> str:
    async def run() -> str:
        async with made(retry=QUICK) as client:
            found: Any = await client.responses.create(models=upstreams, input="Hi", stream=stream or None, **options)
            return "".join([text async for text in found.text_deltas]) if stream else found.output_text

    return asyncio.run(run())


def over_aiohttp(upstreams: list[Any], stream: bool, **options: Any) -> str:
    return in_loop(upstreams, stream, made=OverAiohttp, **options)


both = pytest.mark.parametrize("call", [sync, in_loop])
drivers = pytest.mark.parametrize("call", [sync, in_loop, pytest.param(over_aiohttp, marks=aiohttp_installed)])
forms = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@forms
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("what", NOTHINGS)
def test_what_is_not_an_answer_is_an_error_of_the_provider(what: str, protocol: str, stream: bool) -> None:
    canned = bad(what, protocol)
    with pytest.raises(ul.APIError) as caught:
        sync([canned.upstream], stream)
    assert caught.value.protocol == protocol and caught.value.provider == "canned"
    if "error" not in what:
        assert type(caught.value) is ul.ServerError, "there is nothing that the caller could change"
    else:
        assert "model not found" in str(caught.value) or "overloaded" in str(caught.value)


@forms
@both
@pytest.mark.parametrize("what", NOTHINGS)
def test_the_next_upstream_is_asked(what: str, call: Callable[..., str], stream: bool) -> None:
    canned, good = bad(what), Canned(MESSAGE, protocol="anthropic-messages")
    assert call([canned.upstream, good.upstream], stream) == "Hello"
    assert len(good.seen) == 1


@forms
@pytest.mark.parametrize("surface", ["v1/messages", "v1/chat/completions", "v1/responses"])
@pytest.mark.parametrize("what", NOTHINGS)
def test_under_an_sdk_it_is_an_error_too(what: str, surface: str, stream: bool) -> None:
    body = {"model": "m", "max_tokens": 9, "stream": stream, "messages": [{"role": "user", "content": "Hi"}]}
    if surface == "v1/responses":
        body = {"model": "m", "stream": stream, "input": "Hi"}
    with ul.http_client(bad(what).upstream) as http:
        answer = http.post(f"http://any/{surface}", json=body)
    assert answer.status_code >= 500 and "error" in answer.json()
    good = Canned(MESSAGE, protocol="anthropic-messages")
    with ul.http_client([bad(what).upstream, good.upstream]) as http:
        answer = http.post(f"http://any/{surface}", json=body)
    assert answer.status_code == 200 and "Hello" in answer.text


FAILED: dict[str, Any] = {
    "openai-chat": {"choices": [], "error": {"message": "the upstream is down", "code": 502}},
    "openai-responses": {"object": "response", "status": "failed", "output": [], "error": {"message": "it is down"}},
    "google-interactions": {"status": "failed", "steps": [], "errors": [{"code": "internal", "message": "it is down"}]},
}


@pytest.mark.parametrize("protocol", FAILED)
@pytest.mark.parametrize("how", ["create", "parse", "run"])
def test_an_answer_that_failed_is_the_error_in_it(how: str, protocol: str) -> None:
    canned = Canned({"id": "r", "model": "m", "created_at": 1, **FAILED[protocol]}, protocol=protocol)
    good = Canned(MESSAGE, protocol="anthropic-messages")
    options: dict[str, Any] = {"text_format": str} if how == "parse" else {}
    with ul.Client(retry=ul.Retry.never()) as client:
        call = getattr(client.responses, how)
        with pytest.raises(ul.ServerError, match="down") as caught:
            call(models=[canned.upstream], input="Hi", **options)
        assert caught.value.body["id"] == "r"
        if how != "parse":
            assert call(models=[canned.upstream, good.upstream], input="Hi").output_text == "Hello"


@pytest.mark.parametrize("protocol", ["openai-responses", "google-interactions"])
def test_an_answer_that_failed_without_an_explanation_is_an_error(protocol: str) -> None:
    body = {key: value for key, value in FAILED[protocol].items() if not key.startswith("error")}
    with ul.Client(retry=ul.Retry.never()) as client, pytest.raises(ul.ServerError, match="the response failed"):
        client.responses.create(models=[Canned({"id": "r", **body}, protocol=protocol).upstream], input="Hi")


def test_an_answer_that_was_blocked_has_not_failed() -> None:
    errors = [{"code": "safety", "message": "It is blocked."}]
    canned = Canned({"id": "r", "status": "failed", "steps": [], "errors": errors}, protocol="google-interactions")
    with ul.Client(retry=ul.Retry.never()) as client:
        found = client.responses.create(models=[canned.upstream], input="Hi")
    assert found.finish is not None and found.finish.reason == "safety"


@forms
@pytest.mark.parametrize("what", ["detail", "page", "null", "foreign events"])
def test_what_a_server_says_each_time_is_asked_once(what: str, stream: bool) -> None:
    canned = bad(what)
    with pytest.raises(ul.ServerError, match=r"Not Found|not JSON|null"):
        sync([canned.upstream], stream)
    assert len(canned.seen) == 1


HOLLOW: dict[str, Any] = {
    "an empty choice": [{}],
    "no message": [{"index": 0, "message": None, "finish_reason": "stop"}],
    "a message of another type": [{"index": 0, "message": "Hi", "finish_reason": "stop"}],
}


@forms
@pytest.mark.parametrize("what", HOLLOW)
def test_a_choice_without_a_message_is_not_an_answer(what: str, stream: bool) -> None:
    canned = Canned({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": HOLLOW[what]})
    with pytest.raises(ul.ServerError, match="not a response of openai-chat"):
        sync([canned.upstream], stream)
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{}]}
    events = [b"data: %s\n\n" % json.dumps(chunk).encode(), b"data: [DONE]\n\n"]
    with pytest.raises(ul.APIError):
        sync([Canned(lambda: canned_stream(*events)).upstream], True)


@forms
@pytest.mark.parametrize("said", ["", "Hel", None])
def test_an_error_in_a_choice_is_the_error(said: str | None, stream: bool) -> None:
    """As OpenRouter sends it, whose upstream failed when the answer had begun."""
    error = {"code": 429, "message": "Provider returned error: slow down"}
    choice: dict[str, Any] = {"index": 0, "finish_reason": "error", "error": error}
    if said is not None:
        choice["message"] = {"role": "assistant", "content": said}
    head = {"id": "c", "created": 1, "model": "m"}
    canned = Canned({**head, "object": "chat.completion", "choices": [choice]})
    with pytest.raises(ul.RateLimitError, match="slow down"):
        sync([canned.upstream], stream)
    choice["delta"] = choice.pop("message", {})
    chunk = json.dumps({**head, "object": "chat.completion.chunk", "choices": [choice]})
    canned = Canned(lambda: canned_stream(b"data: %s\n\n" % chunk.encode(), b"data: [DONE]\n\n"))
    with pytest.raises(ul.RateLimitError, match="slow down"):
        sync([canned.upstream], stream)


def test_pings_are_no_answer() -> None:
    ping = b'event: ping\ndata: {"type": "ping"}\n\n'
    canned = Canned(lambda: canned_stream(ping, ping), protocol="anthropic-messages")
    with pytest.raises(ul.ServerError, match="without an event of anthropic-messages"):
        sync([canned.upstream], True)


def test_an_endless_stream_of_nothing_ends() -> None:
    ping = b'event: ping\ndata: {"type": "ping"}\n\n' * 1000
    canned = Canned(lambda: canned_stream(*[ping] * 1000), protocol="anthropic-messages")
    with pytest.raises(ul.ServerError):
        sync([canned.upstream], True)
    assert all(body.closed and body.given < 100 for body in canned.bodies)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer_that_is_ill_formed_is_the_providers_error(protocol: str) -> None:
    proof = adapter(protocol).kinds["response"].proof
    key = next(key for key, wanted in proof.items() if wanted is list or isinstance(wanted, Mapping))
    canned = Canned({key: [5, "x", None]}, protocol=protocol)
    try:
        sync([canned.upstream], False)
    except ul.UnifiedLLMError as error:
        assert isinstance(error, ul.ServerError)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_recorded_answer_is_recognized(protocol: str) -> None:
    known = adapter(protocol)
    unknown = [
        record["id"]
        for record in records(protocol, "response")
        if (record.get("status") or 200) < 300
        and not is_answer(known, "response", record["body"])
        and not record["body"].get("error")
    ]
    others = [adapter(each) for each in PROTOCOLS if each != protocol]
    for record in records(protocol, "stream"):
        events = record["events"]
        # One recorded stream is another protocol's, and filed under the wrong name.
        foreign = any(is_event(each, event) for each in others for event in events[:1])
        if not any(is_event(known, each) for each in events) and not foreign and "error" not in str(events):
            unknown.append(record["id"])
    assert unknown == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_answer_of_another_protocol_is_recognized(protocol: str) -> None:
    known = adapter(protocol)
    for other in PROTOCOLS:
        for record in records(other, "response") if other != protocol else ():
            assert not is_answer(known, "response", record["body"]), record["id"]


# ---- answers that break ---------------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as found:
        yield found


RAW = json.dumps(ANSWER).encode()
CUT_STREAM = streamed(event("a"))
BROKEN: dict[str, bytes] = {
    "half a body": whole()[:-20],
    "half of the JSON": whole(RAW[:-5]),
    "no bytes": whole(b""),
    "half a stream unasked": CUT_STREAM,
    "half a stream unasked and cut": CUT_STREAM[:-5],
    "half an event unasked": streamed(event("a"), event("b")[:30]),
    "an event that is not JSON": streamed(event("a"), b'data: {"x": \n\n', *STREAM[1:]),
    "an error in a stream unasked": streamed(event("a"), b'data: {"error": {"message": "boom"}}\n\n'),
    "half of the gzip": whole(gzip.compress(RAW)[:20], content_encoding="gzip"),
    "no gzip": whole(b"nothing packed", content_encoding="gzip"),
    "a chunk without a size": HEAD + b"zz\r\n",
    "no HTTP": b"SSH-2.0-x\r\n",
    "half a head": b"HTTP/1.1 200 OK\r\ncontent-ty",
    "nothing": b"",
}


def breaking(broken: bytes, good: int) -> Callable[[Exchange], Any]:
    """Answers that break, until the request number `good`."""
    # Announced: a client that takes the connection again before it sees the end has sent to a server that is gone.
    closing = broken.replace(b" X\r\n", b" X\r\nconnection: close\r\n", 1)

    def answer(exchange: Exchange) -> bool | None:
        exchange.send(closing if exchange.number < good else whole())
        return False if exchange.number < good else None

    return answer


@drivers
@pytest.mark.parametrize("how", BROKEN)
def test_an_answer_that_breaks_is_asked_for_again(server: Loopback, call: Callable[..., str], how: str) -> None:
    server.answer = breaking(BROKEN[how], 3)
    assert call([server.upstream()], False) == "ok"
    assert server.asked == 3


@drivers
@pytest.mark.parametrize("how", BROKEN)
def test_and_no_more_often_than_is_allowed(server: Loopback, call: Callable[..., str], how: str) -> None:
    server.answer = breaking(BROKEN[how], 1000)
    with pytest.raises(ul.APIError) as caught:
        call([server.upstream()], False)
    assert server.asked == QUICK.attempts
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert call([server.upstream(), Canned(MESSAGE, protocol="anthropic-messages").upstream], False) == "Hello"


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_an_sdk_sees_no_other_exception_than_its_http_librarys(server: Loopback, how: str, stream: bool) -> None:
    server.answer = breaking(BROKEN[how], 1000)
    body = {"model": "m", "max_tokens": 9, "stream": stream, "messages": [{"role": "user", "content": "Hi"}]}
    with ul.http_client(server.upstream()) as http:
        try:
            answer = http.post("http://any/v1/messages", json=body)
        except (httpx2.ConnectError, httpx2.ReadTimeout):
            return
    assert answer.status_code >= 500 or (stream and "event: error" in answer.text)


@drivers
def test_what_was_handed_out_is_not_asked_for_again(server: Loopback, call: Callable[..., str]) -> None:
    server.answer = lambda exchange: bool(exchange.send(HEAD + piece(event("a"))))
    with pytest.raises(ul.StreamInterruptedError):
        call([server.upstream(), server.upstream()], True)
    assert server.asked == 1


# ---- requests that leave something behind ---------------------------------------------------------------------------

LEAVING = [{"background": True}, {"store": True}]


def responses_upstream(answer: Any, **fields: Any) -> Canned:
    return Canned(answer, protocol="openai-responses", **fields)


def refusal(status: int, body: Any = None) -> Callable[[], httpx2.Response]:
    return lambda: httpx2.Response(status, json=body or {"error": {"message": "no"}})


LOST: dict[str, Any] = {
    "reset": httpx2.ReadError("reset"),
    "stalled": httpx2.ReadTimeout("stalled"),
    "500": refusal(500),
    "half": lambda: httpx2.Response(200, content=b'{"id": "resp_1", "obj'),
}
REFUSED: dict[str, Any] = {
    "no connection": httpx2.ConnectError("refused"),
    "slow to connect": httpx2.ConnectTimeout("slow"),
    "429": refusal(429),
    "503": refusal(503),
}


@pytest.mark.parametrize("leaving", LEAVING, ids=str)
@pytest.mark.parametrize("answer", LOST.values(), ids=LOST)
def test_what_may_have_been_made_is_not_made_twice(answer: Any, leaving: dict[str, Any]) -> None:
    canned, spare = responses_upstream(answer), responses_upstream(answer, base_url="http://spare/v1")
    with ul.Client(retry=QUICK) as client:
        with pytest.raises(ul.APIError):
            client.responses.create(models=[canned.upstream, spare.upstream], input="Hi", **leaving)
        assert (len(canned.seen), len(spare.seen)) == (1, 0)
        key = {"Idempotency-Key": "k-1"}
        with pytest.raises(ul.APIError):
            client.responses.create(models=[canned.upstream], input="Hi", extra_headers=key, **leaving)
    assert len(canned.seen) == 1 + QUICK.attempts


@pytest.mark.parametrize("leaving", LEAVING, ids=str)
@pytest.mark.parametrize("answer", REFUSED.values(), ids=REFUSED)
def test_what_was_certainly_not_made_is_asked_for_again(answer: Any, leaving: dict[str, Any]) -> None:
    canned, spare = responses_upstream(answer), responses_upstream(answer, base_url="http://spare/v1")
    with ul.Client(retry=QUICK) as client, pytest.raises(ul.APIError):
        client.responses.create(models=[canned.upstream, spare.upstream], input="Hi", **leaving)
    assert (len(canned.seen), len(spare.seen)) == (QUICK.attempts, QUICK.attempts)


@pytest.mark.parametrize("store", [False, None])
def test_what_leaves_nothing_behind_is_asked_for_again(store: bool | None) -> None:
    canned = responses_upstream(httpx2.ReadError("reset"))
    with ul.Client(retry=QUICK) as client, pytest.raises(ul.APIConnectionError):
        client.responses.create(models=[canned.upstream], input="Hi", store=store)
    assert len(canned.seen) == QUICK.attempts
