"""The official SDK as a judge of the streams we write: its own accumulators make the same answer of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import openai
import pytest

import unified_llm as ul
from corpus import cases, records, show
from sdk_streams import final_chat, final_response, forgets_order, is_no_judge, settled
from sdk_types import TYPES, examine_document
from unified_llm import suite

FINAL: dict[str, Callable[[list[dict[str, Any]]], dict[str, Any]]] = {
    "openai-chat": final_chat,
    "openai-responses": final_response,
}


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
            continue  # the helper supports no other end
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
