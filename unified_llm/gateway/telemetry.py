"""What the gateway tells of its requests: a log with one line each, and metrics for Prometheus.

A request is a `Record` while it is answered; the events of the client (`client/telemetry`) fill in who answered, how
long it took and what it used. Neither headers nor bodies are recorded, and of a URL only its path.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler
from typing import Any
from uuid import uuid4

from ..client.telemetry.events import ResponseEvent, RetryEvent
from ..client.telemetry.opentelemetry import incoming_context
from ..client.telemetry.operation import SILENT, Telemetry
from ..client.transports.route_matching import Match
from ..jsonvalue import dump
from ..losses import Losses
from ..urls import whole_number
from .access import Key
from .config import TelemetrySettings
from .metrics import CONTENT_TYPE, Metrics
from .replies import Refusal, Send, Whole

__all__ = ["OWN_PATHS", "Record", "Recorder", "note"]

_METRICS, _REQUESTS = "/metrics", "/requests"
OWN_PATHS = frozenset((_METRICS, _REQUESTS))
_PROBES = "/health"
_BACKGROUND = "BACKGROUND"  # in the place of a method
_LONGEST = 200  # characters of a path, 64 of a client's id
_CLIENT = "x-client-id"
_current: ContextVar[Record | None] = ContextVar("unified_llm_gateway_request", default=None)
_log = logging.getLogger("unified_llm.gateway.requests")


class Record:
    """One request while it is answered."""

    is_over: bool

    def __init__(self, method: str, path: str, headers: Mapping[str, str]) -> None:
        self.id: str = uuid4().hex
        self.method = method
        self.path: str = path[:_LONGEST]
        self.client: str = "".join(filter(str.isprintable, headers.get(_CLIENT, "")[:64]))
        self.key: Key | None = None  # of a client that was admitted
        self.match: Match | None = None
        self.model: str | None = None
        self.status: int | None = None
        self.refused = ""
        self.run = ""  # the id of a response in the background
        self.bytes = 0
        self.answered: list[ResponseEvent] = []
        self.retries: list[RetryEvent] = []
        self.losses: Losses = Losses()
        self.is_over = self.is_complete = False
        self._at, self._began = datetime.now(UTC), time.monotonic()
        self.first: float | None = None
        self.seconds: float = 0.0

    def sending(self, send: Send) -> Send:
        """`send`, with an eye on the status, the size and the end of the response."""

        async def watched(message: Mapping[str, Any]) -> None:
            body = message.get("body")
            if body is not None:
                self.bytes += len(body)
                if self.first is None and body:
                    self.first = time.monotonic() - self._began
                self.is_complete = not message.get("more_body")
            elif message["type"].endswith("http.response.start"):  # of a WebSocket that is refused too
                self.status = message["status"]
            elif message["type"] == "websocket.close":
                self.status = 403  # with which a server refuses what was not accepted
            await send(message)

        return watched

    def end(self) -> None:
        """The request is over."""
        self.seconds, self.is_over = time.monotonic() - self._began, True

    def line(self) -> dict[str, Any]:
        """The record as it is logged."""
        last = self.answered[-1] if self.answered else None
        request = last.request if last is not None else None
        error = last.error if last is not None else None
        counted = Counter(loss.capability for loss in self.losses)
        key = self.key or Key()
        found: dict[str, Any] = {
            "time": self._at.isoformat(timespec="milliseconds"),
            "id": self.id,
            "method": self.method,
            "path": self.path,
            "protocol": self.match.protocol if self.match is not None else None,
            "route": self.match.route.kind if self.match is not None else None,
            "key": key.name,
            "tenant": key.tenant,
            "client": self.client,
            "model": self.model,
            "run": self.run,
            "status": self.status,
            "complete": self.is_complete and (last is None or last.complete),
            "seconds": round(self.seconds, 6),
            "first_byte_seconds": None if self.first is None else round(self.first, 6),
            "bytes": self.bytes,
            "upstream": request.upstream if request is not None else None,
            "upstream_protocol": request.protocol if request is not None else None,
            "upstream_status": last.status if last is not None else None,
            "upstream_seconds": None if last is None else round(last.duration, 6),
            "upstream_request_id": last.request_id if last is not None else None,
            "retries": [
                {"upstream": each.request.upstream, "reason": each.reason, "error": type(each.error).__name__}
                for each in self.retries
            ],
            "error": self.refused if error is None else type(error).__name__,
            "usage": _usage(last),
            "losses": dict(counted),
        }
        return {name: value for name, value in found.items() if value not in (None, "", [], {})}


def note(**fields: Any) -> None:
    """Note something about the request at hand, if it is recorded."""
    record = _current.get()
    if record is not None:
        for name, value in fields.items():
            setattr(record, name, value)


class Recorder:
    """The request log and the metrics of one gateway."""

    def __init__(self, settings: TelemetrySettings) -> None:
        self.settings = settings
        self.metrics: Metrics | None = Metrics(settings.clients) if settings.metrics else None
        self.kept: deque[dict[str, Any]] = deque(maxlen=settings.keep)
        self._log = _logger(settings.log)
        self.is_on: bool = self.metrics is not None or self._log is not None
        self.telemetry: Telemetry = SILENT
        if self.is_on:
            self.telemetry = Telemetry(on_response=self._responded, on_retry=self._retried, detail=False)

    @contextmanager
    def request(self, method: str, path: str, headers: Mapping[str, str]) -> Iterator[Record | None]:
        """Record a request; None where nothing is recorded. A trace that the client began is continued."""
        if not self.is_on or path == "/" or path in OWN_PATHS or path.startswith(_PROBES):
            with incoming_context(headers):
                yield None
            return
        record = Record(method, path, headers)
        token = _current.set(record)
        if self.metrics is not None:
            self.metrics.busy.inc()
        try:
            with incoming_context(headers):
                yield record
        finally:
            _current.reset(token)
            record.end()
            if self.metrics is not None:
                self.metrics.busy.dec()
                self.metrics.request(record)
            self._write(record)

    @contextmanager
    def run(self, path: str, headers: Mapping[str, str]) -> Iterator[None]:
        """Record the execution of a background run as a line of its own. Its request was counted when it came."""
        record = Record(_BACKGROUND, path, headers) if self.is_on else None
        token = _current.set(record)
        try:
            with incoming_context(headers):
                yield
        finally:
            _current.reset(token)
            if record is not None:
                record.end()
                self._write(record)

    def _write(self, record: Record) -> None:
        """Write the line of a record, if there is a log."""
        if self._log is not None:
            line = record.line()
            self.kept.append(line)
            self._log.info(dump(line).decode())

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
            return Whole(200, {"content-type": "application/x-ndjson"}, b"".join(dump(each) + b"\n" for each in kept))
        field = "metrics" if path == _METRICS else "log"
        raise Refusal(404, "not_found", f"{path} is off; set telemetry.{field}", code="telemetry_off")

    def close(self) -> None:
        """Close the file of the request log."""
        for handler in self._log.handlers if self._log is not None and self._log is not _log else ():
            handler.close()

    # ---- events of the client ----------------------------------------------------------------------------------------

    def _responded(self, event: ResponseEvent) -> None:
        record = _current.get()
        if record is not None:
            record.answered.append(event)
        if self.metrics is not None:
            self.metrics.response(event, record)

    def _retried(self, event: RetryEvent) -> None:
        record = _current.get()
        if record is not None:
            record.retries.append(event)
        if self.metrics is not None:
            self.metrics.retry(event)

    def lost(self, losses: Losses) -> None:
        """More losses of a request and its response."""
        record = _current.get()
        if record is not None:
            record.losses = Losses([*record.losses, *losses])
        if self.metrics is not None:
            self.metrics.lost(losses)


def _logger(where: str) -> logging.Logger | None:
    if where == "off":
        return None
    if where == "logging":
        return _log
    streams = {"stdout": sys.stdout, "stderr": sys.stderr}
    handler = logging.StreamHandler(streams[where]) if where in streams else WatchedFileHandler(where, encoding="utf-8")
    found = logging.Logger(_log.name, logging.INFO)  # of this gateway alone
    found.addHandler(handler)
    return found


def _usage(event: ResponseEvent | None) -> dict[str, int]:
    names = ("input_tokens", "output_tokens")
    given: Mapping[str, Any] = (event.usage if event is not None else None) or {}
    found = {name: given[name] for name in names if type(given.get(name)) is int}
    for group, name in (("input_tokens_details", "cached_tokens"), ("output_tokens_details", "reasoning_tokens")):
        count = (given.get(group) or {}).get(name)
        if type(count) is int and count:
            found[name] = count
    return found
