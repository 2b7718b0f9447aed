"""Results and errors are copied and pickled: nothing is lost, and no credential is in a pickle."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import unified_llm as ul
from client.approving import RAN, TOOLS
from client.providers import Canned, message, response

Copy = Callable[[Any], Any]
COPIES: list[Copy] = [
    copy.copy,
    copy.deepcopy,
    lambda value: pickle.loads(pickle.dumps(value)),
    lambda value: pickle.loads(pickle.dumps(copy.deepcopy(value))),
]
KEY = "sk-very-secret"


def client_of(*texts: str) -> ul.Client:
    canned = Canned("openai-responses", *[response(message(text)) for text in texts])
    return ul.Client(canned.upstream, api_key=KEY, headers={"x-token": KEY})


def check_result(found: Any, result: Any) -> None:
    assert type(found) is ul.Result and found.dump() == result.dump() and repr(found) == repr(result)
    for name in (
        "losses",
        "raw",
        "exchange",
        "hops",
        "request_id",
        "items",
        "request",
        "usage",
        "cost",
        "output_parsed",
    ):
        assert getattr(found, name) == getattr(result, name), name
    for name in ("strategy", "output_text", "tool_calls"):
        assert getattr(found, name) == getattr(result, name), name
    assert found.upstream.name == result.upstream.name
    assert [each.length for each in found.segments] == [each.length for each in result.segments]


@pytest.mark.parametrize("copied", COPIES)
def test_a_result(copied: Copy) -> None:
    client = client_of("[1, 2]", "Yes.")
    result = client.responses.parse(input="Hi", text_format=list[int], seed=7)
    found = copied(result)
    check_result(found, result)
    assert found.output_parsed == [1, 2] and found.losses
    assert client.responses.create(previous=found, input="Sure?").output_text == "Yes."


def test_a_deep_copy_is_apart_and_a_pickle_has_no_credential() -> None:
    result = client_of("Hi").responses.create(input=[{"role": "user", "content": "Hi"}])
    found = copy.deepcopy(result)
    found.request["input"][0]["content"] = "changed"
    found.dump()["output"].clear()
    assert result.request["input"][0]["content"] == "Hi"
    assert len(result.dump()["output"]) == 1
    assert result.upstream.auth is not None and found.upstream.auth is result.upstream.auth
    for data in (pickle.dumps(result), pickle.dumps(found)):
        assert KEY.encode() not in data
        assert pickle.loads(data).upstream.auth is None


@pytest.mark.parametrize("copied", COPIES)
def test_a_run(copied: Copy) -> None:
    RAN.clear()
    client = ul.Client(model="local/echo")
    run = client.responses.run(input="[[call find name=a]] [[call delete name=b]]", tools=TOOLS, max_output_tokens=99)
    found = copied(run)
    assert type(found) is ul.RunResult and repr(found) == repr(run) and found.to_json() == run.to_json()
    for name in ("stopped", "asked", "withheld", "pending", "items", "losses", "usage", "cost", "output_text"):
        assert getattr(found, name) == getattr(run, name), name
    for mine, other in zip(found.steps, run.steps, strict=True):
        assert (mine.number, mine.outputs) == (other.number, other.outputs)
        check_result(mine.response, other.response)
    done = client.responses.resume(found, approved=True, tools=TOOLS)
    assert RAN == ["find a", "delete b"] and done.stopped == "answered"


@pytest.mark.parametrize("copied", COPIES)
def test_an_error(copied: Copy) -> None:
    with pytest.raises(ul.InvalidBody) as caught:
        ul.Client(model="local/echo").responses.create(input="Hi", tools=[1])
    found = copied(caught.value)
    assert type(found) is ul.InvalidBody
    assert (str(found), found.path, found.reason) == (str(caught.value), "/tools/0", caught.value.reason)
    with pytest.raises(ul.RateLimitError) as limited:
        ul.Client(retry=ul.Retry.never()).responses.create(model="local/echo", input="[[error 429 retry-after=2]]")
    other = copied(limited.value)
    assert type(other) is ul.RateLimitError and str(other) == str(limited.value)
    assert (other.retry_after, other.url, other.status) == (2, limited.value.url, 429)
    with pytest.raises(ul.ToolLoopLimitError) as stopped:
        ul.Client(model="local/echo").responses.run(input="[[call find name=a]]", tools=TOOLS, max_turns=1)
    assert copied(stopped.value).result.steps[0].number == 1
    assert str(copied(ul.UnknownModel("a", ["b"]))) == str(ul.UnknownModel("a", ["b"]))


@pytest.mark.parametrize("copied", COPIES)
def test_what_keeps_answers_in_memory(copied: Copy) -> None:
    store, vault = ul.MemoryStore(limit=7), ul.MemoryVault("scope", limit=7)
    client = ul.Client(model="local/echo", protocol="anthropic-messages", store=store)
    first = client.responses.create(input="One.")
    vault.put("call:a", [{"type": "message"}])
    found, known = copied(store), copied(vault)
    again = ul.Client(model="local/echo", protocol="openai-chat", store=found)
    assert len(again.responses.create(input="Two.", previous_response_id=first.id).items) == 4
    assert found.limit == 7 and known.get("call:a") == [{"type": "message"}]
    known.put("call:b", [])
    found.delete(first.id)
    assert copied is copy.copy or (vault.get("call:b") is None and store.get(first.id) is not None)


def test_an_upstream_is_its_own_copy_and_is_pickled_without_login_and_connections() -> None:
    for ref, why in (
        ("local/echo", r"^local/echo: an HTTP client cannot be pickled; create the Upstream in the other process$"),
        ("openai/gpt-5.5", "credentials cannot be pickled"),
    ):
        upstream = ul.Upstream.of(ref)
        assert copy.copy(upstream) is upstream and copy.deepcopy({"where": [upstream]})["where"][0] is upstream
        with pytest.raises(TypeError, match=why):
            pickle.dumps(upstream)
    plain = ul.Upstream(protocol="openai-chat", base_url="http://localhost:8000/v1", model="m", defaults={"seed": 1})
    plain = plain.with_(others=(plain,))
    found = pickle.loads(pickle.dumps(plain))
    assert found == plain and found.others == (plain,)


@pytest.mark.parametrize("made", [ul.Client, ul.AsyncClient])
def test_a_client_is_shared_by_copies_and_not_pickled(made: Any) -> None:
    client = made(model="local/echo")
    assert copy.copy(client) is client and copy.deepcopy(client) is client
    with pytest.raises(TypeError, match=r"Client has connections .* cannot be pickled"):
        pickle.dumps(client)
