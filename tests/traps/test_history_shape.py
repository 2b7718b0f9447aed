"""Traps of the shape of tool turns, over every target; expected values are those of the trap."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from toys import toy_adapter
from unified_llm.engine.pairs.writing import Writer
from unified_llm.passes.repair import Rules, repair

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
GC, STEPS = "google-generate-content", "google-interactions"
Node = dict[str, Any]
THINKING = {"type": "thinking", "thinking": "T", "signature": "S"}


def user(text: str = "q") -> Node:
    return {"role": "user", "content": text}


def calls(*ids: str, content: Any = None) -> Node:
    made = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": content, "tool_calls": made}


def result(call_id: str, content: str = "r") -> Node:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def said(role: str, text: str) -> Node:
    return {"type": "message", "role": role, "content": text}


def call(call_id: str, name: str = "f") -> Node:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": "{}"}


def output(call_id: str, text: Any = "r") -> Node:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def chat(target: str, *messages: Node, **options: Any) -> ul.Converted:
    return ul.convert({"model": "m", "messages": list(messages)}, source=CHAT, target=target, **options)


def responses(target: str, *items: Node, **settings: Any) -> ul.Converted:
    return ul.convert({"model": "m", "input": list(items), **settings}, source=RESPONSES, target=target)


def messages(target: str, *messages_: Node, **settings: Any) -> ul.Converted:
    body = {"model": "m", "max_tokens": 50, "messages": list(messages_), **settings}
    return ul.convert(body, source=MESSAGES, target=target, repair="always")


def told(done: ul.Converted) -> dict[str, tuple[str, str]]:
    return {loss.path: (loss.capability, loss.fate) for loss in done.losses if loss.side == "source"}


def kinds(content: list[Node]) -> list[str]:
    return [block["type"] for block in content]


# ---- where results stand --------------------------------------------------------------------------------------------


def test_trap_061_results_of_parallel_calls_are_one_message_with_what_the_user_says_next() -> None:
    got = chat(MESSAGES, user(), calls("c1", "c2"), result("c1"), result("c2"), user("go on")).value["messages"]
    assert [m["role"] for m in got] == ["user", "assistant", "user"]
    assert [block.get("tool_use_id", block.get("text")) for block in got[2]["content"]] == ["c1", "c2", "go on"]


def test_trap_062_nothing_stands_between_results() -> None:
    picture = {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": "https://e.com/p"}]}
    history = [said("user", "q"), call("c1"), call("c2"), output("c1"), picture, output("c2")]
    done = responses(MESSAGES, *history)
    assert kinds(done.value["messages"][2]["content"]) == ["tool_result", "tool_result", "image"]
    assert told(done)["/input/5/call_id"] == ("item.turn", "approximated")
    roles = [m["role"] for m in responses(CHAT, *history).value["messages"]]
    assert roles == ["user", "assistant", "tool", "tool", "user"]


def test_trap_063_there_are_as_many_responses_as_calls() -> None:
    done = chat(GC, user(), calls("c1", "c2"), result("c1"))
    answers = [part["functionResponse"] for part in done.value["contents"][2]["parts"]]
    assert [answer["id"] for answer in answers] == ["c1", "c2"]
    assert list(answers[1]["response"]) == ["error"]
    assert told(done) == {"/messages/1/tool_calls/1/id": ("tools.result", "approximated")}


def test_trap_064_results_share_no_turn_with_anything() -> None:
    done = responses(GC, said("user", "q"), call("c1"), output("c1"), said("developer", "terse"), said("user", "go"))
    shapes = [[next(iter(part)) for part in content["parts"]] for content in done.value["contents"]]
    assert shapes == [["text"], ["functionCall"], ["functionResponse"], ["text", "text"]]


def test_trap_065_a_conversation_does_not_open_with_a_call() -> None:
    history = [calls("c1"), result("c1"), {"role": "assistant", "content": "A"}, user("hi")]
    done = chat(GC, *history)
    assert [content["parts"] for content in done.value["contents"]] == [[{"text": "A"}], [{"text": "hi"}]]
    assert told(done)["/messages/0/tool_calls/0"][1] == told(done)["/messages/1"][1] == "lost"


def test_trap_065_a_call_follows_the_user_or_results_and_no_other_turn_of_the_model() -> None:
    history = [user(), {"role": "assistant", "content": "Let me see."}, calls("c1", content="Now."), result("c1")]
    contents = chat(GC, *history).value["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user"]
    assert [part.get("text", "call") for part in contents[1]["parts"]] == ["Let me see.", "Now.", "call"]


@pytest.mark.parametrize("target", [CHAT, MESSAGES, GC, STEPS])
def test_trap_066_a_result_without_its_call_is_left_out(target: str) -> None:
    done = responses(target, output("c1"), said("user", "hi"))
    assert "c1" not in str(done.value) and "hi" in str(done.value)
    assert told(done)["/input/0"] == ("tools.result", "lost")
    with pytest.raises(ul.CapabilityLost, match="/input/0"):
        ul.convert(
            {"model": "m", "input": [output("c1"), said("user", "hi")]},
            source=RESPONSES,
            target=target,
            on_loss={"tools.result": "raise"},
        )


def test_trap_066_the_same_at_responses() -> None:
    done = messages(RESPONSES, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1"}]}, user("hi"))
    assert [item["type"] for item in done.value["input"]] == ["message"]


@pytest.mark.parametrize("target", [RESPONSES, MESSAGES, GC, STEPS])
def test_trap_067_a_call_that_was_interrupted_gets_a_result_that_says_so(target: str) -> None:
    done = chat(target, user(), calls("c1"), user("stop"))
    sent = done.value.get("messages") or done.value.get("contents") or done.value["input"]
    text = str(sent)
    assert text.index("'c1'") < text.index("interrupted") < text.index("stop")
    assert told(done)["/messages/1/tool_calls/0/id"] == ("tools.result", "approximated")
    if target == MESSAGES:
        assert sent[2]["content"][0]["is_error"] is True


@pytest.mark.parametrize("target", [RESPONSES, MESSAGES, GC, STEPS])
def test_trap_067_a_call_that_may_still_be_answered_is_left_alone(target: str) -> None:
    done = chat(target, user(), calls("c1", "c2"))
    assert "interrupted" not in str(done.value)
    assert not told(done)


@pytest.mark.parametrize("target", [MESSAGES, GC, STEPS])
def test_trap_068_a_call_with_broken_arguments_keeps_its_result(target: str) -> None:
    broken = calls("c1")
    broken["tool_calls"][0]["function"]["arguments"] = '{"a":1}{"a":2}'
    done = chat(target, user(), broken, result("c1", "the result"))
    text = str(done.value)
    assert text.count("'c1'") == 2 and "the result" in text and '{"a":1}{"a":2}' in text


def test_trap_069_tools_of_the_history_are_declared_where_a_server_wants_it() -> None:
    request = {"model": "m", "input": [said("user", "q"), call("c1"), output("c1"), said("user", "sum up")]}
    writer = Writer(toy_adapter("x"))
    done = repair(request, Rules(declared=True), writer)
    assert [(tool["name"], tool["type"]) for tool in done["tools"]] == [("f", "function")]
    assert done["tool_choice"] == "none"
    assert [(node["type"], keys, fate) for node, keys, fate, *_ in writer.raw] == [
        ("function_call", ("name",), "approximated")
    ]
    assert "tools" not in repair(request, Rules(), Writer(toy_adapter("x")))


@pytest.mark.parametrize(("target", "key"), [(GC, "contents"), (STEPS, "input")])
def test_trap_070_what_the_model_said_last_is_kept_and_continued(target: str, key: str) -> None:
    done = messages(target, user(), {"role": "assistant", "content": '{"a":'})
    *_, before, last = done.value[key]
    assert '{"a":' in str(before) and "Continue" in str(last)
    assert told(done)["/messages/1/content"][1] == "approximated"


def test_trap_070_at_responses_it_is_kept_and_told() -> None:
    done = messages(RESPONSES, user(), {"role": "assistant", "content": '{"a":'})
    assert [item["content"] for item in done.value["input"]] == ["q", '{"a":']
    assert told(done)["/messages/1/content"][1] == "approximated"


@pytest.mark.parametrize(("model", "roles"), [("claude-opus-4-5", 2), ("claude-opus-4-6", 3), ("claude-sonnet-5-5", 3)])
def test_trap_070_newer_models_take_no_beginning_of_their_answer(model: str, roles: int) -> None:
    done = chat(MESSAGES, user(), {"role": "assistant", "content": "1, 2,"}, model=model)
    assert len(done.value["messages"]) == roles


def test_trap_071_white_space_at_the_very_end_is_cut() -> None:
    done = chat(MESSAGES, user("Go on"), {"role": "assistant", "content": "Once "})
    assert done.value["messages"][1]["content"] == "Once"
    assert told(done)["/messages/1/content"][1] == "approximated"
    earlier = chat(MESSAGES, user(), {"role": "assistant", "content": "Once "}, user("and"))
    assert earlier.value["messages"][1]["content"] == "Once "
    blank = chat(MESSAGES, user(), {"role": "assistant", "content": " \n"})
    assert [m["role"] for m in blank.value["messages"]] == ["user"]
    assert told(blank)["/messages/1"][1] == "approximated"


@pytest.mark.parametrize("target", [CHAT, RESPONSES, GC, STEPS])
def test_trap_072_a_request_of_nothing_but_results_is_told(target: str) -> None:
    lone = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "r"}]}
    done = messages(target, lone)
    assert ("tools.result", "approximated") in told(done).values()
    with pytest.raises(ul.CapabilityLost):
        ul.convert(
            {"model": "m", "max_tokens": 9, "messages": [lone]},
            source=MESSAGES,
            target=target,
            on_loss={"tools.result@approximated": "raise"},
        )


def test_trap_073_results_for_a_stored_response_are_no_orphans() -> None:
    done = responses(STEPS, output("c1"), previous_response_id="resp_1")
    assert [step["type"] for step in done.value["input"]] == ["function_result"]
    kept = ul.convert(
        {"model": "m", "input": [output("c1"), said("user", "and")], "previous_response_id": "resp_1"},
        source=RESPONSES,
        target=RESPONSES,
        repair="always",
    )
    assert [item["type"] for item in kept.value["input"]] == ["function_call_output", "message"]
    assert not kept.losses


def test_traps_016_017_reasoning_and_what_it_led_to_go_together() -> None:
    """(Over a change of deployment: another maker's reasoning stays behind, and its call goes without its id.)"""
    foreign = [{"kind": "encrypted_content", "data": "E", "origin": {"protocol": "another"}}]
    own = [{"kind": "encrypted_content", "data": "E", "origin": {"protocol": RESPONSES}}]
    for opaque, item_id in ((foreign, None), (own, "fc_1")):
        reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "opaque": opaque}
        items = [said("user", "q"), reasoning, {**call("c1"), "id": "fc_1"}, output("c1")]
        done = ul.write({"model": "m", "input": items}, RESPONSES)
        made = next(item for item in done.value["input"] if item["type"] == "function_call")
        assert made.get("id") == item_id and made["call_id"] == "c1"
        assert ("/input/2/id" in told(done)) == (item_id is None)
    dangling = [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"}, said("user", "next")]
    done = ul.convert({"model": "m", "input": dangling}, source=RESPONSES, target=RESPONSES, repair="always")
    assert [item["type"] for item in done.value["input"]] == ["message"]
    assert told(done)["/input/0"][1] == "lost"


@pytest.mark.parametrize("target", [CHAT, RESPONSES, MESSAGES, GC, STEPS])
def test_what_stands_twice_is_sent_once(target: str) -> None:
    request = {"model": "m", "input": [said("user", "q"), call("c1"), call("c1"), output("c1", "A"), output("c1", "B")]}
    two = ul.write(request, target)
    assert str(two.value).count("'A'") == str(two.value).count("'B'") == 1
    assert "lost" not in {fate for _, fate in told(two).values()}
    request["input"].insert(2, call("c1"))
    three = ul.write(request, target)
    assert three.value == two.value
    assert [(loss.path, loss.fate) for loss in three.losses if loss.detail == "the same call twice"] == [
        ("/input/3", "approximated")
    ]
    request["input"][1:4] = [call("c1")]
    one = ul.write(request, target)
    assert "'A'" in str(one.value) and "'B'" not in str(one.value)
    assert told(one)["/input/3"] == ("tools.result", "lost")


# ---- thoughts in a loop of tools ------------------------------------------------------------------------------------

LOOP = [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]
ANSWER = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "r"}]}
BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000}


def test_trap_025_thinking_goes_off_where_the_loop_lost_its_thought() -> None:
    done = messages(MESSAGES, user(), {"role": "assistant", "content": LOOP}, ANSWER, **BUDGET)
    assert done.value["thinking"] == {"type": "disabled"}
    assert told(done)["/thinking/budget_tokens"] == ("reasoning.budget", "lost")
    whole = messages(MESSAGES, user(), {"role": "assistant", "content": [THINKING, *LOOP]}, ANSWER, **BUDGET)
    assert whole.value["thinking"] == BUDGET["thinking"] and not told(whole)
    # The API joins neighbors of the user's: the turn has the result still.
    added = messages(MESSAGES, user(), {"role": "assistant", "content": LOOP}, ANSWER, user("new"), **BUDGET)
    assert added.value["thinking"] == {"type": "disabled"}
    answer = {"role": "assistant", "content": "A"}
    over = messages(MESSAGES, user(), {"role": "assistant", "content": LOOP}, ANSWER, answer, user("new"), **BUDGET)
    assert over.value["thinking"] == BUDGET["thinking"]


def test_trap_026_no_thoughts_in_the_last_turn_where_thinking_is_off() -> None:
    history = [user(), {"role": "assistant", "content": [THINKING, *LOOP]}, ANSWER]
    done = messages(MESSAGES, *history, thinking={"type": "disabled"})
    assert kinds(done.value["messages"][1]["content"]) == ["tool_use"]
    assert told(done)["/messages/1/content/0"][1] == "lost"
    silent = messages(MESSAGES, *history, model="claude-sonnet-4-5")
    assert kinds(silent.value["messages"][1]["content"]) == ["tool_use"]
    thinks_anyway = messages(MESSAGES, *history, model="claude-opus-5-5")
    assert kinds(thinks_anyway.value["messages"][1]["content"]) == ["thinking", "tool_use"]
