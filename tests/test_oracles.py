"""Somebody else's judgement on what we write: the official SDK's types, and its own stream accumulators."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import openai
import pytest

import unified_llm as ul
from corpus import cases, pairs, records, show
from sdk_streams import final_chat, final_response, forgets_order, is_no_judge, settled
from sdk_types import TYPES, examine_document
from unified_llm import suite

FINAL: dict[str, Callable[[list[dict[str, Any]]], dict[str, Any]]] = {
    "openai-chat": final_chat,
    "openai-responses": final_response,
}
PAIRS = [
    (source, target, kind) for source, target, kind in pairs() if (source, kind) in TYPES and (target, kind) in TYPES
]


WIDER: dict[str, list[str]] = {
    "vendors' fields of Chat, for what it lacks": [
        "*/message/reasoning_content: not declared*",
        "*/message/reasoning_details: not declared*",
        "*/delta/reasoning_content: not declared*",
        "*/delta/reasoning_details: not declared*",
        "*/native_finish_reason: not declared*",
    ],
    "sent by the API and not typed by the SDK": [
        "*/delta/annotations: not declared*",
        "*/delta/tool_calls/*/custom: not declared*",
        "*/delta/tool_calls/*/type: 'custom' is none*",
    ],
    "a message of history without an id, which the API takes; a made one might be looked up": [
        "/input/*/id: missing",
        "/input/*/status: missing",
        "/input/*/content/*/type: 'refusal' is none*",
        "/input/*/content/*/refusal: not declared by responses.response_input_file_param*",
    ],
    "an open set in practice": ["*/error/code: * is none of the declared values"],
}
"""What we write beyond the SDK's types, and why."""


def document(record: dict[str, Any]) -> Any:
    return record["events"] if record["kind"] == "stream" else record["body"]


def without_errors(value: Any, kind: str) -> Any:
    """Without errors in the place of an answer or of an event: the SDK raises them before it looks at types."""
    if kind == "stream":
        return [event for event in value if not (isinstance(event["data"], dict) and "error" in event["data"])]
    return None if kind == "response" and "error" in value and len(value) == 1 else value


@pytest.mark.parametrize(("source", "target", "kind"), PAIRS)
def test_what_was_valid_is_written_valid(source: str, target: str, kind: str) -> None:
    failures, examined = [], 0
    for record in records(source, kind):
        if examine_document(source, kind, document(record)).problems:
            continue
        done = suite.outcome(record, target)
        examined += 1
        if done.error is not None:
            failures.append(suite.Failure(record["id"], "", repr(done.error)))
            continue
        written = without_errors(done.value, kind)
        for problem in examine_document(target, kind, written).problems if written is not None else ():
            place, _, text = problem.partition(": ")
            if not any(fnmatchcase(problem, pattern) for patterns in WIDER.values() for pattern in patterns):
                failures.append(suite.Failure(record["id"], place, text))
    assert examined > 10
    assert not failures, show(failures, "the SDK's types", examined)


@pytest.mark.parametrize(
    ("source", "target"), [(s, t) for s, _ in cases("stream") for t in FINAL if (s, "stream") in TYPES]
)
def test_the_sdk_accumulates_our_streams_to_the_same_answer(source: str, target: str) -> None:
    failures, examined = [], 0
    for record in records(source, "stream"):
        done = suite.outcome(record, target)
        if done.error is not None:
            continue
        try:
            wanted = ul.collect(ul.read_stream(done.value, target))
        except ul.UnifiedLLMError:
            continue  # a stream that failed: the SDK raises as well
        if source == target and (
            examine_document(source, "stream", record["events"]).problems or is_no_judge(record["events"])
        ):
            continue  # handed on as it came, so what the SDK makes of it is not our doing
        if target == "openai-chat" and forgets_order(done.value):
            continue
        if target == "openai-responses" and wanted.get("status") != "completed":
            continue  # the helper knows no other end
        examined += 1
        try:
            got = FINAL[target](done.value)
        except (openai.OpenAIError, RuntimeError, AssertionError, IndexError, TypeError) as error:
            failures.append(suite.Failure(record["id"], "", f"the SDK's helper raised {error!r}"))
            continue
        told = suite.canonical(got, target, "response")
        failures += suite.compare(record["id"], settled(wanted), settled(told))
    assert examined > 10
    assert not failures, show(failures, "the SDK's accumulator", examined)
