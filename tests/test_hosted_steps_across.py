"""What hosted tools and media of one protocol are in the words of another, and what has no word there."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

Node = dict[str, Any]


def converted(body: Node, source: str, target: str, kind: str = "response") -> tuple[Node, dict[str, str]]:
    """The converted document, and the fates of what was not carried as it is, by path."""
    done = ul.convert(body, source=source, target=target, kind=kind)
    value: Node = done.value
    return value, {loss.path: loss.fate for loss in done.losses if loss.side == "source"}


def of_claude(*blocks: Node, **more: Any) -> Node:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
    usage = {"input_tokens": 3, "output_tokens": 2}
    return {**head, "content": list(blocks), "stop_sequence": None, "usage": usage, **more}


def of_openai(*items: Node, **more: Any) -> Node:
    head = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m"}
    return {**head, "output": list(items), **more}


def of_gemini(part: Node, **more: Any) -> Node:
    return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", **more}]}


# ---- media ----------------------------------------------------------------------------------------------------------

PAGES = {"start_page": 1, "end_page": 3, "content_layers": ["page_image", "page_text"]}
SHEET = {"sheet_index": 2, "visible_cells": "A1:B2", "content_layers": ["visual", "data", "formulas"]}


@pytest.mark.parametrize(
    ("step", "part"),
    [
        (
            {"type": "video", "start_offset": "1s", "fps": 2, "content_layers": ["frames", "audio", "transcript"]},
            {"videoMetadata": {"startOffset": "1s", "fps": 2, "contentLayers": ["FRAMES", "AUDIO", "TRANSCRIPT"]}},
        ),
        (
            {"type": "document", "page_options": PAGES},
            {"documentMetadata": {"startPage": 1, "endPage": 3, "contentLayers": ["PAGE_IMAGE", "PAGE_TEXT"]}},
        ),
        (
            {"type": "document", "spreadsheet_options": SHEET},
            {
                "spreadsheetMetadata": {
                    "sheetIndex": 2,
                    "visibleCells": "A1:B2",
                    "contentLayers": ["VISUAL", "DATA", "FORMULAS"],
                }
            },
        ),
        (
            {"type": "audio", "start_offset": "1s", "end_offset": "2s"},
            {"audioMetadata": {"startOffset": "1s", "endOffset": "2s"}},
        ),
    ],
)
def test_options_of_media_between_the_protocols_of_google(step: Node, part: Node) -> None:
    kind = step.pop("type")
    types = {"video": "video/mp4", "document": "application/pdf", "audio": "audio/wav"}
    content = {"type": kind, "uri": "gs://b/f", "mime_type": types[kind], "processing": {"type": "static", **step}}
    parts = [{"fileData": {"fileUri": "gs://b/f", "mimeType": types[kind]}, "mediaProcessing": "STATIC", **part}]
    body = {"model": "g", "input": [{"type": "user_input", "content": [content]}]}
    wire, fates = converted(body, "google-interactions", "google-generate-content", "request")
    assert wire["contents"][0]["parts"] == parts
    assert not fates
    back, fates = converted(
        {"contents": [{"role": "user", "parts": parts}]}, "google-generate-content", "google-interactions", "request"
    )
    assert back["input"][0]["content"] == [content]
    assert not fates


def test_ranges_alone_are_static_processing() -> None:
    file = {"fileData": {"fileUri": "gs://b/v.mp4", "mimeType": "video/mp4"}, "videoMetadata": {"fps": 1}}
    body = {"contents": [{"role": "user", "parts": [file]}]}
    done = ul.convert(body, source="google-generate-content", target="google-interactions")
    assert done.value["input"][0]["content"][0]["processing"] == {"fps": 1, "type": "static"}
    assert ("/input/0/content/0/processing/type", "added") in {(loss.path, loss.fate) for loss in done.losses}


def test_audio_of_an_answer_reaches_chat_without_its_type() -> None:
    sound = {"inlineData": {"mimeType": "audio/wav", "data": "UklGRiQAAABXQVZF"}}
    wire, fates = converted(of_gemini(sound), "google-generate-content", "openai-chat")
    assert wire["choices"][0]["message"]["audio"]["data"] == "UklGRiQAAABXQVZF"
    assert fates == {"/candidates/0/content/parts/0/inlineData/mimeType": "lost"}


def test_agentic_processing_is_a_word() -> None:
    file = {"fileData": {"fileUri": "gs://b/v.mp4", "mimeType": "video/mp4"}, "mediaProcessing": "AGENTIC"}
    body = {"contents": [{"role": "user", "parts": [file]}]}
    wire, _ = converted(body, "google-generate-content", "google-interactions", "request")
    assert wire["input"][0]["content"][0]["processing"] == "agentic"


# ---- sources --------------------------------------------------------------------------------------------------------


def test_metadata_of_a_file_are_pairs_there_and_an_object_here() -> None:
    pairs = [
        {"key": "year", "numericValue": 2026},
        {"key": "by", "stringValue": "Ada"},
        {"key": "tags", "stringListValue": {"values": ["a", "b"]}},
    ]
    meta = {
        "groundingChunks": [{"retrievedContext": {"uri": "gs://b/d.pdf", "customMetadata": pairs}}],
        "groundingSupports": [{"segment": {"endIndex": 2}, "groundingChunkIndices": [0]}],
    }
    wire, fates = converted(
        of_gemini({"text": "Hi"}, groundingMetadata=meta), "google-generate-content", "google-interactions"
    )
    citation = wire["steps"][0]["content"][0]["annotations"][0]
    assert citation["custom_metadata"] == {"year": 2026, "by": "Ada", "tags": ["a", "b"]}
    assert not fates
    back, _ = converted(wire, "google-interactions", "google-generate-content")
    chunk = back["candidates"][0]["groundingMetadata"]["groundingChunks"][0]["retrievedContext"]
    assert chunk["customMetadata"] == pairs


def test_reviews_of_a_place_have_three_keys_in_common() -> None:
    review = {"reviewId": "r", "title": "Good", "googleMapsUri": "https://maps.example/r", "review": "places/1/r"}
    chunk = {"maps": {"placeId": "p", "placeAnswerSources": {"reviewSnippets": [review]}}}
    meta = {
        "groundingChunks": [chunk],
        "groundingSupports": [{"segment": {"endIndex": 2}, "groundingChunkIndices": [0]}],
    }
    body = of_gemini({"text": "Hi"}, groundingMetadata=meta)
    wire, fates = converted(body, "google-generate-content", "google-interactions")
    snippets = wire["steps"][0]["content"][0]["annotations"][0]["review_snippets"]
    assert snippets == [{"review_id": "r", "title": "Good", "url": "https://maps.example/r"}]
    at = "/candidates/0/groundingMetadata/groundingChunks/0/maps/placeAnswerSources/reviewSnippets/0/review"
    assert fates == {at: "lost"}
    assert (
        ul.convert(body, source="google-generate-content", target="google-generate-content", kind="response").value
        == body
    )


# ---- hosted tools ---------------------------------------------------------------------------------------------------


def test_a_failed_remote_tool_says_so_in_its_text() -> None:
    use = {"type": "mcp_tool_use", "id": "c", "name": "berths", "server_name": "harbor", "input": {}}
    result = {"type": "mcp_tool_result", "tool_use_id": "c", "is_error": True, "content": "closed"}
    wire, fates = converted(of_claude(use, result), "anthropic-messages", "google-interactions")
    assert wire["steps"][1] == {
        "type": "mcp_server_tool_result",
        "call_id": "c",
        "result": "<tool_error>closed</tool_error>",
    }
    assert fates == {"/content/1/is_error": "approximated", "/content/1/content": "approximated"}
    back, _ = converted(wire, "google-interactions", "anthropic-messages")
    said = [{"type": "text", "text": "closed"}]
    assert (back["content"][1]["is_error"], back["content"][1]["content"]) == (True, said)
    again = ul.convert(wire, source="google-interactions", target="google-interactions", kind="response").value
    assert again == wire


def test_a_search_for_tools_names_functions_only() -> None:
    call = {"type": "tool_search_call", "id": "tsc", "execution": "server", "call_id": "c", "status": "completed"}
    wire, fates = converted(
        of_openai({**call, "arguments": {"paths": ["crm"]}}), "openai-responses", "google-interactions"
    )
    assert wire["steps"][0] == {"type": "tool_search_call", "id": "c", "arguments": {}}
    assert fates["/output/0/arguments"] == "lost"


def test_a_search_of_files_says_that_it_happened() -> None:
    call = {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["q"]}
    body = of_openai({**call, "results": [{"file_id": "f", "text": "found"}]})
    wire, fates = converted(body, "openai-responses", "google-interactions")
    assert wire["steps"] == [
        {"type": "file_search_call", "id": "fs_1"},
        {"type": "file_search_result", "call_id": "fs_1"},
    ]
    assert fates["/output/0/queries"] == fates["/output/0/results"] == "lost"


def test_a_fetched_page_is_its_address() -> None:
    use = {"type": "server_tool_use", "id": "c", "name": "web_fetch", "input": {"url": "https://a.b"}}
    page = {"type": "web_fetch_result", "url": "https://a.b", "retrieved_at": "2026-01-01T00:00:00Z"}
    text = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}}
    result = {"type": "web_fetch_tool_result", "tool_use_id": "c", "content": {**page, "content": text}}
    wire, fates = converted(of_claude(use, result), "anthropic-messages", "google-interactions")
    assert wire["steps"][1]["result"] == [{"url": "https://a.b"}]
    assert fates["/content/1/content/retrieved_at"] == "lost"
    assert any(path.startswith("/content/1/content/content") for path in fates)


def test_the_kind_of_a_search_is_told_when_its_step_starts() -> None:
    call = {"toolCall": {"id": "c", "toolType": "GOOGLE_SEARCH_IMAGE", "args": {"queries": ["cat"]}}}
    event = {"event": None, "data": of_gemini(call)}
    wire = list(ul.convert_stream([event], source="google-generate-content", target="google-interactions"))
    start = next(each["data"]["step"] for each in wire if each["event"] == "step.start")
    deltas = [each["data"]["delta"] for each in wire if each["event"] == "step.delta"]
    assert start == {"type": "google_search_call", "id": "c", "search_type": "image_search"}
    assert deltas == [{"type": "google_search_call", "arguments": {"queries": ["cat"]}}]


def test_a_result_without_the_id_of_its_call_goes_by_its_own() -> None:
    body = of_openai({"type": "function_call_output", "id": "fco", "call_id": None, "output": "4"})
    wire, fates = converted(body, "openai-responses", "google-interactions")
    assert wire["steps"][0] == {"type": "function_result", "call_id": "fco", "result": "4"}
    assert fates["/output/0/id"] == "approximated"


def test_an_interaction_does_not_repeat_how_it_is_kept() -> None:
    wire, fates = converted(of_openai(store=False, background=True), "openai-responses", "google-interactions")
    assert not wire.keys() & {"store", "background"}
    assert fates["/store"] == fates["/background"] == "lost"
    own = {"object": "interaction", "id": "i", "status": "completed", "store": False}
    assert ul.convert(own, source="google-interactions", target="google-interactions", kind="response").value == own


def test_listed_tools_of_a_remote_server_are_told_without_their_annotations() -> None:
    tool = {"name": "berths", "description": None, "input_schema": {"type": "object"}}
    item = {"type": "mcp_list_tools", "id": "l", "server_label": "harbor"}
    body = of_openai({**item, "tools": [{**tool, "annotations": {"read_only": True}}]})
    wire, fates = converted(body, "openai-responses", "anthropic-messages")
    listed = {"name": "berths", "input_schema": {"type": "object"}}
    assert wire["content"] == [{"type": "mcp_tool_listing", "mcp_server_name": "harbor", "tools": [listed]}]
    assert fates["/output/0/tools/0/annotations"] == "lost"


def test_a_listing_that_brought_no_tools_is_not_a_block() -> None:
    item = {"type": "mcp_list_tools", "id": "l", "server_label": "harbor", "error": "down"}
    wire, fates = converted(of_openai(item), "openai-responses", "anthropic-messages")
    assert wire["content"] == []
    assert fates["/output/0"] == "lost"


# ---- counts ----------------------------------------------------------------------------------------------------------


def test_counts_of_searches_and_fetches_come_together() -> None:
    usage = {"total_input_tokens": 1, "total_output_tokens": 1, "grounding_tool_count": []}
    usage["grounding_tool_count"] = [{"type": "google_search", "count": 2}]
    body = {"object": "interaction", "id": "i", "status": "completed", "usage": usage}
    done = ul.convert(body, source="google-interactions", target="anthropic-messages", kind="response")
    assert done.value["usage"]["server_tool_use"] == {"web_search_requests": 2, "web_fetch_requests": 0}
    assert any(
        loss.path == "/usage/server_tool_use/web_fetch_requests" and loss.fate == "added" for loss in done.losses
    )


# ---- calls that Bedrock runs ----------------------------------------------------------------------------------------


def grounded() -> Node:
    content = [
        {"toolUse": {"toolUseId": "s1", "name": "nova_grounding", "type": "server_tool_use", "input": {"q": "rain"}}},
        {"toolResult": {"toolUseId": "s1", "type": "nova_grounding_result", "content": [{"text": "it rains"}]}},
        {"text": "It rains."},
    ]
    counts = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    message = {"role": "assistant", "content": content}
    return {"output": {"message": message}, "stopReason": "end_turn", "usage": counts, "metrics": {"latencyMs": 1}}


@pytest.mark.parametrize("results", [True, False])
@pytest.mark.parametrize("target", ["openai-chat", "anthropic-messages"])
def test_no_client_is_asked_to_make_a_call_that_bedrock_runs(target: str, results: bool) -> None:
    """Nor in a stream, whose writer does not have the result yet when the call begins."""
    body = grounded()
    if not results:
        del body["output"]["message"]["content"][1]
    source = "amazon-converse"
    done = ul.convert(body, source=source, target=target, kind="response")
    events = list(ul.write_stream(ul.decompose(ul.read(body, source, "response")), source))
    assert "server_tool_use" in str(events)
    stream = ul.convert_stream(iter(events), source=source, target=target)
    for sent, losses in ((str(done.value), done.losses), (str(list(stream)), stream.losses)):
        assert "It rains." in sent and "nova_grounding" not in sent
        assert {loss.fate for loss in losses if loss.capability == "tools.function"} == {"lost"}
        assert not [loss for loss in losses if loss.path.endswith(("/toolUse/name", "/toolUse/type"))]  # it is one loss


# ---- what is there twice, or is the default -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "key"), [("anthropic-messages", "queries"), ("google-interactions", "query"), ("amazon-converse", "")]
)
def test_a_search_whose_queries_are_its_query_is_sent_whole(target: str, key: str) -> None:
    action = {"type": "search", "query": "cats", "queries": ["cats"]}
    call = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action}
    _, fates = converted(of_openai(call), "openai-responses", target)
    assert fates.get(f"/output/0/action/{key}") == ("approximated" if key else None)
    _, fates = converted(
        of_openai({**call, "action": {**action, "queries": ["cats", "dogs"]}}), "openai-responses", target
    )
    assert fates.get("/output/0/action/queries") == ("lost" if target == "anthropic-messages" else None)


def test_a_shell_call_at_the_clients_loses_no_place() -> None:
    call = {"type": "shell_call", "id": "sh_1", "call_id": "c", "status": "completed", "action": {"commands": ["ls"]}}
    place: Node = {"type": "local"}
    sent, fates = converted(of_openai({**call, "environment": place}), "openai-responses", "anthropic-messages")
    assert sent["content"] == [{"type": "tool_use", "id": "c", "name": "bash", "input": {"command": "ls"}}]
    assert fates["/output/0/environment"] == "approximated"
    place["skills"] = [{"name": "s", "description": "d", "path": "p"}]
    _, fates = converted(of_openai({**call, "environment": place}), "openai-responses", "anthropic-messages")
    assert fates["/output/0/environment"] == "lost"


@pytest.mark.parametrize("named", ["mac", "ubuntu", "windows"])
def test_a_screen_is_a_desktop_at_google_whatever_its_system(named: str) -> None:
    tool = {"type": "computer_use_preview", "display_width": 800, "display_height": 600, "environment": named}
    body = {"model": "m", "input": "Look.", "tools": [tool]}
    asked = ul.read(body, "openai-responses")
    sent = [ul.write(asked, target, "request") for target in ("google-generate-content", "google-interactions")]
    assert sent[0].value["tools"] == [{"computerUse": {"environment": "ENVIRONMENT_DESKTOP"}}]
    assert sent[1].value["tools"] == [{"type": "computer_use", "environment": "desktop"}]
    for done in sent:
        assert {loss.path: loss.fate for loss in done.losses}["/tools/0/environment"] == "approximated"


def test_the_computer_of_gemini_has_the_environment_that_the_api_requires() -> None:
    body = {"model": "m", "input": "q", "tools": [{"type": "computer_use"}]}
    done = ul.convert(body, source="google-interactions", target="google-generate-content")
    assert done.value["tools"] == [{"computerUse": {"environment": "ENVIRONMENT_BROWSER"}}]
    assert [loss.fate for loss in done.losses if "environment" in loss.path] == ["added"]


# ---- functions that the provider executes ----------------------------------------------------------------------------

CONVERSE = "amazon-converse"
GROUNDED = [
    {"toolUse": {"toolUseId": "t1", "name": "nova_grounding", "input": {"q": "x"}, "type": "server_tool_use"}},
    {"toolResult": {"toolUseId": "t1", "type": "nova_grounding_result", "content": [{"text": "R"}]}},
    {"text": "Done"},
]


def grounded_events() -> list[Node]:
    call, result, text = GROUNDED
    start = {key: value for key, value in call["toolUse"].items() if key != "input"}
    datas = [
        ("messageStart", {"role": "assistant"}),
        ("contentBlockStart", {"contentBlockIndex": 0, "start": {"toolUse": start}}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"toolUse": {"input": '{"q":"x"}'}}}),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("contentBlockStart", {"contentBlockIndex": 1, "start": {"toolResult": {"toolUseId": "t1", "type": "x"}}}),
        ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"toolResult": result["toolResult"]["content"]}}),
        ("contentBlockStop", {"contentBlockIndex": 1}),
        ("contentBlockDelta", {"contentBlockIndex": 2, "delta": text}),
        ("contentBlockStop", {"contentBlockIndex": 2}),
        ("messageStop", {"stopReason": "end_turn"}),
    ]
    return [{"event": name, "data": data} for name, data in datas]


@pytest.mark.parametrize("target", [name for name in ul.protocols() if name not in (CONVERSE, "local-echo")])
def test_no_client_is_shown_a_call_that_bedrock_executed(target: str) -> None:
    body = {"output": {"message": {"role": "assistant", "content": GROUNDED}}, "stopReason": "end_turn"}
    done = ul.convert(body, source=CONVERSE, target=target, kind="response")
    stream = ul.convert_stream(grounded_events(), source=CONVERSE, target=target)
    events = list(stream)
    for shown, losses in ((done.value, done.losses), (events, stream.losses)):
        assert "Done" in str(shown)
        assert "nova_grounding" not in str(shown) and "'t1'" not in str(shown)
        assert {"tools.function", "tools.result"} <= {loss.capability for loss in losses if loss.fate == "lost"}
