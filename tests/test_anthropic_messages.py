"""Messages, feature by feature; expected values are written by hand, the SDK's own types are the second judge."""

from __future__ import annotations

from typing import Any

import httpx2
import pydantic
import pytest
from anthropic._models import construct_type_unchecked
from anthropic.lib.streaming._beta_messages import accumulate_event
from anthropic.types.beta import BetaMessage, BetaRawMessageStreamEvent

import unified_llm as ul
from corpus import fixtures
from unified_llm import suite
from unified_llm.provenance.opaque import is_sealed

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
Node = dict[str, Any]
HI = [{"role": "user", "content": "hi"}]


def bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: bare(inner) for key, inner in value.items() if key not in ("extra", "turn")}
    return [bare(inner) for inner in value] if isinstance(value, list) else value


def canonical(body: Any, kind: str = "request") -> Any:
    return bare(suite.canonical(body, MESSAGES, kind))


def request(**settings: Any) -> Any:
    return canonical({"model": "m", "max_tokens": 9, "messages": HI, **settings})


def write(*items: Node, **settings: Any) -> ul.Converted:
    body: Node = {"model": "m", "max_output_tokens": 9, "input": list(items) or "hi", **settings}
    return ul.write(body, MESSAGES)


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


# ---- the mind --------------------------------------------------------------------------------------------------------


def answer(*content: Node) -> Node:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [*content],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


@pytest.mark.parametrize("streamed", [False, True])
def test_reasoning_of_another_provider_returns_through_this_surface(streamed: bool) -> None:
    reasoning = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "thought"}],
        "encrypted_content": "gAAAA-mind",
    }
    said = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "four", "annotations": []}],
    }
    body = {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [reasoning, said],
    }
    if streamed:
        events = [
            out["data"] for out in ul.write_stream(ul.decompose(suite.canonical(body, RESPONSES, "response")), MESSAGES)
        ]
        content = accumulated(events)["content"]
    else:
        content = ul.convert(body, source=RESPONSES, target=MESSAGES, kind="response").value["content"]
    assert content[0]["thinking"] == "thought" and is_sealed(content[0]["signature"])
    history = {"model": "m", "max_tokens": 9, "messages": [*HI, {"role": "assistant", "content": content}, *HI]}
    home = ul.convert(history, source=MESSAGES, target=RESPONSES).value["input"]
    assert [item["encrypted_content"] for item in home if item["type"] == "reasoning"] == ["gAAAA-mind"]
    elsewhere = ul.convert(history, source=MESSAGES, target=MESSAGES)
    assert "gAAAA" not in str(elsewhere.value) and not any(map(is_sealed, suite_strings(elsewhere.value)))
    assert any(loss.capability == "reasoning.signature" for loss in elsewhere.losses)


def test_a_signature_on_a_call_travels_beside_it() -> None:
    piece = {"kind": "thought_signature", "data": "c2ln", "origin": {"protocol": "x-proto"}}
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}", "opaque": [piece]}
    done = ul.write({"id": "r", "model": "m", "output": [call]}, MESSAGES, "response")
    assert [block["type"] for block in done.value["content"]] == ["redacted_thinking", "tool_use"]
    items = canonical(
        {"model": "m", "max_tokens": 9, "messages": [{"role": "assistant", "content": done.value["content"]}]}
    )
    assert items["input"] == [call]
    sent = write(call)
    assert "c2ln" not in str(sent.value)
    assert [loss.fate for loss in sent.losses if loss.path.startswith("/input/0/opaque")] == ["lost"]
    kept = ul.write({"model": "m", "max_output_tokens": 9, "input": [call]}, MESSAGES, vault=ul.MemoryVault())
    assert [loss.fate for loss in kept.losses if loss.path.startswith("/input/0/opaque")] == ["parked"]


def test_our_own_signatures_return_through_other_surfaces() -> None:
    content = [
        {"type": "thinking", "thinking": "t", "signature": "EqSig=="},
        {"type": "redacted_thinking", "data": "EmD=="},
        {"type": "text", "text": "x"},
    ]
    client = ul.convert(answer(*content), source=MESSAGES, target=RESPONSES, kind="response").value["output"]
    back = ul.convert({"model": "m", "input": client}, source=RESPONSES, target=MESSAGES).value["messages"]
    assert back[0]["content"] == content


def test_a_damaged_envelope_is_not_sent() -> None:
    body = {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}],
    }
    block = ul.convert(body, source=RESPONSES, target=MESSAGES, kind="response").value["content"][0]
    damaged = {**block, "thinking": "edited"}
    history = {"model": "m", "max_tokens": 9, "messages": [*HI, {"role": "assistant", "content": [damaged]}]}
    done = ul.convert(history, source=MESSAGES, target=MESSAGES)
    assert not any(map(is_sealed, suite_strings(done.value)))
    assert "lost" in [loss.fate for loss in done.losses]


def suite_strings(value: Any) -> list[str]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return ([value] if isinstance(value, str) else []) + [text for each in inner for text in suite_strings(each)]


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


def accumulated(events: list[Node]) -> Node:
    """The message that the SDK's own helper makes of a stream."""
    snapshot, buffers = None, {}  # type: ignore[var-annotated]
    for data in events:
        if data["type"] == "ping":
            continue
        event = construct_type_unchecked(type_=BetaRawMessageStreamEvent, value=data)  # type: ignore[arg-type]
        snapshot = accumulate_event(
            event=event, current_snapshot=snapshot, json_bufs=buffers, request_headers=httpx2.Headers()
        )
    assert snapshot is not None
    return dict(snapshot.to_dict(mode="json"))


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


def test_what_another_provider_signed_on_a_text_stands_behind_the_text() -> None:
    """Clients read the answer from `content[0].text`; in a stream the signature comes last as well."""
    gemini, parts = "google-generate-content", [{"text": "Oslo.", "thoughtSignature": "QUJD"}]
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}]}
    sent = ul.convert(asked, source="anthropic-messages", target=gemini, model="gemini-3-pro", secret="s")
    answer = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}]}
    done = ul.convert(
        answer, source=gemini, target="anthropic-messages", kind="response", exchange=sent.exchange, secret="s"
    )
    content = done.value["content"]
    assert [block["type"] for block in content] == ["text", "redacted_thinking"]
    again = [*asked["messages"], {"role": "assistant", "content": content}, {"role": "user", "content": "r"}]
    back = ul.convert(
        {**asked, "messages": again}, source="anthropic-messages", target=gemini, model="gemini-3-pro", secret="s"
    )
    assert back.value["contents"][1]["parts"] == parts


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
