"""Google's Agent Development Kit on another provider: the transport goes under the genai client of the model.

    python examples/frameworks/with_google_adk.py                            # local/echo: no key, no network
    python examples/frameworks/with_google_adk.py anthropic/claude-opus-4-7  # any provider/model

Needs `pip install unified-llm google-adk`.
"""

from __future__ import annotations

import asyncio
import sys

from google import genai
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import types

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


async def main(upstream: str = "local/echo:anthropic-messages") -> None:
    lost: set[str] = set()

    def told(losses: ul.Losses) -> None:
        lost.update(loss.capability for loss in losses if loss.fate == "lost")

    # The swap. ADK's genai takes clients of httpx2 as well as of httpx, which is what it would make itself.
    http = ul.async_http_client(upstream, on_losses=told)
    client = genai.Client(api_key="unused", http_options=types.HttpOptions(httpx_async_client=http))
    model = Gemini(model="gemini-3-pro-preview", client=client)
    agent = LlmAgent(name="guide", instruction="Be brief.", model=model, tools=[get_weather, get_time])
    runner = InMemoryRunner(agent=agent, app_name="weather")
    session = await runner.session_service.create_session(app_name="weather", user_id="you")
    for question in QUESTIONS:
        message = types.Content(role="user", parts=[types.Part(text=question)])
        # The session keeps the history, with the ids and signatures of the answering provider.
        async for event in runner.run_async(
            user_id="you",
            session_id=session.id,
            new_message=message,
            run_config=RunConfig(streaming_mode=StreamingMode.SSE),
        ):
            for part in (event.content and event.content.parts) or ():
                if part.function_call and not event.partial:
                    print(f"\n> {part.function_call.name}({part.function_call.args})")
                if part.text and event.partial and not part.thought:
                    print(part.text, end="", flush=True)
        print()
    await runner.close()
    print("did not survive:", ", ".join(sorted(lost)) or "nothing")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:2]))
