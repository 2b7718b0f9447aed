"""Messages over Bedrock's InvokeModel: its paths, its event stream, its keys and its signatures."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

pytest.importorskip("botocore", reason="the extra amazon is not installed")

import unified_llm as ul
from client.drivers import AiohttpWire, aiohttp_installed
from client.loopback import Exchange, loopback, whole
from oracles import mounts
from oracles.platforms import Platforms, frame
from sdk_surfaces import Messages
from unified_llm.client.connections.event_framing import AsyncEvents, events
from unified_llm.client.connections.io import AsyncWire, Wire
from unified_llm.client.sending.effects import Answer, Ask
from unified_llm.client.upstreams import signatures
from unified_llm.client.upstreams.signatures import Signature, service_of
from unified_llm.client.upstreams.tokens import Tokens, tokens_of
from unified_llm_anthropic.event_stream import Decoder

MODEL = "bedrock/eu.anthropic.claude-opus-4-7-v1:0"
REGION = {"region": "eu-west-1"}
BODY = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "Good morning."}]}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAONE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret/of+one")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setattr(signatures, "_kept", [])
    tokens_of.cache_clear()
    yield
    tokens_of.cache_clear()


def at(service: Platforms, **given: Any) -> ul.Upstream:
    inside = mounts.transport(service)
    clients = {
        "http_client": httpx2.Client(transport=inside),
        "async_http_client": httpx2.AsyncClient(transport=inside),
    }
    return ul.Upstream.of(MODEL, variables=REGION, **given, **clients)


def told(upstream: ul.Upstream, mode: str, **more: Any) -> str:
    """What an SDK of the same protocol gets."""
    surface = Messages(ul.http_client(upstream), ul.async_http_client(upstream), **more)
    surface.ask("Good morning.")
    done = asyncio.run(surface.acall("stream" in mode)) if "async" in mode else surface.call("stream" in mode)
    return done.text


LOGINS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "key": ({"api_key": "a-key"}, {}),
    "signature": ({"auth": "aws"}, {"accounts": {"AKIAONE": "secret/of+one"}}),
}


@pytest.mark.parametrize("mode", ["plain", "stream", "async plain", "async stream"])
@pytest.mark.parametrize(("given", "taken"), LOGINS.values(), ids=LOGINS)
def test_bedrock_takes_what_is_sent(given: dict[str, Any], taken: dict[str, Any], mode: str) -> None:
    service = Platforms("a-key", **taken)
    assert told(at(service, **given), mode) == "Good morning." and service.refused == []


def test_a_session_token_is_sent_and_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "session-of-AKIAONE")
    service = Platforms(accounts={"AKIAONE": "secret/of+one"})
    upstream = at(service, auth="aws")
    assert told(upstream, "plain") == "Good morning." and service.refused == []
    (seen,) = service.seen
    assert seen.headers["x-amz-security-token"] == "session-of-AKIAONE"
    assert "x-amz-security-token" in seen.headers["authorization"]
    assert upstream.hide("session-of-AKIAONE") == "[redacted]"


def test_a_wrong_secret_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Platforms(accounts={"AKIAONE": "another"})
    with pytest.raises(ul.APIError) as caught:
        ul.Client(at(service, auth="aws"), retry=ul.Retry.never()).responses.create(input="Hi")
    assert caught.value.status == 403 and len(service.refused) == 1 and "of+one" not in str(caught.value)


@pytest.mark.parametrize("mode", ["plain", "async plain"])
def test_credentials_that_have_expired_are_looked_for_again_once(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Platforms(accounts={"AKIATWO": "secret-of-two"})
    upstream = at(service, auth="aws")
    assert tokens_of("aws")()  # those of one
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATWO")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-two")
    assert told(upstream, mode) == "Good morning." and len(service.refused) == 1


def test_a_signature_is_botocores_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same request, signed by botocore's client for the service."""
    import botocore.session

    sent: list[Any] = []

    def stop(request: Any, **_: Any) -> Any:
        sent.append(request)
        raise InterruptedError

    client = botocore.session.get_session().create_client("bedrock-runtime", region_name="eu-west-1")
    client.meta.events.register("before-send.bedrock-runtime.InvokeModel", stop)
    with pytest.raises(InterruptedError):
        client.invoke_model(modelId="a.b-v1:0", body=b"{}", contentType="application/json")
    (theirs,) = sent
    date = theirs.headers["X-Amz-Date"].decode()
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda *_, **__: time_of(date))
    ours = httpx2.Request("POST", theirs.url, headers={"content-type": "application/json"}, content=b"{}")
    auth = Signature(tokens_of("aws"), "bedrock", "eu-west-1")
    next(auth.sync_auth_flow(ours))
    signed = ours.headers["authorization"]
    assert "Credential=AKIAONE/" in signed and ours.headers["x-amz-date"] == date
    scope = theirs.headers["Authorization"].decode().partition("SignedHeaders")[0]
    assert signed.startswith(scope)


def time_of(date: str) -> Any:
    from datetime import UTC, datetime

    return datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)


def test_betas_are_a_field_of_the_body() -> None:
    service = Platforms("a-key")
    upstream = at(service, api_key="a-key")
    sent = {"anthropic-beta": "one-2026-01-01, two-2026-01-01", "anthropic-version": "2023-06-01"}
    done = ul.http_client(upstream).post("http://any/v1/messages", json=BODY, headers=sent)
    assert done.status_code == 200 and service.refused == [], done.text
    assert service.seen[-1].headers["anthropic-beta"] == "one-2026-01-01,two-2026-01-01"


# ---- the event stream -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"), [("throttlingException", ul.RateLimitError), ("modelStreamErrorException", ul.ServerError)]
)
def test_an_error_in_the_middle_of_a_stream(name: str, kind: type[Exception]) -> None:
    service = Platforms("a-key")
    service.raises = (name, "no more")
    with pytest.raises(kind, match="no more"):
        with ul.Client(at(service, api_key="a-key")).responses.create(input="Hi", stream=True) as stream:
            stream.get_final_response()


CHUNK = frame(
    {":message-type": "event", ":event-type": "chunk"},
    json.dumps({"bytes": "eyJ0eXBlIjoicGluZyJ9"}).encode(),
)
PING = b'event: ping\ndata: {"type":"ping"}\n\n'


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_frames_may_be_cut_anywhere(size: int) -> None:
    data = CHUNK * 3
    pieces = [data[place : place + size] for place in range(0, len(data), size)]
    assert b"".join(events(Decoder(), pieces)) == PING * 3

    class Pieces:
        def __init__(self) -> None:
            self.left = pieces[::-1]

        async def __anext__(self) -> bytes:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop()

    async def read() -> bytes:
        return b"".join([each async for each in AsyncEvents(Decoder(), Pieces())])

    assert asyncio.run(read()) == PING * 3


@pytest.mark.parametrize("place", [5, 9, 30, len(CHUNK) - 2])
def test_a_damaged_frame_is_a_broken_stream(place: int) -> None:
    data = bytearray(CHUNK)
    data[place] ^= 0xFF
    with pytest.raises(httpx2.RemoteProtocolError, match="damaged"):
        list(events(Decoder(), [bytes(data), CHUNK * 9]))


@pytest.mark.parametrize("wire_class", [Wire, AsyncWire, pytest.param(AiohttpWire, marks=aiohttp_installed)])
def test_every_driver_reads_event_streams(wire_class: Any) -> None:
    service = Platforms("a-key")
    host = {"host": "bedrock-runtime.eu-west-1.amazonaws.com", "authorization": "Bearer a-key"}

    def answer(exchange: Exchange) -> Any:
        path = exchange.head.split(b" ")[1].decode()
        reply = service.handle("POST", httpx2.URL(f"http://h{path}").path, "", host, exchange.body)
        data = b"".join(each for each in reply.body if isinstance(each, bytes))
        exchange.send(whole(data, kind=reply.headers["content-type"]))

    ask = Ask(body={**BODY, "stream": True}, source="anthropic-messages", stream=True)
    with loopback() as server:
        server.answer = answer
        upstream = ul.Upstream.of(MODEL, variables=REGION, api_key="a-key").with_(base_url=server.url[:-3])
        if wire_class is Wire:
            with Wire() as wire:
                found = b"".join(wire.send(ask, [upstream]))
        else:

            async def asked() -> bytes:
                async with wire_class() as wire:
                    stream = await wire.send(ask, [upstream])
                    assert not isinstance(stream, Answer)
                    return b"".join([each async for each in stream])

            found = asyncio.run(asked())
    assert b"event: message_stop" in found and found.count(b"event: message_start") == 1


# ---- services and regions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "audience", "expected"),
    [
        ("https://bedrock-runtime.eu-west-1.amazonaws.com", "", ("bedrock", "eu-west-1")),
        ("https://bedrock-mantle.us-east-2.api.aws/anthropic", "", ("bedrock-mantle", "us-east-2")),
        ("https://vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com", "", ("bedrock", "eu-west-1")),
        ("http://localhost:1", "bedrock/eu-west-3", ("bedrock", "eu-west-3")),
    ],
)
def test_what_is_signed_for(url: str, audience: str, expected: tuple[str, str]) -> None:
    upstream = ul.Upstream.of(url, model="m", auth="aws", audience=audience)
    assert isinstance(upstream.auth, Signature) and (upstream.auth.service, upstream.auth.region) == expected
    assert repr(upstream.auth) == f"Signature({expected[0]!r}, {expected[1]!r})"


def test_a_url_that_names_no_region() -> None:
    with pytest.raises(ul.InvalidArgument, match="SERVICE/REGION"):
        ul.Upstream.of("http://localhost:1", model="m", auth="aws")
    with pytest.raises(ul.InvalidArgument, match="SERVICE/REGION"):
        service_of("https://runtime.r.example", "service", {"runtime": "service"})


def test_without_credentials_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    service = Platforms()
    with pytest.raises(ul.AuthenticationError, match="no credentials of login 'aws'"):
        ul.Client(at(service, auth="aws")).responses.create(input="Hi")
    assert not service.refused and not service.seen


def test_a_signature_is_not_kept_among_the_credentials() -> None:
    """Each request has another one, and none is of use for another request."""
    upstream = at(Platforms(accounts={"AKIAONE": "secret/of+one"}), auth="aws")
    for _ in range(3):
        told(upstream, "plain")
    assert len(upstream.secrets._known) <= 1


def test_large_bodies_are_signed_too() -> None:
    def source(audience: str, renew: bool) -> tuple[str, float]:
        return json.dumps(["AKIAONE", "secret/of+one", None]), time.time() + 300

    request = httpx2.Request("POST", "https://bedrock-runtime.eu-west-1.amazonaws.com/", content=b"x" * 1_000_000)

    async def signed() -> str:
        flow = Signature(Tokens(source), "bedrock", "eu-west-1").async_auth_flow(request)
        made = await anext(flow)
        await flow.aclose()
        return made.headers["authorization"]

    assert asyncio.run(signed()).startswith("AWS4-HMAC-SHA256 Credential=AKIAONE/")
