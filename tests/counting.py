"""Work without a clock: the lines of Python that run, which are the same on a busy machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["lines"]


def lines(run: Callable[[], object]) -> int:
    """How many lines and calls of Python `run` executes."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count
