"""Counts of servers that contradict each other: a part that is more than its sum."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from unified_llm import suite

GOOGLE = {
    "google-generate-content": ("usageMetadata", "candidatesTokenCount", "thoughtsTokenCount"),
    "google-interactions": ("usage", "total_output_tokens", "total_thought_tokens"),
}
# DeepInfra, as OpenRouter passes its counts on.
USAGE = {
    "prompt_tokens": 3569,
    "completion_tokens": 433,
    "total_tokens": 4002,
    "completion_tokens_details": {"reasoning_tokens": 466},
}


@pytest.mark.parametrize("target", GOOGLE)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_more_thoughts_than_output_leave_none_of_it(target: str, streamed: bool) -> None:
    head = {"id": "c", "created": 1, "model": "m"}
    usage, output, thoughts = GOOGLE[target]
    if streamed:
        choice = {"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}
        chunk = {**head, "object": "chat.completion.chunk", "choices": [choice], "usage": USAGE}
        events: list[dict[str, Any]] = [{"event": None, "data": chunk}, {"event": None, "data": "[DONE]"}]
        stream = ul.convert_stream(events, source="openai-chat", target=target)
        datas = [event["data"] for event in stream]
        found = next(
            each[usage]
            for data in reversed(datas)
            if isinstance(data, dict)
            for each in (data, data.get("interaction") or {})
            if usage in each
        )
        losses = stream.losses
    else:
        choice = {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
        body = {**head, "object": "chat.completion", "choices": [choice], "usage": USAGE}
        done = ul.convert(body, source="openai-chat", target=target, kind="response")
        found, losses = done.value[usage], done.losses
    assert (found[output], found[thoughts]) == (0, 433), "the output is the sum of both"
    told = [loss for loss in losses if loss.path.endswith("/completion_tokens_details/reasoning_tokens")]
    assert [(loss.fate, loss.detail) for loss in told] == [("approximated", "sent as 433: the parts exceed their sum")]


def test_what_google_itself_counts_is_left_alone() -> None:
    counts = {"promptTokenCount": 1, "candidatesTokenCount": -33, "thoughtsTokenCount": 466, "totalTokenCount": 434}
    body = {"candidates": [], "usageMetadata": counts}
    done = ul.convert(body, source="google-generate-content", target="google-generate-content", kind="response")
    assert done.value == body and not done.losses
    assert suite.canonical(body, "google-generate-content", "response")["usage"]["output_tokens"] == 433
