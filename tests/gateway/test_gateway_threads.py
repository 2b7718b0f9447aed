"""Threads of Messages through the gateway: the conversation is whole over every upstream."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest

from client.test_threads import BETA, FOREIGN, GOING_ON, SCRIPT, async_weather
from gateway.serving import URL, House

foreign = pytest.mark.parametrize("protocol", FOREIGN)
HEADERS = {"anthropic-version": "2023-06-01", "anthropic-beta": BETA}


def client(house: House, gateway: Any) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(api_key="x", base_url=URL, http_client=house.http(gateway), max_retries=0)


def body(model: str, thread: Any, text: str = "And?") -> Any:
    return {"model": model, "max_tokens": 20, "messages": [{"role": "user", "content": text}], "thread": thread}


@pytest.mark.parametrize("stream", [False, True])
@foreign
def test_a_tool_loop_of_the_sdk_ends(house: House, protocol: str, stream: bool) -> None:
    gateway = house.gateway()

    async def ran() -> list[Any]:
        given: Any = {"model": protocol, "max_tokens": 99, "messages": [{"role": "user", "content": SCRIPT}]}
        given |= {"tools": [async_weather], "stream": stream, "max_iterations": 5, "system": "Answer briefly."}
        runner = client(house, gateway).beta.messages.tool_runner(**given)
        return [await each.get_final_message() if stream else each async for each in runner]

    messages = house.run(ran())
    assert [each.stop_reason for each in messages] == ["tool_use", "tool_use", "end_turn"]
    assert [seen.status for seen in house.seen] == [200] * 3
    last = json.dumps(house.seen[-1].body)
    for words in ("Answer briefly.", "[[call weather city=Oslo]]", "mild in Oslo", "mild in Rome"):
        assert words in last


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
@foreign
def test_a_thread_that_is_unknown_is_an_error(house: House, protocol: str, path: str) -> None:
    done = house.ask(house.gateway(), "POST", path, json=body(protocol, GOING_ON), headers=HEADERS)
    assert done.status_code == 404 and done.json()["error"]["details"] == {"error_code": "thread_not_found"}
    assert not house.seen


@pytest.mark.parametrize("thread", [{"type": "create"}, GOING_ON])
def test_a_thread_is_left_to_its_own_provider(house: House, thread: Any) -> None:
    gateway = house.gateway({"claude": house.upstream("anthropic-messages", provider="anthropic")})
    house.ask(gateway, "POST", "/v1/messages", json=body("claude", thread), headers=HEADERS)
    assert house.seen[0].body["thread"] == thread and len(house.seen[0].body["messages"]) == 1
