"""Handles obey the rule of signatures: no provider is sent one that it did not make, and the way home restores them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.provenance.provider_references import HANDLES
from unified_llm.types._tables import CAPABILITY, KNOWN_TYPES

Node = dict[str, Any]
CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
GEMINI, INTERACTIONS = "google-generate-content", "google-interactions"


def foreign(done: ul.Converted) -> list[tuple[str, str]]:
    return sorted((loss.path, loss.fate) for loss in done.losses if loss.detail == "foreign")


def test_the_table_names_what_the_model_has() -> None:
    assert HANDLES.keys() - {"request"} <= KNOWN_TYPES
    for name, keys in HANDLES.items():
        assert keys.keys() <= CAPABILITY[name].keys(), name


def message(*parts: Node) -> Node:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look"}, *parts]}


REQUEST: Node = {
    "model": "m",
    "previous_response_id": "HANDLE-1",
    "prompt": {"id": "HANDLE-2"},
    "input": [
        message(
            {"type": "input_image", "file_id": "HANDLE-3"},
            {"type": "input_file", "file_id": "HANDLE-4", "filename": "a.pdf"},
            {"type": "input_image", "image_url": "https://e.x/a.png"},
        ),
        {"type": "item_reference", "id": "HANDLE-5"},
    ],
    "tools": [
        {"type": "file_search", "vector_store_ids": ["HANDLE-6"]},
        {"type": "code_interpreter", "container": "HANDLE-7"},
        {"type": "mcp", "server_label": "s", "connector_id": "HANDLE-8"},
        {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False},
    ],
}


@pytest.mark.parametrize("target", [MESSAGES, GEMINI, INTERACTIONS, "openai-chat:openrouter"])
def test_no_handle_reaches_another_provider(target: str) -> None:
    done = ul.convert(REQUEST, source="openai-responses:openai", target=target)
    assert "HANDLE" not in json.dumps([done.value, dict(done.http)])
    assert foreign(done) == [
        ("/input/0/content/1", "lost"),
        ("/input/0/content/2", "lost"),
        ("/input/1", "lost"),
        ("/previous_response_id", "lost"),
        ("/prompt", "lost"),
        ("/tools/0", "lost"),
        ("/tools/1/container", "lost"),
        ("/tools/2", "lost"),
    ]
    assert "https://e.x/a.png" in json.dumps(done.value), "a public address is not a provider reference"


@pytest.mark.parametrize("target", [CHAT, MESSAGES, GEMINI, INTERACTIONS])
@pytest.mark.parametrize(
    "item", [{"type": "item_reference", "id": "msg_1"}, {"type": None, "id": "msg_1"}, {"id": "msg_1"}]
)
def test_a_reference_to_a_stored_item_is_state_that_is_lost(item: Node, target: str) -> None:
    done = ul.convert({"model": "m", "input": [item, message()]}, source=RESPONSES, target=target)
    (loss,) = [loss for loss in done.losses if loss.path.startswith("/input/0")]
    assert (loss.capability, loss.fate, loss.severity) == ("state.store", "lost", "high")


@pytest.mark.parametrize("target", [RESPONSES, "openai-responses:openai"])
def test_its_own_provider_gets_every_handle(target: str) -> None:
    done = ul.convert(REQUEST, source="openai-responses:openai", target=target)
    assert done.value == REQUEST
    assert not foreign(done)


def test_protocols_of_one_family_share_their_files() -> None:
    content = [{"type": "file", "file": {"file_id": "file-1"}}, {"type": "text", "text": "What is it?"}]
    body = {"model": "m", "messages": [{"role": "user", "content": content}]}
    done = ul.convert(body, source=CHAT, target=RESPONSES)
    assert done.value["input"][0]["content"][0]["file_id"] == "file-1"
    other = ul.convert(body, source="openai-chat:openai", target="openai-responses:xai")
    assert "file-1" not in json.dumps(other.value)
    assert foreign(other) == [("/messages/0/content/0", "lost")]


def test_files_of_one_store_are_no_secret_between_its_protocols() -> None:
    uri = "https://generativelanguage.googleapis.com/v1beta/files/abc"
    part = {"fileData": {"fileUri": uri, "mimeType": "image/png"}}
    body = {"contents": [{"role": "user", "parts": [part, {"text": "What is it?"}]}]}
    kept = ul.convert(body, source=GEMINI, target=INTERACTIONS, model="m")
    assert uri in json.dumps(kept.value)
    lost = ul.convert(body, source=GEMINI, target=MESSAGES, model="m")
    assert uri not in json.dumps(lost.value)
    assert foreign(lost) == [("/contents/0/parts/0", "lost")]


def test_a_clients_surface_is_shown_handles_and_brings_them_home() -> None:
    cited = {
        "type": "container_file_citation",
        "container_id": "cntr_1",
        "file_id": "cfile_1",
        "filename": "plot.png",
        "start_index": 0,
        "end_index": 4,
    }
    text = {"type": "output_text", "text": "Done", "annotations": [cited]}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    code = {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "1", "container_id": "cntr_1"}
    answer = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    answer["output"] = [{**code, "outputs": []}, said]  # type: ignore[assignment]
    told = ul.convert(answer, source=RESPONSES, target=MESSAGES, kind="response", secret="s").value
    asked = {"role": "user", "content": "q"}
    history = {
        "model": "m",
        "max_tokens": 99,
        "messages": [asked, {"role": "assistant", "content": told["content"]}, asked],
    }
    home = ul.convert(history, source=MESSAGES, target=RESPONSES, secret="s").value
    assert home["input"][1]["container_id"] == "cntr_1"
    assert home["input"][2]["content"][0]["annotations"] == [cited]
    away = ul.convert(history, source=MESSAGES, target=GEMINI, model="m", secret="s")
    assert "cntr_1" not in json.dumps(away.value)


def test_a_conversation_without_handles_is_handed_on_as_it_is() -> None:
    body = {"model": "m", "input": [message({"type": "input_image", "image_url": "data:image/png;base64,AAAA"})]}
    done = ul.convert(body, source=RESPONSES, target=CHAT)
    assert not foreign(done)
