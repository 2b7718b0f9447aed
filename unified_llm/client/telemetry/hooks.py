"""Calling the hooks of a client. An exception of a hook is logged, and ends no call."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any

from ..upstreams.redaction import watch_logs

__all__ = ["acall_hook", "call_hook"]

_log = logging.getLogger("unified_llm.client")
watch_logs(_log.name)  # the traceback of a hook may contain anything


def call_hook(hook: Callable[[Any], Any], event: Any) -> None:
    """Call a hook of a client for threads."""
    try:
        found = hook(event)
        if inspect.iscoroutine(found):
            found.close()
            raise TypeError("an async hook needs an AsyncClient")
    except Exception:
        _log.exception("a hook failed for %s", type(event).__name__)


async def acall_hook(hook: Callable[[Any], Any], event: Any) -> None:
    """Call a hook of a client for event loops, and wait for it."""
    try:
        found = hook(event)
        if found is not None and inspect.isawaitable(found):
            await found
    except Exception:
        _log.exception("a hook failed for %s", type(event).__name__)
