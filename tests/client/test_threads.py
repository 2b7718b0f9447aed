"""Threads of Messages, where a client sends what is new: over upstreams that keep none the conversation is whole."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anthropic
import httpx2
import pytest

import unified_llm as ul
from oracles import mounts
from upstreams import CHAT, MESSAGE, Canned

# Other servers of Messages have no threads: they ignore the field, or refuse it.
FOREIGN = ("openai-chat", "openai-responses", "google-generate-content", "google-interactions", "anthropic-messages")
BETA = "message-threads-2026-08-12"
SCRIPT = "[[call weather city=Oslo]] [[then]] [[call weather city=Rome]] [[then]] [[results]]"
MODES = pytest.mark.parametrize("mode", ["plain", "stream", "async", "async stream"])
foreign = pytest.mark.parametrize("protocol", FOREIGN)


@anthropic.beta_tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"mild in {city}"


@anthropic.beta_async_tool(name="weather")
async def async_weather(city: str) -> str:
    """The weather of a city."""
    return f"mild in {city}"


def upstream(protocol: str) -> tuple[mounts.Oracle, ul.Upstream]:
    """A strict service of a protocol, and how it is reached."""
    service = mounts.Oracle()
    inside = mounts.transport(service)
    sync, other = httpx2.Client(transport=inside), httpx2.AsyncClient(transport=inside)
    return service, ul.Upstream.of(f"local/echo:{protocol}").with_(http_client=sync, async_http_client=other)


def ran(whom: Any, mode: str, **options: Any) -> list[Any]:
    """The messages of a tool loop of the official SDK."""
    given: Any = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": SCRIPT}]}
    given |= {"stream": "stream" in mode, "max_iterations": 5, "system": "Answer briefly."}
    if "async" not in mode:
        client = anthropic.Anthropic(api_key="x", http_client=ul.http_client(whom, **options), max_retries=0)
        return list(_finished(client.beta.messages.tool_runner(tools=[weather], **given)))
    other = anthropic.AsyncAnthropic(api_key="x", http_client=ul.async_http_client(whom, **options), max_retries=0)
    return asyncio.run(_collected(_finished_later(other.beta.messages.tool_runner(tools=[async_weather], **given))))


def _finished(runner: Any) -> Iterator[Any]:
    for each in runner:
        yield each.get_final_message() if hasattr(each, "get_final_message") else each


async def _finished_later(runner: Any) -> AsyncIterator[Any]:
    async for each in runner:
        yield await each.get_final_message() if hasattr(each, "get_final_message") else each


async def _collected(messages: AsyncIterator[Any]) -> list[Any]:
    return [each async for each in messages]


@foreign
@MODES
def test_a_tool_loop_of_the_sdk_ends(protocol: str, mode: str) -> None:
    """The upstream gets the whole conversation each time, once for each message, and nothing is reported as lost."""
    service, whom = upstream(protocol)
    losses: list[Any] = []
    messages = ran(whom, mode, on_losses=losses.extend)
    assert [each.stop_reason for each in messages] == ["tool_use", "tool_use", "end_turn"]
    assert messages[-1].content[-1].text == "weather: mild in Rome"
    assert [seen.status for seen in service.seen] == [200] * 3
    last = json.dumps(service.seen[-1].body)
    for words in ("Answer briefly.", "[[call weather city=Oslo]]", "mild in Oslo", "mild in Rome"):
        assert words in last
    assert not [each for each in losses if "thread" in each.path]


@pytest.mark.parametrize("async_", [False, True])
@foreign
def test_a_thread_of_the_sdk_has_its_conversation(protocol: str, async_: bool) -> None:
    service, whom = upstream(protocol)
    given: Any = {"model": "m", "max_tokens": 99, "system": "Answer briefly."}
    turns = [{"role": "user", "content": text} for text in ("First question.", "Second question.", "Third question.")]

    async def talked() -> None:
        client = anthropic.AsyncAnthropic(api_key="x", http_client=ul.async_http_client(whom), max_retries=0)
        thread = client.beta.messages.thread(**given)
        for each in turns:
            await thread.send(each)  # type: ignore[arg-type]

    if async_:
        asyncio.run(talked())
    else:
        client = anthropic.Anthropic(api_key="x", http_client=ul.http_client(whom), max_retries=0)
        thread = client.beta.messages.thread(**given)
        for each in turns:
            thread.send(each)  # type: ignore[arg-type]
    assert [seen.status for seen in service.seen] == [200] * 3
    last = json.dumps(service.seen[-1].body)
    assert last.count("First question.") == last.count("Second question.") == 2, "the question and its answer"
    assert "Third question." in last and "Answer briefly." in last


# ---- names that are unknown -----------------------------------------------------------------------------------------


def post(http: httpx2.Client, thread: Any, path: str = "/v1/messages") -> httpx2.Response:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "And?"}], "thread": thread}
    headers = {"anthropic-version": "2023-06-01", "anthropic-beta": BETA}
    return http.post(f"http://any{path}", json=body, headers=headers)


ANTHROPIC: Any = {"protocol": "anthropic-messages", "provider": "anthropic"}
GOING_ON = {"type": "continue", "previous_message_id": "msg_of_another"}


def test_an_empty_name_is_unknown_as_well() -> None:
    canned = Canned(CHAT)
    thread = {"type": "continue", "previous_message_id": ""}
    assert post(ul.http_client(canned.upstream), thread).status_code == 404 and not canned.seen


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
@foreign
def test_a_thread_that_is_unknown_is_an_error(protocol: str, path: str) -> None:
    """It is the one with which the SDK sends the whole conversation, and no upstream gets a request."""
    service, whom = upstream(protocol)
    answer = post(ul.http_client(whom), GOING_ON, path)
    error = answer.json()["error"]
    assert answer.status_code == 404 and error["type"] == "not_found_error" and "msg_of_another" in error["message"]
    assert error["details"] == {"error_code": "thread_not_found"} and not service.seen


@pytest.mark.parametrize("on_loss", ["ignore", "raise"])
def test_the_beginning_of_a_thread_loses_nothing(on_loss: Any) -> None:
    canned, losses = Canned(CHAT), list[Any]()
    answer = post(ul.http_client(canned.upstream, on_loss=on_loss, on_losses=losses.extend), {"type": "create"})
    assert answer.status_code == 200, answer.text
    assert not [each for each in losses if each.fate == "lost"] and "thread" not in canned.sent[0]


@pytest.mark.parametrize("thread", [{"type": "create"}, GOING_ON])
def test_a_thread_is_left_to_its_own_provider(thread: Any) -> None:
    canned = Canned(MESSAGE, **ANTHROPIC)
    assert post(ul.http_client(canned.upstream), thread).status_code == 200
    assert canned.sent[0]["thread"] == thread and len(canned.sent[0]["messages"]) == 1
    assert canned.seen[0].headers["anthropic-beta"] == BETA


def test_another_server_of_messages_gets_neither_the_thread_nor_its_beta() -> None:
    """It would ignore the field, and answer without the conversation; some refuse a beta that they do not have."""
    canned = Canned(MESSAGE, protocol="anthropic-messages", provider="bedrock")
    assert post(ul.http_client(canned.upstream), {"type": "create"}).status_code == 200
    assert "thread" not in canned.sent[0] and "anthropic-beta" not in canned.seen[0].headers
    going_on = post(ul.http_client(canned.upstream), GOING_ON)
    assert going_on.json()["error"]["details"] == {"error_code": "thread_not_found"} and len(canned.seen) == 1


def test_another_upstream_does_not_continue_a_thread_of_the_first() -> None:
    """After a failure the second one would answer without the conversation."""
    first, second = Canned(httpx2.Response(400, json={}), **ANTHROPIC), Canned(CHAT)
    http = ul.http_client([first.upstream, second.upstream])
    first.answers[0] = httpx2.ConnectError("away")
    answer = post(http, GOING_ON)
    assert answer.status_code == 404 and answer.json()["error"]["details"]["error_code"] == "thread_not_found"
    assert not second.seen
    assert post(http, {"type": "create"}).status_code == 200 and "thread" not in second.sent[0]


# ---- what a transport remembers -------------------------------------------------------------------------------------


class Counting(httpx2.BaseTransport):
    """A transport, and the status of each answer that it gives."""

    def __init__(self, whom: Any) -> None:
        self.inside = ul.http_client(whom)._transport
        self.statuses: list[int] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = self.inside.handle_request(request)
        self.statuses.append(response.status_code)
        return response


@pytest.mark.parametrize("stream", [False, True])
@foreign
def test_what_a_transport_remembers_is_not_sent_again(protocol: str, stream: bool) -> None:
    service, whom = upstream(protocol)
    counting = Counting(whom)
    client = anthropic.Anthropic(api_key="x", http_client=httpx2.Client(transport=counting), max_retries=0)
    messages = [{"role": "user", "content": f"[[reason Well.]] {SCRIPT}"}]
    given: Any = {"model": "m", "max_tokens": 99, "messages": messages, "tools": [weather]}
    given |= {"stream": stream, "system": "Answer briefly."}
    assert len(list(_finished(client.beta.messages.tool_runner(**given)))) == 3
    assert counting.statuses == [200] * 3
    last = json.dumps(service.seen[-1].body)
    for words in ("Answer briefly.", "The weather of", "[[call weather city=Oslo]]", "mild in Oslo", "mild in Rome"):
        assert last.count(words) == 1
    assert ("CgRlY2hv" in last) == (protocol != "openai-chat"), "what it signed is back"


def test_an_upstream_that_repeats_its_ids() -> None:
    """A name of several answers is that of none: the client sends the whole conversation."""
    calls = [{"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    calling = {**CHAT, "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    canned = Canned(calling, calling, calling, CHAT)
    messages = ran(canned.upstream, "plain")
    assert [each.stop_reason for each in messages] == ["tool_use"] * 3 + ["end_turn"]
    assert [len(each["messages"]) for each in canned.sent] == [2, 4, 6, 8]
