"""The metrics of the gateway, in the format of Prometheus. Every label has a bounded number of values."""

from __future__ import annotations

from collections import Counter as Counted
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ..client.telemetry.events import ResponseEvent, RetryEvent
from ..losses import Losses

if TYPE_CHECKING:
    from .telemetry import Record

__all__ = ["CONTENT_TYPE", "Bounded", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320)
_MODELS = 500
_TOKENS = {
    "input": ("input_tokens",),
    "output": ("output_tokens",),
    "cached": ("input_tokens_details", "cached_tokens"),
    "reasoning": ("output_tokens_details", "reasoning_tokens"),
}


class Bounded:
    """The values of a label: the first `most` different ones, and "other" for all that come later.

    >>> models = Bounded(1)
    >>> models("a"), models("b"), models("a"), models("")
    ('a', 'other', 'a', '')
    """

    def __init__(self, most: int) -> None:
        self._most, self._known = most, {""}

    def __call__(self, value: str) -> str:
        if value in self._known:
            return value
        if len(self._known) > self._most:
            return "other"
        self._known.add(value)
        return value


class Metrics:
    """The counters of one gateway. `clients` is how many values of `X-Client-Id` are told apart."""

    def __init__(self, clients: int) -> None:
        self.registry: CollectorRegistry = CollectorRegistry()
        self._clients, self._models = Bounded(clients), Bounded(_MODELS)

        def made(kind: Any, name: str, text: str, *labels: str, **more: Any) -> Any:
            return kind(f"unified_llm_{name}", text, labels, registry=self.registry, **more)

        self.busy: Any = made(Gauge, "requests_in_progress", "Requests that are being answered.")
        self._requests = made(
            Counter, "requests", "Requests of clients.", "protocol", "route", "status", "key", "client"
        )
        self._seconds = made(
            Histogram, "request_seconds", "Seconds to the end of a response.", "protocol", "route", buckets=_SECONDS
        )
        self._first = made(
            Histogram, "first_byte_seconds", "Seconds to the first byte.", "protocol", "route", buckets=_SECONDS
        )
        self._upstream = made(
            Counter, "upstream_responses", "Responses of upstreams.", "provider", "model", "protocol", "outcome"
        )
        self._upstream_seconds = made(
            Histogram, "upstream_seconds", "Seconds that upstreams took.", "provider", "protocol", buckets=_SECONDS
        )
        self._retries = made(Counter, "retries", "Requests to upstreams that were repeated.", "provider", "reason")
        self._tokens = made(
            Counter, "tokens", "Tokens that upstreams counted.", "provider", "model", "type", "key", "client"
        )
        self._losses = made(
            Counter, "losses", "Values that did not reach the other protocol unchanged.", "capability", "fate"
        )

    def text(self) -> bytes:
        """The metrics as Prometheus reads them."""
        return generate_latest(self.registry)

    def request(self, record: Record) -> None:
        """A request of a client is over."""
        match = record.match
        protocol, route = (match.protocol, match.route.kind) if match is not None else ("", "")
        # 499 is what nginx calls a client that left.
        status = str(record.status if record.status is not None else 499)
        self._requests.labels(protocol, route, status, *self._who(record)).inc()
        self._seconds.labels(protocol, route).observe(record.seconds)
        if record.first is not None:
            self._first.labels(protocol, route).observe(record.first)

    def response(self, event: ResponseEvent, record: Record | None) -> None:
        """An upstream has answered, or failed."""
        request = event.request
        provider, model = request.provider or "", self._models(request.model or "")
        outcome = type(event.error).__name__ if event.error is not None else "complete" if event.complete else "closed"
        self._upstream.labels(provider, model, request.protocol, outcome).inc()
        self._upstream_seconds.labels(provider, request.protocol).observe(event.duration)
        who = self._who(record)
        for kind, path in _TOKENS.items():
            value: Any = event.usage
            for name in path:
                value = value.get(name) if isinstance(value, dict) else None
            if type(value) is int and value > 0:
                self._tokens.labels(provider, model, kind, *who).inc(value)

    def _who(self, record: Record | None) -> tuple[str, str]:
        """The key and the client of a request. Only a client that was admitted chooses the value of a label."""
        if record is None or record.key is None:
            return "", ""
        return record.key.name, self._clients(record.client)

    def retry(self, event: RetryEvent) -> None:
        """A request to an upstream is repeated."""
        self._retries.labels(event.request.provider or "", event.reason).inc()

    def lost(self, losses: Losses) -> None:
        """Losses of a request and its response."""
        for (capability, fate), count in Counted((loss.capability, loss.fate) for loss in losses).items():
            self._losses.labels(capability, fate).inc(count)
