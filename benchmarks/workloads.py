"""The documents every contender converts: made here, the same bytes on every run.

One agent conversation is generated once in a neutral form and printed in each wire shape, so that all directions are
measured on the same content and no contender's own output is anybody's input. The 50-turn request is the reference
(about 39 KB of chat JSON: 12 tools, system prompt, parallel calls and their results, sampling settings).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

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
_HEX = "0a6bb9db7c31ec1d016a5c0a66b8cc8197a6cd3ce6d3e5da24"  # ids are as long as the real ones
Kind = Literal["request", "response", "stream"]
Json = dict[str, Any]


@dataclass(frozen=True)
class Workload:
    """One row of the table.

    Attributes:
        name: stable id, used in the JSON results and by `--only`.
        label: what the table prints.
        kind: what the body is.
        source: the protocol of `body`.
        target: the protocol to print; `back` converts that once more into `source`.
        body: the JSON bytes; for a stream the concatenated server-sent events.
        budget: the most the row may cost us, as a multiple of its floor; None where only the whole is budgeted.
        events: how many events the figure is divided by (1 for anything but a stream).
        framed: the stream goes in and comes out as server-sent events in bytes, not as parsed events.
    """

    name: str
    label: str
    kind: Kind
    source: str
    target: str
    body: bytes
    back: bool = False
    budget: float | None = None
    events: int = 1
    framed: bool = False


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
    ("find_part", "Search the parts catalogue by words or by number.", ("query", "limit")),
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


def _words(seed: int, sentences: int) -> str:
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


def _arguments(tool: int, turn: int) -> str:
    values: Json = {}
    for field in _TOOLS[tool][2]:
        values[field] = turn + 1 if field in _INTEGERS else f"{_TOPICS[(turn + tool) % len(_TOPICS)]} {turn}"
    return orjson.dumps(values).decode()


@dataclass(frozen=True)
class Turn:
    """One step of the agent: what was asked (not in every step), said, called and answered."""

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
                _arguments((n * 3 + k) % len(_TOOLS), n),
            )
            for k in range(2 + n % 2 if n % 3 == 0 else 1)
        )
        results = tuple((call_id, _words(n + k, 1 + n % 3 if k == 0 else 1)) for k, (call_id, _, _) in enumerate(calls))
        asked = f"Keeper {n % 3} asks for step {n}. " + _words(n, 2) if n % 5 == 0 else None
        yield Turn(asked, _words(n + 1, 1) if n % 2 else None, calls, results)


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
    """The same conversation as a Responses request body, spelt as that API's own clients spell it."""
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


_CALLS = (
    ("call_1Zr7vTq0aB3xYz9KpLmW4u7c", "read_sensor", _arguments(2, 7)),
    ("call_8Qd2nHs6eF5gJk1MxVbC3t0y", "tide_table", _arguments(8, 7)),
)


def chat_response() -> Json:
    """A Chat Completions answer: a paragraph, two parallel tool calls, usage with its details."""
    calls = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in _CALLS]
    message = {"role": "assistant", "content": _words(3, 6), "refusal": None, "annotations": [], "tool_calls": calls}
    return {
        "id": f"chatcmpl-{_HEX[:29]}", "object": "chat.completion", "created": CREATED, "model": MODEL,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}],
        "usage": _chat_usage(), "service_tier": "default", "system_fingerprint": "fp_bench",
    }  # fmt: skip


def _chat_usage() -> Json:
    return {
        "prompt_tokens": 9120, "completion_tokens": 310, "total_tokens": 9430,
        "prompt_tokens_details": {"cached_tokens": 8960, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 128, "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
        },
    }  # fmt: skip


def responses_response() -> Json:
    """The same answer as a Responses resource, settings echoed as the API echoes them."""
    return _resource("completed", [_message_item(_words(3, 6)), *(_call_item(k) for k in range(len(_CALLS)))])


def _message_item(text: str) -> Json:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": f"msg_{_HEX}", "type": "message", "status": "completed", "role": "assistant", "content": [part]}


def _call_item(k: int) -> Json:
    call_id, name, arguments = _CALLS[k]
    return {
        "id": f"fc_{_HEX[:-1]}{k}", "type": "function_call", "status": "completed", "call_id": call_id, "name": name,
        "arguments": arguments,
    }  # fmt: skip


def _resource(status: str, output: list[Json]) -> Json:
    usage = {
        "input_tokens": 9120, "input_tokens_details": {"cached_tokens": 8960},
        "output_tokens": 310, "output_tokens_details": {"reasoning_tokens": 128}, "total_tokens": 9430,
    }  # fmt: skip
    return {
        "id": f"resp_{_HEX}", "object": "response", "created_at": CREATED, "status": status, "background": False,
        "error": None, "incomplete_details": None, "instructions": None, "max_output_tokens": 4096, "model": MODEL,
        "output": output, "parallel_tool_calls": True, "previous_response_id": None,
        "reasoning": {"effort": "medium", "summary": None}, "service_tier": "default", "store": False,
        "temperature": 0.7, "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_p": 0.95,
        "truncation": "disabled", "usage": usage if status == "completed" else None, "user": None, "metadata": {},
    }  # fmt: skip


# --- streams --------------------------------------------------------------------------------------------------------


def _pieces(text: str, count: int) -> list[str]:
    """Cuts `text`, repeated as needed, into `count` pieces of about one token."""
    source = (text + " ") * (count * 6 // len(text) + 1)
    return [source[k * 5 : k * 5 + 5] for k in range(count)]


def _padding(n: int) -> str:
    """What both APIs send beside a delta by default, to hide its length."""
    return "kW3bTz9qLr0XnV5e"[n % 5 : n % 5 + 9 + n % 3]


def chat_stream(chunks: int = 1000) -> list[Json]:
    """`chunks` chunks: role, text, two tool calls in fragments, finish, usage. Four fifths of it is text."""
    head = {"id": f"chatcmpl-{_HEX[:29]}", "object": "chat.completion.chunk", "created": CREATED, "model": MODEL}
    head |= {"service_tier": "default", "system_fingerprint": "fp_bench"}

    def chunk(delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**head, "choices": [choice], "usage": None, "obfuscation": _padding(len(out))}

    fragments = chunks // 10
    texts = chunks - 3 - 2 * (fragments + 1)
    out: list[Json] = []
    out += [chunk({"role": "assistant", "content": "", "refusal": None})]
    for piece in _pieces(_words(2, 5), texts):
        out.append(chunk({"content": piece}))
    for k, (call_id, name, _) in enumerate(_CALLS):
        opening = {"index": k, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
        out.append(chunk({"tool_calls": [opening]}))
        pieces = ['{"text":"', *_pieces("slack water after the front", fragments - 2), '"}']
        for piece in pieces:
            out.append(chunk({"tool_calls": [{"index": k, "function": {"arguments": piece}}]}))
    out.append(chunk({}, "tool_calls"))
    out.append({**head, "choices": [], "usage": _chat_usage()})
    return out


def responses_stream(events: int = 1000) -> list[Json]:
    """About the same answer as `events` Responses events, with the frames that open and close every item and part."""
    out: list[Json] = []

    def emit(kind: str, **fields: Any) -> None:
        out.append({"type": f"response.{kind}", "sequence_number": len(out), **fields})

    fragments = events // 10
    pieces = _pieces(_words(2, 5), events - 8 - len(_CALLS) * (fragments + 3))
    message = _message_item("".join(pieces))
    part = message["content"][0]
    at: Json = {"item_id": message["id"], "output_index": 0, "content_index": 0}
    emit("created", response=_resource("in_progress", []))
    emit("in_progress", response=_resource("in_progress", []))
    emit("output_item.added", output_index=0, item={**message, "status": "in_progress", "content": []})
    emit("content_part.added", **at, part={**part, "text": ""})
    for piece in pieces:
        emit("output_text.delta", **at, delta=piece, logprobs=[], obfuscation=_padding(len(out)))
    emit("output_text.done", **at, text=part["text"], logprobs=[])
    emit("content_part.done", **at, part=part)
    emit("output_item.done", output_index=0, item=message)
    items = [message]
    for k in range(len(_CALLS)):
        pieces = ['{"text":"', *_pieces("slack water after the front", fragments - 2), '"}']
        item = {**_call_item(k), "arguments": "".join(pieces)}
        emit("output_item.added", output_index=k + 1, item={**item, "status": "in_progress", "arguments": ""})
        for piece in pieces:
            place = {"item_id": item["id"], "output_index": k + 1}
            emit("function_call_arguments.delta", **place, delta=piece, obfuscation=_padding(len(out)))
        emit("function_call_arguments.done", item_id=item["id"], output_index=k + 1, arguments=item["arguments"])
        emit("output_item.done", output_index=k + 1, item=item)
        items.append(item)
    emit("completed", response=_resource("completed", items))
    return out


def sse(events: list[Json]) -> bytes:
    """Prints events as their API frames them: Responses names each event, Chat closes with a done marker."""
    named = "type" in events[0]
    head = b"event: %s\ndata: %s\n\n"
    frames = [
        head % (e["type"].encode(), orjson.dumps(e)) if named else b"data: " + orjson.dumps(e) + b"\n\n" for e in events
    ]
    return b"".join(frames) + (b"" if named else b"data: [DONE]\n\n")


def stream_data(body: bytes) -> list[bytes]:
    """The data of every event in `body`, without the done marker: what a floor has to parse and print."""
    return [line[6:] for line in body.split(b"\n") if line.startswith(b"data: ") and line != b"data: [DONE]"]


_BUDGETED = tuple(f"{way}{end}" for way in ("", "messages-", "google-", "steps-") for end in ("there", "back"))


def workloads(quick: bool = False) -> list[Workload]:
    """All rows, in the order of the table; `quick` leaves out the 10-turn ones."""
    dumps: Callable[[Any], bytes] = orjson.dumps
    rows: list[Workload] = []
    for turns in (1, 50) if quick else (1, 10, 50):
        chat, responses = dumps(chat_request(turns)), dumps(responses_request(turns))
        messages = dumps(messages_request(turns))
        size = f"request, {turns} turn{'s' if turns > 1 else ''}"
        ways: list[tuple[str, str, str, str, bytes, bool]] = [
            ("there", "chat → responses", CHAT, RESPONSES, chat, False),
            ("from", "responses → chat", RESPONSES, CHAT, responses, False),
            ("back", "chat → responses → chat", CHAT, RESPONSES, chat, True),
            ("chat", "chat → chat", CHAT, CHAT, chat, False),
            ("responses", "responses → responses", RESPONSES, RESPONSES, responses, False),
            ("messages-there", "chat → messages", CHAT, MESSAGES, chat, False),
            ("messages-from", "messages → chat", MESSAGES, CHAT, messages, False),
            ("messages-back", "chat → messages → chat", CHAT, MESSAGES, chat, True),
            ("google-there", "chat → generateContent", CHAT, GENERATE, chat, False),
            ("google-back", "chat → generateContent → chat", CHAT, GENERATE, chat, True),
            ("steps-there", "chat → interactions", CHAT, INTERACTIONS, chat, False),
            ("steps-back", "chat → interactions → chat", CHAT, INTERACTIONS, chat, True),
        ]
        for name, way, source, target, body, back in ways if turns == 50 else ways[:3]:
            budget = 6.0 if turns == 50 and name in _BUDGETED else None
            label = f"{size}: {way}"
            rows.append(Workload(f"request-{turns}-{name}", label, "request", source, target, body, back, budget))
    chat, responses = dumps(chat_response()), dumps(responses_response())
    rows += [
        Workload("response-there", "response: chat → responses", "response", CHAT, RESPONSES, chat),
        Workload("response-from", "response: responses → chat", "response", RESPONSES, CHAT, responses),
    ]
    for name, source, target, events in (
        ("stream-there", CHAT, RESPONSES, chat_stream()),
        ("stream-from", RESPONSES, CHAT, responses_stream()),
        ("stream-chat", CHAT, CHAT, chat_stream()),
        ("stream-messages", CHAT, MESSAGES, chat_stream()),
        ("stream-google", CHAT, GENERATE, chat_stream()),
        ("stream-steps", CHAT, INTERACTIONS, chat_stream()),
    ):
        way, body, n = f"{SHORT[source]} → {SHORT[target]}", sse(events), len(events)
        rows.append(Workload(name, f"stream, an event: {way}", "stream", source, target, body, budget=3.5, events=n))
        if {source, target} == {CHAT, RESPONSES}:
            label = f"stream as SSE bytes, an event: {way}"
            rows.append(Workload(f"{name}-bytes", label, "stream", source, target, body, events=n, framed=True))
    return rows
