"""Google's Agent Development Kit over other providers' protocols: two of Google's, in event loops and threads."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from frameworks.world import MOVES, MOVING, QUESTIONS, WAYS, Turn, World, foreign, judge_move

adk = pytest.importorskip("google.adk", reason="google-adk is not installed: make frameworks")


def runner_of(world: World, surface: str = "google-generate-content", library: str = "httpx2") -> Any:
    from google import genai
    from google.adk.agents import LlmAgent
    from google.adk.models import Gemini
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    options = types.HttpOptions(httpx_async_client=world.ahttp(library=library))
    client = genai.Client(api_key="unused", http_options=options)
    model = Gemini(model="any", client=client, use_interactions_api=surface == "google-interactions")
    agent = LlmAgent(name="guide", instruction="Be brief.", model=model, tools=list(world.tools()))
    return InMemoryRunner(agent=agent, app_name="tests")


async def converse(questions: tuple[str, ...], *runners: Any, streamed: bool = True) -> list[Turn]:
    """The turns over these runners in turn, in one session, which is the history."""
    from google.adk.agents.run_config import RunConfig, StreamingMode
    from google.genai import types

    sessions = runners[0].session_service
    session = await sessions.create_session(app_name="tests", user_id="you")
    config = RunConfig(streaming_mode=StreamingMode.SSE if streamed else StreamingMode.NONE)
    turns = []
    for runner, question in zip(itertools.cycle(runners), questions):
        runner.session_service = sessions
        message = types.Content(role="user", parts=[types.Part(text=question)])
        told = {"user_id": "you", "session_id": session.id, "new_message": message, "run_config": config}
        said: dict[bool, list[str]] = {True: [], False: []}
        async for event in runner.run_async(**told):
            parts = (event.content and event.content.parts) or ()
            text = "".join(part.text for part in parts if part.text and not part.thought)
            said[bool(event.partial)] += [text] if text else []
        turns.append(Turn(said[False][-1], said[True]))
    for runner in runners:
        await runner.close()
    return turns


@WAYS
@pytest.mark.parametrize(("surface", "protocol"), foreign("google-generate-content", "google-interactions"))
@pytest.mark.parametrize("library", ["httpx2", "httpx"])
def test_a_streamed_conversation_with_tools(surface: str, protocol: str, library: str) -> None:
    """As Interactions it sends no history, only the id of the answer that it goes on from."""
    world = World(protocol)
    talk = converse(QUESTIONS, runner_of(world, surface, library))
    world.judge(asyncio.run(talk), '{{"result":"{}"}}')


@WAYS
@pytest.mark.parametrize(("one", "other"), MOVES)
def test_another_provider_in_between(one: str, other: str) -> None:
    worlds = World(one), World(other)
    judge_move(*worlds, asyncio.run(converse(MOVING, *map(runner_of, worlds))))


@pytest.mark.parametrize("protocol", ["anthropic-messages", "openai-responses"])
def test_from_a_thread_without_a_loop(protocol: str) -> None:
    from google.adk.agents.run_config import RunConfig, StreamingMode
    from google.genai import types

    world = World(protocol)
    runner = runner_of(world)
    session = asyncio.run(runner.session_service.create_session(app_name="tests", user_id="you"))
    message = types.Content(role="user", parts=[types.Part(text=QUESTIONS[1])])
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    told = {"user_id": "you", "session_id": session.id, "new_message": message, "run_config": config}
    events = list(runner.run(**told))
    text = "".join(part.text for part in events[-1].content.parts)
    assert text == 'At last: get_weather: {"result":"Rain in Paris"}'
    assert sum(bool(event.partial) for event in events) > 3


def test_not_streamed() -> None:
    world = World("anthropic-messages")
    first, second = asyncio.run(converse(QUESTIONS, runner_of(world), streamed=False))
    assert second.text == 'At last: get_weather: {"result":"Rain in Paris"}' and not first.pieces
