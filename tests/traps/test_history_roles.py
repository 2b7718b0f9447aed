"""Traps of roles, system texts and empty messages, over every target; expected values are those of the trap."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
GC, STEPS = "google-generate-content", "google-interactions"
Node = dict[str, Any]


def said(role: str, content: Any) -> Node:
    return {"role": role, "content": content}


def chat(target: str, *messages: Node, **options: Any) -> ul.Converted:
    return ul.convert({"model": "m", "messages": list(messages)}, source=CHAT, target=target, **options)


def told(done: ul.Converted) -> dict[str, str]:
    return {loss.path: loss.fate for loss in done.losses if loss.side == "source"}


def test_trap_114_a_system_message_in_mid_conversation_stays_where_it_is() -> None:
    history = [said("system", "A"), said("user", "one"), said("assistant", "two"), said("system", "B")]
    done = chat(MESSAGES, *history, said("user", "three"))
    assert done.value["system"] == "A"
    # Behind the assistant a system message is refused: it is sent as the user's, in its place and marked.
    assert [m["role"] for m in done.value["messages"]] == ["user", "assistant", "user"]
    reminder = "<system-reminder>\nB\n</system-reminder>"
    assert [block["text"] for block in done.value["messages"][2]["content"]] == [reminder, "three"]
    assert told(done)["/messages/3/role"] == "approximated"


def test_trap_114_where_the_system_may_speak_it_does() -> None:
    history = [said("user", "one"), said("assistant", "two"), said("user", "three"), said("system", "B")]
    assert [m["role"] for m in chat(MESSAGES, *history).value["messages"]] == ["user", "assistant", "user", "system"]
    for model in ("claude-sonnet-4-5", "claude-3-7-sonnet"):
        older = chat(MESSAGES, *history, model=model)
        assert [m["role"] for m in older.value["messages"]] == ["user", "assistant", "user"]
        assert told(older)["/messages/3/role"] == "approximated"


def test_trap_114_a_system_message_parts_no_call_from_its_result() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    history = [said("user", "q"), {"role": "assistant", "tool_calls": [call]}, said("system", "B")]
    got = chat(MESSAGES, *history, {"role": "tool", "tool_call_id": "c1", "content": "r"}).value["messages"]
    assert [m["role"] for m in got] == ["user", "assistant", "user", "system"]


@pytest.mark.parametrize(
    ("target", "key"), [(MESSAGES, "system"), (GC, "systemInstruction"), (STEPS, "system_instruction")]
)
def test_trap_115_several_system_messages_are_all_said(target: str, key: str) -> None:
    done = chat(target, said("system", "A first"), said("developer", "B second"), said("user", "q"))
    text = str(done.value[key])
    assert text.index("A first") < text.index("B second")
    assert "approximated" not in {fate for path, fate in told(done).items() if path.startswith("/messages/0/role")}


def test_a_user_who_says_nothing_is_still_there() -> None:
    done = chat(MESSAGES, said("system", "A"), said("user", " "))
    assert [m["role"] for m in done.value["messages"]] == ["user"]
    assert told(done)["/messages/1"] == "approximated"


@pytest.mark.parametrize("source", [RESPONSES, MESSAGES, GC, STEPS])
def test_trap_116_the_role_a_server_knows_is_used_from_every_surface(source: str) -> None:
    request = ul.write({"model": "m", "instructions": "Be terse", "input": "hi"}, source)
    done = ul.convert(request.value, source=source, target="openai-chat:deepseek", model="m", http=dict(request.http))
    assert [m["role"] for m in done.value["messages"]] == ["system", "user"]


def test_trap_117_empty_texts_are_not_sent() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    history = [
        said("user", [{"type": "text", "text": " "}, {"type": "text", "text": "q"}]),
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "r"},
        said("assistant", "\n"),
        said("user", "next"),
    ]
    done = chat(MESSAGES, *history)
    first, second, third = done.value["messages"]
    assert (
        [block["text"] for block in first["content"]] == ["q"]
        if type(first["content"]) is list
        else first["content"] == "q"
    )
    assert [block["type"] for block in second["content"]] == ["tool_use"]
    assert [block["type"] for block in third["content"]] == ["tool_result", "text"]
    assert told(done)["/messages/0/content/0"] == told(done)["/messages/3"] == "approximated"
    assert [m["content"] for m in chat(f"{CHAT}:deepseek", *history).value["messages"]][3] == "\n"


def test_trap_117_an_empty_message_is_not_sent() -> None:
    done = chat(GC, said("user", "q"), said("assistant", ""), said("user", "next"))
    assert "approximated" == told(done)["/messages/1"]
    assert all(part["text"] for content in done.value["contents"] for part in content["parts"])


def test_trap_118_turns_alternate_where_they_have_to() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    history = [
        said("user", "a"),
        said("user", "b"),
        said("assistant", "c"),
        {"role": "assistant", "tool_calls": [call]},
    ]
    history.append({"role": "tool", "tool_call_id": "c1", "content": "r"})
    assert [m["role"] for m in chat(MESSAGES, *history).value["messages"]] == ["user", "assistant", "user"]
    contents = chat(GC, *history).value["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user"]
    assert contents[0]["parts"] == [{"text": "a"}, {"text": "b"}]
    assert [next(iter(part)) for part in contents[1]["parts"]] == ["text", "functionCall"]
    assert [item.get("role") for item in chat(RESPONSES, *history).value["input"]][:3] == ["user", "user", "assistant"]


def test_trap_121_a_name_that_is_none_is_not_sent() -> None:
    done = chat(f"{CHAT}:deepseek", {"role": "user", "name": "Ann B", "content": "x"})
    assert done.value["messages"] == [{"role": "user", "content": "x"}]
    assert told(done)["/messages/0/name"] == "lost"
    kept = chat(f"{CHAT}:deepseek", {"role": "user", "name": "Ann", "content": "x"})
    assert kept.value["messages"] == [{"role": "user", "name": "Ann", "content": "x"}]


def test_trap_002_one_placeholder_a_step_and_only_where_nothing_is_signed() -> None:
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ("c1", "c2")]
    results = [{"role": "tool", "tool_call_id": i, "content": "r"} for i in ("c1", "c2")]
    history = [said("user", "q"), {"role": "assistant", "tool_calls": calls}, *results]
    parts = chat(GC, *history, model="gemini-3-pro").value["contents"][1]["parts"]
    assert ["thoughtSignature" in part for part in parts] == [True, False]
    signed = {**calls[0], "extra_content": {"google": {"thought_signature": "U0lH"}}}
    own = [said("user", "q"), {"role": "assistant", "tool_calls": [signed, calls[1]]}, *results]
    done = ul.convert({"model": "m", "messages": own}, source="openai-chat:google", target=GC, model="gemini-3-pro")
    assert "skip_thought_signature_validator" not in str(done.value["contents"][1]["parts"][1])
