"""Custom tools at servers that have functions only: declared, called, chosen and answered as functions there.

https://platform.openai.com/docs/guides/function-calling#custom-tools; servers with the same protocol mostly stop
at functions (`tool_kinds` in docs/dialects.md).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul

Node = dict[str, Any]
ASKED = {"role": "user", "content": "?"}
CUSTOM = {"type": "custom", "custom": {"name": "patch", "description": "Patch.", "format": {"type": "text"}}}
CALL = {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": 'a "b"\n'}}
FUNCTION = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "done"}
SERVERS = ["groq", "vllm", "openrouter", "together"]
MESSAGES = "anthropic-messages"


def asked(target: str, **more: Any) -> ul.Converted:
    messages = [ASKED, {"role": "assistant", "content": None, "tool_calls": [CALL]}, RESULT]
    body = {"model": "m", "messages": messages, "tools": [CUSTOM], **more}
    return ul.convert(body, source="openai-chat", target=target)


@pytest.mark.parametrize("server", SERVERS)
def test_a_tool_of_free_text_is_a_function_where_there_are_functions_only(server: str) -> None:
    done = asked(f"openai-chat:{server}", tool_choice={"type": "custom", "custom": {"name": "patch"}})
    (tool,) = done.value["tools"]
    assert tool["type"] == "function" and tool["function"].keys() == {"name", "description", "parameters"}
    assert tool["function"]["name"] == "patch" and tool["function"]["parameters"] == FUNCTION
    assert tool["function"]["description"].startswith("Patch.\n\n") and "`input`" in tool["function"]["description"]
    called = done.value["messages"][1]["tool_calls"][0]
    assert called == {
        "id": "c1",
        "type": "function",
        "function": {"name": "patch", "arguments": called_with('a "b"\n')},
    }
    assert done.value["messages"][2]["content"] == "done"
    assert done.value["tool_choice"] == {"type": "function", "function": {"name": "patch"}}
    assert done.losses.survives("tools.custom")
    fates = {loss.path: loss.fate for loss in done.losses}
    assert fates["/tools/0/type"] == fates["/messages/1/tool_calls/0/type"] == fates["/tool_choice/type"] == "emulated"


def called_with(text: str) -> str:
    return json.dumps({"input": text}, separators=(",", ":"))


def test_its_answers_call_what_was_declared() -> None:
    done = asked("openai-chat:groq")
    call = {"id": "c2", "type": "function", "function": {"name": "patch", "arguments": called_with("x")}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    body = {"id": "a", "object": "chat.completion", "created": 1, "model": "m", "choices": [answer]}
    back = ul.convert(body, source="openai-chat:groq", target="openai-chat", kind="response", exchange=done.exchange)
    assert back.value["choices"][0]["message"]["tool_calls"] == [
        {"id": "c2", "type": "custom", "custom": {"name": "patch", "input": "x"}}
    ]


def test_of_the_tools_that_may_be_called_it_is_one_too() -> None:
    allowed = {"mode": "auto", "tools": [{"type": "custom", "custom": {"name": "patch"}}]}
    done = asked("openai-chat:vllm", tool_choice={"type": "allowed_tools", "allowed_tools": allowed})
    choice = done.value["tool_choice"]
    if choice != "auto":  # as far as the server takes such a choice at all
        assert choice["allowed_tools"]["tools"] == [{"type": "function", "function": {"name": "patch"}}]


def test_where_there_are_tools_of_free_text_they_stay() -> None:
    for target in ("openai-chat", "openai-chat:azure"):
        assert asked(target).value["tools"] == [CUSTOM]


def test_no_list_of_tools_is_sent_when_none_of_them_can_be() -> None:
    tools = [{"type": "telepathy", "telepathy": {"name": "f"}}]
    done = asked("openai-chat:groq", tools=tools)
    assert "tools" not in done.value
    assert not done.losses.survives("native.*")


@pytest.mark.parametrize("server", ["ollama", "lmstudio", "qwen"])
def test_at_servers_of_responses_without_them_they_are_functions_too(server: str) -> None:
    target = f"openai-responses:{server}"
    call = {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": 'a "b"\n'}
    result = {"type": "custom_tool_call_output", "call_id": "c1", "output": "done"}
    choice = {"type": "custom", "name": "patch"}
    body = {"model": "m", "input": [ASKED, call, result], "tools": [choice], "tool_choice": choice}
    expected = {"type": "function_call", "call_id": "c1", "name": "patch", "arguments": called_with('a "b"\n')}
    for done in (
        ul.convert(body, source="openai-responses", target=target),
        asked(target, tool_choice={"type": "custom", "custom": {"name": "patch"}}),
    ):
        (tool,) = done.value["tools"]
        assert (tool["type"], tool["name"], tool["parameters"]) == ("function", "patch", FUNCTION)
        assert done.value["input"][1] == expected
        assert done.value["input"][2] == {"type": "function_call_output", "call_id": "c1", "output": "done"}
        assert done.losses.survives("tools.custom")
        fates = {loss.path: loss.fate for loss in done.losses}
        assert fates["/tools/0/type"] == "emulated"
        if server == "ollama":  # takes no choice of tools
            assert "tool_choice" not in done.value
            continue
        assert done.value["tool_choice"] == {"type": "function", "name": "patch"}
        assert fates["/tool_choice/type"] == "emulated"
    done = ul.convert(body, source="openai-responses", target=target)
    answer = {"type": "function_call", "id": "fc_1", "call_id": "c2", "name": "patch", "arguments": called_with("x")}
    response = {"id": "r", "object": "response", "model": "m", "status": "completed", "output": [answer]}
    back = ul.convert(response, source=target, target="openai-responses", kind="response", exchange=done.exchange)
    (item,) = back.value["output"]
    assert (item["type"], item["name"], item["input"]) == ("custom_tool_call", "patch", "x")
    assert ul.convert(body, source=target, target=target).value == body
    assert ul.convert(body, source="openai-responses", target="openai-responses").value == body


@pytest.mark.parametrize("streamed", [False, True])
def test_the_commands_of_a_shell_come_back_as_calls_of_the_shell_that_was_declared(streamed: bool) -> None:
    tools = [{"type": "shell", "environment": {"type": "local"}}]
    done = ul.convert({"model": "m", "input": "q", "tools": tools}, source="openai-responses", target=MESSAGES)
    assert done.value["tools"] == [{"type": "bash_20250124", "name": "bash"}]
    use: Node = {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": "ls"}}
    head: Node = {"id": "a", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
    whole = {**head, "content": [use], "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1}}
    options: Node = {"source": MESSAGES, "target": "openai-responses", "exchange": done.exchange}
    if not streamed:
        back = ul.convert(whole, kind="response", **options)
        (call,) = back.value["output"]
        losses = back.losses
    else:
        ended = {"stop_reason": "tool_use", "stop_sequence": None}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ('{"comma', 'nd": "ls"}')]
        events: list[Node] = [
            {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": {**use, "input": {}}},
            *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]
        stream = ul.convert_stream([{"event": each["type"], "data": each} for each in events], **options)
        frames = [event["data"] for event in stream]
        losses = stream.losses
        assert not [frame for frame in frames if "function_call" in frame["type"]]
        opened, call = [frame["item"] for frame in frames if "item" in frame]
        assert (opened["type"], opened["id"]) == ("shell_call", call["id"])
        assert frames[-1]["response"]["output"] == [call]
    assert (call["type"], call["call_id"], call["action"]) == ("shell_call", "t", {"commands": ["ls"]})
    assert not {"name", "arguments"} & call.keys()
    assert not losses.significant


def test_what_a_call_of_bash_has_beside_its_command_reaches_the_client() -> None:
    """Claude's shell can be started anew: the client is not shown an empty call instead."""
    request = {"model": "m", "input": "q", "tools": [{"type": "shell"}]}
    done = ul.convert(request, source="openai-responses", target=MESSAGES)
    use = {"type": "tool_use", "id": "t", "name": "bash", "input": {"restart": True}}
    body = {
        "id": "a",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [use],
        "stop_reason": "tool_use",
    }
    back = ul.convert(body, source=MESSAGES, target="openai-responses", kind="response", exchange=done.exchange)
    assert back.value["output"][0]["action"] == {"restart": True, "commands": []}


def test_a_function_with_the_name_of_a_tool_of_the_provider_has_another_beside_it() -> None:
    """Messages gives its own tools fixed names, and refuses two tools with one name."""
    function = {"type": "function", "name": "bash", "parameters": {"type": "object", "properties": {}}}
    search = {"type": "function", "name": "web_search", "parameters": {"type": "object", "properties": {}}}
    call = {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"}
    history = [ASKED, call, {"type": "function_call_output", "call_id": "c", "output": "x"}]
    request = {"model": "m", "input": history, "tools": [{"type": "shell"}, function, search]}
    done = ul.convert(request, source="openai-responses", target=MESSAGES)
    shell, renamed, kept = (tool["name"] for tool in done.value["tools"])
    assert (shell, kept) == ("bash", "web_search")
    assert renamed != "bash"
    assert done.value["messages"][1]["content"][0]["name"] == renamed
    assert ("/tools/1/name", "approximated") in {(loss.path, loss.fate) for loss in done.losses}
    uses = [
        {"type": "tool_use", "id": "t1", "name": renamed, "input": {}},
        {"type": "tool_use", "id": "t2", "name": "bash", "input": {"command": "ls"}},
    ]
    body = {"id": "a", "type": "message", "role": "assistant", "model": "m", "content": uses, "stop_reason": "tool_use"}
    back = ul.convert(body, source=MESSAGES, target="openai-responses", kind="response", exchange=done.exchange)
    function, shell = back.value["output"]
    assert (function["type"], function["name"], shell["type"]) == ("function_call", "bash", "shell_call")
