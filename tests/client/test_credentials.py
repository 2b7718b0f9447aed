"""Where a credential is sent: to the origin it was given for, and no other, fallbacks and redirects included."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from unified_llm.client.upstreams.credentials import KeyAuth
from upstreams import CHAT, MESSAGE

LOGINS = ("authorization", "x-api-key", "x-goog-api-key", "x-org")


RESPONSE: dict[str, Any] = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "output": []}


class World:
    """Every server there is: the first `failing` requests fail, then each answers in the protocol of its route."""

    def __init__(self, failing: int = 1) -> None:
        self.seen: list[tuple[str, dict[str, str], dict[str, str]]] = []
        self.failing = failing
        transport = httpx2.MockTransport(self._answer)
        self.http, self.ahttp = httpx2.Client(transport=transport), httpx2.AsyncClient(transport=transport)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        login = {name: request.headers[name] for name in LOGINS if name in request.headers}
        query = {name: ",".join(request.url.params.get_list(name)) for name in request.url.params}
        self.seen.append((request.url.host, login, query))
        if len(self.seen) <= self.failing:
            return httpx2.Response(500, json={"error": {"message": "no"}})
        path = request.url.path
        answer = MESSAGE if path.endswith("messages") else RESPONSE if path.endswith("responses") else CHAT
        return httpx2.Response(200, json=answer)

    def client(self, *given: Any, **options: Any) -> ul.Client:
        return ul.Client(*given, retry=ul.Retry.never(), http_client=self.http, **options)

    @property
    def logins(self) -> list[dict[str, str]]:
        return [login for _, login, _ in self.seen]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "own-key-of-anthropic")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


MODELS = ["openai/gpt-5.5", "anthropic/claude-opus-4-7"]
FIRST = {"authorization": "Bearer given-key", "x-org": "given-org"}
OWN = {"x-api-key": "own-key-of-anthropic"}
GIVEN: dict[str, Any] = {"api_key": "given-key", "extra_headers": {"x-org": "given-org"}}


def by_call(world: World) -> None:
    world.client().responses.create(models=MODELS, input="Hi", **GIVEN)


def by_client(world: World) -> None:
    given = {"api_key": "given-key", "headers": {"x-org": "given-org"}}
    world.client(**given).responses.create(models=MODELS, input="Hi")


def by_client_of_models(world: World) -> None:
    given = {"api_key": "given-key", "headers": {"x-org": "given-org"}}
    world.client(model=MODELS[0], models=MODELS[1:], **given).responses.create(input="Hi")


def by_client_of_an_upstream(world: World) -> None:
    given = {"api_key": "given-key", "headers": {"x-org": "given-org"}}
    world.client("openai", **given).responses.create(models=["gpt-5.5", MODELS[1]], input="Hi")


def by_stream(world: World) -> None:
    with world.client().responses.create(models=MODELS, input="Hi", stream=True, **GIVEN) as events:
        events.get_final_response()


def by_async(world: World) -> None:
    async def run() -> None:
        async with ul.AsyncClient(retry=ul.Retry.never(), http_client=world.ahttp) as client:
            await client.responses.create(models=MODELS, input="Hi", **GIVEN)

    asyncio.run(run())


def by_transport(world: World) -> None:
    options = {"api_key": "given-key", "headers": {"x-org": "given-org"}, "http_client": world.http}
    body = {"model": "any", "messages": [{"role": "user", "content": "Hi"}]}
    with ul.http_client(MODELS, **options) as http:
        assert http.post("http://sdk/v1/chat/completions", json=body).status_code == 200


def by_open_transport(world: World) -> None:
    options = {"api_key": "given-key", "headers": {"x-org": "given-org"}, "http_client": world.http}
    with ul.http_client(["openai", "anthropic"], **options) as http:
        body = {"model": "gpt-5.5", "messages": [{"role": "user", "content": "Hi"}]}
        assert http.post("http://sdk/v1/chat/completions", json=body).status_code == 200


def by_function(world: World) -> None:
    given = {**GIVEN, "api_key": lambda: "given-key"}
    world.client().responses.create(models=MODELS, input="Hi", **given)


@pytest.mark.parametrize(
    "way",
    [
        by_call, by_client, by_client_of_models, by_client_of_an_upstream, by_stream, by_async, by_transport,
        by_open_transport, by_function,
    ],
)  # fmt: skip
def test_a_fallback_logs_in_with_its_own_key(way: Callable[[World], None]) -> None:
    world = World()
    way(world)
    assert [host for host, *_ in world.seen] == ["api.openai.com", "api.anthropic.com"]
    assert world.logins == [FIRST, OWN]


def test_another_provider_than_the_clients_own_gets_nothing_of_the_client() -> None:
    world = World(failing=0)
    client = world.client("openai", api_key="given-key", headers={"x-org": "given-org"})
    client.responses.create(model="anthropic/claude-opus-4-7", input="Hi")
    assert world.seen == [("api.anthropic.com", OWN, {})]


def test_a_fallback_at_the_same_origin_has_the_same_credentials() -> None:
    world = World()
    world.client().responses.create(models=["openai/gpt-5.5", "openai/gpt-5.5-mini"], input="Hi", **GIVEN)
    assert world.logins == [FIRST, FIRST]


def test_a_query_belongs_to_the_first_upstream_too() -> None:
    world = World()
    world.client().responses.create(models=MODELS, input="Hi", api_key="given-key", extra_query={"tenant": "blue"})
    assert [query for *_, query in world.seen] == [{"tenant": "blue"}, {}]


@pytest.mark.parametrize("names", [("openai", "anthropic"), MODELS, ("api.openai.com", "https://api.anthropic.com")])
def test_a_mapping_says_for_which_provider_each_key_is(names: tuple[str, str]) -> None:
    world = World()
    keys = dict(zip(names, ("key-one", "key-two"), strict=True))
    world.client(api_key=keys).responses.create(models=MODELS, input="Hi")
    assert world.logins == [{"authorization": "Bearer key-one"}, {"x-api-key": "key-two"}]
    with ul.http_client(MODELS, api_key=keys, http_client=(world := World()).http) as http:
        body = {"model": "any", "messages": [{"role": "user", "content": "Hi"}]}
        http.post("http://sdk/v1/chat/completions", json=body)
    assert world.logins == [{"authorization": "Bearer key-one"}, {"x-api-key": "key-two"}]


def test_a_key_keeps_the_login_of_its_endpoint() -> None:
    world = World(failing=0)
    given: dict[str, Any] = {"variables": {"resource": "res"}, "http_client": world.http}
    upstream = ul.Upstream.of("azure/gpt-5.5", protocol="openai-chat", **given)
    ul.Client(upstream, api_key="given-key").responses.create(input="Hi")
    ul.Client().responses.create(upstream=upstream, api_key="given-key", input="Hi")
    assert [host for host, *_ in world.seen] == ["res.openai.azure.com"] * 2
    assert world.logins == [{}, {}]  # neither contains a token: the endpoint's header is another
    upstream = ul.Upstream.of("anthropic/claude-opus-4-7", http_client=(world := World(failing=0)).http)
    ul.Client(upstream, api_key="given-key").responses.create(input="Hi")
    assert world.logins == [{"x-api-key": "given-key"}]


def test_equal_upstreams_with_different_keys_stay_apart() -> None:
    world = World(failing=0)
    one, two = (
        ul.Upstream(protocol="openai-chat", base_url="http://up/v1", model="m", auth=KeyAuth("x-api-key", "{key}", key))
        for key in ("key-one", "key-two")
    )
    client = world.client()
    for each in (one, two):
        client.responses.create(upstream=each, input="Hi")
        client.responses.create(models=[each], input="Hi")
    assert world.logins == [{"x-api-key": key} for key in ("key-one", "key-one", "key-two", "key-two")]


def test_a_model_that_is_a_url_gets_no_key_of_a_transport() -> None:
    world = World(failing=0)
    with ul.http_client(api_key="given-key", http_client=world.http) as http:
        body = {"model": "http://evil.example/v1", "messages": [{"role": "user", "content": "Hi"}]}
        assert http.post("http://sdk/v1/chat/completions", json=body).status_code == 400
    assert not world.seen


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_takes_no_credential_along(status: int) -> None:
    seen: list[str] = []

    def redirect(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.url.host)
        return httpx2.Response(status, headers={"location": "http://evil.example/v1/chat/completions?back=1"})

    pool = httpx2.Client(transport=httpx2.MockTransport(redirect), follow_redirects=True)
    mine = ul.Upstream(protocol="openai-chat", base_url="http://up/v1", model="m", http_client=pool)
    for upstream in (mine, _openai(pool), _anthropic(pool)):
        with pytest.raises(
            ul.APIError, match=r"redirects to http://evil.example/v1/chat/completions;.*base_url"
        ) as caught:
            ul.Client(upstream, api_key="given-key").responses.create(input="Hi")
        assert caught.value.status == status and "back=1" not in str(caught.value)
    assert seen == ["up"] * 3, "each is called once, and no other"


def _openai(pool: httpx2.Client) -> ul.Upstream:
    import openai

    sdk = openai.OpenAI(api_key="sdk-key", base_url="http://up/v1", http_client=pool)
    return ul.Upstream.from_sdk(sdk, protocol="openai-chat", model="m")


def _anthropic(pool: httpx2.Client) -> ul.Upstream:
    import anthropic

    return ul.Upstream.from_sdk(
        anthropic.Anthropic(api_key="sdk-key", base_url="http://up", http_client=pool), model="m"
    )


def test_a_query_in_the_base_url_goes_with_every_request() -> None:
    world = World(failing=0)
    upstream = ul.Upstream.of("http://up/v1?api-version=2&tag=a&tag=b", model="m", query={"own": "1"})
    assert upstream.base_url == "http://up/v1" and upstream.query == {"api-version": "2", "tag": ["a", "b"], "own": "1"}
    world.client(upstream).responses.create(input="Hi")
    assert world.seen == [("up", {}, {"api-version": "2", "tag": "a,b", "own": "1"})]


@pytest.mark.parametrize("url", ["http://me:pass-word@h:port", "http://h:port/v1", "http://h/\nv1"])
def test_a_url_that_is_none_is_refused_and_not_shown(url: str) -> None:
    for make in (lambda: ul.Upstream(protocol="openai-chat", base_url=url), lambda: ul.Upstream.of(url)):
        with pytest.raises(ul.InvalidBody, match="/base_url") as caught:
            make()
        assert "pass-word" not in str(caught.value)


HOSTILE = ["a\r\nx-evil: 1", "a\nb", "a\x00b", "\ud800"]


@pytest.mark.parametrize("wrong", HOSTILE)
@pytest.mark.parametrize(
    ("given", "told"),
    [
        (lambda wrong: {"extra_headers": {"x-org": wrong}}, "/extra_headers/x-org"),
        (lambda wrong: {"extra_headers": {wrong: "blue"}}, "/extra_headers"),
        (lambda wrong: {"extra_query": {"tenant": wrong}}, "/extra_query/tenant"),
        (lambda wrong: {"extra_query": {wrong: "blue"}}, "/extra_query"),
        (lambda wrong: {"model": f"openai/{wrong}"}, "/model"),
    ],
)
def test_what_no_request_can_hold_is_refused_before_it_is_sent(
    given: Callable[[str], dict[str, Any]], told: str, wrong: str
) -> None:
    world = World(failing=0)
    arguments = {"model": "openai/gpt-5.5", "api_key": "given-key", "input": "Hi", **given(wrong)}
    with pytest.raises(ul.InvalidBody) as caught:
        world.client().responses.create(**arguments)
    assert caught.value.path == told and not world.seen
    json.dumps(str(caught.value)).encode("ascii")
