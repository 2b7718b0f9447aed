"""The wire: typed errors, retries, fallbacks, faults; sync and async go through the same steps, so both are tested.

No call may hang, nothing may be handed out twice, and every answer that was opened has to be closed.
"""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.asking import (
    BODY,
    PLAIN,
    STREAM,
    Call,
    anthropic,
    both,
    google,
    no_waiting,  # noqa: F401 (a fixture, of every test here)
    openai,
    refusal,
)
from unified_llm.client.sending.effects import Ask
from unified_llm.client.sending.retry import Retry
from upstreams import CHAT, CHAT_STREAM, MESSAGE, Canned, streamed

# ---- typed errors ---------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("protocol", "status", "body", "expected"),
    [
        ("openai-chat", 401, openai("invalid_request_error", "invalid_api_key"), ul.AuthenticationError),
        ("openai-chat", 429, openai("insufficient_quota", "insufficient_quota"), ul.QuotaExceededError),
        ("openai-chat", 400, openai("invalid_request_error", "context_length_exceeded"), ul.ContextOverflowError),
        ("openai-responses", 404, openai("invalid_request_error", "model_not_found"), ul.NotFoundError),
        ("anthropic-messages", 529, anthropic("overloaded_error", "m"), ul.OverloadedError),
        ("anthropic-messages", 403, anthropic("permission_error", "m"), ul.PermissionDeniedError),
        (
            "anthropic-messages",
            400,
            anthropic("invalid_request_error", "prompt is too long: 9 > 8"),
            ul.ContextOverflowError,
        ),
        ("google-generate-content", 429, google(429, "RESOURCE_EXHAUSTED"), ul.RateLimitError),
        ("google-generate-content", 400, google(400, "INVALID_ARGUMENT"), ul.InvalidRequestError),
        ("openai-chat", 500, {"detail": "boom"}, ul.ServerError),
    ],
)
def test_the_same_trouble_is_the_same_class(
    ask_for: Call, protocol: str, status: int, body: Any, expected: type[ul.APIError]
) -> None:
    canned = Canned(refusal(status, body), protocol=protocol)
    with pytest.raises(expected) as caught:
        ask_for(PLAIN, canned, retry=Retry.never())
    assert type(caught.value) is expected
    assert caught.value.status == status and caught.value.body == body
    assert caught.value.provider == "canned" and caught.value.protocol == protocol


@both
def test_a_page_instead_of_an_error(ask_for: Call) -> None:
    page = "<html><body>502 Bad Gateway</body></html>"
    canned = Canned(lambda: httpx2.Response(502, text=page, headers={"content-type": "text/html"}))
    with pytest.raises(ul.APIError) as caught:
        ask_for(PLAIN, canned, retry=Retry.never())
    assert caught.value.status == 502 and "<html" not in str(caught.value)


# ---- retries --------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("ask", [PLAIN, STREAM], ids=["plain", "stream"])
def test_500_twice_then_success(ask_for: Call, ask: Ask, waits: list[float]) -> None:
    good = (lambda: streamed(*CHAT_STREAM)) if ask.stream else CHAT
    broken = refusal(500, {"error": {"message": "m"}})
    canned = Canned(broken, broken, good)
    found = ask_for(ask, canned)
    assert found == b"".join(CHAT_STREAM) if ask.stream else found.value == CHAT
    assert len(canned.seen) == 3 and waits == [0.5, 1.0]
    assert canned.sent[0] == canned.sent[2]


@both
@pytest.mark.parametrize(
    ("headers", "body", "protocol", "expected"),
    [
        ({"retry_after": "7"}, {"error": {"message": "m"}}, "openai-chat", 7),
        ({"retry_after_ms": "1500"}, {"error": {"message": "m"}}, "openai-chat", 1.5),
        ({}, {"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED",
                        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3s"}]}},
         "google-generate-content", 3),
    ],
)  # fmt: skip
def test_429_is_waited_out_as_the_provider_says(
    ask_for: Call, headers: Any, body: Any, protocol: str, expected: float, waits: list[float]
) -> None:
    good = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}, "finishReason": "STOP"}]}
    canned = Canned(refusal(429, body, **headers), good if protocol.startswith("google") else CHAT, protocol=protocol)
    ask_for(PLAIN, canned)
    assert waits == [expected] and len(canned.seen) == 2


@both
def test_trap_034_a_permanent_error_is_not_tried_again(ask_for: Call, waits: list[float]) -> None:
    canned = Canned(refusal(400, {"error": {"message": "no", "type": "invalid_request_error"}}), CHAT)
    with pytest.raises(ul.InvalidRequestError):
        ask_for(PLAIN, canned)
    assert len(canned.seen) == 1 and waits == []


@both
def test_a_quota_of_the_day_is_not_tried_again_after_the_delay_of_the_minute(ask_for: Call, waits: list[float]) -> None:
    details = [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure",
         "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3s"},
    ]  # fmt: skip
    body = {"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED", "details": details}}
    canned = Canned(refusal(429, body), protocol="google-generate-content")
    with pytest.raises(ul.QuotaExceededError) as caught:
        ask_for(PLAIN, canned)
    assert caught.value.retry_after == 3
    assert len(canned.seen) == 1 and waits == []


@both
def test_a_server_that_says_not_to_is_not_asked_again(ask_for: Call) -> None:
    canned = Canned(refusal(500, {"error": {"message": "m"}}, x_should_retry="false"), CHAT)
    with pytest.raises(ul.ServerError):
        ask_for(PLAIN, canned)
    assert len(canned.seen) == 1


# ---- faults ---------------------------------------------------------------------------------------------------------


@both
def test_a_refused_connection(ask_for: Call) -> None:
    canned = Canned(httpx2.ConnectError("connection refused"))
    with pytest.raises(ul.APIConnectionError, match="connection refused") as caught:
        ask_for(PLAIN, canned)
    assert len(canned.seen) == 3 and caught.value.status is None
    assert caught.value.__cause__ is None and caught.value.__context__ is None, "the cause holds the request's key"


@both
def test_a_stall_is_a_timeout(ask_for: Call) -> None:
    with pytest.raises(ul.APITimeoutError, match="timed out reading the response"):
        ask_for(PLAIN, Canned(httpx2.ReadTimeout("stalled")))


@both
@pytest.mark.parametrize(
    ("fault", "expected"),
    [(httpx2.ReadError("reset"), ul.StreamInterruptedError), (httpx2.ReadTimeout("stalled"), ul.APITimeoutError)],
)
def test_trap_173_what_breaks_off_after_output_is_not_tried_again(
    ask_for: Call, fault: Exception, expected: type[ul.APIError]
) -> None:
    canned = Canned(lambda: streamed(CHAT_STREAM[0], fault), lambda: streamed(*CHAT_STREAM))
    spare = Canned(lambda: streamed(*CHAT_STREAM))
    with pytest.raises(expected) as caught:
        ask_for(STREAM, canned, spare)
    assert len(canned.seen) == 1 and not spare.seen
    assert all(body.closed for body in canned.bodies)
    assert caught.value.__context__ is None


@both
@pytest.mark.parametrize("start", [(), (b": keepalive\n\n",), (b'data: {"id":',)], ids=["nothing", "comment", "half"])
def test_what_breaks_off_before_any_output_is_tried_again(ask_for: Call, start: tuple[bytes, ...]) -> None:
    canned = Canned(lambda: streamed(*start, httpx2.ReadError("reset")), lambda: streamed(*CHAT_STREAM))
    assert ask_for(STREAM, canned) == b"".join(CHAT_STREAM)
    assert len(canned.seen) == 2 and all(body.closed for body in canned.bodies)


@both
def test_an_error_as_the_first_event_is_an_error_of_the_call(ask_for: Call) -> None:
    event = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    broken = b"event: error\ndata: " + json.dumps(event).encode() + b"\n\n"
    canned = Canned(lambda: streamed(broken), protocol="anthropic-messages")
    with pytest.raises(ul.OverloadedError):
        ask_for(STREAM, canned)
    assert len(canned.seen) == 3 and all(body.closed for body in canned.bodies)


@both
@pytest.mark.parametrize("ask", [PLAIN, STREAM], ids=["plain", "stream"])
@pytest.mark.parametrize("kind", ["application/json", "text/html"])
def test_an_answer_that_is_none(ask_for: Call, ask: Ask, kind: str) -> None:
    canned = Canned(lambda: httpx2.Response(200, content=b"<html>hello", headers={"content-type": kind}))
    with pytest.raises(ul.ServerError, match=f"not JSON .{kind}") as caught:
        ask_for(ask, canned)
    assert len(canned.seen) == 1, "it was answered, and perhaps paid"
    assert caught.value.body == "<html>hello"


@both
def test_an_empty_stream(ask_for: Call) -> None:
    canned = Canned(lambda: streamed(b": nothing\n\n"))
    with pytest.raises(ul.ServerError, match="without an event"):
        ask_for(STREAM, canned)
    assert canned.bodies[0].closed


@both
def test_an_error_that_came_as_a_success(ask_for: Call) -> None:
    canned = Canned({"error": {"message": "upstream is busy", "code": 503}})
    with pytest.raises(ul.OverloadedError, match="upstream is busy"):
        ask_for(PLAIN, canned)


@both
def test_a_stream_where_none_was_asked_for(ask_for: Call) -> None:
    answer = ask_for(PLAIN, Canned(lambda: streamed(*CHAT_STREAM)))
    assert answer.value["choices"][0]["message"]["content"] == "Hello"


@both
def test_no_stream_where_one_was_asked_for(ask_for: Call) -> None:
    told = ask_for(STREAM, Canned(CHAT))
    assert told.endswith(b"data: [DONE]\n\n")
    assert b'"content":"Hello"' in told


# ---- fallbacks ------------------------------------------------------------------------------------------------------


@both
def test_the_next_one_is_asked_and_the_reason_is_kept(ask_for: Call) -> None:
    first = Canned(refusal(529, {"error": {"message": "busy"}}), model="one")
    second = Canned(MESSAGE, protocol="anthropic-messages", model="two")
    answer = ask_for(PLAIN, first, second)
    assert answer.upstream is second.upstream and answer.value == MESSAGE
    (hop,) = answer.hops
    assert (hop.upstream, hop.attempts) == ("canned/one", 3)
    assert "busy" in hop.reason and isinstance(hop.error, ul.OverloadedError)
    assert second.sent[0]["messages"] and "max_tokens" in second.sent[0], "converted anew for its own protocol"


@both
def test_the_last_error_tells_of_the_others(ask_for: Call) -> None:
    first = Canned(httpx2.ConnectError("down"), model="one")
    second = Canned(refusal(401, {"error": {"message": "who?"}}), model="two")
    with pytest.raises(ul.AuthenticationError) as caught:
        ask_for(PLAIN, first, second, retry=Retry.never())
    assert [hop.upstream for hop in caught.value.hops] == ["canned/one"]


@both
def test_a_capability_that_must_not_be_lost_moves_on(ask_for: Call) -> None:
    ask = Ask(body={**BODY, "seed": 7}, source="openai-chat", on_loss={"sampling.seed": "raise"})
    first = Canned(MESSAGE, protocol="anthropic-messages")
    second = Canned(CHAT)
    answer = ask_for(ask, first, second)
    assert not first.seen and second.sent[0]["seed"] == 7
    assert answer.hops[0].attempts == 0 and "CapabilityLost" in answer.hops[0].reason
