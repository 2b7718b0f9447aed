"""When something is tried again, how long is waited, and who decides."""

from __future__ import annotations

import pytest

import unified_llm as ul
from unified_llm.client.sending.retry import Retry

STILL = Retry(jitter=0, attempts=9)


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ul.RateLimitError("m", status=429), True),
        (ul.OverloadedError("m", status=529), True),
        (ul.ServerError("m", status=500), True),
        (ul.APITimeoutError("m"), True),
        (ul.APIConnectionError("m"), True),
        (ul.InvalidRequestError("m", status=409), True),  # a lock, as the official SDKs see it
        (ul.InvalidRequestError("m", status=400), False),
        (ul.AuthenticationError("m", status=401), False),
        (ul.PermissionDeniedError("m", status=403), False),
        (ul.NotFoundError("m", status=404), False),
        (ul.QuotaExceededError("m", status=429), False),
        (ul.ContextOverflowError("m", status=400), False),
        (ul.StreamInterruptedError("m"), False),
        (ul.ServerError("m", status=501), False),
    ],
)
def test_only_what_time_may_repair_is_tried_again(error: ul.APIError, again: bool) -> None:
    assert (STILL.delay(error, 1) is not None) == again


def test_the_wait_doubles_up_to_a_cap() -> None:
    error = ul.OverloadedError("busy")
    assert [STILL.delay(error, tried) for tried in range(1, 8)] == [0.5, 1, 2, 4, 8, 8, 8]


def test_jitter_only_shortens_and_is_repeatable() -> None:
    error = ul.OverloadedError("busy")
    one, two = Retry(seed=1, attempts=9), Retry(seed=1, attempts=9)
    waits = [one.delay(error, 3) for _ in range(20)]
    assert waits == [two.delay(error, 3) for _ in range(20)]
    assert all(wait is not None and 1.5 <= wait <= 2 for wait in waits) and len(set(waits)) > 1


def test_the_provider_says_when() -> None:
    assert STILL.delay(ul.RateLimitError("m", error={"retry_after": 7}), 1) == 7


def test_a_provider_that_wants_too_much_patience_is_not_waited_for() -> None:
    assert Retry(max_wait=10).delay(ul.RateLimitError("m", error={"retry_after": 11}), 1) is None


@pytest.mark.parametrize("advice", [True, False])
def test_the_providers_advice_wins_over_the_class(advice: bool) -> None:
    told = {"should_retry": advice}
    assert (STILL.delay(ul.InvalidRequestError("m", error=told, status=400), 1) is not None) == advice
    assert (STILL.delay(ul.ServerError("m", error=told, status=500), 1) is not None) == advice


def test_attempts_end() -> None:
    assert Retry(attempts=2).delay(ul.OverloadedError("m"), 2) is None
    assert Retry.never().delay(ul.OverloadedError("m"), 1) is None
