"""An error stays an error, of the same class: five protocols, by hand-made tables.

The tables are written from the providers' error pages: the word of a wire, its meaning, and the word of each of the
others; a class without a word of its own on a wire has the nearest there is.
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from corpus import records, show
from error_bodies import RETRY, google_body, interaction_body, messages_body, openai_body

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
INTERACTIONS, GENERATE = "google-interactions", "google-generate-content"
PROTOCOLS = (CHAT, RESPONSES, MESSAGES, INTERACTIONS, GENERATE)
Node = dict[str, Any]

# Class -> protocol -> (HTTP status, type word, code).
TABLE: dict[str, dict[str, tuple[int, str | None, Any]]] = {
    "invalid_request": {
        CHAT: (400, "invalid_request_error", None),
        MESSAGES: (400, "invalid_request_error", None),
        INTERACTIONS: (400, None, "invalid_request"),
        GENERATE: (400, "INVALID_ARGUMENT", 400),
    },
    "authentication": {
        CHAT: (401, "authentication_error", None),
        MESSAGES: (401, "authentication_error", None),
        INTERACTIONS: (401, None, "authentication"),
        GENERATE: (401, "UNAUTHENTICATED", 401),
    },
    "permission": {
        CHAT: (403, "permission_error", None),
        MESSAGES: (403, "permission_error", None),
        INTERACTIONS: (403, None, "permission_denied"),
        GENERATE: (403, "PERMISSION_DENIED", 403),
    },
    "not_found": {
        CHAT: (404, "not_found_error", None),
        MESSAGES: (404, "not_found_error", None),
        INTERACTIONS: (404, None, "not_found"),
        GENERATE: (404, "NOT_FOUND", 404),
    },
    "conflict": {
        CHAT: (409, "conflict_error", None),
        MESSAGES: (409, "conflict_error", None),
        INTERACTIONS: (409, None, "aborted"),
        GENERATE: (409, "ABORTED", 409),
    },
    "too_large": {
        CHAT: (413, "invalid_request_error", None),
        MESSAGES: (413, "request_too_large", None),
        INTERACTIONS: (413, None, "invalid_request"),
        GENERATE: (413, "INVALID_ARGUMENT", 413),
    },
    "rate_limit": {
        CHAT: (429, "rate_limit_error", None),
        MESSAGES: (429, "rate_limit_error", None),
        INTERACTIONS: (429, None, "rate_limit_exceeded"),
        GENERATE: (429, "RESOURCE_EXHAUSTED", 429),
    },
    "quota": {
        CHAT: (429, "insufficient_quota", None),
        MESSAGES: (402, "billing_error", None),
        INTERACTIONS: (429, None, "quota_exceeded"),
        GENERATE: (429, "RESOURCE_EXHAUSTED", 429),
    },
    "overloaded": {
        CHAT: (503, "overloaded_error", None),
        MESSAGES: (529, "overloaded_error", None),
        INTERACTIONS: (503, None, "service_unavailable"),
        GENERATE: (503, "UNAVAILABLE", 503),
    },
    "server_error": {
        CHAT: (500, "server_error", None),
        MESSAGES: (500, "api_error", None),
        INTERACTIONS: (500, None, "api_error"),
        GENERATE: (500, "INTERNAL", 500),
    },
    "timeout": {
        CHAT: (408, "timeout_error", None),
        MESSAGES: (504, "timeout_error", None),
        INTERACTIONS: (504, None, "deadline_exceeded"),
        GENERATE: (504, "DEADLINE_EXCEEDED", 504),
    },
    "context_overflow": {
        CHAT: (400, "invalid_request_error", "context_length_exceeded"),
        MESSAGES: (400, "invalid_request_error", None),
        INTERACTIONS: (400, None, "invalid_request"),
        GENERATE: (400, "INVALID_ARGUMENT", 400),
    },
    "content_filter": {
        CHAT: (400, "invalid_request_error", "content_filter"),
        MESSAGES: (400, "invalid_request_error", None),
        INTERACTIONS: (400, None, "content_blocked"),
        GENERATE: (400, "INVALID_ARGUMENT", 400),
    },
}
for _row in TABLE.values():
    _row[RESPONSES] = _row[CHAT]

# The words of the wires, and their meaning: (protocol, HTTP status, body, class).
TOO_LONG = "The input token count exceeds the maximum number of tokens allowed"


SAID: list[tuple[str, int, Any, str]] = [
    (CHAT, 400, openai_body("invalid_request_error"), "invalid_request"),
    (CHAT, 400, openai_body("invalid_request_error", "context_length_exceeded"), "context_overflow"),
    (CHAT, 400, openai_body("invalid_request_error", "content_filter"), "content_filter"),
    (CHAT, 401, openai_body("invalid_request_error", "invalid_api_key"), "authentication"),
    (CHAT, 403, openai_body("invalid_request_error"), "permission"),
    (CHAT, 404, openai_body("invalid_request_error", "model_not_found"), "not_found"),
    (CHAT, 409, openai_body("conflict_error"), "conflict"),
    (CHAT, 413, openai_body("invalid_request_error"), "too_large"),
    (CHAT, 429, openai_body("tokens", "rate_limit_exceeded"), "rate_limit"),
    (CHAT, 429, openai_body("insufficient_quota", "insufficient_quota"), "quota"),
    (CHAT, 500, openai_body("server_error"), "server_error"),
    (CHAT, 503, openai_body("server_error"), "overloaded"),
    (CHAT, 503, "<html>busy</html>", "overloaded"),
    (CHAT, 408, openai_body("timeout_error"), "timeout"),
    (CHAT, 200, {"error": {"message": "m", "code": 429, "metadata": {}}}, "rate_limit"),
    (RESPONSES, 400, openai_body("invalid_request"), "invalid_request"),
    (RESPONSES, 429, openai_body("too_many_requests"), "rate_limit"),
    (RESPONSES, 500, openai_body("model_error"), "server_error"),
    (RESPONSES, 503, openai_body("server_error", "server_is_overloaded"), "overloaded"),
    (MESSAGES, 400, messages_body("invalid_request_error"), "invalid_request"),
    (MESSAGES, 400, messages_body("invalid_request_error", "prompt is too long: 9 > 8"), "context_overflow"),
    (MESSAGES, 401, messages_body("authentication_error"), "authentication"),
    (MESSAGES, 402, messages_body("billing_error"), "quota"),
    (MESSAGES, 403, messages_body("permission_error"), "permission"),
    (MESSAGES, 404, messages_body("not_found_error"), "not_found"),
    (MESSAGES, 409, messages_body("conflict_error"), "conflict"),
    (MESSAGES, 413, messages_body("request_too_large"), "too_large"),
    (MESSAGES, 429, messages_body("rate_limit_error"), "rate_limit"),
    (MESSAGES, 500, messages_body("api_error"), "server_error"),
    (MESSAGES, 504, messages_body("timeout_error"), "timeout"),
    (MESSAGES, 529, messages_body("overloaded_error"), "overloaded"),
    (INTERACTIONS, 400, interaction_body("parameter_unknown"), "invalid_request"),
    (INTERACTIONS, 400, interaction_body("invalid_request", TOO_LONG), "context_overflow"),
    (INTERACTIONS, 400, interaction_body("missing_thought_signature"), "invalid_request"),
    (INTERACTIONS, 400, interaction_body("prohibited_content"), "content_filter"),
    (INTERACTIONS, 401, interaction_body("authentication"), "authentication"),
    (INTERACTIONS, 402, interaction_body("payment_required"), "quota"),
    (INTERACTIONS, 403, interaction_body("permission_denied"), "permission"),
    (INTERACTIONS, 404, interaction_body("model_not_found"), "not_found"),
    (INTERACTIONS, 409, interaction_body("already_exists"), "conflict"),
    (INTERACTIONS, 429, interaction_body("too_many_requests"), "rate_limit"),
    (INTERACTIONS, 429, interaction_body("quota_exceeded"), "quota"),
    (INTERACTIONS, 500, interaction_body("api_error"), "server_error"),
    (INTERACTIONS, 503, interaction_body("service_unavailable"), "overloaded"),
    (INTERACTIONS, 504, interaction_body("gateway_timeout"), "timeout"),
    (INTERACTIONS, 429, google_body(429, "RESOURCE_EXHAUSTED"), "rate_limit"),
    (GENERATE, 400, google_body(400, "INVALID_ARGUMENT"), "invalid_request"),
    (GENERATE, 400, google_body(400, "FAILED_PRECONDITION"), "invalid_request"),
    (GENERATE, 400, google_body(400, "INVALID_ARGUMENT", TOO_LONG), "context_overflow"),
    (GENERATE, 401, google_body(401, "UNAUTHENTICATED"), "authentication"),
    (GENERATE, 402, {"error": {"code": 402, "message": "m"}}, "quota"),
    (GENERATE, 403, google_body(403, "PERMISSION_DENIED"), "permission"),
    (GENERATE, 404, google_body(404, "NOT_FOUND"), "not_found"),
    (GENERATE, 409, google_body(409, "ABORTED"), "conflict"),
    (GENERATE, 429, google_body(429, "RESOURCE_EXHAUSTED"), "rate_limit"),
    (GENERATE, 429, [google_body(429, "RESOURCE_EXHAUSTED")], "rate_limit"),
    (GENERATE, 500, google_body(500, "INTERNAL"), "server_error"),
    (GENERATE, 503, google_body(503, "UNAVAILABLE"), "overloaded"),
    (GENERATE, 504, google_body(504, "DEADLINE_EXCEEDED"), "timeout"),
]


def told(protocol: str, body: Any) -> tuple[str | None, Any]:
    """The type word and the code of an error body."""
    error = body["error"]
    if protocol == GENERATE:
        return error["status"], error["code"]
    if protocol == INTERACTIONS:
        return None, error["code"]
    if protocol == MESSAGES:
        assert body["type"] == "error"
        return error["type"], None
    assert type(error["message"]) is str and "param" in error
    return error["type"], error["code"]


def class_of(body: Any, protocol: str, http: Any) -> str:
    """What an error body is read as."""
    found: str = ul.read(body, protocol, "error", http=http).model_dump()["error"]["type"]
    return found


# Words and codes that a target has too, and that are more specific than the one in its row.
FINER = {
    (RESPONSES, CHAT): {word: word for word in ("tokens", "server_error", "invalid_request_error")},
    (CHAT, RESPONSES): {word: word for word in ("tokens", "server_error", "invalid_request_error")},
    (CHAT, INTERACTIONS): {"model_not_found": "model_not_found"},
}
SISTERS = {(INTERACTIONS, "already_exists"): "ALREADY_EXISTS", (GENERATE, "FAILED_PRECONDITION"): "failed_precondition"}


@pytest.mark.parametrize("target", PROTOCOLS)
@pytest.mark.parametrize(("source", "status", "body", "kind"), SAID)
def test_trap_170_an_error_is_of_the_same_class_everywhere(
    source: str, status: int, body: Any, kind: str, target: str
) -> None:
    if source == target:
        assert class_of(body, source, {"status": status}) == kind
        return
    done = ul.convert(body, source=source, target=target, kind="error", http={"status": status})
    sent, word, code = TABLE[kind][target]
    # A timeout keeps its status: a 408 is the client's, a 504 the server's, and clients retry by the status.
    if kind == "timeout":
        sent, code = status, status if target == GENERATE else code
    if {source, target} == {GENERATE, INTERACTIONS} and type(body) is dict and type(body["error"]) is dict:
        said = SISTERS.get((source, body["error"].get("status" if source == GENERATE else "code")))
        word, code = (said or word, code) if target == GENERATE else (word, said or code)
    assert done.http["status"] == sent
    finer = FINER.get((source, target), {})
    given = body["error"] if finer and type(body) is dict else {}
    found = told(target, done.value)
    assert found[0] == finer.get(given.get("type"), word)
    if code is not None:
        assert found[1] == finer.get(given.get("code"), code)
    assert done.http["status"] >= 400


@pytest.mark.parametrize("target", PROTOCOLS)
@pytest.mark.parametrize("source", PROTOCOLS)
def test_a_class_survives_the_way_there_and_back(source: str, target: str) -> None:
    for kind, row in TABLE.items():
        status = row[source][0]
        message = TOO_LONG + ", prompt is too long" if kind == "context_overflow" else "m"
        error: Node = {"type": kind, "message": message, "status": status}
        there = ul.write({"error": error}, target, "error")
        back = class_of(there.value, target, there.http)
        unsaid = {
            (GENERATE, "quota"): "rate_limit",
            (GENERATE, "too_large"): "invalid_request",
            (GENERATE, "content_filter"): "invalid_request",
            (MESSAGES, "content_filter"): "invalid_request",
            (INTERACTIONS, "too_large"): "invalid_request",
        }
        assert back == unsaid.get((target, kind), kind), kind


@pytest.mark.parametrize("target", PROTOCOLS)
@pytest.mark.parametrize("source", PROTOCOLS)
def test_an_error_is_never_a_success(source: str, target: str) -> None:
    failures, examined = [], 0
    for record in records(source, "error"):
        status = record["status"]
        http = {"status": status} if status else {}
        done = ul.convert(record["body"], source=source, target=target, kind="error", http=http)
        examined += 1
        if not done.http.get("status", 0) >= 400:
            failures.append(f"{record['id']}: HTTP {done.http.get('status')}")
        elif source != target and "error" not in done.value:
            failures.append(f"{record['id']}: {done.value!r}")
    assert examined or source == INTERACTIONS
    assert not failures, show(failures, "an error is never a success", examined)


@pytest.mark.parametrize("target", PROTOCOLS)
def test_a_failed_response_is_an_error(target: str) -> None:
    body = {
        "id": "r", "object": "response", "created_at": 1, "model": "m", "status": "failed", "output": [],
        "error": {"code": "rate_limit_exceeded", "message": "slow down"},
    }  # fmt: skip
    done = ul.convert(body, source=RESPONSES, target=target, kind="response")
    if target == RESPONSES:
        assert done.value["status"] == "failed"
    elif target == INTERACTIONS:
        assert done.value["status"] == "failed" and done.value["errors"][0]["code"] == "rate_limit_exceeded"
    else:
        assert done.http["status"] == 429
        assert told(target, done.value)[0] == TABLE["rate_limit"][target][1]


# ---- in streams -----------------------------------------------------------------------------------------------------

_CHUNK: Node = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
BROKEN: dict[str, list[Node]] = {
    CHAT: [{"event": None, "data": {"error": {"message": "x", "type": "server_error", "code": 502}, "choices": []}}],
    RESPONSES: [{"event": "error", "data": {"type": "error", "sequence_number": 0, "error": {"message": "x"}}}],
    MESSAGES: [{"event": "error", "data": messages_body("overloaded_error", "x")}],
    INTERACTIONS: [{"event": "error", "data": {"event_type": "error", "error": {"code": "api_error", "message": "x"}}}],
    GENERATE: [{"event": None, "data": google_body(503, "UNAVAILABLE", "x")}],
}


def _is_error(protocol: str, events: list[Node]) -> bool:
    datas = [event["data"] for event in events if type(event["data"]) is dict]
    if protocol in (MESSAGES, RESPONSES):
        return any(data.get("type") == "error" for data in datas)
    return any("error" in data for data in datas)


def _is_success(protocol: str, events: list[Node]) -> bool:
    datas = [event["data"] for event in events if type(event["data"]) is dict]
    return {
        CHAT: any(choice.get("finish_reason") for data in datas for choice in data.get("choices") or ()),
        RESPONSES: any(data.get("type") == "response.completed" for data in datas),
        MESSAGES: any(data.get("type") in ("message_delta", "message_stop") for data in datas),
        INTERACTIONS: any((data.get("interaction") or {}).get("status") == "completed" for data in datas),
        GENERATE: any(each.get("finishReason") for data in datas for each in data.get("candidates") or ()),
    }[protocol]


@pytest.mark.parametrize("target", PROTOCOLS)
@pytest.mark.parametrize("source", PROTOCOLS)
def test_trap_168_an_error_in_a_stream_is_an_error_in_every_stream(source: str, target: str) -> None:
    written = list(ul.convert_stream(BROKEN[source], source=source, target=target))
    assert _is_error(target, written) and not _is_success(target, written)


@pytest.mark.parametrize("target", [CHAT, RESPONSES, MESSAGES, INTERACTIONS])
def test_a_delay_that_a_stream_cannot_say_is_told(target: str) -> None:
    frames = [{"event": None, "data": google_body(429, "RESOURCE_EXHAUSTED", "x", RETRY)}]
    stream = ul.convert_stream(frames, source=GENERATE, target=target)
    assert _is_error(target, list(stream))
    assert [loss.path for loss in stream.losses if loss.fate == "lost"] == ["/0/data/error/details/0/retryDelay"]
