"""What an SDK accumulates of a converted stream is the content of the converted final answer: text, reasoning and
calls.

The final answer of a source is that of its own SDK's accumulator (`folds`), converted in one piece. Both are compared
by their content, because ids, envelopes and the division into parts follow from the form of an answer.
"""

from __future__ import annotations

import functools
import json
import re
from typing import Any

import openai
import pytest

import unified_llm as ul
from corpus import corpus_folder, show
from folds import FOLDS
from sdk_streams import is_no_judge
from test_law_validity import TARGETS, valid_records
from unified_llm import suite

pytestmark = pytest.mark.long

REPEATED = "its last event has other arguments than its deltas, edited after it was recorded"
EXCEPTIONS: dict[tuple[str, str], str] = {
    **{
        (each, target): REPEATED
        for each in ("btj-ea96e551c6", "btj-ab7cc8ddbc", "btj-3ff5906dc3", "btj-fcac4a5b57")
        for target in ("anthropic-messages", "google-interactions", "openai-chat")
    },
    **{
        ("openai-responses/stream/function_call_output_item", target): "a call is shown before its result is known"
        for target in ("anthropic-messages", "openai-chat")
    },
    **{
        (
            "anthropic-messages/stream/tool_use_cut",
            target,
        ): "arguments that are cut off are {} to the SDK"
        for target in ("google-generate-content", "google-interactions", "openai-chat", "openai-responses")
    },
}


def succeeds(events: list[dict[str, Any]], protocol: str) -> bool:
    try:
        answer = ul.collect(ul.read_stream(events, protocol))
    except ul.UnifiedLLMError:
        return False
    return answer.get("status") not in ("failed", "cancelled") and not answer.get("error")


def is_told_in_chunks(record: dict[str, Any]) -> bool:
    """Whether arguments come in pieces that the SDK of Google leaves to its user."""
    return record["protocol"] == "google-generate-content" and "partialArgs" in json.dumps(record["events"])


def content(answer: Any, protocol: str) -> dict[str, Any]:
    """The content of an answer, without blanks: where texts are joined, a blank line may stand between them."""
    told: dict[str, Any] = {"text": "", "reasoning": "", "calls": []}
    for item in suite.canonical(answer, protocol, "response").get("output") or ():
        if item["type"] == "message":
            parts = item.get("content") or ""
            told["text"] += parts if isinstance(parts, str) else "".join(map(text, parts))
        elif item["type"] == "reasoning":
            told["reasoning"] += "".join(text(part) for key in ("summary", "content") for part in item.get(key) or ())
        elif item["type"] in ("function_call", "custom_tool_call"):
            told["calls"].append((item["name"], arguments(item.get("arguments", item.get("input")))))
    return {key: re.sub(r"\s", "", value) if isinstance(value, str) else value for key, value in told.items()}


def text(part: dict[str, Any]) -> str:
    return part.get("text") or part.get("refusal") or ""


def arguments(value: Any) -> Any:
    try:
        return json.loads(value)
    except (TypeError, ValueError):
        return value


@functools.cache
def finals() -> list[tuple[dict[str, Any], Any]]:
    """The valid streams that succeed, with what the accumulator of their own SDK makes of each."""
    out = []
    for record in valid_records():
        if record["kind"] != "stream" or is_told_in_chunks(record):
            continue
        source, events = record["protocol"], record["events"]
        if not succeeds(events, source) or (source == "openai-chat" and is_no_judge(events)):
            continue
        try:
            out.append((record, FOLDS[source](events)))
        except (openai.OpenAIError, RuntimeError, AttributeError):
            continue  # the SDK cannot accumulate its own protocol's stream: another server's, with changing ids
    return out


@pytest.mark.parametrize("target", TARGETS)
def test_an_sdk_accumulates_what_the_final_answer_says(target: str) -> None:
    failures, examined, needed = [], 0, set()
    for record, whole in finals():
        source = record["protocol"]
        if source == target:
            continue
        done = suite.outcome(record, target)
        examined += 1
        try:
            got = content(FOLDS[target](done.value), target)
            wanted = content(ul.convert(whole, source=source, target=target, kind="response").value, target)
        except Exception as error:
            found = [suite.Failure(record["id"], "", repr(error))]
        else:
            found = [
                suite.Failure(record["id"], f"/{key}", f"{wanted[key]!r:.150} came out as {got[key]!r:.150}")
                for key in wanted
                if wanted[key] != got[key]
            ]
        if found and (record["id"], target) in EXCEPTIONS:
            needed.add((record["id"], target))
        else:
            failures += found
    assert examined > 60
    assert not failures, show(failures, "final answers", examined)
    if corpus_folder() is not None:
        assert needed == {key for key in EXCEPTIONS if key[1] == target}, "no longer needed"
