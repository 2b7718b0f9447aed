"""What goes through byte for byte is worked out once for each route, and yet is each request's own."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.serving import House
from unified_llm.client.upstreams.credentials import KeyAuth
from upstreams import MESSAGE, Canned

BODY: dict[str, Any] = {"model": "up-1", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}


def canned(key: str = "sk-one") -> Canned:
    return Canned(MESSAGE, protocol="anthropic-messages", auth=KeyAuth("x-api-key", "{key}", key))


@pytest.mark.parametrize("alias", [False, True], ids=["as it is", "converted"])
def test_each_request_has_its_own_headers_of_the_protocol_and_no_others(house: House, alias: bool) -> None:
    up = canned()
    gateway = house.gateway({"up": up.upstream}, models={"other": ["up"], "up-1": ["up"]})
    sent: list[dict[str, str]] = [
        {"anthropic-version": "2023-06-01", "anthropic-beta": "one"},
        {"anthropic-version": "2023-06-01", "anthropic-beta": "two", "x-trace": "abc", "cookie": "a=b"},
        {"anthropic-version": "2023-01-01"},
    ]
    for headers in sent:
        body = {**BODY, "model": "other" if alias else "up-1"}
        reply = house.ask(gateway, "POST", "/v1/messages", json=body, headers={**headers, "x-api-key": "of-the-client"})
        assert reply.status_code == 200, reply.text
    for request, headers in zip(up.seen, sent, strict=True):
        assert request.headers["anthropic-version"] == headers["anthropic-version"]
        assert request.headers.get("anthropic-beta") == headers.get("anthropic-beta")
        assert request.headers["x-api-key"] == "sk-one"
        assert "x-trace" not in request.headers and "cookie" not in request.headers


def test_equal_upstreams_keep_their_own_credentials(house: House) -> None:
    one, two = canned("sk-one"), canned("sk-two")
    assert one.upstream == two.upstream
    gateways = [house.gateway({"up": each.upstream}, models={"up-1": ["up"]}) for each in (one, two)]
    for _ in range(2):
        for gateway in gateways:
            assert house.ask(gateway, "POST", "/v1/messages", json=BODY).status_code == 200
    assert [each.headers["x-api-key"] for each in one.seen] == ["sk-one"] * 2
    assert [each.headers["x-api-key"] for each in two.seen] == ["sk-two"] * 2


def test_each_body_is_its_own(house: House) -> None:
    up = canned()
    gateway = house.gateway({"up": up.upstream}, models={"up-1": ["up"]})
    for text in ("one", "two"):
        raw = b'{"model": "up-1", "max_tokens": 9,  "messages": [{"role": "user", "content": "%s"}]}' % text.encode()
        house.ask(gateway, "POST", "/v1/messages", content=raw, headers={"content-type": "application/json"})
        assert up.seen[-1].content == raw


def test_a_key_has_no_way_that_another_one_has(house: House) -> None:
    """What was found out for one key is not used for another."""
    from unified_llm.gateway.access.callers import new_key

    up = canned()
    (free, free_digest), (bound, bound_digest) = new_key(), new_key()
    keys = {"free": {"sha256": free_digest}, "bound": {"sha256": bound_digest, "upstreams": ["elsewhere"]}}
    gateway = house.gateway({"up": up.upstream}, models={"up-1": ["up"]}, keys=keys)
    for key, status in ((free, 200), (bound, 403), (free, 200)):
        assert house.ask(gateway, "POST", "/v1/messages", json=BODY, headers={"x-api-key": key}).status_code == status
