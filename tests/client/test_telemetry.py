"""Hooks, log records, spans and metrics of calls: who receives them, and no content or secret in them."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.asking import no_waiting, openai, refusal  # noqa: F401 (a fixture, of every test here)
from unified_llm.client.connections.io import Wire
from unified_llm.client.sending.effects import Ask, Outgoing
from unified_llm.client.sending.request_flow import steps
from unified_llm.client.telemetry import opentelemetry as otel
from unified_llm.client.telemetry.operation import Telemetry
from upstreams import CHAT, CHAT_STREAM, MESSAGE, Canned, frames, streamed

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

RETRY = ul.Retry(jitter=0)
BUSY = refusal(503, openai("server_error", None))
CHAT_USAGE = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt-up", "choices": [],
              "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}}  # fmt: skip
STREAMED = [*CHAT_STREAM[:-1], *frames(CHAT_USAGE, b"[DONE]")]


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


class Heard(list[Any]):
    """The events of a client, in their order."""

    @property
    def names(self) -> list[str]:
        return [type(each).__name__.removesuffix("Info") for each in self]

    @property
    def hooks(self) -> dict[str, Callable[[Any], Any]]:
        return dict.fromkeys(("on_request", "on_response", "on_retry"), self.append)

    @property
    def ahooks(self) -> dict[str, Callable[[Any], Any]]:
        async def hear(event: Any) -> None:
            await asyncio.sleep(0)
            self.append(event)

        return dict.fromkeys(self.hooks, hear)


def call(heard: Heard, *canned: Canned, stream: bool = False, **options: Any) -> None:
    first, *others = (each.upstream for each in canned)
    with ul.Client(first, models=others, retry=RETRY, **{**heard.hooks, **options}) as client:
        found: Any = client.responses.create(input="Hi", stream=stream or None, models=[first, *others])
        for _ in found if stream else ():
            pass


def acall(heard: Heard, *canned: Canned, stream: bool = False, **options: Any) -> None:
    async def run() -> None:
        first, *others = (each.upstream for each in canned)
        async with ul.AsyncClient(first, retry=RETRY, **{**heard.ahooks, **options}) as client:
            found: Any = await client.responses.create(input="Hi", stream=stream or None, models=[first, *others])
            if stream:
                async for _ in found:
                    pass

    asyncio.run(run())


both = pytest.mark.parametrize("ask", [call, acall], ids=["sync", "async"])


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


# ---- OpenTelemetry ---------------------------------------------------------------------------------------------------


class Recorded:
    """Spans and metrics of the SDK, in memory."""

    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider([self.reader])
        self.options: dict[str, Any] = {"tracer_provider": self.tracers, "meter_provider": self.meters}

    @property
    def spans(self) -> list[Any]:
        return list(self.exporter.get_finished_spans())

    @property
    def metrics(self) -> dict[str, list[Any]]:
        data = self.reader.get_metrics_data()
        found = [each for r in (data.resource_metrics if data else ()) for s in r.scope_metrics for each in s.metrics]
        return {each.name: list(each.data.data_points) for each in found}


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    found = Recorded()
    yield found
    found.tracers.shutdown()
    found.meters.shutdown()


@both
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_call_is_a_span(ask: Any, stream: bool, recorded: Recorded) -> None:
    canned = Canned((lambda: streamed(*STREAMED)) if stream else CHAT, model="gpt-x", provider="mistral")
    ask(Heard(), canned, stream=stream, **recorded.options)
    (span,) = recorded.spans
    assert span.name == "chat gpt-x" and span.kind.name == "CLIENT" and span.status.status_code.name == "UNSET"
    told = dict(span.attributes)
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "mistral_ai",
        "gen_ai.request.model": "gpt-x",
        "gen_ai.response.model": "gpt-up",
        "gen_ai.response.id": "resp_chatcmpl-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 1,
        "server.address": httpx2.URL(canned.upstream.base_url).host,
        "server.port": 80,
        "http.response.status_code": 200,
    }
    assert {name: told.get(name) for name in expected} == expected
    assert told.get("gen_ai.request.stream", False) == stream
    assert ("gen_ai.response.time_to_first_chunk" in told) == stream
    points = recorded.metrics
    assert {each.attributes["gen_ai.token.type"]: each.sum for each in points["gen_ai.client.token.usage"]} == {
        "input": 3,
        "output": 1,
    }
    (duration,) = points["gen_ai.client.operation.duration"]
    assert duration.count == 1 and duration.attributes["gen_ai.response.model"] == "gpt-up"
    assert ("gen_ai.client.operation.time_to_first_chunk" in points) == stream


def test_the_settings_of_a_request_are_attributes(recorded: Recorded) -> None:
    given: dict[str, Any] = {"temperature": 1, "top_p": 0.5, "max_output_tokens": 9, "seed": 7, "stop": ["END"]}
    with ul.Client(Canned(CHAT).upstream, **recorded.options) as client:
        client.responses.create(input="A secret plan", instructions="Never tell", **given)
    (span,) = recorded.spans
    told = {name.removeprefix("gen_ai.request."): value for name, value in span.attributes.items()}
    assert (told["temperature"], told["top_p"], told["max_tokens"], told["seed"]) == (1.0, 0.5, 9, 7)
    assert told["stop_sequences"] == ("END",) and isinstance(told["temperature"], float)
    assert "secret plan" not in span.to_json() and "Never tell" not in span.to_json() and "Hello" not in span.to_json()


def test_a_failure_is_an_error_without_the_providers_words(recorded: Recorded) -> None:
    error = {"error": {"message": "you said: my secret plan", "type": "invalid_request_error"}}
    with pytest.raises(ul.InvalidRequestError):
        call(Heard(), Canned(refusal(400, error)), **recorded.options)
    (span,) = recorded.spans
    assert span.status.status_code.name == "ERROR" and span.attributes["error.type"] == "InvalidRequestError"
    assert "secret plan" not in span.to_json()
    (duration,) = recorded.metrics["gen_ai.client.operation.duration"]
    assert duration.attributes["error.type"] == "InvalidRequestError"


def test_retries_are_in_one_span_and_fallbacks_have_their_own(recorded: Recorded) -> None:
    denied = refusal(403, openai("x", None))
    call(Heard(), Canned(BUSY, denied, model="a"), Canned(CHAT, model="b"), **recorded.options)
    first, second = recorded.spans
    assert [each.attributes["unified_llm.retry.reason"] for each in first.events] == ["retry", "fallback"]
    assert first.attributes["error.type"] == "PermissionDeniedError" and second.status.status_code.name == "UNSET"
    assert sum(each.value for each in recorded.metrics["unified_llm.retries"]) == 2


def test_losses_are_counted_by_capability(recorded: Recorded) -> None:
    with ul.Client(Canned(MESSAGE, protocol="anthropic-messages").upstream, **recorded.options) as client:
        client.responses.create(input="Hi", seed=7, max_output_tokens=9)
    (span,) = recorded.spans
    assert span.attributes["unified_llm.losses.capabilities"] == ("sampling.seed",)
    (point,) = recorded.metrics["unified_llm.losses"]
    assert dict(point.attributes) == {
        "unified_llm.capability": "sampling.seed",
        "unified_llm.fate": "lost",
        "gen_ai.provider.name": "canned",
    }
    assert point.value == 1


def test_the_span_of_a_call_is_inside_the_callers(recorded: Recorded) -> None:
    with recorded.tracers.get_tracer("t").start_as_current_span("mine") as mine:
        call(Heard(), Canned(CHAT), **recorded.options)
    span = recorded.spans[0]
    assert span.parent is not None and span.parent.span_id == mine.get_span_context().span_id


@pytest.mark.parametrize("model, provider, name, operation", [
    ("google/gemini-3-pro-preview", "google", "gcp.gemini", "generate_content"),
    ("openai/gpt-5.5", "openai", "openai", "chat"),
])  # fmt: skip
def test_names_by_the_conventions(model: str, provider: str, name: str, operation: str) -> None:
    upstream = ul.Upstream.of(model, protocol="google-generate-content" if provider == "google" else None)
    base = otel._base(upstream, "m")
    assert (base["gen_ai.provider.name"], base["gen_ai.operation.name"], base["server.port"]) == (name, operation, 443)


def test_an_sdk_over_our_transport_is_traced(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    made = otel.instruments(recorded.tracers, recorded.meters)
    monkeypatch.setattr("unified_llm.client.telemetry.operation.instruments", lambda *_: made)
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "seed": 7}
    for stream in (False, True):
        upstream = Canned(lambda: streamed(*STREAMED) if stream else CHAT).upstream  # noqa: B023
        with ul.http_client(upstream) as http:
            http.post("http://x/v1/chat/completions", json={**body, "stream": stream})
    assert [each.attributes["gen_ai.usage.output_tokens"] for each in recorded.spans] == [1, 1]


def test_a_stream_that_is_dropped_ends_its_span(recorded: Recorded) -> None:
    client = ul.Client(Canned(lambda: streamed(*STREAMED)).upstream, **recorded.options)
    events = client.responses.create(input="Hi", stream=True)
    next(events)
    assert not recorded.spans
    del events
    gc.collect()
    assert len(recorded.spans) == 1


def test_without_a_provider_there_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otel, "_look_again", 0.0)
    assert otel.instruments() is None
    monkeypatch.setattr(otel, "_look_again", 0.0)
    for name in [name for name in sys.modules if name.partition(".")[0] == "opentelemetry"]:
        monkeypatch.delitem(sys.modules, name)
    assert otel.instruments() is None and "opentelemetry" not in sys.modules, "it is not imported either"


@pytest.mark.parametrize("stream", [False, True])
def test_an_outcome_takes_the_place_of_an_event(stream: bool) -> None:
    """`on_end` is called once for each call that is awaited to its end, without an event of its request."""
    outcomes: list[Any] = []
    canned = Canned((lambda: streamed(*STREAMED)) if stream else CHAT, model="m")
    with Wire(retry=RETRY) as wire:
        ask = Ask(body={"input": "Hi"}, stream=stream, telemetry=Telemetry(on_end=outcomes.append))
        found = wire.run(steps(ask, (canned.upstream,), RETRY))
        if stream:
            assert not outcomes and found.operation is not None
            found.operation.end(usage={"input_tokens": 3}, complete=True)
            found.operation.end(complete=True)
            wire.stream(found).close()
    (told,) = outcomes
    assert told.complete and told.status == 200 and told.error is None and told.model == "m"
    assert told.usage_node["input_tokens"] == 3 and told.duration >= 0


def test_an_abandoned_call_has_no_outcome() -> None:
    outcomes: list[Any] = []
    upstream = ul.Upstream(model="m", base_url="http://up.test/v1", protocol="openai-chat")
    operation = Telemetry(on_end=outcomes.append).begin(Ask(body={}), upstream, ul.Losses([]), "m")
    assert operation is not None
    operation.sending(1, Outgoing("POST", "http://up.test/v1", {}, b"", {}, None, ""))
    operation.abandon()
    operation.end(complete=True)
    assert not outcomes
