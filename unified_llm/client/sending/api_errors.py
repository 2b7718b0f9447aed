"""What went wrong on the wire, as typed errors: the same class for the same cause, for every provider.

An error document is read by its protocol's adapter, HTTP status and headers with it, and its canonical type decides the
class, as far as the HTTP status allows: a 4xx is never the server's failure. Where there is no document, the canonical
error is made here. The errors of the HTTP library are not chained: they hold the request, and the request holds the
key. Everything that is shown went through `Upstream.hide`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import httpx2

from ...engine.pairs.reading import Reader
from ...engine.registry import provider_of, split
from ...engine.shared.answer_ends import FAILED
from ...engine.shared.error_headers import read_hints
from ...engine.shared.error_messages import wait_by_message
from ...foundation.errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    AuthenticationError,
    ContentFilterError,
    ContextOverflowError,
    InvalidBody,
    InvalidRequestError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    QuotaExceededError,
    RateLimitError,
    ServerError,
    StreamInterruptedError,
)
from ...foundation.hints import Argument, Code, Each, Either, Hint, Name
from ...foundation.json_codec import detached, dump, parse
from ...foundation.terminal import printable
from ..upstreams.upstream import Upstream
from .deadline import DeadlineReached
from .response_check import error_in

__all__ = [
    "BROKEN",
    "GARBLED",
    "canonical_error",
    "failed",
    "failed_answer",
    "interrupted",
    "is_document",
    "refused",
    "shown",
    "shown_head",
    "unreachable",
    "unusable",
]

_CLASSES: Mapping[str, type[APIError]] = {
    "authentication": AuthenticationError,
    "content_filter": ContentFilterError,
    "context_overflow": ContextOverflowError,
    "invalid_request": InvalidRequestError,
    "conflict": InvalidRequestError,
    "not_found": NotFoundError,
    "overloaded": OverloadedError,
    "permission": PermissionDeniedError,
    "quota": QuotaExceededError,
    "rate_limit": RateLimitError,
    "server_error": ServerError,
    "timeout": APITimeoutError,
    "too_large": InvalidRequestError,
}
_BY_STATUS: Mapping[int, type[APIError]] = {
    401: AuthenticationError,
    402: QuotaExceededError,
    403: PermissionDeniedError,
    404: NotFoundError,
    408: APITimeoutError,
    429: RateLimitError,
    503: OverloadedError,
    504: APITimeoutError,
    529: OverloadedError,
}
# What is wrong with an answer of status 200.
UNREADABLE, BROKEN, GARBLED = "unreadable_answer", "stream_broken", "unreadable_event"
_BAD_GATEWAY = 502  # what HTTP has for that; agents replace the message of a 500 by one of their own
_SHOWN = 300
_MESSAGES = ("detail", "message", "error", "title", "reason")  # keys of other servers' errors
_LONGEST = 100_000  # of a page that is looked at
_PAGE = re.compile(r"\s*(<!--.*?-->\s*)?<(!doctype|html|head|body|title|center|h1|\?xml)\b", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(r"<(title|h1)\b[^>]*>\s*([^<]{1,80})", re.IGNORECASE)
# Words that are less specific than a status, and classes that no 4xx but 408 can be.
_VAGUE = frozenset(("invalid_request", "server_error", "other"))
_OF_SERVERS = (OverloadedError, ServerError, APITimeoutError)


def refused(upstream: Upstream, status: int, headers: Mapping[str, str], raw: bytes, model: str | None) -> APIError:
    """The error of an answer with an HTTP status of an error, or (200) with an error document."""
    headers = shown(upstream, headers)
    text = raw.decode("utf-8", "replace")
    try:
        body: Any = upstream.secrets.hidden(parse(text))
    except InvalidBody:
        body = upstream.hide(text[:_LONGEST])
    error = canonical_error(upstream, body, status, headers)
    if 300 <= status < 400:
        error["message"] = _redirected(upstream, status, headers)
        error["should_retry"] = False
    sent = None if 200 <= status < 300 else status
    return failed(upstream, error, body, model, sent, headers)


def failed_answer(
    upstream: Upstream, kind: str, value: Any, headers: Mapping[str, str], model: str | None
) -> APIError | None:
    """The error in a whole answer that failed, or of a router whose upstream did; None for other answers.

    `.body` is all of it.
    """
    if type(value) is not dict:
        return None
    given = error_in(split(upstream.protocol)[0], kind, value)
    if given is None and value.get("status") != "failed":
        return None
    shown = upstream.secrets.hidden(value)  # of a failure alone: it walks through the whole document
    if given is not None:
        error = canonical_error(upstream, {"error": upstream.secrets.hidden(given)}, 200, headers)
    else:
        # (What stopped it stands elsewhere, or nowhere. An answer that was blocked may be called "failed" too.)
        found = _read(upstream, "response", shown, 200, headers)
        if found is None or found.get("status") != "failed":
            return None
        error = {"type": "server_error", "message": FAILED, **(found.get("error") or {})}
        error.pop("extra", None)
    return failed(upstream, error, shown, model, None, headers)


def _redirected(upstream: Upstream, status: int, headers: Mapping[str, str]) -> str:
    """Where a redirect leads, without its query: it may hold credentials."""
    where = headers.get("location", "").partition("?")[0].partition("#")[0]
    told = f" to {printable(upstream.hide(where))[:_SHOWN]}" if where else ""
    why = "redirects are not followed, because credentials stay at their origin"
    advice = Each((Hint("set ", Name("base_url"), " to the address that answers"),), before=": ")
    return Hint(f"the server redirects{told}; {why}", advice)


def failed(
    upstream: Upstream,
    error: Mapping[str, Any],
    body: Any,
    model: str | None,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> APIError:
    """The typed error of a canonical one. `status` is None for an error inside an answer that had begun well."""
    told = _code(error.get("status")) or _code(error.get("code"))
    code = status if status is not None else told
    type_ = str(error.get("type"))
    kind = _CLASSES.get(type_) or _of_status(code)
    if code is not None and (type_ in _VAGUE or (code < 500 and issubclass(kind, _OF_SERVERS))):
        kind = _of_status(code)
    message = error.get("message")
    if not isinstance(message, str) or not message.strip() or _PAGE.match(message):
        page = message if isinstance(message, str) and message.strip() else body
        message = _hint(page, code)
        error = {**error, "message": message}
    wait = wait_by_message(message) if issubclass(kind, (RateLimitError, OverloadedError)) else None
    if wait is not None and error.keys().isdisjoint(("retry_after", "retry_at")):
        error = {**error, "retry_after": wait}
    hidden = upstream.secrets.hidden({**error, "message": message})
    return _made(kind, upstream, hidden, model, status=code, headers=headers, body=upstream.secrets.hidden(body))


_CHECK = Each((Hint("check ", Name("base_url")),), before="; ")


def _hint(body: Any, status: int | None) -> str:
    """The message for an error without one, or with one in HTML."""
    import html

    answered = f"HTTP {status}" if status else "an error"
    if isinstance(body, str) and _PAGE.match(body):
        title = _TITLE.search(body)
        named = f" ({printable(html.unescape(' '.join(title[2].split())))!r})" if title else ""
        return Hint(f"the server returned {answered} with an HTML page{named} instead of an API error", _CHECK)
    words = _words(body)
    return (
        f"the server returned {answered}: {words}"
        if words
        else f"the server returned {answered} without an error message"
    )


def _words(body: Any) -> str:
    """The message of a body that is not an error document of its protocol."""
    if isinstance(body, str):
        return printable(" ".join(body.split()))[:_SHOWN]
    for name in _MESSAGES if isinstance(body, dict) else ():
        found = body.get(name)
        if isinstance(found, str) and found.strip() and not _PAGE.match(found):
            return printable(" ".join(found.split()))[:_SHOWN]
    return printable(dump(body).decode())[:_SHOWN] if isinstance(body, (dict, list)) and is_document(body) else ""


def is_document(body: Any) -> bool:
    """Whether the body of an error has content that is not HTML and may be shown unchanged."""
    if isinstance(body, str):
        return bool(body.strip()) and not _PAGE.match(body)
    if isinstance(body, dict):
        texts = [each for each in body.values() if isinstance(each, (str, dict, list))]
        return any(map(is_document, texts)) and not any(isinstance(each, str) and _PAGE.match(each) for each in texts)
    return isinstance(body, list) and bool(body) and all(map(is_document, body))


def _code(value: Any) -> int | None:
    """The HTTP status of an error that some servers put into the body."""
    if isinstance(value, str) and value.isdecimal() and value.isascii():
        value = int(value[:4])
    return value if type(value) is int and 400 <= value <= 599 else None


def shown(upstream: Upstream, headers: Mapping[str, str]) -> dict[str, str]:
    """An answer's headers without secrets."""
    return shown_head(upstream, dict(headers), "")[0]


def shown_head(upstream: Upstream, headers: dict[str, str], url: str) -> tuple[dict[str, str], str]:
    """An answer's headers, and the URL it came from without its query, both without secrets. Takes the headers."""
    headers.pop("set-cookie", None)
    url = url.partition("?")[0].partition("#")[0]
    joined = "\n".join((url, *headers.values()))
    if upstream.hide(joined) is joined:  # nothing in any of them
        return headers, url
    return {name: upstream.hide(value) for name, value in headers.items()}, upstream.hide(url)


def _of_status(status: int | None) -> type[APIError]:
    if status is None or status >= 500 or status < 400:
        return _BY_STATUS.get(status or 0, ServerError)
    return _BY_STATUS.get(status, InvalidRequestError)


def canonical_error(upstream: Upstream, body: Any, status: int, headers: Mapping[str, str]) -> dict[str, Any]:
    """The canonical form of the provider's error document."""
    found = _read(upstream, "error", body, status, headers)
    error = found.get("error") if found is not None else None
    if not isinstance(error, dict):
        error = {"message": body if isinstance(body, str) else "", **read_hints(headers)}
    if "type" not in error:
        named = _of_status(status if status >= 300 else None)
        error["type"] = next(name for name, kind in _CLASSES.items() if kind is named)
    if status >= 300:
        error.setdefault("status", status)
    error.pop("extra", None)
    return error


def _read(upstream: Upstream, kind: str, body: Any, status: int, headers: Mapping[str, str]) -> dict[str, Any] | None:
    """The canonical form of what a provider answered, or None for what is not its own."""
    adapter, dialect = split(upstream.protocol)
    http = {"status": status, "headers": dict(headers)}
    provider = provider_of(upstream.protocol, dialect)
    try:
        reader = Reader(adapter, dialect=dialect, facing="client", http=http, provider=provider)
        found = reader.root(adapter.kinds[kind].read, detached(body))
    except (InvalidBody, KeyError):
        return None
    return found if isinstance(found, dict) else None


# Where a connection was not there yet, nothing went over it.
_UNSENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.LocalProtocolError,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
)


_HEADERS = Either((Code(" and headers"),))  # which no command has
_UNSENDABLE = Hint("the request cannot be sent", Each((Hint("check ", Name("base_url"), _HEADERS),), before="; "))
_TIMED_OUT = {
    "Connect": "timed out connecting",
    "Read": "timed out reading the response",
    "Write": "timed out sending the request",
    "Pool": "timed out waiting for a free pool connection",
}


def unreachable(upstream: Upstream, error: Exception, model: str | None, *, begun: bool = False) -> APIError:
    """The error where no response came, or where one broke off (`begun`)."""
    if isinstance(error, httpx2.TimeoutException):
        name = type(error).__name__
        kind: type[APIError] = APITimeoutError
        message = next((told for sign, told in _TIMED_OUT.items() if name.startswith(sign)), "request timed out")
        code = "timeout"
        if isinstance(error, DeadlineReached):
            message, code = "timed out", "total_timeout"
    elif isinstance(error, httpx2.DecodingError):
        kind, message, code = (
            StreamInterruptedError if begun else ServerError,
            "decoding the response failed",
            "undecodable",
        )
    elif isinstance(error, (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol)):
        # Nothing was sent, and nothing will be: the text of such an error quotes what it could not send.
        kind, message, code = APIConnectionError, _UNSENDABLE, "unsendable"
    elif begun:
        kind, message, code = (
            StreamInterruptedError,
            "connection closed before the response was complete",
            "stream_broken",
        )
    else:
        kind, message, code = APIConnectionError, "the connection failed before a response", "connection_failed"
    detail = "" if code == "unsendable" else printable(upstream.hide(str(error)).strip())
    message = f"{message}: {detail}" if detail else message
    type_ = "timeout" if kind is APITimeoutError else "server_error"
    told: dict[str, Any] = {"type": type_, "code": code, "message": message}
    if code == "unsendable":
        told["should_retry"] = False
    found = _made(kind, upstream, told, model)
    found.unsent = isinstance(error, _UNSENT)
    return found


def overdue(error: DeadlineReached) -> APITimeoutError:
    """The error where the total time of a run was over between its requests, with tools or hooks running."""
    message = f"timed out: {error}"
    found = APITimeoutError(message, error={"type": "timeout", "code": "total_timeout", "message": message})
    found.hint = Hint("raise ", Argument("total_timeout"))
    return found


def unusable(
    upstream: Upstream,
    why: str,
    model: str | None,
    *,
    raw: bytes | str = b"",
    headers: Mapping[str, str] | None = None,
    code: str = UNREADABLE,
    again: bool | None = False,
) -> APIError:
    """The error of an answer that HTTP calls a success, and that cannot be used.

    `code` is `UNREADABLE` for a whole answer, `BROKEN` for a stream that ended before its end, `GARBLED` for one with
    an event that is not JSON. `raw` is what to show of it. `again` means that the next answer may be whole; without it
    the server would send the same. None leaves that to the class of the error.
    """
    # Cut after redaction: half a key would not be recognized.
    text = raw if isinstance(raw, str) else raw[:_LONGEST].decode("utf-8", "replace")
    text = upstream.hide(text[:_LONGEST])[:_SHOWN]
    message = upstream.hide(why)
    if headers is not None:
        kind = upstream.hide(headers.get("content-type", "no content type").partition(";")[0])
        message = f"{message} ({printable(kind)})"
    if text and not _PAGE.match(text):
        message = f"{message}: {text!r}"
    told = {"type": "server_error", "code": code, "message": message, "status": _BAD_GATEWAY}
    return _made(
        ServerError if code == UNREADABLE else StreamInterruptedError,
        upstream,
        told if again is None else {**told, "should_retry": again},
        model,
        headers=None if headers is None else shown(upstream, headers),
        body=text,
    )


def interrupted(upstream: Upstream, message: str, model: str | None) -> APIError:
    """The error of a stream that broke off, or broke its own rules."""
    error = {"type": "server_error", "code": "stream_broken", "message": upstream.hide(message)}
    return _made(StreamInterruptedError, upstream, error, model)


def _made(
    kind: type[APIError], upstream: Upstream, error: Mapping[str, Any], model: str | None, **told: Any
) -> APIError:
    """An error of an upstream, with whose it is."""
    return kind(
        error["message"],
        error={**error, "message": str(error["message"])},
        provider=upstream.provider or httpx2.URL(upstream.base_url).host,
        model=model,
        protocol=upstream.protocol,
        **told,
    )
