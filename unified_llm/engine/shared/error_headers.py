"""The HTTP headers of an error: when to come back, whether to, and how much is left.

Headers become fields of the canonical error (`retry_after` in seconds, or `retry_at` where a date came without the time
it was sent at; `should_retry`; `rate_limits` by what is counted) and go out as the target's headers. There is no clock
here: times are turned into spans, and spans into times, only by the `date` of the same answer.

https://www.rfc-editor.org/rfc/rfc9110#name-retry-after
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from math import ceil, isfinite
from typing import Any, NamedTuple, TypeGuard

from ..pairs.mapping import Fated
from ..pairs.reading import Reader
from ..pairs.writing import Writer

__all__ = [
    "HINTS",
    "RateHeaders",
    "header_safe",
    "rate_limit",
    "read_hints",
    "read_http",
    "seconds_of",
    "sent_status",
    "settle_status",
    "stop_retries",
    "write_hints",
]

Node = dict[str, Any]

HINTS = ("retry_after", "retry_at", "should_retry", "rate_limits")
"""The fields of a canonical error that travel in headers."""

_SPAN = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_UNITS = (86_400, 3_600, 60, 1, 0.001)
_BOOLS = {"true": True, "false": False}
_EARLIEST = 10**9  # the year 2001, in seconds


_UNSAFE = re.compile(r"[^\x20-\x7e]")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def header_safe(headers: Mapping[str, Any]) -> dict[str, str]:
    """These headers as HTTP can carry them: other characters than printable ASCII become `?`, so none ends a header.

    Headers whose name is not a token are left out. https://www.rfc-editor.org/rfc/rfc9110#name-field-values

    >>> header_safe({"x-request-id": "a\\r\\nset-cookie: b"})
    {'x-request-id': 'a??set-cookie: b'}
    """
    return {str(name): _UNSAFE.sub("?", str(value)) for name, value in headers.items() if _TOKEN.fullmatch(str(name))}


class RateHeaders(NamedTuple):
    """How a surface names its headers of rate limits.

    `name` is a template with `{kind}` (what is counted) and `{field}` (limit, remaining, reset); `kinds` are those that
    are counted; `absolute` means that a reset is a time (RFC 3339), not a span (`1m30s`).
    """

    name: str = "x-ratelimit-{field}-{kind}"
    kinds: tuple[str, ...] = ("requests", "tokens")
    absolute: bool = False


_GENERIC = RateHeaders()


def read_hints(headers: Any, rates: RateHeaders = _GENERIC) -> Node:
    """The fields of a canonical error in the headers of its answer.

    >>> read_hints({"Retry-After": "7", "x-should-retry": "false", "x-ratelimit-remaining-tokens": "0"})
    {'retry_after': 7, 'should_retry': False, 'rate_limits': {'tokens': {'remaining': 0}}}
    """
    if not isinstance(headers, Mapping):
        return {}
    said = {str(name).lower(): str(value).strip() for name, value in headers.items()}
    sent = _moment(said.get("date", ""))
    error: Node = {}
    milliseconds, after = _number(said.get("retry-after-ms", "")), _number(said.get("retry-after", ""))
    until = _moment(said.get("retry-after", "")) if after is None else None
    if until is None and said.get("x-ratelimit-remaining") == "0":
        until = _stamp(said.get("x-ratelimit-reset", ""))
    if milliseconds is not None:
        error["retry_after"] = _short(milliseconds / 1000)
    elif after is not None:
        error["retry_after"] = after
    elif until is not None and sent is not None:
        error["retry_after"] = max(0, _short((until - sent).total_seconds()))
    elif until is not None:
        error["retry_at"] = _short(until.timestamp())
    if said.get("x-should-retry", "").lower() in _BOOLS:
        error["should_retry"] = _BOOLS[said["x-should-retry"].lower()]
    limits = {kind.replace("-", "_"): limit for kind in rates.kinds if (limit := _read_limit(kind, said, rates, sent))}
    if limits:
        error["rate_limits"] = limits
    return error


def _read_limit(kind: str, said: Mapping[str, str], rates: RateHeaders, sent: datetime | None) -> Node:
    limit: Node = {}
    for field in ("limit", "remaining"):
        count = _number(said.get(rates.name.format(kind=kind, field=field), ""))
        if count is not None:
            limit[field] = count
    reset = said.get(rates.name.format(kind=kind, field="reset"), "")
    seconds, moment = seconds_of(reset), _moment(reset)
    if seconds is not None:
        limit["reset_after"] = seconds
    elif moment is not None and sent is not None:
        limit["reset_after"] = max(0, _short((moment - sent).total_seconds()))
    if moment is not None:
        limit["reset_at"] = reset
    elif seconds is not None and sent is not None and _is_span(sent.timestamp() + seconds):
        limit["reset_at"] = _rfc3339(sent.timestamp() + seconds)
    return limit


def rate_limit(limit: int, remaining: int, seconds: float, now: float) -> Node:
    """A rate limit of a canonical error, as it is at a time: full again in so many seconds.

    >>> rate_limit(9, 4, 59.2, 1767225600.0)
    {'limit': 9, 'remaining': 4, 'reset_after': 60, 'reset_at': '2026-01-01T00:01:00Z'}
    """
    after = ceil(max(0.0, seconds))
    return {"limit": limit, "remaining": remaining, "reset_after": after, "reset_at": _rfc3339(ceil(now + seconds))}


def write_hints(error: Mapping[str, Any], rates: RateHeaders = _GENERIC) -> dict[str, str]:
    """The headers with a canonical error's advice on retries.

    >>> write_hints({"retry_after": 1.5, "rate_limits": {"tokens": {"limit": 9, "reset_after": 90}}})
    {'retry-after': '2', 'retry-after-ms': '1500', 'x-ratelimit-limit-tokens': '9', 'x-ratelimit-reset-tokens': '1m30s'}
    """
    headers: dict[str, str] = {}
    after, until, should = (error.get(key) for key in ("retry_after", "retry_at", "should_retry"))
    if _is_span(after):
        headers["retry-after"] = str(ceil(after))
        if after != ceil(after):
            headers["retry-after-ms"] = str(round(after * 1000))
    elif _is_span(until):
        from email.utils import format_datetime

        headers["retry-after"] = format_datetime(datetime.fromtimestamp(ceil(until), UTC), usegmt=True)
    if type(should) is bool:
        headers["x-should-retry"] = str(should).lower()
    limits = error.get("rate_limits")
    for kind, limit in limits.items() if type(limits) is dict else ():
        if type(limit) is not dict:
            continue
        for field in ("limit", "remaining"):
            if type(limit.get(field)) in (int, float):
                headers[rates.name.format(kind=kind.replace("_", "-"), field=field)] = str(limit[field])
        reset = limit.get("reset_at") if rates.absolute else _span(limit.get("reset_after"))
        if type(reset) is str:
            headers[rates.name.format(kind=kind.replace("_", "-"), field="reset")] = reset
    return headers


def read_http(error: Node, r: Reader, rates: RateHeaders = _GENERIC) -> None:
    """Give an error the values that its headers have and its body has not."""
    status = r.http.get("status")
    # An answer that went well has no status for an error inside it.
    if type(status) is int and status >= 400 and "status" not in error:
        error["status"] = status
        r.form(error, "status_of", "http")
    for key, value in read_hints(r.http.get("headers"), rates).items():
        error.setdefault(key, value)


# Classes that every status of their hundred may have: their own one adds nothing to the given one.
_WIDE = frozenset(("invalid_request", "too_large", "conflict", "server_error", "timeout", "other"))


def sent_status(kind: str, given: Any, own: Mapping[str, int]) -> int:
    """The HTTP status of an error for another protocol, which has the statuses `own` for the classes of errors.

    A status of one hundred never becomes one of another: clients retry 5xx and not 4xx. Within its hundred it stays,
    unless the class has a status of its own here.

    >>> own = {"server_error": 500, "overloaded": 529, "authentication": 401}
    >>> [sent_status(kind, 503, own) for kind in ("server_error", "overloaded", "authentication")]
    [503, 529, 503]
    >>> sent_status("authentication", 400, own), sent_status("server_error", 400, own)
    (401, 400)
    """
    usual = own.get(kind, 500)
    if type(given) is not int or not 300 <= given <= 599:
        return usual
    return given if kind in _WIDE or kind not in own or given // 100 != usual // 100 else usual


def stop_retries(headers: dict[str, str], kind: str, status: int) -> None:
    """Advise against another attempt where the status of an account that is used up is one that clients try again.

    >>> headers = {}
    >>> stop_retries(headers, "quota", 429)
    >>> headers
    {'x-should-retry': 'false'}
    """
    if kind == "quota" and status == _TRIED_AGAIN:
        headers.setdefault("x-should-retry", "false")


_TRIED_AGAIN = 429


def settle_status(c: Node, w: Writer) -> None:
    """Consume the HTTP status of an error that is written.

    One in its body is reported where another is sent, or where a stream has none to send.
    """
    said, sent = c.get("status"), w.http.get("status")
    drawers = (c.get("extra") or {}).values()
    if said in (None, sent) or any("status_of" in drawer.get("form", ()) for drawer in drawers):
        c.pop("status", None)
    else:
        c["status"] = Fated("approximated", f"sent as HTTP {sent}" if sent else "represented by the type")


def _short(seconds: float) -> int | float:
    return int(seconds) if seconds == int(seconds) else round(seconds, 3)


def _number(text: str) -> int | float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return _short(number) if isfinite(number) and number >= 0 else None


def seconds_of(text: str) -> int | float | None:
    """Seconds of a span such as `6m0s`, `20ms`, or a bare number of them.

    >>> [seconds_of(text) for text in ("6m0s", "20ms", "1.5s", "7", "soon")]
    [360, 0.02, 1.5, 7, None]
    """
    match = _SPAN.fullmatch(text)
    if text and match:
        return _short(sum(float(count) * unit for count, unit in zip(match.groups(), _UNITS) if count))
    return _number(text)


# The last moment that a date of HTTP can name, the end of the year 9999.
_LAST = 253_402_300_799


def _is_span(seconds: Any) -> TypeGuard[float]:
    """Whether a number of seconds, of a span or since 1970, can be sent: no header has what no date can name."""
    return type(seconds) in (int, float) and 0 <= seconds <= _LAST


def _stamp(text: str) -> datetime | None:
    """A time as milliseconds since 1970 (OpenRouter) or seconds; None for less, which is a span.

    https://openrouter.ai/docs/api-reference/errors
    """
    number = _number(text) or 0
    if not _EARLIEST <= number < _EARLIEST * 10_000:
        return None
    return datetime.fromtimestamp(number / 1000 if number >= _EARLIEST * 100 else number, UTC)


def _span(seconds: Any) -> str | None:
    if not _is_span(seconds):
        return None
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}m{_short(rest)}s" if minutes else f"{_short(rest)}s"


def _moment(text: str) -> datetime | None:
    """A time as HTTP or RFC 3339 write it."""
    if not text:
        return None
    from email.utils import parsedate_to_datetime

    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = parse(text)
        except (ValueError, TypeError, IndexError):
            continue
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return None


def _rfc3339(stamp: float) -> str:
    return datetime.fromtimestamp(stamp, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
