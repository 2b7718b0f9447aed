"""An agent with tools and a typed result that is shown while it grows; half-way it moves to another provider.

`python examples/trip_planner.py [provider/model [provider/model]]`: the first model looks things up, the second one, of
any other provider, goes on with the same conversation and writes the plan. Without arguments both are `local/echo`, in
two protocols, which needs no key and no network.
"""

from __future__ import annotations

import sys

from pydantic import BaseModel, Field

import unified_llm as ul


class Stop(BaseModel):
    city: str
    activity: str = ""


class Plan(BaseModel):
    """A plan for a trip."""

    title: str
    stops: list[Stop] = Field(default_factory=list[Stop])


@ul.tool
def get_weather(city: str) -> str:
    """Look up tomorrow's weather in a city.

    Args:
        city: The name of the city.
    """
    return {"Bergen": "11 degrees, rain", "Stavanger": "14 degrees, dry"}.get(city, "unknown")


@ul.tool
def find_ferry(origin: str, destination: str) -> str:
    """Find the next ferry between two ports."""
    return f"08:20 {origin} to {destination}, 5 h 30 min"


QUESTION = "How is the weather in Bergen and Stavanger tomorrow, and which ferry goes between them?"
# `local/echo` follows the directives in double brackets (docs/echo.md).
SCRIPT = (
    "[[call get_weather city=Bergen]] [[call find_ferry origin=Bergen destination=Stavanger]] [[then]] "
    "It rains in Bergen. A ferry to Stavanger leaves at 08:20."
)
PLAN = "Write a plan for the day."  # `local/echo` makes up a value for each field


def look_up(client: ul.Client, model: str, protocol: str | None) -> ul.RunResult[None]:
    """The first half: a tool loop, streamed."""
    question = SCRIPT if model.startswith("local/") else QUESTION
    with client.responses.run(
        model=model, protocol=protocol, input=question, tools=[get_weather, find_ferry], stream=True
    ) as events:
        for event in events:
            match event:
                case ul.OutputTextDelta(delta=str(text)):
                    print(text, end="", flush=True)
                case ul.ToolOutput(call=ul.FunctionCall() as call, item=ul.FunctionCallOutput() as item):
                    print(f"[{call.name} {call.parsed_arguments} -> {item.output}]")
                case _:
                    pass
        print()
        return events.get_final_result()


def write_plan(client: ul.Client, model: str, protocol: str | None, so_far: ul.RunResult[None]) -> ul.Result[Plan]:
    """The second half, at another provider: the same conversation, and a typed value that grows."""
    with client.responses.parse(
        model=model, protocol=protocol, previous=so_far, input=PLAN, text_format=Plan, stream=True
    ) as stream:
        for plan in stream.snapshots:
            print(f"so far: {plan!r}")
        return stream.get_final_response()


def main(models: list[str]) -> None:
    first, second = [*models, *models][:2] if models else ("local/echo", "local/echo")
    protocols = (None, None) if models else ("anthropic-messages", "google-generate-content")
    with ul.Client() as client:
        run = look_up(client, first, protocols[0])
        result = write_plan(client, second, protocols[1], run)
    plan = result.output_parsed
    assert plan is not None, "the model refused"
    for number, stop in enumerate(plan.stops, 1):
        print(f"{number}. {stop.city}: {stop.activity}")
    print(f"{run.final.upstream.protocol}, then {result.upstream.protocol}; {result.losses.summary}")


if __name__ == "__main__":
    main(sys.argv[1:])
