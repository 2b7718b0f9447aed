"""What a key may use: requests, tokens and dollars in a window of time, and requests at the same time.

A request is refused before anything is sent, and counted once it is admitted; tokens and dollars are known when the
response ends, so the request that crosses such a limit is still answered and the next one is refused. Counters survive
a reload of the configuration. They are in memory, per process, or shared by all nodes through the database
(`SharedCounters`); requests at the same time are counted per process in any case.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from limits import (
    RateLimitItem,
    RateLimitItemPerDay,
    RateLimitItemPerHour,
    RateLimitItemPerMinute,
    RateLimitItemPerMonth,
    RateLimitItemPerSecond,
)
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter

from ..client.sending.effects import Answer, Opened
from ..client.transports.translator import OnUsage
from ..errors import InvalidBody, UnknownModel, UnknownProvider
from ..models.pricing import cost
from .access import Key
from .config import Config
from .replies import Refusal
from .state.counters import SharedCounters
from .values import Limit, limit

__all__ = ["Quota", "price"]

_WINDOWS: dict[str, type[RateLimitItem]] = {
    "second": RateLimitItemPerSecond,
    "minute": RateLimitItemPerMinute,
    "hour": RateLimitItemPerHour,
    "day": RateLimitItemPerDay,
    "month": RateLimitItemPerMonth,
}
_REMEMBERED = 10_000  # times of requests that a moving window keeps; above, the window is fixed
_SUMS = ("input_tokens", "output_tokens")
_BYTES = 4  # of a request in one token, where tokens are not counted
_PATIENT = 60.0  # seconds; SDKs are not asked to try again later than that


class Quota:
    """The limits of the keys of one configuration, and what was used of them."""

    def __init__(self, config: Config, shared: SharedCounters | None = None) -> None:
        self._parallel: Counter[str] = Counter()
        self._storage: MemoryStorage | SharedCounters | None = shared
        self.load(config)

    def load(self, config: Config) -> None:
        """Take the limits of another configuration; what was used stays counted."""
        self._most: dict[str, int] = {}
        self._requests: dict[str, list[RateLimitItem]] = {}
        self._used: dict[str, list[RateLimitItem]] = {}
        for name, key in config.keys.items():
            given = [*map(limit, key.limits), *([limit(key.budget)] if key.budget is not None else [])]
            kinds: dict[tuple[str, str], Limit] = {}
            for each in given:  # of two limits of the same kind the smaller one: they would share a counter
                kind = each.unit, each.period
                kinds[kind] = min(each, kinds.get(kind, each))
            for each in kinds.values():
                if each.unit == "parallel":
                    self._most[name] = min(each.amount, self._most.get(name, each.amount))
                else:
                    table = self._requests if each.unit == "requests" else self._used
                    table.setdefault(name, []).append(_item(each))
        if self._storage is None and (self._requests or self._used):
            self._storage = MemoryStorage()
        if self._storage is not None:
            self._fixed: FixedWindowRateLimiter = FixedWindowRateLimiter(self._storage)
            moves = isinstance(self._storage, MemoryStorage)
            self._moving = MovingWindowRateLimiter(self._storage) if moves else self._fixed

    def enter(self, key: Key) -> None:
        """Admit a request and count it; `leave` ends it. Raises `Refusal` (429)."""
        name = key.name
        if self._parallel[name] >= self._most.get(name, math.inf):
            raise _refused(f"{self._most[name]} parallel", 1)
        for item in self._used.get(name, ()):
            stats = self._fixed.get_window_stats(item, name)
            if stats.remaining <= 0:
                raise _refused(_shown(item), stats.reset_time - time.time(), spent=item.namespace == "usd")
        requests = self._requests.get(name, ())
        for item in requests:
            if not self._by(item).test(item, name):
                raise _refused(_shown(item), self._by(item).get_window_stats(item, name).reset_time - time.time())
        for item in requests:
            self._by(item).hit(item, name)
        self._parallel[name] += 1

    def leave(self, key: Key) -> None:
        """The end of a request that was admitted."""
        self._parallel[key.name] -= 1
        if not self._parallel[key.name]:
            del self._parallel[key.name]

    def meter(self, key: Key, content: bytes) -> OnUsage | None:
        """What counts the response to a request with this body; None for a key without such limits."""
        items = self._used.get(key.name)
        if not items:
            return None

        def used(found: Answer | Opened, usage: Mapping[str, Any] | None, events: int) -> None:
            if not usage or not _is_count(usage.get("input_tokens")):
                usage = {"input_tokens": len(content) // _BYTES, "output_tokens": events}
            tokens = sum(usage[name] for name in _SUMS if _is_count(usage.get(name)))
            for item in items:
                amount = tokens if item.namespace == "tokens" else price(found, usage)
                if amount > 0:
                    self._fixed.hit(item, key.name, cost=min(amount, item.amount))  # more than full is full

        return used

    def _by(self, item: RateLimitItem) -> MovingWindowRateLimiter | FixedWindowRateLimiter:
        return self._moving if item.amount <= _REMEMBERED else self._fixed


def price(found: Answer | Opened, usage: Mapping[str, Any]) -> int:
    """Millionths of a dollar by the catalog; 0 for a model that has no listed price."""
    try:
        bill = cost(usage, f"{found.upstream.provider}/{found.model}", fallback=True)
    except (ArithmeticError, InvalidBody, TypeError, UnknownModel, UnknownProvider, ValueError):
        return 0  # an upstream may send anything as its usage
    return math.ceil(bill.known * 1_000_000)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _item(given: Limit) -> RateLimitItem:
    return _WINDOWS[given.period](given.amount, 1, namespace=given.unit)


def _shown(item: RateLimitItem) -> str:
    amount = f"{item.amount / 1_000_000:g} USD" if item.namespace == "usd" else f"{item.amount} {item.namespace}"
    return f"{amount}/{item.GRANULARITY.name}"


def _refused(rule: str, seconds: float, *, spent: bool = False) -> Refusal:
    wait = max(1, math.ceil(seconds))
    headers = {"retry-after": str(wait), **({"x-should-retry": "false"} if wait > _PATIENT else {})}
    if spent:
        reason = f"the budget of this API key is spent: {rule}"
        return Refusal(429, "quota", reason, code="budget_exceeded", headers=headers)
    return Refusal(429, "rate_limit", f"the limit of this API key is reached: {rule}", code="limit_exceeded",
                   headers=headers)  # fmt: skip
