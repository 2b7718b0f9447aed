"""Forms of requests that one server or protocol spells in its own way, and what becomes of them elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul

Node = dict[str, Any]
CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
INTERACTIONS, GENERATE = "google-interactions", "google-generate-content"
URL = "https://example.com/a.pdf"


def chat(*parts: Node, role: str = "user", **more: Any) -> Node:
    text = {"type": "text", "text": "Read."}
    return {
        "model": "m",
        "messages": [{"role": role, "content": [text, *parts]}, {"role": "user", "content": "Hi"}],
        **more,
    }


# https://openrouter.ai/docs/features/multimodal/pdfs
FILE = {"type": "file", "file": {"filename": "a.pdf", "file_data": URL}}


@pytest.mark.parametrize(
    ("target", "sent"),
    [
        (GENERATE, {"fileUri": URL}),
        (RESPONSES, {"file_url": URL}),
        (INTERACTIONS, {"uri": URL}),
        (MESSAGES, {"type": "url", "url": URL}),
        ("openai-chat:mistral", {"document_url": URL}),
    ],
)
def test_a_url_in_file_data_is_a_url(target: str, sent: Node) -> None:
    done = ul.convert(chat(FILE), source="openai-chat:openrouter", target=target)
    found = json.dumps(done.value)
    assert all(f'"{key}": "{value}"' in found for key, value in sent.items())
    assert not any(f'"{key}": "{URL}"' in found for key in ("data", "file_data"))


@pytest.mark.parametrize("part", [FILE, {"type": "document_url", "document_url": URL, "document_name": "a.pdf"}])
def test_files_by_url_are_sent_back_as_they_came(part: Node) -> None:
    body = chat(part)
    assert ul.convert(body, source=CHAT, target=CHAT).value == body


def test_a_document_by_url_of_mistral_is_a_file() -> None:
    part = {"type": "document_url", "document_url": URL, "document_name": "a.pdf"}
    done = ul.convert(chat(part), source="openai-chat:mistral", target=RESPONSES)
    assert done.value["input"][0]["content"][1] == {"type": "input_file", "file_url": URL, "filename": "a.pdf"}


# ---- cache breakpoints ------------------------------------------------------------


@pytest.mark.parametrize("control", [{"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}])
def test_cache_control_goes_between_openrouter_and_messages(control: Node) -> None:
    part = {"type": "text", "text": "Long.", "cache_control": control}
    body = {"model": "m", "messages": [{"role": "user", "content": [part]}]}
    there = ul.convert(body, source="openai-chat:openrouter", target=MESSAGES)
    assert there.value["messages"][0]["content"] == [part]
    back = ul.convert(there.value, source=MESSAGES, target="openai-chat:openrouter")
    assert back.value["messages"][0]["content"] == [part]
    assert ul.convert(body, source=CHAT, target=CHAT).value == body


def test_a_lifetime_of_openai_is_the_nearest_there_is() -> None:
    part = {"type": "input_text", "text": "Long.", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "30m"}}
    body = {"model": "m", "input": [{"role": "user", "content": [part]}]}
    done = ul.convert(body, source=RESPONSES, target="openai-chat:openrouter")
    assert done.value["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert any(loss.path.endswith("/ttl") and loss.fate == "approximated" for loss in done.losses)


def test_a_control_of_another_kind_is_kept_and_told() -> None:
    part = {"type": "text", "text": "Long.", "cache_control": {"type": "lasting"}}
    body = {"model": "m", "messages": [{"role": "user", "content": [part]}]}
    assert ul.convert(body, source=CHAT, target=CHAT).value == body
    losses = ul.convert(body, source=CHAT, target=RESPONSES).losses
    assert [loss.path for loss in losses if loss.fate == "lost"] == ["/messages/0/content/0/cache_control/type"] or any(
        loss.path.startswith("/messages/0/content/0/cache_control") for loss in losses
    )


# ---- what OpenAI's own Chat does not take ------------------------------------------------------------


def test_openais_own_chat_is_sent_no_video_and_asked_for_no_images() -> None:
    parts = [{"fileData": {"fileUri": "https://youtu.be/x", "mimeType": "video/mp4"}}, {"text": "What?"}]
    config = {"responseModalities": ["TEXT", "IMAGE"]}
    body = {"contents": [{"role": "user", "parts": parts}], "generationConfig": config}
    done = ul.convert(body, source=GENERATE, target="openai-chat:openai", model="gpt-5.4")
    assert "youtu.be" not in json.dumps(done.value) and done.value["modalities"] == ["text"]
    told = {loss.path: loss.fate for loss in done.losses}
    assert told["/contents/0/parts/0"] == told["/generationConfig/responseModalities/1"] == "lost"


# ---- ids and servers ------------------------------------------------------------


def test_the_result_of_a_tool_search_names_its_call() -> None:
    items: list[Node] = [{"type": "message", "role": "user", "content": "q"}]
    for number in range(2):
        call = {"type": "tool_search_call", "id": f"tsc_{number}", "call_id": None, "execution": "server"}
        result = {"type": "tool_search_output", "id": f"tso_{number}", "call_id": None, "execution": "server"}
        items += [{**call, "arguments": {}, "status": "completed"}, {**result, "tools": [], "status": "completed"}]
    steps = ul.convert({"model": "m", "input": items}, source=RESPONSES, target=INTERACTIONS).value["input"]
    calls = [step["id"] for step in steps if step["type"] == "tool_search_call"]
    assert [step["call_id"] for step in steps if step["type"] == "tool_search_result"] == calls == ["tsc_0", "tsc_1"]


@pytest.mark.parametrize("server", [{"type": "url", "url": "https://x"}, {"type": "url", "name": "d"}])
def test_a_server_without_name_or_url_stays_in_its_own_protocol(server: Node) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}], "mcp_servers": [server]}
    done = ul.convert(body, source=MESSAGES, target=MESSAGES)
    assert done.value == body and not done.losses
