"""Frameworks come by their extras, into two environments (`make frameworks`); elsewhere these tests skip."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

# A user's own settings are none of a test's, and nothing is sent anywhere.
for name in [name for name in os.environ if name.startswith(("LANGSMITH_", "LANGCHAIN_", "OPENAI_", "ANTHROPIC_"))]:
    del os.environ[name]


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop for what runs in the thread's own and leaves it open."""
    with asyncio.Runner() as runner:
        asyncio.set_event_loop(runner.get_loop())
        yield runner.get_loop()
