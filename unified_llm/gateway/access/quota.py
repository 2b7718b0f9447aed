"""What a key and its team may use: requests, tokens and dollars in a window of time, and requests at the same time.

A request is refused before anything is sent, and counted once it is admitted; tokens and dollars are known when the
response ends, so the request that crosses such a limit is still answered and the next one is refused. Counters survive
a reload of the configuration. They are in memory, per process, or shared by all nodes through the database
(`SharedCounters`); requests at the same time are counted per process in any case.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ...client.sending.effects import Answer, Left, Opened
from ...client.transports.translator import OnUsage
from ...engine.registry import split
from ...engine.shared.error_headers import RateHeaders, rate_limit, write_hints
from ..configuration.config import Config, KeySettings, TeamSettings
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
_SHOWN = ("requests", "tokens")  # what has headers
_LONGEST = 480  # characters of a name in that of a counter
_PATIENT = 60.0  # seconds; for longer waits, SDKs get no advice to try again


class Owner(NamedTuple):
    """Whose a limit is: one key's, or that of a team of keys together."""

    kind: str  # "key" or "team"
    name: str

    def __str__(self) -> str:
        return "this API key" if self.kind == "key" else f"the team {self.name!r}"


class Rule(NamedTuple):
    """A limit, whose it is, its window, and where that is counted."""

    owner: Owner
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
        over = max(0, -self.left)  # of a limit that was lowered more is used than there is
        return self.counters.ends(self.window, over) - time.time()

    def __str__(self) -> str:
        amount, unit, period = self.limit
        return f"{amount / 1_000_000:g} USD/{period}" if unit == "usd" else f"{amount} {unit}/{period}"


class Quota:
    """The limits of the keys and teams of one configuration, and what was used of them."""

    def __init__(self, config: Config, shared: SharedCounters | None = None) -> None:
        self._parallel: Counter[Owner] = Counter()
        self._fixed: Counters = Fixed() if shared is None else shared
        self._moving: Counters = Moving() if shared is None else shared
        self._shared = shared
        self.load(config)

    def load(self, config: Config) -> None:
        """Take the limits of another configuration; what was used stays counted."""
        self._most: dict[Owner, int] = {}
        self._rules: dict[Owner, list[Rule]] = {}
        limited: tuple[tuple[str, Mapping[str, KeySettings | TeamSettings]], ...]
        limited = ("key", config.keys), ("team", config.teams)
        for owner, each in ((Owner(kind, name), each) for kind, table in limited for name, each in table.items()):
            self._load(owner, [*map(limit, each.limits), *([limit(each.budget)] if each.budget is not None else [])])

    def _load(self, owner: Owner, given: list[Limit]) -> None:
        kinds: dict[tuple[str, str], Limit] = {}
        for each in given:  # of two limits of the same kind the smaller one: they would share a counter
            kind = each.unit, each.period
            kinds[kind] = min(each, kinds.get(kind, each))
        for each in kinds.values():
            if each.unit == "parallel":
                self._most[owner] = min(each.amount, self._most.get(owner, each.amount))
            else:
                self._rules.setdefault(owner, []).append(self._rule(owner, each))

    def _rule(self, owner: Owner, given: Limit) -> Rule:
        moves = given.unit == "requests" and given.amount <= _REMEMBERED
        prefix = "" if owner.kind == "key" else f"{owner.kind}:"  # no unit begins so: a team never counts as a key
        name = f"{prefix}{given.unit}/{owner.name[-_LONGEST:]}/{given.period}"
        return Rule(owner, given, Window(name, SECONDS[given.period]), self._moving if moves else self._fixed)

    def rules(self, key: Key) -> list[Rule]:
        """The limits that requests of a key count against, but for those of requests at the same time."""
        found = self._rules
        return [rule for owner in _owners(key.name, key.team) for rule in found.get(owner, ())] if found else []

    def headers(self, key: Key | None, protocol: str) -> dict[str, str]:
        """The headers with the limits of requests and tokens of a key, if it is known, by their names in a protocol.

        They are from memory. Of several limits of a kind it is the one of which least is left.
        """
        found: dict[str, Rule] = {}
        for rule in self.rules(key) if key is not None else ():
            unit = rule.limit.unit
            if unit in _SHOWN and (unit not in found or rule.left < found[unit].left):
                found[unit] = rule
        if not found:
            return {}
        now, limits = time.time(), {}
        for unit, rule in found.items():
            seconds = rule.counters.clears(rule.window) - now
            limits[unit] = rate_limit(rule.limit.amount, max(0, rule.left), seconds, now)
        return write_hints({"rate_limits": limits}, split(protocol)[0].rates or RateHeaders())

    def all_rules(self) -> list[Rule]:
        """The same of all keys and teams."""
        return [rule for rules in self._rules.values() for rule in rules]

    async def read(self, rules: Sequence[Rule]) -> None:
        """Read what all nodes have used of limits. Raises `StoreUnavailable`."""
        if self._shared is not None:
            await self._shared.read(rule.window for rule in rules)

    async def refresh(self, key: Key) -> None:
        """Read what other nodes have used, where that may matter to the next request of a key."""
        shared = self._shared
        if shared is None:
            return
        stale = [rule.window for rule in self.rules(key) if shared.is_stale(rule.window, rule.limit.amount)]
        if stale:
            await shared.refresh(stale)

    def enter(self, key: Key) -> None:
        """Admit a request and count it; `leave` ends it. Raises `Refusal` (429)."""
        owners, rules, parallel = _owners(key.name, key.team), self.rules(key), self._parallel
        for owner in owners:
            most = self._most.get(owner)
            if most is not None and parallel[owner] >= most:
                raise _refused(owner, f"{most} parallel", 1)
        full = [rule for rule in rules if rule.left <= 0]
        if full:  # a client that waits for one of them must not find another one
            last = max(full, key=lambda each: each.wait)
            raise _refused(last.owner, str(last), last.wait, spent=last.limit.unit == "usd")
        for rule in rules:
            if rule.limit.unit == "requests":
                rule.counters.add(rule.window)
        for owner in owners:
            parallel[owner] += 1

    def leave(self, key: Key) -> None:
        """The end of a request that was admitted."""
        for owner in _owners(key.name, key.team):
            left = self._parallel[owner] - 1
            if left:
                self._parallel[owner] = left
            else:
                del self._parallel[owner]

    def meter(self, key: Key, content: bytes) -> OnUsage | None:
        """What counts the response to a request with this body; None for a key without such limits."""
        rules = [rule for rule in self.rules(key) if rule.limit.unit != "requests"]
        if not rules:
            return None

        def used(found: Answer | Opened | Left, usage: Mapping[str, Any] | None, events: int) -> None:
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


@lru_cache(1_000)
def _owners(key: str, team: str) -> tuple[Owner, ...]:
    own = Owner("key", key)
    return (own, Owner("team", team)) if team else (own,)


def _refused(owner: Owner, rule: str, seconds: float, *, spent: bool = False) -> Refusal:
    wait = max(1, math.ceil(seconds))
    headers = {"retry-after": str(wait), **({"x-should-retry": "false"} if wait > _PATIENT else {})}
    if spent:
        reason = f"the budget of {owner} is spent: {rule}"
        return Refusal(429, "quota", reason, code="budget_exceeded", headers=headers)
    return Refusal(429, "rate_limit", f"the limit of {owner} is reached: {rule}", code="limit_exceeded",
                   headers=headers)  # fmt: skip
