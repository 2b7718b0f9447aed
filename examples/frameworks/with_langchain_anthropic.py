"""LangChain's ChatAnthropic on another provider: it takes no HTTP client, so its two SDK clients are replaced.

    python examples/frameworks/with_langchain_anthropic.py                              # local/echo: no key, no network
    python examples/frameworks/with_langchain_anthropic.py google/gemini-3-pro-preview  # any provider/model

Needs `pip install unified-llm langchain langchain-anthropic`.
"""

from __future__ import annotations

import sys
from typing import Any

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool

import unified_llm as ul

# local/echo follows the directives in brackets; a real model reads questions with some brackets in them.
QUESTIONS = [
    "Look. [[reason Both.]] [[call get_weather city=Oslo]] [[call get_time city=Rome]] [[then]] So: [[results]]",
    "Look. [[reason One more.]] [[call get_weather city=Paris]] [[then]] So: [[results]]",
]


@tool
def get_weather(city: str) -> str:
    """Look up the weather in a city."""
    return f"Rain in {city}."


@tool
def get_time(city: str) -> str:
    """Look up the time in a city."""
    return f"Noon in {city}."


def main(upstream: str = "local/echo:google-interactions") -> None:
    lost: set[str] = set()

    def told(losses: ul.Losses) -> None:
        lost.update(loss.capability for loss in losses if loss.fate == "lost")

    model: Any = ChatAnthropic(model="claude-opus-4-7", api_key="unused", max_tokens=4000)
    # The swap. `_client` and `_async_client` are made on first use, and kept; there is no public way.
    # Through a gateway there is one: ChatAnthropic(base_url=...).
    model._client = model._client.with_options(http_client=ul.http_client(upstream, on_losses=told))
    model._async_client = model._async_client.with_options(http_client=ul.async_http_client(upstream, on_losses=told))
    agent: Any = create_agent(model, tools=[get_weather, get_time], system_prompt="Be brief.")
    history: list[Any] = []
    for question in QUESTIONS:
        history.append({"role": "user", "content": question})
        for kind, found in agent.stream({"messages": history}, stream_mode=["messages", "values"]):
            if kind == "messages":
                show(found[0])
            else:
                # Ids and signatures of the answering provider return with the history.
                history = found["messages"]
        print()
    print("did not survive:", ", ".join(sorted(lost)) or "nothing")


def show(piece: Any) -> None:
    if isinstance(piece, AIMessageChunk):
        for call in piece.tool_call_chunks:
            print(f"\n> {call['name']} " if call["name"] else "", call["args"] or "", sep="", end="")
        print(piece.text, end="", flush=True)
    else:
        print(f"\n= {piece.text}", end="")


if __name__ == "__main__":
    main(*sys.argv[1:2])
