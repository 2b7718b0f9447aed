"""Fields that the official SDKs declare, each alone in a small request, and what the other protocols' SDKs take of it."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from sdk_wire import declared, refused

MODELS = {
    "anthropic-messages": "claude-opus-4-7",
    "google-generate-content": "gemini-3-pro-preview",
    "google-interactions": "gemini-3-pro-preview",
    "openai-chat": "gpt-5.5",
    "openai-responses": "gpt-5.5",
}
GOOGLE = ("google-generate-content", "google-interactions")
USER: dict[str, Any] = {"role": "user", "content": "Hi"}


def converted(body: dict[str, Any], source: str, target: str) -> Any:
    """The conversion, whose value fits the types of the target's SDK and is taken by its strict server."""
    done = ul.convert(body, source=source, target=target, model=MODELS[target])
    assert not declared(target, "request", done.value) + refused(target, done.value)
    return done


def fates(done: Any) -> dict[str, str]:
    return {loss.path: loss.fate for loss in done.losses if loss.side == "source"}


@pytest.mark.parametrize("target", [each for each in MODELS if each != "openai-responses"])
def test_a_developer_message_keeps_its_text_where_no_image_can_be(target: str) -> None:
    image = {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"}
    rules = {"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}, image]}
    done = converted({"model": "m", "input": [rules, USER]}, "openai-responses", target)
    assert fates(done)["/input/0/content/1"] == "lost"
    assert "Be brief." in str(done.value)
    done = converted({"model": "m", "input": [{**rules, "content": [image]}, USER]}, "openai-responses", target)
    assert fates(done)["/input/0/content/0"] == "lost"
