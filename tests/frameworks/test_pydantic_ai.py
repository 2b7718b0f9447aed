"""Pydantic AI over other providers' protocols, in each that it uses and whose SDK is there."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from frameworks.world import MOVES, MOVING, QUESTIONS, WAYS, City, Turn, World, foreign, judge_move

ai = pytest.importorskip("pydantic_ai", reason="pydantic-ai-slim is not installed: make frameworks")
OPENAI = ("openai-chat", "openai-responses")
OWN = (*OPENAI, "anthropic-messages", "google-generate-content")
# A model's name determines what may be sent: reasoning goes back as reasoning only to models that reason.
MODELS = {
    **dict.fromkeys(OPENAI, "gpt-5"),
    "anthropic-messages": "claude-opus-4-7",
    "google-generate-content": "gemini-3-pro-preview",
}


def model_of(world: World, surface: str) -> Any:
    http = world.ahttp()
    if surface in OPENAI:
        pytest.importorskip("openai", reason="its models of OpenAI are not installed")
        from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
        from pydantic_ai.providers.openai import OpenAIProvider

        kind: Any = OpenAIChatModel if surface == "openai-chat" else OpenAIResponsesModel
        return kind(MODELS[surface], provider=OpenAIProvider(api_key="unused", http_client=http))
    if surface == "anthropic-messages":
        pytest.importorskip("anthropic", reason="its models of Anthropic are not installed")
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(MODELS[surface], provider=AnthropicProvider(api_key="unused", http_client=http))
    pytest.importorskip("google.genai", reason="its models of Google are not installed")
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(MODELS[surface], provider=GoogleProvider(api_key="unused", http_client=http))


def result_of(surface: str) -> str:
    """How a tool's result is wrapped."""
    return '{{"return_value":"{}"}}' if surface == "google-generate-content" else "{}"


def text_of(event: Any) -> str:
    match event:
        case (
            ai.PartStartEvent(part=ai.TextPart(content=text))
            | ai.PartDeltaEvent(delta=ai.TextPartDelta(content_delta=text))
        ):
            return str(text)
    return ""


async def converse(surface: str, questions: tuple[str, ...], *worlds: World) -> list[Turn]:
    """The turns, each streamed, over these worlds in turn; the run's messages are the history."""
    turns = []
    history: list[Any] = []
    given = [ai.Agent(model_of(world, surface), instructions="Be brief.", tools=world.tools()) for world in worlds]
    for agent, question in zip(itertools.cycle(given), questions):
        pieces = []
        async with agent.iter(question, message_history=history) as run:
            async for node in run:
                if ai.Agent.is_model_request_node(node):
                    async with node.stream(run.ctx) as events:
                        pieces += [text async for event in events if (text := text_of(event))]
        turns.append(Turn(run.result.output, pieces))
        history = run.result.all_messages()
    return turns


@WAYS
@pytest.mark.parametrize(("surface", "protocol"), foreign(*OWN))
def test_a_streamed_conversation_with_tools(surface: str, protocol: str) -> None:
    world = World(protocol)
    world.judge(asyncio.run(converse(surface, QUESTIONS, world)), result_of(surface))


@WAYS
@pytest.mark.parametrize(("one", "other"), MOVES)
@pytest.mark.parametrize("surface", OWN)
def test_another_provider_in_between(surface: str, one: str, other: str) -> None:
    worlds = World(one), World(other)
    judge_move(*worlds, asyncio.run(converse(surface, MOVING, *worlds)))


@pytest.mark.parametrize("how", ["ToolOutput", "NativeOutput"])
@pytest.mark.parametrize(("surface", "protocol"), foreign(*OWN))
def test_structured_output(surface: str, protocol: str, how: str) -> None:
    world = World(protocol)
    agent = ai.Agent(model_of(world, surface), output_type=getattr(ai, how)(City), retries=0)

    async def ask() -> Any:
        async with agent.run_stream("[[reason Hm.]] A city.") as result:
            return await result.get_output()

    assert isinstance(asyncio.run(ask()), City)


@pytest.mark.parametrize("surface", OWN)
@pytest.mark.usefixtures("loop")
def test_synchronous_and_not_streamed(surface: str) -> None:
    world = World("openai-responses" if surface not in OPENAI else "google-interactions")
    agent = ai.Agent(model_of(world, surface), tools=world.tools())
    paris = result_of(surface).format("Rain in Paris")
    assert agent.run_sync(QUESTIONS[1]).output == f"At last: get_weather: {paris}"
    assert world.called == [("get_weather", "Paris")]


@pytest.mark.parametrize("surface", OWN)
@pytest.mark.usefixtures("loop")
def test_synchronous_and_streamed(surface: str) -> None:
    world = World("google-interactions")
    agent = ai.Agent(model_of(world, surface), tools=world.tools())
    result = agent.run_stream_sync(QUESTIONS[1])
    pieces = list(result.stream_text(delta=True, debounce_by=None))
    assert "".join(pieces) == f"At last: get_weather: {result_of(surface).format('Rain in Paris')}" and len(pieces) > 3
