"""Nothing is lost without a report: an altered or deleted leaf changes the value or is in the report."""

from __future__ import annotations

import pytest

from corpus import cases, fixtures, pairs, recorded, records, show
from covering import in_turn, taking_turns
from unified_llm import suite

pytestmark = pytest.mark.long


@pytest.mark.parametrize(("source", "target", "kind"), pairs("request", "response", "error"))
def test_sensitivity(source: str, target: str, kind: str) -> None:
    failures, seen = [], set[tuple[str, ...]]()
    for record in in_turn(fixtures(source, kind), source, target):
        # What stands beside a leaf decides what becomes of it: no fixture stands for another.
        failures += suite.sensitivity([record], target, set(), ("altered",))
    failures += suite.sensitivity(fixtures(source, kind), target, seen, ("deleted",))
    failures += suite.sensitivity(recorded(source, kind), target, seen)
    assert len(seen) >= 4
    assert not failures, show(failures, "sensitivity", len(seen))


SAID_AGAIN: dict[str, tuple[str, ...]] = {
    "openai-chat": ("*index",),
    # Done events repeat the deltas; of a token's log probability only they have its bytes, which are the token's.
    "openai-responses": (
        "*index", "item_id", "text", "input", "item<*/content/*/text", "item<reasoning>/summary/*/text",
        "response/output/*/text",
        "response/output/*<custom_tool_call>/input", "*/logprobs/*/bytes/*", "*/logprobs/*/top_logprobs/*",
        # So of arguments and refusals: their deltas were sent on by then.
        "arguments", "refusal", "item<message>/content/*<refusal>/refusal",
        "response/output/*<message>/content/*<refusal>/refusal", "response/output/*<function_call>/arguments",
    ),
    # The count of output in a message_delta is cumulative.
    "anthropic-messages": ("*index", "message<message>/usage/output_tokens"),
    # The one word of its enum, which means null.
    "google-generate-content": ("*/nullValue",),
    "google-interactions": ("*index", "interaction_id"),
    # The index of a block, and padding.
    "amazon-converse": ("*Index", "p"),
}  # fmt: skip
"""By protocol, the places of a stream that number what other frames say, or only repeat it."""


def others(source: str) -> list[str]:
    protocols = [protocol for protocol, _ in cases("stream")]
    return taking_turns([target for target in protocols if target != source], protocols.index(source))


@pytest.mark.parametrize(("source", "_kind"), cases("stream"))
def test_sensitivity_of_frames(source: str, _kind: str) -> None:
    seen, targets = set[tuple[str, ...]](), others(source)
    failures = suite.frame_sensitivity(records(source, "stream"), targets, seen, SAID_AGAIN[source])
    assert len(seen) >= 50 * len(targets)
    assert not failures, show(failures, "sensitivity", len(seen))


@pytest.mark.parametrize(("source", "_kind"), cases("response"))
def test_sensitivity_of_streams(source: str, _kind: str) -> None:
    seen, targets = set[tuple[str, ...]](), others(source)
    failures = suite.stream_sensitivity(records(source, "response"), targets, seen)
    assert len(seen) >= 50 * len(targets)
    assert not failures, show(failures, "sensitivity", len(seen))
