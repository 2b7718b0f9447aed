"""What the agents share: two tools, a question, and how a run is shown. No provider and no SDK is known here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

INSTRUCTIONS = "You plan trips in Norway. Look things up before you answer."
QUESTION = "How do I get from Bergen to Stavanger tomorrow, and do I need an umbrella?"

# `local/echo` is a mock: the directives in double brackets select its response (docs/echo.md).
SCRIPT = (
    "[[reason The weather there, and a ferry: two look-ups, at once.]]"
    " [[call get_weather city=Stavanger]] [[call find_ferry origin=Bergen destination=Stavanger]] [[then]]"
    " [[reason It is dry, so the ferry is worth it.]]"
    " Take the ferry at 08:20. It is dry in Stavanger: no umbrella."
)


def get_weather(city: str) -> str:
    """Look up the weather in a city."""
    return {"Stavanger": "14 degrees, dry", "Bergen": "11 degrees, rain"}.get(city, "unknown")


def find_ferry(origin: str, destination: str) -> str:
    """Find the next ferry between two ports."""
    return f"08:20 {origin} to {destination}, 5 h 30 min"


def _parameters(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": [*names]}


FUNCTIONS: dict[str, Callable[..., str]] = {"get_weather": get_weather, "find_ferry": find_ferry}
PARAMETERS: dict[str, dict[str, Any]] = {
    "get_weather": _parameters("city"),
    "find_ferry": _parameters("origin", "destination"),
}


def question(upstream: str) -> str:
    """The prompt: the question for a model, directives for `local/echo`."""
    return SCRIPT if upstream.startswith("local/") else QUESTION


def call(name: str, arguments: dict[str, Any]) -> str:
    """Run a tool."""
    return FUNCTIONS[name](**arguments)


def shown(name: str, arguments: dict[str, Any]) -> str:
    """A call, as people write it."""
    return f"{name}({', '.join(map(str, arguments.values()))})"


def show(run: Iterable[tuple[str, str]]) -> None:
    """Print reasoning, text, calls and results of an agent, as they arrive."""
    last = None
    for kind, text in run:
        if not text:
            continue
        if kind != last or kind in ("calls", "gets"):
            print(f"{'' if last is None else chr(10)}{kind:>7} ", end="")
        print(text, end="", flush=True)
        last = kind
    print()
