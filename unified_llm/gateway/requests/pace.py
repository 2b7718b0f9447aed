"""How fast a request has to come: a client that sends a byte a minute must not hold a connection and memory for ever.

Time is counted in looks. A process that is busy for a while looks once in all of it, so that what it did not read in
the meantime is not held against its clients.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

from ..responses.replies import Refusal

__all__ = ["LOOKS", "Pace", "Paced"]

LOOKS = 10
"""How often a body is looked at in the time that it may pause."""


class Pace:
    """Whether a body comes fast enough: no pause of `LOOKS` looks, and behind the first ones `rate` bytes for each."""

    __slots__ = ("_looks", "_rate", "_silent", "_taken")

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._looks = self._silent = self._taken = 0

    def is_too_slow(self, taken: int) -> bool:
        """Look once; `taken` are the bytes that have come so far."""
        self._looks += 1
        self._silent = 0 if taken > self._taken else self._silent + 1
        self._taken = taken
        return self._silent >= LOOKS or taken < self._rate * (self._looks - LOOKS)


class Paced:
    """A block that reads a body, and ends with `Refusal` (408) where that comes too slowly. `taken` is for the block to
    set.

    `pause` are the seconds that it may be silent, `rate` the bytes in a second that it has on average. Both are as in
    nginx (`client_body_timeout`) and Apache (`RequestReadTimeout` with `MinRate`).
    """

    __slots__ = ("_is_late", "_loop", "_pace", "_step", "_task", "_timer", "taken")

    def __init__(self, pause: float, rate: float) -> None:
        self.taken: int = 0
        self._step = pause / LOOKS
        self._pace = Pace(rate * self._step)
        self._is_late = False

    def __enter__(self) -> Paced:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task(self._loop)
        self._timer = self._loop.call_later(self._step, self._look)
        return self

    def _look(self) -> None:
        if not self._pace.is_too_slow(self.taken):
            self._timer = self._loop.call_later(self._step, self._look)
        elif self._task is not None:
            self._is_late = True
            self._task.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if not self._is_late or self._task is None:
            return
        others = self._task.uncancel()
        if kind is asyncio.CancelledError and not others:
            reason = "the body of the request comes too slowly"
            raise Refusal(408, "timeout", reason, code="request_timeout", headers={"connection": "close"}) from None
