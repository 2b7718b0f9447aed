"""An agent on the official anthropic SDK. Another provider answers, unknown to it: see `main`.

`python examples/swap_providers/anthropic_agent.py [provider/model]`
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import anthropic
from anthropic.types import MessageParam, ToolParam, ToolResultBlockParam
from travel import FUNCTIONS, INSTRUCTIONS, PARAMETERS, call, question, show, shown

import unified_llm as ul

TOOLS: list[ToolParam] = [
    {"name": name, "description": function.__doc__ or "", "input_schema": PARAMETERS[name]}
    for name, function in FUNCTIONS.items()
]


def messages(client: anthropic.Anthropic, text: str) -> Iterator[tuple[str, str]]:
    """Yield reasoning, text, calls and results of the agent, as they arrive."""
    history: list[MessageParam] = [{"role": "user", "content": text}]
    while True:
        with client.messages.stream(
            model="claude-opus-5",
            max_tokens=4000,
            system=[{"type": "text", "text": INSTRUCTIONS, "cache_control": {"type": "ephemeral"}}],
            messages=history,
            tools=TOOLS,
            thinking={"type": "enabled", "budget_tokens": 2000},
        ) as stream:
            for event in stream:
                if event.type == "thinking":
                    yield "thinks", event.thinking
                elif event.type == "text":
                    yield "says", event.text
            answer = stream.get_final_message()
        history.append({"role": "assistant", "content": answer.content})
        results: list[ToolResultBlockParam] = []
        for block in answer.content:
            if block.type == "tool_use":
                yield "calls", shown(block.name, block.input)
                yield "gets", (result := call(block.name, block.input))
                results.append({"type": "tool_result", "tool_use_id": block.id, "content": result})
        if not results:
            return
        history.append({"role": "user", "content": results})


def main(upstream: str = "local/echo:google-generate-content") -> None:
    client = anthropic.Anthropic(api_key="unused", http_client=ul.http_client(upstream))  # was: anthropic.Anthropic()
    show(messages(client, question(upstream)))


if __name__ == "__main__":
    main(*sys.argv[1:])
