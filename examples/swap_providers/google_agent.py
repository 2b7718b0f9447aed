"""An agent on the official google-genai SDK. Another provider answers, unknown to it: see `main`.

`python examples/swap_providers/google_agent.py [provider/model]`
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from google import genai
from google.genai import types
from travel import FUNCTIONS, INSTRUCTIONS, PARAMETERS, call, question, show, shown

import unified_llm as ul

FUNCTION_TOOLS = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(name=name, description=function.__doc__, parameters_json_schema=PARAMETERS[name])
        for name, function in FUNCTIONS.items()
    ]
)
STEP_TOOLS: list[Any] = [{"type": "function", "name": name, "parameters": PARAMETERS[name]} for name in FUNCTIONS]


def contents(client: genai.Client, text: str) -> Iterator[tuple[str, str]]:
    """The agent over generateContent: reasoning, text, calls and results, as they arrive."""
    history: list[types.ContentUnion] = [types.UserContent(text)]
    config = types.GenerateContentConfig(
        system_instruction=INSTRUCTIONS,
        tools=[FUNCTION_TOOLS],
        thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_level=types.ThinkingLevel.LOW),
        safety_settings=[
            types.SafetySetting(
                category=types.HarmCategory.HARM_CATEGORY_HARASSMENT,
                threshold=types.HarmBlockThreshold.BLOCK_ONLY_HIGH,
            )
        ],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    while True:
        said: list[types.Part] = []
        for chunk in client.models.generate_content_stream(model="gemini-3-pro", contents=history, config=config):
            for part in chunk.parts or ():
                said.append(part)
                if part.text:
                    yield "thinks" if part.thought else "says", part.text
        history.append(types.ModelContent(said))
        results: list[types.Part] = []
        for asked in [part.function_call for part in said if part.function_call]:
            name, arguments = asked.name or "", asked.args or {}
            yield "calls", shown(name, arguments)
            yield "gets", (result := call(name, arguments))
            response = types.FunctionResponse(id=asked.id, name=name, response={"output": result})
            results.append(types.Part(function_response=response))
        if not results:
            return
        history.append(types.Content(role="user", parts=results))


def turn(client: genai.Client, history: list[Any]) -> Iterable[Any]:
    """The events of one answer over Interactions."""
    return client.interactions.create(
        model="gemini-3-pro",
        system_instruction=INSTRUCTIONS,
        input=history,
        tools=STEP_TOOLS,
        generation_config={"thinking_level": "low", "thinking_summaries": "auto"},
        store=False,
        stream=True,
    )


def interactions(client: genai.Client, text: str) -> Iterator[tuple[str, str]]:
    """The same over Interactions."""
    history: list[Any] = [{"type": "user_input", "content": [{"type": "text", "text": text}]}]
    while True:
        steps: dict[int, dict[str, Any]] = {}
        for event in turn(client, history):
            if event.event_type == "step.start":
                steps[event.index] = event.step.model_dump(exclude_none=True)
            elif event.event_type == "step.delta":
                step, delta = steps[event.index], event.delta
                if delta.type == "text":
                    yield "says", delta.text
                    step.setdefault("content", [{"type": "text", "text": ""}])[0]["text"] += delta.text
                elif delta.type == "thought_summary":
                    yield "thinks", delta.content.text
                elif delta.type == "thought_signature":
                    step["signature"] = delta.signature
                elif delta.type == "arguments_delta":
                    step["arguments"] = (step["arguments"] or "") + delta.arguments
        history += steps.values()
        asked = [step for step in steps.values() if step["type"] == "function_call"]
        for step in asked:
            step["arguments"] = json.loads(step["arguments"])
            yield "calls", shown(step["name"], step["arguments"])
            yield "gets", (result := call(step["name"], step["arguments"]))
            history.append({"type": "function_result", "call_id": step["id"], "name": step["name"], "result": result})
        if not asked:
            return


def main(upstream: str = "local/echo:openai-responses") -> None:
    swapped = types.HttpOptions(httpx_client=ul.http_client(upstream))
    client = genai.Client(api_key="unused", http_options=swapped)  # was: genai.Client()
    show(contents(client, question(upstream)))


if __name__ == "__main__":
    main(*sys.argv[1:])
