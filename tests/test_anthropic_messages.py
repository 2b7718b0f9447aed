"""Messages, feature by feature; expected values are written by hand, the SDK's own types are the second judge."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest
from anthropic.types.beta import BetaMessage, BetaRawMessageStreamEvent

import unified_llm as ul
from corpus import fixtures
from messages_documents import CHAT, HI, MESSAGES, RESPONSES, accumulated, canonical, request, write
from unified_llm import suite

Node = dict[str, Any]


def blocks(*content: Node, role: str = "assistant") -> list[Node]:
    return list(
        canonical({"model": "m", "max_tokens": 9, "messages": [{"role": role, "content": [*content]}]})["input"]
    )


# ---- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "hub"),
    [
        ({"system": "s"}, {"instructions": "s"}),
        ({"stop_sequences": ["x"]}, {"stop": ["x"]}),
        ({"thinking": {"type": "disabled"}}, {"reasoning": {"control": "disabled"}}),
        ({"thinking": {"type": "between_tools"}}, {"reasoning": {"control": "between_tools"}}),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 2000, "display": "omitted"}},
            {"reasoning": {"control": "enabled", "budget_tokens": 2000, "display": "omitted"}},
        ),
        ({"output_config": {"effort": "max"}}, {"reasoning": {"effort": "max"}}),
        (
            {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
            {"text": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
        ),
        ({"tool_choice": {"type": "any"}}, {"tool_choice": "required"}),
        ({"tool_choice": {"type": "tool", "name": "f"}}, {"tool_choice": {"type": "function", "name": "f"}}),
        (
            {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
            {"tool_choice": "auto", "parallel_tool_calls": False},
        ),
        ({"service_tier": "standard_only"}, {"service_tier": "default"}),
        ({"metadata": {"user_id": "u"}}, {"safety_identifier": "u"}),
        ({"cache_control": {"type": "ephemeral", "ttl": "1h"}}, {"cache": {"mode": "explicit", "ttl": "1h"}}),
        ({"container": {"id": "c"}}, {"container": {"id": "c"}}),
    ],
)
def test_settings(wire: Node, hub: Node) -> None:
    assert request(**wire) == {"model": "m", "max_output_tokens": 9, "input": request()["input"], **hub}


def test_context_edits() -> None:
    trigger = {"type": "input_tokens", "value": 90_000}
    edit = {"type": "compact_20260112", "trigger": trigger, "pause_after_compaction": True}
    read = request(context_management={"edits": [edit]})["context_management"]
    assert read == [{"type": "compaction", "compact_threshold": 90_000, "pause_after": True}]
    done = write(context_management=[{"type": "compaction", "compact_threshold": 90_000}])
    assert done.value["context_management"]["edits"][0]["trigger"] == trigger
    assert "compact-2026-01-12" in done.http["headers"]["anthropic-beta"]


def test_api_versions() -> None:
    assert write().http["headers"]["anthropic-version"] == "2026-10-21"
    assert write(temperature=0.5).http["headers"]["anthropic-version"] == "2023-06-01"
    body = {"model": "m", "max_tokens": 9, "messages": HI}
    given = {"headers": {"Anthropic-Version": "2023-06-01", "anthropic-beta": "a-1"}}
    done = ul.convert(body, source=MESSAGES, target=MESSAGES, http=given)
    assert done.http["headers"] == {"anthropic-version": "2023-06-01", "anthropic-beta": "a-1"}


@pytest.mark.parametrize(
    ("version", "hub"),
    [
        ("web_search_20260318", "web_search"),
        ("web_fetch_20250910", "url_fetch"),
        ("code_execution_20260521", "code_interpreter"),
        ("tool_search_tool_regex", "tool_search"),
        ("computer_20251124", "computer"),
        ("bash_20250124", "shell"),
        ("memory_20250818", "memory_20250818"),
    ],
)
def test_versioned_tools(version: str, hub: str) -> None:
    assert request(tools=[{"type": version, "name": "x"}])["tools"][0]["type"] == hub


def test_hosted_tools_of_others_get_a_version() -> None:
    done = write(tools=[{"type": "web_search", "filters": {"allowed_domains": ["e.x"]}}, {"type": "code_interpreter"}])
    assert done.value["tools"] == [
        {"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["e.x"]},
        {"type": "code_execution_20250825", "name": "code_execution"},
    ]


def test_mcp_servers_are_tools() -> None:
    server = {"type": "url", "name": "s", "url": "https://s.x"}
    toolset = {
        "type": "mcp_toolset",
        "mcp_server_name": "s",
        "default_config": {"enabled": False},
        "configs": {"t": {"enabled": True}},
    }
    hub = {"type": "mcp", "server_label": "s", "server_url": "https://s.x", "allowed_tools": ["t"]}
    assert request(mcp_servers=[server], tools=[toolset])["tools"] == [hub]
    done = write(tools=[hub])
    assert (done.value["mcp_servers"], done.value["tools"]) == ([server], [toolset])
    assert "mcp-client" in done.http["headers"]["anthropic-beta"]


@pytest.mark.parametrize("allowed", [{}, {"allowed_tools": ["t"]}])
@pytest.mark.parametrize("deferred", [True, False])
def test_deferred_mcp_servers_are_deferred_by_the_default_of_their_toolset(deferred: bool, allowed: Node) -> None:
    hub = {"type": "mcp", "server_label": "s", "server_url": "https://s.x", "defer_loading": deferred, **allowed}
    done = write(tools=[hub])
    (toolset,) = done.value["tools"]
    enabled = {"enabled": False} if allowed else {}
    assert toolset["default_config"] == {**enabled, "defer_loading": deferred}
    assert not done.losses
    assert request(mcp_servers=done.value["mcp_servers"], tools=[toolset])["tools"] == [hub]


# ---- blocks ----------------------------------------------------------------------------------------------------------


def test_one_message_is_several_items_of_one_turn() -> None:
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "a"},
                    {"type": "text", "text": "b"},
                    {"type": "tool_use", "id": "t", "name": "f", "input": {"x": 1}},
                ],
            }
        ],
    }
    items = suite.canonical(body, MESSAGES, "request")["input"]
    assert [item["type"] for item in items] == ["message", "function_call"]
    assert [item["turn"] for item in items] == [0, 0]
    assert len(items[0]["content"]) == 2
    assert items[1]["arguments"] == '{"x":1}'


def test_hosted_calls_and_results() -> None:
    found = {"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "E"}
    call, result = blocks(
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [found]},
    )
    assert call == {"type": "web_search_call", "call_id": "s", "action": {"type": "search", "query": "q"}}
    origin = {"protocol": MESSAGES}
    piece = {"kind": "encrypted_content", "data": "E", "origin": origin}
    assert result == {
        "type": "web_search_result",
        "call_id": "s",
        "results": [{"url": "u", "title": "t", "opaque": [piece]}],
    }


def test_citations() -> None:
    cited = {
        "type": "page_location",
        "cited_text": "c",
        "document_index": 0,
        "document_title": None,
        "start_page_number": 1,
        "end_page_number": 2,
    }
    web = {"type": "web_search_result_location", "cited_text": "w", "url": "u", "title": "t", "encrypted_index": "I"}
    notes = blocks({"type": "text", "text": "x", "citations": [cited, web]})[0]["content"][0]["annotations"]
    assert [note["type"] for note in notes] == ["document_citation", "url_citation"]
    assert notes[1]["opaque"][0]["data"] == "I"


def test_tool_changes_and_system_text_in_mid_conversation() -> None:
    added = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "f"}}
    items = blocks({"type": "text", "text": "now"}, added, role="system")
    assert items[0]["role"] == "system"
    assert items[1] == {"type": "tool_change", "action": "add", "name": "f"}


# ---- other documents -------------------------------------------------------------------------------------------------


def test_count_tokens() -> None:
    body = {"model": "m", "messages": HI, "system": "s"}
    done = ul.convert(body, source=MESSAGES, target=MESSAGES, kind="count_tokens_request")
    assert done.value == body and not done.losses
    assert done.http["path"] == "v1/messages/count_tokens"
    counted = ul.convert({"input_tokens": 12}, source=MESSAGES, target=MESSAGES, kind="count_tokens_response")
    assert counted.value == {"input_tokens": 12} and not counted.losses


def test_models() -> None:
    entry = {"type": "model", "id": "m", "display_name": "M", "created_at": "2026-02-19T00:00:00Z", "max_tokens": 5}
    body = {"data": [entry], "has_more": False, "first_id": "m", "last_id": "m"}
    assert ul.convert(body, source=MESSAGES, target=MESSAGES, kind="models").value == body
    listed = ul.convert(body, source=MESSAGES, target=CHAT, kind="models").value
    assert listed["data"][0]["created"] == 1771459200


# ---- the SDK ---------------------------------------------------------------------------------------------------------

OUTSIDE = {"error_body", "lean_server", "stop_someday", "unknown_things", "usage_nulls"}


@pytest.mark.parametrize("source", [CHAT, RESPONSES, MESSAGES])
def test_answers_fit_the_sdk_types(source: str) -> None:
    message = pydantic.TypeAdapter(BetaMessage)
    examined = 0
    for record in fixtures(source, "response"):
        if source == MESSAGES and record["id"].rpartition("/")[2] in OUTSIDE:
            continue
        done = suite.outcome(record, MESSAGES)
        assert done.error is None, record["id"]
        if done.value.get("type") == "error":
            continue
        message.validate_python(done.value)
        examined += 1
    assert examined > 20


@pytest.mark.parametrize("source", [CHAT, RESPONSES])
def test_streams_drive_the_sdk_accumulator(source: str) -> None:
    event_type = pydantic.TypeAdapter(BetaRawMessageStreamEvent)
    examined = 0
    for record in fixtures(source, "stream"):
        done = suite.outcome(record, MESSAGES)
        if done.error is not None or any(each["event"] == "error" for each in done.value):
            continue
        for each in done.value:
            event_type.validate_python(each["data"])
        told = suite.without_form(
            suite.canonical(accumulated([each["data"] for each in done.value]), MESSAGES, "response")
        )
        wanted = suite.without_form(ul.collect(ul.read_stream(done.value, MESSAGES)))
        # A stream has arguments as the model wrote them; the tier is in a place that the helper does not read.
        failures = suite.compare(record["id"], wanted, told, ("/output/*/arguments", "/service_tier"))
        assert not failures, failures[:3]
        examined += 1
    assert examined > 20


@pytest.mark.parametrize("streams", [True, False])
def test_documents_are_their_own_identity(streams: bool) -> None:
    found = [record for record in fixtures(MESSAGES) if (record["kind"] == "stream") == streams]
    assert len(found) > 20
    assert not suite.identity(MESSAGES, found)


@pytest.mark.parametrize("said", [{"content": None}, {}], ids=["null", "absent"])
def test_an_answer_may_have_no_content(said: dict[str, Any]) -> None:
    """Ollama's server answers so where the model generated nothing; an edited answer has its content."""
    body = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", **said,
        "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 1},
    }  # fmt: skip
    own = ul.convert(body, source="anthropic-messages", target="anthropic-messages", kind="response")
    assert own.value == body and not own.losses
    chat = ul.convert(body, source="anthropic-messages", target="openai-chat", kind="response")
    assert chat.value["choices"][0]["message"]["content"] is None
    assert chat.value["choices"][0]["finish_reason"] == "stop"
    node = ul.read(body, "anthropic-messages", "response").dump()
    node["output"] = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}]
    written = ul.write(node, "anthropic-messages", "response").value
    assert written["content"] == [{"type": "text", "text": "Hi"}]
    events = [
        {"event": "message_start", "data": {"type": "message_start", "message": {**body, "stop_reason": None}}},
        {
            "event": "message_delta",
            "data": {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                "usage": {"output_tokens": 1},
            },
        },
        {"event": "message_stop", "data": {"type": "message_stop"}},
    ]
    again = list(ul.convert_stream(events, source="anthropic-messages", target="anthropic-messages"))
    assert again == events


def test_a_body_without_the_type_of_a_message_is_refused() -> None:
    with pytest.raises(ul.InvalidBody):
        ul.convert({"id": "x", "model": "m"}, source="anthropic-messages", target="openai-chat", kind="response")
