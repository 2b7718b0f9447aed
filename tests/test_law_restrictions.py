"""Law: a restriction on a tool arrives, or the tool does not (decision 0026).

Each field that narrows a tool is set once, towards every protocol and some dialects. Either the restriction is in the
document, or what is written is what is written without the tool. The samples are by hand; a field that is declared to
narrow a tool and has no sample fails.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.types._tables import NARROWS

Node = dict[str, Any]
TARGETS = [
    "openai-chat",
    "openai-chat:openrouter",
    "openai-chat:mistral",
    "openai-responses",
    "openai-responses:groq",
    "anthropic-messages",
    "google-generate-content",
    "google-generate-content:vertex",
    "google-interactions",
]
FUNCTION: Node = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
MCP: Node = {"server_label": "docs", "server_url": "https://mcp.example.com/sse"}
SCREEN: Node = {"display_width": 1024, "display_height": 768, "environment": "browser"}
STORE: Node = {"vector_store_ids": ["fileSearchStores/one"]}
DENIED: Node = {"type": "disabled"}

# Tool, what it has anyway, the field that narrows it, and a value that does.
SAMPLES: list[tuple[str, Node, str, Any]] = [
    *(
        (kind, {}, field, value)
        for kind in ("web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11")
        for field, value in (
            ("filters", {"unheard_of": ["sentinel.example.com"]}),
            ("filters.allowed_domains", ["sentinel.example.com"]),
            ("filters.allowed_domains", []),
            ("filters.blocked_domains", ["sentinel.example.com"]),
            ("search_content_types", ["enterprise"]),
            ("search_content_types", ["image"]),
            ("external_web_access", False),
            ("max_uses", 3),
            ("time_range", {"start": "2026-01-01T00:00:00Z", "end": "2026-02-01T00:00:00Z"}),
        )
    ),
    *(
        (kind, {}, field, value)
        for kind in ("url_fetch", "web_fetch")
        for field, value in (
            ("filters", {"unheard_of": ["sentinel.example.com"]}),
            ("filters.allowed_domains", ["sentinel.example.com"]),
            ("filters.blocked_domains", ["sentinel.example.com"]),
            ("max_uses", 3),
        )
    ),
    ("file_search", {}, "vector_store_ids", ["vs_sentinel"]),
    ("file_search", {}, "vector_store_ids", ["fileSearchStores/sentinel"]),
    ("file_search", STORE, "filters", {"type": "eq", "key": "sentinel", "value": 1}),
    ("file_search", STORE, "filters", 'author = "sentinel"'),
    ("retrieval", {}, "retrieval_types", ["exa_ai_search"]),
    ("retrieval", {}, "retrieval_types", ["sentinel"]),
    *(
        ("retrieval", {"retrieval_types": [source]}, f"{config}_config.{field}", value)
        for source, config, field, value in (
            ("vertex_ai_search", "data_store", "datastores", ["sentinel"]),
            ("vertex_ai_search", "data_store", "datastores", ["sentinel", "b"]),
            ("vertex_ai_search", "data_store", "engine", "sentinel"),
            ("vertex_ai_search", "data_store", "filter", "a = sentinel"),
            ("vertex_ai_search", "data_store", "data_store_specs", [{"data_store": "sentinel"}]),
            ("vertex_ai_search", "data_store", "data_store_specs", [{"data_store": "d", "filter": "a = sentinel"}]),
            ("rag_store", "rag_store", "rag_resources", [{"rag_corpus": "sentinel"}]),
            ("rag_store", "rag_store", "rag_corpora", ["sentinel"]),
            ("rag_store", "rag_store", "rag_retrieval_config", {"filter": {"metadata_filter": "a = sentinel"}}),
            ("exa_ai_search", "exa_ai_search", "custom_config", {"includeDomains": ["sentinel"]}),
            ("parallel_ai_search", "parallel_ai_search", "custom_config", {"include_domains": ["sentinel"]}),
        )
    ),
    ("code_interpreter", {"container": {"type": "auto"}}, "container.network_policy", DENIED),
    ("code_interpreter", {"container": {"type": "auto", "file_ids": ["file_1"]}}, "container.network_policy", DENIED),
    ("mcp", {**MCP, "require_approval": "never"}, "allowed_tools", ["sentinel"]),
    ("mcp", {**MCP, "require_approval": "never"}, "allowed_tools", []),
    ("mcp", {**MCP, "require_approval": "never"}, "allowed_tools", {"read_only": True}),
    ("mcp", MCP, "require_approval", "always"),
    ("mcp", MCP, "require_approval", {"never": {"tool_names": ["sentinel"]}}),
    ("mcp", {**MCP, "require_approval": "never"}, "enabled", False),
    *(
        (kind, SCREEN, field, value)
        for kind in ("computer", "computer_use_preview")
        for field, value in (("excluded_functions", ["sentinel"]), ("enable_prompt_injection_detection", True))
    ),
    ("shell", {}, "environment.type", "container_auto"),
    ("shell", {"environment": {"type": "container_auto"}}, "environment.network_policy", DENIED),
]


def request(*tools: Node, **more: Any) -> Node:
    return {"model": "m", "input": [{"type": "message", "role": "user", "content": "Hi"}], "tools": [*tools], **more}


def with_field(tool: Node, path: str, value: Any) -> Node:
    key, _, below = path.partition(".")
    inner = {**(tool.get(key) or {}), below: value} if below else value
    return {**tool, key: inner}


def sent(document: Node) -> str:
    """What a target is given of tools, and nothing else of it."""
    body = {key: value for key, value in document.items() if key not in ("messages", "input", "contents", "store")}
    return json.dumps(body, sort_keys=True)


def test_every_narrowing_field_has_a_sample() -> None:
    declared = {(kind, field) for kind, fields in NARROWS.items() for field in fields}
    assert declared == {(kind, field) for kind, _, field, _ in SAMPLES}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("kind", "base", "field", "value"), SAMPLES, ids=[f"{s[0]}-{s[2]}-{i}" for i, s in enumerate(SAMPLES)]
)
def test_a_restriction_arrives_or_the_tool_does_not(kind: str, base: Node, field: str, value: Any, target: str) -> None:
    tool = {"type": kind, **base}
    narrowed = ul.write(request(with_field(tool, field, value), FUNCTION), target)
    without = sent(ul.write(request(FUNCTION), target).value)
    if sent(narrowed.value) == without:
        assert any(loss.path.startswith("/tools/0") and loss.fate == "lost" for loss in narrowed.losses)
        return
    assert sent(narrowed.value) != sent(ul.write(request(tool, FUNCTION), target).value)
    if "sentinel" in json.dumps(value):
        assert "sentinel" in sent(narrowed.value)


@pytest.mark.parametrize("target", TARGETS)
def test_a_location_or_the_size_of_results_restricts_nothing(target: str) -> None:
    plain = ul.write(request({"type": "web_search"}, FUNCTION), target)
    asked = {
        "type": "web_search",
        "user_location": {"type": "approximate", "city": "Oslo"},
        "search_context_size": "low",
    }
    done = ul.write(request(asked, FUNCTION), target)
    takes = sent(plain.value) != sent(ul.write(request(FUNCTION), target).value)
    assert takes == (sent(done.value) != sent(ul.write(request(FUNCTION), target).value))


def test_a_container_that_another_provider_keeps_takes_its_policy_along() -> None:
    container = {"type": "auto", "file_ids": ["file_1"], "network_policy": DENIED}
    body = {"model": "m", "input": "Hi", "tools": [{"type": "code_interpreter", "container": container}]}
    done = ul.convert(body, source="openai-responses:azure", target="openai-responses:openai")
    assert "tools" not in done.value


# ---- what one protocol alone has ------------------------------------------------------------------------------------


def test_a_toolset_that_denies_tools_is_not_left_behind_by_its_server() -> None:
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Hi"}],
        "mcp_servers": [{"type": "url", "name": "docs", "url": "https://mcp.example.com/sse"}],
        "tools": [{"type": "mcp_toolset", "mcp_server_name": "docs", "configs": {"delete_all": {"enabled": False}}}],
    }
    for target in ("openai-responses", "google-interactions", "google-generate-content"):
        done = ul.convert(body, source="anthropic-messages", target=target)
        assert "mcp.example.com" not in json.dumps(done.value)
        assert {loss.path for loss in done.losses} >= {"/mcp_servers/0", "/tools/0"}


def test_fields_of_one_protocol_that_narrow_a_tool_hold_it_back() -> None:
    fetch = {"type": "web_fetch_20260318", "name": "web_fetch", "url_sources": {"user_input": "none"}}
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "tools": [fetch]}
    assert "tools" not in ul.convert(body, source="anthropic-messages", target="google-interactions").value
    search = {"googleSearch": {"blockingConfidence": "BLOCK_LOW_AND_ABOVE"}}
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "tools": [search]}
    assert "tools" not in ul.convert(body, source="google-generate-content", target="openai-responses").value


def test_approval_of_every_call_is_what_responses_means_by_saying_nothing() -> None:
    tool = {"type": "mcp", **MCP}
    body = {"model": "m", "input": "Hi", "tools": [tool]}
    assert "mcp_servers" not in ul.convert(body, source="openai-responses", target="anthropic-messages").value
    body["tools"] = [{**tool, "require_approval": "never"}]
    assert "mcp_servers" in ul.convert(body, source="openai-responses", target="anthropic-messages").value


# ---- the choice ------------------------------------------------------------------------------------------------------

OTHER = {**FUNCTION, "name": "g"}
OFFLINE = {"type": "web_search", "external_web_access": False}


def callable_tools(document: Node) -> bool:
    """Whether a document lets the model call anything."""
    text = sent(document)
    return '"g"' in text and not any(word in text for word in ('"none"', '"NONE"'))


@pytest.mark.parametrize("target", ["openai-chat", "openai-chat:mistral", *TARGETS[5:]])
def test_a_choice_of_a_withheld_tool_makes_no_other_callable(target: str) -> None:
    for choice in (
        {"type": "web_search"},
        {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}]},
    ):
        body = {"model": "m", "input": "Hi", "tools": [OFFLINE, OTHER], "tool_choice": choice}
        done = ul.convert(body, source="openai-responses", target=target)
        assert not callable_tools(done.value)
        assert any(loss.path.startswith("/tool_choice") for loss in done.losses)


@pytest.mark.parametrize("target", ["openai-chat:zai", "openai-chat", *TARGETS[5:]])
def test_allowed_tools_never_widen(target: str) -> None:
    allowed = [{"type": "web_search"}, {"type": "function", "name": "f"}]
    choice = {"type": "allowed_tools", "mode": "auto", "tools": allowed}
    body = {"model": "m", "input": "Hi", "tools": [OFFLINE, FUNCTION, OTHER], "tool_choice": choice}
    done = ul.convert(body, source="openai-responses", target=target)
    config = done.value.get("toolConfig") or done.value.get("generation_config")
    names = json.dumps(done.value.get("tool_choice") or config)
    declared = sent({key: value for key, value in done.value.items() if key == "tools"})
    assert '"f"' in declared and ('"g"' not in declared or ('"f"' in names and '"g"' not in names))


@pytest.mark.parametrize("target", ["openai-chat", *TARGETS[5:]])
def test_no_choice_is_left_where_no_tool_is(target: str) -> None:
    body = {"model": "m", "input": "Hi", "tools": [{"type": "image_generation"}], "tool_choice": "required"}
    done = ul.convert(body, source="openai-responses", target=target)
    assert not {"tools", "tool_choice", "toolConfig"} & done.value.keys() and "tool_choice" not in json.dumps(
        done.value
    )
    assert [loss.fate for loss in done.losses if loss.path == "/tool_choice"] == ["lost"]


def test_a_dropped_tool_leaves_no_trace_in_the_flags() -> None:
    body = {"model": "m", "input": "Hi", "tools": [{"type": "image_generation"}, FUNCTION]}
    assert "toolConfig" not in ul.convert(body, source="openai-responses", target="google-generate-content").value


def test_a_forced_hosted_tool_is_the_only_one_declared_where_it_cannot_be_forced() -> None:
    body = {
        "model": "m",
        "input": "Hi",
        "tools": [{"type": "web_search"}, OTHER],
        "tool_choice": {"type": "web_search"},
    }
    for target, tools in (
        ("google-interactions", [{"type": "google_search"}]),
        ("google-generate-content", [{"googleSearch": {}}]),
    ):
        done = ul.convert(body, source="openai-responses", target=target)
        assert done.value["tools"] == tools
        assert {loss.path for loss in done.losses} >= {"/tools/1", "/tool_choice/type"}


def test_older_names_of_web_search_are_web_search_to_chat() -> None:
    for kind in ("web_search", "web_search_preview", "web_search_preview_2025_03_11", "web_search_2025_08_26"):
        body = {"model": "m", "input": "Hi", "tools": [{"type": kind, "search_context_size": "low"}]}
        done = ul.convert(body, source="openai-responses", target="openai-chat")
        assert done.value["web_search_options"] == {"search_context_size": "low"}
