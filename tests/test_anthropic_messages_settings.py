"""Settings of Messages requests: what has an unexpected type stays by itself, each key is reported where it stands."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
TOOL = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
BASE: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}


def losses(done: ul.Converted) -> list[tuple[str, str, str]]:
    return [(loss.path, loss.capability, loss.fate) for loss in done.losses]


def test_a_tool_choice_whose_type_has_another_type_stays() -> None:
    body = {**BASE, "tools": [TOOL], "tool_choice": {"type": {"zz": 1}}}
    assert ul.convert(body, source=MESSAGES, target=MESSAGES).value == body
    found = losses(ul.convert(body, source=MESSAGES, target=CHAT))
    assert ("/tool_choice/type/zz", "native.field", "lost") in found or (
        "/tool_choice",
        "native.field",
        "lost",
    ) in found


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"output_config": {"tone": "dry"}}, "/output_config/tone"),
        ({"metadata": {"user_id": 5}}, "/metadata/user_id"),
        ({"thinking": {"type": 5, "display": "omitted"}}, "/thinking/type"),
        ({"tools": [TOOL], "tool_choice": {"type": "auto", "zz": 1}}, "/tool_choice/zz"),
    ],
)
def test_an_unknown_key_is_reported_where_it_stands(settings: dict[str, Any], path: str) -> None:
    body = {**BASE, **settings}
    assert ul.convert(body, source=MESSAGES, target=MESSAGES).value == body
    assert (path, "native.field", "lost") in losses(ul.convert(body, source=MESSAGES, target=CHAT))


@pytest.mark.parametrize(("kept", "found"), [("", []), ({}, []), ("a", [("/temperature", "native.field", "lost")])])
def test_an_empty_value_that_another_protocol_kept_is_not_lost(kept: Any, found: list[Any]) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], "temperature": kept}
    assert losses(ul.convert(body, source=CHAT, target=MESSAGES)) == found


def test_a_choice_of_a_tool_that_only_another_protocol_has_a_type_for_is_written_by_name() -> None:
    hosted = {"type": "web_search_20250305", "name": "web_search"}
    wire = {**BASE, "tools": [hosted, TOOL], "tool_choice": {"type": "tool", "name": "web_search"}}
    node = ul.read(wire, MESSAGES)
    assert node.tool_choice.type == "web_search"
    assert ul.write(node, MESSAGES).value == wire
    other = {**node.model_dump(exclude_unset=True), "tool_choice": {"type": "custom", "name": "f"}}
    assert ul.write(other, MESSAGES).value["tool_choice"] == {"type": "tool", "name": "f"}


def test_parallel_calls_alone_get_the_choice_that_is_required_beside_them() -> None:
    body = {"model": "m", "input": "hi", "tools": [{"type": "function", "name": "f"}], "parallel_tool_calls": False}
    done = ul.convert(body, source=RESPONSES, target=MESSAGES)
    assert done.value["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert ("/tool_choice/type", "native.field", "added") in losses(done)


def test_a_compaction_without_a_threshold_that_reads_as_one_keeps_its_trigger() -> None:
    edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": "many"}}
    body = {**BASE, "context_management": {"edits": [edit]}}
    assert ul.convert(body, source=MESSAGES, target=MESSAGES).value == body
    edit["trigger"] = {"type": "input_tokens", "value": 50_000}
    assert ul.read(body, MESSAGES).context_management[0].compact_threshold == 50_000


SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


@pytest.mark.parametrize("config", [None, {}, {"effort": "low"}])
def test_a_format_of_the_output_is_read_from_where_it_was_before(config: dict[str, Any] | None) -> None:
    """Before `output_config` had it, `output_format` did: SDKs and proxies of that time send it."""
    form = {"type": "json_schema", "schema": SCHEMA}
    body = {**BASE, "output_format": form, **({} if config is None else {"output_config": config})}
    assert ul.convert(body, source=MESSAGES, target=MESSAGES).value == body
    done = ul.convert(body, source=MESSAGES, target=CHAT)
    assert done.value["response_format"]["json_schema"]["schema"] == SCHEMA
    assert not [loss for loss in done.losses if loss.fate == "lost"]
    wider = {**BASE, "output_format": {"type": "json_schema", "schema": {"type": "object", "maxProperties": 2}}}
    lost = losses(ul.convert(wider, source=MESSAGES, target="google-interactions"))
    assert all(path.startswith("/output_format/schema") for path, name, _ in lost if name == "output.structured")


def test_a_format_at_both_places_stays_and_the_newer_one_counts() -> None:
    newer = {"format": {"type": "json_schema", "schema": SCHEMA}}
    body = {**BASE, "output_config": newer, "output_format": {"type": "json_schema", "schema": {"type": "object"}}}
    assert ul.convert(body, source=MESSAGES, target=MESSAGES).value == body
    done = ul.convert(body, source=MESSAGES, target=CHAT)
    assert done.value["response_format"]["json_schema"]["schema"] == SCHEMA
    assert ("/output_format", "output.structured", "lost") in losses(done)
