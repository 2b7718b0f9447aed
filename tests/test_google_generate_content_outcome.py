"""The output that generateContent is requested to give, and the end of an answer that is not finished."""

from __future__ import annotations

import pytest

import unified_llm as ul
from unified_llm import suite

GC = "google-generate-content"


def test_the_formats_of_an_answer_have_the_homes_of_the_older_fields() -> None:
    entries = [
        {"text": {"mimeType": "APPLICATION_JSON", "schema": {"type": "object"}}},
        {
            "image": {
                "mimeType": "IMAGE_JPEG",
                "aspectRatio": "ASPECT_RATIO_TWENTY_ONE_BY_NINE",
                "imageSize": "IMAGE_SIZE_TWO_K",
            }
        },
        {"audio": {"mimeType": "AUDIO_L16", "sampleRate": 24000}},
    ]
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": {"responseFormat": entries}}
    node = suite.canonical(body, GC, "request")
    assert node["text"] == {"format": {"type": "json_schema", "schema": {"type": "object"}}}
    assert node["image"] == {"aspect_ratio": "21:9", "size": "2K", "format": "image/jpeg"}
    assert node["audio"] == {"format": "pcm16", "sample_rate": 24000}
    assert node["modalities"] == ["text", "image", "audio"]
    plain = ul.convert(body, source=GC, target="google-interactions").value["response_format"]
    assert plain == [
        {"type": "text", "mime_type": "application/json", "schema": {"type": "object"}},
        {"type": "image", "mime_type": "image/jpeg", "aspect_ratio": "21:9", "image_size": "2K"},
        {"type": "audio", "mime_type": "audio/l16", "sample_rate": 24000},
    ]


@pytest.mark.parametrize("status", ["queued", "in_progress", "budget_exceeded", "requires_continuation"])
def test_an_answer_that_is_not_finished_does_not_look_so(status: str) -> None:
    done = ul.write({"id": "r", "status": status, "output": []}, GC, "response")
    assert done.value["candidates"][0]["finishReason"] == "OTHER"
    assert [loss.fate for loss in done.losses if loss.path == "/status"] == ["approximated"]


def test_the_cloud_platform_is_sent_what_it_takes() -> None:
    body = {
        "model": "m",
        "input": "Hi",
        "store": False,
        "tools": [{"type": "file_search", "file_search_store_names": ["fileSearchStores/x"]}],
        "safety_settings": [{"type": "jailbreak", "threshold": "off", "method": "severity"}],
    }
    home = ul.convert(body, source="google-interactions", target=GC)
    assert home.value["store"] is False
    assert home.value["tools"] == [{"fileSearch": {"fileSearchStoreNames": ["fileSearchStores/x"]}}]
    assert home.value["safetySettings"] == [{"category": "HARM_CATEGORY_JAILBREAK", "threshold": "OFF"}]
    assert [loss.path for loss in home.losses if loss.fate == "lost"] == ["/safety_settings/0/method"]
    cloud = ul.convert(body, source="google-interactions", target=GC + ":vertex")
    assert not cloud.value.keys() & {"store", "tools"}
    assert cloud.value["safetySettings"][0]["method"] == "SEVERITY"
    assert [loss.path for loss in cloud.losses if loss.fate == "lost"] == ["/tools/0"]
    assert "/store" in [loss.path for loss in cloud.losses if loss.fate == "approximated"]  # it never keeps answers


def test_offsets_count_bytes_here_and_characters_there() -> None:
    text = "Zürich 🏔 liegt am See."
    said = text[: text.index(" am")]
    note = {
        "type": "url_citation",
        "url": "https://example.org",
        "title": "e",
        "start_index": 9,
        "end_index": len(said),
    }
    answer = {"output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]}
    answer["output"][0]["content"][0]["annotations"] = [note]  # type: ignore[index]
    wire = ul.write(answer, GC, "response").value
    segment = wire["candidates"][0]["groundingMetadata"]["groundingSupports"][0]["segment"]
    assert (segment["startIndex"], segment["endIndex"]) == (len(text[:9].encode()), len(said.encode()))
    back = suite.canonical(wire, GC, "response")["output"][0]["content"][0]["annotations"][0]
    assert (back["start_index"], back["end_index"]) == (9, len(said))


@pytest.mark.parametrize("setting", [{}, {"threshold": "block_none"}, {"category": "harassment"}])
def test_a_safety_setting_may_lack_any_of_its_fields(setting: dict[str, str]) -> None:
    """One without a category was read as unknown, although it had been written from a canonical one."""
    document = {"model": "m", "input": "Hi", "safety_settings": [setting]}
    done = ul.write(document, GC, "request")
    back = ul.read(done.value, GC, "request", http={"path": done.http["path"]}).dump()
    assert (back["safety_settings"], "extra" in back) == ([setting], False)


@pytest.mark.parametrize("parts", [[{"text": ""}], [{"text": "Hi."}, {"text": ""}]], ids=["alone", "behind a text"])
@pytest.mark.parametrize("target", sorted({*ul.protocols()} - {"google-generate-content"}))
def test_nothing_is_lost_with_an_empty_text(parts: list[dict[str, str]], target: str) -> None:
    """Gemini ends many answers with one, as it does what it was stopped in."""
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    done = ul.convert({"candidates": [candidate]}, source="google-generate-content", target=target, kind="response")
    assert not [loss for loss in done.losses if loss.fate == "lost"]


# ---- usage -----------------------------------------------------------------------------------------------------------


def test_an_answer_without_counts_has_an_empty_usage() -> None:
    """Clients refuse an answer without `usageMetadata`; all its counts are optional in the API's description."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    done = ul.convert(body, source="openai-chat", target=GC, kind="response")
    assert done.value["usageMetadata"] == {}
    assert ("/usageMetadata", "added") in [(loss.path, loss.fate) for loss in done.losses]
    chunk = {**body, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}
    last = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    frames = [{"event": None, "data": each} for each in (chunk, last, "[DONE]")]
    out = list(ul.convert_stream(frames, source="openai-chat", target=GC))
    assert [event["data"].get("usageMetadata") for event in out] == [*[None] * (len(out) - 1), {}]


def test_an_answer_of_its_own_stays_without_one() -> None:
    body = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}
    assert ul.convert(body, source=GC, target=GC, kind="response").value == body
