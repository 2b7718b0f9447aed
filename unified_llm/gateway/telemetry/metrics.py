"""The metrics of the gateway, in the format of Prometheus. Every label has a bounded number of values.

While requests are answered, a series is a number in a dict under the values of its labels; the objects of
`prometheus_client` are made when the metrics are read. All of that is in one event loop: there are no locks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.utils import floatToGoString

from ...client.telemetry.events import RetryInfo
from ...client.telemetry.operation import Outcome
from ...losses import Losses

if TYPE_CHECKING:
    from .recorder import Record

__all__ = ["CONTENT_TYPE", "Bounded", "Metrics", "counts"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320)
_BOUNDS = tuple(map(floatToGoString, (*_SECONDS, float("inf"))))
_MODELS = 500
# Which counts of a usage are recorded, and by which name of a kind.
_TOKENS = (("input_tokens", "input"), ("output_tokens", "output"))
_DETAILS = (
    ("input_tokens_details", "cached_tokens", "cached"),
    ("output_tokens_details", "reasoning_tokens", "reasoning"),
)
_KINDS = {name: kind for *_, name, kind in (*_TOKENS, *_DETAILS)}


def counts(usage: Mapping[str, Any]) -> dict[str, int]:
    """The counts of a canonical usage that are recorded, by name: both sums, and the details that are not 0.

    >>> counts({"input_tokens": 9, "output_tokens": 0, "input_tokens_details": {"cached_tokens": 4}})
    {'input_tokens': 9, 'output_tokens': 0, 'cached_tokens': 4}
    """
    found = {name: usage[name] for name, _ in _TOKENS if type(usage.get(name)) is int}
    for group, name, _ in _DETAILS:
        details = usage.get(group)
        if type(details) is dict and type(count := details.get(name)) is int and count:
            found[name] = count
    return found


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


class _Counts:
    """A counter, by the values of its labels."""

    def __init__(self, name: str, text: str, *labels: str) -> None:
        self._name, self._text, self._labels = f"unified_llm_{name}", text, labels
        self.values: defaultdict[tuple[str, ...], float] = defaultdict(int)

    def family(self) -> CounterMetricFamily:
        """The counter as it is read."""
        found = CounterMetricFamily(self._name, self._text, labels=self._labels)
        for labels, value in list(self.values.items()):
            found.add_metric(labels, value)
        return found


class _Seconds:
    """A histogram of times, by the values of its labels: how many are in each bucket, and their sum."""

    def __init__(self, name: str, text: str, *labels: str) -> None:
        self._name, self._text, self._labels = f"unified_llm_{name}", text, labels
        self._rows: defaultdict[tuple[str, ...], list[float]] = defaultdict(lambda: [0] * (len(_SECONDS) + 2))

    def observe(self, labels: tuple[str, ...], seconds: float) -> None:
        """Add a time."""
        row = self._rows[labels]
        row[bisect_left(_SECONDS, seconds)] += 1
        row[-1] += seconds

    def family(self) -> HistogramMetricFamily:
        """The histogram as it is read: each bucket has the smaller ones in it."""
        found = HistogramMetricFamily(self._name, self._text, labels=self._labels)
        for labels, row in list(self._rows.items()):
            buckets = [(bound, count) for bound, count in zip(_BOUNDS, accumulate(row[:-1]))]
            found.add_metric(labels, buckets, row[-1])
        return found


class Metrics:
    """The counters of one gateway. `clients` is how many values of `X-Client-Id` are counted apart."""

    def __init__(self, clients: int) -> None:
        self.registry: CollectorRegistry = CollectorRegistry()
        self._clients, self._models = Bounded(clients), Bounded(_MODELS)
        self.busy: int = 0
        self._requests = _Counts("requests", "Requests of clients.", "protocol", "route", "status", "key", "client")
        self._seconds = _Seconds("request_seconds", "Seconds to the end of a response.", "protocol", "route")
        self._first = _Seconds("first_byte_seconds", "Seconds to the first byte.", "protocol", "route")
        self._upstream = _Counts(
            "upstream_responses", "Responses of upstreams.", "upstream", "provider", "model", "protocol", "outcome"
        )
        self._upstream_seconds = _Seconds(
            "upstream_seconds", "Seconds that upstreams took.", "upstream", "provider", "protocol"
        )
        self._retries = _Counts("retries", "Requests to upstreams that were repeated.", "provider", "reason")
        self._tokens = _Counts(
            "tokens", "Tokens that upstreams counted.", "upstream", "provider", "model", "type", "key", "client"
        )
        self._cost = _Counts(
            "cost_usd", "What they cost, in dollars.", "upstream", "provider", "model", "key", "client"
        )
        self._losses = _Counts(
            "losses", "Values that did not reach the other protocol unchanged.", "capability", "fate"
        )
        self.registry.register(self)

    def collect(self) -> Iterable[Any]:
        """The metrics as `prometheus_client` has them."""
        busy = "unified_llm_requests_in_progress", "Requests that are being answered."
        yield GaugeMetricFamily(*busy, value=self.busy)
        for each in (self._requests, self._seconds, self._first, self._upstream, self._upstream_seconds,
                     self._retries, self._tokens, self._cost, self._losses):  # fmt: skip
            yield each.family()

    def text(self) -> bytes:
        """The metrics as Prometheus reads them."""
        return generate_latest(self.registry)

    def request(self, record: Record) -> None:
        """A request of a client is over."""
        match = record.match
        protocol, route = (match.protocol, match.route.kind) if match is not None else ("", "")
        # 499 is what nginx calls a client that left.
        status = str(record.status if record.status is not None else 499)
        where = protocol, route
        self._requests.values[protocol, route, status, *self._who(record)] += 1
        self._seconds.observe(where, record.seconds)
        if record.first is not None:
            self._first.observe(where, record.first)

    def response(self, found: Outcome, record: Record | None, spent: int = 0) -> None:
        """An upstream has answered, or failed; `spent` are millionths of a dollar."""
        upstream = found.upstream
        place = upstream.label.partition("/")[0]
        provider, model = upstream.provider or "", self._models(found.model or "")
        outcome = type(found.error).__name__ if found.error is not None else "complete" if found.complete else "closed"
        self._upstream.values[place, provider, model, upstream.protocol, outcome] += 1
        self._upstream_seconds.observe((place, provider, upstream.protocol), found.duration)
        usage = found.usage_node
        if not usage:
            return
        key, client = self._who(record)
        for name, count in counts(usage).items():
            if count > 0:
                self._tokens.values[place, provider, model, _KINDS[name], key, client] += count
        if spent:
            self._cost.values[place, provider, model, key, client] += spent / 1_000_000

    def spent(self) -> dict[str, float]:
        """What each key has spent since the start of this process, in dollars."""
        found: defaultdict[str, float] = defaultdict(float)
        for (*_, key, _client), amount in self._cost.values.items():
            found[key] += amount
        return found

    def _who(self, record: Record | None) -> tuple[str, str]:
        """The key and the client of a request. Only a client that was admitted chooses the value of a label."""
        if record is None or record.key is None:
            return "", ""
        return record.key.name, self._clients(record.client)

    def retry(self, event: RetryInfo) -> None:
        """A request to an upstream is repeated."""
        self._retries.values[event.request.provider or "", event.reason] += 1

    def lost(self, losses: Losses) -> None:
        """Losses of a request and its response."""
        for (capability, fate), count in Counter((loss.capability, loss.fate) for loss in losses).items():
            self._losses.values[capability, fate] += count
