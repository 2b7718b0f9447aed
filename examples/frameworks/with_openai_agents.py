"""openai-agents on another provider: the transport goes under the OpenAI client that the agents' provider is given.

    python examples/frameworks/with_openai_agents.py                            # local/echo: no key, no network
    python examples/frameworks/with_openai_agents.py anthropic/claude-opus-4-7  # any provider/model

Needs `pip install unified-llm openai-agents`.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import openai
from agents import Agent, OpenAIProvider, RunConfig, Runner, function_tool

import unified_llm as ul

# local/echo follows the directives in brackets; a real model reads questions with some brackets in them.
QUESTIONS = [
    "Look. [[reason Both.]] [[call get_weather city=Oslo]] [[call get_time city=Rome]] [[then]] So: [[results]]",
    "Look. [[reason One more.]] [[call get_weather city=Paris]] [[then]] So: [[results]]",
]


@function_tool
def get_weather(city: str) -> str:
    """Look up the weather in a city."""
    return f"Rain in {city}."


@function_tool
async def get_time(city: str) -> str:
    """Look up the time in a city."""
    return f"Noon in {city}."


async def main(upstream: str = "local/echo:anthropic-messages") -> None:
    lost: set[str] = set()

    def told(losses: ul.Losses) -> None:
        lost.update(loss.capability for loss in losses if loss.fate == "lost")

    # The swap. use_responses=False makes the framework use Chat Completions instead: any upstream answers both.
    client = openai.AsyncOpenAI(api_key="unused", http_client=ul.async_http_client(upstream, on_losses=told))
    provider = OpenAIProvider(openai_client=client, use_responses=True)
    # Traces would go to OpenAI with a key of theirs.
    config = RunConfig(model_provider=provider, tracing_disabled=True)
    agent = Agent(name="Guide", instructions="Be brief.", model="gpt-5", tools=[get_weather, get_time])
    history: list[Any] = []
    for question in QUESTIONS:
        history.append({"role": "user", "content": question})
        run = Runner.run_streamed(agent, history, run_config=config)
        await show(run)
        # Ids and signatures of the answering provider return with the history.
        history = run.to_input_list()
    print("did not survive:", ", ".join(sorted(lost)) or "nothing")


async def show(run: Any) -> None:
    async for event in run.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            print(event.data.delta, end="", flush=True)
        elif event.type == "run_item_stream_event" and event.name == "tool_called":
            print(f"\n> {event.item.raw_item.name}({event.item.raw_item.arguments})")
    print()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:2]))
