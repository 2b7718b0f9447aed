"""A report names the place of what was lost or altered, not a node of which the rest arrived."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

CHAT: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
TOOLSET: dict[str, Any] = {
    **CHAT,
    "max_tokens": 9,
    "mcp_servers": [{"type": "url", "name": "pilot", "url": "https://mcp.example.com/p"}],
    "tools": [
        {
            "type": "mcp_toolset",
            "mcp_server_name": "pilot",
            "default_config": {"enabled": False},
            "configs": {"guide": {"enabled": True}},
        }
    ],
}
GEMINI: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
FUNCTIONS = {"functionDeclarations": [{"name": "f"}], "timeTravel": {}, "depth": 3}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
CITED = {"content": [{"text": "It rains."}], "citations": [{"location": {"web": {"url": "https://example.com"}}}]}
SEGMENTS = [
    {"segment": {"endIndex": 2, "text": "It"}, "groundingChunkIndices": [0]},
    {"segment": {"startIndex": 1, "endIndex": 8, "text": "t rains"}, "groundingChunkIndices": [0]},
]
IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mime_type": "image/png"}
CODE = {"result": [{"type": "text", "text": "out"}, IMAGE]}
SEARCH = {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_IMAGE", "args": {"queries": ["fjord"]}}}


def answer(*content: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": [*content]}
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    return {"output": {"message": message}, "stopReason": "end_turn", "usage": usage}


def candidate(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": [*parts]}, "finishReason": "STOP", **more}]}


REPORTED = [
    ("google-generate-content", "openai-chat", "request", {**GEMINI, "tools": [FUNCTIONS]}, "/tools/0/timeTravel"),
    ("google-generate-content", "openai-chat", "request", {**GEMINI, "tools": [FUNCTIONS]}, "/tools/0/depth"),
    ("anthropic-messages", "openai-chat", "request", TOOLSET, "/tools/0"),
    (
        "amazon-converse",
        "google-generate-content",
        "response",
        answer(THOUGHT, {"text": "Yes."}),
        "/output/message/content/0/reasoningContent/reasoningText/signature",
    ),
    (
        "amazon-converse",
        "google-generate-content",
        "request",
        {
            "messages": [
                {"role": "user", "content": [{"text": "Rain?"}]},
                {"role": "assistant", "content": [{"citationsContent": CITED}]},
                {"role": "user", "content": [{"text": "Thanks"}]},
            ]
        },
        "/messages/1/content/0/citationsContent/citations",
    ),
    (
        "google-generate-content",
        "anthropic-messages",
        "response",
        candidate(
            {"text": "It rains."},
            groundingMetadata={
                "groundingChunks": [{"web": {"uri": "https://example.org"}}],
                "groundingSupports": SEGMENTS,
            },
        ),
        "/candidates/0/groundingMetadata/groundingSupports/0/segment",
    ),
    (
        "google-generate-content",
        "anthropic-messages",
        "response",
        candidate(SEARCH, {"text": "Found."}),
        "/candidates/0/content/parts/0/toolCall/toolType",
    ),
    (
        "google-interactions",
        "anthropic-messages",
        "response",
        {
            "id": "v1_x",
            "status": "completed",
            "steps": [
                {"type": "code_execution_call", "id": "x", "arguments": {"code": "1"}},
                {"type": "code_execution_result", "call_id": "x", **CODE},
            ],
        },
        "/steps/1/result/1",
    ),
]


@pytest.mark.parametrize(("source", "target", "kind", "body", "path"), REPORTED)
def test_what_is_lost_is_reported_where_it_is(source: str, target: str, kind: str, body: Any, path: str) -> None:
    done = ul.convert(body, source=source, target=target, kind=kind, trace=True)
    lost = {loss.path for loss in done.losses if loss.side == "source" and loss.fate == "lost"}
    assert path in lost
    assert not any(path.startswith(f"{each}/") for each in lost), "a node around it arrived"
    assert done.trace is not None
    assert all(leaf.to == () for leaf in done.trace.leaves if leaf.loss in lost)


def loss(source: str, target: str, kind: str, body: Any, path: str) -> ul.Loss:
    done = ul.convert(body, source=source, target=target, kind=kind)
    return next(each for each in done.losses if each.path == path)


def test_a_class_of_errors_without_a_code_is_reported_as_approximated() -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    found = loss("anthropic-messages", "openai-responses", "response", body, "/error/type")
    assert (found.fate, found.detail) == ("approximated", "sent as 'server_error'")


def test_a_finer_reason_of_the_end_is_approximated_and_not_lost() -> None:
    body = {"candidates": [], "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
    found = loss("google-generate-content", "openai-responses", "response", body, "/promptFeedback/blockReason")
    assert (found.fate, found.detail) == ("approximated", "sent as 'content_filter'")


def test_a_media_type_that_the_name_of_a_file_gives_is_reported_as_added() -> None:
    file = {"type": "input_file", "filename": "r.pdf", "file_data": "JVBERi0xLjEK"}
    body = {"model": "m", "input": [{"role": "user", "content": [file]}]}
    path = "/contents/0/parts/0/inlineData/mimeType"
    found = loss("openai-responses", "google-generate-content", "request", body, path)
    assert (found.fate, found.side, found.detail) == ("added", "target", "read off the name")


def test_a_stream_that_no_path_can_name_is_reported() -> None:
    body = {"agent": "deep-research", "input": "Look", "stream": True}
    assert loss("google-interactions", "amazon-converse", "request", body, "/stream").fate == "lost"
    named = ul.convert({**CHAT, "stream": True}, source="openai-chat", target="amazon-converse")
    assert "/stream" not in {each.path for each in named.losses}
    assert named.http is not None
    assert named.http["path"].endswith("converse-stream")


def test_a_document_that_is_data_under_a_url_is_sent_as_data() -> None:
    part = {"type": "document_url", "document_url": "data:application/pdf;base64,JVBERi0xLjEK"}
    body = {"model": "m", "messages": [{"role": "user", "content": [part]}]}
    done = ul.convert(body, source="openai-chat", target="anthropic-messages")
    source = done.value["messages"][0]["content"][0]["source"]
    assert source == {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjEK"}
    assert ul.convert(body, source="openai-chat", target="openai-chat").value == body


def test_unknown_keys_beside_functions_come_back() -> None:
    body = {**GEMINI, "tools": [FUNCTIONS, {"timeTravel": {}}]}
    node = ul.read(body, protocol="google-generate-content", kind="request")
    assert ul.write(node, protocol="google-generate-content").value == body
