"""State that a request requires: kept by the provider, by the client's store, or refused before anything is sent."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from upstreams import CHAT, CHAT_STREAM, MESSAGE, Canned, streamed

FOREIGN = ["anthropic-messages", "google-generate-content", "openai-chat"]
STATE = [
    {"previous_response_id": "resp_1"},
    {"conversation": "conv_1"},
    {"conversation": {"id": "conv_1"}},
    {"background": True},
]
GOOGLE = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}, "finishReason": "STOP"}]}
RESPONSE = {"id": "resp_1", "object": "response", "status": "completed", "output": []}
ANSWERS = {"anthropic-messages": MESSAGE, "google-generate-content": GOOGLE, "openai-chat": CHAT}


def texts(body: Any) -> str:
    return json.dumps(body.get("messages") or body.get("contents"))


# ---- without a store ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", STATE, ids=str)
@pytest.mark.parametrize("protocol", FOREIGN)
@pytest.mark.parametrize("stream", [None, True], ids=["whole", "stream"])
def test_state_asked_of_who_keeps_none_is_refused(protocol: str, state: dict[str, Any], stream: Any) -> None:
    canned = Canned(ANSWERS[protocol], protocol=protocol)
    if stream and "background" in state:
        state = {**state, "background": True}
    with ul.Client(canned.upstream) as client, pytest.raises(ul.CapabilityRefused, match="does not keep") as caught:
        client.responses.create(input="And now?", stream=stream, **state)
    assert canned.seen == [], "nothing was sent"
    assert caught.value.path == f"/{next(iter(state))}" and caught.value.capability.startswith("state.")


@pytest.mark.parametrize("state", STATE, ids=str)
def test_a_fallback_that_keeps_it_is_asked(state: dict[str, Any]) -> None:
    canned, keeps = Canned(CHAT), Canned(RESPONSE, protocol="openai-responses", base_url="http://keeps/v1")
    with ul.Client() as client:
        client.responses.create(models=[canned.upstream, keeps.upstream], input="And now?", **state)
    assert canned.seen == [] and len(keeps.seen) == 1
    assert keeps.sent[0].items() >= state.items()


def test_the_providers_own_state_is_its_own() -> None:
    canned = Canned(RESPONSE, protocol="openai-responses")
    with ul.Client(canned.upstream) as client:
        client.responses.create(input="And now?", previous_response_id="resp_0")
    assert canned.sent[0]["previous_response_id"] == "resp_0"


# ---- with a store ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", FOREIGN)
def test_a_store_brings_the_conversation_back_and_lets_it_fork(protocol: str) -> None:
    count = iter(range(9))

    def answer() -> httpx2.Response:
        number = next(count)
        body = json.loads(json.dumps(ANSWERS[protocol]).replace("Hello", f"Answer {number}"))
        return httpx2.Response(200, json={**body, **({} if protocol.startswith("google") else {"id": f"id-{number}"})})

    canned = Canned(answer, protocol=protocol)
    with ul.Client(canned.upstream, store=ul.MemoryStore()) as client:
        first = client.responses.create(input="One.")
        second = client.responses.create(input="Two.", previous_response_id=first.id)
        third = client.responses.create(input="Three.", previous_response_id=second.id)
        fork = client.responses.create(input="Another.", previous_response_id=first.id)
    said = [texts(each) for each in canned.sent]
    for word in ("One.", "Answer 0", "Two.", "Answer 1", "Three."):
        assert said[2].count(word) == 1
    assert "One." in said[3] and "Answer 0" in said[3] and "Two." not in said[3]
    ids = [each.id for each in (first, second, third, fork)]
    assert len(set(ids)) == 4 and all(each is not None and each.startswith("resp_") for each in ids)
    assert [each.previous_response_id for each in (second, third, fork)] == [ids[0], ids[1], ids[0]]
    assert [item.type for item in third.items] == ["message"] * 6


def test_a_conversation_goes_on_at_another_provider() -> None:
    store, first, second = ul.MemoryStore(), Canned(CHAT), Canned(MESSAGE, protocol="anthropic-messages")
    one = ul.Client(first.upstream, store=store).responses.create(input="One.")
    ul.Client(second.upstream, store=store).responses.create(input="Two.", previous_response_id=one.id)
    assert "One." in texts(second.sent[0]) and "Hello" in texts(second.sent[0])
    keeps = Canned(RESPONSE, protocol="openai-responses")
    ul.Client(keeps.upstream, store=store).responses.create(input="Three.", previous_response_id=one.id)
    assert "previous_response_id" not in keeps.sent[0] and "One." in json.dumps(keeps.sent[0]["input"])


def test_an_answer_of_another_upstream_is_retrieved_and_deleted_where_the_store_has_it() -> None:
    """By a client whose own upstream keeps answers too, in its Responses, but never had this one."""
    client = ul.Client(model="local/echo", store=ul.MemoryStore())
    first = client.responses.create(input="One.", protocol="anthropic-messages")
    own = client.responses.create(input="Two.", protocol="openai-responses")
    assert client.responses.retrieve(first.id).output_text == "One."
    assert client.responses.retrieve(own.id).output_text == "Two."
    assert client.responses.delete(first.id) and client.responses.delete(own.id)
    for each in (first, own):
        with pytest.raises(ul.NotFoundError):
            client.responses.retrieve(each.id)


def test_streams_are_kept_too() -> None:
    canned = Canned(lambda: streamed(*CHAT_STREAM))
    with ul.Client(canned.upstream, store=ul.MemoryStore()) as client:
        with client.responses.create(input="One.", stream=True) as events:
            for _ in events:
                pass
            first = events.get_final_response()
        with client.responses.create(input="Two.", stream=True, previous_response_id=first.id) as events:
            assert "".join(events.text_deltas) == "Hello"
    assert "One." in texts(canned.sent[1]) and "Hello" in texts(canned.sent[1])

    async def run() -> None:
        async with ul.AsyncClient(canned.upstream, store=ul.MemoryStore()) as client:
            async with await client.responses.create(input="One.", stream=True) as events:
                first = await events.get_final_response()
            await client.responses.create(input="Two.", stream=True, previous_response_id=first.id)

    asyncio.run(run())
    assert "One." in texts(canned.sent[3])


@pytest.mark.parametrize("state", STATE[:3], ids=str)
def test_what_the_store_does_not_have_is_not_found(state: dict[str, Any]) -> None:
    canned = Canned(CHAT)
    with ul.Client(canned.upstream, store=ul.MemoryStore()) as client, pytest.raises(ul.NotFoundError) as caught:
        client.responses.create(input="And now?", **state)
    assert caught.value.status == 404 and "_1' not found" in str(caught.value) and canned.seen == []


def test_what_is_not_to_be_kept_is_not() -> None:
    store = ul.MemoryStore()
    with ul.Client(Canned(CHAT).upstream, store=store) as client:
        first = client.responses.create(input="One.", store=False)
        with pytest.raises(ul.NotFoundError):
            client.responses.create(input="Two.", previous_response_id=first.id)


def test_work_in_the_background_is_done_at_once_and_kept() -> None:
    canned = Canned(MESSAGE, protocol="anthropic-messages")
    with ul.Client(canned.upstream, store=ul.MemoryStore()) as client:
        handle = client.responses.create(input="One.", background=True)
        assert handle.done and handle.result.output_text == "Hello"
        assert ("/background", "emulated") in [(loss.path, loss.fate) for loss in handle.result.losses]
        assert client.responses.retrieve(handle.id).output_text == "Hello"
        assert client.responses.delete(handle.id)
        with pytest.raises(ul.UnifiedLLMError):
            client.responses.retrieve(handle.id)


def test_the_turns_of_a_tool_loop_are_kept_once() -> None:
    def now() -> str:
        return "noon"

    with ul.Client(model="local/echo", protocol="openai-chat", store=ul.MemoryStore()) as client:
        first = client.responses.create(input="Hello.")
        run = client.responses.run(input="[[call now]]", tools=[now], previous_response_id=first.id)
        assert run.output_text == "now: noon"
        last = client.responses.create(input="And then?", previous_response_id=run.final.id)
    words = json.dumps(last.item_nodes)
    assert words.count('"Hello."') == 2 and words.count("And then?") == 2  # echo repeats each
    assert [item.type for item in last.items].count("function_call_output") == 1


def test_a_store_is_bounded() -> None:
    store = ul.MemoryStore(limit=2)
    for name in "abc":
        store.put(name, {"previous": None, "input": [], "output": []})
    assert [store.get(name) is not None for name in "abc"] == [False, True, True]


# ---- ids and times of answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", FOREIGN)
def test_answers_have_an_id_and_a_time(protocol: str) -> None:
    before = int(time.time())
    canned = Canned({key: value for key, value in ANSWERS[protocol].items() if key != "created"}, protocol=protocol)
    found = ul.Client(canned.upstream).responses.create(input="Hi")
    assert found.id is not None and found.id.startswith("resp_")
    assert found.created_at is not None and before <= found.created_at <= time.time()


@pytest.mark.parametrize("protocol", FOREIGN)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_under_an_sdk_too(protocol: str, stream: bool) -> None:
    before = int(time.time())
    canned = Canned({key: value for key, value in ANSWERS[protocol].items() if key != "created"}, protocol=protocol)
    with ul.http_client(canned.upstream) as http:
        body = {"model": "m", "input": "One.", "stream": stream}
        told = answers_of(http.post("http://any/v1/responses", json=body))
        ids = {each["id"] for each in told}
        assert len(ids) == 1 and ids.pop().startswith("resp_")
        assert all(before <= each["created_at"] <= time.time() for each in told)
        body |= {"input": "Two.", "previous_response_id": told[0]["id"]}
        told = answers_of(http.post("http://any/v1/responses", json=body))
        assert "One." in texts(canned.sent[-1])
        assert all(each["previous_response_id"] == body["previous_response_id"] for each in told)


@pytest.mark.parametrize("protocol", ["anthropic-messages", "google-generate-content", "google-interactions"])
def test_the_time_of_chat_is_a_whole_number(protocol: str) -> None:
    interaction = {"id": "i", "object": "interaction", "status": "completed", "steps": []}
    interaction["created"] = "2026-01-02T03:04:05.678Z"
    canned = Canned({**ANSWERS, "google-interactions": interaction}[protocol], protocol=protocol)
    with ul.http_client(canned.upstream) as http:
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        assert type(http.post("http://any/v1/chat/completions", json=body).json()["created"]) is int


def answers_of(answer: httpx2.Response) -> list[Any]:
    """The fields of the response as a whole in an answer or the events of a stream."""
    assert answer.status_code == 200, answer.text
    if "event-stream" not in answer.headers["content-type"]:
        return [answer.json()]
    lines = [json.loads(line[5:]) for line in answer.text.splitlines() if line.startswith("data: {")]
    return [line["response"] for line in lines if "response" in line]


@pytest.mark.parametrize(("surface", "status"), [("openai-responses", 400), ("google-interactions", 404)])
def test_under_an_sdk_an_unknown_name_has_the_status_of_its_api(surface: str, status: int) -> None:
    canned = Canned(CHAT)
    key = "previous_response_id" if surface == "openai-responses" else "previous_interaction_id"
    route = "v1/responses" if surface == "openai-responses" else "v1beta/interactions"
    with ul.http_client(canned.upstream) as http:
        answer = http.post(f"http://any/{route}", json={"model": "m", "input": "Hi", key: "resp_1"})
        assert answer.status_code == status and "resp_1" in answer.text
        if surface == "openai-responses":
            error = answer.json()["error"]
            assert (error["code"], error["param"]) == ("previous_response_not_found", key)
            assert error["type"] == "invalid_request_error"
            body = {"model": "m", "input": "Hi", "conversation": "conv_1"}
            answer = http.post(f"http://any/{route}", json=body)
            assert answer.status_code == 404 and "conv_1" in answer.text
    assert canned.seen == []
