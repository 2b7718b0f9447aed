"""Traps of tools, tool choice, hosted calls and structured output, towards every surface; values are the trap's."""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
INTERACTIONS, GENERATE = "google-interactions", "google-generate-content"
Node = dict[str, Any]
USER = {"role": "user", "content": "q"}
EMPTY = {"type": "object", "properties": {}}


def function(name: str = "f") -> Node:
    return {"type": "function", "name": name, "parameters": EMPTY}


def ask(target: str, *items: Node, model: str | None = None, **settings: Any) -> ul.Converted:
    return ul.convert({"model": "m", "input": [USER, *items], **settings}, source=RESPONSES, target=target, model=model)


def lost(done: ul.Converted) -> dict[str, str]:
    return {loss.path: loss.capability for loss in done.losses if loss.fate == "lost"}


# ---- structured output -----------------------------------------------------------------------------------------------

PERSON = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
FORMAT = {"type": "json_schema", "json_schema": {"name": "x", "schema": PERSON, "strict": True}}


def test_trap_102_the_targets_own_format_is_used_and_no_tool_is_made_up() -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": EMPTY}}]
    body = {"model": "m", "messages": [USER], "response_format": FORMAT, "tools": tools}
    value = ul.convert(body, source=CHAT, target=MESSAGES).value
    assert value["output_config"]["format"] == {"type": "json_schema", "schema": PERSON}
    assert [tool["name"] for tool in value["tools"]] == ["f"] and "tool_choice" not in value


def test_trap_102_calls_stay_calls_and_text_stays_text() -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": EMPTY}}]
    body = {"model": "m", "messages": [USER], "response_format": FORMAT, "tools": tools}
    exchange = ul.convert(body, source=CHAT, target=MESSAGES).exchange
    answer = {"id": "x", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None,
              "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip

    def told(content: list[Node], stop: str) -> Node:
        wire = {**answer, "content": content, "stop_reason": stop}
        done = ul.convert(wire, source=MESSAGES, target=CHAT, kind="response", exchange=exchange)
        return dict(done.value["choices"][0])

    called = told([{"type": "tool_use", "id": "t", "name": "f", "input": {}}], "tool_use")
    assert called["finish_reason"] == "tool_calls" and called["message"]["content"] is None
    assert called["message"]["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}
    said = told([{"type": "text", "text": '{"a":"x"}'}], "end_turn")
    assert (said["finish_reason"], said["message"]["content"]) == ("stop", '{"a":"x"}')


def test_trap_102_json_without_a_schema_is_told() -> None:
    body = {"model": "m", "messages": [USER], "response_format": {"type": "json_object"}}
    done = ul.convert(body, source=CHAT, target=MESSAGES)
    assert "output_config" not in done.value and "tools" not in done.value
    assert "valid JSON" in done.value["system"][0]["text"]
    found = [(loss.path, loss.fate) for loss in done.losses if loss.capability == "output.structured"]
    assert found == [("/response_format/type", "approximated")]


TEXT = {"format": {"type": "json_schema", "name": "x", "schema": PERSON}}


@pytest.mark.parametrize("model", ["gemini-2.0-flash", "gemini-2.5-flash", "gemini-2.5-pro"])
def test_trap_103_older_models_keep_the_functions_and_lose_the_format(model: str) -> None:
    done = ask(GENERATE, model=model, tools=[function()], text=TEXT)
    assert "responseMimeType" not in done.value.get("generationConfig", {})
    assert done.value["tools"][0]["functionDeclarations"][0]["name"] == "f"
    assert lost(done)["/text/format"] == "output.structured"
    alone = ask(GENERATE, model=model, text=TEXT).value["generationConfig"]
    assert alone["responseMimeType"] == "application/json"


@pytest.mark.parametrize("model", ["gemini-3-pro", "gemini-3.5-flash", None])
def test_trap_103_newer_models_get_both(model: str | None) -> None:
    done = ask(GENERATE, model=model, tools=[function()], text=TEXT)
    assert done.value["generationConfig"]["responseMimeType"] == "application/json"
    assert done.value["tools"] and "/text/format" not in lost(done)


# ---- tool choice -----------------------------------------------------------------------------------------------------

NONE = {
    CHAT: ({"messages": [USER], "tools": [{"type": "function", "function": {"name": "f"}}]}, "tool_choice", "none"),
    RESPONSES: ({"input": "q", "tools": [function()]}, "tool_choice", "none"),
    MESSAGES: (
        {"max_tokens": 9, "messages": [USER], "tools": [{"name": "f", "input_schema": EMPTY}]},
        "tool_choice",
        {"type": "none"},
    ),
    GENERATE: (
        {"contents": [{"role": "user", "parts": [{"text": "q"}]}],
         "tools": [{"functionDeclarations": [{"name": "f"}]}]},
        "toolConfig",
        {"functionCallingConfig": {"mode": "NONE"}},
    ),
    INTERACTIONS: (
        {"input": "q", "tools": [{"type": "function", "name": "f"}]}, "generation_config", {"tool_choice": "none"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("target", NONE)
@pytest.mark.parametrize("source", NONE)
def test_trap_104_no_tool_means_no_tool_between_all(source: str, target: str) -> None:
    body, key, value = NONE[source]
    _, there, wanted = NONE[target]
    got = ul.convert({"model": "m", **body, key: value}, source=source, target=target).value[there]
    if target == INTERACTIONS:
        got = {"tool_choice": got["tool_choice"]}
    assert got == wanted


ALLOWED = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "a"}]}


def test_trap_106_an_allowed_subset_stays_one_everywhere() -> None:
    tools = [function("a"), function("b")]
    chat = ask(CHAT, tools=tools, tool_choice=ALLOWED).value["tool_choice"]
    assert chat["allowed_tools"]["tools"] == [{"type": "function", "function": {"name": "a"}}]
    choice = ask(INTERACTIONS, tools=tools, tool_choice=ALLOWED).value["generation_config"]["tool_choice"]
    assert choice == {"allowed_tools": {"mode": "auto", "tools": ["a"]}}
    calling = ask(GENERATE, tools=tools, tool_choice=ALLOWED).value["toolConfig"]["functionCallingConfig"]
    assert calling["allowedFunctionNames"] == ["a"]
    assert [tool["name"] for tool in ask(MESSAGES, tools=tools, tool_choice=ALLOWED).value["tools"]] == ["a"]


# ---- tools of free-form text -----------------------------------------------------------------------------------------

PATCH = {"type": "custom", "name": "apply_patch",
         "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/s"}}  # fmt: skip
CALLS: dict[str, Any] = {
    MESSAGES: {"id": "x", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
               "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
               "content": [{"type": "tool_use", "id": "t", "name": "apply_patch", "input": {"input": "*** P"}}]},
    GENERATE: {"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [
        {"functionCall": {"id": "t", "name": "apply_patch", "args": {"input": "*** P"}}}]}}]},
    INTERACTIONS: {"id": "i", "status": "requires_action", "object": "interaction", "steps": [
        {"type": "function_call", "id": "t", "name": "apply_patch", "arguments": {"input": "*** P"}}]},
}  # fmt: skip


@pytest.mark.parametrize("target", CALLS)
def test_trap_107_a_call_of_a_tool_for_free_text_comes_back_as_such(target: str) -> None:
    done = ask(target, tools=[PATCH])
    assert "start: /.+/s" in json.dumps(done.value["tools"]) and not lost(done)
    answer = ul.convert(CALLS[target], source=target, target=RESPONSES, kind="response", exchange=done.exchange)
    (call,) = answer.value["output"]
    assert (call["type"], call["call_id"], call["input"]) == ("custom_tool_call", "t", "*** P")


def test_trap_107_chat_has_such_tools_itself() -> None:
    (tool,) = ask(CHAT, tools=[PATCH]).value["tools"]
    assert tool["custom"]["format"]["grammar"] == {"syntax": "lark", "definition": "start: /.+/s"}


# ---- hosted tools ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [CHAT, MESSAGES, INTERACTIONS, GENERATE])
def test_trap_108_a_hosted_tool_without_a_form_is_told_by_name(target: str) -> None:
    done = ask(target, tools=[{"type": "image_generation"}, function()])
    assert "image_generation" not in json.dumps(done.value)
    if target != INTERACTIONS:
        assert lost(done)["/tools/0"] == "tools.hosted.image_generation"
    with pytest.raises(ul.CapabilityLost):
        ask_strictly = {"model": "m", "input": "q", "tools": [{"type": "computer_use_preview", "environment": "linux"}]}
        ul.convert(ask_strictly, source=RESPONSES, target=CHAT, on_loss={"tools.*": "raise"})


@pytest.mark.parametrize(("model", "kept"), [("gemini-2.5-pro", False), ("gemini-3-pro", True), (None, True)])
def test_trap_109_search_beside_functions_is_asked_for_or_told_lost(model: str | None, kept: bool) -> None:
    done = ask(GENERATE, model=model, tools=[{"type": "web_search"}, function()])
    assert ("googleSearch" in json.dumps(done.value)) is kept
    assert ("/tools/0" in lost(done)) is not kept
    flag = done.value.get("toolConfig", {}).get("includeServerSideToolInvocations")
    assert flag is (True if kept else None)
    assert done.value["tools"][-1 if not kept else 0]


SEARCH = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
]


@pytest.mark.parametrize("target", [CHAT, RESPONSES, INTERACTIONS, GENERATE])
def test_trap_110_both_halves_of_a_hosted_call_or_neither(target: str) -> None:
    said = {"role": "assistant", "content": [*SEARCH, {"type": "text", "text": "A"}]}
    body = {"model": "m", "max_tokens": 9, "messages": [USER, said, USER]}
    done = ul.convert(body, source=MESSAGES, target=target)
    assert "srvtoolu_1" not in json.dumps(done.value) and '"A"' in json.dumps(done.value)
    assert {"/messages/1/content/0", "/messages/1/content/1"} <= lost(done).keys()


@pytest.mark.parametrize("target", [CHAT, MESSAGES, INTERACTIONS, GENERATE])
def test_trap_112_mcp_items_are_told_one_by_one(target: str) -> None:
    done = ask(
        target,
        {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
    )
    assert {"/input/1": "tools.mcp", "/input/2": "tools.mcp.approval"}.items() <= lost(done).items()


FAILED = [
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": "boom"}]},
]


@pytest.mark.parametrize(
    ("target", "spot"),
    [
        (RESPONSES, lambda v: v["input"][2]),
        (GENERATE, lambda v: v["contents"][2]["parts"][0]["functionResponse"]),
        (INTERACTIONS, lambda v: v["input"][-1]),
    ],
)
def test_trap_113_a_failed_result_stays_failed_there_and_back(target: str, spot: Any) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [USER, *FAILED]}
    there = ul.convert(body, source=MESSAGES, target=target).value
    said = spot(there)
    if target == RESPONSES:
        wanted = {"type": "function_call_output", "call_id": "t", "output": "boom", "status": "incomplete"}
        assert said == wanted
    elif target == GENERATE:
        assert said["response"] == {"error": "boom"}
    else:
        assert (said["is_error"], said["result"]) == (True, "boom")
    back = ul.convert(there, source=target, target=MESSAGES, model="m").value
    assert back["messages"][-1]["content"] == FAILED[1]["content"]


def test_trap_113_chat_keeps_the_text_and_tells_the_mark() -> None:
    done = ul.convert({"model": "m", "max_tokens": 9, "messages": [USER, *FAILED]}, source=MESSAGES, target=CHAT)
    assert done.value["messages"][-1]["content"] == "<tool_error>boom</tool_error>"
    assert not lost(done)
    fates = {loss.path: loss.fate for loss in done.losses}
    assert fates["/messages/2/content/0/is_error"] == "approximated"
