"""Chat: which call a fragment belongs to, where servers send less, or something else, than OpenAI does."""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul
from upstreams import chunk

Node = dict[str, Any]


def fragment(index: int, call_id: str | None, name: str | None, arguments: str) -> Node:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return {
        "index": index,
        **({"id": call_id} if call_id is not None else {}),
        "type": "function",
        "function": function,
    }


def calls(fragments: list[list[Node]]) -> list[tuple[str, str]]:
    chunks = [chunk({"tool_calls": each}) for each in fragments]
    events = [{"data": each} for each in [*chunks, chunk({}, "tool_calls")]]
    items = ul.collect(ul.read_stream([*events, {"data": "[DONE]"}], "openai-chat"))["output"]
    return [(item["name"], item["arguments"]) for item in items]


@pytest.mark.parametrize(
    "fragments",
    [
        [[fragment(0, "same", "f", '{"a":1}'), fragment(1, "same", "g", '{"b":2}')]],
        [[fragment(0, "same", "f", '{"a":1}')], [fragment(1, "same", "g", '{"b":2}')]],
        [
            [fragment(0, "same", "f", "")],
            [fragment(0, None, None, '{"a":1}')],
            [fragment(1, "same", "g", '{"b"')],
            [fragment(1, "same", None, ":2}")],
        ],
    ],
    ids=["one chunk", "a chunk each", "in pieces"],
)
def test_calls_that_share_an_id_are_two(fragments: list[list[Node]]) -> None:
    assert calls(fragments) == [("f", '{"a":1}'), ("g", '{"b":2}')]


def test_a_call_that_repeats_its_id_and_name_under_new_indexes_is_one() -> None:
    pieces = [[fragment(0, "a", "f", '{"a"')], [fragment(1, "a", "f", ":1")], [fragment(2, "a", "f", "}")]]
    assert calls(pieces) == [("f", '{"a":1}')]


FUNCTION_CALLS: dict[str, list[Node]] = {
    "arguments first": [{"arguments": '{"a":'}, {"arguments": "1}"}, {"name": "f"}],
    "the name with the last of them": [{"arguments": '{"a":'}, {"name": "f", "arguments": "1}"}],
    "the name in each": [{"name": "f", "arguments": '{"a":'}, {"name": "f", "arguments": "1}"}],
    "nothing first": [{"name": "", "arguments": ""}, {"name": "f", "arguments": '{"a":1}'}],
    "an object": [{"name": "f", "arguments": {"a": 1}}],
    "an object first": [{"arguments": {"a": 1}}, {"name": "f"}],
}


@pytest.mark.parametrize("pieces", FUNCTION_CALLS.values(), ids=[*FUNCTION_CALLS])
@pytest.mark.parametrize("target", ["openai-responses", "anthropic-messages", "google-generate-content"])
def test_a_function_call_of_old_is_whole_however_it_comes(pieces: list[Node], target: str) -> None:
    chunks = [chunk({"role": "assistant", "content": None}), *(chunk({"function_call": each}) for each in pieces)]
    events = [{"event": None, "data": each} for each in [*chunks, chunk({}, "function_call"), "[DONE]"]]
    assert list(ul.convert_stream(events, source="openai-chat", target="openai-chat")) == events
    stream = ul.convert_stream(events, source="openai-chat", target=target)
    (call,) = ul.collect(ul.read_stream(list(stream), target))["output"]
    assert (call["name"], json.loads(call["arguments"])) == ("f", {"a": 1})
    assert not [loss.path for loss in stream.losses if loss.fate == "lost"]


@pytest.mark.parametrize(
    ("more", "path"),
    [({"name": "g"}, "name"), ({"arguments": [1]}, "arguments")],
)
def test_what_does_not_belong_to_a_function_call_of_old_is_lost_where_it_stands(more: Node, path: str) -> None:
    pieces = [chunk({"function_call": {"name": "f", "arguments": "{}"}}), chunk({"function_call": more})]
    events = [{"data": each} for each in [*pieces, chunk({}, "function_call"), "[DONE]"]]
    stream = ul.convert_stream(events, source="openai-chat", target="anthropic-messages")
    list(stream)
    assert f"/1/data/choices/0/delta/function_call/{path}" in [loss.path for loss in stream.losses]


NAMELESS = {"type": "function_call", "call_id": "c1", "arguments": '{"a":1}'}


@pytest.mark.parametrize(
    "target", ["openai-responses", "anthropic-messages", "google-generate-content", "amazon-converse"]
)
@pytest.mark.parametrize("pieces", [['{"a":1}'], ['{"a"', ":1}"]], ids=["whole", "in pieces"])
def test_a_call_that_never_gets_a_name_is_sent_without_one(pieces: list[str], target: str) -> None:
    chunks = [chunk({"tool_calls": [fragment(0, "c1", None, text)]}) for text in pieces]
    events = [{"event": None, "data": each} for each in [*chunks, chunk({}, "tool_calls"), "[DONE]"]]
    made = list(ul.convert_stream(events, source="openai-chat", target=target))
    (call,) = ul.collect(ul.read_stream(made, target))["output"]
    assert (call["call_id"], call["name"], json.loads(call["arguments"])) == ("c1", "", {"a": 1})


@pytest.mark.parametrize("target", ["anthropic-messages", "amazon-converse"])
def test_a_name_that_an_api_requires_is_added(target: str) -> None:
    written = ul.write({"model": "m", "input": [NAMELESS]}, target)
    assert '"name": ""' in json.dumps(written.value)
    assert [loss.fate for loss in written.losses if loss.path.endswith("/name")] == ["added"]
    assert "lost" not in [loss.fate for loss in written.losses]
