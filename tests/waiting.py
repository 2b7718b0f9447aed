"""Waiting for what another thread, process or server does: until it is so, never for a length of time.

`PATIENCE` is how long a test waits before it fails. What is waited for takes milliseconds, and seconds on a busy
machine; so no test has a shorter limit of its own for what is expected to happen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["PATIENCE", "limits", "until"]

PATIENCE = 60.0
"""Seconds."""


def until(
    true: Callable[[], Any], what: str | Callable[[], str] = "", pause: Callable[[float], Any] = time.sleep
) -> None:
    """Wait until `true()`. Raises `AssertionError` with `what` after `PATIENCE`.

    `pause` waits between two looks; where the condition depends on an event loop, it runs that loop.
    """
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise AssertionError((what if isinstance(what, str) else what()) or "it never happened")
        pause(0.005)


def limits(first: float) -> Iterator[float]:
    """Time limits in seconds, each longer than the one before: for a test of what happens when one is reached.

    What is limited must have come to a certain point by then. Where it has not, the next limit has its turn.
    """
    while first < PATIENCE:
        yield first
        first *= 4
