"""Swapping the provider is a test: the agent runs against every protocol."""

from __future__ import annotations

import agent
import pytest

from unified_llm.drift import FakeUpstream


def test_the_agent_works_everywhere(unified_llm_upstream: FakeUpstream) -> None:
    unified_llm_upstream.calls("get_weather", city="Oslo").returns("It rains in Oslo.")
    with unified_llm_upstream.http_client() as client:
        assert agent.ask("Weather in Oslo?", client) == "It rains in Oslo."
    assert len(unified_llm_upstream.requests) == 2
    assert unified_llm_upstream.survives("tools.function")
    assert unified_llm_upstream.survives("tools.result")


@pytest.mark.unified_llm_notyet("google-*", reason="no strict mode for functions")
def test_arguments_are_guaranteed_everywhere(unified_llm_upstream: FakeUpstream) -> None:
    with unified_llm_upstream.http_client() as client:
        agent.ask("Weather in Oslo?", client)
    assert unified_llm_upstream.survives("tools.strict")
