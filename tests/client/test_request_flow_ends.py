"""The wire at its ends: callers that hang up or are cancelled, keys that show nowhere, histories repaired."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.asking import (
    BODY,
    PLAIN,
    STREAM,
    Call,
    both,
    no_waiting,  # noqa: F401 (a fixture, of every test here)
    openai,
    refusal,
)
from unified_llm.client.connections.io import AsyncWire, Wire
from unified_llm.client.sending.effects import Ask
from unified_llm.client.sending.retry import Retry
from unified_llm.client.upstreams.credentials import KeyAuth
from upstreams import CHAT, CHAT_STREAM, Body, Canned, chunk, frames, streamed

# ---- cancellation, keys ---------------------------------------------------------------------------------------------


def test_trap_174_a_caller_that_stops_listening_hangs_up() -> None:
    canned = Canned(lambda: streamed(*frames(*[chunk({"content": "x"})] * 50)))
    with Wire() as wire, wire.send(STREAM, [canned.upstream]) as stream:
        next(iter(stream))
    assert canned.bodies[0].closed and canned.bodies[0].given < 50


def test_trap_174_a_cancelled_task_hangs_up() -> None:
    waiting = asyncio.Event

    class Slow(Body):
        async def __aiter__(self) -> Any:
            yield CHAT_STREAM[0]
            self.given += 1
            await waiting().wait()

    slow = Slow()
    canned = Canned(lambda: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=slow))

    async def run() -> None:
        async with AsyncWire() as wire:

            async def listen() -> None:
                async with await wire.send(STREAM, [canned.upstream]) as stream:  # type: ignore[union-attr]
                    async for _ in stream:
                        pass

            task = asyncio.create_task(listen())
            while not slow.given:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())
    assert slow.closed


def test_a_task_that_is_cancelled_before_the_answer_hangs_up() -> None:
    class Silent(Body):
        async def __aiter__(self) -> Any:
            self.given += 1
            await asyncio.Event().wait()
            yield b""

    silent = Silent()
    canned = Canned(lambda: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=silent))

    async def run() -> None:
        async with AsyncWire() as wire:
            task = asyncio.create_task(wire.send(STREAM, [canned.upstream]))
            while not silent.given:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())
    assert silent.closed


@both
def test_a_key_is_sent_and_shown_nowhere(ask_for: Call, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    key = "sk-very-secret"
    echoed = refusal(401, {"error": {"message": f"Incorrect API key provided: {key}", "param": key}}, x_echo=key)
    canned = Canned(echoed, auth=KeyAuth("authorization", "Bearer {key}", key))
    with pytest.raises(ul.AuthenticationError) as caught:
        ask_for(PLAIN, canned)
    assert canned.seen[0].headers["authorization"] == f"Bearer {key}"
    error = caught.value
    assert "Incorrect API key provided: [redacted]" in str(error)
    shown = [str(error), repr(error), repr(error.body), repr(error.error), repr(error.headers), repr(canned.upstream)]
    assert not [each for each in [*shown, caplog.text] if key in each]


@both
def test_a_key_is_struck_out_of_errors_inside_answers(ask_for: Call) -> None:
    key = "sk-very-secret"
    error = {"error": {"message": f"bad key {key}", "type": "authentication_error", "code": key}}
    for ask, answer in ((PLAIN, error), (STREAM, lambda: streamed(*frames(error)))):
        canned = Canned(answer, auth=KeyAuth("authorization", "Bearer {key}", key))
        with pytest.raises(ul.APIError, match=r"bad key \[redacted\]") as caught:
            ask_for(ask, canned, retry=Retry.never())
        caught_error = caught.value
        assert key not in f"{caught_error!r} {caught_error.body} {caught_error.error} {caught_error}"


@both
def test_a_missing_key_is_told_before_anything_is_sent(ask_for: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    canned = Canned(CHAT, auth=KeyAuth("authorization", "Bearer {key}", env=["SOME_KEY"], whose="a provider"))
    with pytest.raises(ul.AuthenticationError, match="no API key for a provider; set SOME_KEY"):
        ask_for(PLAIN, canned)
    assert not canned.seen


@both
def test_a_key_may_come_from_a_function(ask_for: Call) -> None:
    canned = Canned(CHAT, auth=KeyAuth("x-api-key", "{key}", lambda: "fresh"))
    ask_for(PLAIN, canned)
    assert canned.seen[0].headers["x-api-key"] == "fresh"


@both
def test_no_redirect_is_followed_with_a_key(ask_for: Call) -> None:
    away = httpx2.Response(307, headers={"location": "http://evil/v1"})
    canned = Canned(lambda: away, auth=KeyAuth("x-api-key", "{key}", "secret"))
    with pytest.raises(ul.APIError):
        ask_for(PLAIN, canned, retry=Retry.never())
    assert [request.url.host for request in canned.seen] == ["up"]


@both
def test_usage_of_a_stream_is_asked_for_where_the_protocol_is_silent_about_it(ask_for: Call) -> None:
    ask = Ask(body={"model": "m", "input": "Hi", "stream": True}, source="openai-responses", stream=True)
    for protocol, expected in (("openai-chat", {"include_usage": True}), ("openai-chat:mistral", None)):
        canned = Canned(lambda: streamed(*CHAT_STREAM), protocol=protocol)
        ask_for(ask, canned)
        assert canned.sent[0].get("stream_options") == expected


@both
def test_defaults_fill_gaps_and_a_platforms_fields_are_fixed(ask_for: Call) -> None:
    fields = {"defaults": {"temperature": 0, "model": "no"}, "fixed": {"platform": 1}, "omitted": ("model",)}
    canned = Canned(CHAT, **fields)
    ask_for(PLAIN, canned)
    assert canned.sent[0] == {"messages": BODY["messages"], "temperature": 0, "platform": 1}


# ---- a history that came around -------------------------------------------------------------------------------------

ORPHAN = {"role": "tool", "tool_call_id": "call_1", "content": "4 degrees"}
AROUND = {"model": "m", "messages": [{"role": "user", "content": "Hi"}, ORPHAN]}


@both
def test_what_its_own_provider_refuses_is_repaired_and_asked_once_more(ask_for: Call) -> None:
    canned = Canned(refusal(400, openai("invalid_request_error", None)), CHAT)
    answer = ask_for(Ask(body=AROUND, source="openai-chat"), canned, retry=Retry.never())
    assert answer.value["choices"][0]["message"]["content"] == "Hello"
    assert [body["messages"] for body in canned.sent] == [AROUND["messages"], AROUND["messages"][:1]]
    assert [(loss.path, loss.fate) for loss in answer.sent.losses] == [("/messages/1", "lost")]


@both
def test_a_second_refusal_is_of_what_the_caller_wrote(ask_for: Call) -> None:
    refusals = [refusal(400, openai("invalid_request_error", None)), refusal(400, {"error": {"message": "other"}})]
    canned = Canned(*refusals)
    with pytest.raises(ul.InvalidRequestError) as caught:
        ask_for(Ask(body=AROUND, source="openai-chat"), canned)
    assert "other" not in str(caught.value) and len(canned.seen) == 2


@both
@pytest.mark.parametrize(
    ("status", "repair", "messages"),
    [(400, "auto", AROUND["messages"][:1]), (400, "never", AROUND["messages"]), (404, "auto", AROUND["messages"])],
    ids=["nothing to repair", "not wanted", "another refusal"],
)
def test_what_cannot_be_repaired_is_refused_at_once(ask_for: Call, status: int, repair: Any, messages: Any) -> None:
    canned = Canned(refusal(status, openai("invalid_request_error", None)))
    with pytest.raises(ul.APIError):
        ask_for(Ask(body={**AROUND, "messages": messages}, source="openai-chat", repair=repair), canned)
    assert len(canned.seen) == 1
