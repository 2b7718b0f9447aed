"""Tools in namespaces, and tools added or removed in the course of a conversation, where the target has neither.

https://platform.openai.com/docs/api-reference/responses/create (namespace, additional_tools)
https://docs.claude.com/en/docs/agents-and-tools/tool-use/overview (tool_addition, tool_removal)
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import unified_llm as ul

Node = dict[str, Any]
RESPONSES, CHAT, MESSAGES = "openai-responses", "openai-chat", "anthropic-messages"
INTERACTIONS, GENERATE = "google-interactions", "google-generate-content"
TARGETS = [CHAT, MESSAGES, INTERACTIONS, GENERATE, "openai-responses:groq", "openai-chat:mistral"]
PARAMETERS = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
SEARCH = {"type": "function", "name": "search", "description": "Search.", "parameters": PARAMETERS, "strict": False}
GROUP = {"type": "namespace", "name": "mcp__docs__", "description": "The documentation.", "tools": [SEARCH]}
OTHER = {"type": "namespace", "name": "web", "description": "The web.", "tools": [SEARCH]}
ASKED = {"type": "message", "role": "user", "content": "Go"}


def ask(target: str, *items: Node, **more: Any) -> ul.Converted:
    return ul.convert({"model": "m", "input": [ASKED, *items], **more}, source=RESPONSES, target=target)


def names(document: Node) -> list[str]:
    """The names of declared functions, in any protocol."""
    out: list[str] = []
    for tool in document.get("tools") or ():
        for each in tool.get("functionDeclarations") or [tool.get("function") or tool]:
            out += [each["name"]] if "name" in each else []
    return out


@pytest.mark.parametrize("target", TARGETS)
def test_an_agent_whose_tools_come_in_an_item_has_tools(target: str) -> None:
    item = {"type": "additional_tools", "role": "developer", "tools": [GROUP, OTHER, SEARCH]}
    done = ask(target, item)
    assert names(done.value) == ["mcp__docs__search", "web__search", "search"]
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", name) for name in names(done.value))
    assert {loss.fate for loss in done.losses if loss.path.startswith("/input/1/type")} == {"approximated"}
    assert "additional_tools" not in json.dumps(done.value)


def test_the_first_tool_of_a_namespace_says_what_it_is_about() -> None:
    first, second = ask(CHAT, tools=[{**GROUP, "tools": [SEARCH, {**SEARCH, "name": "open"}]}]).value["tools"]
    assert first["function"]["description"] == "Search.\n\nAll tools named mcp__docs__*: The documentation."
    assert second["function"]["description"] == "Search."


def test_the_own_protocol_keeps_its_forms() -> None:
    item = {"type": "additional_tools", "role": "developer", "tools": [GROUP]}
    body = {"model": "m", "input": [ASKED, item], "tools": [OTHER]}
    done = ul.convert(body, source=RESPONSES, target=RESPONSES)
    assert done.value == body and not done.losses and not done.exchange.namespaces


def answer(target: str, name: str) -> Node:
    arguments = {"q": "x"}
    if target.startswith(CHAT):
        function = {"name": name, "arguments": json.dumps(arguments)}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        }
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        return {"id": "a", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    if target == MESSAGES:
        block = {"type": "tool_use", "id": "c", "name": name, "input": arguments}
        head = {"id": "a", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
        return {**head, "content": [block], "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1}}
    if target == INTERACTIONS:
        step = {"type": "function_call", "id": "c", "name": name, "arguments": arguments}
        return {"id": "a", "object": "interaction", "model": "m", "status": "requires_action", "steps": [step]}
    part = {"functionCall": {"id": "c", "name": name, "args": arguments}}
    return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}]}


@pytest.mark.parametrize("target", [CHAT, MESSAGES, INTERACTIONS, GENERATE])
def test_calls_come_back_under_their_namespace(target: str) -> None:
    long = {**GROUP, "name": "a" * 60, "tools": [{**SEARCH, "name": "look-up.all"}]}
    done = ask(target, tools=[GROUP, OTHER, SEARCH, long])
    exchange = ul.Exchange.from_json(json.loads(json.dumps(done.exchange.to_json())))
    expected = [("mcp__docs__", "search"), ("web", "search"), (None, "search"), ("a" * 60, "look-up.all")]
    for name, (space, own) in zip(names(done.value), expected, strict=True):
        back = ul.convert(answer(target, name), source=target, target=RESPONSES, kind="response", exchange=exchange)
        call = next(item for item in back.value["output"] if item["type"] == "function_call")
        assert (call.get("namespace"), call["name"]) == (space, own)


def test_calls_come_back_under_their_namespace_in_a_stream() -> None:
    done = ask(CHAT, tools=[GROUP])
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "mcp__docs__search", "arguments": "{}"}}
    head = {"id": "a", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks = [
        {
            **head,
            "choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}, "finish_reason": None}],
        },
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    ]
    events = [{"event": None, "data": chunk} for chunk in chunks] + [{"event": None, "data": "[DONE]"}]
    out = [each["data"] for each in ul.convert_stream(events, source=CHAT, target=RESPONSES, exchange=done.exchange)]
    items = [data["item"] for data in out if "item" in data] + out[-1]["response"]["output"]
    assert len(items) == 3 and {(item["namespace"], item["name"]) for item in items} == {("mcp__docs__", "search")}


@pytest.mark.parametrize("target", [CHAT, MESSAGES, INTERACTIONS, GENERATE])
def test_the_history_calls_tools_by_the_names_they_are_declared_by(target: str) -> None:
    call = {"type": "function_call", "call_id": "c", "namespace": "web", "name": "search", "arguments": "{}"}
    alone = {"type": "function_call", "call_id": "d", "namespace": "search", "name": "search", "arguments": "{}"}
    results = [{"type": "function_call_output", "call_id": each, "output": "x"} for each in "cd"]
    document = ask(target, call, alone, *results, tools=[OTHER, SEARCH]).value
    history = json.dumps({key: value for key, value in document.items() if key != "tools"})
    assert names(document) == ["web__search", "search"]
    assert '"web__search"' in history and '"search"' in history and "namespace" not in history


def test_a_joined_name_is_unique() -> None:
    taken = {**SEARCH, "name": "web__search"}
    done = ask(CHAT, tools=[taken, OTHER])
    assert names(done.value) == ["web__search", "web__search_2"]
    assert done.exchange.namespaces == {"web__search_2": ["web", "search"]}


def test_a_choice_names_the_joined_tools() -> None:
    allowed = [{"type": "namespace", "name": "web"}, {"type": "function", "name": "search", "namespace": "mcp__docs__"}]
    choice = {"type": "allowed_tools", "mode": "auto", "tools": allowed}
    done = ask(GENERATE, tools=[GROUP, OTHER], tool_choice=choice)
    calling = done.value["toolConfig"]["functionCallingConfig"]
    assert calling["allowedFunctionNames"] == ["web__search", "mcp__docs__search"]


def test_a_custom_tool_of_a_namespace_is_a_function_of_one_string() -> None:
    group = {**GROUP, "tools": [{"type": "custom", "name": "patch", "description": "Patch."}]}
    done = ask(MESSAGES, tools=[group])
    back = ul.convert(
        {**answer(MESSAGES, "mcp__docs__patch"), "content": [
            {"type": "tool_use", "id": "c", "name": "mcp__docs__patch", "input": {"input": "raw"}}
        ]},
        source=MESSAGES, target=RESPONSES, kind="response", exchange=done.exchange,
    )  # fmt: skip
    (call,) = back.value["output"]
    assert (call["type"], call["namespace"], call["name"], call["input"]) == (
        "custom_tool_call", "mcp__docs__", "patch", "raw",
    )  # fmt: skip


# ---- tools that are removed -----------------------------------------------------------------------------------------


def changed(*blocks: Node) -> Node:
    tools = [{"name": name, "input_schema": {"type": "object", "properties": {}}} for name in ("old", "new")]
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Yes?"},
        {"role": "user", "content": "Go on"},
        {"role": "system", "content": [*blocks]},
    ]
    return {"model": "m", "max_tokens": 9, "messages": messages, "tools": tools}


@pytest.mark.parametrize("target", [RESPONSES, CHAT, INTERACTIONS, GENERATE])
def test_a_tool_that_was_removed_is_not_declared(target: str) -> None:
    removal = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "old"}}
    definition = {"name": "late", "input_schema": {"type": "object", "properties": {}}}
    addition = {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": definition}}
    done = ul.convert(changed(removal, addition), source=MESSAGES, target=target)
    assert names(done.value) == ["new", "late"]
    assert any(loss.path == "/tools/0" and loss.fate == "lost" for loss in done.losses)


def test_a_tool_of_a_server_that_was_removed_is_not_allowed() -> None:
    body = changed({"type": "tool_removal", "tool": {"type": "mcp_tool_reference", "server_name": "d", "name": "b"}})
    body["mcp_servers"] = [{"type": "url", "name": "d", "url": "https://mcp.example.com/sse"}]
    configs = {name: {"enabled": True} for name in "ab"}
    toolset = {"type": "mcp_toolset", "mcp_server_name": "d", "default_config": {"enabled": False}, "configs": configs}
    body["tools"] = [toolset]
    done = ul.convert(body, source=MESSAGES, target=RESPONSES)
    assert done.value["tools"][0]["allowed_tools"] == ["a"]
    body["tools"] = [{"type": "mcp_toolset", "mcp_server_name": "d"}]
    assert "mcp.example.com" not in json.dumps(ul.convert(body, source=MESSAGES, target=RESPONSES).value)


@pytest.mark.parametrize("target", [CHAT, MESSAGES, GENERATE, INTERACTIONS])
def test_a_tool_that_is_declared_anew_as_it_was_is_not_lost(target: str) -> None:
    item = {"type": "additional_tools", "role": "developer", "tools": [SEARCH]}
    for known in (SEARCH, {**SEARCH, "defer_loading": True}):
        done = ask(target, item, tools=[known])
        assert names(done.value) == ["search"]
        fates = {loss.path: loss.fate for loss in done.losses if loss.path.startswith("/tools/0")}
        assert fates == {"/tools/0": "approximated"}
    done = ask(target, item, tools=[{**SEARCH, "description": "Other."}])
    fates = {loss.path: loss.fate for loss in done.losses if loss.path.startswith("/tools/0")}
    assert fates["/tools/0/description"] == "lost"
    assert fates["/tools/0/parameters"] == "approximated"


# ---- tools that code calls -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("callers", [["programmatic"], ["direct", "programmatic"]])
def test_a_tool_for_code_is_called_directly_where_no_code_runs(callers: list[str]) -> None:
    """Messages refuses tools whose callers are a tool that is not declared."""
    tool = {**SEARCH, "allowed_callers": callers}
    done = ask(MESSAGES, tools=[tool, {"type": "programmatic_tool_calling"}])
    assert [each.get("allowed_callers", "any") for each in done.value["tools"]] == ["any"]
    fates = {loss.path: loss.fate for loss in done.losses}
    assert fates["/tools/0/allowed_callers"] == fates["/tools/1"] == "lost"
    done = ask(MESSAGES, tools=[tool, {"type": "code_interpreter", "container": {"type": "auto"}}])
    assert "code_execution_20260120" in done.value["tools"][0]["allowed_callers"]


# ---- what another provider ran ---------------------------------------------------------------------------------------


def test_what_another_provider_ran_is_not_sent_to_openai() -> None:
    blocks: list[Node] = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "bash_code_execution", "input": {"command": "ls"}},
        {"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {
            "type": "bash_code_execution_result", "stdout": "a", "stderr": "", "return_code": 0, "content": []}},
        {"type": "server_tool_use", "id": "srvtoolu_2", "name": "tool_search_tool_bm25", "input": {"query": "q"}},
        {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_2", "content": {
            "type": "tool_search_tool_search_result", "tool_references": []}},
        {"type": "text", "text": "Done."},
    ]  # fmt: skip
    messages = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": "go"},
    ]
    done = ul.convert({"model": "m", "max_tokens": 16, "messages": messages}, source=MESSAGES, target=RESPONSES)
    assert [item["type"] for item in done.value["input"]] == ["message"] * 3
    told = {loss.path: loss.detail for loss in done.losses if loss.fate == "lost"}
    assert {f"/messages/1/content/{place}" for place in range(4)} <= told.keys()


def test_a_shell_call_that_the_client_ran_is_sent_to_openai() -> None:
    use = {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "a"}
    messages = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    tools = [{"type": "bash_20250124", "name": "bash"}]
    body = {"model": "m", "max_tokens": 16, "messages": messages, "tools": tools}
    sent = ul.convert(body, source=MESSAGES, target=RESPONSES).value["input"]
    assert [item["type"] for item in sent[1:]] in (
        ["shell_call", "shell_call_output"], ["function_call", "function_call_output"],
    )  # fmt: skip


FOUND = {
    "type": "tool_search_output",
    "id": "tso",
    "execution": "server",
    "call_id": None,
    "status": "completed",
    "tools": [SEARCH, {**GROUP, "tools": [SEARCH, {**SEARCH, "name": "fetch", "defer_loading": True}]}],
}


@pytest.mark.parametrize("target", [CHAT, MESSAGES, GENERATE])
def test_tools_that_a_search_found_are_declared(target: str) -> None:
    done = ask(target, FOUND)
    assert set(names(done.value)) == {"search", "mcp__docs__search", "mcp__docs__fetch"}
    assert not any("defer_loading" in json.dumps(tool) for tool in done.value["tools"])
    assert not [loss for loss in done.losses if loss.path == "/input/1" and loss.fate == "lost"]


@pytest.mark.parametrize("target", [CHAT, MESSAGES, GENERATE])
def test_a_found_tool_that_is_declared_is_declared_once(target: str) -> None:
    done = ask(target, FOUND, tools=[GROUP, SEARCH])
    assert sorted(names(done.value)) == ["mcp__docs__fetch", "mcp__docs__search", "search"]
    told = {loss.path: loss.fate for loss in done.losses if loss.path.startswith("/input/1/tools")}
    assert told["/input/1/tools/0"] == told["/input/1/tools/1/tools/0"] == "approximated"


def test_found_tools_stay_results_where_the_api_has_them() -> None:
    found = {**FOUND, "call_id": "c", "tools": [SEARCH]}
    call = {"type": "tool_search_call", "id": "tsc", "execution": "server", "call_id": "c", "arguments": {}}
    steps = ask(INTERACTIONS, call, found).value["input"]
    assert [step["type"] for step in steps] == ["user_input", "tool_search_call", "tool_search_result"]
    assert [tool["name"] for tool in steps[2]["result"]] == ["search"]


def test_a_found_tool_takes_the_place_of_the_one_of_its_namespace() -> None:
    """What the search found is what is declared, and what it replaced is reported, in a namespace too."""
    found = {**SEARCH, "description": "Search anew."}
    done = ask(CHAT, {**FOUND, "tools": [{**GROUP, "tools": [found]}]}, tools=[GROUP])
    assert [tool["function"]["description"].split("\n")[0] for tool in done.value["tools"]] == ["Search anew."]
    assert ("/tools/0/tools/0/description", "lost") in {(loss.path, loss.fate) for loss in done.losses}


def test_a_namespace_that_is_listed_twice_is_chosen_once() -> None:
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "namespace", "name": "web"}] * 2}
    done = ask(CHAT, tools=[OTHER, GROUP], tool_choice=choice)
    (chosen,) = done.value["tool_choice"]["allowed_tools"]["tools"]
    assert chosen["function"]["name"] == "web__search"
