"""Requests to an oracle in each protocol's own words: requests, the content of an answer, the turn that follows it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import httpx2

from oracles import mounts

Node = dict[str, Any]
CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
CONTENT, INTERACTIONS = "google-generate-content", "google-interactions"
PROTOCOLS = (CHAT, RESPONSES, MESSAGES, CONTENT, INTERACTIONS)
GOOGLE = (CONTENT, INTERACTIONS)
HEADERS = {MESSAGES: {"anthropic-version": "2026-10-21"}}

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 2}},
    "required": ["city"],
}
CLOCK = {"type": "object", "properties": {"zone": {"type": "string", "enum": ["UTC", "CET"]}}, "required": ["zone"]}
TOOLS = {"get_weather": WEATHER, "read_clock": CLOCK}


def client(service: Any = None, library: Any = httpx2) -> Any:
    """An HTTP client in front of a service."""
    transport = mounts.transport(service or mounts.Oracle(), library.__name__)
    return library.Client(transport=transport, base_url="http://echo")


def path(protocol: str, stream: bool = False) -> str:
    """Where a request goes."""
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return {
        CHAT: "/v1/chat/completions",
        RESPONSES: "/v1/responses",
        MESSAGES: "/v1/messages",
        CONTENT: f"/v1beta/models/echo:{verb}",
        INTERACTIONS: "/v1beta/interactions",
    }[protocol]


def request(protocol: str, text: str, tools: Iterable[str] = (), /, **more: Any) -> Node:
    """The body of a request with `text`."""
    schemas = {name: TOOLS[name] for name in tools}
    if protocol == CHAT:
        body: Node = {"model": "echo", "messages": [{"role": "user", "content": text}]}
        offered: list[Node] = [
            {"type": "function", "function": {"name": n, "parameters": s}} for n, s in schemas.items()
        ]
    elif protocol == MESSAGES:
        body = {"model": "echo", "max_tokens": 4000, "messages": [{"role": "user", "content": text}]}
        offered = [{"name": name, "input_schema": schema} for name, schema in schemas.items()]
    elif protocol == CONTENT:
        body = {"contents": [{"role": "user", "parts": [{"text": text}]}]}
        declared = [{"name": name, "parametersJsonSchema": schema} for name, schema in schemas.items()]
        offered = [{"functionDeclarations": declared}] if declared else []
    else:
        body = {"model": "echo", "input": text}
        offered = [{"type": "function", "name": name, "parameters": schema} for name, schema in schemas.items()]
    return {**body, **({"tools": offered} if offered else {}), **more}


def post(protocol: str, body: Node, service: Any = None, **more: Any) -> Any:
    """The HTTP response to a body."""
    with client(service) as http:
        return http.post(path(protocol), json=body, headers=HEADERS.get(protocol), **more)


def answer(protocol: str, body: Node, service: Any = None) -> Node:
    """The answer to a body that is accepted."""
    response = post(protocol, body, service)
    assert response.status_code == 200, response.text
    found: Node = response.json()
    return found


def stream(protocol: str, body: Node, service: Any = None) -> list[Node]:
    """The frames of a streamed answer, as `{event, data}`."""
    if protocol != CONTENT:
        body = {**body, "stream": True}
    with client(service) as http:
        response = http.post(path(protocol, True), json=body, headers=HEADERS.get(protocol))
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/event-stream"
    frames = []
    for block in response.text.replace("\r\n", "\n").strip("\n").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        data = fields["data"]
        frames.append({"event": fields.get("event"), "data": data if data == "[DONE]" else json.loads(data)})
    return frames


def said(protocol: str, found: Node) -> str:
    """The text of an answer."""
    if protocol == CHAT:
        return found["choices"][0]["message"]["content"] or ""
    if protocol == CONTENT:
        parts = found["candidates"][0]["content"].get("parts", [])
        return "".join(part.get("text", "") for part in parts if not part.get("thought"))
    holders: list[Node] = {RESPONSES: found.get("output"), MESSAGES: [found], INTERACTIONS: found.get("steps")}[
        protocol
    ]
    parts = [part for holder in holders if holder["type"] != "reasoning" for part in holder.get("content", [])]
    return "".join(part.get("text", "") for part in parts)


def calls(protocol: str, found: Node) -> list[tuple[str, str, Any]]:
    """The calls of an answer: id, name, arguments."""
    if protocol == CHAT:
        made = found["choices"][0]["message"].get("tool_calls", [])
        return [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in made]
    if protocol == RESPONSES:
        made = [item for item in found["output"] if item["type"] == "function_call"]
        return [(c["call_id"], c["name"], json.loads(c["arguments"])) for c in made]
    if protocol == MESSAGES:
        return [(b["id"], b["name"], b["input"]) for b in found["content"] if b["type"] == "tool_use"]
    if protocol == CONTENT:
        parts = found["candidates"][0]["content"].get("parts", [])
        made = [part["functionCall"] for part in parts if "functionCall" in part]
        return [(c["id"], c["name"], c["args"]) for c in made]
    return [(s["id"], s["name"], s["arguments"]) for s in found["steps"] if s["type"] == "function_call"]


def history(protocol: str, body: Node) -> list[Node]:
    """The turns of a request."""
    key = {CHAT: "messages", MESSAGES: "messages", CONTENT: "contents"}.get(protocol, "input")
    turns = body[key]
    if isinstance(turns, str) and protocol == RESPONSES:
        return [{"role": "user", "content": turns}]
    if isinstance(turns, str):
        return [{"type": "user_input", "content": [{"type": "text", "text": turns}]}]
    return list(turns)


def then(protocol: str, body: Node, found: Node, results: dict[str, str] | None = None, text: str = "") -> Node:
    """The request of the next turn: the answer, the results of its calls, what the user says then."""
    turns = history(protocol, body)
    made = calls(protocol, found)
    results = results if results is not None else {name: f"result of {name}" for _, name, _ in made}
    if protocol == CHAT:
        turns.append(found["choices"][0]["message"])
        turns += [{"role": "tool", "tool_call_id": i, "content": results[n]} for i, n, _ in made]
        turns += [{"role": "user", "content": text}] if text else []
    elif protocol == RESPONSES:
        turns += found["output"]
        turns += [{"type": "function_call_output", "call_id": i, "output": results[n]} for i, n, _ in made]
        turns += [{"role": "user", "content": text}] if text else []
    elif protocol == MESSAGES:
        turns.append({"role": "assistant", "content": found["content"]})
        blocks = [{"type": "tool_result", "tool_use_id": i, "content": results[n]} for i, n, _ in made]
        blocks += [{"type": "text", "text": text}] if text else []
        turns.append({"role": "user", "content": blocks})
    elif protocol == CONTENT:
        turns.append(found["candidates"][0]["content"])
        parts = [{"functionResponse": {"id": i, "name": n, "response": {"output": results[n]}}} for i, n, _ in made]
        turns += [{"role": "user", "parts": parts}] if parts else []
        turns += [{"role": "user", "parts": [{"text": text}]}] if text else []
    else:
        turns += found["steps"]
        turns += [{"type": "function_result", "call_id": i, "name": n, "result": results[n]} for i, n, _ in made]
        turns += [{"type": "user_input", "content": [{"type": "text", "text": text}]}] if text else []
    key = {CHAT: "messages", MESSAGES: "messages", CONTENT: "contents"}.get(protocol, "input")
    return {**body, key: turns}
