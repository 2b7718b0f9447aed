"""openai-agents over other providers' protocols, in both protocols that it uses."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from frameworks.world import MOVES, MOVING, QUESTIONS, WAYS, Turn, World, foreign, judge_move

agents = pytest.importorskip("agents", reason="openai-agents is not installed: make frameworks")
CASES = foreign("openai-chat", "openai-responses")


def settings(world: World, surface: str) -> Any:
    import openai

    client = openai.AsyncOpenAI(api_key="unused", http_client=world.ahttp())
    provider = agents.OpenAIProvider(openai_client=client, use_responses=surface == "openai-responses")
    return agents.RunConfig(model_provider=provider, tracing_disabled=True)


def agent_of(world: World) -> Any:
    tools = [agents.function_tool(tool) for tool in world.tools()]
    return agents.Agent(name="Guide", instructions="Be brief.", model="any", tools=tools)


async def converse(surface: str, questions: tuple[str, ...], *worlds: World) -> list[Turn]:
    """The turns, each streamed, over these worlds in turn; the run's own list of items is the history."""
    turns = []
    history: list[Any] = []
    given = [(agent_of(world), settings(world, surface)) for world in worlds]
    for (agent, config), question in zip(itertools.cycle(given), questions):
        history.append({"role": "user", "content": question})
        run = agents.Runner.run_streamed(agent, history, run_config=config)
        pieces = await pieces_of(run)
        turns.append(Turn(run.final_output, pieces))
        history = run.to_input_list()
    return turns


async def pieces_of(run: Any) -> list[str]:
    return [
        event.data.delta
        async for event in run.stream_events()
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
    ]


@WAYS
@pytest.mark.parametrize(("surface", "protocol"), CASES)
def test_a_streamed_conversation_with_tools(surface: str, protocol: str) -> None:
    world = World(protocol)
    world.judge(asyncio.run(converse(surface, QUESTIONS, world)))


@WAYS
@pytest.mark.parametrize(("one", "other"), MOVES)
@pytest.mark.parametrize("surface", ["openai-chat", "openai-responses"])
def test_another_provider_in_between(surface: str, one: str, other: str) -> None:
    worlds = World(one), World(other)
    judge_move(*worlds, asyncio.run(converse(surface, MOVING, *worlds)))


@pytest.mark.parametrize(("surface", "protocol"), foreign("openai-responses"))
def test_a_conversation_by_the_ids_of_answers(surface: str, protocol: str) -> None:
    """It sends no history, only the id of the answer that it goes on from."""
    world = World(protocol)

    async def talk() -> list[Turn]:
        config, agent = settings(world, surface), agent_of(world)
        turns: list[Turn] = []
        before = None
        for question in QUESTIONS:
            named = {"previous_response_id": before, "auto_previous_response_id": True}
            run = agents.Runner.run_streamed(agent, question, run_config=config, **named)
            pieces = await pieces_of(run)
            turns.append(Turn(run.final_output, pieces))
            before = run.last_response_id
        return turns

    world.judge(asyncio.run(talk()))


@pytest.mark.parametrize("surface", ["openai-chat", "openai-responses"])
@pytest.mark.usefixtures("loop")
def test_synchronous_and_not_streamed(surface: str) -> None:
    world = World("anthropic-messages")
    run = agents.Runner.run_sync(agent_of(world), QUESTIONS[1], run_config=settings(world, surface))
    assert run.final_output == "At last: get_weather: Rain in Paris"
    assert world.called == [("get_weather", "Paris")]
