"""Uses in a window of time, counted in memory; in one event loop, without locks.

A fixed window begins with its first use. A moving window ends now at any time: it keeps the time of each use, so only
small limits have one.
"""

from __future__ import annotations

import time
from collections import deque
from typing import NamedTuple, Protocol

__all__ = ["SECONDS", "Counters", "Fixed", "Moving", "Window"]

SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "month": 2_592_000}


class Window(NamedTuple):
    """What is counted under one name, and for how many seconds."""

    name: str
    seconds: int


class Counters(Protocol):
    """Where uses are counted."""

    def used(self, window: Window) -> int:
        """The uses in a window."""

    def ends(self, window: Window, over: int = 0) -> float:
        """When there are fewer again, and fewer by more than `over`, in seconds since 1970."""

    def clears(self, window: Window) -> float:
        """When there are none any more."""

    def add(self, window: Window, amount: int = 1) -> None:
        """Count uses."""


class Fixed:
    """Fixed windows.

    >>> hour = Window("requests/blue/hour", SECONDS["hour"])
    >>> counters = Fixed()
    >>> counters.add(hour), counters.add(hour, 2), counters.used(hour)
    (None, None, 3)
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[int, float]] = {}

    def used(self, window: Window) -> int:
        """The uses in a window."""
        return self._current(window)[0]

    def ends(self, window: Window, over: int = 0) -> float:
        """When the window ends."""
        return max(self._current(window)[1], time.time())

    def clears(self, window: Window) -> float:
        """When the window ends."""
        return self.ends(window)

    def add(self, window: Window, amount: int = 1) -> None:
        """Count uses."""
        count, ends = self._current(window)
        self._kept[window.name] = (count + amount, ends or time.time() + window.seconds)

    def _current(self, window: Window) -> tuple[int, float]:
        now = time.time()
        count, ends = self._kept.get(window.name, _NONE)
        if ends > now + window.seconds:  # the clock was set back, and the window would be longer by as much
            ends = now + window.seconds
            self._kept[window.name] = count, ends
        return (count, ends) if ends > now else _NONE


_NONE = (0, 0.0)


class Moving:
    """Moving windows.

    >>> hour = Window("requests/blue/hour", SECONDS["hour"])
    >>> counters = Moving()
    >>> counters.add(hour, 2), counters.used(hour)
    (None, 2)
    """

    def __init__(self) -> None:
        self._kept: dict[str, deque[float]] = {}

    def used(self, window: Window) -> int:
        """The uses in the seconds before now."""
        return len(self._current(window))

    def ends(self, window: Window, over: int = 0) -> float:
        """When the oldest of them is no longer counted, and `over` behind it."""
        times = self._current(window)
        return times[min(over, len(times) - 1)] + window.seconds if times else time.time()

    def clears(self, window: Window) -> float:
        """When the newest of them is no longer counted."""
        times = self._current(window)
        return times[-1] + window.seconds if times else time.time()

    def add(self, window: Window, amount: int = 1) -> None:
        """Count uses."""
        self._current(window).extend([time.time()] * amount)

    def _current(self, window: Window) -> deque[float]:
        times = self._kept.get(window.name)
        if times is None:
            times = self._kept[window.name] = deque()
        now = time.time()
        if times and times[-1] > now:  # the clock was set back, and they would count for longer by as much
            times = self._kept[window.name] = deque(min(each, now) for each in times)
        oldest = now - window.seconds
        while times and times[0] <= oldest:
            times.popleft()
        return times
