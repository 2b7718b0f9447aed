"""Chat: which call a fragment belongs to, where servers send less, or something else, than OpenAI does."""

from __future__ import annotations

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
