"""JSON without a schema, over protocols without such a format, and over those that demand an instruction beside it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from oracles.mounts import serve
from oracles.service import Service

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
GENERATE, INTERACTIONS, CONVERSE = "google-generate-content", "google-interactions", "amazon-converse"
Node = dict[str, Any]
SAID = "Name two colors."
ASKED: dict[str, Node] = {
    CHAT: {
        "model": "m", "response_format": {"type": "json_object"},
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": SAID}],
    },
    RESPONSES: {"model": "m", "instructions": "Be brief.", "input": SAID, "text": {"format": {"type": "json_object"}}},
    GENERATE: {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": SAID}]}],
        "generationConfig": {"responseMimeType": "application/json"},
    },
    INTERACTIONS: {
        "model": "m", "system_instruction": "Be brief.", "input": SAID,
        "response_format": {"type": "text", "mime_type": "application/json"},
    },
}  # fmt: skip


def told(done: ul.Converted) -> dict[str, tuple[str, str]]:
    """The fate and reason of the format."""
    return {loss.path: (loss.fate, loss.detail) for loss in done.losses if loss.capability == "output.structured"}


@pytest.mark.parametrize("target", [MESSAGES, CONVERSE])
@pytest.mark.parametrize(
    ("source", "kind"),
    [(source, "request") for source in ASKED]
    + [(source, "count_tokens_request") for source in (RESPONSES, GENERATE)],  # the others count none
)
def test_json_mode_is_an_instruction_where_formats_need_a_schema(source: str, target: str, kind: str) -> None:
    """`output_config.format` and `textFormat` have one type, json_schema."""
    body = ASKED[source]
    if kind != "request" and source == GENERATE:
        body = {"generateContentRequest": {"model": "models/m", **body}}
    done = ul.convert(body, source=source, target=target, kind=kind)
    value = done.value["input"]["converse"] if "input" in done.value else done.value
    first, second = value["system"]
    assert first["text"] == "Be brief."
    assert "valid JSON and nothing else" in second["text"] and "code fence" in second["text"]
    assert "output_config" not in value and "outputConfig" not in value
    assert list(told(done).values()) == [("approximated", "sent as an instruction, which nothing enforces")]


def test_the_instruction_stands_behind_a_cached_system_text() -> None:
    """So the prefix that a breakpoint caches is the same with and without it."""
    given = {"model": "m", "input": "q", "text": {"format": {"type": "json_object"}}}
    cached = {"type": "input_text", "text": "Long.", "cache": {"mode": "explicit"}}
    done = ul.write({**given, "instructions": [cached]}, MESSAGES, kind="request")
    assert done.value["system"][0] == {"type": "text", "text": "Long.", "cache_control": {"type": "ephemeral"}}
    assert len(done.value["system"]) == 2


def test_a_format_of_text_adds_no_instruction() -> None:
    done = ul.convert({**ASKED[CHAT], "response_format": {"type": "text"}}, source=CHAT, target=MESSAGES)
    assert done.value["system"] == "Be brief." or done.value["system"] == [{"type": "text", "text": "Be brief."}]


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
@pytest.mark.parametrize("source", [GENERATE, INTERACTIONS])
def test_gemini_s_json_mode_mentions_json_at_openai(source: str, target: str) -> None:
    """OpenAI answers 400: "'messages' must contain the word 'json' in some form"."""
    done = ul.convert(ASKED[source], source=source, target=target)
    with ExitStack() as stack:
        url = stack.enter_context(serve(Service())).url
        path = "chat/completions" if target == CHAT else "responses"
        answer = httpx2.post(
            f"{url}/v1/{path}", json={**done.value, "model": "echo"}, headers={"authorization": "Bearer k"}
        )
    assert answer.status_code == 200, answer.text
    head = done.value["messages" if target == CHAT else "input"][0]
    assert head["role"] == "system" and "valid JSON" in head["content"]
    assert [(loss.fate, loss.side) for loss in done.losses if loss.path.endswith("/0/content")] == [("added", "target")]


@pytest.mark.parametrize("source", [GENERATE, INTERACTIONS])
def test_a_model_that_takes_one_system_message_gets_one(source: str) -> None:
    sent = ul.convert(ASKED[source], source=source, target=CHAT).value["messages"]
    assert [each["role"] for each in sent] == ["system", "user"]
    assert sent[0]["content"].startswith("Be brief.\n\n")


@pytest.mark.parametrize(
    ("source", "target"), [(CHAT, RESPONSES), (RESPONSES, CHAT), (GENERATE, CHAT), (GENERATE, RESPONSES)]
)
def test_messages_that_mention_json_are_sent_as_they_are(source: str, target: str) -> None:
    body = {
        CHAT: {**ASKED[CHAT], "messages": [{"role": "user", "content": "As Json."}]},
        RESPONSES: {**ASKED[RESPONSES], "input": "As Json."},
        GENERATE: {**ASKED[GENERATE], "contents": [{"role": "user", "parts": [{"text": "As Json."}]}]},
    }[source]
    sent = str(ul.convert(body, source=source, target=target).value)
    assert "As Json." in sent and "valid JSON" not in sent


@pytest.mark.parametrize("source", sorted(ASKED))
def test_json_mode_of_the_same_protocol_is_left_alone(source: str) -> None:
    assert ul.convert(ASKED[source], source=source, target=source).value == ASKED[source]
