"""LangChain's ChatOpenAI on another provider: it takes two HTTP clients, one for each kind of call.

    python examples/frameworks/with_langchain_openai.py                            # local/echo: no key, no network
    python examples/frameworks/with_langchain_openai.py anthropic/claude-opus-4-7  # any provider/model

Needs `pip install unified-llm langchain langchain-openai`.
"""

from __future__ import annotations

import sys
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

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


def main(upstream: str = "local/echo:anthropic-messages") -> None:
    lost: set[str] = set()

    def told(losses: ul.Losses) -> None:
        lost.update(loss.capability for loss in losses if loss.fate == "lost")

    # The swap. use_responses_api=False selects Chat Completions instead: any upstream answers both.
    model = ChatOpenAI(
        model="gpt-5",
        api_key="unused",
        http_client=ul.http_client(upstream, on_losses=told),
        http_async_client=ul.async_http_client(upstream, on_losses=told),
        use_responses_api=True,
    )
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
