"""What went wrong on the wire, as typed errors: the same class for the same trouble, whoever the provider is.

An error document is read by its protocol's adapter, HTTP status and headers with it, and its canonical type decides the
class. Where there is no document (nobody answered, or something that is none), the canonical error is made here. The
errors of the HTTP library are not chained: they hold the request, and the request holds the key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import httpx2

from ..errors import (
    APIError,
    AuthenticationFailed,
    ConnectionFailed,
    ContentFiltered,
    ContextOverflow,
    InvalidBody,
    InvalidRequest,
    NotFound,
    Overloaded,
    PermissionDenied,
    QuotaExceeded,
    RateLimited,
    ServerFailed,
    StreamBroken,
    Timeout,
)
from ..hints import read_hints
from ..jsonvalue import detached, parse
from ..reading import Reader
from ..registry import provider_of, split
from .upstream import Upstream

__all__ = ["canonical_error", "failed", "garbled", "refused", "unreachable", "unreadable"]

_CLASSES: Mapping[str, type[APIError]] = {
    "authentication": AuthenticationFailed,
    "content_filter": ContentFiltered,
    "context_overflow": ContextOverflow,
    "conflict": InvalidRequest,
    "invalid_request": InvalidRequest,
    "not_found": NotFound,
    "overloaded": Overloaded,
    "permission": PermissionDenied,
    "quota": QuotaExceeded,
    "rate_limit": RateLimited,
    "server_error": ServerFailed,
    "timeout": Timeout,
    "too_large": InvalidRequest,
}
_BY_STATUS: Mapping[int, type[APIError]] = {
    401: AuthenticationFailed,
    402: QuotaExceeded,
    403: PermissionDenied,
    404: NotFound,
    408: Timeout,
    429: RateLimited,
    503: Overloaded,
    504: Timeout,
    529: Overloaded,
}
_SHOWN = 300
_PAGE = re.compile(r"\s*(<!doctype|<html)", re.IGNORECASE)


def refused(upstream: Upstream, status: int, headers: Mapping[str, str], raw: bytes, model: str | None) -> APIError:
    """The error of an answer whose HTTP status says that it is one."""
    headers = _shown(upstream, headers)
    text = upstream.hide(raw.decode("utf-8", "replace"))
    try:
        body: Any = parse(text)
    except InvalidBody:
        body = text
    return failed(upstream, canonical_error(upstream, body, status, headers), body, model, status, headers)


def failed(
    upstream: Upstream,
    error: Mapping[str, Any],
    body: Any,
    model: str | None,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> APIError:
    """The typed error of a canonical one. `status` is None for an error inside an answer that had begun well."""
    told = error.get("status") if type(error.get("status")) is int else None
    code = status if status is not None else told
    kind = _CLASSES.get(str(error.get("type"))) or _of_status(code)
    message = error.get("message")
    if not isinstance(message, str) or not message.strip() or _PAGE.match(message):
        message = f"the provider answered with HTTP {code}" if code else "the provider failed without a word"
    return kind(
        upstream.hide(message),
        error=_struck(upstream, error),
        status=code,
        headers=headers,
        body=_struck(upstream, body),
        provider=upstream.provider or httpx2.URL(upstream.base_url).host,
        model=model,
        protocol=upstream.protocol,
    )


def _struck(upstream: Upstream, value: Any) -> Any:
    """A JSON value without the credentials: some servers repeat what they were sent."""
    if isinstance(value, str):
        return upstream.hide(value)
    if isinstance(value, Mapping):
        return {key: _struck(upstream, each) for key, each in value.items()}
    return [_struck(upstream, each) for each in value] if isinstance(value, list) else value


def _shown(upstream: Upstream, headers: Mapping[str, str]) -> dict[str, str]:
    """An answer's headers without secrets."""
    return {name: upstream.hide(value) for name, value in headers.items() if name != "set-cookie"}


def _of_status(status: int | None) -> type[APIError]:
    if status is None or status >= 500 or status < 400:
        return _BY_STATUS.get(status or 0, ServerFailed)
    return _BY_STATUS.get(status, InvalidRequest)


def canonical_error(upstream: Upstream, body: Any, status: int, headers: Mapping[str, str]) -> dict[str, Any]:
    """What the provider's error document says, in the words of all."""
    adapter, dialect = split(upstream.protocol)
    provider = provider_of(upstream.protocol, dialect)
    http = {"status": status, "headers": dict(headers)}
    try:
        reader = Reader(adapter.protocol, dialect=dialect, facing="client", http=http, provider=provider)
        found = reader.root(adapter.kinds["error"].read, detached(body))
        error = found.get("error") if isinstance(found, dict) else None
    except (InvalidBody, KeyError):
        error = None
    if not isinstance(error, dict):
        error = {"message": body if isinstance(body, str) else "", **read_hints(headers)}
    error.setdefault("status", status)
    error.pop("extra", None)
    return error


def unreachable(upstream: Upstream, error: Exception, model: str | None, *, begun: bool = False) -> APIError:
    """The error where nobody answered, or where an answer broke off (`begun`)."""
    if isinstance(error, httpx2.TimeoutException):
        phase = {"Connect": "to connect", "Read": "for more", "Write": "to send", "Pool": "for a free connection"}
        waited = next((told for sign, told in phase.items() if type(error).__name__.startswith(sign)), "too long")
        kind: type[APIError] = Timeout
        message, code = f"timed out waiting {waited}", "timeout"
    elif begun:
        kind, message, code = StreamBroken, "the answer broke off", "stream_broken"
    else:
        kind, message, code = ConnectionFailed, "no connection, or none that held", "connection_failed"
    detail = upstream.hide(str(error)).strip()
    message = f"{message}: {detail}" if detail else message
    type_ = "timeout" if kind is Timeout else "server_error"
    return kind(
        message,
        error={"type": type_, "code": code, "message": message},
        provider=upstream.provider or httpx2.URL(upstream.base_url).host,
        model=model,
        protocol=upstream.protocol,
    )


def unreadable(upstream: Upstream, why: str, raw: bytes, headers: Mapping[str, str], model: str | None) -> APIError:
    """The error of an answer that went well, says HTTP, and is none. Asking the same again would be paid again."""
    shown = upstream.hide(raw[:_SHOWN].decode("utf-8", "replace"))
    kind = headers.get("content-type", "no content type").partition(";")[0]
    message = f"{why} ({kind}): {shown!r}" if shown else f"{why} ({kind})"
    return ServerFailed(
        message,
        error={"type": "server_error", "code": "unreadable_answer", "message": message, "should_retry": False},
        headers=_shown(upstream, headers),
        body=shown,
        provider=upstream.provider or httpx2.URL(upstream.base_url).host,
        model=model,
        protocol=upstream.protocol,
    )


def garbled(upstream: Upstream, data: str, model: str | None) -> APIError:
    """The error of a stream of which an event is no JSON: what it said nobody knows."""
    message = f"an event of the stream is no JSON: {upstream.hide(data[:_SHOWN])!r}"
    return StreamBroken(
        message,
        error={"type": "server_error", "code": "unreadable_event", "message": message},
        provider=upstream.provider or httpx2.URL(upstream.base_url).host,
        model=model,
        protocol=upstream.protocol,
    )
