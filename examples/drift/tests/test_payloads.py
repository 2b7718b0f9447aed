"""What becomes of this project's own requests, and of the capabilities it relies on."""

from __future__ import annotations

from collections.abc import Callable

import agent
import pytest

from unified_llm.drift import Report

ConversionReport = Callable[..., Report]

QUESTION = [{"role": "user", "content": "Weather in Oslo?"}]


@pytest.mark.unified_llm_survives("tools.*call_id", "tools.result", source="openai-chat", target="anthropic-messages")
def test_results_are_answered_by_id() -> None:
    pass


@pytest.mark.unified_llm_survives("sampling.seed", source="openai-chat", target="anthropic-messages")
@pytest.mark.unified_llm_never("anthropic-messages", reason="no way to repeat sampling")
def test_answers_can_be_repeated() -> None:
    pass


def test_a_request_with_an_image(conversion_report: ConversionReport) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    body = agent.request([{"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}])
    report = conversion_report(body, source="openai-chat", target="google-generate-content")
    assert report.survives("image.input", "sampling.temperature")
    assert not report.survives("tools.strict")


@pytest.mark.parametrize("target", ["openai-responses", "anthropic-messages", "google-generate-content"])
def test_the_agent_request_keeps_its_functions(conversion_report: ConversionReport, target: str) -> None:
    report = conversion_report(agent.request(QUESTION), source="openai-chat", target=target)
    assert report.survives("tools.function")
