"""Hooks and log records of calls: who receives them, and no content or secret in them."""

from __future__ import annotations

import logging
import weakref
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.asking import no_waiting, openai, refusal  # noqa: F401 (a fixture, of every test here)
from unified_llm.client.sending.effects import Ask, Outgoing
from unified_llm.client.telemetry.operation import Telemetry
from upstreams import CHAT, MESSAGE, Canned, frames, streamed

pytest.importorskip("opentelemetry.sdk")


from client.hooked_calls import STREAMED, Heard, both, call

BUSY = refusal(503, openai("server_error", None))


class _Body(dict[str, Any]):
    """A body that can be watched."""


def test_the_body_of_a_request_does_not_live_as_long_as_its_stream() -> None:
    body = _Body()
    watched = weakref.ref(body)
    upstream = ul.Upstream(model="m", base_url="http://up.test/v1", protocol="openai-chat")
    telemetry = Telemetry(on_response=lambda event: None)
    operation = telemetry.begin(Ask(body=body, stream=True), upstream, ul.Losses([]), "m")
    del body
    assert operation is not None and watched() is None


# ---- hooks -----------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_response_has_a_request(ask: Any, stream: bool) -> None:
    heard = Heard()
    ask(heard, Canned((lambda: streamed(*STREAMED)) if stream else CHAT), stream=stream)
    assert heard.names == ["Request", "Response"]
    request, response = heard
    assert response.request is request and response.complete and response.error is None
    assert (request.attempt, request.method, request.protocol, request.stream) == (1, "POST", "openai-chat", stream)
    assert request.url.endswith("/chat/completions")
    assert response.status == 200 and response.model == "gpt-up" and response.finish == "stop"
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 1)
    assert (response.time_to_first_event is not None) == stream
    assert 0 <= (response.time_to_first_event or 0) <= response.duration


@both
def test_a_retry_is_told_between_two_requests(ask: Any) -> None:
    heard = Heard()
    ask(heard, Canned(BUSY, BUSY, CHAT))
    assert heard.names == ["Request", "Retry", "Request", "Retry", "Request", "Response"]
    assert [each.attempt for each in heard[::2]] == [1, 2, 3]
    assert len({each.call for each in heard[::2]}) == 1
    retry = heard[1]
    assert (retry.reason, retry.wait, retry.request) == ("retry", 0.5, heard[0])
    assert isinstance(retry.error, ul.OverloadedError) and heard[3].wait == 1.0


@both
def test_a_fallback_names_the_next_upstream(ask: Any) -> None:
    heard = Heard()
    bad = Canned(refusal(401, openai("invalid_request_error", "invalid_api_key")), model="a")
    ask(heard, bad, Canned(MESSAGE, protocol="anthropic-messages", model="b"))
    assert heard.names == ["Request", "Retry", "Request", "Response"]
    assert heard[1].reason == "fallback" and heard[1].next_upstream == heard[2].upstream
    assert [heard[0].protocol, heard[2].protocol] == ["openai-chat", "anthropic-messages"]
    assert heard[0].call == heard[2].call and heard[3].error is None


@both
def test_a_failed_call_has_a_response_with_its_error(ask: Any) -> None:
    heard = Heard()
    with pytest.raises(ul.AuthenticationError) as caught:
        ask(heard, Canned(refusal(401, openai("invalid_request_error", "invalid_api_key"))))
    assert heard.names == ["Request", "Response"]
    assert heard[1].error is caught.value and heard[1].status == 401 and not heard[1].complete


@both
def test_a_stream_that_breaks_ends_with_its_error(ask: Any) -> None:
    heard = Heard()
    with pytest.raises(ul.StreamInterruptedError):
        ask(heard, Canned(lambda: streamed(STREAMED[0], httpx2.ReadError("gone"))), stream=True)
    assert heard.names == ["Request", "Response"]
    assert isinstance(heard[1].error, ul.StreamInterruptedError) and not heard[1].complete


@both
def test_a_stream_with_an_error_event_ends_with_it(ask: Any) -> None:
    heard = Heard()
    error = frames(openai("server_error", None))
    with pytest.raises(ul.APIError):
        ask(heard, Canned(lambda: streamed(STREAMED[0], *error)), stream=True)
    assert heard.names == ["Request", "Response"] and isinstance(heard[1].error, ul.APIError)


def test_a_stream_that_is_closed_early_is_not_complete() -> None:
    heard = Heard()
    with ul.Client(Canned(lambda: streamed(*STREAMED)).upstream, **heard.hooks) as client:
        with client.responses.create(input="Hi", stream=True) as events:
            next(iter(events))
    assert heard.names == ["Request", "Response"]
    assert not heard[1].complete and heard[1].error is None


def test_a_response_that_cannot_be_read_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ul.InvalidBody("/choices", "not a list")

    for module in ("telemetry.operation", "call_flows"):
        monkeypatch.setattr(f"unified_llm.client.{module}.read_answer", fail)
    heard = Heard()
    with pytest.raises(ul.ServerError):
        call(heard, Canned(CHAT))
    assert heard.names == ["Request", "Response"] and isinstance(heard[1].error, ul.ServerError)


@both
def test_a_hook_that_fails_ends_no_call(ask: Any, caplog: pytest.LogCaptureFixture) -> None:
    def fail(event: Any) -> None:
        raise ValueError("my own mistake")

    heard = Heard()
    ask(heard, Canned(BUSY, CHAT), on_request=fail, on_retry=fail)
    assert heard.names == ["Response"]
    assert caplog.text.count("a hook failed for RequestInfo") == 2 and "my own mistake" in caplog.text


def test_an_async_hook_needs_an_async_client(caplog: pytest.LogCaptureFixture) -> None:
    async def hear(event: Any) -> None:
        raise AssertionError

    call(Heard(), Canned(CHAT), on_request=hear)
    assert "an async hook needs an AsyncClient" in caplog.text


def test_lists_and_counts_are_told_too() -> None:
    heard = Heard()
    client = ul.Client(**heard.hooks)
    client.models.list("local")
    client.count_tokens(model="local/echo", protocol="anthropic-messages", input="Hi")
    kinds = [each.kind for each in heard if isinstance(each, ul.client.RequestInfo)]
    assert kinds == ["models", "count_tokens_request"] and heard.names == ["Request", "Response"] * 2


def test_losses_of_a_request() -> None:
    heard = Heard()
    with ul.Client(Canned(MESSAGE, protocol="anthropic-messages").upstream, **heard.hooks) as client:
        answer = client.responses.create(input="Hi", seed=7)
    assert list(heard[0].losses) == list(answer.losses) and "sampling.seed" in {x.capability for x in heard[0].losses}


# ---- log records -----------------------------------------------------------------------------------------------------


def test_everything_that_is_sent_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "unified_llm")
    call(Heard(), Canned(BUSY, refusal(403, openai("x", None)), model="a"), Canned(CHAT, model="b"))
    told = [(each.levelname, each.getMessage()) for each in caplog.records if each.name == "unified_llm.client"]
    wanted = [
        ("DEBUG", "protocol openai-chat"),
        ("DEBUG", "POST http"),
        ("INFO", "retry in 0.5 s"),
        ("DEBUG", "attempt 2"),
        ("INFO", "fallback to"),
        ("DEBUG", "protocol openai-chat"),
        ("DEBUG", "attempt 1"),
        ("INFO", "complete in"),
    ]
    assert [level for level, _ in told] == [level for level, _ in wanted]
    assert all(part in text for (_, text), (_, part) in zip(told, wanted, strict=True))


def test_a_skipped_upstream_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "unified_llm")
    first = Canned(MESSAGE, protocol="anthropic-messages", model="a").upstream
    second = Canned(CHAT, model="b").upstream
    with ul.Client(first) as client:
        client.responses.create(input="Hi", seed=7, on_loss={"sampling.seed": "raise"}, models=[first, second])
    assert "is skipped: CapabilityLost" in caplog.text


def test_a_message_from_elsewhere_stays_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "unified_llm")
    body = {"error": {"message": "x\nINFO root: forged\x1b[2J", "type": "server_error"}}
    with pytest.raises(ul.APIError):
        call(Heard(), Canned(refusal(400, body)))
    assert all(each.getMessage().isprintable() for each in caplog.records if each.name == "unified_llm.client")


def test_nothing_is_computed_without_listeners(monkeypatch: pytest.MonkeyPatch) -> None:
    from unified_llm.client.telemetry import operation

    def fail(*_: Any) -> None:
        raise AssertionError("an operation was begun")

    monkeypatch.setattr(operation, "Operation", fail)
    client = ul.Client(Canned(CHAT).upstream)
    assert client.responses.create(input="Hi").output_text == "Hello"
    with ul.http_client(Canned(CHAT).upstream) as http:
        assert http.post("http://x/v1/chat/completions", json={"model": "m", "messages": []}).status_code < 500


def test_an_abandoned_call_has_no_outcome() -> None:
    outcomes: list[Any] = []
    upstream = ul.Upstream(model="m", base_url="http://up.test/v1", protocol="openai-chat")
    operation = Telemetry(on_end=outcomes.append).begin(Ask(body={}), upstream, ul.Losses([]), "m")
    assert operation is not None
    operation.sending(1, Outgoing("POST", "http://up.test/v1", {}, b"", {}, None, ""))
    operation.abandon()
    operation.end(complete=True)
    assert not outcomes
