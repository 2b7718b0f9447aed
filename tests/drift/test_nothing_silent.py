"""Nothing is lost without a report: no cell of the matrix is `silent`, and each that once was has a case here."""

from __future__ import annotations

import base64
from typing import Any

import pytest

import unified_llm as ul
from unified_llm import drift
from unified_llm.drift.layout import every_pair, matrix
from unified_llm.engine.registry import adapter

Node = dict[str, Any]

BUGS = ("silent", "denied", "broken")


def test_no_cell_of_any_pair_contradicts_its_report() -> None:
    cells = every_pair().cells
    assert len(cells) > 4_000 and not {key: cell for key, cell in cells.items() if cell.fate in BUGS}


def test_no_cell_of_any_dialect_contradicts_its_report() -> None:
    for protocol in ul.protocols():
        if adapter(protocol).dialects:
            cells = matrix(drift.CANONICAL, f"{protocol}:*", ["request", "response"]).cells
            assert not {key: cell for key, cell in cells.items() if cell.fate in BUGS}


def fates(done: Any, side: str = "source") -> dict[str, tuple[str, str]]:
    return {loss.path: (loss.capability, loss.fate) for loss in done.losses if loss.side == side}


def answer(*content: Node, **more: Any) -> Node:
    """A canonical answer of one message."""
    message = {"type": "message", "role": "assistant", "content": list(content)}
    return {"id": "r", "created_at": 1, "model": "m", "status": "completed", "output": [message], **more}


@pytest.mark.parametrize("target", ["google-generate-content", "google-generate-content:openapi"])
def test_a_tool_of_free_text_is_emulated_at_generate_content(target: str) -> None:
    body = {"model": "m", "input": "q", "tools": [{"type": "custom", "name": "run_sql"}]}
    done = ul.convert(body, source="openai-responses", target=target)
    assert fates(done) == {"/tools/0/type": ("tools.custom", "emulated")}
    assert done.value["tools"][0]["functionDeclarations"][0]["name"] == "run_sql"


SEARCHED = {
    "candidates": [
        {
            "index": 0,
            "content": {"role": "model", "parts": [{"text": "High at noon."}]},
            "finishReason": "STOP",
            "groundingMetadata": {
                "webSearchQueries": ["tides"],
                "imageSearchQueries": ["moon"],
                "searchEntryPoint": {"renderedContent": "<p>"},
            },
        }
    ],
    "responseId": "r",
    "modelVersion": "m",
}


def test_searches_without_ids_have_made_ones_at_messages_and_none_on_the_return() -> None:
    source, target = "google-generate-content", "anthropic-messages"
    done = ul.convert(SEARCHED, source=source, target=target, kind="response")
    calls = [block for block in done.value["content"] if block["type"] == "server_tool_use"]
    assert [call["input"] for call in calls] == [{"query": "tides"}, {"query": "moon"}]
    assert len({call["id"] for call in calls}) == 2 and all(call["id"].startswith("srvtoolu_") for call in calls)
    assert done.value == ul.convert(SEARCHED, source=source, target=target, kind="response").value
    # What belongs to no call is not a result of one, and is reported.
    assert [block["type"] for block in done.value["content"]] == ["text", "server_tool_use", "server_tool_use"]
    shown = "/candidates/0/groundingMetadata/searchEntryPoint/renderedContent"
    assert fates(done)[shown] == ("tools.hosted.web_search", "lost")
    back = ul.convert(done.value, source=target, target=source, kind="response")
    assert back.value["candidates"][0]["groundingMetadata"]["webSearchQueries"] == ["tides", "moon"]
    assert fates(back) == {}


def test_made_ids_of_searches_are_those_of_their_answer_in_streams_too() -> None:
    made = []
    for name in ("r", "s"):
        body = {**SEARCHED, "responseId": name}
        events = ul.convert_stream(
            [{"event": None, "data": body}], source="google-generate-content", target="anthropic-messages"
        )
        streamed = [event["data"].get("content_block") or {} for event in events]
        done = ul.convert(body, source="google-generate-content", target="anthropic-messages", kind="response")
        ids = [block["id"] for block in done.value["content"] if block["type"] == "server_tool_use"]
        assert [block["id"] for block in streamed if block.get("type") == "server_tool_use"] == ids
        made += ids
    assert len(set(made)) == 4


@pytest.mark.parametrize(
    ("start", "media_type"),
    [
        (b"RIFF\x24\x00\x00\x00WAVE", "audio/wav"),
        (b"ID3\x04\x00", "audio/mp3"),
        (b"\xff\xfb\x90\x64", "audio/mp3"),
        (b"\xff\xf3\x40\xc0", "audio/mp3"),
        (b"\xff\xf1\x50\x80", "audio/aac"),
        (b"\xff\xf9\x50\x80", "audio/aac"),
        (b"fLaC\x00", "audio/flac"),
        (b"OggS\x00", "audio/ogg"),
        (b"\x00\x00\x01\x00", "audio/pcm"),
        (b"\xff\xff\xff\xff", "audio/pcm"),
    ],
)
def test_audio_of_chat_has_a_type_at_generate_content(start: bytes, media_type: str) -> None:
    data = base64.b64encode(start).decode()
    message = {"role": "assistant", "content": None, "audio": {"data": data}}
    body = {"id": "r", "created": 1, "model": "m", "choices": [{"index": 0, "message": message}]}
    done = ul.convert(body, source="openai-chat", target="google-generate-content", kind="response")
    assert done.value["candidates"][0]["content"]["parts"] == [{"inlineData": {"mimeType": media_type, "data": data}}]
    added = "/candidates/0/content/parts/0/inlineData/mimeType"
    assert fates(done, "target")[added][1] == "added"
    back = ul.read(done.value, "google-generate-content", "response").dump()
    assert back["output"][0]["content"][0]["type"] == "output_audio"


def test_a_type_that_is_said_is_not_read_off_the_audio() -> None:
    part = {"type": "output_audio", "data": base64.b64encode(b"RIFF").decode(), "media_type": "audio/l16"}
    done = ul.write(answer(part), "google-generate-content", "response")
    assert done.value["candidates"][0]["content"]["parts"][0]["inlineData"]["mimeType"] == "audio/l16"
    assert not any("mimeType" in path for path in fates(done, "target"))


REFUSED = {
    "id": "r",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "I stop here."}],
    "stop_reason": "refusal",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


def test_a_refusal_is_told_as_a_block_at_interactions_and_that_is_reported() -> None:
    done = ul.convert(REFUSED, source="anthropic-messages", target="google-interactions", kind="response")
    assert (done.value["status"], done.value["errors"]) == ("failed", [{"code": "content_blocked"}])
    assert fates(done) == {"/stop_reason": ("finish.reason", "approximated")}
    for reason in ("safety", "recitation", "malformed_call"):
        answered = answer({"type": "output_text", "text": "No."}, finish={"reason": reason})
        assert "/finish/reason" not in fates(ul.write(answered, "google-interactions", "response"))


def test_thoughts_that_were_enveloped_are_streamed_once() -> None:
    summary = [{"type": "summary_text", "text": text} for text in ("One.", "Two.")]
    whole = answer({"type": "output_text", "text": "Hello"})
    whole["output"].insert(0, {"type": "reasoning", "summary": summary})
    sealed = list(ul.write_stream(ul.decompose(whole), "anthropic-messages"))
    assert "signature_delta" in str(sealed)
    frames = list(ul.convert_stream(sealed, source="anthropic-messages", target="google-generate-content"))
    parts = [part for frame in frames for part in frame["data"]["candidates"][0]["content"]["parts"]]
    thought = "".join(part["text"] for part in parts if part.get("thought"))
    assert thought.count("One.") == thought.count("Two.") == 1
    assert "".join(part["text"] for part in parts if not part.get("thought")) == "Hello"


@pytest.mark.parametrize("target", ["openai-chat", "anthropic-messages", "google-generate-content"])
def test_what_a_written_stream_loses_of_the_answer_has_its_own_capability(target: str) -> None:
    whole = answer({"type": "output_text", "text": "Hello"}, store=False, background=True)
    events = list(ul.decompose(whole))
    stream = ul.write_stream(events, target)
    list(stream)
    lost = {loss.path: loss.capability for loss in stream.losses if loss.fate == "lost"}
    last = len(events) - 1
    assert lost[f"/{last}/response/store"] == "state.store"
    assert lost[f"/{last}/response/background"] == "state.background"
    assert "native.field" not in lost.values()


@pytest.mark.parametrize(
    ("dialect", "kind", "detail"),
    [
        ("mistral", "request", "sent as a chunk of thinking"),
        ("mistral", "response", "sent as a chunk of thinking"),
        ("minimax", "request", "sent as text between tags"),
        ("minimax", "response", "sent as text between tags"),
        ("google", "response", "sent as text between tags"),
        ("perplexity", "response", "sent as text between tags"),
    ],
)
def test_a_summary_that_becomes_the_thought_itself_is_reported(dialect: str, kind: str, detail: str) -> None:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Thought."}]}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}
    user = {"type": "message", "role": "user", "content": "q"}
    asked = {"model": "m", "input": [user, thought, said, user]}
    document = asked if kind == "request" else answer(output=[thought, said])
    done = ul.write(document, f"openai-chat:{dialect}", kind)
    assert "Thought." in str(done.value)
    told = [(loss.path, loss.fate, loss.detail) for loss in done.losses if loss.capability == "reasoning.summary"]
    place = "/input/1/summary" if kind == "request" else "/output/0/summary"
    assert told == [(place, "approximated", detail)]
    # A thought that was one already is not a summary.
    plain = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Thought."}]}
    document = {"model": "m", "input": [user, plain, said, user]} if kind == "request" else answer(output=[plain, said])
    assert not [loss for loss in ul.write(document, f"openai-chat:{dialect}", kind).losses if "summary" in loss.path]


@pytest.mark.parametrize("name", ["openai-responses", "openai-responses:open-responses"])
def test_an_unknown_item_goes_by_its_bare_name_and_keeps_its_spelling(name: str) -> None:
    item = {"type": "openai:mood_ring", "id": "mr_1", "color": "blue"}
    body = {"model": "m", "input": [{"type": "message", "role": "user", "content": "q"}, item]}
    known = ul.read(body, name).dump()["input"][1]
    assert known["type"] == "mood_ring"
    assert ul.convert(body, source=name, target=name).value == body
    slug = {**body, "input": [{"type": "openai:message", "role": "user"}]}
    assert ul.read(slug, name).dump()["input"][0]["type"] == "openai:message"
