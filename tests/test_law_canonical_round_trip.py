"""Canonical documents go through every protocol and come back, minus what the report declared."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

import strategies_documents
import unified_llm
from corpus import show
from unified_llm import suite

PROTOCOLS = sorted(unified_llm.protocols())


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(document=strategies_documents.requests())
def test_requests(protocol: str, document: dict[str, Any]) -> None:
    failures = suite.canonical_round_trip(protocol, "request", document)
    assert not failures, show(failures, "canonical round trip", 1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(document=strategies_documents.responses())
def test_responses(protocol: str, document: dict[str, Any]) -> None:
    failures = suite.canonical_round_trip(protocol, "response", document)
    assert not failures, show(failures, "canonical round trip", 1)


def test_a_default_may_be_gone_from_a_key_that_the_target_requires() -> None:
    """The tier `auto` is the default, and a response of Messages has the key, as null."""
    answer = {"type": "message", "role": "assistant", "content": "Hi"}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    document = {"status": "completed", "output": [answer], "usage": usage, "service_tier": "auto"}
    assert unified_llm.write(document, "anthropic-messages", "response").value["usage"]["service_tier"] is None
    assert suite.canonical_round_trip("anthropic-messages", "response", document) == []
