"""Base64 of media: google-genai sends the alphabet for URLs, Google answers in the standard one and takes both.

Everybody else takes the standard one, padded: https://datatracker.ietf.org/doc/html/rfc4648#section-5
"""

from __future__ import annotations

import base64
from typing import Any

import pytest
from google.genai import types

import unified_llm as ul

CONTENT = "google-generate-content"
RAW = b"\x89PNG\xfb\xff\xfe\x00"  # which has both letters that differ, and padding
OTHERS = ["openai-chat", "openai-responses", "anthropic-messages", "google-interactions"]


def asked(data: str, mime: str = "image/png") -> dict[str, Any]:
    parts = [{"text": "?"}, {"inlineData": {"mimeType": mime, "data": data}}]
    return {"contents": [{"role": "user", "parts": parts}]}


SPELLED = [
    base64.b64encode(RAW).decode(),
    base64.urlsafe_b64encode(RAW).decode(),
    base64.urlsafe_b64encode(RAW).decode().rstrip("="),
    base64.b64encode(RAW).decode().rstrip("="),
]


@pytest.mark.parametrize("spelled", SPELLED)
def test_an_image_comes_through_in_the_alphabet_of_the_target(spelled: str) -> None:
    standard = base64.b64encode(RAW).decode()
    for target in OTHERS:
        done = ul.convert(asked(spelled), source=CONTENT, target=target, model="m")
        assert standard in repr(done.value), target
        assert done.losses.survives("image.*")
    assert ul.convert(asked(spelled), source=CONTENT, target=CONTENT).value == asked(spelled)


@pytest.mark.parametrize("mime", ["audio/wav", "application/pdf", "video/mp4"])
def test_other_media_too(mime: str) -> None:
    standard, urls = SPELLED[:2]
    assert standard in repr(ul.convert(asked(urls, mime), source=CONTENT, target="openai-chat").value)
    assert ul.convert(asked(urls, mime), source=CONTENT, target=CONTENT).value == asked(urls, mime)


def test_an_object_of_the_sdk() -> None:
    content = types.Content(role="user", parts=[types.Part.from_bytes(data=RAW, mime_type="image/png")])
    done = ul.convert({"contents": [content]}, source=CONTENT, target="openai-chat")
    url = done.value["messages"][0]["content"][0]["image_url"]["url"]
    assert base64.b64decode(url.partition(",")[2], validate=True) == RAW


@pytest.mark.parametrize("cut", ["iVBORw0KGgo...", "[redacted]"])
def test_what_is_not_base64_is_withheld(cut: str) -> None:
    """Google's service and its SDK refuse a whole document for it: the text beside the image would go too."""
    url = f"data:image/png;base64,{cut}"
    content = [{"type": "text", "text": "?"}, {"type": "image_url", "image_url": {"url": url}}]
    body = {"model": "m", "messages": [{"role": "user", "content": content}]}
    done = ul.convert(body, source="openai-chat", target=CONTENT)
    assert done.value["contents"] == [{"role": "user", "parts": [{"text": "?"}]}]
    assert any(loss.fate == "lost" and loss.path.startswith("/messages/0/content/1") for loss in done.losses)
    own = asked(cut)
    assert ul.convert(own, source=CONTENT, target=CONTENT).value == own


def test_a_drawn_image_that_is_not_base64_is_withheld() -> None:
    drawn = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo...cut"}
    body = {"id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": [drawn]}
    done = ul.convert(body, source="openai-responses", target=CONTENT, kind="response")
    assert "inlineData" not in repr(done.value)
    assert any(loss.fate == "lost" and loss.path.startswith("/output/0") for loss in done.losses)
