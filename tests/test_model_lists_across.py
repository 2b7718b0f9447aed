"""Lists of models in another protocol: what its official SDK requires of an entry is there, and limits arrive."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES, GENERATE = "openai-chat", "openai-responses", "anthropic-messages", "google-generate-content"
LISTS: dict[str, dict[str, Any]] = {
    CHAT: {"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "o"}]},
    RESPONSES: {"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "o"}]},
    MESSAGES: {
        "data": [
            {
                "id": "m",
                "type": "model",
                "display_name": "M",
                "created_at": "2026-01-01T00:00:00Z",
                "lifecycle": "active",
                "max_input_tokens": 200_000,
                "max_tokens": 64_000,
            }
        ],
        "has_more": False,
        "first_id": "m",
        "last_id": "m",
    },
    GENERATE: {"models": [{"name": "models/m", "inputTokenLimit": 200_000, "outputTokenLimit": 64_000}]},
}
ENTRIES = {CHAT: openai.types.Model, RESPONSES: openai.types.Model, MESSAGES: anthropic.types.ModelInfo}


@pytest.mark.parametrize("target", ENTRIES)
@pytest.mark.parametrize("source", LISTS)
def test_an_entry_has_what_the_sdk_of_the_target_requires(source: str, target: str) -> None:
    done = ul.convert(LISTS[source], source=source, target=target, kind="models")
    ENTRIES[target].model_validate(done.value["data"][0])
    if source == target:
        assert done.value == LISTS[source] and not done.losses


@pytest.mark.parametrize(("source", "target"), [(MESSAGES, GENERATE), (GENERATE, MESSAGES)])
def test_the_limits_of_a_model_arrive(source: str, target: str) -> None:
    done = ul.convert(LISTS[source], source=source, target=target, kind="models")
    key = "models" if target == GENERATE else "data"
    assert (
        LISTS[target][key][0].items()
        >= {name: value for name, value in done.value[key][0].items() if type(value) is int}.items()
    )
    assert not [loss for loss in done.losses if "okens" in loss.path or "Token" in loss.path]
