"""An agent on the official openai SDK. Another provider answers, unknown to it: see `main`.

`python examples/swap_providers/openai_agent.py [provider/model]`
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import openai
from travel import FUNCTIONS, INSTRUCTIONS, PARAMETERS, call, question, show, shown

import unified_llm as ul

TOOLS = [
    {"name": name, "description": function.__doc__, "parameters": PARAMETERS[name], "strict": False}
    for name, function in FUNCTIONS.items()
]


def responses(client: openai.OpenAI, text: str) -> Iterator[tuple[str, str]]:
    """The agent over the Responses API: what it thinks, says, calls and gets, as it happens."""
    history: list = [{"role": "user", "content": text}]
    while True:
        with client.responses.stream(
            model="gpt-5.6",
            instructions=INSTRUCTIONS,
            input=history,
            tools=[{"type": "function", **tool} for tool in TOOLS],
            reasoning={"effort": "low", "summary": "auto"},
            include=["reasoning.encrypted_content"],
            store=False,
            prompt_cache_key="trips",
        ) as stream:
            for event in stream:
                if event.type in ("response.reasoning_text.delta", "response.reasoning_summary_text.delta"):
                    yield "thinks", event.delta
                elif event.type == "response.output_text.delta":
                    yield "says", event.delta
            answer = stream.get_final_response()
        history += answer.output
        asked = [item for item in answer.output if item.type == "function_call"]
        for item in asked:
            arguments = json.loads(item.arguments)
            yield "calls", shown(item.name, arguments)
            yield "gets", (result := call(item.name, arguments))
            history.append({"type": "function_call_output", "call_id": item.call_id, "output": result})
        if not asked:
            return


def chat(client: openai.OpenAI, text: str) -> Iterator[tuple[str, str]]:
    """The same over Chat Completions; what is thought comes in the field that other vendors made for it."""
    messages: list = [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": text}]
    while True:
        with client.chat.completions.stream(
            model="gpt-5.6",
            messages=messages,
            tools=[{"type": "function", "function": tool} for tool in TOOLS],
            reasoning_effort="low",
            seed=7,
        ) as stream:
            for event in stream:
                if event.type == "content.delta":
                    yield "says", event.delta
                elif event.type == "chunk" and event.chunk.choices:
                    yield "thinks", getattr(event.chunk.choices[0].delta, "reasoning_content", None) or ""
            message = stream.get_final_completion().choices[0].message
        asked = [(each.id, each.function.name, each.function.arguments) for each in message.tool_calls or ()]
        calls = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in asked]
        messages.append({"role": "assistant", "content": message.content, **({"tool_calls": calls} if calls else {})})
        for call_id, name, written in asked:
            arguments = json.loads(written)
            yield "calls", shown(name, arguments)
            yield "gets", (result := call(name, arguments))
            messages.append({"role": "tool", "tool_call_id": call_id, "content": result})
        if not asked:
            return


def main(upstream: str = "local/echo:anthropic-messages") -> None:
    client = openai.OpenAI(api_key="unused", http_client=ul.http_client(upstream))  # was: openai.OpenAI()
    show(responses(client, question(upstream)))


if __name__ == "__main__":
    main(*sys.argv[1:])
