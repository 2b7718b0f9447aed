"""The spellings of values in the configuration file: sizes, durations, limits, names. All raise `ValueError`."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field

from ...models.own_prices import prices_of
from ...models.provider_table import logins

__all__ = ["LOGINS", "Budget", "Cooling", "Digest", "Duration", "Limit", "Limits", "Listen", "Login", "Names",
           "Origin", "PriceTable", "Size", "Unlisted", "Variable", "Variables", "limit"]  # fmt: skip

_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}
_SIZE = re.compile(r"(\d+)\s*(kb|mb|gb|)", re.IGNORECASE)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
_LONGEST = 36_500 * 86_400.0  # a hundred years, behind which databases have no times
_DURATION = re.compile(r"(\d+)\s*([smhd]?)")
_LIMIT = re.compile(
    r"([0-9]+(?:\.[0-9]+)?)(?:(?: *(requests|tokens|usd))? */ *(second|minute|hour|day|month)| *(parallel))", re.ASCII
)
LOGINS = ", ".join(f"`{each}`" for each in logins())
_SHA256 = re.compile(r"[0-9a-f]{64}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _size(value: Any) -> Any:
    if isinstance(value, str):
        found = _SIZE.fullmatch(value.strip())
        if found is None:
            raise ValueError("must be a number of bytes, or a size such as '32MB'")
        return int(found[1]) * _UNITS[found[2].lower()]
    return value


def _duration(value: Any) -> Any:
    if isinstance(value, str):
        found = _DURATION.fullmatch(value.strip())
        if found is None:
            raise ValueError("must be a number of seconds, or a duration such as '30d', '12h' or '10m'")
        return float(found[1]) * _SECONDS[found[2]]
    return float(value) if type(value) is int else value


def _listen(value: str) -> str:
    host, colon, port = value.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError("must be host:port, such as '127.0.0.1:8787' or '[::1]:8787'")
    return value


def _digest(value: str) -> str:
    if not _SHA256.fullmatch(value):
        raise ValueError("must be 64 hexadecimal digits; create a key with: unified-llm gateway key new")
    return value


def _login(value: str) -> str:
    if value not in logins():
        raise ValueError(f"unknown login; choose one of {LOGINS}")
    return value


def _variable(value: str) -> str:
    if not _VARIABLE.fullmatch(value):
        raise ValueError("must be the name of an environment variable, not the secret itself")
    return value


def _origin(value: str) -> str:
    if not re.fullmatch(r"https?://[^/\s]+", value):
        raise ValueError("must be an origin, such as 'https://app.example.com'")
    return value.lower()


class Limit(NamedTuple):
    """A parsed limit: `unit` is "requests", "tokens", "parallel" or "usd" (in millionths)."""

    amount: int
    unit: str
    period: str


def limit(text: str) -> Limit:
    """Read a limit. Raises `ValueError`.

    >>> limit("600/minute"), limit("20 parallel")
    (Limit(amount=600, unit='requests', period='minute'), Limit(amount=20, unit='parallel', period=''))
    >>> limit("0.50 USD/day")
    Limit(amount=500000, unit='usd', period='day')
    """
    found = _LIMIT.fullmatch(text.strip().lower())
    if found is not None:
        amount, unit, period, parallel = found.groups()
        exact = Decimal(amount) * (1_000_000 if unit == "usd" else 1)
        if exact > 0 and exact == int(exact):
            return Limit(int(exact), "parallel" if parallel else unit or "requests", period or "")
    raise ValueError("must be a limit such as '600/minute', '200000 tokens/minute', '20 parallel' or '50 USD/month'")


def _limit(value: str) -> str:
    if limit(value).unit == "usd":
        raise ValueError("dollars are a budget, not a limit; use budget")
    return value


def _budget(value: str) -> str:
    if limit(value).unit != "usd":
        raise ValueError("must be a budget such as '50 USD/month'")
    return value


def _price(value: dict[str, Any]) -> dict[str, Any]:
    prices_of(value)
    return value


def _unlisted(value: Any) -> Any:
    if isinstance(value, dict):
        return _price(value)
    if value not in ("refuse", "free"):
        raise ValueError("must be 'refuse', 'free', or a table of prices")
    return value


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Size = Annotated[int, BeforeValidator(_size), Field(gt=0)]
Duration = Annotated[float, BeforeValidator(_duration), Field(gt=0, le=_LONGEST)]
Names = Annotated[list[str], BeforeValidator(_listed)]
Variable = Annotated[str, AfterValidator(_variable)]
Variables = Annotated[list[Variable], BeforeValidator(_listed)]
Login = Annotated[str, AfterValidator(_login)]
Listen = Annotated[str, AfterValidator(_listen)]
Origin = Annotated[str, AfterValidator(_origin)]
Digest = Annotated[str, AfterValidator(_digest)]
Cooling = Annotated[float, BeforeValidator(_duration), Field(ge=0)]
LimitText = Annotated[str, AfterValidator(_limit)]
BudgetText = Annotated[str, AfterValidator(_budget)]
Limits = Annotated[
    list[LimitText],
    Field(
        description='Limits: `"600/minute"` (requests), `"200000 tokens/minute"`, '
        '`"20 parallel"` (requests at the same time, in each process); '
        "per `second`, `minute`, `hour`, `day` or `month` (30 days)."
    ),
]
Budget = Annotated[
    BudgetText | None,
    Field(description='Budget by the prices of upstreams, else list prices: `"50 USD/month"`, or another period.'),
]
Unlisted = Annotated[str | dict[str, Any], BeforeValidator(_unlisted)]
PriceTable = Annotated[dict[str, Any], AfterValidator(_price)]
