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
from typing import Any, NamedTuple

from ...client.sending.effects import Answer, Opened
from ...client.transports.translator import OnUsage
from ..configuration.config import Config
from ..configuration.values import Limit, limit
from ..responses.replies import Refusal
from ..state.counters import SharedCounters
from .callers import Key
from .prices import price
from .windows import SECONDS, Counters, Fixed, Moving, Window

__all__ = ["Quota"]

_REMEMBERED = 10_000  # times of requests that a moving window keeps; above, the window is fixed
_SUMS = ("input_tokens", "output_tokens")
_BYTES = 4  # of a request in one token, where tokens are not counted
_PATIENT = 60.0  # seconds; for longer waits, SDKs get no advice to try again


class Rule(NamedTuple):
    """A limit of a key, its window, and where that is counted."""

    limit: Limit
    window: Window
    counters: Counters

    @property
    def left(self) -> int:
        """What may still be used."""
        return self.limit.amount - self.counters.used(self.window)

    @property
    def wait(self) -> float:
        """Seconds until there is more."""
        return self.counters.ends(self.window) - time.time()

    def __str__(self) -> str:
        amount, unit, period = self.limit
        return f"{amount / 1_000_000:g} USD/{period}" if unit == "usd" else f"{amount} {unit}/{period}"


class Quota:
    """The limits of the keys of one configuration, and what was used of them."""

    def __init__(self, config: Config, shared: SharedCounters | None = None) -> None:
        self._parallel: Counter[str] = Counter()
        self._fixed: Counters = Fixed() if shared is None else shared
        self._moving: Counters = Moving() if shared is None else shared
        self._shared = shared
        self.load(config)

    def load(self, config: Config) -> None:
        """Take the limits of another configuration; what was used stays counted."""
        self._most: dict[str, int] = {}
        self._requests: dict[str, list[Rule]] = {}
        self._used: dict[str, list[Rule]] = {}
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
                    table.setdefault(name, []).append(self._rule(name, each))

    def _rule(self, name: str, given: Limit) -> Rule:
        moves = given.unit == "requests" and given.amount <= _REMEMBERED
        window = Window(f"{given.unit}/{name}/{given.period}"[-512:], SECONDS[given.period])
        return Rule(given, window, self._moving if moves else self._fixed)

    async def refresh(self, key: Key) -> None:
        """Read what other nodes have used, where that may matter to the next request of a key."""
        shared, name = self._shared, key.name
        if shared is None:
            return
        rules = (*self._used.get(name, ()), *self._requests.get(name, ()))
        stale = [rule.window for rule in rules if shared.is_stale(rule.window, rule.limit.amount)]
        if stale:
            await shared.refresh(stale)

    def enter(self, key: Key) -> None:
        """Admit a request and count it; `leave` ends it. Raises `Refusal` (429)."""
        name = key.name
        count, most = self._parallel[name], self._most.get(name)
        if most is not None and count >= most:
            raise _refused(f"{most} parallel", 1)
        requests = self._requests.get(name, ())
        for rules in (self._used.get(name, ()), requests):
            for rule in rules:
                if rule.left <= 0:
                    raise _refused(str(rule), rule.wait, spent=rule.limit.unit == "usd")
        for rule in requests:
            rule.counters.add(rule.window)
        self._parallel[name] = count + 1

    def leave(self, key: Key) -> None:
        """The end of a request that was admitted."""
        left = self._parallel[key.name] - 1
        if left:
            self._parallel[key.name] = left
        else:
            del self._parallel[key.name]

    def meter(self, key: Key, content: bytes) -> OnUsage | None:
        """What counts the response to a request with this body; None for a key without such limits."""
        rules = self._used.get(key.name)
        if not rules:
            return None

        def used(found: Answer | Opened, usage: Mapping[str, Any] | None, events: int) -> None:
            if not usage or not _is_count(usage.get("input_tokens")):
                usage = {"input_tokens": len(content) // _BYTES, "output_tokens": events}
            tokens = sum(usage[name] for name in _SUMS if _is_count(usage.get(name)))
            for rule in rules:
                amount = tokens if rule.limit.unit == "tokens" else price(found.upstream, found.model, usage)
                if amount > 0:
                    rule.counters.add(rule.window, min(amount, rule.limit.amount))  # more than full is full

        return used


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _refused(rule: str, seconds: float, *, spent: bool = False) -> Refusal:
    wait = max(1, math.ceil(seconds))
    headers = {"retry-after": str(wait), **({"x-should-retry": "false"} if wait > _PATIENT else {})}
    if spent:
        reason = f"the budget of this API key is spent: {rule}"
        return Refusal(429, "quota", reason, code="budget_exceeded", headers=headers)
    return Refusal(429, "rate_limit", f"the limit of this API key is reached: {rule}", code="limit_exceeded",
                   headers=headers)  # fmt: skip
