"""Swapping providers: a conversation with a tool that changes the provider at every turn, streamed.

It runs against `local/echo` in every protocol, each with signatures of its own. Name
models to move between those: `python examples/moving_conversation.py openai/gpt-5.5 google/gemini-3-pro-preview`.
"""

from __future__ import annotations

import sys
from typing import Any

import unified_llm as ul


@ul.tool
def get_weather(city: str) -> str:
    """Look up the weather in a city."""
    return f"21 degrees in {city}"


TURNS = [
    "[[reason The user asks for Oslo.]] [[call get_weather city=Oslo]] [[then]] It is warm in Oslo.",
    "[[reason And now Rome.]] [[call get_weather city=Rome]] [[then]] As warm as in Oslo.",
    "[[reason Both are equal.]] Pack for summer.",
]


def main(models: list[str]) -> None:
    asked: list[dict[str, Any]] = [{"model": model} for model in models]
    asked = asked or [{"model": "local/echo", "protocol": protocol} for protocol in ul.protocols()]
    run = None
    with ul.Client() as client:
        for turn, text in enumerate(TURNS * 2):
            whom = asked[turn % len(asked)]
            with client.responses.run(input=text, tools=[get_weather], previous=run, stream=True, **whom) as stream:
                print(f"{turn + 1}. ", end="")
                for event in stream:
                    if event.type == "response.output_text.delta":
                        print(event.delta, end="", flush=True)
                run = stream.get_final_result()
            lost = sum(loss.fate == "lost" for loss in run.losses)
            print(f"   [{run.final.upstream.protocol}, {len(run.items)} items, {lost} values lost]")


if __name__ == "__main__":
    main(sys.argv[1:])
