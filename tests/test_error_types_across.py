"""The class of an error is never changed without a report."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

PROTOCOLS = ("openai-chat", "openai-responses", "anthropic-messages", "google-generate-content", "google-interactions")
CLASSES = """invalid_request authentication permission not_found conflict rate_limit quota overloaded server_error
timeout too_large context_overflow content_filter billing""".split()


@pytest.mark.parametrize("target", PROTOCOLS)
@pytest.mark.parametrize("kind", CLASSES)
def test_a_class_comes_back_or_is_reported(kind: str, target: str) -> None:
    done = ul.write({"error": {"type": kind, "message": "no"}}, target, "error")
    if ul.read(done.value, target, "error").dump()["error"]["type"] != kind:
        assert [loss.fate for loss in done.losses if loss.path == "/error/type"] == ["approximated"]


@pytest.mark.parametrize("target", [protocol for protocol in PROTOCOLS if protocol != "anthropic-messages"])
def test_a_request_that_is_too_large_is_told(target: str) -> None:
    body = {"type": "error", "error": {"type": "request_too_large", "message": "no"}}
    done = ul.convert(body, source="anthropic-messages", target=target, kind="error")
    assert [(loss.path, loss.fate) for loss in done.losses] == [("/error/type", "approximated")]


def _chat(message: str, type_: str = "invalid_request_error", **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": type_, "param": None, "code": None, **more}}


def _messages(message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


CHAT, RESPONSES, MESSAGES = PROTOCOLS[:3]
TOO_LONG = "The model returned the following errors: Input is too long for requested model."
SERVERS = [
    # ollama and others have one word for all that they refuse
    (CHAT, 404, _chat("model 'x' not found", "api_error"), "not_found"),
    (RESPONSES, 429, _chat("too many requests", "api_error"), "rate_limit"),
    (CHAT, 402, _chat("Insufficient Balance", "unknown_error", code="invalid_request_error"), "quota"),
    (CHAT, 402, {"error": {"message": "This request requires more credits", "code": 402}}, "quota"),
    (CHAT, 498, _chat("Flex tier capacity exceeded", "capacity_exceeded"), "overloaded"),
    (CHAT, 504, "<html>", "timeout"),
    (CHAT, 400, _chat("no", "exceed_context_size_error", n_ctx=4096), "context_overflow"),
    (CHAT, 422, _chat("`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000"), "context_overflow"),
    (CHAT, 400, _chat("litellm.ContextWindowExceededError: no", "None"), "context_overflow"),
    (CHAT, 429, _chat("Too many tokens, please wait before trying again."), "rate_limit"),
    (CHAT, 400, {"code": "invalid argument", "error": "Incorrect API key provided: x"}, "authentication"),
    (CHAT, 413, _chat("Request too large for model `x`: Limit 6000, Requested 9000", "tokens",
                      code="rate_limit_exceeded"), "too_large"),
    (MESSAGES, 400, {"message": TOO_LONG}, "context_overflow"),
    (MESSAGES, 400, _messages(TOO_LONG), "context_overflow"),
    (MESSAGES, 400, _messages("Your credit balance is too low to access the Anthropic API."), "quota"),
    (MESSAGES, 400, _messages("Output blocked by content filtering policy"), "content_filter"),
    (MESSAGES, 200, _chat("no", "server_error"), "server_error"),
    (MESSAGES, 429, _chat("Too many tokens, please wait before trying again.", "api_error"), "rate_limit"),
    (MESSAGES, 429, _messages("Too many tokens, please wait before trying again."), "rate_limit"),
    (MESSAGES, 404, _chat("model 'x' not found", "api_error"), "not_found"),
    (MESSAGES, 402, _chat("no", "api_error"), "quota"),
    (MESSAGES, 429, [_chat("busy", "rate_limit_error")], "rate_limit"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "status", "body", "kind"), SERVERS)
def test_the_class_of_an_error_as_servers_spell_it(source: str, status: int, body: Any, kind: str) -> None:
    assert ul.read(body, source, "error", http={"status": status}).dump()["error"]["type"] == kind
    assert ul.convert(body, source=source, target=source, kind="error", http={"status": status}).value == body


def test_an_error_in_a_list_keeps_its_message() -> None:
    body = [{"error": {"code": 429, "message": "busy", "status": "RESOURCE_EXHAUSTED"}}]
    done = ul.convert(body, source=MESSAGES, target=CHAT, kind="error", http={"status": 429})
    assert (done.value["error"]["message"], done.value["error"]["type"]) == ("busy", "rate_limit_error")
    assert {loss.path for loss in done.losses if loss.side == "source"} == {"/0/error/code", "/0/error/status"}
    assert [(loss.path, loss.fate) for loss in done.losses if loss.side == "target"] == [("/error/code", "added")]


# ---- the two protocols of one provider -------------------------------------------------------------------------------

# The documented codes of Interactions and of google.rpc, with the HTTP status of both.
SISTERS = [
    ("invalid_request", "INVALID_ARGUMENT", 400),
    ("failed_precondition", "FAILED_PRECONDITION", 400),
    ("out_of_range", "OUT_OF_RANGE", 400),
    ("permission_denied", "PERMISSION_DENIED", 403),
    ("not_found", "NOT_FOUND", 404),
    ("already_exists", "ALREADY_EXISTS", 409),
    ("aborted", "ABORTED", 409),
    ("cancelled", "CANCELLED", 499),
    ("unimplemented", "UNIMPLEMENTED", 501),
    ("deadline_exceeded", "DEADLINE_EXCEEDED", 504),
]


@pytest.mark.parametrize(("code", "word", "status"), SISTERS)
def test_a_word_of_google_stays_what_it_is_in_the_sister_protocol(code: str, word: str, status: int) -> None:
    """`ABORTED` is worth a retry, `ALREADY_EXISTS` is not."""
    pair: dict[str, Any] = {"kind": "error", "http": {"status": status}}
    given = {"error": {"code": status, "message": "x", "status": word}}
    done = ul.convert(given, source="google-generate-content", target="google-interactions", **pair)
    assert (done.value, done.http["status"], list(done.losses)) == (
        {"error": {"code": code, "message": "x"}},
        status,
        [],
    )
    back = ul.convert(done.value, source="google-interactions", target="google-generate-content", **pair)
    assert (back.value["error"]["status"], back.value["error"]["code"]) == (word, status)
