"""Whether to retry, and when. Only what had no answer yet, and only errors that may pass with time.

A request that leaves something behind at the provider (`background`, `store: true`) is a case of its own: where its
answer was lost, a second one would make, and charge, the same again. It is tried again, here or at the next upstream,
only with an `idempotency-key` among its headers, or where the first one certainly made nothing.

The provider's advice takes precedence: `x-should-retry`, then `Retry-After`, `retry-after-ms`, a `retryDelay` among the
details. Else the wait doubles, with jitter, so that many clients do not come back together. A provider that requires a
longer wait than `max_wait` is not waited for: the error contains the time, and a fallback may answer at once.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

from ...foundation.errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    AuthenticationError,
    InvalidRequestError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    QuotaExceededError,
    RateLimitError,
    ServerError,
)
from ...foundation.usage_errors import InvalidArgument

__all__ = ["Retry", "made_nothing"]

_TRANSIENT = (RateLimitError, OverloadedError, ServerError, APITimeoutError, APIConnectionError)
_CONFLICT = 409  # a lock at the provider, which the official SDKs try again too
_UNDONE = frozenset((501, 505))


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A policy. `attempts` counts the first one too; `base` seconds before the second, doubling up to `cap`.

    `jitter` is the part of a wait that is left to chance (`seed` makes chance repeatable), `max_wait` the longest
    wait a provider may ask for.

    >>> Retry(jitter=0).delay(RateLimitError("slow down", error={"retry_after": 7}), 1)
    7.0
    >>> [Retry(jitter=0, attempts=9).delay(OverloadedError("busy"), tried) for tried in (1, 2, 3)]
    [0.5, 1.0, 2.0]
    """

    attempts: int = 3
    base: float = 0.5
    cap: float = 8.0
    max_wait: float = 60.0
    jitter: float = 0.25
    seed: int | None = None
    _random: random.Random = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if type(self.attempts) is not int or self.attempts < 1:
            raise InvalidArgument(f"attempts: not a whole number of at least 1: {self.attempts!r}")
        for name in ("base", "cap", "max_wait", "jitter"):
            value = getattr(self, name)
            if type(value) not in (int, float) or not 0 <= value < math.inf:
                raise InvalidArgument(f"{name}: not a number of at least 0: {value!r}")
        object.__setattr__(self, "_random", random.Random(self.seed))

    @classmethod
    def never(cls) -> Retry:
        """One attempt."""
        return _NEVER if cls is Retry else cls(attempts=1)

    def delay(self, error: APIError, tried: int) -> float | None:
        """Seconds to wait after the failure of attempt number `tried`; None when nothing is tried again."""
        if tried >= self.attempts or not self.is_transient(error):
            return None
        after = error.retry_after
        if after is not None:
            return float(after) if after <= self.max_wait else None
        wait = min(self.cap, self.base * 2.0 ** (tried - 1))
        return wait * (1 - self.jitter * self._random.random())

    @staticmethod
    def is_transient(error: APIError) -> bool:
        """Whether the error is temporary, so that another attempt may succeed."""
        if error.should_retry is not None:
            return error.should_retry
        return error.status == _CONFLICT or (isinstance(error, _TRANSIENT) and error.status not in _UNDONE)


_NEVER = Retry(attempts=1)

# Refused before anything was made of the request, all of them.
_REFUSALS = (
    AuthenticationError,
    InvalidRequestError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    QuotaExceededError,
    RateLimitError,
)


def made_nothing(error: APIError) -> bool:
    """Whether a request that failed certainly left nothing behind at the provider.

    >>> made_nothing(RateLimitError("slow down", status=429)), made_nothing(APITimeoutError("timed out"))
    (True, False)
    """
    return error.unsent or isinstance(error, _REFUSALS)
