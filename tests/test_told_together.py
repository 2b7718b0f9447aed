"""What a writer notes of many nodes at once means what it means of each: a query for one of them finds it.

A report is made of `writer.raw`, `.alike`, `.filled` and `.relaxed` alike; those who look into it beforehand (what is
refused, what is parked, what repair made up) are tested here with a node of each.
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.registry import adapter
from unified_llm.foundation.errors import CapabilityRefused
from unified_llm.foundation.secret import Secret
from unified_llm.losses import Losses
from unified_llm.losses.locator import locate
from unified_llm.passes.unsupported import refuse
from unified_llm.provenance.answer_envelope import parked

Node = dict[str, Any]
GOAL = adapter("openai-chat")


def written(*nodes: Node) -> Writer:
    """A writer that noted the loss of a leaf of each of these nodes, at once."""
    writer = Writer(GOAL, source="openai-responses")
    writer.alike[(("status",), "lost", "")] = list(nodes)
    return writer


def test_what_is_in_a_carried_answer_waits_there() -> None:
    inside, outside = ({"type": "message", "role": "assistant", "content": "x", "status": "done"} for _ in "12")
    writer = written(inside, outside)
    writer.secret = Secret(b"s")
    writer.context["carried"] = [[inside]]
    parked(writer)
    root = {"input": [inside, outside]}
    losses = locate(root, {}, writer, None, None, GOAL, "request")
    assert {loss.path: loss.fate for loss in losses} == {"/input/0/status": "parked", "/input/1/status": "lost"}


def test_nothing_is_said_of_carriers() -> None:
    carrier = {"type": "reasoning", "summary": [], "status": "done"}
    writer = written(carrier)
    writer.context["carriers"] = [carrier]
    parked(writer)
    assert locate({"input": [carrier]}, {}, writer, None, None, GOAL, "request") == Losses()


def test_nothing_is_lost_of_what_repair_made_up() -> None:
    made, said = ({"type": "function_call_output", "call_id": "c", "output": "x", "status": "done"} for _ in "12")
    writer = written(made, said)
    writer.context["made up"] = [made]
    losses = locate({"input": [made, said]}, {}, writer, None, None, GOAL, "request")
    assert [loss.path for loss in losses] == ["/input/1/status"]


def test_a_word_that_was_read_twice_is_lost_where_both_are() -> None:
    wire = {"word": "x"}
    one, other = {"type": "message", "role": wire["word"]}, {"type": "reasoning", "status": wire["word"]}
    reader = Reader(GOAL)
    reader.doc = wire
    for node, key in ((one, "role"), (other, "status")):
        reader.place(reader.made(node, wire), (key,), ("word",))
    writer = written(other)
    writer.report(one, ("role",), "lost")
    losses = locate({"input": [one, other]}, {}, writer, reader, None, GOAL, "request")
    assert {(loss.path, loss.fate) for loss in losses} == {("/word", "lost")}


def test_a_prompt_that_is_lost_at_once_is_refused() -> None:
    part = {"type": "input_audio", "data": "AAAA"}
    writer = Writer(GOAL, source="openai-responses")
    writer.alike[((), "lost", "it hears nothing")] = [part]
    root = {"input": [{"type": "message", "role": "user", "content": [part]}]}

    def find() -> Losses:
        return locate(root, {}, writer, None, None, GOAL, "request")

    with pytest.raises(CapabilityRefused) as refused:
        refuse(root, [part], find(), writer, "ignore", find)
    assert refused.value.path == "/input/0/content/0"


@pytest.mark.parametrize("target", ["anthropic-messages", "google-interactions"])
def test_a_refused_prompt_is_what_is_named_and_not_a_tool(target: str) -> None:
    """Messages takes no audio and Interactions no file of another provider's, and both no such pattern in a schema."""
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": "(?<=a)b"}}, "required": ["x"]}
    tool = {"type": "function", "name": "f", "description": "d", "parameters": schema, "strict": False}
    part = {"type": "input_file", "file_id": "file-1"}
    body = {"model": "m", "input": [{"role": "user", "content": [part]}], "tools": [tool]}
    with pytest.raises(CapabilityRefused) as refused:
        ul.convert(body, source="openai-responses", target=target)
    assert refused.value.path == "/input/0/content/0"
