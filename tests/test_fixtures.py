"""The hand-made documents are what they claim: valid by the official SDK's types, and complete.

Validity and completeness are read off the installed SDK, so that a new SDK version with a type, field or event that no
fixture has makes these tests fail. What is outside the SDK's types on purpose is listed with its reason, and must be.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import pydantic
import pytest
from openai.types import responses as responses_types
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from corpus import KINDS, fixtures
from sdk_streams import final_chat, final_response, is_no_judge, settled
from sdk_types import BETA_UNIONS, TYPES, examine_document, fields, members, name_of, structs, type_literals
from unified_llm.suite.walk import differences

OUTSIDE: dict[str, list[str]] = {
    "what other vendors add to the protocol": [
        "openai-chat/request/vendor_*",
        "openai-chat/response/vendor_*",
        "openai-chat/response/usage_vendor_*",
        "openai-chat/response/finish_vendor",
        "openai-chat/response/reasoning*",
        "openai-chat/response/thinking_parts",
        "openai-chat/response/thought_signature",
        "openai-chat/response/citations_top_level",
        "openai-chat/response/content_filter_results",
        "openai-chat/response/executed_tools",
        "openai-chat/stream/reasoning*",
        "openai-chat/stream/azure_preamble",
        "openai-chat/stream/citations_in_every_chunk",
        "openai-chat/stream/completion_done_object",
        "openai-chat/stream/finish_vendor_word",
        "openai-chat/stream/thought_signature_on_call",
        "openai-chat/stream/usage_vendor_envelope",
        "openai-chat/stream/vendor_*",
        "openai-responses/request/item_vendor_items",
        "openai-responses/response/usage_vendor",
        "openai-responses/response/vendor_*",
        "openai-responses/stream/vendor_*",
    ],
    "what careless servers and clients send": [
        "openai-chat/request/tool_calls_null",
        "openai-chat/request/tool_message_with_name",
        "openai-chat/request/tool_message_image_part",
        "openai-chat/request/wrong_types",
        "openai-chat/response/finish_null",
        "openai-chat/response/tool_call_oddities",
        "openai-chat/stream/finish_empty_string",
        "openai-chat/stream/role_repeated",
        "openai-chat/stream/tool_call_arguments_object",
        "openai-chat/stream/tool_call_without_index",
        "openai-chat/stream/tool_calls_without_index_two",
        "openai-responses/request/wrong_types",
        "openai-responses/response/lean_compatible_server",
        "openai-responses/response/usage_lean",
        "openai-responses/response/usage_old",
        "openai-responses/stream/text_events_without_logprobs",
        "openai-responses/stream/terminal_without_output",
    ],
    "unknown keys, types and values": [
        "openai-chat/request/number_forms",
        "openai-chat/request/unknown_*",
        "openai-responses/request/big_numbers",
        "openai-responses/request/item_unknown_*",
        "openai-responses/request/tool_unknown_hosted",
        "openai-responses/request/unknown_top_level",
        "openai-responses/response/extension_item",
        "openai-responses/stream/extension_*",
    ],
    "sent by the API and not typed by the SDK": [
        "openai-chat/stream/annotations*",
        "openai-chat/stream/custom_tool_call",
        "openai-chat/stream/mixed_tool_calls",
        "openai-chat/stream/everything",
        "openai-responses/request/item_audio_part",
        "openai-responses/request/tool_choice_web_search",
        "openai-responses/response/compact_endpoint",  # user messages in `output`
        "openai-responses/stream/apply_patch_call",  # response.apply_patch_call_operation_diff.*
        "openai-responses/stream/everything",  # web_search_call is added without `action`
        "openai-responses/stream/web_search_call",
        "openai-responses/stream/steer_accepted",  # typed for the WebSocket only
    ],
    "errors inside a stream, which the SDK raises before it looks at a type": [
        "openai-chat/stream/error_first",
        "openai-chat/stream/mid_stream_error*",
        "openai-responses/stream/error_first",
        "openai-responses/stream/error_nested",
    ],
    "Open Responses where it differs from OpenAI Responses": [
        "openai-responses/request/item_function_call_output_video",
        "openai-responses/request/penalties_open_responses",
        "openai-responses/request/tool_choice_allowed_tools_no_mode",
        "openai-responses/response/open_responses_*",
        "openai-responses/stream/open_responses_*",
    ],
    "the multi-agent beta, which has types of its own": ["openai-responses/*/*agent_beta"],
}
MODELS: dict[tuple[str, str], Any] = {
    ("openai-chat", "response"): ChatCompletion,
    ("openai-chat", "stream"): ChatCompletionChunk,
    ("openai-responses", "response"): responses_types.Response,
    ("openai-responses", "stream"): responses_types.ResponseStreamEvent,
}


def is_outside(record_id: str) -> bool:
    return any(fnmatchcase(record_id, pattern) for patterns in OUTSIDE.values() for pattern in patterns)


def document(record: dict[str, Any]) -> Any:
    return record["events"] if record["kind"] == "stream" else record["body"]


def nodes(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value] + [found for child in inner for found in nodes(child)]


@pytest.mark.parametrize(("protocol", "kind"), list(TYPES))
def test_valid_fixtures_fit_the_sdk_types(protocol: str, kind: str) -> None:
    found = {record["id"]: examine_document(protocol, kind, document(record)) for record in fixtures(protocol, kind)}
    assert len(found) > 20
    wrong = {name: finding.problems[:3] for name, finding in found.items() if finding.problems and not is_outside(name)}
    assert not wrong
    needless = [name for name, finding in found.items() if not finding.problems and is_outside(name)]
    assert not needless, "listed as outside the SDK's types, and they are not"


@pytest.mark.parametrize(("protocol", "kind"), list(MODELS))
def test_the_sdk_itself_validates_the_valid_ones(protocol: str, kind: str) -> None:
    adapter = pydantic.TypeAdapter(MODELS[protocol, kind])
    examined = 0
    for record in fixtures(protocol, kind):
        if is_outside(record["id"]):
            continue
        for payload in [event["data"] for event in record["events"]] if kind == "stream" else [record["body"]]:
            if payload != "[DONE]":
                adapter.validate_python(payload)
                examined += 1
    assert examined > 30


@pytest.mark.parametrize(("protocol", "kind"), list(TYPES))
def test_every_declared_field_occurs(protocol: str, kind: str) -> None:
    used = {
        pair for record in fixtures(protocol, kind) for pair in examine_document(protocol, kind, document(record)).used
    }
    # A response repeats its request's items in `instructions`, and a stream whole responses and items: those have
    # fixtures of their own kind.
    skip = {("responses.response.Response", "instructions")}
    if kind == "stream":
        skip |= {
            (name_of(event), key)
            for union in TYPES[protocol, kind]
            for event in members(union)
            for key in ("response", "item")
        }
    declared = {
        (name_of(struct), key)
        for root in TYPES[protocol, kind]
        for struct in structs(root, frozenset(skip))
        for key in fields(struct)
    }
    assert len(declared) > 50
    assert not declared - used


@pytest.mark.parametrize(
    ("kinds", "union"),
    [
        (("request",), responses_types.ResponseInputItemParam),
        (("request",), responses_types.ToolParam),
        (("request",), responses_types.ResponseInputContentParam),
        (("response", "stream"), responses_types.ResponseOutputItem),
        (("stream",), responses_types.ResponseStreamEvent),
        (("request",), BETA_UNIONS[0]),
        (("response", "stream"), BETA_UNIONS[1]),
    ],
)
def test_every_type_of_the_sdk_unions_occurs(kinds: tuple[str, ...], union: Any) -> None:
    declared = type_literals(union)
    for kind in kinds:
        seen = {
            node["type"]
            for record in fixtures("openai-responses", kind)
            for node in nodes(document(record))
            if isinstance(node, dict) and isinstance(node.get("type"), str)
        }
        assert declared, "a union without types: the reflection is broken"
        assert not declared - seen, kind


FINAL = {"openai-chat": final_chat, "openai-responses": final_response}


@pytest.mark.parametrize("protocol", list(FINAL))
def test_streams_are_their_twins_by_the_sdk(protocol: str) -> None:
    """The SDK's own accumulator makes of each stream the response that its twin is."""
    whole = {record["id"]: record["body"] for record in fixtures(protocol, "response")}
    examined = 0
    for record in fixtures(protocol, "stream"):
        wanted = whole.get(record.get("twin"))
        if wanted is None or is_no_judge(record["events"]) or wanted.get("status", "completed") != "completed":
            continue
        got = settled(FINAL[protocol](record["events"]))
        assert differences(settled(without_empty(wanted)), without_empty(got)) == [], record["id"]
        examined += 1
    assert examined > 25


def without_empty(body: Any) -> Any:
    """Without what a chat stream never has: nulls, and that there are no annotations."""
    if isinstance(body, dict):
        return {key: without_empty(value) for key, value in body.items() if value is not None and value != []}
    return [without_empty(value) for value in body] if isinstance(body, list) else body


def test_event_names_repeat_the_type() -> None:
    """The SDK dispatches on the payload, other clients on the event line: they must agree."""
    for record in fixtures("openai-responses", "stream"):
        for event in record["events"]:
            assert event["event"] == (None if event["data"] == "[DONE]" else event["data"]["type"]), record["id"]


def test_both_protocols_have_every_kind() -> None:
    for protocol in ("openai-chat", "openai-responses"):
        for kind in KINDS:
            assert len(list(fixtures(protocol, kind))) >= 15


def test_every_pattern_names_a_fixture() -> None:
    """A pattern left behind would hide the next fixture of that name."""
    names = [record["id"] for record in fixtures()]
    patterns = [pattern for patterns in OUTSIDE.values() for pattern in patterns]
    assert not [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in names)]
