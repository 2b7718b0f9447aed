"""The law of secrets: a credential is in nothing that is shown, however it was given and whatever fails.

One canary is given in every way there is, to servers that repeat all they were sent in every failure there is. Then
everything that a caller or a log may print is walked through: the error, its attributes and its chain, its traceback,
its pickled form, events, losses, headers, log records, spans, what hooks get.
"""

from __future__ import annotations

import asyncio
import base64
import html
import json
import pickle
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus, unquote

import httpx2
import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import unified_llm as ul
from covering import covering
from unified_llm.client.upstreams.credentials import KeyAuth
from upstreams import CHAT_STREAM, frames, streamed

CANARY = 'cAnary/K3y+that"none=may\\see'
BASE = "http://up.example/v1"
BODY = {"model": "m", "input": "Hi"}
Handler = Callable[[httpx2.Request], httpx2.Response]


# ---- what is looked for ---------------------------------------------------------------------------------------------


def _spellings() -> list[str]:
    coded = [base64.b64encode(each.encode()).decode().rstrip("=") for each in (CANARY, f"user:{CANARY}")]
    escaped = [repr(CANARY)[1:-1], json.dumps(CANARY)[1:-1], html.escape(CANARY), quote(CANARY), quote_plus(CANARY)]
    twice = json.dumps(json.dumps(CANARY)[1:-1])[1:-1]
    halves = [CANARY[place : place + 10] for place in range(len(CANARY) - 9)]
    return [each.casefold() for each in (CANARY, *coded, *escaped, twice, quote(CANARY, safe=""), *halves)]


SPELLINGS = _spellings()


def _strings(value: Any, seen: set[int]) -> Iterator[str]:
    """Every string that can be reached from a value through containers and attributes."""
    if id(value) in seen or isinstance(value, (type, int, float, bool, type(None))):
        return
    seen.add(id(value))
    if isinstance(value, (str, bytes)):
        yield value if isinstance(value, str) else value.decode("latin-1")
    elif isinstance(value, httpx2.Request | httpx2.Response):
        yield from (f"{name}: {each}" for name, each in value.headers.items())
        yield value.text if isinstance(value, httpx2.Response) and value.is_closed else ""
    elif isinstance(value, dict):
        yield from (found for pair in value.items() for each in pair for found in _strings(each, seen))
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from (found for each in value for found in _strings(each, seen))
    elif isinstance(value, BaseException) or type(value).__module__.startswith(("unified_llm", "openai", "anthropic")):
        if isinstance(value, BaseException):
            chain = [value.__cause__, value.__context__, value.args, getattr(value, "__notes__", ())]
            yield from _strings([str(value), repr(value), *chain, traceback.format_exception(value)], seen)
        slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
        inside = [getattr(value, name, None) for name in slots if not name.startswith("__")]
        yield from _strings([*inside, getattr(value, "__dict__", {})], seen)
        yield repr(value)


def assert_clean(*values: Any) -> None:
    for text in _strings(list(values), set()):
        folded = text.casefold()
        found = [each for each in SPELLINGS if each in folded]
        assert not found, f"the canary is shown: {text[:300]}"


def test_the_walk_finds_what_it_is_to_find() -> None:
    error = ul.ServerError("m")
    error.__cause__ = ValueError({"headers": [f"Bearer {CANARY.upper()}"]})
    for shown in (CANARY, repr(CANARY), json.dumps(CANARY), quote(CANARY), CANARY[3:15], error):
        with pytest.raises(AssertionError, match="canary"):
            assert_clean(shown)


# ---- how it is given ------------------------------------------------------------------------------------------------


class OwnAuth(httpx2.Auth):
    def auth_flow(self, request: httpx2.Request) -> Iterator[httpx2.Request]:  # type: ignore[override]
        request.headers["x-own-login"] = CANARY
        yield request


def _pool(handler: Handler, **options: Any) -> dict[str, Any]:
    transport = httpx2.MockTransport(handler)
    return {
        "http_client": httpx2.Client(transport=transport, **options),
        "async_http_client": httpx2.AsyncClient(transport=transport, **options),
    }


def _of(handler: Handler, pool: dict[str, Any] | None = None, base: str = BASE, **fields: Any) -> ul.Upstream:
    return ul.Upstream(protocol="openai-chat", base_url=base, model="m", **_pool(handler, **(pool or {})), **fields)


def _openai(handler: Handler) -> ul.Upstream:
    import openai

    clients = (
        openai.OpenAI(api_key=CANARY, base_url=BASE, http_client=_pool(handler)["http_client"]),
        openai.AsyncOpenAI(api_key=CANARY, base_url=BASE, http_client=_pool(handler)["async_http_client"]),
    )
    return ul.Upstream.from_sdk(*clients, protocol="openai-chat", model="m")


def _anthropic(handler: Handler) -> ul.Upstream:
    import anthropic

    clients = (
        anthropic.Anthropic(api_key=CANARY, base_url=BASE, http_client=_pool(handler)["http_client"]),
        anthropic.AsyncAnthropic(auth_token=CANARY, base_url=BASE, http_client=_pool(handler)["async_http_client"]),
    )
    return ul.Upstream.from_sdk(*clients, model="m")


URL = quote(CANARY, safe="")
# Each: the upstream, what the client is given, what the call is given.
WAYS: dict[str, Callable[[Handler], tuple[ul.Upstream, dict[str, Any], dict[str, Any]]]] = {
    "api_key": lambda h: (_of(h), {}, {"api_key": CANARY}),
    "client's api_key": lambda h: (_of(h), {"api_key": CANARY}, {}),
    "mapping": lambda h: (_of(h), {"api_key": {"up.example": CANARY}}, {}),
    "function": lambda h: (_of(h, auth=KeyAuth("x-api-key", "{key}", lambda: CANARY)), {}, {}),
    "environment": lambda h: (_of(h, auth=KeyAuth("authorization", "Bearer {key}", env=["CANARY_KEY"])), {}, {}),
    "headers": lambda h: (_of(h, headers={"X-Team": CANARY}), {}, {}),
    "client's headers": lambda h: (_of(h), {"headers": {"cookie": f"a=b; session={CANARY}"}}, {}),
    "extra_headers": lambda h: (_of(h), {}, {"extra_headers": {"authorization": f"Token {CANARY}"}}),
    "query": lambda h: (_of(h, query={"key": CANARY}), {}, {}),
    "extra_query": lambda h: (_of(h), {}, {"extra_query": {"code": CANARY}}),
    "query of the URL": lambda h: (_of(h, base=f"{BASE}?key={URL}"), {}, {}),
    "password of the URL": lambda h: (_of(h, base=f"http://user:{URL}@up.example/v1"), {}, {}),
    "basic auth": lambda h: (_of(h, auth=httpx2.BasicAuth("user", CANARY)), {}, {}),
    "auth object": lambda h: (_of(h, auth=OwnAuth()), {}, {}),
    "pool's headers": lambda h: (_of(h, {"headers": {"x-gateway": CANARY}}), {}, {}),
    "pool's auth": lambda h: (_of(h, {"auth": ("user", CANARY)}), {}, {}),
    "pool's query": lambda h: (_of(h, {"params": {"sig": CANARY}}), {}, {}),
    "openai's client": lambda h: (_openai(h), {}, {}),
    "anthropic's client": lambda h: (_anthropic(h), {}, {}),
}


# ---- what fails -----------------------------------------------------------------------------------------------------


def _heard(request: httpx2.Request) -> str:
    """All that a server was sent beside the body, and the canary by itself in other spellings."""
    told = [f"{name}: {value}" for name, value in request.headers.items()] + [str(request.url), str(request.url.params)]
    plain = unquote(" ".join(told)) + " ".join(
        base64.b64decode(value[6:]).decode() for value in request.headers.values() if value.startswith("Basic ")
    )
    assert CANARY in plain, "it was not sent: nothing is tested"
    return " | ".join([*told, CANARY, repr(CANARY), json.dumps(CANARY), html.escape(CANARY), CANARY.upper(), URL])


def _json(status: int, make: Callable[[str], Any]) -> Handler:
    return lambda request: httpx2.Response(
        status, json=make(_heard(request)), headers={"x-echo": _heard(request).upper(), "request-id": CANARY}
    )


def _text(status: int, kind: str, make: Callable[[str], str]) -> Handler:
    return lambda request: httpx2.Response(status, content=make(_heard(request)), headers={"content-type": kind})


def _stream(make: Callable[[str], list[Any]]) -> Handler:
    return lambda request: streamed(*make(_heard(request)))


def _raised(kind: type[httpx2.HTTPError]) -> Handler:
    def fail(request: httpx2.Request) -> httpx2.Response:
        raise kind(f"no luck with {_heard(request)}")  # type: ignore[call-arg]

    return fail


def _error(told: str) -> Any:
    return {"error": {"message": f"bad: {told}", "type": "server_error", "code": told, "param": {told: [told]}}}


FAILURES: dict[str, Handler] = {
    "401": _json(401, _error),
    "429": _json(429, _error),
    "400, flat": _json(400, lambda told: {"detail": [{"msg": told}]}),
    "500, text": _json(500, lambda told: told),
    "500, empty": _text(500, "text/plain", lambda told: ""),
    "502, page": _text(502, "text/html", lambda told: f"<html><title>{told}</title>{told}</html>"),
    "307": lambda request: httpx2.Response(307, headers={"location": f"http://{URL}/{_heard(request)}"}),
    "200, no JSON": _text(200, "application/json", lambda told: told),
    "200, cut in the key": _text(200, "text/plain", lambda told: "x" * (300 - len(CANARY) // 2) + CANARY),
    "200, page": _text(200, "text/html", lambda told: f"<html>{told}"),
    "200, error": _json(200, _error),
    "200, no answer": _json(200, lambda told: {"error": told}),
    "stream, error first": _stream(lambda told: frames(_error(told))),
    "stream, error later": _stream(lambda told: [CHAT_STREAM[0], *frames(_error(told))]),
    "stream, half an event": _stream(lambda told: [CHAT_STREAM[0], b'data: {"x": "' + told.encode() + b"\n\n"]),
    "stream, broken": _stream(lambda told: [CHAT_STREAM[0], httpx2.ReadError(told)]),
    "refused": _raised(httpx2.ConnectError),
    "timeout": _raised(httpx2.ReadTimeout),
    "protocol": _raised(httpx2.RemoteProtocolError),
    "own protocol": _raised(httpx2.LocalProtocolError),
    "decoding": _raised(httpx2.DecodingError),
}


class Traced(InMemorySpanExporter):
    """The spans of all calls; hooks get `seen.append`."""

    def __init__(self) -> None:
        super().__init__()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self))

    def options(self, seen: list[Any]) -> dict[str, Any]:
        hooks = dict.fromkeys(("on_request", "on_response", "on_retry"), seen.append)
        return {**hooks, "tracer_provider": self.provider}

    def taken(self) -> list[str]:
        found = [each.to_json() for each in self.get_finished_spans()]
        self.clear()
        return found


TRACED = Traced()


def _seen_by_client(way: str, failure: str, stream: bool, seen: list[Any]) -> None:
    upstream, settings, given = WAYS[way](FAILURES[failure])
    with ul.Client(upstream, retry=ul.Retry.never(), **settings, **TRACED.options(seen)) as client:
        result = client.responses.create(input="Hi", stream=stream or None, **given)
        for event in result if stream else ():
            seen.append(event.dump())
        seen.append([result.dump(), result.losses, result.raw] if not stream else None)


async def _aseen_by_client(way: str, failure: str, stream: bool, seen: list[Any]) -> None:
    upstream, settings, given = WAYS[way](FAILURES[failure])
    async with ul.AsyncClient(upstream, retry=ul.Retry.never(), **settings, **TRACED.options(seen)) as client:
        result: Any = await client.responses.create(input="Hi", stream=stream or None, **given)
        if not stream:
            seen.append([result.dump(), result.losses, result.raw])
            return
        async for event in result:
            seen.append(event.dump())


@pytest.mark.parametrize(("way", "failure", "stream"), covering(WAYS, FAILURES, [False, True]))
def test_the_client_shows_no_secret(
    way: str, failure: str, stream: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the way decides what is a secret, and the failure where it would be shown: every two of them meet."""
    caplog.set_level("DEBUG")
    monkeypatch.setenv("CANARY_KEY", CANARY)
    for run in (_seen_by_client, lambda *given: asyncio.run(_aseen_by_client(*given))):
        seen: list[Any] = []
        try:
            run(way, failure, stream, seen)
        except ul.UnifiedLLMError as error:
            seen += [error, pickle.dumps(error)]
        spans = TRACED.taken()
        assert seen and spans and "unified_llm.client" in {record.name for record in caplog.records}
        assert_clean(spans, seen, [record.getMessage() for record in caplog.records], caplog.text)
    assert_clean(repr(WAYS[way](FAILURES[failure])[0]))


SURFACES = {
    "openai-chat": ("v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}),
    "openai-responses": ("v1/responses", {"model": "m", "input": "Hi"}),
    "anthropic-messages": (
        "v1/messages",
        {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
    ),
    "google-generate-content": (
        "v1beta/models/m:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    ),
    "google-interactions": ("v1beta/interactions", {"model": "m", "input": "Hi"}),
}


@pytest.mark.parametrize(
    ("surface", "failure", "way"), covering(SURFACES, FAILURES, ["headers", "query", "basic auth", "openai's client"])
)
def test_a_transport_shows_no_secret(surface: str, failure: str, way: str, caplog: pytest.LogCaptureFixture) -> None:
    """The surface only words an error from which the secret was removed by then."""
    caplog.set_level("DEBUG")
    upstream, _, _ = WAYS[way](FAILURES[failure])
    path, body = SURFACES[surface]
    told: list[Any] = []
    with ul.http_client(upstream, on_losses=told.append) as http:
        for stream in (False, True):
            where = path.replace(":generateContent", ":streamGenerateContent?alt=sse") if stream else path
            try:
                answer = http.post(f"http://sdk/{where}", json={**body, "stream": True} if stream else body)
            except httpx2.HTTPError as error:
                told.append(error)
            else:
                told += [answer.status_code, dict(answer.headers), answer.text]
    assert told
    assert_clean(told, caplog.text)


# ---- keys that cannot be sent, and keys too short to be distinguished from text --------------------------------------


@pytest.mark.parametrize("wrong", ["\n", "\r\n", "\x00", " ", "\x1b[0m", "é", "\ud800"])
@pytest.mark.parametrize("way", ["api_key", "function", "environment", "headers", "extra_headers", "auth object"])
def test_a_key_that_no_header_can_hold_is_refused(way: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "environment" and wrong in ("\x00", "\ud800"):
        return  # the environment cannot hold them either
    sent: list[httpx2.Request] = []
    monkeypatch.setattr(sys.modules[__name__], "CANARY", CANARY + wrong)
    monkeypatch.setenv("CANARY_KEY", CANARY + wrong if way == "environment" else "")
    with pytest.raises((ul.AuthenticationError, ul.InvalidBody)) as caught:
        upstream, settings, given = WAYS[way](lambda request: sent.append(request) or httpx2.Response(500))  # type: ignore[func-returns-value]
        ul.Client(upstream, **settings).responses.create(input="Hi", **given)
    assert not sent and "header" in str(caught.value)
    monkeypatch.undo()
    assert_clean(caught.value)


def test_a_key_of_one_character_garbles_nothing() -> None:
    answer = httpx2.Response(400, json={"error": {"message": "a mistake at position a"}})
    upstream = _of(lambda request: answer, auth=KeyAuth("x-api-key", "{key}", "a"))
    with pytest.raises(ul.InvalidRequestError, match="a mistake at position a"):
        ul.Client(upstream).responses.create(input="Hi")


def test_a_short_key_is_hidden_as_a_word() -> None:
    answer = httpx2.Response(400, json={"error": {"message": "key testy: testying is not tested"}})
    upstream = _of(lambda request: answer, auth=KeyAuth("x-api-key", "{key}", "testy"))
    with pytest.raises(ul.InvalidRequestError, match=r"key \[redacted\]: testying is not tested"):
        ul.Client(upstream).responses.create(input="Hi")


def test_what_a_model_says_is_left_as_it_is() -> None:
    said = {"index": 0, "message": {"role": "assistant", "content": f"You said {CANARY}"}, "finish_reason": "stop"}
    answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [said]}
    upstream = _of(lambda request: httpx2.Response(200, json=answer), headers={"x-team": CANARY})
    assert ul.Client(upstream).responses.create(input=CANARY).output_text == f"You said {CANARY}"
