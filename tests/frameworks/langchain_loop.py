"""LangChain's agent over a chat model, in threads and in event loops."""

from __future__ import annotations

import asyncio
from typing import Any

from frameworks.world import QUESTIONS, Turn, World

MODES = {"stream_mode": ["messages", "values"]}


def converse(world: World, model: Any, mode: str) -> list[Turn]:
    """Both turns, each streamed; the agent's messages are the history."""
    from langchain.agents import create_agent

    agent: Any = create_agent(model, tools=list(world.tools()), system_prompt="Be brief.")
    turns = []
    history: list[Any] = []
    for question in QUESTIONS:
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
