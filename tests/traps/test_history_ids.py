"""Traps of the identity of calls in a history, over every target; expected values are those of the trap."""

from __future__ import annotations

import re
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.passes.repair import Rules

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
GC, STEPS = "google-generate-content", "google-interactions"
Node = dict[str, Any]


def user(text: str = "q") -> Node:
    return {"role": "user", "content": text}


def calls(*ids: str, name: str = "f", arguments: str = "{}") -> Node:
    made = [{"id": i, "type": "function", "function": {"name": name, "arguments": arguments}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(call_id: str, content: str = "r") -> Node:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def chat(target: str, *messages: Node, **options: Any) -> ul.Converted:
    return ul.convert({"model": "m", "messages": list(messages)}, source=CHAT, target=target, **options)


def responses(target: str, *items: Node, **options: Any) -> ul.Converted:
    return ul.convert({"model": "m", "input": list(items)}, source=RESPONSES, target=target, **options)


def blocks(done: ul.Converted, kind: str) -> list[Node]:
    content = [m["content"] for m in done.value["messages"] if type(m["content"]) is list]
    return [block for each in content for block in each if block["type"] == kind]


def details(done: ul.Converted) -> dict[str, str]:
    return {loss.path: loss.fate for loss in done.losses if loss.side == "source"}


def test_trap_047_ids_of_other_servers_get_a_legal_charset_on_both_sides() -> None:
    done = chat(MESSAGES, user(), calls("functions.f:0"), result("functions.f:0"))
    (call,), (answer,) = blocks(done, "tool_use"), blocks(done, "tool_result")
    assert re.fullmatch("[a-zA-Z0-9_-]+", call["id"]) and answer["tool_use_id"] == call["id"]
    assert done.exchange is not None and done.exchange.ids == {call["id"]: "functions.f:0"}
    assert details(done)["/messages/1/tool_calls/0/id"] == "approximated"
    assert details(done)["/messages/2/tool_call_id"] == "approximated"


def test_trap_048_ids_that_look_alike_stay_apart_and_the_same_from_turn_to_turn() -> None:
    opening = [user(), calls("f.x:0", "f_x_0"), result("f.x:0", "1"), result("f_x_0", "2")]
    done = chat(MESSAGES, *opening)
    ids = [call["id"] for call in blocks(done, "tool_use")]
    assert ids[1] == "f_x_0" and len(set(ids)) == 2
    answers = {answer["tool_use_id"]: answer["content"] for answer in blocks(done, "tool_result")}
    assert answers == {ids[0]: "1", "f_x_0": "2"}
    longer = chat(MESSAGES, *opening, {"role": "assistant", "content": "a"}, user("next"))
    assert longer.value["messages"][:3] == done.value["messages"]


def test_trap_049_long_ids_of_one_beginning_fit_and_stay_apart() -> None:
    one, other, fitting = "c" * 70 + "1" * 13, "c" * 70 + "2" * 13, "d" * 64
    done = chat(RESPONSES, user(), calls(one, other, fitting), result(one), result(other), result(fitting))
    items = done.value["input"]
    ids = [item["call_id"] for item in items if item["type"] == "function_call"]
    assert len(set(ids)) == 3 and max(map(len, ids)) <= 64 and ids[2] == fitting
    assert [item["call_id"] for item in items if item["type"] == "function_call_output"] == ids


def test_trap_050_a_vendors_own_long_id_is_fitted_when_it_goes_back_to_it() -> None:
    items = [
        {"type": "message", "role": "user", "content": "q"},
        {"type": "function_call", "call_id": "x" * 69, "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "x" * 69, "output": "r"},
    ]
    done = responses(RESPONSES, *items, repair="always")
    ids = {item["call_id"] for item in done.value["input"][1:]}
    assert len(ids) == 1 and len(ids.pop()) <= 64
    assert responses(RESPONSES, *items).value["input"] == items


def test_trap_051_nine_letters_and_digits_where_a_server_wants_them() -> None:
    asked = {"model": "m", "input": [{"type": "message", "role": "user", "content": "q"}]}
    for call_id in ("call_49c89af0", "call_49c89af1"):
        asked["input"] += [
            {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": call_id, "output": "r"},
        ]
    done = ul.convert(asked, source=RESPONSES, target="openai-chat:mistral")
    ids = [call["id"] for m in done.value["messages"] for call in m.get("tool_calls") or ()]
    assert len(set(ids)) == 2 and all(re.fullmatch("[a-zA-Z0-9]{9}", call_id) for call_id in ids)
    assert [m["tool_call_id"] for m in done.value["messages"] if m["role"] == "tool"] == ids


def test_trap_052_two_calls_of_one_tool_without_ids_have_two_ids() -> None:
    parts = [{"functionCall": {"name": "w", "args": {"c": number}}} for number in (1, 2)]
    answers = [{"functionResponse": {"name": "w", "response": {"output": str(number)}}} for number in (1, 2)]
    contents = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": parts},
        {"role": "user", "parts": answers},
    ]
    for _ in range(2):
        done = ul.convert({"contents": contents}, source=GC, target=MESSAGES, model="m")
        ids = [call["id"] for call in blocks(done, "tool_use")]
        assert len(set(ids)) == 2
        assert [(a["tool_use_id"], a["content"]) for a in blocks(done, "tool_result")] == [(ids[0], "1"), (ids[1], "2")]
    assert ul.convert({"contents": contents}, source=GC, target=MESSAGES, model="m").value == done.value


@pytest.mark.parametrize("target", [RESPONSES, STEPS])
def test_trap_053_an_id_of_another_turn_is_another_id_where_ids_pair(target: str) -> None:
    done = chat(target, user(), calls("f:0"), result("f:0", "A"), calls("f:0"), result("f:0", "B"))
    items = [item for item in done.value["input"] if "call" in item["type"] or "result" in item["type"]]
    ids = [item.get("call_id", item.get("id")) for item in items]
    assert ids[0] == ids[1] == "f:0" and ids[2] == ids[3] != "f:0"
    assert [item.get("output", item.get("result")) for item in items[1::2]] == ["A", "B"]


def test_trap_053_an_id_of_another_turn_finds_its_own_call_and_name() -> None:
    history = [user(), calls("f:0", name="f"), result("f:0", "A"), calls("f:0", name="g"), result("f:0", "B")]
    answers = [
        part["functionResponse"]
        for content in chat(GC, *history).value["contents"]
        for part in content["parts"]
        if "functionResponse" in part
    ]
    assert [(a["name"], a["response"]) for a in answers] == [("f", {"output": "A"}), ("g", {"output": "B"})]
    # A duplicate in one step is another call, and both results survive.
    twice = chat(MESSAGES, user(), calls("x", "x"), result("x", "1"), result("x", "2"))
    ids = [call["id"] for call in blocks(twice, "tool_use")]
    assert len(set(ids)) == 2
    assert [(a["tool_use_id"], a["content"]) for a in blocks(twice, "tool_result")] == [(ids[0], "1"), (ids[1], "2")]


def test_trap_054_a_result_without_an_id_is_that_of_the_only_open_call() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    asked = {"type": "message", "role": "user", "content": "q"}
    done = responses(MESSAGES, asked, call, {"type": "function_call_output", "output": "r"})
    assert [answer["tool_use_id"] for answer in blocks(done, "tool_result")] == ["c1"]
    assert details(done) == {"/input/2": "approximated"}
    # With two open calls only a name identifies the call.
    other = {**call, "call_id": "c2", "name": "g"}
    named = {"type": "function_call_output", "name": "g", "output": "of g"}
    done = responses(MESSAGES, asked, call, other, named)
    assert {a["tool_use_id"]: a["content"] for a in blocks(done, "tool_result")}["c2"] == "of g"
    with pytest.raises(ul.InvalidBody, match="/messages/2/tool_call_id"):
        chat(MESSAGES, user(), calls("c1", "c2"), {"role": "tool", "content": "r"})


@pytest.mark.parametrize("target", [MESSAGES, GC, CHAT, STEPS])
def test_trap_055_the_id_of_the_item_is_not_the_id_of_the_call(target: str) -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_9", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "id": "fco_1", "call_id": "call_9", "output": "r"}
    sent = str(responses(target, {"type": "message", "role": "user", "content": "q"}, call, output).value)
    assert sent.count("call_9") == 2 and "fco_1" not in sent and "fc_1" not in sent


def test_trap_056_ids_of_other_items_are_not_replayed() -> None:
    said = {"role": "assistant", "content": [{"type": "output_text", "text": "a", "annotations": []}]}
    items = [
        {"type": "message", "role": "user", "content": "q"},
        {"type": "message", "id": "chatcmpl-1", **said},
        {"type": "message", "id": "msg_1", **said},
        {"type": "message", "role": "user", "content": "next"},
    ]
    done = responses(RESPONSES, *items, repair="always")
    assert [item.get("id") for item in done.value["input"]] == [None, None, "msg_1", None]
    assert details(done) == {"/input/1/id": "lost"}


@pytest.mark.parametrize("target", [MESSAGES, GC, STEPS, RESPONSES])
def test_trap_058_every_result_that_is_sent_has_the_id_of_its_call(target: str) -> None:
    done = chat(target, user(), calls("a.1", "b" * 80), result("b" * 80, "2"), result("a.1", "1"))
    sent = done.value.get("messages") or done.value.get("contents") or done.value.get("input")
    text = str(sent)
    ids = set(re.findall(r"'(?:id|call_id|tool_use_id)': '([^']+)'", text))
    assert len(ids) == 2 and all(text.count(f"'{call_id}'") == 2 for call_id in ids)


def test_trap_059_a_result_has_the_name_of_its_call_whatever_it_says() -> None:
    items = [
        {"type": "message", "role": "user", "content": "q"},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c2", "name": "unknown", "output": "2"},
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
    ]
    done = responses(GC, *items)
    answers = [part["functionResponse"] for part in done.value["contents"][2]["parts"]]
    assert [(a["id"], a["name"]) for a in answers] == [("c1", "f"), ("c2", "g")]
    assert details(done)["/input/3/name"] == "approximated"


def test_a_dialect_may_have_rules_of_its_own() -> None:
    assert Rules().of({"repair": {"call_id_length": 9}}, None).call_id_length == 9


@pytest.mark.parametrize("target", [GC, STEPS, MESSAGES])
def test_a_result_gets_the_name_and_the_id_of_its_call_where_both_change(target: str) -> None:
    items = [
        {"type": "message", "role": "user", "content": "q"},
        {"type": "function_call", "call_id": "d", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "d", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "d", "output": "1"},
        {"type": "function_call_output", "call_id": "d", "output": "2"},
    ]
    text = str(responses(target, *items).value)
    called = re.findall(r"'(?:functionCall|function_call|tool_use)'.*?'id': '([^']+)'", text)
    answered = re.findall(r"'(?:functionResponse': {'id|tool_use_id|call_id)': '([^']+)'", text)
    if target == GC:
        # The second call goes without the id that was made for it, and so does its result.
        assert text.count("'id': 'd'") == 2 and text.count("'id'") == 2
    else:
        assert len(set(called)) == 2 and answered == called
