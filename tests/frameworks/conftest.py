"""Frameworks come by their extras, into two environments (`make frameworks`); elsewhere these tests skip."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import pytest

from frameworks.world import World


@pytest.fixture(autouse=True)
def nothing_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's keys, addresses and tracing are none of a test's."""
    for name in list(os.environ):
        if name.startswith(("LANGSMITH_", "LANGCHAIN_", "OPENAI_", "ANTHROPIC_", "GOOGLE_", "GEMINI_")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def gateway() -> Iterator[Any]:
    """One gateway for all tests that go through one."""
    pytest.importorskip("uvicorn", reason="the gateway's packages are not installed: make frameworks")
    from frameworks.gateway_clients import GatewayClients

    with GatewayClients() as found:
        yield found


@pytest.fixture(autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How clients reach their upstream: a transport in their process, or a gateway where a test requires it."""
    if getattr(request, "param", "transport") == "gateway":
        monkeypatch.setattr(World, "gateway", request.getfixturevalue("gateway"))


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop for what runs in the thread's own and leaves it open."""
    with asyncio.Runner() as runner:
        asyncio.set_event_loop(runner.get_loop())
        yield runner.get_loop()
