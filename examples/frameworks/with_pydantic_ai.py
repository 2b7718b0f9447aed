"""Pydantic AI on another provider: its providers take an HTTP client.

    python examples/frameworks/with_pydantic_ai.py                              # local/echo: no key, no network
    python examples/frameworks/with_pydantic_ai.py google/gemini-3-pro-preview  # any provider/model

Needs `pip install unified-llm "pydantic-ai-slim[anthropic]"`.
"""

from __future__ import annotations

import asyncio
import sys

from pydantic_ai import Agent, FunctionToolCallEvent, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

import unified_llm as ul

# local/echo follows the directives in brackets; a real model reads questions with some brackets in them.
QUESTIONS = [
    "Look. [[reason Both.]] [[call get_weather city=Oslo]] [[call get_time city=Rome]] [[then]] So: [[results]]",
    "Look. [[reason One more.]] [[call get_weather city=Paris]] [[then]] So: [[results]]",
]


def get_weather(city: str) -> str:
    """Look up the weather in a city."""
    return f"Rain in {city}."


async def get_time(city: str) -> str:
    """Look up the time in a city."""
    return f"Noon in {city}."


async def main(upstream: str = "local/echo:google-generate-content") -> None:
    lost: set[str] = set()

    def told(losses: ul.Losses) -> None:
        lost.update(loss.capability for loss in losses if loss.fate == "lost")

    # The swap. OpenAIProvider (OpenAIChatModel, OpenAIResponsesModel) and GoogleProvider (GoogleModel) take it as well.
    http = ul.async_http_client(upstream, on_losses=told)
    # From the model's name, Pydantic AI derives what may be sent (such as reasoning), not the provider.
    model = AnthropicModel("claude-opus-4-7", provider=AnthropicProvider(api_key="unused", http_client=http))
    agent = Agent(model, instructions="Be brief.", tools=[get_weather, get_time])
    history: list[ModelMessage] = []
    for question in QUESTIONS:
        async with agent.iter(question, message_history=history) as run:
            async for node in run:
                if Agent.is_model_request_node(node) or Agent.is_call_tools_node(node):
                    async with node.stream(run.ctx) as events:
                        async for event in events:
                            show(event)
        print()
        assert run.result is not None
        # Ids and signatures of the answering provider return with the history.
        history = run.result.all_messages()
    print("did not survive:", ", ".join(sorted(lost)) or "nothing")


def show(event: object) -> None:
    match event:
        case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            print(text, end="", flush=True)
        case FunctionToolCallEvent(part=call):
            print(f"\n> {call.tool_name}({call.args})")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:2]))
