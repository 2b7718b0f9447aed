"""What the errors of both protocols share: `google.rpc` details, the HTTP status and the hints beside it.

A retry delay among the details is seconds, and comes back as the same detail. A status given by another protocol stays
only where it means the same class here.

https://google.aip.dev/193
"""

from __future__ import annotations

import re
from typing import Any

from unified_llm.engine.pairs.mapping import lookup
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.error_headers import HINTS, sent_status, stop_retries, write_hints
from unified_llm.engine.shared.error_messages import class_by_details, class_by_message

__all__ = [
    "INFO",
    "OVERFLOW",
    "STATUS",
    "by_reason",
    "by_status",
    "by_words",
    "is_overflow",
    "pop_hints",
    "read_retry",
    "status_of",
    "write_http",
    "write_retry",
]

Node = dict[str, Any]

_RETRY = "type.googleapis.com/google.rpc.RetryInfo"
# Protobuf writes 0, 3, 6 or 9 digits after the point, zeros among them.
_DELAY = re.compile(r"(\d{1,12})(?:\.(\d{1,9}))?s", re.ASCII)
INFO = "type.googleapis.com/google.rpc.ErrorInfo"
# Reasons that are more specific than the status.
_REASONS = {"API_KEY_INVALID": "authentication", "API_KEY_EXPIRED": "authentication"}
STATUS = {
    "invalid_request": 400,
    "context_overflow": 400,
    "content_filter": 400,
    "too_large": 400,
    "authentication": 401,
    "permission": 403,
    "not_found": 404,
    "conflict": 409,
    "rate_limit": 429,
    "quota": 429,
    "server_error": 500,
    "other": 500,
    "overloaded": 503,
    "timeout": 504,
}
_BY_STATUS = {status: kind for kind, status in reversed(STATUS.items())} | {
    402: "quota",
    408: "timeout",
    413: "too_large",
    529: "overloaded",
}
# Every one of these stands in the message of a prompt that is too long.
_OVERFLOW = ("input token count", "maximum number of tokens")
OVERFLOW = "The input token count exceeds the maximum number of tokens allowed"


def is_overflow(message: Any) -> bool:
    """Whether a message means that the prompt is too long."""
    return type(message) is str and all(sign in message for sign in _OVERFLOW)


def by_reason(details: Any) -> str | None:
    """The class that a reason among the details shows."""
    for detail in details if type(details) is list else ():
        if type(detail) is dict and detail.get("@type") == INFO:
            kind: str | None = lookup(_REASONS, detail.get("reason"))
            if kind is not None:
                return kind
    return None


def by_words(kind: str | None, message: Any, details: Any = None) -> str | None:
    """The class of an error whose word means the class `kind`, by its message and its details too."""
    if kind == "invalid_request" and is_overflow(message):
        return "context_overflow"
    return class_by_details(class_by_message(kind, message), details)


def by_status(status: Any) -> str | None:
    """The class of a failed request whose body does not determine it."""
    if type(status) is not int or status < 400:
        return None
    return _BY_STATUS.get(status) or ("invalid_request" if status < 500 else "server_error")


def status_of(kind: str, status: Any, w: Writer) -> int:
    """The HTTP status of an error: the one that was given, unless the class has its own one here."""
    return status if type(status) is int and w.source == w.protocol else sent_status(kind, status, STATUS)


def write_http(error: Node, status: int, w: Writer) -> None:
    """The status and the headers of a failed request."""
    w.http["status"] = status
    headers = write_hints(error)
    if w.source != w.protocol:
        stop_retries(headers, str(error.get("type")), status)
    if headers:
        w.http.setdefault("headers", {}).update(headers)
    w.context["hints"] = frozenset(HINTS)


def pop_hints(c: Node, w: Writer) -> None:
    """What went into the headers; an error inside a stream has none, and what only they could carry is lost."""
    for key in w.context.get("hints", ()):
        c.pop(key, None)


def read_retry(details: list[Any], error: Node, r: Reader) -> list[Any]:
    """The details but for a retry delay, which becomes seconds; its place is a marker."""
    for index, detail in enumerate(details):
        if type(detail) is not dict or detail.get("@type") != _RETRY or detail.keys() != {"@type", "retryDelay"}:
            continue
        delay = detail["retryDelay"]
        found = _DELAY.fullmatch(delay) if type(delay) is str else None
        if found is None:
            continue
        value: int | float = int(found[1]) if found[2] is None else float(delay[:-1])
        digits = 0 if found[2] is None else len(found[2])
        if _delay(value, digits) == delay:
            error["retry_after"] = value
            r.form(error, "retry", index)
            if _delay(value) != delay:
                r.form(error, "retry_digits", digits)
            r.place(error, ("retry_after",), ("details", index, "retryDelay"))
            return [*details[:index], *details[index + 1 :]]
    return details


def write_retry(c: Node, details: list[Any], w: Writer) -> None:
    """Put a retry delay back among the details."""
    if type(c.get("retry_after")) in (int, float):
        place, digits = w.form(c, "retry"), w.form(c, "retry_digits")
        seconds = c.pop("retry_after")
        delay = _delay(seconds, digits) if type(digits) is int else _delay(seconds)
        detail = {"@type": _RETRY, "retryDelay": delay if float(delay[:-1]) == seconds else _delay(seconds)}
        details.insert(place if type(place) is int else len(details), detail)


def _delay(seconds: float, digits: int | None = None) -> str:
    """A duration as JSON has it; `digits` are those after its point."""
    return f"{seconds}s" if digits is None else f"{seconds:.{digits}f}s"
