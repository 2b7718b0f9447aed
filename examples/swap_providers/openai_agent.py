"""An agent on the official openai SDK. Another provider answers, unknown to it: see `main`.

`python examples/swap_providers/openai_agent.py [provider/model]`
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import openai
from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageParam
from openai.types.responses import FunctionToolParam
from travel import FUNCTIONS, INSTRUCTIONS, PARAMETERS, call, question, show, shown

import unified_llm as ul

TOOLS: list[FunctionToolParam] = [
    {
        "type": "function",
        "name": name,
        "description": function.__doc__,
        "parameters": PARAMETERS[name],
        "strict": False,
    }
    for name, function in FUNCTIONS.items()
]
CHAT_TOOLS: list[ChatCompletionFunctionToolParam] = [
    {
        "type": "function",
        "function": {"name": name, "description": function.__doc__ or "", "parameters": PARAMETERS[name]},
    }
    for name, function in FUNCTIONS.items()
]


def responses(client: openai.OpenAI, text: str) -> Iterator[tuple[str, str]]:
    """The agent over the Responses API: reasoning, text, calls and results, as they arrive."""
    history: list[Any] = [{"role": "user", "content": text}]
    while True:
        with client.responses.stream(
            model="gpt-5.6",
            instructions=INSTRUCTIONS,
            input=history,
            tools=TOOLS,
            reasoning={"effort": "low", "summary": "auto"},
            include=["reasoning.encrypted_content"],
            store=False,
            prompt_cache_key="trips",
        ) as stream:
            for event in stream:
                if event.type == "response.reasoning_text.delta":
                    yield "thinks", event.delta
                elif event.type == "response.reasoning_summary_text.delta":
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
    messages: list[ChatCompletionMessageParam] = [
        {"role": "system", "content": INSTRUCTIONS},
        {"role": "user", "content": text},
    ]
    while True:
        with client.chat.completions.stream(
            model="gpt-5.6",
            messages=messages,
            tools=CHAT_TOOLS,
            reasoning_effort="low",
            seed=7,
        ) as stream:
            for event in stream:
                if event.type == "content.delta":
                    yield "says", event.delta
                elif event.type == "chunk" and event.chunk.choices:
                    yield "thinks", getattr(event.chunk.choices[0].delta, "reasoning_content", None) or ""
            message = stream.get_final_completion().choices[0].message
        calls = message.tool_calls or []
        messages.append(
            {
                "role": "assistant",
                "content": message.content,
                "tool_calls": [
                    {
                        "id": each.id,
                        "type": "function",
                        "function": {"name": each.function.name, "arguments": each.function.arguments},
                    }
                    for each in calls
                ],
            }
            if calls
            else {"role": "assistant", "content": message.content}
        )
        for each in calls:
            arguments = json.loads(each.function.arguments)
            yield "calls", shown(each.function.name, arguments)
            yield "gets", (result := call(each.function.name, arguments))
            messages.append({"role": "tool", "tool_call_id": each.id, "content": result})
        if not calls:
            return


def main(upstream: str = "local/echo:anthropic-messages") -> None:
    client = openai.OpenAI(api_key="unused", http_client=ul.http_client(upstream))  # was: openai.OpenAI()
    show(responses(client, question(upstream)))


if __name__ == "__main__":
    main(*sys.argv[1:])
