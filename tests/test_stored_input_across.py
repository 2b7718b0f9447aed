"""A stored interaction contains the input of its turn, which answers of other protocols do not.

https://ai.google.dev/gemini-api/docs/interactions
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

INTERACTIONS = "google-interactions"
OTHERS = ("openai-chat", "openai-responses", "anthropic-messages", "google-generate-content", "amazon-converse")
Node = dict[str, Any]


def text(value: str) -> list[Node]:
    return [{"type": "text", "text": value}]


STORED = {
    "id": "i", "object": "interaction", "status": "completed", "model": "m",
    "steps": [
        {"type": "user_input", "content": text("When is high tide?")},
        {"type": "model_output", "content": text("At noon.")},
    ],
}  # fmt: skip


@pytest.mark.parametrize("target", OTHERS)
def test_the_input_is_not_part_of_the_answer(target: str) -> None:
    done = ul.convert(STORED, source=INTERACTIONS, target=target, kind="response")
    assert "At noon." in str(done.value) and "tide" not in str(done.value)
    assert [loss.path for loss in done.losses if loss.fate == "lost"] == ["/steps/0"]
    events = list(ul.write_stream(ul.decompose(ul.read(STORED, INTERACTIONS, "response")), INTERACTIONS))
    stream = ul.convert_stream(iter(events), source=INTERACTIONS, target=target)
    said = str(list(stream))
    assert "At noon." in said and "tide" not in said
    assert any(loss.capability == "text.input" and loss.fate == "lost" for loss in stream.losses)


def test_within_interactions_it_stays() -> None:
    assert ul.convert(STORED, source=INTERACTIONS, target=INTERACTIONS, kind="response").value == STORED
