"""What another provider signed on a call travels before it, in streams as in documents: nothing parts parallel calls.

Mastra makes two messages of two calls where thinking stands between them, and the second was no call of a signed step.
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from folds import FOLDS
from test_law_mind import HISTORY

Node = dict[str, Any]
GENERATE, MESSAGES, INTERACTIONS = "google-generate-content", "anthropic-messages", "google-interactions"
SURFACES = pytest.mark.parametrize("surface", [MESSAGES, INTERACTIONS])
CALLS, THOUGHTS = ("tool_use", "function_call"), ("redacted_thinking", "thought")
ORIGIN = {"protocol": GENERATE}
SIGNED = [{"kind": "thought_signature", "data": "QUJD", "origin": ORIGIN}]


def chunks(pieces: bool) -> list[Node]:
    """Two parallel calls, whole or in pieces, of which the first is signed."""
    parts: list[Node] = []
    for each in ("c1", "c2"):
        call = {"id": each, "name": "f"}
        if pieces:
            args = [{"jsonPath": "$.n", "numberValue": 1}]
            parts += [{"functionCall": {**call, "willContinue": True}}, {"functionCall": {"partialArgs": args}}]
        else:
            parts.append({"functionCall": {**call, "args": {"n": 1}}})
    parts[0]["thoughtSignature"] = "QUJD"
    contents = [{"content": {"role": "model", "parts": [part]}, "index": 0} for part in parts]
    contents[-1]["finishReason"] = "STOP"
    return [{"event": None, "data": {"candidates": [each], "responseId": "r"}} for each in contents]


def kinds(answer: Node) -> list[str]:
    found = answer.get("steps") or answer["content"]
    return ["call" if each["type"] in CALLS else "carrier" for each in found if each["type"] in CALLS + THOUGHTS]


def sent_back(answer: Node, surface: str, secret: str | None) -> list[Any]:
    """The signatures of the calls, as they go back to their provider."""
    done = ul.convert(HISTORY[surface](answer), source=surface, target=GENERATE, secret=secret)
    parts = [part for content in done.value["contents"] for part in content["parts"]]
    return [part.get("thoughtSignature") for part in parts if "functionCall" in part]


@pytest.mark.parametrize("secret", ["a secret of this test, which is long", None])
@pytest.mark.parametrize("pieces", [False, True])
@SURFACES
def test_nothing_stands_between_parallel_calls(surface: str, pieces: bool, secret: str | None) -> None:
    events = list(ul.convert_stream(chunks(pieces), source=GENERATE, target=surface, secret=secret))
    answer = FOLDS[surface](events)
    assert kinds(answer) == ["carrier", "call", "call"]
    assert sent_back(answer, surface, secret) == ["QUJD", None]


@pytest.mark.parametrize("known", [True, False])
@SURFACES
def test_a_signature_that_comes_or_changes_with_the_end_of_a_call_is_not_lost(surface: str, known: bool) -> None:
    at: Node = {"output_index": 0}
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": ""}
    early = {"opaque": [{**SIGNED[0], "data": "REVG"}]} if known else {}
    whole = {**call, "arguments": "{}", "opaque": SIGNED}
    canonical = [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.added", **at, "item": {**call, **early}},
        {"type": "response.function_call_arguments.delta", **at, "delta": "{}"},
        {"type": "response.output_item.done", **at, "item": whole},
        {"type": "response.completed", "response": {"id": "r", "output": [whole]}},
    ]
    answer = FOLDS[surface](list(ul.write_stream(canonical, surface, secret="s")))
    assert kinds(answer) == ["carrier"] * known + ["call", "carrier"]
    assert sent_back(answer, surface, "s") == ["QUJD"]


@SURFACES
def test_a_call_without_a_name_until_it_is_done_has_its_carrier_before_it(surface: str) -> None:
    at: Node = {"output_index": 0}
    whole = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}", "opaque": SIGNED}
    canonical = [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.added", **at, "item": {**whole, "name": "", "arguments": ""}},
        {"type": "response.output_item.done", **at, "item": whole},
        {"type": "response.completed", "response": {"id": "r", "output": [whole]}},
    ]
    answer = FOLDS[surface](list(ul.write_stream(canonical, surface, secret="s")))
    assert kinds(answer) == ["carrier", "call"]
    assert sent_back(answer, surface, "s") == ["QUJD"]
