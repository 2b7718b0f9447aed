"""What goes through byte for byte is worked out once for each route, and yet is each request's own."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from gateway.serving import PROTOCOLS, House
from unified_llm.client.upstreams.credentials import KeyAuth
from unified_llm.gateway.responses.whole_events import WholeEvents
from upstreams import CHAT_STREAM, MESSAGE, Canned, streamed

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


# ---- streams --------------------------------------------------------------------------------------------------------

ASKED: dict[str, Any] = {"model": "up", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}


def test_an_event_that_was_cut_off_is_not_a_part_of_the_error_behind_it(house: House) -> None:
    pieces = CHAT_STREAM[0], CHAT_STREAM[1][:40], httpx2.ReadError("gone")
    gateway = house.gateway({"up": Canned(lambda: streamed(*pieces), model="up").upstream})
    whole = house.ask(gateway, "POST", "/v1/chat/completions", json=ASKED).content
    assert whole.startswith(CHAT_STREAM[0] + b'data: {"error"')


@pytest.mark.parametrize("end", [b"\n\n", b"\n", b""])
def test_a_key_that_an_upstream_repeats_in_two_chunks_is_taken_out(house: House, end: bytes) -> None:
    """Also in the last event, which may have no end."""
    event = b'data: {"error": {"message": "the key sk-of-the-gateway is refused", "code": 401}}' + end
    pieces = CHAT_STREAM[0], event[:50], event[50:]
    auth = KeyAuth("authorization", "Bearer {key}", "sk-of-the-gateway")
    gateway = house.gateway({"up": Canned(lambda: streamed(*pieces), model="up", auth=auth).upstream})
    whole = house.ask(gateway, "POST", "/v1/chat/completions", json=ASKED).text
    assert "is refused" in whole and "gateway" not in whole and "sk-of" not in whole


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
def test_all_bytes_go_through_in_their_order(end: bytes, size: int) -> None:
    whole = b": ping" + end + end + (b"event: a" + end + b"data: {}" + end + end) * 9
    events, sent = WholeEvents(), []
    for at in range(0, len(whole), size):
        sent.append(events.feed(whole[at : at + size]))
        assert not sent[-1] or sent[-1].endswith(end)
    assert b"".join(sent) == whole and not events.rest


def test_what_is_held_back_is_bounded() -> None:
    events, chunk = WholeEvents(), b"data: " + b"x" * 600_000
    assert [len(events.feed(chunk)) for _ in range(3)] == [0, 2 * len(chunk), 0]


def test_a_comment_is_not_held_back() -> None:
    assert WholeEvents().feed(b": keep-alive\n") == b": keep-alive\n"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("query", [{}, {"$alt": "json;enum-encoding=int"}], ids=["none", "gapic"])
def test_a_stream_of_one_array_holds_the_events(house: House, protocol: str, query: dict[str, str]) -> None:
    """Clients of generateContent without `alt=sse`; the request to an upstream of that protocol has it all the same."""
    gateway, path = house.gateway(), f"/v1beta/models/{protocol}:streamGenerateContent"
    body = {"contents": [{"role": "user", "parts": [{"text": "One by one"}]}]}
    array = house.ask(gateway, "POST", path, params=query, json=body)
    events = house.ask(gateway, "POST", path, params={"alt": "sse"}, json=body)
    assert (array.status_code, array.headers["content-type"]) == (200, "application/json")
    assert array.text.endswith("]"), "google-api-core reads no byte after it"
    frames = [json.loads(each.removeprefix("data: ")) for each in events.text.split("\n\n") if each.strip()]
    parts = [[each["candidates"][0]["content"]["parts"][0] for each in found] for found in (array.json(), frames)]
    assert parts[0] == parts[1] and "".join(each["text"] for each in parts[0]) == "One by one" and len(parts[0]) > 2


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_error_where_one_array_was_requested_is_its_element(house: House, protocol: str) -> None:
    """As Google's own is: clients take the elements of the body, whatever its status (llm-gemini found none)."""
    gateway, stream = house.gateway(), f"/v1beta/models/{protocol}:streamGenerateContent"
    asked: Any = {"json": {"contents": [{"role": "user", "parts": [{"text": "[[error 429 message=slow]]"}]}]}}
    for path, query, of_array in (
        (stream, {}, True),
        (stream, {"alt": "sse"}, False),
        (f"/v1beta/models/{protocol}:generateContent", {}, False),
    ):
        reply = house.ask(gateway, "POST", path, params=query, **asked)
        error = reply.json()[0]["error"] if of_array else reply.json()["error"]
        assert reply.status_code == error["code"] == 429 and "slow" in error["message"]
    for reply in (
        house.ask(gateway, "POST", stream, content=b"{", headers={"content-type": "application/json"}),
        house.ask(house.gateway(keys={"one": {"sha256": "0" * 64}}), "POST", stream, **asked),
    ):
        assert [each["error"]["code"] for each in reply.json()] == [reply.status_code]
