"""LangChain's ChatGoogleGenerativeAI on another provider: it takes one transport, of httpx, for both kinds of calls.

    python examples/frameworks/with_langchain_google.py                            # local/echo: no key, no network
    python examples/frameworks/with_langchain_google.py anthropic/claude-opus-4-7  # any provider/model

Needs `pip install "unified-llm[httpx]" langchain langchain-google-genai`.
"""

from __future__ import annotations

import sys
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool
from langchain_google_genai import ChatGoogleGenerativeAI

import unified_llm as ul
from unified_llm.client.transports.transport import transport

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

    # The swap.
    inside = transport(upstream, library="httpx", on_losses=told)
    model = ChatGoogleGenerativeAI(model="gemini-3-pro-preview", api_key="unused", client_args={"transport": inside})
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
