"""Audio that a model made, for clients and providers that have none: the transcript is sent as text.

https://platform.openai.com/docs/guides/audio
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

import unified_llm as ul
from folds import messages as fold_messages
from sdk_streams import final_response
from test_law_mind import HISTORY

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
Node = dict[str, Any]

HEAD = {"id": "c", "created": 1, "model": "m"}


def spoken(**audio: Any) -> Node:
    message = {"role": "assistant", "content": None, "refusal": None, "audio": {"id": "a", "expires_at": 1, **audio}}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {**HEAD, "object": "chat.completion", "choices": [choice]}


def chunks(*deltas: Node) -> list[Node]:
    head = {**HEAD, "object": "chat.completion.chunk"}
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    data = [{**head, "choices": [choice]} for choice in [*choices, {"index": 0, "delta": {}, "finish_reason": "stop"}]]
    return [{"event": None, "data": each} for each in [*data, "[DONE]"]]


STREAM = chunks(
    {"role": "assistant", "content": None},
    {"audio": {"id": "a", "transcript": "Hello"}},
    {"audio": {"data": "AAAA"}},
    {"audio": {"transcript": " there"}},
    {"audio": {"expires_at": 1}},
)


def texts(answer: Node, target: str) -> list[str]:
    content = answer["content"] if target == MESSAGES else answer["output"][0]["content"]
    return [part["text"] for part in content]


@pytest.mark.parametrize("target", [RESPONSES, MESSAGES])
def test_the_transcript_of_audio_is_the_text_of_an_answer(target: str) -> None:
    done = ul.convert(spoken(data="AAAA", transcript="Hello there"), source=CHAT, target=target, kind="response")
    assert texts(done.value, target) == ["Hello there"]
    found = {loss.path.rpartition("/")[2]: loss.fate for loss in done.losses if "/audio/" in loss.path}
    assert found == {"id": "lost", "data": "lost", "expires_at": "lost", "transcript": "approximated"}


@pytest.mark.parametrize("target", [RESPONSES, MESSAGES])
def test_the_transcript_of_streamed_audio_reaches_the_sdk_as_text(target: str) -> None:
    stream = ul.convert_stream(iter(STREAM), source=CHAT, target=target)
    events = list(stream)
    answer = fold_messages(events) if target == MESSAGES else final_response(events)
    assert texts(answer, target) == ["Hello there"]
    deltas = [each["data"].get("delta") for each in events]
    said = [each["text"] if isinstance(each, dict) else each for each in deltas if each and "stop_reason" not in each]
    assert "".join(said) == "Hello there"


@pytest.mark.parametrize("target", [RESPONSES, MESSAGES])
def test_audio_without_a_transcript_is_lost(target: str) -> None:
    done = ul.convert(spoken(data="AAAA"), source=CHAT, target=target, kind="response")
    assert not (done.value["content"] if target == MESSAGES else done.value["output"][0]["content"])
    assert [loss.fate for loss in done.losses if loss.path == "/choices/0/message/audio"] == ["lost"]


def pieces(kind: str) -> list[Node]:
    """What Gemini streams of audio: parts of one recording, each in base64 of its own."""
    out = []
    for number, sound in enumerate((SOUND[:100], SOUND[100:301], SOUND[301:])):
        data = {"mimeType": kind, "data": base64.b64encode(sound).decode()}
        candidate: Node = {"content": {"role": "model", "parts": [{"inlineData": data}]}, "index": 0}
        if number == 2:
            candidate["finishReason"] = "STOP"
        out.append({"event": None, "data": {"candidates": [candidate], "responseId": "r", "modelVersion": "m"}})
    return out


SOUND = bytes(range(256)) * 3


def test_audio_in_pieces_is_one_audio_of_chat() -> None:
    source = "google-generate-content"
    stream = ul.convert_stream(pieces("audio/L16;codec=pcm;rate=24000"), source=source, target=CHAT)
    chunks_ = [event["data"] for event in stream if event["data"] != "[DONE]"]
    data = [c["delta"]["audio"]["data"] for chunk in chunks_ for c in chunk["choices"] if "audio" in c["delta"]]
    assert base64.b64decode("".join(data)) == SOUND
    assert "/1/data/candidates/0/content/parts/0" not in [loss.path for loss in stream.losses]
    body = pieces("audio/L16;codec=pcm;rate=24000")
    parts = [part for event in body for part in event["data"]["candidates"][0]["content"]["parts"]]
    whole = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}]}
    done = ul.convert(whole, source=source, target=CHAT, kind="response").value
    assert base64.b64decode(done["choices"][0]["message"]["audio"]["data"]) == SOUND


def test_audio_with_a_head_is_not_joined() -> None:
    stream = ul.convert_stream(pieces("audio/wav"), source="google-generate-content", target=CHAT)
    assert base64.b64encode(SOUND[:100]).decode() in str(list(stream))
    assert [loss.path for loss in stream.losses if loss.detail == "an answer of Chat holds one audio part"] == [
        f"/{number}/data/candidates/0/content/parts/0" for number in (1, 2)
    ]


@pytest.mark.parametrize(
    ("kind", "format_", "taken"),
    [
        ("audio/mpeg", "mp3", True),
        ("audio/mp4", "m4a", False),
        ("audio/ogg", "ogg", False),
        ("audio/webm", "webm", False),
    ],
)
def test_audio_of_a_user_has_a_format_and_openai_gets_those_it_takes(kind: str, format_: str, taken: bool) -> None:
    """Chat requires the format, and OpenAI takes two of them."""
    part = {"inlineData": {"mimeType": kind, "data": "AAAA"}}
    body = {"contents": [{"role": "user", "parts": [{"text": "Listen:"}, part]}]}
    done = ul.convert(body, source="google-generate-content", target=CHAT)
    audio = done.value["messages"][0]["content"][1]["input_audio"]
    assert audio == {"data": "AAAA", "format": format_}
    done = ul.convert(body, source="google-generate-content", target=f"{CHAT}:openai")
    assert len(done.value["messages"][0]["content"]) == 1 + taken
    assert [loss.capability for loss in done.losses if loss.fate == "lost"] == [] if taken else ["audio.input"]


@pytest.mark.parametrize("source", ["openai-chat", "openai-chat:mistral"])
def test_audio_that_is_its_data_alone_is_audio(source: str) -> None:
    part = {"type": "input_audio", "input_audio": "SUQzBAAAAAAAI1RTU0UAAAAP"}
    body = {"model": "m", "messages": [{"role": "user", "content": [part, {"type": "text", "text": "Hi"}]}]}
    same = ul.convert(body, source=source, target=source)
    assert (same.value, len(same.losses)) == (body, 0)
    done = ul.convert(body, source=source, target="google-generate-content")
    assert done.value["contents"][0]["parts"][0]["inlineData"]["data"] == part["input_audio"]
    part["input_audio"] = "https://a.b/c.mp3"  # no data
    assert ul.convert(body, source=source, target=source).value == body
    lost = ul.convert(body, source=source, target="google-generate-content").losses
    assert [loss.path for loss in lost if loss.fate == "lost"] == ["/messages/0/content/0"]


def test_log_probabilities_of_reasoning_are_no_reasoning() -> None:
    token = {"token": "b", "logprob": -1, "bytes": None, "top_logprobs": []}
    message = {"role": "assistant", "content": "a", "reasoning_content": "b"}
    choice = {"index": 0, "finish_reason": "stop", "message": message, "logprobs": {"reasoning_content": [token]}}
    answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    found = ul.convert(answer, source="openai-chat", target="openai-responses", kind="response").losses
    assert {loss.capability for loss in found if "logprobs" in loss.path} == {"output.logprobs"}


SHOWN_AS_SOUND = ["amazon-converse", "google-generate-content", "google-interactions"]


def returned(surface: str, change: Callable[[str], str] = str) -> Node:
    """What Chat is sent of an answer as audio that a client of this surface kept, whose JSON was changed by it."""
    answer = spoken(data=base64.b64encode(b"RIFF sound").decode(), transcript="Hello there")
    told = ul.convert(answer, source=CHAT, target=surface, kind="response", secret="s").value
    history = json.loads(change(json.dumps(HISTORY[surface](told))))
    message: Node = ul.convert(history, source=surface, target=CHAT, secret="s", repair="never").value["messages"][1]
    return message


@pytest.mark.parametrize("surface", [*SHOWN_AS_SOUND, MESSAGES, RESPONSES])
def test_an_answer_as_audio_returns_by_its_id_whether_or_not_its_transcript_is_shown(surface: str) -> None:
    assert returned(surface)["audio"] == {"id": "a"}


@pytest.mark.parametrize("surface", [MESSAGES, RESPONSES])
def test_an_answer_as_audio_whose_words_a_client_changed_does_not_return(surface: str) -> None:
    message = returned(surface, lambda text: text.replace('"Hello there"', '"Goodbye"'))
    assert "audio" not in message and "Goodbye" in json.dumps(message)
