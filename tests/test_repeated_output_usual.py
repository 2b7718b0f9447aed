"""What a client repeats of a model's output as it came takes the fast paths, and converts as the pairs have it.

Ids, a status, a phase and empty lists stand beside the texts and calls of such a history:
https://platform.openai.com/docs/guides/conversation-state
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import test_anthropic_messages_usual
import test_google_generate_content_usual
import test_google_interactions_usual
import test_openai_chat_usual
import test_openai_responses_usual
import unified_llm as ul
from quick_way import converted
from unified_llm_anthropic.messages.turns import messages
from unified_llm_google.generate_content.turns import history as contents
from unified_llm_google.interactions.turns import timeline
from unified_llm_openai.chat.request import document
from unified_llm_openai.responses.turns import history

RESPONSES = "openai-responses"
TARGETS = {
    "openai-chat": test_openai_chat_usual,
    "anthropic-messages": test_anthropic_messages_usual,
    "google-generate-content": test_google_generate_content_usual,
    "google-interactions": test_google_interactions_usual,
}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "output_text", "text": words, "annotations": [], **more}


ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "input_text", "text": "Is it raining in Oslo?"}]},
    {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
     "content": [text("I look it up.")]},
    {"type": "function_call", "id": "fc_1", "status": "completed", "call_id": "c1", "name": "rain", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "no"},
    {"type": "message", "id": "msg_2", "status": "incomplete", "role": "assistant", "phase": "final_answer",
     "content": [text("It is not.", logprobs=[]), text("Enjoy.")]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Thanks."}]},
]  # fmt: skip
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
SHORT = {"type": "message", "role": "assistant", "content": "Well."}
IMAGE = {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"}
PICTURE = {"type": "message", "role": "user", "content": [IMAGE]}
ASKED, SAID, CALL, RESULT, ANSWER, THANKS = ITEMS
CONVERSATIONS = {
    "output": ITEMS,
    "reasoning": [ASKED, THOUGHT, SAID, CALL, RESULT, THOUGHT, ANSWER, THANKS],
    "reasoning behind": [ASKED, SHORT, THOUGHT, CALL, RESULT, SHORT, THOUGHT, THANKS],
    "reasoning alone": [ASKED, THOUGHT, THANKS, THOUGHT, THOUGHT, SHORT, THANKS],
    "reasoning before what is unusual": [ASKED, THOUGHT, SHORT, PICTURE, THOUGHT, PICTURE, SHORT, THOUGHT, PICTURE],
}


def record_of(items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": "repeated", "protocol": RESPONSES, "kind": "request", "body": {"model": "m", "input": items}}


RECORD = record_of(ITEMS)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_repeated_output_converts_alike_with_the_quick_way_and_without(
    name: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = record_of(CONVERSATIONS[name])
    quick = converted(record, target)
    with TARGETS[target].without_the_quick_way(monkeypatch):
        with test_openai_responses_usual.without_the_quick_way(monkeypatch):
            slow = converted(record, target)
    assert quick == slow


def test_one_text_of_the_models_is_a_string_for_chat() -> None:
    said = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [text("No.")]}
    done = ul.convert({"model": "m", "input": [said, ITEMS[-1]]}, source=RESPONSES, target="openai-chat")
    assert done.value["messages"][0] == {"role": "assistant", "content": "No."}


@pytest.mark.parametrize(
    ("target", "module", "function", "left"),
    [
        ("openai-chat", document, "write_assistant", 0),
        ("anthropic-messages", messages, "_write_unusual", 0),
        ("google-generate-content", contents, "_write_content", 0),
        ("google-interactions", timeline, "write_step", 0),
        (RESPONSES, history, "read_usual", 1),
    ],
)
def test_repeated_output_takes_the_quick_way(
    target: str, module: ModuleType, function: str, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    original = getattr(module, function)
    monkeypatch.setattr(module, function, lambda *arguments: calls.append(0) or original(*arguments))
    ul.convert(RECORD["body"], source=RESPONSES, target=target)
    assert len(calls) == left
