"""A loop of tools whose answers are signed survives every client surface: each signature on its own part.

The output of a provider of generateContent goes to a client of another protocol and comes back with that client's next
request, answer by answer and as a whole conversation. A part is recognized by its content, so a signature that moved to
its neighbor is found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import unified_llm as ul
from corpus import records, show
from test_law_mind import HISTORY
from unified_llm import suite
from unified_llm.provenance.opaque import is_sealed

GC = "google-generate-content"
SURFACES = [protocol for protocol in HISTORY if protocol != GC]
Node = dict[str, Any]
# Documented values that stand for a signature: no provider made them, and they go to no other surface.
NOBODYS = (
    "skip_thought_signature_validator",
    "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
    "context_engineering_is_the_way_to_go",
    "Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv",
)


def signed(contents: Any) -> list[tuple[str, str]]:
    """The content of every signed part, and its signature, in order."""
    found = []
    for content in contents or ():
        for part in (content.get("parts") if isinstance(content, dict) else None) or ():
            if not isinstance(part, dict):
                continue
            signature = part.get("thoughtSignature", part.get("thought_signature"))
            if signature and signature not in NOBODYS:
                found.append((kernel(part), signature))
    return found


def kernel(part: Node) -> str:
    """The content of a part, without what another surface may spell differently."""
    for key in ("functionCall", "function_call"):
        if key in part:
            call = part[key]
            return json.dumps([call.get("name"), call.get("args") or {}], sort_keys=True)
    if "text" in part:
        return str(part["text"])
    kept = {key: value for key, value in part.items() if key not in ("thoughtSignature", "thought_signature")}
    return json.dumps(kept, sort_keys=True)


def compared(record: str, wanted: Any, contents: Any) -> Iterator[suite.Failure]:
    came = signed(contents)
    if came != wanted:
        lost = [f"{says[:60]}" for says, mark in wanted if (says, mark) not in came]
        yield suite.Failure(record, "", f"{len(wanted)} signed, {len(came)} came home; not: {lost}")
    if any(is_sealed(mark) for _, mark in came):
        yield suite.Failure(record, "", "an envelope reached the provider")


@pytest.mark.parametrize("surface", SURFACES)
def test_whole_conversations(surface: str) -> None:
    failures, examined = [], 0
    for record in records(GC, "request"):
        wanted = signed(record["body"].get("contents"))
        if not wanted or "unknown" in record["id"]:  # an unknown node has no form elsewhere
            continue
        there = ul.convert(record["body"], source=GC, target=surface, facing="client", secret="s").value
        back = ul.convert(there, source=surface, target=GC, repair="never", secret="s").value
        failures += compared(record["id"], wanted, back.get("contents"))
        examined += 1
    assert examined >= 5
    assert not failures, show(failures, "tool loops", examined)


def answered(record: Node) -> list[Node]:
    return [candidate.get("content") or {} for candidate in (record["body"].get("candidates") or ())[:1]]


@pytest.mark.parametrize("surface", SURFACES)
def test_answers(surface: str) -> None:
    failures, examined = [], 0
    for record in records(GC, "response"):
        wanted = signed(answered(record))
        if not wanted:
            continue
        told = ul.convert(record["body"], source=GC, target=surface, kind="response", secret="s").value
        asked = HISTORY[surface](told)
        back = ul.convert(asked, source=surface, target=GC, repair="never", secret="s").value
        failures += compared(record["id"], wanted, back.get("contents"))
        examined += 1
    assert examined >= 3
    assert not failures, show(failures, "tool loops", examined)


# ---- one loop, step by step -----------------------------------------------------------------------------------------


def call(name: str, number: int, mark: str = "") -> Node:
    part: Node = {"functionCall": {"name": name, "args": {"n": number}, "id": f"id{number}"}}
    return {**part, "thoughtSignature": mark} if mark else part


def result(name: str, number: int) -> Node:
    return {"functionResponse": {"name": name, "id": f"id{number}", "response": {"output": f"r{number}"}}}


LOOP = [
    # A thought, a signed text, parallel calls of which the first is signed, steps one after the other, a signed tail.
    (
        {"text": "Plan my day."},
        [{"text": "Hm.", "thought": True}, {"text": "Let me look.", "thoughtSignature": "QUE="}],
    ),
    ({"text": "Do."}, [call("weather", 1, "Qi9C"), call("calendar", 2), call("weather", 3)]),
    ([result("weather", 1), result("calendar", 2), result("weather", 3)], [call("mail", 4, "Qys+")]),
    ([result("mail", 4)], [{"text": "Sending"}, call("mail", 5, "RA==")]),
    ([result("mail", 5)], [{"text": "All done."}, {"text": "", "thoughtSignature": "RUVF"}]),
    ({"text": "Thanks!"}, [{"text": "Bye.", "thoughtSignature": "_-Zm"}]),
]
MARKS = ["QUE=", "Qi9C", "Qys+", "RA==", "RUVF", "_-Zm"]


@pytest.mark.parametrize("surface", SURFACES)
def test_a_loop_grows_turn_by_turn(surface: str) -> None:
    """The client keeps its own history, adds every answer to it, and the provider finds all its output in its place."""
    key = {"openai-chat": "messages", "anthropic-messages": "messages", "amazon-converse": "messages"}.get(
        surface, "input"
    )
    history: list[Any] = []
    body: Node = {"model": "m", **({"max_tokens": 9} if surface == "anthropic-messages" else {})}
    original: list[Node] = []
    for number, (asked, answer) in enumerate(LOOP):
        parts = asked if isinstance(asked, list) else [asked]
        original.append({"role": "user", "parts": parts})
        # What the user says in the client's own terms, by the client's own names for the calls.
        said = ul.convert({"contents": original}, source=GC, target=surface, facing="client").value[key]
        history = history + said[len(before(original[:-1], surface, key)) :]
        sent = ul.convert({**body, key: history}, source=surface, target=GC, secret="s").value["contents"]
        assert spoken(sent) == spoken(original), f"turn {number}"
        original.append({"role": "model", "parts": answer})
        wire = {
            "candidates": [{"content": original[-1], "index": 0, "finishReason": "STOP"}],
            "responseId": f"r{number}",
        }
        told = ul.convert(wire, source=GC, target=surface, kind="response", secret="s").value
        history = history + HISTORY[surface](told)[key][1:]
    came = ul.convert({**body, key: history}, source=surface, target=GC, secret="s").value["contents"]
    assert [mark for _, mark in signed(came)] == MARKS
    assert signed(came) == signed(original)


def before(contents: list[Node], surface: str, key: str) -> list[Any]:
    """The client's form of the conversation before its last turn."""
    if not contents:
        return []
    return list(ul.convert({"contents": contents}, source=GC, target=surface, facing="client").value[key])


def spoken(contents: list[Node]) -> list[Node]:
    """Without thoughts that were shown, which need not be sent back."""
    return [{**each, "parts": [part for part in each["parts"] if not part.get("thought")]} for each in contents]


@pytest.mark.parametrize("target", SURFACES)
def test_results_of_the_role_tool_under_ids_that_no_call_has_answer_the_calls_of_their_name(target: str) -> None:
    """The SDK's own documentation has the role; clients make up ids for results of calls that came without one."""
    body = next(each["body"] for each in suite.records(GC, "request") if each["id"].endswith("/role_tool"))
    done = ul.convert(body, source=GC, target=target, model="m")
    items = ul.read(done.value, target).model_dump()["input"]
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    answered = {item["call_id"]: item["output"] for item in items if item["type"] == "function_call_output"}
    assert [answered[each] for each in calls] == ["rain", "sun", "snow"]
    assert ul.convert(body, source=GC, target=GC).value == body
