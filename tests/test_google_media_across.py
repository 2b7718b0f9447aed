"""Media between the two APIs of Google: what both support arrives in the form of the other.

https://ai.google.dev/gemini-api/docs/speech-generation and https://ai.google.dev/api/interactions-api
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

GC, INTERACTIONS = "google-generate-content", "google-interactions"
Node = dict[str, Any]


def sent(content: Node) -> tuple[Node, set[tuple[str, str]]]:
    """The part of generateContent that a content of Interactions becomes, and what was reported of it."""
    body = {"model": "g", "store": False, "input": [{"type": "user_input", "content": [content]}]}
    done = ul.convert(body, source=INTERACTIONS, target=GC)
    return done.value["contents"][0]["parts"][0], {(loss.path, loss.fate) for loss in done.losses}


def received(part: Node) -> tuple[Node, set[tuple[str, str]]]:
    """The reverse."""
    done = ul.convert({"contents": [{"role": "user", "parts": [part]}]}, source=GC, target=INTERACTIONS)
    found = {(loss.path, loss.fate) for loss in done.losses if loss.path not in ("/model", "/store")}
    return done.value["input"][0]["content"][0], found


@pytest.mark.parametrize(
    ("mime", "details"),
    [
        ("audio/L16;codec=pcm;rate=24000", {"sample_rate": 24000}),
        ("audio/L16;codec=pcm;rate=44100;channels=2", {"sample_rate": 44100, "channels": 2}),
    ],
)
def test_the_rate_of_samples_is_in_the_type_there_and_beside_it_here(mime: str, details: Node) -> None:
    content = {"type": "audio", "data": "AAAA", "mime_type": "audio/l16", **details}
    part = {"inlineData": {"mimeType": mime, "data": "AAAA"}}
    assert sent(content) == (part, set())
    assert received(part) == (content, set())


@pytest.mark.parametrize("mime", ["audio/pcm", "audio/L16", "audio/l16"])
def test_samples_without_a_rate_have_the_type_that_interactions_declares(mime: str) -> None:
    content, losses = received({"inlineData": {"mimeType": mime, "data": "AAAA"}})
    assert (content, losses) == ({"type": "audio", "data": "AAAA", "mime_type": "audio/l16"}, set())


def test_a_type_with_a_parameter_of_another_kind_stays_as_it_is() -> None:
    content, _ = received({"inlineData": {"mimeType": "audio/L16;rate=8000;endian=big", "data": "AAAA"}})
    assert content == {"type": "audio", "data": "AAAA", "mime_type": "audio/L16;rate=8000;endian=big"}


def test_speech_of_an_answer_has_its_rate_at_the_other_api() -> None:
    audio = {"type": "audio", "data": "AAAA", "mime_type": "audio/l16", "sample_rate": 24000, "channels": 1}
    body = {"id": "i", "status": "completed", "model": "g", "steps": [{"type": "model_output", "content": [audio]}]}
    done = ul.convert(body, source=INTERACTIONS, target=GC, kind="response")
    part = {"inlineData": {"mimeType": "audio/L16;codec=pcm;rate=24000;channels=1", "data": "AAAA"}}
    assert done.value["candidates"][0]["content"]["parts"] == [part]
    assert not [loss for loss in done.losses if loss.path.startswith("/steps")]
    done = ul.convert(done.value, source=GC, target=INTERACTIONS, kind="response")
    assert done.value["steps"][0]["content"] == [audio]


@pytest.mark.parametrize("mime", ["audio/alaw", "audio/mulaw"])
def test_telephone_audio_keeps_its_type(mime: str) -> None:
    part, losses = sent({"type": "audio", "data": "AAAA", "mime_type": mime})
    assert (part, losses) == ({"inlineData": {"mimeType": mime, "data": "AAAA"}}, set())


@pytest.mark.parametrize(
    ("kind", "options", "key"),
    [
        ("video", {"videoMetadata": {"fps": 2}}, "fps"),
        ("video", {"mediaProcessing": "AGENTIC"}, None),
        ("audio", {"audioMetadata": {"startOffset": "1s"}}, "start_offset"),
        ("document", {"documentMetadata": {"startPage": 1}}, "page_options"),
    ],
)
def test_options_of_a_file_without_a_type_tell_its_kind(kind: str, options: Node, key: str | None) -> None:
    uri = "https://generativelanguage.googleapis.com/v1beta/files/abc"
    content, _ = received({"fileData": {"fileUri": uri}, **options})
    assert (content["type"], content["uri"]) == (kind, uri)
    assert key is None or key in content["processing"]


def test_samples_are_not_sent_to_bedrock_as_a_wav_file() -> None:
    part = {"inlineData": {"mimeType": "audio/L16;rate=8000", "data": "AAAA"}}
    done = ul.convert({"contents": [{"role": "user", "parts": [part]}]}, source=GC, target="amazon-converse")
    assert done.value["messages"][0]["content"][0]["audio"]["format"] == "pcm"
    found = [(loss.fate, loss.detail) for loss in done.losses if loss.path.endswith("/mimeType")]
    assert found == [("approximated", "sent as 'pcm', which has no rate")]


# ---- media among the texts of a stream -------------------------------------------------------------------------------


def text(said: str) -> Node:
    return {"type": "text", "text": said}


def image(data: str) -> Node:
    return {"type": "image", "data": data, "mime_type": "image/png"}


def interaction(*contents: Node) -> list[Node]:
    head = {"id": "i", "model": "g", "object": "interaction"}
    events: list[Node] = [
        {"event_type": "interaction.created", "interaction": {**head, "status": "in_progress"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
        *({"event_type": "step.delta", "index": 0, "delta": content} for content in contents),
        {"event_type": "step.stop", "index": 0},
        {"event_type": "interaction.completed", "interaction": {**head, "status": "completed"}},
    ]
    return [{"event": event["event_type"], "data": event} for event in events]


def converse(*contents: Node) -> list[Node]:
    events: list[tuple[str, Node]] = [("messageStart", {"role": "assistant"})]
    for place, content in enumerate(contents):
        at = {"contentBlockIndex": place}
        delta: Node = {"text": content.get("text")}
        if content["type"] == "image":
            events.append(("contentBlockStart", {"start": {"image": {"format": "png"}}, **at}))
            delta = {"image": {"source": {"bytes": content["data"]}}}
        events += [("contentBlockDelta", {"delta": delta, **at}), ("contentBlockStop", at)]
    events.append(("messageStop", {"stopReason": "end_turn"}))
    return [{"event": kind, "data": data} for kind, data in events]


@pytest.mark.parametrize(("source", "stream"), [(INTERACTIONS, interaction), ("amazon-converse", converse)])
def test_an_image_between_two_texts_of_a_stream_stays_between_them(source: str, stream: Any) -> None:
    contents = [text("First,"), image("AAAA"), text("then"), image("BBBB"), text("done.")]
    frames = list(ul.convert_stream(stream(*contents), source=source, target=GC))
    found = [part for frame in frames for part in frame["data"]["candidates"][0]["content"]["parts"]]
    media = [{"inlineData": {"mimeType": "image/png", "data": data}} for data in ("AAAA", "BBBB")]
    told = [{"text": "First,"}, media[0], {"text": "then"}, media[1], {"text": "done."}]
    assert [part for part in found if part != {"text": ""}] == told


def test_what_is_added_to_an_image_in_a_stream_is_reported_once_and_where_it_is() -> None:
    bare = {"type": "image", "data": "iVBORw0KGgo="}
    done = ul.convert_stream(interaction(text("First,"), bare, text("then")), source=INTERACTIONS, target=GC)
    frames = list(done)
    added = [loss.path for loss in done.losses if loss.fate == "added"]
    assert added == ["/1/data/candidates/0/content/parts/0/inlineData/mimeType", "/3/data/usageMetadata"]
    assert frames[1]["data"]["candidates"][0]["content"]["parts"][0]["inlineData"]["mimeType"] == "image/png"
