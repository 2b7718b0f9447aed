"""The requests every contender is given: made here, the same bytes on every run.

One agent conversation is generated once in a neutral form and printed in each wire shape, so that all directions are
measured on the same content and no contender's own output is anybody's input. The 50-turn request is the reference
(about 39 KB of chat JSON: 12 tools, system prompt, parallel calls and their results, sampling settings).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
GENERATE, INTERACTIONS = "google-generate-content", "google-interactions"
SHORT = {
    CHAT: "chat",
    RESPONSES: "responses",
    MESSAGES: "messages",
    GENERATE: "generateContent",
    INTERACTIONS: "interactions",
}
MODEL, CREATED = "bench-model-1-2026-08-01", 1_790_000_000
Json = dict[str, Any]


# --- a neutral agent conversation -----------------------------------------------------------------------------------

_TOPICS = (
    "lamp room",
    "fog signal",
    "tide gauge",
    "north stair",
    "diesel store",
    "radio mast",
    "rain cistern",
    "slipway",
)
_FACTS = (
    "the brass fittings show salt bloom on the seaward side",
    "pressure held at four bar for the whole night watch",
    "two of the nine prisms were re-seated with linseed putty",
    "the spare mantles were counted and entered in the ledger",
    "wind backed from south-west to south before the front passed",
    "the relief boat asked for a weather window after slack water",
    "the battery bank read 48.6 V at dawn and 51.2 V at noon",
    "a gull had nested in the vent, so the cowl was cleaned — “gently”",
)
_TOOLS = (
    ("read_log", "Read entries of the station log between two dates.", ("from_day", "to_day", "section")),
    ("write_log", "Append an entry to the station log and return its number.", ("section", "text", "severity")),
    ("read_sensor", "Read the latest value of one sensor, with its unit.", ("sensor", "window_minutes")),
    ("list_sensors", "List the sensors installed in one part of the station.", ("section",)),
    ("order_part", "Order a spare part from the depot on the mainland.", ("part_number", "quantity", "reason")),
    ("find_part", "Search the parts catalog by words or by number.", ("query", "limit")),
    ("schedule_task", "Put a maintenance task on the roster.", ("task", "day", "keeper")),
    ("list_tasks", "List the open maintenance tasks of a keeper.", ("keeper", "limit")),
    ("tide_table", "Give high and low water for a day at the slipway.", ("day",)),
    ("forecast", "Give the shipping forecast for the sea area of the station.", ("area", "hours")),
    ("call_boat", "Send a message to the relief boat over the radio.", ("channel", "text")),
    ("measure_lamp", "Measure the lamp's intensity over one full rotation.", ("runs", "filter")),
)
_INTEGERS = {"window_minutes", "quantity", "limit", "hours", "runs"}
_SYSTEM = (
    "You keep the books of a lighthouse that is run by three keepers in turns. Answer shortly, in complete sentences. "
    "Look at the log before you claim anything about the past, look at the sensors before you claim anything about "
    "the present, and never order a part that the ledger says is in the store. When two questions do not depend on "
    "each other, ask both tools at once. Write every finding to the log under the section it belongs to, with a "
    "severity from one to five. If the weather closes the slipway, say so first."
)


def words(seed: int, sentences: int) -> str:
    picked = (_FACTS[(seed * 5 + k * 3) % len(_FACTS)] for k in range(sentences))
    return f"On the {_TOPICS[seed % len(_TOPICS)]}: " + "; ".join(picked) + "."


def _schema(fields: tuple[str, ...]) -> Json:
    properties: Json = {}
    for field in fields:
        if field in _INTEGERS:
            limits = {"minimum": 1, "maximum": 1440}
            properties[field] = {"type": "integer", **limits, "description": f"How many ({field})."}
        elif field == "section":
            enum = [topic.replace(" ", "_") for topic in _TOPICS]
            properties[field] = {"type": "string", "enum": enum, "description": "The part of the station meant."}
        else:
            words = field.replace("_", " ")
            properties[field] = {"type": "string", "description": f"The {words}, as the keepers write it."}
    return {"type": "object", "properties": properties, "required": list(fields), "additionalProperties": False}


def arguments(tool: int, turn: int) -> str:
    values: Json = {}
    for field in _TOOLS[tool][2]:
        values[field] = turn + 1 if field in _INTEGERS else f"{_TOPICS[(turn + tool) % len(_TOPICS)]} {turn}"
    return orjson.dumps(values).decode()


@dataclass(frozen=True)
class Turn:
    """One step of the agent: the question (not in every step), text, calls and results."""

    asked: str | None
    said: str | None
    calls: tuple[tuple[str, str, str], ...]  # id, name, arguments
    results: tuple[tuple[str, str], ...]  # id, output


def conversation(turns: int) -> Iterator[Turn]:
    """Yields `turns` steps; every fifth opens with the user, every third calls two or three tools at once."""
    for n in range(turns):
        calls = tuple(
            (
                f"call_{n:04d}{k}aB3xYz9KpLmW4u7cQ",
                _TOOLS[(n * 3 + k) % len(_TOOLS)][0],
                arguments((n * 3 + k) % len(_TOOLS), n),
            )
            for k in range(2 + n % 2 if n % 3 == 0 else 1)
        )
        results = tuple((call_id, words(n + k, 1 + n % 3 if k == 0 else 1)) for k, (call_id, _, _) in enumerate(calls))
        asked = f"Keeper {n % 3} asks for step {n}. " + words(n, 2) if n % 5 == 0 else None
        yield Turn(asked, words(n + 1, 1) if n % 2 else None, calls, results)


# --- the wire shapes of it ------------------------------------------------------------------------------------------


def chat_request(turns: int) -> Json:
    """The conversation as a Chat Completions request body."""
    messages: list[Json] = [{"role": "system", "content": _SYSTEM}]
    for turn in conversation(turns):
        if turn.asked:
            messages.append({"role": "user", "content": turn.asked})
        calls = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in turn.calls]
        messages.append({"role": "assistant", "content": turn.said, "tool_calls": calls})
        messages += [{"role": "tool", "tool_call_id": i, "content": output} for i, output in turn.results]
    messages.append({"role": "user", "content": "Sum up what is still open, and what you would do first."})
    tools = [
        {"type": "function", "function": {"name": n, "description": d, "parameters": _schema(f), "strict": True}}
        for n, d, f in _TOOLS
    ]
    return {
        "model": MODEL, "messages": messages, "tools": tools, "tool_choice": "auto", "parallel_tool_calls": True,
        "temperature": 0.7, "top_p": 0.95, "max_completion_tokens": 4096, "presence_penalty": 0.1, "seed": 1823,
        "stop": ["END OF WATCH"], "reasoning_effort": "medium", "user": "keeper-2", "metadata": {"station": "rock-7"},
    }  # fmt: skip


def responses_request(turns: int) -> Json:
    """The same conversation as a Responses request body, spelled as that API's own clients spell it."""
    items: list[Json] = []
    for turn in conversation(turns):
        if turn.asked:
            content = [{"type": "input_text", "text": turn.asked}]
            items.append({"type": "message", "role": "user", "content": content})
        if turn.said:
            part = {"type": "output_text", "text": turn.said, "annotations": []}
            said = {"type": "message", "id": f"msg_{len(items):04d}", "role": "assistant", "status": "completed"}
            items.append({**said, "content": [part]})
        items += [{"type": "function_call", "call_id": i, "name": n, "arguments": a} for i, n, a in turn.calls]
        items += [{"type": "function_call_output", "call_id": i, "output": output} for i, output in turn.results]
    last = [{"type": "input_text", "text": "Sum up what is still open, and what you would do first."}]
    items.append({"type": "message", "role": "user", "content": last})
    tools = [
        {"type": "function", "name": n, "description": d, "parameters": _schema(f), "strict": True}
        for n, d, f in _TOOLS
    ]
    return {
        "model": MODEL, "instructions": _SYSTEM, "input": items, "tools": tools, "tool_choice": "auto",
        "parallel_tool_calls": True, "temperature": 0.7, "top_p": 0.95, "max_output_tokens": 4096,
        "reasoning": {"effort": "medium"}, "user": "keeper-2", "metadata": {"station": "rock-7"}, "store": False,
        "truncation": "disabled",
    }  # fmt: skip


def messages_request(turns: int) -> Json:
    """The same conversation as a Messages request body: results and what the user says next are one message."""
    messages: list[Json] = []
    blocks: list[Json] = []
    for turn in conversation(turns):
        if turn.asked:
            blocks = [*blocks, {"type": "text", "text": turn.asked}]
        messages.append({"role": "user", "content": blocks})
        said = [{"type": "text", "text": turn.said}] if turn.said else []
        calls = [{"type": "tool_use", "id": i, "name": n, "input": orjson.loads(a)} for i, n, a in turn.calls]
        messages.append({"role": "assistant", "content": [*said, *calls]})
        blocks = [{"type": "tool_result", "tool_use_id": i, "content": output} for i, output in turn.results]
    last = {"type": "text", "text": "Sum up what is still open, and what you would do first."}
    messages.append({"role": "user", "content": [*blocks, last]})
    tools = [{"name": n, "description": d, "input_schema": _schema(f), "strict": True} for n, d, f in _TOOLS]
    return {
        "model": MODEL, "system": _SYSTEM, "messages": messages, "tools": tools,
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": False}, "max_tokens": 4096,
        "thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}, "stop_sequences": ["END OF WATCH"],
        "metadata": {"user_id": "keeper-2"},
    }  # fmt: skip
