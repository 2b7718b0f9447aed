"""LangChain's ChatOpenAI over other providers' protocols, in both protocols that it speaks."""

from __future__ import annotations

import pytest

from frameworks.langchain_loop import converse
from frameworks.world import World, foreign

langchain_openai = pytest.importorskip("langchain_openai", reason="langchain-openai is not installed: make frameworks")


@pytest.mark.parametrize(("surface", "protocol"), foreign("openai-chat", "openai-responses"))
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_streamed_conversation_with_tools(surface: str, protocol: str, mode: str) -> None:
    world = World(protocol)
    model = langchain_openai.ChatOpenAI(
        model="any",
        api_key="unused",
        http_client=world.http(),
        http_async_client=world.ahttp(),
        use_responses_api=surface == "openai-responses",
    )
    world.judge(converse(world, model, mode))


@pytest.mark.parametrize(("surface", "protocol"), foreign("openai-responses"))
def test_a_conversation_by_the_ids_of_answers(surface: str, protocol: str) -> None:
    """It sends what came after the last answer, and that answer's id."""
    world = World(protocol)
    model = langchain_openai.ChatOpenAI(
        model="any", api_key="unused", http_client=world.http(), use_responses_api=True, use_previous_response_id=True
    )
    world.judge(converse(world, model, "sync"))
