"""A small agent: it sends a question about the weather to a model and runs the function the model calls."""

from __future__ import annotations

import json
from typing import Any

import httpx2

URL = "https://api.example.com/v1/chat/completions"
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "strict": True,
    },
}


def request(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The request this agent sends."""
    return {"model": "any-model", "temperature": 0.5, "messages": messages, "tools": [TOOL]}


def get_weather(city: str) -> str:
    return f"Rain in {city}, 7 degrees"


def ask(question: str, client: httpx2.Client) -> str:
    """Talk to the model until it answers in words."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    while True:
        answer = client.post(URL, json=request(messages), headers={"authorization": "Bearer key"})
        answer.raise_for_status()
        message = answer.json()["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return str(message["content"])
        for call in message["tool_calls"]:
            result = get_weather(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
