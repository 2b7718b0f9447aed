"""A gateway over the clouds: clients with a key of the gateway, upstreams with tokens that expire and are refused."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import httpx2
import pytest

import unified_llm as ul
from client.loopback import Exchange, loopback, whole
from gateway.serving import House
from oracles import mounts
from oracles.platforms import Platforms
from unified_llm.client.upstreams.credentials import KeyAuth
from unified_llm.client.upstreams.tokens import Tokens
from unified_llm.gateway.configuration.config import ConfigError, load
from unified_llm.gateway.upstreams.routing import Router

BODY = {"model": "up", "messages": [{"role": "user", "content": "Good morning."}]}


class Source:
    def __init__(self) -> None:
        self.fetched = 0

    def __call__(self, audience: str, renew: bool) -> tuple[str, float]:
        self.fetched += 1
        return f"token-{self.fetched}", time.time() + 3600

    @property
    def auth(self) -> KeyAuth:
        return KeyAuth("authorization", "Bearer {key}", Tokens(self, name="cloud"))


@pytest.mark.parametrize("ref", ["vertex/claude-opus-4-7", "vertex/gemini-3-pro-preview", "azure/gpt-5.5"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_gateway_over_a_platform(house: House, ref: str, stream: bool) -> None:
    service, source = Platforms("token-2"), Source()
    ahttp = httpx2.AsyncClient(transport=mounts.transport(service))
    places = {"resource": "res", "project": "p", "location": "global"}
    upstream = ul.Upstream.of(ref, variables=places, async_http_client=ahttp)
    others = tuple(each.with_(auth=source.auth) for each in upstream.others)
    gateway = house.gateway({"up": upstream.with_(auth=source.auth, others=others)})
    done = house.ask(gateway, "POST", "/v1/chat/completions", json={**BODY, "stream": stream})
    assert done.status_code == 200 and "morning" in done.text, done.text
    assert len(service.refused) == 1 and source.fetched == 2


def test_a_refused_token_over_the_fast_driver_and_bytes_that_go_through(house: House) -> None:
    source, bodies = Source(), list[bytes]()

    def answer(exchange: Exchange) -> None:
        bodies.append(exchange.body)
        taken = b"bearer token-2" in exchange.head.lower()
        exchange.send(whole() if taken else whole({"error": {"message": "token-1 has expired"}}, status=401))

    with loopback() as server:
        server.answer = answer
        gateway = house.gateway({"up": server.upstream(auth=source.auth, model=None)})
        done = [house.ask(gateway, "POST", "/v1/chat/completions", json={**BODY, "model": "up/m"}) for _ in range(2)]
        assert [each.status_code for each in done] == [200, 200] and len(bodies) == 3 and bodies[0] == bodies[1]
        source.fetched = 5
        server.answer = lambda exchange: exchange.send(whole({"error": {"message": "token-2 is bad"}}, status=401))
        refused = house.ask(gateway, "POST", "/v1/chat/completions", json={**BODY, "model": "up/m"})
        assert refused.status_code == 401 and "token-" not in refused.text
        house.leave()


def test_a_provider_whose_login_has_no_library_is_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "google.auth", None)
    file = tmp_path / "gateway.toml"
    file.write_text('[gateway]\nproviders = ["vertex"]\n')
    with pytest.raises(ConfigError, match=r"gateway.providers: Vertex AI needs the extra"):
        Router.load(load(file), file)


def test_what_reads_a_stream_is_there_before_a_request_is_sent(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore", None)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    gateway = house.gateway({}, gateway={"providers": ["bedrock"]})
    body = {**BODY, "model": "bedrock/eu.anthropic.claude-opus-4-7", "stream": True}
    refused = house.ask(gateway, "POST", "/v1/chat/completions", json=body)
    assert refused.status_code == 404 and "unified-llm[amazon]" in refused.text, refused.text
