"""The headers of an answer under an SDK, the upstream it is from, and the other routes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.pairs import Pair, modes, protocols
from sdk_surfaces import Chat, Contents, Messages, Responses, Surface
from upstreams import CHAT, MESSAGE, Canned, chunk, frames, streamed

# ---- losses, fallbacks, upstreams -----------------------------------------------------------------------------------


def test_losses_are_in_a_header_and_called_back() -> None:
    canned = Canned(MESSAGE, protocol="anthropic-messages")
    told: list[ul.Losses] = []
    http = ul.http_client(canned.upstream, on_losses=told.append)
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "seed": 7}
    answer = http.post("http://any/v1/chat/completions", json=body)
    header = json.loads(answer.headers["x-unified-llm-losses"])
    assert ["/seed", "sampling.seed", "lost", "source"] in header["first"]
    assert header["count"] == len(told[0]) and answer.headers["x-unified-llm-upstream"] == "canned/up-1"
    assert ("/seed", "lost") in [(loss.path, loss.fate) for loss in told[0]]


def test_the_header_of_losses_is_bounded() -> None:
    canned = Canned(MESSAGE, protocol="anthropic-messages")
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        **{f"odd{'x' * 50}{n}": n for n in range(300)},
    }
    answer = ul.http_client(canned.upstream).post("http://any/v1/chat/completions", json=body)
    header = answer.headers["x-unified-llm-losses"]
    assert len(header) < 4_200 and header.isascii()
    assert json.loads(header)["count"] >= 300 > len(json.loads(header)["first"]) > 0


def test_losses_of_a_streams_answer_are_called_back_at_its_end() -> None:
    told: list[ul.Losses] = []
    odd = [chunk({"role": "assistant", "content": "Hi", "odd_field": 1}, "stop")]
    canned = Canned(lambda: streamed(*frames(*odd, b"[DONE]")))
    sdk = Messages(ul.http_client(canned.upstream, on_losses=told.append))
    sdk.ask("Hi")
    sdk.call(stream=True)
    assert len(told) == 1 and any("odd_field" in loss.path for loss in told[0])


@pytest.mark.parametrize("mode", ["stream", "async stream"])
def test_losses_of_a_stream_are_called_back_although_the_sdk_hangs_up_on_its_last_word(mode: str) -> None:
    pair = Pair(Chat, "anthropic-messages")  # `[DONE]`, behind which nothing is read
    pair.sdk.ask("Hi")
    pair.sdk.call(stream=True, seed=7) if mode == "stream" else asyncio.run(pair.sdk.acall(stream=True, seed=7))
    (told,) = pair.losses
    assert ("/seed", "lost") in [(loss.path, loss.fate) for loss in told]


def test_a_loss_that_must_not_be_raises_through_the_sdk() -> None:
    canned = Canned(MESSAGE, protocol="anthropic-messages")
    http = ul.http_client(canned.upstream, on_loss={"sampling.seed": "raise"})
    with pytest.raises(ul.CapabilityLost):
        Chat(http).method(False)(model="m", messages=[{"role": "user", "content": "Hi"}], seed=7)
    assert not canned.seen


def test_fallbacks_in_their_order_with_the_reason_of_each_hop() -> None:
    busy = Canned(lambda: httpx2.Response(529, json={"error": {"message": "busy"}}), model="one")
    good = Canned(MESSAGE, protocol="anthropic-messages", model="two")
    answer = ul.http_client([busy.upstream, good.upstream]).post(
        "http://any/v1/chat/completions", json={"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    )
    assert answer.json()["choices"][0]["message"]["content"] == "Hello"
    ((name, attempts, reason),) = json.loads(answer.headers["x-unified-llm-hops"])["first"]
    assert (name, attempts) == ("canned/one", 1) and "busy" in reason
    assert answer.headers["x-unified-llm-upstream"] == "canned/two"


def test_the_request_may_name_the_provider() -> None:
    sdk = Chat(ul.http_client())
    sdk.alias = "local/echo:anthropic-messages"
    sdk.ask("Good morning.")
    said = sdk.call()
    assert said.text == "Good morning." and said.model == sdk.alias
    sdk.alias = "nameless"
    with pytest.raises(Exception, match="provider/model") as caught:
        sdk.call()
    assert caught.value.status_code == 400  # type: ignore[attr-defined]


def test_a_wrong_name_is_told_at_once() -> None:
    with pytest.raises(ul.UnknownProvider):
        ul.http_client("nowhere/nothing")


def test_the_clients_own_key_goes_nowhere() -> None:
    canned = Canned(MESSAGE, protocol="anthropic-messages")
    sdk = Chat(ul.http_client(canned.upstream))
    sdk.ask("Hi")
    sdk.call()
    Contents(ul.http_client(canned.upstream)).method(False)(stream=False, model="m", contents="Hi")
    for request in canned.seen:
        assert not {"authorization", "x-api-key", "x-goog-api-key"} & set(request.headers)
        assert "key" not in request.url.params


def test_an_unknown_route() -> None:
    answer = ul.http_client("local/echo").post("http://any/v1/embeddings", json={})
    assert answer.status_code == 404 and "embeddings" in answer.json()["error"]["message"]


@pytest.mark.parametrize("protocol", ["openai-responses", "openai-chat"])
@pytest.mark.parametrize("path", ["conversations", "conversations/conv_1/items", "files"])
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_what_the_gateway_alone_keeps_is_refused_and_nothing_is_sent(method: str, path: str, protocol: str) -> None:
    """A conversation that is created, or deleted, at the provider before its client gets an error."""
    canned = Canned({"id": "conv_1", "object": "conversation"}, protocol=protocol)
    answer = ul.http_client(canned.upstream).request(method, f"http://any/v1/{path}", json={"items": []})
    assert answer.status_code == 404 and f"{method} /v1/{path}" in answer.json()["error"]["message"]
    assert not canned.seen


def test_what_is_kept_is_asked_for_where_the_protocol_is_the_same() -> None:
    http = ul.http_client("local/echo:openai-responses")
    made = http.post("http://any/v1/responses", json={"model": "echo", "input": "Hello.", "store": True}).json()
    assert http.get(f"http://any/v1/responses/{made['id']}").json()["output"] == made["output"]
    assert http.delete(f"http://any/v1/responses/{made['id']}").json()["deleted"] is True
    other = ul.http_client("local/echo:anthropic-messages").get("http://any/v1/responses/resp_1")
    assert other.status_code == 404 and other.json()["error"]["message"] == "Response with id 'resp_1' not found."


# ---- models and counts ----------------------------------------------------------------------------------------------


@protocols
def test_models_in_the_shape_of_the_client(protocol: str) -> None:
    http = ul.http_client(f"local/echo:{protocol}")
    plain = http.get("http://any/v1/models").json()
    assert [each["id"] for each in plain["data"]] == ["echo", "echo-mini"] and plain["object"] == "list"
    messages = http.get("http://any/v1/models", headers={"anthropic-version": "2023-06-01"}).json()
    assert [each["type"] for each in messages["data"]] == ["model", "model"]
    google = http.get("http://any/v1beta/models", headers={"x-goog-api-key": "x"}).json()
    assert [each["name"] for each in google["models"]] == ["models/echo", "models/echo-mini"]


@protocols
def test_tokens_are_counted(protocol: str) -> None:
    http = ul.http_client(f"local/echo:{protocol}")
    body = {"model": "m", "messages": [{"role": "user", "content": "Good morning, Oslo."}]}
    answer = http.post("http://any/v1/messages/count_tokens", json=body, headers={"anthropic-version": "2023-06-01"})
    assert answer.json()["input_tokens"] > 0 and "x-unified-llm-estimate" not in answer.headers


def test_tokens_are_estimated_where_no_provider_counts() -> None:
    gone = Canned(lambda: httpx2.Response(404, json={"error": {"message": "no such route"}}))
    body = {"model": "m", "messages": [{"role": "user", "content": "word " * 400}]}
    answer = ul.http_client(gone.upstream).post(
        "http://any/v1/messages/count_tokens", json=body, headers={"anthropic-version": "2023-06-01"}
    )
    assert 350 < answer.json()["input_tokens"] < 700
    assert answer.headers["x-unified-llm-estimate"] == "true"


# ---- the older HTTP library -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("surface", [Chat, Responses, Contents], ids=lambda each: each.protocol)
@modes
def test_the_older_library(surface: type[Surface], mode: str) -> None:
    pytest.importorskip("httpx")
    pair = Pair(surface, "anthropic-messages", library="httpx")
    pair.sdk.ask("Good morning.")
    assert pair.call(mode).text == "Good morning."


def test_one_transport_serves_both_kinds_of_calls() -> None:
    from unified_llm.client.transports.transport import transport

    both = transport("local/echo")
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    url = "http://any/v1/chat/completions"
    told = httpx2.Client(transport=both).post(url, json=body).json()["choices"]

    async def run() -> Any:
        return (await httpx2.AsyncClient(transport=both).post(url, json=body)).json()["choices"]

    assert asyncio.run(run()) == told


def test_an_unknown_library() -> None:
    with pytest.raises(ValueError, match="httpx2"):
        ul.http_client("local/echo", library="requests")


def test_half_a_character_of_a_request_is_reported() -> None:
    """The bytes of a request are what is converted, for each upstream anew."""
    busy, good = Canned(lambda: httpx2.Response(503, json={"error": {"message": "busy"}})), Canned(CHAT)
    told: list[ul.Losses] = []
    body = b'{"model": "m", "messages": [{"role": "user", "content": "a\\ud800"}]}'
    with ul.http_client([busy.upstream, good.upstream], on_losses=told.append) as http:
        assert http.post("http://any/v1/chat/completions", content=body).status_code == 200
    assert [(loss.path, loss.fate) for losses in told for loss in losses] == [("/messages/0/content", "approximated")]
    assert busy.sent == good.sent and "a\ufffd" in json.dumps(good.sent, ensure_ascii=False)
