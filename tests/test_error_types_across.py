"""The class of an error is never changed without a report."""

from __future__ import annotations

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
