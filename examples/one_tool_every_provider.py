"""Provider-agnostic tools: one function, called by models over every protocol, with what each of them could not take.

It runs against `local/echo`, which needs no key and no network. Name other models to use those:
`python examples/one_tool_every_provider.py openai/gpt-5.5 anthropic/claude-opus-4-7`.
"""

from __future__ import annotations

import sys
from typing import Annotated, Literal

from pydantic import Field

import unified_llm as ul

# local/echo follows the directives in brackets; a real model reads a question with some brackets in it.
QUESTION = "[[call forecast city=Oslo]] [[call forecast city=Rome]] [[then]] Take an umbrella to Oslo."


@ul.tool
def forecast(
    city: str, days: Annotated[int, Field(ge=1, le=7)] = 1, unit: Literal["C", "F"] = "C"
) -> dict[str, object]:
    """Forecast the weather.

    Args:
        city: the name of a city
        days: how far ahead
    """
    return {"city": city, "days": days, "temperature": 21 if unit == "C" else 70}


def main(models: list[str]) -> None:
    asked: list[tuple[str, str | None]] = [(model, None) for model in models]
    asked = asked or [("local/echo", protocol) for protocol in ul.protocols()]
    with ul.Client() as client:
        for model, protocol in asked:
            run = client.responses.run(model=model, protocol=protocol, input=QUESTION, tools=[forecast])
            print(f"{model} over {run.final.upstream.protocol}: {run.output_text}")
            for item in run.steps[0].outputs:
                print(f"  {item.output}")
            print("  " + str(run.losses.table()).replace("\n", "\n  "))


if __name__ == "__main__":
    main(sys.argv[1:])
