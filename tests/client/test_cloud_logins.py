"""Upstreams of clouds, over strict servers: where requests go, with which login, and what a refused one does."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.asking import PLAIN
from client.drivers import AiohttpWire, aiohttp_installed
from client.loopback import Exchange, loopback, whole
from client.test_law_secrets import CANARY, assert_clean
from oracles import mounts
from oracles.platforms import Platforms
from unified_llm.client.connections.io import AsyncWire, Wire
from unified_llm.client.upstreams.credentials import KeyAuth
from unified_llm.client.upstreams.tokens import Tokens, tokens_of

VERTEX = {"project": "proj", "location": "europe-west1"}
CLAUDE, GEMINI, GPT = "vertex/claude-opus-4-7", "vertex/gemini-3-pro-preview", "azure/gpt-5.5"


class Identity:
    """The library of a cloud: its credentials, and how often a token was fetched."""

    def __init__(self) -> None:
        self.made, self.fetched, self.scopes = 0, 0, list[str]()
        self.threads = set[int]()

    def token(self, scope: str) -> str:
        self.fetched += 1
        self.scopes.append(scope)
        self.threads.add(threading.get_ident())
        return f"token-{self.fetched}"


@pytest.fixture
def azure(monkeypatch: pytest.MonkeyPatch) -> Identity:
    identity = Identity()

    class DefaultAzureCredential:
        """It keeps its tokens, as the real one does."""

        def __init__(self) -> None:
            identity.made += 1
            self.kept: dict[str, str] = {}

        def get_token(self, scope: str) -> SimpleNamespace:
            if scope not in self.kept:
                self.kept[scope] = identity.token(scope)
            return SimpleNamespace(token=self.kept[scope], expires_on=int(time.time()) + 3600)

    module = ModuleType("azure.identity")
    module.DefaultAzureCredential = DefaultAzureCredential  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "azure", ModuleType("azure"))
    monkeypatch.setitem(sys.modules, "azure.identity", module)
    return identity


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Identity:
    auth = pytest.importorskip("google.auth")
    pytest.importorskip("google.auth.transport.requests")
    identity = Identity()

    class Account:
        token, expiry = "", datetime(2020, 1, 1)

        def __init__(self, scope: str) -> None:
            identity.made += 1
            self.scope = scope

        @property
        def valid(self) -> bool:
            return self.expiry > datetime.now(UTC).replace(tzinfo=None)

        def refresh(self, request: object) -> None:
            self.token = identity.token(self.scope)
            self.expiry = datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=1)

    monkeypatch.setattr(auth, "default", lambda scopes: (Account(*scopes), "project"))
    return identity


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No token of another test, and no key from outside."""
    from unified_llm_google import credentials as of_google
    from unified_llm_openai import credentials as of_azure

    for name in ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_RESOURCE_NAME", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(of_google, "_kept", {})
    monkeypatch.setattr(of_azure, "_kept", [])
    tokens_of.cache_clear()
    yield
    tokens_of.cache_clear()


def at(service: Platforms, ref: str, **given: Any) -> ul.Upstream:
    inside = mounts.transport(service)
    clients = {
        "http_client": httpx2.Client(transport=inside),
        "async_http_client": httpx2.AsyncClient(transport=inside),
    }
    return ul.Upstream.of(ref, **given, **clients)


def said(upstream: ul.Upstream, mode: str = "plain") -> str:
    if mode == "plain":
        return ul.Client(upstream, retry=ul.Retry.never()).responses.create(input="Good morning.").output_text
    with ul.Client(upstream, retry=ul.Retry.never()).responses.create(input="Good morning.", stream=True) as events:
        return events.get_final_response().output_text


# ---- Vertex AI ------------------------------------------------------------------------------------------------------

modes = pytest.mark.parametrize("mode", ["plain", "stream"])


@modes
@pytest.mark.parametrize("location", ["europe-west1", "global"])
@pytest.mark.parametrize(("model", "protocol"), [(CLAUDE, None), (GEMINI, "google-generate-content")])
def test_vertex_takes_what_is_sent(
    google: Identity, model: str, protocol: str | None, location: str, mode: str
) -> None:
    service = Platforms("token-1")
    upstream = at(service, model, protocol=protocol, variables={**VERTEX, "location": location})
    assert said(upstream, mode) == said(upstream, mode) == "Good morning."
    assert service.refused == [] and google.fetched == 1
    assert google.scopes == ["https://www.googleapis.com/auth/cloud-platform"]


def test_a_token_that_vertex_refuses_is_renewed_once(google: Identity) -> None:
    service = Platforms("token-2")
    upstream = at(service, CLAUDE, variables=VERTEX)
    assert said(upstream) == "Good morning." and google.fetched == 2 and len(service.refused) == 1
    service.bearers = {"token-9"}
    with pytest.raises(ul.AuthenticationError) as caught:
        said(upstream)
    assert "token-" not in str(caught.value) and len(service.refused) == 2


# ---- Azure ----------------------------------------------------------------------------------------------------------


@modes
@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses"])
def test_azure_takes_a_token_of_its_directory(azure: Identity, protocol: str, mode: str) -> None:
    service = Platforms("token-1", key="a-key")
    upstream = at(service, GPT, protocol=protocol, auth="azure", variables={"resource": "res"})
    assert said(upstream, mode) == "Good morning." and service.refused == []
    assert azure.scopes == ["https://cognitiveservices.azure.com/.default"]


@modes
@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses"])
@pytest.mark.parametrize(
    "given", [{"ref": GPT, "variables": {"resource": "res"}}, {"ref": "https://res.openai.azure.com/openai/v1/"}]
)
def test_azure_takes_a_key(given: dict[str, Any], protocol: str, mode: str) -> None:
    service = Platforms(key="a-key")
    upstream = at(
        service, protocol=protocol, api_key="a-key", **{"model": "gpt-5.5", **given} if "://" in given["ref"] else given
    )
    assert said(upstream, mode) == "Good morning." and service.refused == []
    assert upstream.protocol == f"{protocol}:azure" and upstream.provider == "azure"


def test_azure_with_paths_of_deployments(azure: Identity) -> None:
    service = Platforms("token-1", key="a-key")
    url = "https://res.openai.azure.com/openai/deployments/mine"
    given: dict[str, Any] = {"protocol": "openai-chat", "query": {"api-version": "2024-10-21"}, "model": "mine"}
    assert said(at(service, url, api_key="a-key", **given)) == "Good morning."
    assert said(at(service, url, auth="azure", **given)) == "Good morning."
    assert {each.path for each in service.seen} == {"/v1/chat/completions"} and service.refused == []


def test_an_audience_is_asked_for(azure: Identity) -> None:
    service = Platforms("token-1")
    upstream = at(service, GPT, auth="azure", audience="https://ai.azure.us/.default", variables={"resource": "res"})
    assert said(upstream) == "Good morning." and azure.scopes == ["https://ai.azure.us/.default"]


def test_a_token_that_azure_refuses_is_renewed_once_by_new_credentials(azure: Identity) -> None:
    service = Platforms("token-2")
    upstream = at(service, GPT, auth="azure", variables={"resource": "res"})
    assert said(upstream) == "Good morning." and (azure.made, azure.fetched) == (2, 2)


def test_upstreams_that_log_in_alike_share_a_token(azure: Identity) -> None:
    service = Platforms("token-1")
    for resource in ("one", "two"):
        said(at(service, GPT, auth="azure", variables={"resource": resource}))
    assert azure.fetched == 1


@pytest.mark.parametrize("resource", ["mine", "theirs"])
def test_a_host_of_a_customer_gets_the_key_only_if_the_environment_names_it(
    resource: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_API_KEY", "a-key")
    monkeypatch.setenv("AZURE_RESOURCE_NAME", "mine")
    service = Platforms(key="a-key")
    upstream = at(service, f"https://{resource}.openai.azure.com/openai/v1", model="gpt-5.5")
    if resource == "mine":
        assert said(upstream) == "Good morning."
        return
    with pytest.raises(ul.AuthenticationError, match="no API key for azure"):
        said(upstream)
    assert service.refused == []


@pytest.mark.parametrize(
    "url",
    [
        "https://res.openai.azure.com.evil.example/openai/v1",
        "https://evil.example/res.openai.azure.com/openai/v1",
        "http://res.openai.azure.com/openai/v1",
        "https://a.b.openai.azure.com/openai/v1",
    ],
)
def test_a_look_alike_is_not_a_platform(url: str) -> None:
    assert ul.Upstream.of(url, model="m").provider is None


# ---- all drivers ----------------------------------------------------------------------------------------------------

WIRES = [Wire, AsyncWire, pytest.param(AiohttpWire, marks=aiohttp_installed)]


@pytest.mark.parametrize("wire_class", WIRES)
@pytest.mark.parametrize("good", ["token-2", "none"])
def test_every_driver_sends_a_refused_request_once_more(wire_class: Any, good: str) -> None:
    count, threads = [0], set[int]()

    def source(audience: str, renew: bool) -> tuple[str, float]:
        count[0] += 1
        threads.add(threading.get_ident())
        return f"token-{count[0]}", time.time() + 3600

    def answer(exchange: Exchange) -> None:
        taken = f"bearer {good}".encode() in exchange.head.lower()
        exchange.send(whole() if taken else whole({"error": {"message": "expired"}}, status=401))

    def ask(upstream: ul.Upstream) -> Any:
        if wire_class is Wire:
            with Wire(retry=ul.Retry.never()) as wire:
                return wire.send(PLAIN, [upstream])

        async def asked() -> Any:
            async with wire_class(retry=ul.Retry.never()) as wire:
                return await wire.send(PLAIN, [upstream])

        return asyncio.run(asked())

    with loopback() as server:
        server.answer = answer
        auth = KeyAuth("authorization", "Bearer {key}", Tokens(source))
        upstream = server.upstream(auth=auth)
        if good == "none":
            with pytest.raises(ul.AuthenticationError):
                ask(upstream)
        else:
            assert ask(upstream).status == 200
        assert (server.asked, count[0]) == (2, 2)
        assert upstream.hide("token-1 token-2") == "[redacted] [redacted]"
    if wire_class is not Wire:
        assert threading.get_ident() not in threads, "a token is fetched outside of the event loop"


def test_a_cloud_that_cannot_be_reached_gives_the_next_upstream_its_turn() -> None:
    def source(audience: str, renew: bool) -> tuple[str, float]:
        raise ConnectionResetError(CANARY)

    auth = KeyAuth("authorization", "Bearer {key}", Tokens(source, name="cloud"))
    first = ul.Upstream(protocol="openai-chat", base_url="https://up.example/v1", model="m", auth=auth)
    done = ul.Client(retry=ul.Retry.never()).responses.create(models=[first, "local/echo"], input="Good morning.")
    assert done.output_text == "Good morning." and len(done.hops) == 1
    assert_clean(*done.hops)


# ---- configuration --------------------------------------------------------------------------------------------------


def load(tmp_path: Path, row: str) -> ul.Upstream:
    file = tmp_path / "upstreams.toml"
    file.write_text(f'[upstreams.one]\nmodel = "{GPT}"\nvariables = {{ resource = "res" }}\n{row}\n')
    return ul.Upstream.load(file)["one"]


def test_a_file_names_a_login(tmp_path: Path, azure: Identity) -> None:
    service = Platforms("token-1")
    inside = httpx2.Client(transport=mounts.transport(service))
    found = load(tmp_path, 'auth = "azure"').with_(http_client=inside)
    assert said(found) == "Good morning." and {each.auth is not None for each in found.others} == {True}


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ('auth = "gcp"', "unknown login 'gcp'; choose one of aws, azure, google"),
        ('auth = "azure"\nkey_env = "KEY"', "auth and key_env exclude each other"),
        ('audience = "https://x"', "audience needs auth"),
    ],
)
def test_a_login_that_is_wrong_is_said_where(tmp_path: Path, azure: Identity, row: str, problem: str) -> None:
    with pytest.raises(ValueError, match=rf"\[upstreams.one\]: .*{problem}"):
        load(tmp_path, row)


def test_a_login_without_its_library_is_refused_when_the_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    with pytest.raises(ValueError, match=r"needs the extra: pip install 'unified-llm\[azure\]'"):
        load(tmp_path, 'auth = "azure"')
    with pytest.raises(ul.MissingExtra):
        ul.Upstream.of(GPT, auth="azure", variables={"resource": "res"})
