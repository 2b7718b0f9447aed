"""Structured output from any provider, by whatever way it has: its own, the arguments of a tool, or the instructions.

`python examples/structured_output.py [provider/model ...]`; without one, against `local/echo` over every protocol.
"""

from __future__ import annotations

import sys

from pydantic import BaseModel

import unified_llm as ul


class Recipe(BaseModel):
    """A recipe."""

    title: str
    minutes: int
    ingredients: list[str]


def main(models: list[str]) -> None:
    asked: list[tuple[str, str | None]] = [(model, None) for model in models]
    asked = asked or [("local/echo", protocol) for protocol in ul.protocols()]
    with ul.Client() as client:
        for model, protocol in asked:
            for strategy in ("auto", "tool"):
                answer = client.responses.parse(
                    model=model,
                    protocol=protocol,
                    input="A recipe for pancakes.",
                    text_format=Recipe,
                    strategy=strategy,
                )
                print(f"{answer.upstream.protocol:26}{answer.strategy:8}{answer.output_parsed!r}")


if __name__ == "__main__":
    main(sys.argv[1:])
