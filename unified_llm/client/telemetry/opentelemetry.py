"""Spans and metrics by the semantic conventions for generative AI, through `opentelemetry-api`.

https://opentelemetry.io/docs/specs/semconv/gen-ai/ Prompts and responses are never recorded. Without the package, or
without a provider of spans or metrics, nothing is created: `instruments` gives None.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...engine.registry import split
from ...losses import Losses
from ...models.provider_table import table
from ..upstreams.references import taken_apart
from ..upstreams.upstream import Upstream

if TYPE_CHECKING:
    from ..sending.effects import Ask
    from .events import ResponseInfo

__all__ = ["Instruments", "Span", "incoming_context", "instruments"]

_NAME = "unified_llm"
SCHEMA = "https://opentelemetry.io/schemas/1.41.0"
_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = tuple(4**power for power in range(14))
_API = {"trace": ("opentelemetry.trace", "OTEL_PYTHON_TRACER_PROVIDER"),
        "metrics": ("opentelemetry.metrics", "OTEL_PYTHON_METER_PROVIDER")}  # fmt: skip
_DEFAULTS = frozenset(("ProxyTracerProvider", "NoOpTracerProvider", "_ProxyMeterProvider", "NoOpMeterProvider"))

# Canonical settings of a request, and the attributes of a span for them.
_SETTINGS = {
    "frequency_penalty": float,
    "max_output_tokens": int,
    "presence_penalty": float,
    "seed": int,
    "temperature": float,
    "top_k": float,
    "top_p": float,
}
_USAGE = {
    ("input_tokens",): "gen_ai.usage.input_tokens",
    ("output_tokens",): "gen_ai.usage.output_tokens",
    ("input_tokens_details", "cached_tokens"): "gen_ai.usage.cache_read.input_tokens",
    ("input_tokens_details", "cache_write_tokens"): "gen_ai.usage.cache_creation.input_tokens",
    ("output_tokens_details", "reasoning_tokens"): "gen_ai.usage.reasoning.output_tokens",
}


def _provider(given: Any, signal: str) -> Any:
    """The provider that was given, else the global one; None where that does nothing."""
    if given is not None:
        return given
    module, variable = _API[signal]
    if module not in sys.modules and variable not in os.environ:
        return None  # none can have been set in this process
    try:
        api = import_module(module)
    except ImportError:
        return None
    found = api.get_tracer_provider() if signal == "trace" else api.get_meter_provider()
    return None if type(found).__name__ in _DEFAULTS else found


_made: dict[tuple[int, int], Instruments] = {}
_PAUSE = 0.2  # seconds; to look for global providers costs microseconds, and they are set once
_look_again = 0.0


def instruments(tracer_provider: Any = None, meter_provider: Any = None) -> Instruments | None:
    """The instruments of these providers, by default of the global ones; None where there is neither."""
    global _look_again
    given = tracer_provider is not None or meter_provider is not None
    if not given and time.monotonic() < _look_again:
        return None
    tracers, meters = _provider(tracer_provider, "trace"), _provider(meter_provider, "metrics")
    if tracers is None and meters is None:
        _look_again = time.monotonic() + _PAUSE
        return None
    key = (id(tracers), id(meters))
    found = _made.get(key)
    if found is None:
        found = _made[key] = Instruments(tracers, meters)  # which refers to both: no other object gets their ids
    return found


def incoming_context(headers: Mapping[str, str]) -> AbstractContextManager[None]:
    """Continue the trace that an incoming request names (`traceparent`), where spans are recorded."""
    if "traceparent" not in headers or _provider(None, "trace") is None:
        return _NO_TRACE
    return _continued(headers)


_NO_TRACE = nullcontext()


@contextmanager
def _continued(headers: Mapping[str, str]) -> Iterator[None]:
    context, propagate = import_module("opentelemetry.context"), import_module("opentelemetry.propagate")
    token = context.attach(propagate.extract(headers))
    try:
        yield
    finally:
        context.detach(token)


class Instruments:
    """The tracer and the metrics of one pair of providers."""

    def __init__(self, tracers: Any, meters: Any) -> None:
        from ... import __version__

        self._providers = tracers, meters
        self._tracer = None if tracers is None else tracers.get_tracer(_NAME, __version__, schema_url=SCHEMA)
        self._metrics = meters is not None
        if meters is None:
            return
        meter = meters.get_meter(_NAME, __version__, schema_url=SCHEMA)

        def histogram(name: str, unit: str, description: str, bounds: Iterable[float]) -> Any:
            return meter.create_histogram(name, unit, description, explicit_bucket_boundaries_advisory=list(bounds))

        self._duration = histogram("gen_ai.client.operation.duration", "s", "GenAI operation duration.", _SECONDS)
        self._first = histogram(
            "gen_ai.client.operation.time_to_first_chunk", "s", "Time to receive the first chunk of a stream.", _SECONDS
        )
        self._tokens = histogram(
            "gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.", _TOKENS
        )
        self._losses = meter.create_counter(
            "unified_llm.losses", "{loss}", "Values that did not reach the other protocol unchanged."
        )
        self._retries = meter.create_counter("unified_llm.retries", "{request}", "Requests that were repeated.")

    def begin(self, ask: Ask, upstream: Upstream, model: str | None) -> Span:
        """The span of one operation: all requests to one upstream for one call."""
        base = _base(upstream, model)
        if self._tracer is None:
            return Span(self, None, base)
        attributes = {**base, **_settings(ask.body if ask.source is None else None)}
        if ask.stream:
            attributes["gen_ai.request.stream"] = True
        kind = import_module("opentelemetry.trace").SpanKind.CLIENT
        name = f"{base['gen_ai.operation.name']} {model}" if model else str(base["gen_ai.operation.name"])
        return Span(self, self._tracer.start_span(name, kind=kind, attributes=attributes), base)

    def losses(self, upstream: Upstream, losses: Losses) -> None:
        """Count losses, by capability and fate."""
        if self._metrics and losses:
            provider = _provider_name(upstream)
            for (capability, fate), count in Counter((loss.capability, loss.fate) for loss in losses).items():
                self._losses.add(count, {"unified_llm.capability": capability, "unified_llm.fate": fate,
                                         "gen_ai.provider.name": provider})  # fmt: skip

    def retried(self, base: Mapping[str, Any], reason: str) -> None:
        """Count a request that is repeated."""
        if self._metrics:
            self._retries.add(1, {**base, "unified_llm.retry.reason": reason})

    def ended(self, base: Mapping[str, Any], event: ResponseInfo) -> None:
        """Record the metrics of an operation."""
        if not self._metrics:
            return
        attributes = dict(base)
        if event.model:
            attributes["gen_ai.response.model"] = event.model
        for field, kind in (("input_tokens", "input"), ("output_tokens", "output")):
            count = (event.usage_node or {}).get(field)
            if type(count) is int and count >= 0:
                self._tokens.record(count, {**attributes, "gen_ai.token.type": kind})
        if event.time_to_first_event is not None:
            self._first.record(event.time_to_first_event, attributes)
        if event.error is not None:
            attributes["error.type"] = type(event.error).__name__
        self._duration.record(event.duration, attributes)


class Span:
    """One operation: its span, if spans are recorded, and the attributes of its metrics."""

    __slots__ = ("_base", "_instruments", "_span")

    def __init__(self, made: Instruments, span: Any, base: Mapping[str, Any]) -> None:
        self._instruments, self._span, self._base = made, span, base

    def losses(self, upstream: Upstream, losses: Losses) -> None:
        """As `Instruments.losses`; the span has their number, and their capabilities."""
        self._instruments.losses(upstream, losses)
        if self._span is not None and losses:
            names = list(dict.fromkeys(loss.capability for loss in losses))
            self._span.set_attributes({"unified_llm.losses": len(losses), "unified_llm.losses.capabilities": names})

    def retried(self, reason: str, error: Exception, wait: float) -> None:
        """A request failed and is repeated."""
        self._instruments.retried(self._base, reason)
        if self._span is not None:
            fields = {"unified_llm.retry.reason": reason, "error.type": type(error).__name__}
            self._span.add_event("unified_llm.retry", {**fields, "unified_llm.retry.wait": wait})

    def end(self, event: ResponseInfo | None) -> None:
        """End the span and record the metrics; None where nothing was sent."""
        if event is not None:
            self._instruments.ended(self._base, event)
        span = self._span
        if span is None:
            return
        if event is not None and span.is_recording():
            span.set_attributes(_response(event))
            if event.error is not None:
                # The message of a provider may quote the request, and content is not recorded.
                trace = import_module("opentelemetry.trace")
                span.set_status(trace.Status(trace.StatusCode.ERROR, type(event.error).__name__))
        span.end()


def _base(upstream: Upstream, model: str | None) -> dict[str, Any]:
    """The attributes that spans and metrics have in common."""
    host, port = _address(upstream.base_url)
    found: dict[str, Any] = {
        "gen_ai.operation.name": split(upstream.protocol)[0].operation,
        "gen_ai.provider.name": _provider_name(upstream),
        "server.address": host,
        "server.port": port,
    }
    return {**found, "gen_ai.request.model": model} if model else found


def _provider_name(upstream: Upstream) -> str:
    """The provider by the conventions, which have names of their own for some."""
    if upstream.provider is None:
        return taken_apart(upstream.base_url).host
    row = table().get(upstream.provider)
    return str(row.get("telemetry", upstream.provider)) if row else upstream.provider


def _address(base_url: str) -> tuple[str, int]:
    found = taken_apart(base_url)
    scheme, _, rest = found.origin.partition("://")
    port = rest.removeprefix(found.host.lower()).rpartition(":")[2]
    return found.host, int(port) if port.isdigit() else 443 if scheme == "https" else 80


def _settings(body: Any) -> dict[str, Any]:
    """The settings of a canonical request."""
    if not isinstance(body, dict):
        return {}
    found: dict[str, Any] = {}
    for name, kind in _SETTINGS.items():
        value = body.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            found[f"gen_ai.request.{'max_tokens' if name == 'max_output_tokens' else name}"] = kind(value)
    stop, count, text = body.get("stop"), body.get("n"), body.get("text")
    if isinstance(stop, list) and all(isinstance(each, str) for each in stop):
        found["gen_ai.request.stop_sequences"] = stop
    if type(count) is int and count != 1:
        found["gen_ai.request.choice.count"] = count
    form = text.get("format") if isinstance(text, dict) else None
    if isinstance(form, dict) and form.get("type") in ("json_schema", "json_object"):
        found["gen_ai.output.type"] = "json"
    if isinstance(body.get("conversation"), str):
        found["gen_ai.conversation.id"] = body["conversation"]
    return found


def _response(event: ResponseInfo) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if event.response_id:
        found["gen_ai.response.id"] = event.response_id
    if event.model:
        found["gen_ai.response.model"] = event.model
    if event.finish:
        found["gen_ai.response.finish_reasons"] = [event.finish]
    if event.time_to_first_event is not None:
        found["gen_ai.response.time_to_first_chunk"] = event.time_to_first_event
    for path, name in _USAGE.items():
        value: Any = event.usage_node
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if type(value) is int:
            found[name] = value
    if event.status is not None:
        found["http.response.status_code"] = event.status
    if event.error is not None:
        found["error.type"] = type(event.error).__name__
    return found
