"""Traps of images, documents, audio and video, towards every other surface; expected values are those of the trap."""

from __future__ import annotations

import time
from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
INTERACTIONS, GENERATE = "google-interactions", "google-generate-content"
Node = dict[str, Any]
PNG = "iVBORw0KGgo="
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
PAGES = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}


def chat(*parts: Node, target: str) -> ul.Converted:
    body = {"model": "m", "messages": [{"role": "user", "content": [*parts]}]}
    return ul.convert(body, source=CHAT, target=target)


def messages(*blocks: Node, target: str) -> ul.Converted:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [*blocks]}]}
    return ul.convert(body, source=MESSAGES, target=target)


def result(*blocks: Node, target: str) -> ul.Converted:
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "t", "content": [*blocks]}
    said = [{"role": "user", "content": "q"}, {"role": "assistant", "content": [call]}]
    body = {"model": "m", "max_tokens": 9, "messages": [*said, {"role": "user", "content": [answer]}]}
    return ul.convert(body, source=MESSAGES, target=target)


def lost(done: ul.Converted) -> dict[str, str]:
    return {loss.path: loss.capability for loss in done.losses if loss.fate == "lost"}


def content_of(value: Node) -> Any:
    """The parts of the one user message, whatever the surface."""
    if "contents" in value:
        return value["contents"][0]["parts"]
    return (value.get("messages") or value["input"])[0]["content"]


def test_trap_122_images_in_results_arrive_everywhere() -> None:
    shot = [{"type": "text", "text": "shot"}, PICTURE]
    assert result(*shot, target=RESPONSES).value["input"][2]["output"] == [
        {"type": "input_text", "text": "shot"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"},
    ]
    assert result(*shot, target=INTERACTIONS).value["input"][-1]["result"] == [
        {"type": "text", "text": "shot"},
        {"type": "image", "data": PNG, "mime_type": "image/png"},
    ]
    answer = result(*shot, target=GENERATE).value["contents"][-1]["parts"][0]["functionResponse"]
    assert answer["parts"] == [{"inlineData": {"mimeType": "image/png", "data": PNG}}]


def test_trap_123_chat_has_images_of_results_after_the_results() -> None:
    done = result({"type": "text", "text": "shot"}, PICTURE, target=CHAT)
    tool, user = done.value["messages"][-2:]
    assert (tool["role"], user["role"]) == ("tool", "user")
    assert "image" not in str(tool) and "shot" in str(tool)
    assert "t" in user["content"][0]["text"]
    assert user["content"][1] == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    found = [(loss.path, loss.fate) for loss in done.losses if loss.capability == "tools.result.media"]
    assert found == [("/messages/2/content/0/content/1", "approximated")]


@pytest.mark.parametrize("model", ["gemini-2.0-flash", "gemini-2.5-pro"])
def test_trap_124_older_models_get_media_of_results_after_them(model: str) -> None:
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    said = {"role": "assistant", "content": [call]}
    answer = {"type": "tool_result", "tool_use_id": "t", "content": [PICTURE]}
    asked = [{"role": "user", "content": "q"}, said, {"role": "user", "content": [answer]}]
    body = {"model": "m", "max_tokens": 9, "messages": asked}
    done = ul.convert(body, source=MESSAGES, target=GENERATE, model=model)
    results, after = done.value["contents"][2:]
    assert [list(part) for part in results["parts"]] == [["functionResponse"]]
    assert "parts" not in results["parts"][0]["functionResponse"]
    assert after["role"] == "user" and "f" in after["parts"][0]["text"]
    assert after["parts"][1] == {"inlineData": {"mimeType": "image/png", "data": PNG}}
    found = {(loss.path, loss.fate) for loss in done.losses if loss.side == "source"}
    assert ("/messages/2/content/0/content/0", "approximated") in found
    newer = ul.convert(body, source=MESSAGES, target=GENERATE, model="gemini-3-pro").value["contents"]
    assert newer[2]["parts"][0]["functionResponse"]["parts"] == [after["parts"][1]] and len(newer) == 3


def test_trap_124_base64_is_never_sent_as_text() -> None:
    for target in (CHAT, RESPONSES, INTERACTIONS, GENERATE):
        assert f'"text": "{PNG}' not in str(result(PICTURE, target=target).value).replace("'", '"')


@pytest.mark.parametrize(
    ("target", "part"),
    [
        (RESPONSES, {"type": "input_file", "file_data": "data:application/pdf;base64,JVBERi0=", "filename": "T.pdf"}),
        (CHAT, {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERi0=", "filename": "T.pdf"}}),
        (GENERATE, {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0="}}),
        (INTERACTIONS, {"type": "document", "data": "JVBERi0=", "mime_type": "application/pdf"}),
    ],
)
def test_trap_125_documents_arrive_and_their_settings_are_told(target: str, part: Node) -> None:
    done = messages({**PAGES, "title": "T", "citations": {"enabled": True}}, target=target)
    assert content_of(done.value) == [part]
    assert lost(done)["/messages/0/content/0/citations"] == "citations.document"
    told = {loss.path for loss in done.losses}
    assert "/messages/0/content/0/title" in told


@pytest.mark.parametrize("target", [CHAT, RESPONSES, GENERATE, INTERACTIONS])
def test_trap_125_documents_in_results_arrive(target: str) -> None:
    assert "JVBERi0=" in str(result(PAGES, target=target).value)


@pytest.mark.parametrize("target", [MESSAGES, GENERATE, INTERACTIONS])
def test_trap_126_files_of_one_provider_are_not_named_to_another(target: str) -> None:
    text = {"type": "text", "text": "Hi"}
    done = chat(text, {"type": "file", "file": {"file_id": "file-1"}}, target=target)
    assert "file-1" not in str(done.value) and "Hi" in str(done.value)
    assert [path for path in lost(done) if path.startswith("/messages/0/content/1")]
    with pytest.raises(ul.CapabilityLost):
        ul.convert(
            {"model": "m", "messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}]},
            source=CHAT,
            target=target,
            on_loss={"file.*": "raise"},
        )


@pytest.mark.parametrize(
    ("part", "targets"),
    [
        ({"type": "file", "file": {"file_id": "file-1"}}, (MESSAGES, GENERATE, INTERACTIONS)),
        ({"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}}, (MESSAGES, RESPONSES)),
        ({"type": "unknown_type", "x": 1}, (MESSAGES, RESPONSES, GENERATE, INTERACTIONS)),
    ],
    ids=["file", "sound", "unknown"],
)
def test_trap_126_never_an_empty_prompt(part: Node, targets: tuple[str, ...]) -> None:
    said = {"role": "user", "content": [part]}
    before = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    for target in targets:
        for messages_ in ([said], [*before, said], [*before, said, said]):
            body = {"model": "m", "messages": messages_}
            with pytest.raises(ul.CapabilityRefused, match="no part of the last user message can be sent") as refused:
                ul.convert(body, source=CHAT, target=target)
            assert refused.value.path.startswith(f"/messages/{messages_.index(said)}/content/0")
        with pytest.raises(ul.CapabilityRefused):
            ul.write(ul.read({"model": "m", "messages": [said]}, CHAT), MESSAGES)
        # A history that holds one goes on, and so does a prompt with anything else.
        for messages_ in ([said, *before[::-1]], [*before, {**said, "content": [part, {"type": "text", "text": "q"}]}]):
            assert ul.convert({"model": "m", "messages": messages_}, source=CHAT, target=target).value


@pytest.mark.parametrize("target", [CHAT, RESPONSES, GENERATE, INTERACTIONS])
@pytest.mark.parametrize("kind", ["document", "image"])
def test_trap_126_nor_are_those_of_messages(target: str, kind: str) -> None:
    done = messages(
        {"type": "text", "text": "Hi"}, {"type": kind, "source": {"type": "file", "file_id": "file_9"}}, target=target
    )
    assert "file_9" not in str(done.value) and "Hi" in str(done.value)
    assert [path for path in lost(done) if path.startswith("/messages/0/content/1")]


def test_trap_126_one_provider_knows_its_files_on_both_surfaces() -> None:
    done = chat({"type": "file", "file": {"file_id": "file-1"}}, target=RESPONSES)
    assert content_of(done.value) == [{"type": "input_file", "file_id": "file-1"}]


@pytest.mark.parametrize(
    ("target", "part"),
    [
        (RESPONSES, {"type": "input_image", "image_url": "https://e.x/a.png", "detail": "auto"}),
        (MESSAGES, {"type": "image", "source": {"type": "url", "url": "https://e.x/a.png"}}),
        (GENERATE, {"fileData": {"fileUri": "https://e.x/a.png", "mimeType": "image/png"}}),
        (INTERACTIONS, {"type": "image", "uri": "https://e.x/a.png"}),
    ],
)
def test_trap_127_images_by_address_stay_addresses(target: str, part: Node) -> None:
    done = chat({"type": "image_url", "image_url": {"url": "https://e.x/a.png"}}, target=target)
    assert content_of(done.value) == [part]


SPELLINGS = [
    f"data:image/png;base64, {PNG}",
    f"DATA:image/png;base64,{PNG}",
    f"data:image/PNG;charset=x;base64,{PNG}",
    PNG,
]


@pytest.mark.parametrize("url", SPELLINGS)
def test_trap_129_every_spelling_of_a_data_url_is_understood(url: str) -> None:
    part = {"type": "image_url", "image_url": {"url": url}}
    (block,) = content_of(chat(part, target=MESSAGES).value)
    assert block["source"] == PICTURE["source"]
    (item,) = content_of(chat(part, target=RESPONSES).value)
    assert item["image_url"] == f"data:image/png;base64,{PNG}"
    (wire,) = content_of(chat(part, target=GENERATE).value)
    assert wire["inlineData"]["data"].strip() == PNG
    (step,) = content_of(chat(part, target=INTERACTIONS).value)
    assert step["data"].strip() == PNG
    assert content_of(chat(part, target=CHAT).value) == [part]


def test_trap_129_responses_to_chat_and_back() -> None:
    body = {"model": "m", "input": [{"role": "user", "content": [{"type": "input_image", "image_url": PNG}]}]}
    assert ul.convert(body, source=RESPONSES, target=RESPONSES).value == body
    (part,) = content_of(ul.convert(body, source=RESPONSES, target=CHAT).value)
    assert part["image_url"]["url"] == f"data:image/png;base64,{PNG}"


SOUND = {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}}
FILM = {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AAAA"}}


def test_trap_130_audio_and_films_reach_those_who_take_them() -> None:
    assert content_of(chat(SOUND, target=GENERATE).value) == [{"inlineData": {"mimeType": "audio/wav", "data": "UklG"}}]
    assert content_of(chat(FILM, target=GENERATE).value) == [{"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}}]
    assert content_of(chat(SOUND, target=INTERACTIONS).value)[0]["mime_type"] == "audio/wav"
    assert content_of(chat(FILM, target=INTERACTIONS).value)[0]["mime_type"] == "video/mp4"


@pytest.mark.parametrize("target", [MESSAGES, RESPONSES])
@pytest.mark.parametrize(("part", "capability"), [(SOUND, "audio.input"), (FILM, "video.input")])
def test_trap_130_and_are_told_lost_to_those_who_do_not(target: str, part: Node, capability: str) -> None:
    done = chat({"type": "text", "text": "x"}, part, target=target)
    assert lost(done) == {"/messages/0/content/1": capability}


@pytest.mark.parametrize("target", [MESSAGES, GENERATE, RESPONSES])
def test_trap_131_large_media_are_not_decoded_and_not_scanned_twice(target: str) -> None:
    def spent(size: int) -> float:
        url = f"data:image/png;base64,{PNG[:-1]}{'A' * size}"
        best = 9.0
        for _ in range(3):
            start = time.process_time()
            value = chat({"type": "image_url", "image_url": {"url": url}}, target=target).value
            best = min(best, time.process_time() - start)
        assert "A" * size in str(value)
        return best

    small, large = spent(500_000), spent(8_000_000)
    # Sixteen times the bytes; decoding or walking characters in Python would take seconds.
    assert large < max(64 * small, 2.0)
