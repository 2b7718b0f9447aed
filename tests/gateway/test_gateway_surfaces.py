"""Routes beside the creation of responses: compaction, published specifications, and requests of any kind."""

from __future__ import annotations

import json
import warnings
from functools import cache
from typing import Any

import openai
import pytest

from fuzz.cases import Seeds
from fuzz.fuzzing import failure_of
from gateway.serving import PROTOCOLS, House

upstreams = pytest.mark.parametrize("protocol", PROTOCOLS)
SAID = [{"role": "user", "content": "One."}, {"role": "assistant", "content": "Two."}]


# ---- compaction -----------------------------------------------------------------------------------------------------


@upstreams
def test_a_compaction_stands_for_the_conversation(house: House, protocol: str) -> None:
    gateway = house.gateway()
    client = openai.AsyncOpenAI(base_url="http://localhost/v1", api_key="unused", http_client=house.http(gateway))

    async def talked() -> Any:
        first = await client.responses.create(model=protocol, input="Zero.")
        compact = await client.responses.with_raw_response.compact(
            model=protocol, input=SAID, previous_response_id=first.id
        )
        assert '["/input","context.compaction","emulated","source"]' in compact.headers["x-unified-llm-losses"]
        items: Any = [each.model_dump(exclude_none=True) for each in compact.parse().output]
        house.seen.clear()
        asked = [*items, {"role": "user", "content": "Three."}]
        second = await client.responses.create(model=protocol, input=asked, store=True)
        await client.responses.create(model="anthropic-messages", input="Four.", previous_response_id=second.id)
        again = await client.responses.compact(model=protocol, input=asked)
        items = [each.model_dump(exclude_none=True) for each in again.output]
        await client.responses.create(model="anthropic-messages", input=[*items, {"role": "user", "content": "Five."}])
        return compact.parse()

    compact = house.run(talked())
    assert [each.type for each in compact.output] == ["compaction"] and compact.usage.total_tokens == 0
    bodies = [str(seen.body) for seen in house.service.seen if not seen.path.endswith("compact")]
    for body, words in zip(bodies[-3:], (("Zero.", "Two.", "Three."), ("Two.", "Four."), ("Zero.", "Three.", "Five."))):
        assert all(word in body for word in words) and "compaction" not in body


def test_what_cannot_be_compacted(house: House) -> None:
    gateway = house.gateway()

    def refused(**body: Any) -> tuple[int, Any]:
        reply = house.ask(gateway, "POST", "/v1/responses/compact", json=body)
        return reply.status_code, reply.json()["error"]["code"]

    assert refused(input=SAID) == (400, "missing_model")
    assert refused(model="openai-chat", input="Hi", previous_response_id="resp_1") == (
        400,
        "previous_response_not_found",
    )


def test_a_compaction_of_another_provider_is_not_opened(house: House) -> None:
    """One of another gateway: its conversation is not taken from an envelope that anybody may have made."""
    body = {"model": "openai-chat", "input": SAID}
    items = house.ask(house.gateway(), "POST", "/v1/responses/compact", json=body).json()["output"]
    asked = {"model": "openai-chat", "input": [*items, {"role": "user", "content": "Three."}]}
    reply = house.ask(house.gateway(), "POST", "/v1/responses", json=asked)
    assert reply.status_code == 200 and "Two." not in str(house.seen[-1].body)


# ---- Open Responses -------------------------------------------------------------------------------------------------


def test_the_version_of_a_specification_is_echoed(house: House) -> None:
    gateway = house.gateway()
    body = {"model": "openai-chat", "input": "Hi"}

    def asked(version: str | None, path: str = "/v1/responses") -> Any:
        headers = {} if version is None else {"OpenResponses-Version": version}
        return house.ask(gateway, "POST", path, json=body, headers=headers)

    for version, path, told in [
        ("latest", "/v1/responses", "2026-04-24"),
        ("2026-01-15", "/v1/responses", "2026-01-15"),
        (None, "/openresponses/v1/responses", "2026-04-24"),
    ]:
        reply = asked(version, path)
        assert reply.headers["openresponses-version"] == told
        assert reply.json()["temperature"] == 1 and reply.json()["presence_penalty"] == 0
    plain = asked(None)
    assert "openresponses-version" not in plain.headers and plain.json()["temperature"] is None


def test_an_unknown_version_is_refused_in_the_specifications_own_words(house: House) -> None:
    headers = {"OpenResponses-Version": "1999-01-01"}
    gateway = house.gateway()
    for method, path in (("POST", "/v1/responses"), ("GET", "/v1/responses/resp_1")):
        reply = house.ask(gateway, method, path, json={"model": "openai-chat", "input": "Hi"}, headers=headers)
        error = reply.json()["error"]
        assert reply.status_code == 400 and (error["type"], error["code"]) == ("invalid_request", "unsupported_version")
        assert "2026-04-24" in error["message"]
    reply = house.ask(gateway, "GET", "/v1/responses/resp_1", headers={"OpenResponses-Version": "latest"})
    assert (reply.status_code, reply.json()["error"]["type"]) == (404, "not_found")
    other = house.ask(gateway, "POST", "/v1/chat/completions", json={"model": "nowhere/x"}, headers=headers)
    assert other.status_code == 404, "it is a matter of one surface"


def test_a_stored_response_of_a_specification(house: House) -> None:
    """Stored in one form, fetched and continued in both."""
    gateway = house.gateway()
    body = {"model": "openai-chat", "input": "Hi", "store": True}
    id_ = house.ask(gateway, "POST", "/openresponses/v1/responses", json=body).json()["id"]
    for root in ("/openresponses/v1", "/v1"):
        assert house.ask(gateway, "GET", f"{root}/responses/{id_}").json()["id"] == id_
        reply = house.ask(gateway, "POST", f"{root}/responses", json={**body, "previous_response_id": id_})
        assert reply.status_code == 200, reply.text


# ---- requests of any kind -------------------------------------------------------------------------------------------

COUNT, SLICES = 400, 4
seeds = cache(Seeds)


def test_a_document_of_another_kind_is_not_a_background_run(house: House) -> None:
    """Found by mutants: what is read before the run begins is refused in the same words as everywhere."""
    gateway = house.gateway()
    body = {"object": "response", "model": "openai-chat", "input": "Hi", "background": True}
    reply = house.ask(gateway, "POST", "/v1/responses", json=body)
    assert reply.status_code == 400 and "/object" in reply.json()["error"]["message"]


@pytest.mark.parametrize("part", range(SLICES))
def test_mutants_over_http(part: int) -> None:
    """No request is an error of the gateway; `make fuzz ARGS="--family gateway --count 50000"` sends more of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # validators of SDKs warn of what they take all the same
        found = [failure_of(seeds(), 20_261, number, "gateway") for number in range(part, COUNT, SLICES)]
    failures = [str(failure) for failure in found if failure is not None]
    assert not failures, "\n\n".join(failures[:3])


# ---- headers of a stream --------------------------------------------------------------------------------------------


# An interaction that is not stored has no id.
@pytest.mark.parametrize("protocol", [each for each in PROTOCOLS if each != "google-interactions"])
def test_the_id_of_a_stream_is_a_header_of_converse(house: House, protocol: str) -> None:
    """As in Bedrock: no event has a field for it, so the headers are sent with the first event."""
    asked = {"messages": [{"role": "user", "content": [{"text": "Zero."}]}]}
    reply = house.ask(house.gateway(), "POST", f"/model/{protocol}/converse-stream", json=asked)
    assert reply.status_code == 200 and b"messageStart" in reply.content and b"metadata" in reply.content
    assert reply.headers["x-amzn-requestid"]


# ---- answers that cannot be used ------------------------------------------------------------------------------------

ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "openai-chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "{text}"}]}),
    "openai-responses": ("/v1/responses", {"input": "{text}"}),
    "anthropic-messages": ("/v1/messages", {"max_tokens": 9, "messages": [{"role": "user", "content": "{text}"}]}),
    "google-generate-content": (
        "/v1beta/models/{model}:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "{text}"}]}]},
    ),
    "google-interactions": ("/v1beta/interactions", {"input": "{text}", "store": False}),
}


@pytest.mark.parametrize("fault", ["[[garble type]]", "[[garble json]]", "[[break after 1]]"])
@upstreams
def test_an_answer_that_cannot_be_used_is_a_bad_gateway(house: House, protocol: str, fault: str) -> None:
    """RFC 9110, 15.6.3. Codex does not show the message of a 500."""
    gateway, found = house.gateway(), {}
    for client, (path, body) in ASKED.items():
        content = json.dumps({**body, "model": protocol}).replace("{text}", fault)
        path = path.replace("{model}", protocol)
        reply = house.ask(gateway, "POST", path, content=content, headers={"content-type": "application/json"})
        found[client] = reply.status_code
    assert found == dict.fromkeys(ASKED, 502)


@pytest.mark.parametrize("client", ["openai-chat", "openai-responses"])
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("[[error 429]]", "rate_limit_exceeded"),
        ('[[error 404 message=\\"The model x was not found.\\"]]', "model_not_found"),
    ],
)
@upstreams
def test_errors_of_any_upstream_have_the_codes_of_openai(
    house: House, protocol: str, client: str, fault: str, code: str
) -> None:
    path, body = ASKED[client]
    content = json.dumps({**body, "model": protocol}).replace("{text}", fault)
    reply = house.ask(house.gateway(), "POST", path, content=content, headers={"content-type": "application/json"})
    assert reply.json()["error"]["code"] == code
