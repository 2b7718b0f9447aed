"""Calls as spans and metrics of OpenTelemetry, by its conventions, and without content or secrets."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.asking import no_waiting, openai, refusal  # noqa: F401 (a fixture, of every test here)
from unified_llm.client.connections.io import Wire
from unified_llm.client.sending.effects import Ask
from unified_llm.client.sending.request_flow import steps
from unified_llm.client.telemetry import opentelemetry as otel
from unified_llm.client.telemetry.operation import Telemetry
from upstreams import CHAT, MESSAGE, Canned, streamed

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from client.hooked_calls import RETRY, STREAMED, Heard, both, call

BUSY = refusal(503, openai("server_error", None))


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
