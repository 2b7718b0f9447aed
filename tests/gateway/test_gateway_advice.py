"""Errors for clients of a gateway name no argument of Python and no field of the configuration."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from gateway.serving import House

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
NAMES = ("on_loss", "base_url", "api_key=", "timeout=", "models=")


def upstream(answer: Any) -> ul.Upstream:
    def handler(request: httpx2.Request) -> httpx2.Response:
        if isinstance(answer, Exception):
            raise answer
        found: httpx2.Response = answer
        return found

    client = httpx2.AsyncClient(transport=httpx2.MockTransport(handler))
    base = "http://upstream.test/v1"
    return ul.Upstream(protocol="anthropic-messages", model="m", base_url=base, async_http_client=client)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (httpx2.ConnectError("refused"), "connection"),
        (
            httpx2.Response(302, headers={"location": "http://login.test/"}),
            "the server redirects to http://login.test/",
        ),
        (httpx2.Response(502, html="<html><title>Bad gateway</title></html>"), "an HTML page ('Bad gateway')"),
        (httpx2.Response(200, html="<html>Log in</html>"), ""),
        (httpx2.LocalProtocolError("Illegal header value"), "the request cannot be sent"),
    ],
    ids=["away", "redirect", "page", "login", "unsendable"],
)
@pytest.mark.parametrize("stream", [False, True])
def test_an_error_of_an_upstream_names_no_argument(house: House, answer: Any, told: str, stream: bool) -> None:
    gateway = house.gateway({"a": upstream(answer)}, models={"m": "a"})
    response = house.ask(gateway, "POST", "/v1/chat/completions", json={**CHAT, "stream": stream})
    assert response.status_code >= 500 or response.status_code == 302
    assert told in json.loads(response.content)["error"]["message"]
    assert not [name for name in NAMES if name in response.text]


@pytest.mark.parametrize("stream", [False, True])
def test_a_loss_that_is_refused_names_no_argument(house: House, stream: bool) -> None:
    models = {"m": {"to": ["anthropic-messages"], "on_loss": {"sampling.seed": "raise"}}}
    gateway = house.gateway(models=models)
    response = house.ask(gateway, "POST", "/v1/chat/completions", json={**CHAT, "seed": 7, "stream": stream})
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (400, "capability_lost")
    assert error["message"].endswith("lost: anthropic-messages has no seed)")


@pytest.mark.parametrize("stream", [False, True])
def test_state_that_an_upstream_lacks_names_no_python(house: House, stream: bool) -> None:
    """A client that names a response by a number: the gateway stores none under it."""
    body = {"model": "openai-chat", "input": "Hi", "previous_response_id": 5, "stream": stream}
    response = house.ask(house.gateway(), "POST", "/v1/responses", json=body)
    message = response.json()["error"]["message"]
    assert response.status_code == 400 and message.endswith("(OpenAI Chat Completions) does not keep it")


def test_a_number_that_is_too_long_names_no_python(house: House) -> None:
    content = b'{"model": "openai-chat", "max_tokens": 1%b, "messages": []}' % (b"0" * 6_000)
    headers = {"content-type": "application/json"}
    response = house.ask(house.gateway(), "POST", "/v1/chat/completions", content=content, headers=headers)
    message = response.json()["error"]["message"]
    assert response.status_code == 400 and "4300 digits" in message and "sys." not in message
