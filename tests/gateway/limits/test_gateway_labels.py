"""Who chooses the values of labels, and that a refused handshake is a request like any other."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.serving import House, Served, until
from gateway.test_gateway_quota import BLUE, keys, post
from gateway.test_gateway_telemetry import LOG, lines, samples
from upstreams import CHAT, Canned


def clients(gateway: Any) -> dict[str, float]:
    """How many requests each value of the label `client` has."""
    return {name.partition('client="')[2].partition('"')[0]: value for name, value in samples(gateway).items()
            if name.startswith("unified_llm_requests_total")}  # fmt: skip


def test_a_client_that_is_not_admitted_chooses_no_label(house: House) -> None:
    up = Canned(CHAT, model="m").upstream
    gateway = house.gateway({"m": up}, keys=keys(blue={}), telemetry={**LOG, "clients": 2})
    for number in range(5):
        headers = {"x-client-id": f"c{number}", "authorization": "Bearer wrong"}
        assert house.ask(gateway, "POST", "/v1/chat/completions", json={}, headers=headers).status_code == 401
    for _ in range(2):
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        house.ask(gateway, "POST", "/v1/chat/completions", json=body, headers={**BLUE, "x-client-id": "desk"})
    assert clients(gateway) == {"": 5, "desk": 2}
    assert [each["client"] for each in lines(gateway)] == [*(f"c{number}" for number in range(5)), "desk", "desk"]
    assert post(house, gateway).status_code == 200 and clients(gateway)["desk"] == 2


def test_a_refused_handshake_is_a_line_and_is_counted(house: House) -> None:
    pytest.importorskip("websockets")
    from gateway.test_gateway_socket import opened, status_of

    gateway = house.gateway(gateway={"listen": "127.0.0.1:0"}, keys=keys(blue={}), telemetry=LOG)
    with Served(gateway) as served:
        assert status_of(served, additional_headers={"X-Client-Id": "stranger"})[0] == 401
        assert status_of(served, "/v1/chat/completions", additional_headers=BLUE)[0] == 426
        with opened(served, additional_headers=BLUE) as socket:
            socket.ask(model="openai-chat", input="Hi")
            until(lambda: len(lines(gateway)) == 3)
    fields = ("method", "protocol", "key", "status", "error")
    told = [tuple(each.get(name) for name in fields) for each in lines(gateway)]
    assert told == [
        ("WEBSOCKET", "openai-responses", None, 401, "invalid_api_key"),
        ("WEBSOCKET", "openai-chat", "blue", 426, "invalid_request"),
        ("WEBSOCKET", "openai-responses", "blue", 200, None),
    ]
    assert all(each["complete"] and each["bytes"] > 20 for each in lines(gateway)[:2])
    labels = 'client="",key="",protocol="openai-responses",route="request",status="401"'
    assert samples(gateway)[f"unified_llm_requests_total{{{labels}}}"] == 1


def test_a_server_that_can_only_close_refuses_with_403(house: House) -> None:
    gateway, sent = house.gateway(keys=keys(blue={}), telemetry=LOG), []
    scope = {"type": "websocket", "path": "/v1/responses", "query_string": b"", "headers": [(b"host", b"localhost")]}

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    house.run(gateway(scope, receive, send))
    assert sent == [{"type": "websocket.close", "code": 1008}] and lines(gateway)[0]["status"] == 403
