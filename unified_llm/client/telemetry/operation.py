"""The telemetry of one call: the only place from which hooks, log records, spans and metrics get their events.

`request_flow.steps` begins an `Operation` for each upstream it tries, and reports each request to it. Streams end
theirs when they are closed. Where nothing is observed (no hook, the logger is off, no provider of spans or metrics)
`begin` gives None, and nothing else is computed.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ...foundation.errors import InvalidBody
from ...foundation.terminal import printable
from ...losses import Losses
from ..sending.decoding import read_answer, read_usage
from ..upstreams.upstream import Upstream
from .opentelemetry import Instruments, Span, instruments

if TYPE_CHECKING:
    from ..sending.effects import Answer, Ask, Opened, Outgoing
    from .events import RequestInfo, ResponseInfo, RetryReason

__all__ = ["SILENT", "Hooked", "Operation", "Outcome", "Telemetry", "count_losses", "log_skipped"]

_log = logging.getLogger("unified_llm.client")
_CALLS = frozenset(("function_call", "custom_tool_call"))
_LONGEST = 300  # characters of an error in a log record

Hook = Callable[[Any], Any]


class Outcome(NamedTuple):
    """The end of a call to an upstream: a `ResponseInfo` without the values that are read of the result itself."""

    upstream: Upstream
    model: str | None
    status: int | None
    duration: float
    complete: bool
    request_id: str | None
    usage_node: Mapping[str, Any] | None
    error: Exception | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """The receivers of telemetry: hooks, and providers of OpenTelemetry (default: the global ones).

    `on_end` takes the place of `on_response` for a server, to which an event costs too much: it is called at once, with
    an `Outcome`, and only the usage of a whole response is read for it.
    """

    on_request: Hook | None = None
    on_response: Hook | None = None
    on_retry: Hook | None = None
    tracer_provider: Any = None
    meter_provider: Any = None
    on_end: Callable[[Outcome], None] | None = None

    def begin(self, ask: Ask, upstream: Upstream, losses: Losses, model: str | None) -> Operation | None:
        """The operation of a call at one upstream; None where nothing is observed."""
        found = instruments(self.tracer_provider, self.meter_provider)
        hooked = self.on_request or self.on_response or self.on_retry or self.on_end
        if found is None and not hooked and not _log.isEnabledFor(logging.INFO):
            return None
        return Operation(self, found, ask, upstream, losses, model)


SILENT = Telemetry()
"""No hooks; log records and global providers of OpenTelemetry only."""


def count_losses(telemetry: Telemetry, upstream: Upstream, losses: Losses) -> None:
    """Count the losses of a response that was converted for the client."""
    if losses and (found := instruments(telemetry.tracer_provider, telemetry.meter_provider)) is not None:
        found.losses(upstream, losses)


def log_skipped(upstream: Upstream, error: Exception) -> None:
    """Log an upstream that the request cannot be sent to."""
    if _log.isEnabledFor(logging.INFO):
        told = _plain(upstream, str(error))
        _log.info("%s is skipped: %s: %s", _plain(upstream, upstream.name), type(error).__name__, told)


class Hooked(NamedTuple):
    """A hook that is to be called with an event, by a caller that can wait for it."""

    function: Hook
    event: Any


class Operation:
    """All requests to one upstream for one call, and their response."""

    __slots__ = ("_began", "_call", "_event", "_first", "_found", "_kind", "_model", "_over", "_request", "_sent",
                 "_span", "_stream", "_telemetry", "_upstream", "losses")  # fmt: skip

    def __init__(
        self,
        telemetry: Telemetry,
        made: Instruments | None,
        ask: Ask,
        upstream: Upstream,
        losses: Losses,
        model: str | None,
    ) -> None:
        self._telemetry, self._upstream, self._model = telemetry, upstream, model
        self._kind, self._stream = ask.kind, ask.stream  # not `ask` itself: its body would live as long as a stream
        self._span: Span | None = None if made is None else made.begin(ask, upstream, model)
        self._call = ask.answer_id
        self.losses: Losses = Losses([*ask.losses, *losses]) if ask.losses else losses
        if self._span is not None:
            self._span.losses(upstream, self.losses)
        self._over = False
        # The last request: its number, method and URL, and the event that is made of it where one is needed.
        self._request: tuple[int, str, str] | None = None
        self._event: RequestInfo | None = None
        self._found: Answer | Opened | None = None
        self._first: float | None = None
        self._began = self._sent = time.monotonic()
        if _log.isEnabledFor(logging.DEBUG):
            why = f" ({_plain(upstream, upstream.why)})" if upstream.why else ""
            _log.debug("%s: protocol %s%s, %d losses", self._name, upstream.protocol, why, len(self.losses))

    @property
    def _name(self) -> str:
        return f"{self.call[:8]} {_plain(self._upstream, self._upstream.name)}"

    # ---- requests ----------------------------------------------------------------------------------------------------

    @property
    def call(self) -> str:
        """What all requests of the call have in common."""
        self._call = self._call or os.urandom(16).hex()
        return self._call

    def sending(self, attempt: int, outgoing: Outgoing) -> Hooked | None:
        """A request is about to be sent."""
        self._sent = time.monotonic()
        self._request, self._event = (attempt, outgoing.method, outgoing.url), None
        if _log.isEnabledFor(logging.DEBUG):
            form = " (stream)" if self._stream else ""
            size = len(outgoing.content or b"")
            where = _plain(self._upstream, self._info(self._request).url)
            _log.debug("%s: %s %s, attempt %d, %d bytes%s", self._name, outgoing.method, where, attempt, size, form)
        hook = self._telemetry.on_request
        return None if hook is None else Hooked(hook, self._info(self._request))

    def _info(self, request: tuple[int, str, str]) -> RequestInfo:
        """The event of a request."""
        if self._event is None:
            from .events import RequestInfo

            (attempt, method, url), upstream = request, self._upstream
            self._event = RequestInfo(
                call=self.call,
                attempt=attempt,
                upstream=upstream.name,
                provider=upstream.provider,
                model=self._model,
                protocol=upstream.protocol,
                kind=self._kind,
                stream=self._stream,
                method=method,
                url=upstream.hide(url.partition("?")[0].partition("#")[0]),
                why=upstream.why,
                losses=self.losses,
            )
        return self._event

    def waiting(self, error: Exception, wait: float) -> None:
        """A request failed; if there is time, another one follows after `wait` seconds."""
        if _log.isEnabledFor(logging.INFO):
            _log.info("%s: %s; retry in %.1f s", self._name, self._error_text(error), wait)

    def retrying(self, error: Exception, reason: RetryReason, wait: float = 0.0, after: str = "") -> Hooked | None:
        """A request failed; another one follows now, or at the upstream `after`."""
        if reason != "retry" and _log.isEnabledFor(logging.INFO):
            then = f"fallback to {_plain(self._upstream, after)}" if after else "retry with a repaired history"
            _log.info("%s: %s; %s", self._name, self._error_text(error), then)
        if self._span is not None:
            self._span.retried(reason, error, wait)
        hook, request = self._telemetry.on_retry, self._request
        if hook is None or request is None:
            return None
        from .events import RetryInfo

        lasted = time.monotonic() - self._sent
        event = self._info(request)
        return Hooked(hook, RetryInfo(request=event, reason=reason, error=error, duration=lasted, wait=wait,
                                       next_upstream=after))  # fmt: skip

    # ---- the end -----------------------------------------------------------------------------------------------------

    def answered(self, found: Answer) -> Hooked | None:
        """The whole response is here."""
        self._found = found
        node, error = None, None
        if found.is_made:
            node = self._brief(found)
            try:
                exchange = found.sent.exchange
                node = node or read_answer(found.value, self._upstream.protocol, found.kind, exchange=exchange)
            except InvalidBody as problem:
                error = found.unread(problem)
        return self._end(node if isinstance(node, dict) else None, None, error, error is None)

    @property
    def _is_brief(self) -> bool:
        """Whether nothing needs an event of the response."""
        return self._telemetry.on_end is not None and self._span is None and self._telemetry.on_response is None

    def _brief(self, found: Answer) -> Any:
        """The usage of the response, where that is enough; None where it has to be read as a whole."""
        if not self._is_brief or not isinstance(found.value, dict):
            return None
        return read_usage(found.value, self._upstream.protocol)

    def opened(self, found: Opened) -> None:
        """The first event of a stream is here; what closes the stream calls `end`."""
        self._found, self._first, found.operation = found, time.monotonic(), self

    def failed(self, error: Exception) -> Hooked | None:
        """The call failed."""
        return self._end(None, None, error, False)

    def left(self, error: Exception, after: str) -> Hooked | None:
        """The call goes on at the upstream `after`."""
        hooked = self.retrying(error, "fallback", 0.0, after)
        self._over = True
        if self._span is not None and self._request is not None:
            self._span.end(self._response(self._info(self._request), {}, None, error, False))
        return hooked

    def end(
        self,
        response: Mapping[str, Any] | None = None,
        *,
        usage: Mapping[str, Any] | None = None,
        error: Exception | None = None,
        complete: bool = False,
    ) -> Hooked | None:
        """A stream is closed: with its canonical response, its usage, or an error. Only the first end counts."""
        return self._end(response, usage, error, error is None and (complete or response is not None))

    def abandon(self) -> None:
        """End without hooks: nothing waits for it any more. Does nothing where it has ended."""
        self._end(None, None, None, False, is_awaited=False)

    def _end(
        self,
        node: Mapping[str, Any] | None,
        usage: Mapping[str, Any] | None,
        error: Exception | None,
        complete: bool,
        *,
        is_awaited: bool = True,
    ) -> Hooked | None:
        if self._over:
            return None
        self._over = True
        request, on_end = self._request, self._telemetry.on_end
        if request is not None and on_end is not None:
            if is_awaited:
                on_end(self._outcome(node, usage, error, complete))
            if self._is_brief and not _log.isEnabledFor(logging.INFO):
                self._found = None
                return None
        event = None if request is None else self._response(self._info(request), node or {}, usage, error, complete)
        self._found = None
        if self._span is not None:
            self._span.end(event)
        if event is None:
            return None
        if _log.isEnabledFor(logging.INFO):
            how = (
                "complete"
                if complete
                else f"failed: {self._error_text(error)}"
                if error is not None
                else "closed early"
            )
            counts = event.usage_node or {}
            tokens = f", {counts.get('input_tokens')} + {counts.get('output_tokens')} tokens" if counts else ""
            _log.info("%s: %s in %.3f s%s", self._name, how, event.duration, tokens)
        hook = self._telemetry.on_response
        return None if hook is None else Hooked(hook, event)

    def _outcome(
        self,
        node: Mapping[str, Any] | None,
        usage: Mapping[str, Any] | None,
        error: Exception | None,
        complete: bool,
    ) -> Outcome:
        found: Any = self._found if self._found is not None else error
        given = None if node is None else node.get("usage")
        return Outcome(
            self._upstream,
            self._model,
            getattr(found, "status", None),
            time.monotonic() - self._began,
            complete,
            getattr(found, "request_id", None),
            given if type(given) is dict or isinstance(given, Mapping) else usage,
            error,
        )

    def _response(
        self,
        request: RequestInfo,
        node: Mapping[str, Any],
        usage: Mapping[str, Any] | None,
        error: Exception | None,
        complete: bool,
    ) -> ResponseInfo:
        from .events import ResponseInfo

        found: Any = self._found if self._found is not None else error
        told = (("id", node.get("id")), ("model", node.get("model")), ("finish", _finish(node)))
        texts = {name: self._upstream.hide(text) for name, text in told if type(text) is str}
        given = node.get("usage")
        return ResponseInfo(
            request=request,
            status=getattr(found, "status", None),
            duration=time.monotonic() - self._began,
            complete=complete,
            time_to_first_event=None if self._first is None else self._first - self._began,
            request_id=getattr(found, "request_id", None),
            response_id=texts.get("id"),
            model=texts.get("model"),
            finish=texts.get("finish"),
            usage_node=given if isinstance(given, Mapping) else usage,
            error=error,
        )

    def _error_text(self, error: Exception | None) -> str:
        """An error in one line."""
        return f"{type(error).__name__}: {_plain(self._upstream, str(error))}"


def _finish(node: Mapping[str, Any]) -> Any:
    """Why the model stopped; some protocols have a word for it only where it was not at the end."""
    for name in ("finish", "incomplete_details"):
        found = node.get(name)
        if isinstance(found, Mapping) and found.get("reason"):
            return found["reason"]
    if node.get("status") not in ("completed", "requires_action", "idle"):
        return None
    output = node.get("output")
    called = any(each.get("type") in _CALLS for each in output) if isinstance(output, list) else False
    return "tool_calls" if called else "stop"


def _plain(upstream: Upstream, text: str) -> str:
    """A text from elsewhere as part of one line of a log."""
    return printable(" ".join(upstream.hide(text).split()))[:_LONGEST]
