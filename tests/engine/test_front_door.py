"""Laws of kinds whose documents are shapes, at the front door: what is spelled and written, and how often."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.engine import Context, Shape, integer, json, located
from unified_llm_anthropic.messages.models import models

MESSAGES = "anthropic-messages"
PAGE: dict[str, Any] = {
    "data": [{"type": "model", "id": "m", "display_name": "", "created_at": None, "a/b": {"c": []}}],
    "has_more": None,
    "first_id": "",
}
COUNT = {"input_tokens": 12, "more": None}
ERROR: dict[str, Any] = {
    "type": "error",
    "error": {"type": "invalid_request_error", "message": "no", "details": {}},
    "request_id": None,
}


@pytest.mark.parametrize(("kind", "doc"), [("models", PAGE), ("error", ERROR), ("count_tokens_response", COUNT)])
def test_spelling_within_one_protocol(kind: str, doc: Any) -> None:
    done = ul.convert(doc, source=MESSAGES, target=MESSAGES, kind=kind)
    assert done.value == doc and not done.losses


def test_within_one_protocol_a_document_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    write = Shape.write_or_explain
    monkeypatch.setattr(Shape, "write_or_explain", lambda shape, c, x: calls.append(shape) or write(shape, c, x))
    ul.convert(PAGE, source=MESSAGES, target=MESSAGES, kind="models")
    assert calls == [models]


# In a process of its own: servers and threads that other tests started leave cycles of their own at any time.
COLLECTED = f"""
import gc

import unified_llm as ul

page, error = {PAGE!r}, {ERROR!r}
for target in ("{MESSAGES}", "openai-chat"):
    for kind, doc in (("models", page), ("error", error)):
        ul.convert(doc, source="{MESSAGES}", target=target, kind=kind)
gc.collect()
gc.disable()
ul.convert({{"input_tokens": 12}}, source="{MESSAGES}", target="{MESSAGES}", kind="count_tokens_response")
ul.convert(page, source="{MESSAGES}", target="{MESSAGES}", kind="models")
ul.convert(page, source="{MESSAGES}", target="openai-chat", kind="models")
print(gc.collect())
"""


def test_a_conversion_leaves_nothing_for_the_collector() -> None:
    assert subprocess.check_output([sys.executable, "-c", COLLECTED], text=True) == "0\n"


def test_an_edit_is_not_undone_by_the_spelling_of_its_document() -> None:
    doc = {"data": [], "has_more": False, "first_id": "", "last_id": None}
    read = {"models": [], "has_more": True, "extra": {MESSAGES: {"form": {"first_id": "empty_string"}}}}
    assert ul.convert(doc, source=MESSAGES, target=MESSAGES, kind="models").value == doc
    assert ul.write(read, MESSAGES, "models").value == {**doc, "has_more": True}


def test_what_is_added_is_told_where_it_stands_among_leftovers() -> None:
    source = Shape({"c": integer("c")}, name="source", node="usage")
    inner = {"c?": integer("c"), "d?": integer("d").required(4)}
    target = Shape({"a?": integer("a").required(3), "b?": inner}, name="target", node="usage")
    for kept in ({"rest": {"b": {"more": 1}, "zz": 2}}, {"form": {"b/e": "null", "f": "null"}}):
        x, doc = Context("p", "q"), {"c": 1}
        node = {**source.read(doc, x), "extra": {"q": kept}}
        wire = target.write(node, x)
        assert [loss.path for loss in located(x, source, node, doc, wire)] == ["/a", "/b/d"]


def test_leftovers_are_not_put_into_what_is_the_callers() -> None:
    schema: dict[str, Any] = {"type": "object"}
    shape = Shape({"schema": json("parameters", dict)}, name="tool", node="function")
    node = {"parameters": schema, "extra": {"q": {"rest": {"schema": {"more": 1}}}}}
    assert shape.write(node, Context("p", "q")) == {"schema": {"type": "object", "more": 1}}
    assert schema == {"type": "object"}


@pytest.mark.parametrize(
    "served", [{"input_tokens": 4, "output_tokens": 2}, {"input_tokens": 4, "output_tokens": None}]
)
def test_usage_is_split_and_summed(served: dict[str, Any]) -> None:
    usage = {**served, "cache_read_input_tokens": 3, "cache_creation_input_tokens": None, "speed": "fast"}
    body = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": [], "stop_reason": None}
    body = {**body, "stop_sequence": None, "usage": usage}
    read = ul.read(body, MESSAGES, "response").model_dump(exclude_unset=True)
    assert read["usage"]["input_tokens"] == 7 and ul.write(read, MESSAGES, "response").value == body
    read["usage"]["input_tokens_details"]["cached_tokens"] = 5
    assert ul.write(read, MESSAGES, "response").value["usage"]["input_tokens"] == 2
    assert ul.convert(body, source=MESSAGES, target=MESSAGES, kind="response").value == body


def test_parts_that_exceed_their_sum_are_cut_and_told() -> None:
    details = {"cached_tokens": 5, "cache_write_tokens": 5}
    usage = {"input_tokens": 7, "input_tokens_details": details, "output_tokens": 1, "total_tokens": 8}
    done = ul.write({"id": "m", "model": "c", "output": [], "usage": usage}, MESSAGES, "response")
    found = done.value["usage"]
    assert (found["input_tokens"], found["cache_read_input_tokens"], found["cache_creation_input_tokens"]) == (0, 5, 2)
    told = {loss.path: loss.detail for loss in done.losses}
    where = "/usage/input_tokens_details/cache_write_tokens"
    assert told[where] == "sent as 2: the parts exceed their sum"
    assert told["/usage/total_tokens"] == "omitted; derivable from other counts"
