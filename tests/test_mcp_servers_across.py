"""Servers of MCP tools: approvals and credentials at another provider."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from across import GENERATE, INTERACTIONS, LOCAL, MESSAGES, RESPONSES, Node, interaction, messages, told

SERVERS: dict[str, Node] = {
    MESSAGES: messages(
        mcp_servers=[{"type": "url", "name": "s", "url": "https://s"}],
        tools=[{"type": "mcp_toolset", "mcp_server_name": "s"}],
    ),
    INTERACTIONS: interaction(tools=[{"type": "mcp_server", "name": "s", "url": "https://s"}]),
}


@pytest.mark.parametrize("source", SERVERS)
def test_mcp_tools_that_needed_no_approval_need_none_at_openai(source: str) -> None:
    done = ul.convert(SERVERS[source], source=source, target=RESPONSES)
    (tool,) = done.value["tools"]
    assert tool["require_approval"] == "never"
    assert told(done)["/tools/0/require_approval"] == ("tools.mcp.approval", "added")


def test_approvals_that_a_request_of_openai_leaves_unsaid_stay_as_they_are() -> None:
    tool = {"type": "mcp", "server_label": "s", "server_url": "https://s"}
    body = {"model": "m", "input": "q", "tools": [tool]}
    assert ul.convert(body, source=RESPONSES, target=RESPONSES).value == body
    assert ul.write(ul.read(body, protocol=RESPONSES), protocol=RESPONSES).value["tools"] == [tool]


def test_a_server_without_approvals_stays_one_when_a_tool_of_it_is_chosen() -> None:
    server = {"type": "mcp", "server_label": "s", "server_url": "https://s", "require_approval": "never"}
    choice = {"type": "mcp", "server_label": "s", "name": "t"}
    body = {"model": "m", "input": "q", "tools": [server, LOCAL], "tool_choice": choice}
    done = ul.convert(body, source=RESPONSES, target=INTERACTIONS)
    (sent,) = done.value["tools"]
    assert sent["allowed_tools"] == [{"tools": ["t"]}]
    withheld = ul.convert(body, source=RESPONSES, target=GENERATE, model="m")
    assert told(withheld)["/tools/0"] == ("tools.mcp", "lost") and "" not in told(withheld)


def test_the_token_of_a_server_is_a_header_where_there_is_no_field_for_it() -> None:
    """A server that is called without its credentials refuses every call."""
    server = {"type": "url", "name": "s", "url": "https://s", "authorization_token": "T"}
    body = messages(mcp_servers=[server], tools=[{"type": "mcp_toolset", "mcp_server_name": "s"}])
    header = {"Authorization": "Bearer T"}
    steps = ul.convert(body, source=MESSAGES, target=INTERACTIONS)
    assert steps.value["tools"][0]["headers"] == header
    parts = ul.convert(body, source=MESSAGES, target=GENERATE, model="m")
    (group,) = parts.value["tools"]
    assert group["mcpServers"][0]["streamableHttpTransport"] == {"url": "https://s", "headers": header}
    for done in (steps, parts):
        assert told(done)["/mcp_servers/0/authorization_token"] == ("tools.mcp", "approximated")


@pytest.mark.parametrize("headers", [{"Authorization": "Bearer T"}, {"authorization": "Bearer T"}])
def test_the_header_of_a_server_is_its_token_where_there_are_no_headers(headers: Node) -> None:
    server = {"type": "mcp_server", "name": "s", "url": "https://s", "headers": headers}
    done = ul.convert(interaction(tools=[server]), source=INTERACTIONS, target=MESSAGES)
    assert done.value["mcp_servers"][0]["authorization_token"] == "T"
    beside = ul.convert(
        interaction(tools=[{**server, "headers": {**headers, "X-Key": "T"}}]), source=INTERACTIONS, target=MESSAGES
    )
    assert beside.value["mcp_servers"][0]["authorization_token"] == "T", "without it the server refuses every call"
    (name,) = headers
    assert told(beside)["/tools/0/headers/X-Key"] == ("tools.mcp", "lost")
    assert told(beside)[f"/tools/0/headers/{name}"] == ("tools.mcp", "approximated")
    for others in ({"X-Key": "T"}, {"Authorization": "Basic T"}):
        kept = {**server, "headers": others}
        lost = ul.convert(interaction(tools=[kept]), source=INTERACTIONS, target=MESSAGES)
        assert "authorization_token" not in lost.value["mcp_servers"][0]
        assert told(lost)["/tools/0/headers"] == ("tools.mcp", "lost")


def test_tools_of_a_server_that_are_allowed_in_the_mode_auto_are_named_elsewhere() -> None:
    """`auto` is the default of Interactions: it restricts nothing beside the names."""
    server = {
        "type": "mcp_server",
        "name": "s",
        "url": "https://s",
        "allowed_tools": [{"mode": "auto", "tools": ["t"]}],
    }
    body = interaction(tools=[server])
    done = ul.convert(body, source=INTERACTIONS, target=RESPONSES)
    assert done.value["tools"][0]["allowed_tools"] == ["t"]
    assert not [loss for loss in done.losses if loss.fate == "lost"]
    assert ul.convert(body, source=INTERACTIONS, target=INTERACTIONS).value == body
    other = {**server, "allowed_tools": [{"mode": "none", "tools": ["t"]}]}
    withheld = ul.convert(interaction(tools=[other]), source=INTERACTIONS, target=RESPONSES)
    assert told(withheld)["/tools/0"] == ("tools.mcp", "lost") and not withheld.value.get("tools")


# ---- calls that Gemini executes in its answer ------------------------------------------------------------------------


def answered(signed: bool = False, key: str = "RES") -> list[Node]:
    call: Node = {"functionCall": {"name": "lookup", "args": {"q": "x"}}}
    if signed:
        call = {"functionCall": {"id": "x1", **call["functionCall"]}, "thoughtSignature": "c2ln"}
    result: Node = {"functionResponse": {"name": "lookup", "response": {"output": key}}}
    if signed:
        result["functionResponse"]["id"] = "x1"
    return [call, result, {"text": "Done"}]


def whole(parts: list[Node]) -> Node:
    candidate = {"content": {"parts": parts, "role": "model"}, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "responseId": "r"}


def frames(*groups: list[Node], ends: bool = False) -> list[Node]:
    """A frame for each group of parts; all of them with a `finishReason`, or the last one alone."""
    out = []
    for number, parts in enumerate(groups, 1):
        candidate: Node = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if ends or number == len(groups):
            candidate["finishReason"] = "STOP"
        out.append({"event": None, "data": {"candidates": [candidate], "responseId": "r"}})
    return out


def streams(parts: list[Node]) -> list[list[Node]]:
    return [
        frames(*([part] for part in parts)),
        frames(*([part] for part in parts), ends=True),
        frames(parts),
        frames(parts[:-1], parts[-1:]),
        frames([{"text": "First"}, parts[0]], parts[1:]),
    ]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("target", [name for name in ul.protocols() if name not in (GENERATE, "local-echo")])
def test_no_client_is_shown_a_call_that_gemini_executed(target: str, signed: bool) -> None:
    parts = answered(signed)
    shown = [ul.convert(whole(parts), source=GENERATE, target=target, kind="response")]
    results = [(shown[0].value, shown[0].losses)]
    for given in streams(parts):
        stream = ul.convert_stream(given, source=GENERATE, target=target)
        results.append((list(stream), stream.losses))
    for value, losses in results:
        assert "Done" in str(value)
        if target == "amazon-converse":
            # Converse has a call of its own that the provider executed.
            assert str(value).count("lookup") == str(value).count("server_tool_use") == 1
            continue
        assert "lookup" not in str(value) and "RES" not in str(value)
        assert {"tools.function", "tools.result"} <= {loss.capability for loss in losses if loss.fate == "lost"}


@pytest.mark.parametrize("signed", [False, True])
def test_an_answer_with_executed_calls_comes_back_as_it_was(signed: bool) -> None:
    parts = answered(signed)
    assert ul.write(ul.read(whole(parts), GENERATE, kind="response"), GENERATE, kind="response").value == whole(parts)
    for given in streams(parts):
        assert list(ul.convert_stream(given, source=GENERATE, target=GENERATE)) == given
        assert list(ul.write_stream(ul.read_stream(given, GENERATE), GENERATE)) == given
        items = ul.collect(ul.read_stream(given, GENERATE))["output"]
        run = [item["type"] for item in items if item.get("executor") == "provider"]
        assert run == ["function_call", "function_call_output"]
    asked = {"role": "user", "parts": [{"text": "q"}]}
    body = {"contents": [asked, {"role": "model", "parts": parts}, asked]}
    assert ul.convert(body, source=GENERATE, target=GENERATE).value == body
    chat = ul.convert(body, source=GENERATE, target="openai-chat", model="m").value["messages"]
    assert [message["role"] for message in chat] == ["user", "assistant", "tool", "assistant", "user"]


def test_a_conversation_goes_on_behind_an_executed_call() -> None:
    answer = ul.read(whole(answered(True)), GENERATE, kind="response")
    user = {"type": "message", "role": "user", "content": "q"}
    body = {"model": "m", "input": [user, *(ul.dump(item) for item in answer.output), user]}
    call, result, text = answered(True)
    contents = ul.write(body, GENERATE, kind="request").value["contents"]
    assert [part for content in contents[1:-1] for part in content["parts"]] == [call, result, text]


def test_calls_without_a_result_in_the_answer_are_those_of_the_client() -> None:
    call, result, _ = answered()
    other = {"functionCall": {"name": "lookup", "args": {"q": "y"}}}
    given = [[call], [other], [result, {"text": "Done"}]]
    parts = [part for group in given for part in group]
    chat = ul.convert(whole(parts), source=GENERATE, target="openai-chat", kind="response").value["choices"][0]
    (shown,) = chat["message"]["tool_calls"]
    assert shown["function"]["arguments"] == '{"q":"y"}' and chat["finish_reason"] == "tool_calls"
    for events in (frames(*given), frames(*given, ends=True)):
        out = str(list(ul.convert_stream(events, source=GENERATE, target="openai-chat")))
        assert '{"q":"y"}' in out and '{"q":"x"}' not in out and "'finish_reason': 'tool_calls'" in out


def test_a_stream_that_breaks_off_behind_a_call_is_broken_off() -> None:
    events = frames(answered()[:1], [{"text": "Done"}])[:1]
    kinds = [event["type"] for event in ul.read_stream(events, GENERATE)]
    assert "response.function_call_arguments.done" in kinds and kinds[-1] == "error"


# ---- calls of servers that a request does not declare ---------------------------------------------------------------


def called(**more: Any) -> Node:
    call = {"type": "mcp_call", "id": "mcp_1", "server_label": "hub", "name": "find", "arguments": "{}", **more}
    asked = {"type": "message", "role": "user", "content": "Hi"}
    return {"model": "m", "input": [asked, call, {"type": "message", "role": "user", "content": "More"}]}


def test_messages_gets_what_an_undeclared_mcp_server_gave_as_text() -> None:
    done = ul.convert(called(output="found it"), source="openai-responses", target="anthropic-messages")
    assert done.value["messages"][1]["content"] == [{"type": "text", "text": "found it"}]
    fates = {loss.path: loss.fate for loss in done.losses}
    assert fates["/input/1/output"] == "approximated"
    assert fates["/input/1/name"] == "lost"


def test_messages_gets_no_call_of_an_undeclared_mcp_server_that_gave_nothing() -> None:
    done = ul.convert(called(error="no route"), source="openai-responses", target="anthropic-messages")
    assert {message["role"] for message in done.value["messages"]} == {"user"}
    assert "/input/1" in [loss.path for loss in done.losses if loss.fate == "lost"]


def test_messages_gets_the_call_of_a_declared_mcp_server() -> None:
    server = {"type": "mcp", "server_label": "hub", "server_url": "https://hub.test", "require_approval": "never"}
    body = {**called(output="found it"), "tools": [server]}
    done = ul.convert(body, source="openai-responses", target="anthropic-messages")
    assert [block["type"] for block in done.value["messages"][1]["content"]] == ["mcp_tool_use", "mcp_tool_result"]
    # One that has to be approved is not declared there.
    body["tools"] = [{**server, "require_approval": "always"}]
    done = ul.convert(body, source="openai-responses", target="anthropic-messages")
    assert done.value["messages"][1]["content"] == [{"type": "text", "text": "found it"}]


def test_messages_gets_the_result_of_an_undeclared_server_of_interactions_as_text() -> None:
    steps = [
        {"type": "user_input", "content": [{"type": "text", "text": "Hi"}]},
        {"type": "mcp_server_tool_call", "id": "c1", "name": "find", "server_name": "hub", "arguments": {}},
        {"type": "mcp_server_tool_result", "call_id": "c1", "name": "find", "server_name": "hub", "result": "found it"},
        {"type": "user_input", "content": [{"type": "text", "text": "More"}]},
    ]
    done = ul.convert({"model": "m", "input": steps}, source="google-interactions", target="anthropic-messages")
    assert done.value["messages"][1]["content"] == [{"type": "text", "text": "found it"}]
    assert "/input/1" in [loss.path for loss in done.losses if loss.fate == "lost"]
