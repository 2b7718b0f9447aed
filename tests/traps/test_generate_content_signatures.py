"""Traps of thought signatures and thinking settings at generateContent; expected values are those of the trap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import unified_llm as ul

GC = "google-generate-content"
Node = dict[str, Any]


def contents(*parts: Node) -> Node:
    return {"contents": [{"role": "user", "parts": [{"text": "Go"}]}, {"role": "model", "parts": list(parts)}]}


def through(body: Node, surface: str) -> list[Node]:
    """The parts of the model's content after a client of another surface carried it."""
    shown = ul.convert(body, source=GC, target=surface, facing="client").value
    value = ul.convert(shown, source=surface, target=GC).value
    return [part for content in value["contents"] if content["role"] == "model" for part in content["parts"]]


@pytest.mark.parametrize("surface", ["openai-chat", "openai-responses"])
def test_trap_001_signature_of_a_replayed_call(surface: str) -> None:
    part = {"functionCall": {"id": "c1", "name": "ls", "args": {}}, "thoughtSignature": "U0lH"}
    answer = {"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "a"}}}
    body = contents(part)
    body["contents"].append({"role": "user", "parts": [answer]})
    assert through(body, surface) == [part]


@pytest.mark.parametrize("surface", ["openai-chat", "openai-responses"])
def test_trap_002_only_the_first_of_parallel_calls_is_signed(surface: str) -> None:
    signed = {"functionCall": {"id": "1", "name": "a", "args": {}}, "thoughtSignature": "Uw=="}
    other = {"functionCall": {"id": "2", "name": "b", "args": {}}}
    body = contents(signed, other)
    for part in (signed, other):
        call = part["functionCall"]
        answer = {"functionResponse": {"id": call["id"], "name": call["name"], "response": {"output": "r"}}}
        body["contents"].append({"role": "user", "parts": [answer]})
    assert through(body, surface) == [signed, other]


def test_trap_003_signature_on_a_trailing_empty_text() -> None:
    first = {"candidates": [{"content": {"parts": [{"text": "42"}], "role": "model"}, "index": 0}]}
    tail = {"text": "", "thoughtSignature": "Uzk="}
    last = {"candidates": [{"content": {"parts": [tail], "role": "model"}, "finishReason": "STOP", "index": 0}]}
    response = ul.collect(ul.read_stream([{"event": None, "data": first}, {"event": None, "data": last}], GC))
    assert [item["type"] for item in response["output"]] == ["message"]
    text, empty = response["output"][0]["content"]
    assert (text["text"], empty["text"], empty["opaque"][0]["data"]) == ("42", "", "Uzk=")


def test_trap_003_where_empty_texts_are_refused_the_signature_is_parked_and_not_lost() -> None:
    parts = [{"text": "42"}, {"text": "", "thoughtSignature": "Uzk="}]
    answer = {"candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": "STOP", "index": 0}]}
    whole = ul.convert(answer, source=GC, target="anthropic-messages", kind="response", secret="s")
    events = [{"event": None, "data": answer}]
    stream = ul.convert_stream(events, source=GC, target="anthropic-messages", secret="s")
    assert "redacted_thinking" in str(list(stream))
    for losses, path in ((whole.losses, ""), (stream.losses, "/0/data")):
        told = {loss.path: loss.fate for loss in losses if loss.side == "source"}
        assert told == {f"{path}/candidates/0/content/parts/1": "parked"}
    history = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "?"},
               {"role": "assistant", "content": whole.value["content"]}, {"role": "user", "content": "!"}]}  # fmt: skip
    back = ul.convert(history, source="anthropic-messages", target=GC, secret="s").value["contents"][1]["parts"]
    assert back == parts


def test_trap_004_signature_stays_on_its_part() -> None:
    body = contents({"text": "hm", "thought": True}, {"text": "42", "thoughtSignature": "UzI="}, {"text": "more"})
    assert ul.convert(body, source=GC, target=GC).value == body
    reasoning, message = ul.read(body, GC).input[1:]
    assert reasoning.opaque is None and reasoning.summary[0].opaque is None
    assert [bool(part.opaque) for part in message.content] == [True, False]


@pytest.mark.parametrize("key", ["thoughtSignature", "thought_signature"])
def test_trap_005_both_spellings_are_read_and_one_is_written(key: str) -> None:
    body = contents({"functionCall": {"name": "f", "args": {}}, key: "Uw=="})
    assert ul.read(body, GC).input[1].opaque[0].data == "Uw=="
    assert ul.convert(body, source=GC, target=GC).value == body
    assert through(body, "openai-chat")[0]["thoughtSignature"] == "Uw=="


def test_trap_009_a_client_without_a_slot_is_told() -> None:
    body = contents({"functionCall": {"id": "c", "name": "f", "args": {}}, "thoughtSignature": "U0lH"})
    done = ul.convert(body, source=GC, target="openai-chat", facing="provider")
    found = [(loss.path, loss.fate) for loss in done.losses if loss.capability == "reasoning.signature"]
    assert found == [("/contents/1/parts/0/thoughtSignature", "lost")]


@pytest.mark.parametrize("signature", ["/wA=", "_wA=", "_wA"])
def test_trap_013_signatures_are_strings(signature: str) -> None:
    body = contents({"text": "x", "thoughtSignature": signature})
    assert ul.read(body, GC).input[1].content[0].opaque[0].data == signature
    assert ul.convert(body, source=GC, target=GC).value == body


def test_trap_014_thoughts_are_asked_for() -> None:
    request = {"model": "m", "input": "Hi", "reasoning": {"control": "enabled", "budget_tokens": 2048}}
    config = ul.write(request, GC).value["generationConfig"]["thinkingConfig"]
    assert config == {"thinkingBudget": 2048, "includeThoughts": True}
    summary = {"model": "m", "input": "Hi", "reasoning": {"summary": "auto", "effort": "low"}}
    assert ul.convert(summary, source="openai-responses", target=GC).value["generationConfig"] == {
        "thinkingConfig": {"thinkingLevel": "LOW", "includeThoughts": True}
    }


@pytest.mark.parametrize(
    ("model", "effort", "config", "fates"),
    [
        ("gemini-3-pro", "low", {"thinkingLevel": "LOW"}, []),
        ("gemini-2.5-flash", "low", {"thinkingBudget": 1024}, ["approximated"]),
        ("gemini-2.5-pro", "none", {"thinkingBudget": 128}, ["approximated"]),
        ("gemini-2.5-flash-lite", "none", {"thinkingBudget": 0}, ["approximated"]),
        ("gemini-3-flash", "none", {"thinkingLevel": "MINIMAL"}, ["approximated"]),
    ],
)
def test_trap_015_a_level_or_a_budget_never_both(model: str, effort: str, config: Node, fates: list[str]) -> None:
    body = {"model": model, "input": "Hi", "reasoning": {"effort": effort}}
    done = ul.convert(body, source="openai-responses", target=GC)
    assert done.value["generationConfig"]["thinkingConfig"] == config
    assert [loss.fate for loss in done.losses if loss.path == "/reasoning/effort"] == fates


def test_trap_015_budgets_are_kept_in_range() -> None:
    body = {"model": "m", "input": "Hi", "reasoning": {"budget_tokens": 50}}
    chat = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "reasoning_effort": "high"}
    both = {"input": "Hi", "model": "gemini-3-pro", "reasoning": {"effort": "high", "budget_tokens": 9}}
    assert ul.write(body, GC).value["generationConfig"]["thinkingConfig"]["thinkingBudget"] == 50
    value = ul.convert(chat, source="openai-chat", target=GC, model="gemini-2.5-pro").value
    assert value["generationConfig"]["thinkingConfig"] == {"thinkingBudget": 24576}
    assert len(ul.convert(both, source="openai-responses", target=GC).value["generationConfig"]["thinkingConfig"]) == 1


@pytest.mark.parametrize("surface", ["openai-chat", "openai-responses", "anthropic-messages", "google-interactions"])
def test_trap_008_no_signature_hides_in_the_id_of_a_call(surface: str) -> None:
    mark = "U2ln" * 225  # 900 characters
    for call_id in ({"id": "lx8q24je"}, {}):
        part = {"functionCall": {"name": "f", "args": {}, **call_id}, "thoughtSignature": mark}
        body = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}
        told = ul.convert(body, source=GC, target=surface, kind="response").value
        found = list(ids(told))
        assert found and all(len(each) <= 64 and mark[:8] not in each for each in found)
        assert not call_id or call_id["id"] in found


def ids(value: Any) -> Iterator[str]:
    """Every id and reference to one."""
    if isinstance(value, list):
        for inner in value:
            yield from ids(inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key == "id" or key.endswith("_id"):
                yield from [inner] if isinstance(inner, str) else []
            else:
                yield from ids(inner)
