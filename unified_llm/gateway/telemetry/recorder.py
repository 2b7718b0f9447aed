"""Reports of the gateway's requests: a log with one line each, and metrics for Prometheus.

A request is a `Record` while it is answered; the events of the client (`client/telemetry`) fill in who answered, how
long it took and what it used. Neither headers nor bodies are recorded, and of a URL only its path.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from functools import lru_cache
from random import getrandbits
from typing import Any

import msgspec

from ...client.telemetry.events import RetryInfo
from ...client.telemetry.opentelemetry import incoming_context
from ...client.telemetry.operation import SILENT, Outcome, Telemetry
from ...client.transports.route_matching import Match
from ...foundation.urls import whole_number
from ...losses import Losses
from ..access.callers import Key
from ..access.prices import price
from ..access.spending import PATH as SPEND
from ..configuration.config import TelemetrySettings
from ..responses.replies import Refusal, Send, Watched, Whole
from .metrics import CONTENT_TYPE, Metrics, counts
from .request_log import RequestLog, opened

__all__ = ["OWN_PATHS", "Record", "Recorder", "note"]

_METRICS, _REQUESTS = "/metrics", "/requests"
OWN_PATHS = frozenset((_METRICS, _REQUESTS, SPEND))
_PROBES = "/health"
_BACKGROUND = "BACKGROUND"  # in the place of a method
_LONGEST = 200  # characters of a path, 64 of a client's id
_CLIENT = "x-client-id"
_current: ContextVar[Record | None] = ContextVar("unified_llm_gateway_request", default=None)
_NAME = "unified_llm.gateway.requests"
_NOTHING = Losses()


class Line(msgspec.Struct, omit_defaults=True):
    """A record as it is logged. What is unknown or empty is left out."""

    time: str
    id: str
    method: str
    path: str
    protocol: str | None = None
    route: str | None = None
    key: str | None = None
    tenant: str | None = None
    team: str | None = None
    client: str | None = None
    model: str | None = None
    run: str | None = None
    status: int | None = None
    complete: bool | None = None
    seconds: float | None = None
    first_byte_seconds: float | None = None
    bytes: int | None = None
    upstream: str | None = None
    upstream_name: str | None = None
    upstream_protocol: str | None = None
    upstream_status: int | None = None
    upstream_seconds: float | None = None
    upstream_request_id: str | None = None
    retries: list[dict[str, str]] | None = None
    error: str | None = None
    usage: dict[str, int] | None = None
    cost: float | None = None
    losses: dict[str, int] | None = None


_encode = msgspec.json.Encoder().encode


class Record:
    """One request while it is answered."""

    key: Key | None = None  # of a client that was admitted
    match: Match | None = None
    model: str | None = None
    status: int | None = None
    refused: str = ""
    run: str = ""  # the id of a response in the background
    size: int = 0  # bytes of the response
    spent: int = 0  # millionths of a dollar
    losses: Losses = _NOTHING
    is_over: bool = False
    is_complete: bool = False
    first: float | None = None
    seconds: float = 0.0

    def __init__(self, method: str, path: str, headers: Mapping[str, str]) -> None:
        self.id: str = f"{getrandbits(128):032x}"
        self.method = method
        self.path: str = path[:_LONGEST]
        client = headers.get(_CLIENT, "")[:64]
        self.client: str = client if client.isprintable() else "".join(filter(str.isprintable, client))
        self.answered: list[Outcome] = []
        self.retries: list[RetryInfo] = []
        self._at, self._began = time.time(), time.monotonic()

    def sending(self, send: Send) -> Send:
        """`send`, with an eye on the response."""
        return Watched(send, self, self._began)

    def end(self) -> None:
        """The request is over."""
        self.seconds, self.is_over = time.monotonic() - self._began, True

    def line(self) -> bytes:
        """The record as it is logged."""
        last = self.answered[-1] if self.answered else None
        upstream, error = (last.upstream, last.error) if last is not None else (None, None)
        key, match = self.key or _NOBODY, self.match
        # By position: a line is made for each request, and names cost more than the rest of it.
        return _encode(
            Line(
                _stamp(self._at),
                self.id,
                self.method,
                self.path,
                match.protocol if match is not None else None,
                match.route.kind if match is not None else None,
                key.name or None,
                key.tenant or None,
                key.team or None,
                self.client or None,
                self.model or None,
                self.run or None,
                self.status,
                self.is_complete and (last is None or last.complete),
                round(self.seconds, 6),
                None if self.first is None else round(self.first, 6),
                self.size,
                upstream.name if upstream is not None else None,
                (upstream.label.partition("/")[0] or None) if upstream is not None else None,
                upstream.protocol if upstream is not None else None,
                last.status if last is not None else None,
                round(last.duration, 6) if last is not None else None,
                (last.request_id or None) if last is not None else None,
                [_retried(each) for each in self.retries] if self.retries else None,
                (self.refused if error is None else type(error).__name__) or None,
                (counts(last.usage_node or {}) or None) if last is not None else None,
                self.spent / 1_000_000 or None,
                dict(Counter(loss.capability for loss in self.losses)) if self.losses else None,
            )
        )


def _retried(event: RetryInfo) -> dict[str, str]:
    return {"upstream": event.request.upstream, "reason": event.reason, "error": type(event.error).__name__}


_NOBODY = Key()


def _stamp(at: float) -> str:
    """A time in UTC, to the millisecond."""
    second = int(at)
    return f"{_second(second)}.{int((at - second) * 1_000):03d}+00:00"


@lru_cache(4)
def _second(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()[:19]


def note(**fields: Any) -> None:
    """Note something about the request at hand, if it is recorded."""
    record = _current.get()
    if record is not None:
        for name, value in fields.items():
            setattr(record, name, value)


class _Recording:
    """The time in which a request is answered."""

    __slots__ = ("_context", "_is_request", "_record", "_recorder", "_token")

    def __init__(self, recorder: Recorder, record: Record, context: AbstractContextManager[None], *, is_request: bool):
        self._recorder, self._record, self._context, self._is_request = recorder, record, context, is_request
        self._token: Token[Record | None] | None = None

    def __enter__(self) -> Record:
        self._token = _current.set(self._record)
        if self._is_request and self._recorder.metrics is not None:
            self._recorder.metrics.busy += 1
        self._context.__enter__()
        return self._record

    def __exit__(self, *raised: Any) -> None:
        try:
            self._context.__exit__(*raised)
        finally:
            assert self._token is not None
            _current.reset(self._token)
            self._record.end()
            metrics = self._recorder.metrics
            if self._is_request and metrics is not None:
                metrics.busy -= 1
                metrics.request(self._record)
            self._recorder.write(self._record)


class Recorder:
    """The request log and the metrics of one gateway."""

    def __init__(self, settings: TelemetrySettings) -> None:
        self.settings = settings
        self.metrics: Metrics | None = Metrics(settings.clients) if settings.metrics else None
        self.kept: deque[bytes] = deque(maxlen=settings.keep)
        self._log: RequestLog | None = opened(settings.log, _NAME)
        self.is_on: bool = self.metrics is not None or self._log is not None
        self.telemetry: Telemetry = SILENT
        if self.is_on:
            self.telemetry = Telemetry(on_end=self._responded, on_retry=self._retried)

    def request(self, method: str, path: str, headers: Mapping[str, str]) -> AbstractContextManager[Record | None]:
        """Record a request; None where nothing is recorded. A trace that the client began is continued."""
        context = incoming_context(headers)
        if not self.is_on or path == "/" or path in OWN_PATHS or path.startswith(_PROBES):
            return context
        return _Recording(self, Record(method, path, headers), context, is_request=True)

    def run(self, path: str, headers: Mapping[str, str]) -> AbstractContextManager[Record | None]:
        """Record the execution of a background run as a line of its own. Its request was counted when it came."""
        context = incoming_context(headers)
        if not self.is_on:
            return context
        return _Recording(self, Record(_BACKGROUND, path, headers), context, is_request=False)

    def write(self, record: Record) -> None:
        """Write the line of a record, if there is a log."""
        if self._log is not None:
            line = record.line()
            self.kept.append(line)
            self._log.add(line)

    def shown(self, method: str, path: str, query: Mapping[str, str]) -> Whole:
        """The metrics, or the newest lines of the request log. Raises `Refusal`."""
        if method not in ("GET", "HEAD"):
            raise Refusal(405, "invalid_request", f"{path} has no {method}", headers={"allow": "GET, HEAD"})
        if path == _METRICS and self.metrics is not None:
            return Whole(200, {"content-type": CONTENT_TYPE}, self.metrics.text())
        if path == _REQUESTS and self._log is not None:
            given = query.get("limit", str(self.settings.keep))
            count = whole_number(given)
            if count is None:
                raise Refusal(400, "invalid_request", f"limit must be a number, got {given[:20]!r}")
            kept = list(self.kept)[-count:] if count else []
            return Whole(200, {"content-type": "application/x-ndjson"}, b"".join(each + b"\n" for each in kept))
        field = "metrics" if path == _METRICS else "log"
        raise Refusal(404, "not_found", f"{path} is off; set telemetry.{field}", code="telemetry_off")

    def spent(self) -> Mapping[str, float]:
        """What each key has spent since the start of this process, in dollars; nothing without metrics."""
        return {} if self.metrics is None else self.metrics.spent()

    def close(self) -> None:
        """Write what is left of the request log, and close its file."""
        if self._log is not None:
            self._log.close()

    # ---- events of the client ----------------------------------------------------------------------------------------

    def _responded(self, found: Outcome) -> None:
        record = _current.get()
        spent = price(found.upstream, found.model, found.usage_node) if found.usage_node else 0
        if record is not None:
            record.answered.append(found)
            record.spent += spent
        if self.metrics is not None:
            self.metrics.response(found, record, spent)

    def _retried(self, event: RetryInfo) -> None:
        record = _current.get()
        if record is not None:
            record.retries.append(event)
        if self.metrics is not None:
            self.metrics.retry(event)

    def lost(self, losses: Losses) -> None:
        """More losses of a request and its response."""
        record = _current.get()
        if record is not None and losses:
            record.losses = Losses([*record.losses, *losses])
        if self.metrics is not None and losses:
            self.metrics.lost(losses)
