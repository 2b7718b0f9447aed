"""LangChain's agent over a chat model, in threads and in event loops."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

from frameworks.world import MOVING, QUESTIONS, City, Turn, World, judge_move

MODES = {"stream_mode": ["messages", "values"]}


def check(model_of: Callable[[World], Any], protocol: str, mode: str) -> None:
    """Both turns over a provider with `protocol`."""
    world = World(protocol)
    world.judge(converse(model_of, QUESTIONS, mode, world))


def check_move(model_of: Callable[[World], Any], one: str, other: str) -> None:
    """A turn over one provider, one over another, and back."""
    worlds = World(one), World(other)
    judge_move(*worlds, converse(model_of, MOVING, "sync", *worlds))


def check_structured(model_of: Callable[[World], Any], protocol: str, method: str) -> None:
    """Structured output by a schema, or by a tool's."""
    model = model_of(World(protocol)).with_structured_output(City, method=method)
    assert isinstance(model.invoke("[[reason Hm.]] A city."), City)


def converse(model_of: Callable[[World], Any], questions: tuple[str, ...], mode: str, *worlds: World) -> list[Turn]:
    """The turns, each streamed, over these worlds in turn; the agent's messages are the history."""
    from langchain.agents import create_agent

    turns = []
    history: list[Any] = []
    make: Any = partial(create_agent, system_prompt="Be brief.")
    given = [make(model_of(world), tools=list(world.tools())) for world in worlds]
    for agent, question in zip(itertools.cycle(given), questions):
        asked = {"messages": [*history, {"role": "user", "content": question}]}
        found = list(agent.stream(asked, **MODES)) if mode == "sync" else asyncio.run(_collect(agent, asked))
        pieces = [piece.text for kind, (piece, *_) in _messages(found) if kind == "AIMessageChunk" and piece.text]
        history = [state for kind, state in found if kind == "values"][-1]["messages"]
        turns.append(Turn(history[-1].text, pieces))
    return turns


def _messages(found: list[Any]) -> list[tuple[str, Any]]:
    return [(type(one[0]).__name__, one) for kind, one in found if kind == "messages"]


async def _collect(agent: Any, asked: Any) -> list[Any]:
    return [each async for each in agent.astream(asked, **MODES)]
