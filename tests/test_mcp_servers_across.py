"""Servers of MCP tools: approvals and credentials at another provider."""

from __future__ import annotations

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
