"""A null stays in its own protocol: others declare none there, and it has no content that could be lost."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import unified_llm as ul
from across import CHAT, CLAUDE, CONVERSE, GENERATE, INTERACTIONS, MESSAGES, RESPONSES, Node

REQUESTS: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "model": "m",
        "messages": [{"role": "user", "content": "Hello"}],
        "stop": None,
        "temperature": None,
        "store": None,
        "service_tier": None,
        "stream": None,
    },
    "openai-responses": {
        "model": "m",
        "input": "Hello",
        "previous_response_id": None,
        "max_output_tokens": None,
        "reasoning": {"effort": None, "summary": None},
        "tools": [
            {"type": "function", "name": "f", "description": None, "parameters": {"type": "object"}, "strict": False},
            {"type": "web_search", "user_location": {"type": "approximate", "country": "NO"}},
        ],
    },
}


def nulls(value: Any, path: str = "") -> list[str]:
    if value is None:
        return [path]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, each in inner for found in nulls(each, f"{path}/{key}")]


@pytest.mark.parametrize("source", REQUESTS)
@pytest.mark.parametrize(
    "target",
    ["anthropic-messages", "google-generate-content", "google-interactions", "openai-chat", "openai-responses"],
)
def test_nulls_stay_in_their_protocol(source: str, target: str) -> None:
    body = REQUESTS[source]
    done = ul.convert(body, source=source, target=target)
    if source == target:
        assert done.value == body
        return
    assert nulls(body)
    assert not nulls(done.value)
    assert not [loss for loss in done.losses if loss.side == "source" and loss.path in nulls(body)]


def test_nulls_in_data_of_the_user_stay() -> None:
    schema = {"type": "object", "properties": {"x": {"enum": [None, "a"], "default": None}}}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    body = {**REQUESTS["openai-chat"], "tools": [tool]}
    done = ul.convert(body, source="openai-chat", target="openai-responses")
    assert done.value["tools"][0]["parameters"]["properties"] == schema["properties"]


def test_nulls_of_a_place_are_not_sent_where_it_has_none() -> None:
    place = {"type": "approximate", "city": None, "country": "NO"}
    body = {"model": "m", "input": "Hello", "tools": [{"type": "web_search", "user_location": place}]}
    done = ul.convert(body, source="openai-responses", target="openai-chat")
    location = done.value["web_search_options"]["user_location"]
    assert location == {"type": "approximate", "approximate": {"country": "NO"}}


def test_an_output_that_is_null_is_an_empty_list() -> None:
    body = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": None}
    assert ul.read(body, "openai-responses", "response").output == []
    assert ul.convert(body, source="openai-responses", target="openai-responses", kind="response").value == body
    text = {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
            "content": [{"type": "output_text", "text": "Hi", "annotations": []}]}  # fmt: skip
    datas = [
        {"type": "response.created", "sequence_number": 0, "response": {**body, "status": "in_progress"}},
        {"type": "response.output_item.done", "sequence_number": 1, "output_index": 0, "item": text},
        {"type": "response.completed", "sequence_number": 2, "response": body},
    ]
    events = [{"event": data["type"], "data": data} for data in datas]
    assert list(ul.convert_stream(events, source="openai-responses", target="openai-responses")) == events
    assert "Hi" in str(ul.collect(ul.read_stream(events, "openai-responses"))["output"])


@pytest.mark.parametrize("given", [{"content": None}, {}], ids=["null", "missing"])
@pytest.mark.parametrize("target", [MESSAGES, RESPONSES, GENERATE, INTERACTIONS, CONVERSE])
def test_a_result_of_a_function_that_returned_nothing_is_empty(given: Node, target: str) -> None:
    """A client sends None for what a function without a value returned; its call was answered all the same."""
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said: list[Node] = [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", **given}, {"role": "user", "content": "go"}]  # fmt: skip
    body = {"model": "m", "messages": said, "tools": [{"type": "function", "function": {"name": "f"}}]}
    assert ul.convert(body, source=CHAT, target=CHAT).value == body
    done = ul.convert(body, source=CHAT, target=target, model=CLAUDE if target == CONVERSE else "m")
    empty = {**body, "messages": [*said[:2], {**said[2], "content": ""}, said[3]]}
    assert (
        done.value == ul.convert(empty, source=CHAT, target=target, model=CLAUDE if target == CONVERSE else "m").value
    )
    assert not [loss for loss in done.losses if loss.fate == "lost"]


@pytest.mark.parametrize("target", [CHAT, RESPONSES, GENERATE, INTERACTIONS, CONVERSE])
def test_a_tool_whose_type_is_null_is_a_function(target: str) -> None:
    """`type` of a function may be null in Messages (`ToolParam` of the SDK), and the tool is declared all the same."""
    tool = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
    body = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "q"}], "tools": [tool]}
    null = {**body, "tools": [{**tool, "type": None}]}
    assert ul.convert(null, source=MESSAGES, target=MESSAGES).value == null
    model = CLAUDE if target == CONVERSE else "m"
    done = ul.convert(null, source=MESSAGES, target=target, model=model)
    assert done.value == ul.convert(body, source=MESSAGES, target=target, model=model).value


def test_a_call_whose_type_is_null_is_one_of_a_function() -> None:
    call = {"id": "call_1", "type": None, "function": {"name": "f", "arguments": "{}"}}
    said = [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "r"}]  # fmt: skip
    body = {"model": "m", "messages": said, "tools": [{"type": None, "function": {"name": "f"}}]}
    assert ul.convert(body, source=CHAT, target=CHAT).value == body
    wire = ul.convert(body, source=CHAT, target=MESSAGES).value
    assert [tool["name"] for tool in wire["tools"]] == ["f"]
    assert [block["type"] for message in wire["messages"][1:] for block in message["content"]] == [
        "tool_use",
        "tool_result",
    ]


def test_settings_that_are_null_make_no_objects_of_responses() -> None:
    """Models that do not reason refuse `reasoning` and what goes with it in `include`."""
    body = {"model": "m", "messages": [{"role": "user", "content": "q", "name": None}]}
    done = ul.convert({**body, "reasoning_effort": None, "verbosity": None}, source=CHAT, target=RESPONSES)
    assert done.value == ul.convert(body, source=CHAT, target=RESPONSES).value


NULLS: list[tuple[Node, Node]] = [
    ({"functionCall": {"name": "f", "args": None, "id": None}}, {"functionCall": {"name": "f"}}),
    ({"functionCall": {"name": "f", "args": {"x": None}, "willContinue": None}},
     {"functionCall": {"name": "f", "args": {"x": None}}}),
]  # fmt: skip


@pytest.mark.parametrize(("null", "bare"), NULLS)
@pytest.mark.parametrize("target", [CHAT, RESPONSES, MESSAGES, INTERACTIONS])
def test_what_is_null_in_a_part_of_generate_content_was_not_set(null: Node, bare: Node, target: str) -> None:
    """https://protobuf.dev/programming-guides/json/#null: of any field, null is its default."""
    result = {"functionResponse": {"name": "f", "response": {"output": "r"}}}

    def body(call: Node, result: Node, image: Node) -> Node:
        contents = [{"role": "user", "parts": [{"text": "q"}, image]}, {"role": "model", "parts": [call]},
                    {"role": "user", "parts": [result]}]  # fmt: skip
        return {"contents": contents, "tools": [{"functionDeclarations": [{"name": "f"}]}]}

    empty = {"functionResponse": {**result["functionResponse"], "id": None, "parts": None, "scheduling": None}}
    image = {"fileData": {"fileUri": "https://x/a.png", "mimeType": "image/png"}}
    given = body(null, empty, {"fileData": {**image["fileData"], "displayName": None}})
    assert ul.convert(given, source=GENERATE, target=GENERATE, model="m").value == given
    done = ul.convert(given, source=GENERATE, target=target, model="m")
    wanted = ul.convert(body(bare, result, image), source=GENERATE, target=target, model="m")
    assert _without_ids(done.value) == _without_ids(wanted.value)


def _without_ids(value: Any) -> Any:
    """A document whose generated ids, which follow from what was sent, are all one."""
    return json.loads(re.sub(r"_ulm_[0-9a-f]{20}", "", json.dumps(value)))


def test_a_schema_beside_a_null_of_the_other_dialect_is_read() -> None:
    declared = {"name": "f", "parameters": {"type": "OBJECT", "properties": {}}, "parametersJsonSchema": None}
    body = {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "tools": [{"functionDeclarations": [declared]}]}
    assert ul.convert(body, source=GENERATE, target=GENERATE, model="m").value == body
    done = ul.convert(body, source=GENERATE, target=CHAT, model="m")
    assert done.value["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}
