"""Errors of servers whose word and status are those of another class, and what clients make of them."""

from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
INTERACTIONS, GENERATE, CONVERSE = "google-interactions", "google-generate-content", "amazon-converse"


def openai(word: str | None, code: Any, message: str = "m") -> dict[str, Any]:
    return {"error": {"message": message, "type": word, "param": None, "code": code}}


def class_of(body: Any, protocol: str, status: int, headers: dict[str, str] | None = None) -> str:
    http = {"status": status, "headers": headers or {}}
    same = ul.convert(body, source=protocol, target=protocol, kind="error", http=http)
    assert same.value == body and same.http["status"] == status
    return str(ul.read(body, protocol, "error", http=http).model_dump()["error"]["type"])


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, openai("billing_not_active", "billing_not_active"), "quota"),
        (400, openai("invalid_request_error", "billing_hard_limit_reached"), "quota"),
        (429, openai("exceeded_current_quota_error", None), "quota"),
        (400, openai("budget_exceeded", "400"), "quota"),
        (400, openai("Arrearage", "Arrearage"), "quota"),
        (412, openai("error", "PRECONDITION_FAILED", "Suspended after reaching the monthly spending limit."), "quota"),
        (429, {"code": "exhausted", "error": "Your team has used all available credits."}, "quota"),
        (403, {"code": "denied", "error": "Your team has used all available credits."}, "quota"),
        (429, openai("tokens", "rate_limit_exceeded", "Too many tokens per minute."), "rate_limit"),
        (503, openai("server_error", "slow_down"), "overloaded"),
        (429, openai("server_error", "slow_down"), "rate_limit"),
        (400, openai("image_generation_user_error", "moderation_blocked"), "content_filter"),
        (400, openai("data_inspection_failed", "data_inspection_failed"), "content_filter"),
        (400, openai("content_filter", None), "content_filter"),
        (
            400,
            openai("BadRequestError", 400, "The prompt is longer than the maximum model length of 9."),
            "context_overflow",
        ),
        (
            400,
            openai(None, None, "The maximum prompt length is 9, the request contains 10 tokens."),
            "context_overflow",
        ),
        (400, openai(None, "model_max_prompt_tokens_exceeded"), "context_overflow"),
        (400, openai("invalid_request_error", None, "Your request exceeded model token limit: 9"), "context_overflow"),
        (400, openai(None, "invalid_parameter_error", "Range of input length should be [1, 9]"), "context_overflow"),
    ],
)
def test_a_code_or_a_message_is_finer_than_word_and_status(status: int, body: Any, kind: str) -> None:
    assert class_of(body, CHAT, status) == kind
