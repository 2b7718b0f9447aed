"""When to come back, and how much is left: in headers and bodies, by each protocol in its own way.

The tables are written from the providers' error pages.
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from error_bodies import RETRY, google_body, messages_body, openai_body
from unified_llm.engine.shared.error_headers import RateHeaders, read_hints, write_hints

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
INTERACTIONS, GENERATE = "google-interactions", "google-generate-content"
PROTOCOLS = (CHAT, RESPONSES, MESSAGES, INTERACTIONS, GENERATE)
Node = dict[str, Any]


# ---- when to come back ----------------------------------------------------------------------------------------------

DATE = "Sat, 21 Nov 2026 10:00:00 GMT"


@pytest.mark.parametrize("target", PROTOCOLS)
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"retry-after": "7", "retry-after-ms": "1500"}, 1.5),
        ({"Retry-After": "Sat, 21 Nov 2026 10:01:30 GMT", "Date": DATE}, 90),
        ({"Retry-After": "Sat, 21 Nov 2026 09:00:00 GMT", "Date": DATE}, 0),
    ],
)
def test_trap_171_when_to_come_back_is_told_everywhere(target: str, headers: Node, seconds: float) -> None:
    for source, body in ((MESSAGES, messages_body("overloaded_error")), (CHAT, openai_body("server_error"))):
        if source == target:
            continue
        done = ul.convert(body, source=source, target=target, kind="error", http={"status": 503, "headers": headers})
        assert done.http["headers"]["retry-after"] == {7: "7", 1.5: "2", 90: "90", 0: "0"}[seconds]
        assert done.http["headers"].get("retry-after-ms") == ("1500" if seconds == 1.5 else None)
        if target == GENERATE:
            (detail,) = done.value["error"]["details"]
            assert detail == {**RETRY, "retryDelay": f"{seconds}s"}


def test_trap_171_overload_of_one_is_overload_of_the_others() -> None:
    http = {"status": 529, "headers": {"Retry-After": "7"}}
    for target in (CHAT, RESPONSES, INTERACTIONS, GENERATE):
        done = ul.convert(messages_body("overloaded_error"), source=MESSAGES, target=target, kind="error", http=http)
        assert done.http["status"] == 503 and done.http["headers"]["retry-after"] == "7"
    same = ul.convert(messages_body("overloaded_error"), source=MESSAGES, target=MESSAGES, kind="error", http=http)
    assert same.http == {"status": 529, "headers": {"retry-after": "7"}}


@pytest.mark.parametrize("target", [CHAT, RESPONSES, MESSAGES, INTERACTIONS])
@pytest.mark.parametrize("source", [GENERATE, INTERACTIONS])
def test_a_delay_in_the_body_becomes_a_header(source: str, target: str) -> None:
    body = google_body(429, "RESOURCE_EXHAUSTED", "m", RETRY)
    done = ul.convert(body, source=source, target=target, kind="error", http={"status": 429})
    if source == target:
        assert done.value == body
    assert done.http["headers"]["retry-after"] == "35" and done.http["headers"]["retry-after-ms"] == "34400"
    assert not [loss for loss in done.losses if "details" in loss.path]


@pytest.mark.parametrize("protocol", [GENERATE, INTERACTIONS])
@pytest.mark.parametrize(
    ("delay", "after"),
    [
        ("18.500s", {"retry-after": "19", "retry-after-ms": "18500"}),
        ("0.000000010s", {"retry-after": "1", "retry-after-ms": "0"}),
        ("53.150361113s", {"retry-after": "54", "retry-after-ms": "53150"}),
        ("60.000s", {"retry-after": "60"}),
        ("nans", None),
        ("infs", None),
        ("-5s", None),
        ("1e3s", None),
        ("18.5", None),
    ],
)
def test_a_delay_has_as_many_digits_as_its_provider_writes(delay: str, after: Node | None, protocol: str) -> None:
    body = google_body(429, "RESOURCE_EXHAUSTED", "m", {**RETRY, "retryDelay": delay})
    same = ul.convert(body, source=protocol, target=protocol, kind="error", http={"status": 429})
    assert same.value == body
    done = ul.convert(body, source=protocol, target=CHAT, kind="error", http={"status": 429})
    assert done.http.get("headers") == after


def test_another_delay_is_written_with_the_digits_it_needs() -> None:
    found = ul.read(google_body(429, "RESOURCE_EXHAUSTED", "m", {**RETRY, "retryDelay": "18.500s"}), GENERATE, "error")
    for seconds, delay in ((7.25, "7.250s"), (7.123456, "7.123456s"), (7, "7.000s")):
        found.error["retry_after"] = seconds
        (detail,) = ul.write(found, GENERATE, "error").value["error"]["details"]
        assert detail["retryDelay"] == delay


def test_a_date_without_the_time_it_was_sent_stays_a_date() -> None:
    until = "Sat, 21 Nov 2026 10:01:30 GMT"
    http = {"status": 503, "headers": {"Retry-After": until}}
    done = ul.convert(openai_body("server_error"), source=CHAT, target=MESSAGES, kind="error", http=http)
    assert done.http["headers"] == {"retry-after": until}


@pytest.mark.parametrize("target", PROTOCOLS)
@pytest.mark.parametrize("advice", ["true", "false"])
def test_the_advice_to_retry_is_handed_on(target: str, advice: str) -> None:
    source = MESSAGES if target != MESSAGES else CHAT
    body = messages_body("rate_limit_error") if source == MESSAGES else openai_body("tokens")
    http = {"status": 429, "headers": {"X-Should-Retry": advice}}
    done = ul.convert(body, source=source, target=target, kind="error", http=http)
    assert done.http["headers"]["x-should-retry"] == advice


def test_rate_limits_are_named_as_each_surface_names_them() -> None:
    openai = {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1m30s",
        "x-ratelimit-remaining-tokens": "149984",
    }
    anthropic = {
        "anthropic-ratelimit-requests-limit": "60",
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": "2026-11-21T10:01:30Z",
        "anthropic-ratelimit-tokens-remaining": "149984",
    }
    there = ul.convert(
        openai_body("tokens"), source=CHAT, target=MESSAGES, kind="error",
        http={"status": 429, "headers": {**openai, "date": DATE}},
    )  # fmt: skip
    assert there.http["headers"] == anthropic
    back = ul.convert(
        messages_body("rate_limit_error"), source=MESSAGES, target=CHAT, kind="error",
        http={"status": 429, "headers": {**anthropic, "date": DATE}},
    )  # fmt: skip
    assert back.http["headers"] == openai


@pytest.mark.parametrize(
    "headers",
    [
        {"retry-after": "soon"},
        {"retry-after": "-1"},
        {"retry-after": "nan"},
        {"retry-after": "inf"},
        {"x-should-retry": "maybe"},
        {"x-ratelimit-limit-tokens": "many", "x-ratelimit-reset-tokens": "later"},
        {},
        None,
        ["retry-after"],
    ],
)
def test_a_header_that_says_nothing_is_not_taken_for_something(headers: Any) -> None:
    assert read_hints(headers) == {}


@pytest.mark.parametrize(("text", "seconds"), [("6m0s", 360), ("20ms", 0.02), ("1h", 3600), ("1.5s", 1.5), ("12", 12)])
def test_spans_are_seconds(text: str, seconds: float) -> None:
    error = read_hints({"x-ratelimit-reset-tokens": text})
    assert error == {"rate_limits": {"tokens": {"reset_after": seconds}}}


def test_hints_are_written_only_where_they_are_known() -> None:
    assert write_hints({"type": "overloaded", "message": "m"}) == {}
    rates = RateHeaders("r-{kind}-{field}", ("input-tokens",), absolute=True)
    assert write_hints({"rate_limits": {"input_tokens": {"limit": 5, "reset_after": 3}}}, rates) == {
        "r-input-tokens-limit": "5"
    }


@pytest.mark.parametrize("key", ["retry_after", "retry_at", "reset_after"])
@pytest.mark.parametrize("seconds", [-1e15, 1e15, 10**400])
def test_a_delay_that_no_date_can_name_is_in_no_header(key: str, seconds: float) -> None:
    error = {"rate_limits": {"tokens": {key: seconds}}} if key == "reset_after" else {key: seconds}
    done = ul.write({"error": {"message": "Slow down.", **error}}, "openai-chat", "error")
    assert not done.http.get("headers")


@pytest.mark.parametrize("reset", ["99999999999999", "1e308"])
def test_an_error_with_a_senseless_reset_is_read(reset: str) -> None:
    headers = {"x-ratelimit-reset-tokens": reset, "date": "Fri, 27 Nov 2026 22:00:00 GMT"}
    http = {"status": 429, "headers": headers}
    done = ul.convert(
        {"error": {"message": "m"}}, source="openai-chat", target="anthropic-messages", kind="error", http=http
    )
    assert done.value["error"]["type"] == "rate_limit_error"
