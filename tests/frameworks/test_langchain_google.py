"""LangChain's ChatGoogleGenerativeAI over other providers' protocols: one transport of httpx for both calls."""

from __future__ import annotations

import pytest

from frameworks.langchain_loop import converse
from frameworks.world import World, foreign
from unified_llm.client.transport import transport

langchain_google = pytest.importorskip(
    "langchain_google_genai", reason="langchain-google-genai is not installed: make frameworks"
)


@pytest.mark.parametrize(("surface", "protocol"), foreign("google-generate-content"))
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_streamed_conversation_with_tools(surface: str, protocol: str, mode: str) -> None:
    world = World(protocol)
    inside = transport(world.upstream, library="httpx", **world.options)
    model = langchain_google.ChatGoogleGenerativeAI(model="any", api_key="unused", client_args={"transport": inside})
    world.judge(converse(world, model, mode))
