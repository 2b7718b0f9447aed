"""Tools that are loaded when the model searches for them, where the client searches itself or the provider does."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from across import CHAT, CONVERSE, GENERATE, INTERACTIONS, MESSAGES, RESPONSES, Node, messages, told

EVERY = [CHAT, RESPONSES, INTERACTIONS, GENERATE, CONVERSE]


def tool(name: str, **more: Any) -> Node:
    return {"name": name, "description": "d", "input_schema": {"type": "object", "properties": {}}, **more}


FOUND = [{"type": "tool_reference", "tool_name": name} for name in ("refund", "policy")]
SEARCHED = messages(
    messages=[
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "find", "input": {"q": "refund"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": FOUND}]},
    ],
    tools=[tool("find"), tool("refund", defer_loading=True), tool("policy", defer_loading=True)],
)


@pytest.mark.parametrize("target", [RESPONSES, INTERACTIONS])
def test_a_tool_is_loaded_at_once_where_nothing_searches_for_it(target: str) -> None:
    """OpenAI answers 400 otherwise ("Deferred tools require tools.tool_search"), and no model could call the tool."""
    done = ul.convert(SEARCHED, source=MESSAGES, target=target, model="m")
    assert [each["name"] for each in done.value["tools"]] == ["find", "refund", "policy"]
    assert not any("defer_loading" in each for each in done.value["tools"])
    for number in (1, 2):
        assert told(done)[f"/tools/{number}/defer_loading"] == ("tools.deferred", "lost")


@pytest.mark.parametrize("target", [RESPONSES, INTERACTIONS])
def test_a_tool_stays_deferred_beside_a_search(target: str) -> None:
    search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    body = messages(tools=[search, tool("refund", defer_loading=True)])
    done = ul.convert(body, source=MESSAGES, target=target, model="m")
    assert [each.get("defer_loading") for each in done.value["tools"]] == [None, True]
    assert done.value["tools"][0]["type"] == "tool_search"
    assert "/tools/1/defer_loading" not in told(done)


def test_a_request_of_the_same_protocol_is_left_as_it_is() -> None:
    declared = [{"type": "function", "name": "refund", "parameters": {"type": "object"}, "defer_loading": True}]
    for protocol in (RESPONSES, INTERACTIONS):
        body = {"model": "m", "input": "q", "tools": declared}
        assert ul.convert(body, source=protocol, target=protocol).value == body


def result(target: str, body: Node) -> Any:
    """What the result of the call holds."""
    if target == CHAT:
        return [part["text"] for part in body["messages"][-1]["content"]]
    if target == RESPONSES:
        return [part["text"] for part in body["input"][-1]["output"]]
    if target == INTERACTIONS:
        return [part["text"] for part in body["input"][-1]["result"]]
    if target == GENERATE:
        return body["contents"][-1]["parts"][0]["functionResponse"]["response"]["output"].split("\n\n")
    return [part["text"] for part in body["messages"][-1]["content"][0]["toolResult"]["content"]]


@pytest.mark.parametrize("target", EVERY)
def test_the_tools_that_a_client_found_are_named(target: str) -> None:
    """Claude Code and Pydantic AI answer a search so; an empty result is one that found nothing."""
    done = ul.convert(SEARCHED, source=MESSAGES, target=target, model="m")
    assert result(target, done.value) == ["refund", "policy"]
    for number in (0, 1):
        path = f"/messages/2/content/0/content/{number}/tool_name"
        assert told(done)[path] == ("tools.deferred", "approximated")


def test_a_tool_is_loaded_at_once_where_claude_takes_no_such_search() -> None:
    """A search that the client of Responses executes is none of Claude's, and what it found has no form there."""
    search = {"type": "tool_search", "execution": "client", "description": "Find.", "parameters": {"type": "object"}}
    function = {"type": "function", "name": "refund", "parameters": {"type": "object"}, "defer_loading": True}
    body: Node = {"model": "m", "input": "q", "tools": [search, function]}
    done = ul.convert(body, source=RESPONSES, target=MESSAGES, model="m")
    assert [(each["name"], "defer_loading" in each) for each in done.value["tools"]] == [("refund", False)]
    assert told(done)["/tools/1/defer_loading"] == ("tools.deferred", "lost")
    hosted = ul.convert({**body, "tools": [{"type": "tool_search"}, function]}, source=RESPONSES, target=MESSAGES)
    assert hosted.value["tools"][1]["defer_loading"] is True


def test_what_a_search_found_may_be_deferred_in_interactions() -> None:
    function = {"type": "function", "name": "refund", "parameters": {"type": "object"}, "defer_loading": True}
    found = [
        {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {}, "status": "completed"},
        {"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": [function]},
    ]
    body = {"model": "m", "input": [{"role": "user", "content": "q"}, *found], "tools": [{"type": "tool_search"}]}
    done = ul.convert(body, source=RESPONSES, target=INTERACTIONS, model="m")
    assert done.value["input"][-1]["result"][0]["defer_loading"] is True


def test_a_canonical_request_whose_results_name_tools_keeps_them_deferred() -> None:
    request = ul.read(SEARCHED, MESSAGES, "request").dump()
    request.pop("extra", None)
    written = ul.write(request, MESSAGES, "request").value
    assert [each.get("defer_loading") for each in written["tools"]] == [None, True, True]
