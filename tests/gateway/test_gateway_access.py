"""Who may call: web pages, other hosts, keys in every spelling, and what a key may reach. Refusals in each envelope."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
import zstandard

from gateway.serving import PROTOCOLS, House, until
from unified_llm.gateway.access.callers import new_key
from unified_llm.gateway.state import database_probe
from unified_llm.gateway.state.store import Store

CHAT = {"model": "openai-chat", "messages": [{"role": "user", "content": "Hi"}]}
ROUTES = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic-messages": "/v1/messages",
    "google-generate-content": "/v1beta/models/m:generateContent",
    "google-interactions": "/v1beta/interactions",
}


def said(protocol: str, body: Any) -> str:
    """The message of an error, found where that protocol's clients look for it."""
    if protocol == "anthropic-messages":
        assert body["type"] == "error"
    if protocol == "google-generate-content":
        assert isinstance(body["error"]["code"], int) and body["error"]["status"].isupper()
    return str(body["error"]["message"])


# ---- without keys: the loopback interface, and no web page ----------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8787", "127.0.0.1:1", "[::1]:8787", "app.localhost", "LOCALHOST."]
)
def test_a_loopback_name_is_served(house: House, host: str) -> None:
    assert (
        house.ask(house.gateway(), "POST", ROUTES["openai-chat"], json=CHAT, headers={"host": host}).status_code == 200
    )


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8787", "10.0.0.1", "localhost.evil.example", "127.0.0.1.nip.io", ""]
)
def test_a_rebound_name_is_not(house: House, host: str) -> None:
    done = house.ask(house.gateway(), "POST", ROUTES["openai-chat"], json=CHAT, headers={"host": host})
    assert done.status_code == 403 and "Host" in said("openai-chat", done.json()) and not house.seen


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:3000", "file://"])
def test_a_web_page_is_not_served(house: House, origin: str) -> None:
    for method, path, options in (
        ("POST", ROUTES["openai-chat"], {"json": CHAT}),
        ("GET", "/v1/models", {}),
        ("OPTIONS", ROUTES["openai-chat"], {}),
    ):
        asked = {"origin": origin, "access-control-request-method": "POST"}
        done = house.ask(house.gateway(), method, path, headers=asked, **options)
        assert done.status_code == 403 and not [each for each in done.headers if each.startswith("access-control")]
    assert not house.seen


def test_a_configured_page_is_served(house: House) -> None:
    gateway = house.gateway(gateway={"origins": ["https://app.example"]})
    asked = {
        "origin": "https://app.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "x-a",
    }
    before = house.ask(gateway, "OPTIONS", ROUTES["openai-chat"], headers=asked)
    assert before.status_code == 204 and before.headers["access-control-allow-headers"] == "x-a"
    done = house.ask(gateway, "POST", ROUTES["openai-chat"], json=CHAT, headers={"origin": "https://app.example"})
    assert done.status_code == 200 and done.headers["access-control-allow-origin"] == "https://app.example"
    assert "access-control-allow-origin" not in house.ask(gateway, "POST", ROUTES["openai-chat"], json=CHAT).headers


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", None]
)
def test_what_a_page_can_send_without_asking_is_refused(house: House, kind: str | None) -> None:
    headers = {"content-type": kind} if kind else {}
    done = house.ask(house.gateway(), "POST", ROUTES["openai-chat"], content=b'{"model": "m"}', headers=headers)
    assert done.status_code == 415 and "content-type" in said("openai-chat", done.json()) and not house.seen


# ---- keys -----------------------------------------------------------------------------------------------------------

KEY, DIGEST = new_key()
KEYS = {"blue": {"sha256": DIGEST}}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({"authorization": f"Bearer {KEY}"}, {}),
        ({"authorization": f"bearer  {KEY}"}, {}),
        ({"x-api-key": KEY}, {}),
        ({"x-goog-api-key": KEY}, {}),
        ({}, {"key": KEY}),
    ],
)
def test_a_key_in_every_spelling_on_every_surface(
    house: House, protocol: str, headers: dict[str, str], query: dict[str, str]
) -> None:
    gateway = house.gateway(keys=KEYS)
    done = house.ask(gateway, "GET", "/v1/models", headers={"host": "gw.example", **headers}, params=query)
    assert done.status_code == 200
    wrong = {name: value.replace(KEY, KEY[:-1]) for name, value in headers.items()}
    asked = {name: value[:-1] for name, value in query.items()}
    done = house.ask(gateway, "POST", ROUTES[protocol], json=CHAT, headers=wrong, params=asked)
    assert done.status_code == 401 and "not valid" in said(protocol, done.json()) and KEY[:-1] not in done.text
    assert house.ask(gateway, "POST", ROUTES[protocol], json=CHAT).status_code == 401
    assert not house.seen


def test_the_clients_key_goes_to_no_upstream(house: House) -> None:
    gateway = house.gateway(keys=KEYS)
    for protocol in PROTOCOLS:
        body = {**CHAT, "model": protocol}
        done = house.ask(
            gateway, "POST", ROUTES["openai-chat"], json=body, params={"key": KEY},
            headers={"authorization": f"Bearer {KEY}", "cookie": KEY, "x-goog-api-key": KEY},
        )  # fmt: skip
        assert done.status_code == 200
    assert len(house.seen) == len(PROTOCOLS)
    assert not [each for each in house.seen if KEY in str((each.path, each.headers, each.body))]


def test_a_key_is_a_random_string_and_its_digest() -> None:
    (one, digest), (other, _) = new_key(), new_key()
    assert one != other and len(one) > 40 and hashlib.sha256(one.encode()).hexdigest() == digest


def test_what_a_key_may_reach(house: House) -> None:
    keys = {
        "blue": {"sha256": DIGEST, "models": ["fast", "openai-*"], "upstreams": ["openai-chat", "openai-responses"]}
    }
    gateway = house.gateway(keys=keys, models={"fast": ["anthropic-messages", "openai-chat"]})

    def asked(model: str, **headers: str) -> tuple[int, str]:
        body = {**CHAT, "model": model}
        done = house.ask(gateway, "POST", ROUTES["openai-chat"], json=body, headers={"x-api-key": KEY, **headers})
        return done.status_code, done.text

    assert asked("openai-chat")[0] == 200
    assert asked("fast")[0] == 200 and house.seen[-1].protocol == "openai-chat"
    assert asked("anthropic-messages")[0] == 403
    assert "may not use anthropic-messages" in asked("openai-x", **{"x-llm-upstream": "anthropic-messages"})[1]
    listed = house.ask(gateway, "GET", "/v1/models", headers={"x-api-key": KEY}).json()["data"]
    assert {each["id"] for each in listed} == {"fast", "openai-chat", "openai-responses"}


def test_a_key_sees_no_model_that_it_may_not_reach(house: House) -> None:
    models = {"fast": ["anthropic-messages", "openai-chat"], "secret": "anthropic-messages", "old-*": "openai-chat"}
    gateway = house.gateway(keys={"blue": {"sha256": DIGEST, "upstreams": ["openai-chat"]}}, models=models)
    listed = house.ask(gateway, "GET", "/v1/models", headers={"x-api-key": KEY}).json()["data"]
    assert {each["id"] for each in listed} == {"fast", "openai-chat"}
    assert house.ask(gateway, "GET", "/v1/models/secret", headers={"x-api-key": KEY}).status_code == 404


def test_the_header_for_an_upstream_reaches_no_model_that_the_key_may_not_request(house: House) -> None:
    gateway = house.gateway(
        {name: house.upstream(name).with_(model=f"{name}-model") for name in ("openai-chat", "openai-responses")},
        keys={"blue": {"sha256": DIGEST, "models": ["openai-chat", "x-*"], "upstreams": ["openai-*"]}},
    )

    def asked(named: str, model: str | None) -> tuple[int, str]:
        body = {"messages": CHAT["messages"], **({} if model is None else {"model": model})}
        headers = {"x-api-key": KEY, "x-llm-upstream": named}
        done = house.ask(gateway, "POST", ROUTES["openai-chat"], json=body, headers=headers)
        return done.status_code, done.text

    assert asked("openai-chat", "x-1")[0] == 200
    for model in ("openai-chat", "x-1", None):  # the upstream keeps its own model whatever the request names
        status, text = asked("openai-responses", model)
        assert status == 403 and "may not use model 'openai-responses'" in text
    status, text = asked("nowhere", "x-1")
    assert status == 404 and "openai-chat" in text and "local" not in text  # only what the key may reach is named
    assert len(house.seen) == 1


@pytest.mark.parametrize("model", [None, "", ["secret"], 5])
def test_a_request_without_a_model_is_for_the_upstream_that_it_names(house: House, model: Any) -> None:
    """The upstream would answer with a model by default, or as an agent."""
    upstreams = {name: house.upstream("openai-chat", model=None) for name in ("one", "two")}
    keys = {"blue": {"sha256": DIGEST, "models": ["fast", "two"]}}
    gateway = house.gateway(upstreams, keys=keys, models={"fast": "one/fast"})

    def asked(named: str) -> Any:
        body = {**CHAT, "model": model}
        headers = {"x-api-key": KEY, "x-llm-upstream": named}
        return house.ask(gateway, "POST", ROUTES["openai-chat"], json=body, headers=headers)

    assert asked("one").status_code == 403 and "may not use model 'one'" in asked("one").text and not house.seen
    if model == ["secret"]:  # a server may take the first of a list
        assert asked("two").status_code == 403 and "may not use model 'secret'" in asked("two").text
    else:
        assert asked("two").status_code != 403 and house.seen


def test_tenants_do_not_see_each_other(house: House) -> None:
    other, digest = new_key()
    third, another = new_key()
    keys = {"blue": {"sha256": DIGEST}, "red": {"sha256": digest}, "rotated": {"sha256": another, "tenant": "blue"}}
    gateway = house.gateway(keys=keys)
    for model in ("openai-chat", "openai-responses"):
        body = {"model": model, "input": "One."}
        first = house.ask(gateway, "POST", "/v1/responses", json=body, headers={"x-api-key": KEY}).json()["id"]
        after = {**body, "previous_response_id": first}
        red = {"x-api-key": other, "x-unified-llm-caller": "blue"}
        assert house.ask(gateway, "POST", "/v1/responses", json=after, headers=red).status_code == 400
        assert house.ask(gateway, "POST", "/v1/responses", json=after, headers={"x-api-key": third}).status_code == 200


# ---- what the gateway answers by itself -----------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_refusals_are_in_the_envelope_of_the_surface(house: House, protocol: str) -> None:
    gateway, path = house.gateway(gateway={"max_body": 200, "providers": []}), ROUTES[protocol]
    marks = {
        "anthropic-messages": {"anthropic-version": "2023-06-01"},
        "google-generate-content": {"x-goog-api-key": "x"},
    }
    headers = marks.get(protocol, {})
    cases: list[tuple[int, str, str, dict[str, Any]]] = [
        (405, "PUT", path, {"json": CHAT}),
        (413, "POST", path, {"json": {**CHAT, "x": "x" * 200}}),
        (415, "POST", path, {"content": b"{}", "headers": {"content-type": "text/plain"}}),
        (
            415,
            "POST",
            path,
            {"content": b"{}", "headers": {"content-type": "application/json", "content-encoding": "br"}},
        ),
        (400, "POST", path, {"content": b'{"model": ', "headers": {"content-type": "application/json"}}),
        (400, "POST", path, {"content": b"[]", "headers": {"content-type": "application/json"}}),
        (400, "POST", path, {"content": b"\xff\xfe", "headers": {"content-type": "application/json"}}),
        (404, "POST", path, {"json": {"model": "nowhere"}}),
    ]
    for status, method, where, options in cases:
        done = house.ask(gateway, method, where, **{**options, "headers": {**headers, **options.get("headers", {})}})
        assert (done.status_code, bool(said(protocol, done.json()))) == (status, True), (where, done.text)
        assert done.headers["content-type"] == "application/json"
    if protocol in ("openai-chat", *marks):
        done = house.ask(gateway, "POST", "/v1/embeddings", json=CHAT, headers=headers)
        assert done.status_code == 404 and "/v1/embeddings" in said(protocol, done.json())


def test_too_many_at_once(house: House) -> None:
    gateway = house.gateway(gateway={"max_parallel": 1})
    gateway.busy = 1
    done = house.ask(gateway, "POST", ROUTES["openai-chat"], json=CHAT)
    assert done.status_code == 429 and done.headers["retry-after"] == "1"
    gateway.busy = 0
    assert house.ask(gateway, "POST", ROUTES["openai-chat"], json=CHAT).status_code == 200 and gateway.busy == 0


def test_probes(house: House) -> None:
    gateway = house.gateway(keys=KEYS)
    for path in ("/", "/health", "/health/live", "/health/ready", "/health/liveliness", "/health/readiness"):
        for method in ("GET", "HEAD"):
            done = house.ask(gateway, method, path, headers={"host": "10.1.2.3"})
            assert done.status_code == 200 and (done.content == b"") == (method == "HEAD")
    gateway.draining = True
    assert house.ask(gateway, "GET", "/health/ready").status_code == 503
    assert house.ask(gateway, "GET", "/health/live").status_code == 200


def test_a_gateway_that_has_to_store_is_not_ready_without_its_database(
    house: House, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(database_probe, "_AGE", 0)
    url = f"sqlite:///{tmp_path}/later/gateway.db"
    gateway = house.gateway(state={"url": url, "required": True})
    found = house.ask(gateway, "GET", "/health/ready")
    assert found.status_code == 503 and found.headers["retry-after"]
    assert house.ask(gateway, "GET", "/health/live").status_code == 200
    other = house.gateway(state={"url": url})
    assert house.ask(other, "GET", "/health/ready").status_code == 200, "it answers without storing"
    (tmp_path / "later").mkdir()
    until(lambda: house.ask(gateway, "GET", "/health/ready").status_code == 200)


def test_a_database_that_hangs_is_tried_by_one_probe_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_probe, "_AGE", 3_600)
    monkeypatch.setattr(database_probe, "_PATIENCE", 0.01)
    tries: list[bool] = []

    class Hanging:  # and not the store of a gateway, whose own work uses connections beside the probes
        @contextlib.asynccontextmanager
        async def connection(self) -> AsyncIterator[None]:
            tries.append(True)
            await asyncio.Event().wait()
            yield

    async def probe() -> list[bool]:
        probed = database_probe.Reachable(cast(Store, Hanging()))
        return list(await asyncio.gather(*(probed() for _ in range(3))))

    assert asyncio.run(probe()) == [False] * 3
    assert tries == [True]


# ---- compressed bodies ----------------------------------------------------------------------------------------------

BODY = b'{"model": "openai-chat", "messages": [{"role": "user", "content": "Good morning."}]}'
CODINGS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def sent(house: House, gateway: Any, content: bytes, coding: str) -> Any:
    headers = {"content-type": "application/json", "content-encoding": coding}
    return house.ask(gateway, "POST", ROUTES["openai-chat"], content=content, headers=headers)


@pytest.mark.parametrize("coding", sorted(CODINGS))
def test_a_compressed_body(house: House, coding: str) -> None:
    packed = CODINGS[coding](BODY)
    for content in (packed, CODINGS[coding](BODY[:20]) + CODINGS[coding](BODY[20:])):  # one frame, and two
        done = sent(house, house.gateway(), content, coding)
        assert done.json()["choices"][0]["message"]["content"] == "Good morning.", done.text
    assert sent(house, house.gateway(), packed[:-3], coding).status_code == 400
    assert sent(house, house.gateway(), b"\0" + packed[1:], coding).status_code == 400


@pytest.mark.parametrize("coding", sorted(CODINGS))
def test_a_bomb_is_refused_before_it_expands(house: House, coding: str) -> None:
    bomb = CODINGS[coding](b'{"model": "openai-chat", "x": "' + b"0" * 30_000_000 + b'"}')
    assert len(bomb) < 60_000
    done = sent(house, house.gateway(gateway={"max_body": "2MB"}), bomb, coding)
    assert done.status_code == 413 and not house.seen
    done = sent(house, house.gateway(gateway={"max_body": "64MB", "max_ratio": 50}), bomb, coding)
    assert done.status_code == 413 and "50 times" in done.text and not house.seen


def test_a_body_without_an_end_is_cut_off(house: House) -> None:
    gateway = house.gateway(gateway={"max_body": 1000})
    given = [0]
    told: list[Any] = []

    async def receive() -> dict[str, Any]:
        given[0] += 1
        return {"type": "http.request", "body": b"x" * 100, "more_body": True}

    async def send(message: Any) -> None:
        told.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": ROUTES["openai-chat"], "query_string": b"", "headers": headers}
    house.run(gateway(scope, receive, send))
    assert told[0]["status"] == 413 and given[0] == 11
