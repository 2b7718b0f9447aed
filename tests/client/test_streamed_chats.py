"""The chat of the official Google SDK keeps each chunk of a streamed answer as a content: upstreams see whole turns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai import types

import unified_llm as ul
from oracles import mounts

Node = dict[str, Any]

LOOP = (
    "Let me look. [[call temperature city=Oslo]] [[call temperature city=Rome]] [[then]] "
    "[[call temperature city=Bern]] [[then]] All of them are cold."
)
TEXT = "unbelievable weather today."


def temperature(city: str) -> str:
    """How warm a city is."""
    return f"4 degrees in {city}"


def assistant(body: Node) -> Iterator[list[tuple[str, Any]]]:
    """The turns of the model in a request: texts and the cities of calls."""
    turn: list[tuple[str, Any]] = []
    for entry in body.get("messages") or body["input"]:
        pieces = list(_pieces(entry))
        if entry.get("role") == "assistant" and "messages" in body:
            yield pieces  # each message is a turn
        elif pieces:
            turn += pieces
        elif turn and entry["type"] != "thought":  # of Interactions: that a call is not signed
            yield turn
            turn = []


def _pieces(entry: Node) -> Iterator[tuple[str, Any]]:
    kind = entry.get("type")
    if kind == "function_call":
        arguments = entry["arguments"]
        yield "call", (json.loads(arguments) if type(arguments) is str else arguments)["city"]
    elif entry.get("role") == "assistant" or kind == "model_output":
        content = entry["content"] if "content" in entry else None
        for part in [{"type": "text", "text": content}] if type(content) is str else content or ():
            yield ("call", part["input"]["city"]) if part["type"] == "tool_use" else ("text", part["text"])
        for call in entry.get("tool_calls") or ():
            yield "call", json.loads(call["function"]["arguments"])["city"]


@pytest.mark.parametrize("protocol", ["openai-responses", "anthropic-messages", "google-interactions"])
def test_a_chat_that_is_streamed_keeps_its_thoughts(protocol: str) -> None:
    """The functions that the SDK calls by itself are a loop whose thought is shown in pieces: it goes back whole."""
    service = mounts.Oracle()
    upstream = ul.Upstream.of(f"local/echo:{protocol}").with_(
        http_client=httpx2.Client(transport=mounts.transport(service))
    )
    losses: list[Any] = []
    http = ul.http_client(upstream, on_losses=losses.extend)
    client = genai.Client(api_key="none", http_options=types.HttpOptions(httpx_client=http))
    thinking = types.ThinkingConfig(include_thoughts=True, thinking_budget=2000)
    config = types.GenerateContentConfig(tools=[temperature], thinking_config=thinking)
    chat = client.chats.create(model="echo", config=config)
    list(chat.send_message_stream("[[reason It is Oslo, then.]] [[call temperature city=Oslo]] [[then]] It is cold."))
    assert len([part for content in chat.get_history() for part in content.parts or () if part.thought]) > 2
    first, second = (seen.body for seen in service.seen)
    assert "CgRlY2hv" in json.dumps(second), "what it signed is back"
    assert second.get("thinking") == first.get("thinking") and second.get("reasoning") == first.get("reasoning")
    assert not [
        loss for loss in losses if loss.fate == "lost" and loss.capability in ("reasoning.text", "reasoning.budget")
    ]


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses", "anthropic-messages", "google-interactions"])
def test_a_chat_that_is_streamed_keeps_whole_turns(protocol: str) -> None:
    service = mounts.Oracle()
    upstream = ul.Upstream.of(f"local/echo:{protocol}").with_(
        http_client=httpx2.Client(transport=mounts.transport(service))
    )
    client = genai.Client(api_key="none", http_options=types.HttpOptions(httpx_client=ul.http_client(upstream)))
    chat = client.chats.create(model="echo", config=types.GenerateContentConfig(tools=[temperature]))
    chunks = list(chat.send_message_stream(TEXT))
    assert len(chunks) > 2 and "".join(chunk.text or "" for chunk in chunks) == TEXT
    list(chat.send_message_stream(LOOP))
    assert "".join(chunk.text or "" for chunk in chat.send_message_stream("Thank you.")) == "Thank you."
    assert len([content for content in chat.get_history() if content.role == "model"]) > 8
    assert [seen.status for seen in service.seen] == [200] * 5
    assert list(assistant(service.seen[-1].body)) == [
        [("text", TEXT)],
        [("text", "Let me look."), ("call", "Oslo"), ("call", "Rome")],
        [("call", "Bern")],
        [("text", "All of them are cold.")],
    ]
