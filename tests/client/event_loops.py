"""The event loops that a client is used in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio


def in_asyncio(function: Callable[[], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        return await asyncio.wait_for(function(), 60)

    return asyncio.run(run())


def in_trio(function: Callable[[], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        with trio.fail_after(60):
            return await function()

    return trio.run(run)


loops = pytest.mark.parametrize("run", [in_asyncio, in_trio])
