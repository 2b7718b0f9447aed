"""Errors of servers whose word and status are those of another class, and what clients make of them."""

from typing import Any, get_args

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


_DETAILS = [
    {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}
]


def google(code: int, word: str, message: str = "m", **more: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": word, **more}}


@pytest.mark.parametrize("protocol", [INTERACTIONS, GENERATE])
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (google(400, "INVALID_ARGUMENT", "No such key.", details=_DETAILS), "authentication"),
        (google(400, "INVALID_ARGUMENT", "API key not valid."), "authentication"),
        (google(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."), "quota"),
        (google(429, "RESOURCE_EXHAUSTED", "Your project has exceeded its monthly spending cap."), "quota"),
        (google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota."), "rate_limit"),
        (
            google(400, "INVALID_ARGUMENT", "The input token count is 20 but the model supports up to 10."),
            "context_overflow",
        ),
        (google(501, "UNIMPLEMENTED"), "server_error"),
    ],
)
def test_the_errors_of_google_are_of_the_same_class_on_both_paths(body: Any, kind: str, protocol: str) -> None:
    assert class_of(body, protocol, body["error"]["code"]) == kind
    found = ul.read(body, protocol, "error", http={"status": body["error"]["code"]})
    assert ul.write(found, protocol, "error").value == body


def quotas(*violations: dict[str, str]) -> list[dict[str, Any]]:
    return [{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [*violations]}]


def limits(**metadata: str) -> list[dict[str, Any]]:
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "RATE_LIMIT_EXCEEDED"}
    return [{**info, "domain": "googleapis.com", "metadata": metadata}]


MINUTE = {"quotaMetric": "requests", "quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}
DAY = {"quotaMetric": "requests", "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "20"}
EXCEEDED = "You exceeded your current quota. * Quota exceeded for metric: requests, limit: {}, model: m"


@pytest.mark.parametrize("protocol", [INTERACTIONS, GENERATE, CHAT])
@pytest.mark.parametrize(
    ("message", "details", "kind"),
    [
        ("m", quotas(DAY), "quota"),
        ("m", quotas(MINUTE, DAY), "quota"),
        ("m", quotas(MINUTE), "rate_limit"),
        ("m", quotas({**MINUTE, "quotaValue": "0"}), "quota"),
        (
            "m",
            limits(quota_limit="GenerateContentRequestsPerMinutePerProjectPerRegion", quota_limit_value="0"),
            "quota",
        ),
        ("m", limits(quota_limit="GenerateRequestsPerDayPerProject", quota_limit_value="50"), "quota"),
        ("m", limits(quota_limit="GenerateRequestsPerMinute", quota_limit_value="50"), "rate_limit"),
        (EXCEEDED.format(0), [], "quota"),
        (EXCEEDED.format(20), [], "rate_limit"),
        (EXCEEDED.format("0.5"), [], "rate_limit"),
        ("Gemini 2.5 Pro Preview doesn't have a free quota tier.", [], "quota"),
        ("m", ["PerDay", {"violations": None}, {"violations": [None, {"quotaId": 1}], "metadata": []}], "rate_limit"),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_quota_of_a_day_or_of_zero_is_used_up(
    message: str, details: Any, kind: str, protocol: str, wrapped: bool
) -> None:
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "18s"}
    body = google(429, "RESOURCE_EXHAUSTED", message, details=[*details, delay])
    assert class_of([body] if wrapped else body, protocol, 429) == kind
    done = ul.convert(body, source=protocol, target=RESPONSES, kind="error", http={"status": 429})
    assert done.value["error"]["type"] == {"quota": "insufficient_quota"}.get(kind, "rate_limit_error")
    assert (done.http.get("headers") or {}).get("x-should-retry") == ("false" if kind == "quota" else None)


def test_the_code_of_an_interaction_stays_beside_the_class_of_its_message() -> None:
    body = {"error": {"code": "invalid_request", "message": "API key not valid."}}
    assert class_of(body, INTERACTIONS, 400) == "authentication"
    cancelled = google(499, "CANCELLED")
    assert class_of(cancelled, INTERACTIONS, 499) == "invalid_request"


@pytest.mark.parametrize(
    ("word", "status", "message", "kind"),
    [
        ("ValidationException", 400, "Output blocked by content filtering policy", "content_filter"),
        ("ValidationException", 400, "The maximum context length is 9 tokens.", "context_overflow"),
        ("InvalidClientTokenId", 403, "m", "authentication"),
        ("ThrottlingException", 429, "Too many tokens, please wait before trying again.", "rate_limit"),
        ("ThrottlingException", 429, "Too many tokens per day, please wait before trying again.", "quota"),
    ],
)
def test_the_errors_of_bedrock(word: str, status: int, message: str, kind: str) -> None:
    assert class_of({"message": message}, CONVERSE, status, {"x-amzn-errortype": word}) == kind


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
@pytest.mark.parametrize(
    ("source", "status", "body"),
    [
        (MESSAGES, 400, {"type": "invalid_request_error", "message": "Your credit balance is too low."}),
        (MESSAGES, 402, {"type": "billing_error", "message": "m"}),
        (INTERACTIONS, 429, {"code": "quota_exceeded", "message": "m"}),
    ],
)
def test_an_account_that_is_used_up_has_openais_word_and_code(source: str, status: int, body: Any, target: str) -> None:
    done = ul.convert({"error": body}, source=source, target=target, kind="error", http={"status": status})
    assert done.http["status"] == 429
    assert (done.value["error"]["type"], done.value["error"]["code"]) == ("insufficient_quota", "insufficient_quota")
    assert class_of(done.value, target, 429) == "quota"


@pytest.mark.parametrize("target", [CHAT, RESPONSES, "openai-responses:open-responses"])
@pytest.mark.parametrize(
    ("source", "body", "http"),
    [
        (MESSAGES, {"error": {"type": "rate_limit_error", "message": "m"}}, {"status": 429}),
        (GENERATE, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "m"}}, {"status": 429}),
        (CONVERSE, {"message": "m"}, {"status": 429, "headers": {"x-amzn-errortype": "ThrottlingException"}}),
    ],
)
def test_a_rate_limit_has_openais_code(source: str, body: Any, http: Any, target: str) -> None:
    done = ul.convert(body, source=source, target=target, kind="error", http=http)
    assert done.value["error"]["code"] == "rate_limit_exceeded"
    assert [(loss.path, loss.fate) for loss in done.losses if loss.capability == "error.code"] == [
        ("/error/code", "added")
    ]
    assert class_of(done.value, target, 429) == "rate_limit"


@pytest.mark.parametrize("target", [CHAT, RESPONSES, "openai-responses:open-responses"])
@pytest.mark.parametrize(
    ("source", "body", "fates"),
    [
        (MESSAGES, {"error": {"type": "not_found_error", "message": "model: claude-9"}}, ["added"]),
        (GENERATE, {"error": {"code": 404, "status": "NOT_FOUND", "message": "models/x is not found"}}, ["added"]),
        (INTERACTIONS, {"error": {"code": "not_found", "message": "Model 'x' was not found."}}, ["approximated"]),
        (INTERACTIONS, {"error": {"code": "model_not_found", "message": "Model 'x' was not found."}}, []),
    ],
)
def test_a_missing_model_has_openais_code(source: str, body: Any, fates: list[str], target: str) -> None:
    """Codex ends a turn for `model_not_found`, and sends it eleven times more for a 404 without it."""
    done = ul.convert(body, source=source, target=target, kind="error", http={"status": 404})
    assert done.http["status"] == 404 and done.value["error"]["code"] == "model_not_found"
    assert [loss.fate for loss in done.losses if loss.path == "/error/code"] == fates


def test_something_else_that_is_missing_has_not() -> None:
    body: Any = {"error": {"type": "not_found_error", "message": "File not found: file_1"}}
    done = ul.convert(body, source=MESSAGES, target=RESPONSES, kind="error", http={"status": 404})
    assert done.value["error"]["code"] is None


@pytest.mark.parametrize("source", [MESSAGES, GENERATE])
def test_a_rate_limit_in_a_stream_has_openais_code(source: str) -> None:
    body: Any = {"type": "rate_limit_error", "message": "m"}
    frame = {"event": "error", "data": {"type": "error", "error": body}}
    if source == GENERATE:
        frame = {"event": None, "data": {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "m"}}}
    chunks = [each["data"] for each in ul.convert_stream([frame], source=source, target=CHAT)]
    assert [each["error"]["code"] for each in chunks if "error" in each] == ["rate_limit_exceeded"]
    events = [each["data"] for each in ul.convert_stream([frame], source=source, target=RESPONSES)]
    assert [each["error"]["code"] for each in events if each["type"] == "error"] == ["rate_limit_exceeded"]


@pytest.mark.parametrize("code", ["slow_down", "my_own_limit", None])
@pytest.mark.parametrize("protocol", [CHAT, RESPONSES])
def test_a_code_that_a_rate_limit_has_stays(protocol: str, code: Any) -> None:
    body = openai("rate_limit_error", code, "m")
    for target in (CHAT, RESPONSES):
        done = ul.convert(body, source=protocol, target=target, kind="error", http={"status": 429})
        assert done.value["error"]["code"] == code


@pytest.mark.parametrize("source", [CHAT, RESPONSES])
@pytest.mark.parametrize(
    ("code", "word"), [("429", "rate_limit_error"), (429, "rate_limit_error"), ("401", "authentication_error")]
)
def test_a_status_as_a_code_in_a_stream(source: str, code: Any, word: str) -> None:
    error = {"code": code, "message": "m"}
    frame: dict[str, Any] = {"event": None, "data": {"error": error}}
    if source == RESPONSES:
        frame = {"event": "error", "data": {"type": "error", "sequence_number": 0, "param": None, **error}}
    written = list(ul.convert_stream([frame], source=source, target=MESSAGES))
    assert [each["data"]["error"]["type"] for each in written if each["event"] == "error"] == [word]


@pytest.mark.parametrize("target", [CHAT, RESPONSES, INTERACTIONS])
def test_clients_do_not_try_an_account_again_that_is_used_up(target: str) -> None:
    body = {"error": {"type": "billing_error", "message": "m"}}
    done = ul.convert(body, source=MESSAGES, target=target, kind="error", http={"status": 402})
    assert done.http == {"status": 429, "headers": {"x-should-retry": "false"}}


@pytest.mark.parametrize("target", ["anthropic-messages", "amazon-converse"])
@pytest.mark.parametrize("source", ["openai-chat", "openai-responses"])
def test_an_overflow_has_the_words_that_clients_compact_at(source: str, target: str) -> None:
    """Claude Code and the agents of Bedrock look for these words alone; "context length" is not among them."""
    message = "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens."
    error = {"message": message, "type": "invalid_request_error", "code": "context_length_exceeded"}
    done = ul.convert({"error": error}, source=source, target=target, kind="error", http={"status": 400})
    if target == "anthropic-messages":
        assert done.value["error"]["message"] == f"prompt is too long: {message}"
    else:
        assert done.value["message"] == f"Input is too long for requested model: {message}"
    assert any(loss.path == "/error/message" and loss.fate == "approximated" for loss in done.losses)


@pytest.mark.parametrize(
    ("source", "body"),
    [
        (RESPONSES, {"error": {"message": "Your input exceeds the context window of this model.",
                               "type": "invalid_request_error", "code": "context_length_exceeded"}}),
        ("amazon-converse", {"message": "Input is too long for requested model."}),
        (MESSAGES, {"type": "error", "error": {"type": "invalid_request_error",
                                               "message": "prompt is too long: 9 tokens > 8 maximum"}}),
    ],
)  # fmt: skip
def test_an_overflow_has_the_words_that_clients_of_chat_look_for(source: str, body: Any) -> None:
    """LiteLLM sees the text of an error of Chat and not its code."""
    said = body.get("error", body)["message"]
    http = {"status": 400, "headers": {"x-amzn-errortype": "ValidationException"}}
    done = ul.convert(body, source=source, target=CHAT, kind="error", http=http)
    assert done.value["error"]["message"] == f"This model's maximum context length is exceeded: {said}"
    assert done.value["error"]["code"] == "context_length_exceeded"
    assert any(loss.path.endswith("/message") and loss.fate == "approximated" for loss in done.losses)


@pytest.mark.parametrize(
    ("source", "body"),
    [
        ("google-generate-content", {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message":
                                     "The input token count (9) exceeds the maximum number of tokens allowed (8)."}}),
    ],
)  # fmt: skip
def test_words_that_clients_of_chat_know_stay(source: str, body: Any) -> None:
    done = ul.convert(body, source=source, target=CHAT, kind="error", http={"status": 400})
    assert done.value["error"]["message"] == body["error"]["message"]


def failed(code: str) -> dict[str, Any]:
    head = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "failed", "output": []}
    return {**head, "error": {"code": code, "message": "m"}}


def test_each_code_of_a_failed_response_has_a_class() -> None:
    from openai.types.responses import ResponseError

    classes: dict[str, list[str]] = {}
    for code in get_args(ResponseError.model_fields["code"].annotation):
        kind = ul.read(failed(code), RESPONSES, "response").model_dump()["error"]["type"]
        classes.setdefault(kind, []).append(code)
    assert classes.keys() == {"server_error", "rate_limit", "timeout", "content_filter", "invalid_request"}
    assert classes["server_error"] == ["server_error"]
    assert sorted(classes["content_filter"]) == [
        "bio_policy",
        "image_content_policy_violation",
        "misalignment_policy_violation",
    ]


@pytest.mark.parametrize("code", ["invalid_image_url", "bio_policy"])
def test_a_response_that_failed_for_good_is_a_bad_request_elsewhere(code: str) -> None:
    done = ul.convert(failed(code), source=RESPONSES, target=MESSAGES, kind="response")
    assert done.value["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    ("status", "word", "code", "kind"),
    [
        (429, "rate_limit_error", "contract_spend_limit_reached", "quota"),
        (429, "rate_limit_error", "enforced_spend_limit_reached", "quota"),
        (402, "billing_error", "linked_organization_spend_limit_reached", "quota"),
        (400, "invalid_request_error", "organization_on_hold", "permission"),
        (429, "rate_limit_error", "ramp_limit_exceeded", "rate_limit"),
        (400, "invalid_request_error", "image_dimensions_too_large", "invalid_request"),
    ],
)
def test_the_code_of_an_error_of_claude_is_more_than_its_word(status: int, word: str, code: str, kind: str) -> None:
    body = {"type": "error", "error": {"type": word, "message": "m", "details": {"error_code": code}}}
    assert class_of(body, MESSAGES, status) == kind
    done = ul.convert(body, source=MESSAGES, target=CHAT, kind="error", http={"status": status})
    assert (done.http.get("headers", {}).get("x-should-retry") == "false") == (kind == "quota")
