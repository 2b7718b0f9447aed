"""LangChain's ChatAnthropic over other providers' protocols: it takes no HTTP client, its SDK's clients do."""

from __future__ import annotations

import pytest

from frameworks.langchain_loop import converse
from frameworks.world import World, foreign

langchain_anthropic = pytest.importorskip(
    "langchain_anthropic", reason="langchain-anthropic is not installed: make frameworks"
)


@pytest.mark.parametrize(("surface", "protocol"), foreign("anthropic-messages"))
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_streamed_conversation_with_tools(surface: str, protocol: str, mode: str) -> None:
    world = World(protocol)
    model = langchain_anthropic.ChatAnthropic(model="any", api_key="unused", max_tokens=4000)
    model._client = model._client.with_options(http_client=world.http())
    model._async_client = model._async_client.with_options(http_client=world.ahttp())
    world.judge(converse(world, model, mode))
