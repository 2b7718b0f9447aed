"""The drivers under an `AsyncClient`: whatever may go wrong goes wrong under both, with the same errors."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

try:
    from unified_llm.client.connections.aiohttp_wire import AiohttpWire
except ModuleNotFoundError:  # it comes with the gateway
    AiohttpWire = None  # type: ignore[assignment, misc]


class OverAiohttp(ul.AsyncClient):
    """An `AsyncClient` with the driver of the gateway."""

    _waits: Any = AiohttpWire


aiohttp_installed = pytest.mark.skipif(AiohttpWire is None, reason="aiohttp is not installed")
clients = pytest.mark.parametrize(
    "client_class",
    [pytest.param(ul.AsyncClient, id="httpx2"), pytest.param(OverAiohttp, id="aiohttp", marks=aiohttp_installed)],
)
