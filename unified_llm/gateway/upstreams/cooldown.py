"""Upstreams that failed a moment ago are skipped while another one can answer, and come back by themselves.

Counted are failures of the upstream itself: overload, rate and quota limits, server errors, and
connections. A request that was refused for what it contains does not count. The table is per process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ...client.upstreams.upstream import Upstream
from ...foundation.errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    OverloadedError,
    QuotaExceededError,
    RateLimitError,
    ServerError,
)

__all__ = ["Cooldown"]

_FAILED = (APIConnectionError, OverloadedError, QuotaExceededError, RateLimitError, ServerError, APITimeoutError)
_UNSUPPORTED = frozenset((501, 505))  # of this request, not of the upstream
_LONGEST = 3_600.0  # seconds of a Retry-After that are believed


class Cooldown:
    """Until when each upstream is skipped, by its `label`. `clock` gives seconds.

    >>> from unified_llm import Upstream
    >>> one, two = (Upstream.of("local/echo").with_(label=name) for name in ("one", "two"))
    >>> found = Cooldown()
    >>> found.failed(one, OverloadedError("busy"), 30)
    >>> [each.label for each in found.available((one, two))], [each.label for each in found.available((one,))]
    (['two'], ['one'])
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def failed(self, upstream: Upstream, error: APIError, seconds: float) -> None:
        """Note a failure: for `seconds`, or for the time of the upstream's Retry-After."""
        if not seconds or not isinstance(error, _FAILED) or error.status in _UNSUPPORTED:
            return
        asked = error.retry_after
        wait = min(float(asked), _LONGEST) if asked is not None and asked > 0 else seconds
        now = self._clock()
        self._until = {label: end for label, end in self._until.items() if end > now}
        self._until[upstream.label] = max(now + wait, self._until.get(upstream.label, 0.0))

    def available(self, upstreams: Sequence[Upstream]) -> tuple[Upstream, ...]:
        """Those that are not skipped, in their order; all of them, the first to come back first, where none is left."""
        if not self._until:
            return tuple(upstreams)
        now = self._clock()
        until = [self._until.get(each.label, 0.0) for each in upstreams]
        ready = tuple(each for each, end in zip(upstreams, until) if end <= now)
        return ready or tuple(each for _, each in sorted(zip(until, upstreams), key=lambda pair: pair[0]))
