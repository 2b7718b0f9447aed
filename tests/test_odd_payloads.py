"""What providers, SDKs and clients really send and no example shows: each test is one such payload, made by hand."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
CONTENTS, STEPS = "google-generate-content", "google-interactions"
Node = dict[str, Any]


def told(done: Any) -> set[tuple[str, str]]:
    """Where the report says that what, of the source, became of it."""
    return {(loss.path, loss.fate) for loss in done.losses if loss.side == "source"}


def messages_stream(*blocks: Node, usage: Node | None = None, reason: str = "end_turn") -> list[Node]:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    head |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 20, "output_tokens": 1}}
    end = {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage or {"output_tokens": 5}}
    datas = [{"type": "message_start", "message": head}, *blocks, {"type": "message_delta", **end}]
    return [{"event": data["type"], "data": data} for data in [*datas, {"type": "message_stop"}]]


# ---- streams --------------------------------------------------------------------------------------------------------


def test_a_text_that_opens_with_null_citations_gathers_those_that_follow() -> None:
    place = {"cited_text": "sky", "document_index": 0, "document_title": None}
    citation = {"type": "char_location", **place, "start_char_index": 4, "end_char_index": 7}
    events = messages_stream(
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "", "citations": None}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "blue"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": citation}},
        {"type": "content_block_stop", "index": 0},
    )
    (part,) = ul.collect(ul.read_stream(events, MESSAGES))["output"][0]["content"]
    assert part["text"] == "blue"
    assert [annotation["cited_text"] for annotation in part["annotations"]] == ["sky"]


def test_a_refusal_that_said_nothing_counts_no_output() -> None:
    # Where it opened with the usual one: the last word counts, as in the SDK's own accumulator.
    events = messages_stream(usage={"output_tokens": 0}, reason="refusal")
    usage = ul.collect(ul.read_stream(events, MESSAGES))["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (20, 0, 20)


# ---- what is named in a report --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "body", "path"),
    [
        (MESSAGES, {"model": "m", "max_tokens": 9, "messages": ["Hi", {"role": "user", "content": "q"}]},
         "/messages/0"),
        (STEPS, {"model": "m", "input": ["Hi", {"type": "user_input", "content": [{"type": "text", "text": "q"}]}]},
         "/input/0"),
        (CONTENTS, {"contents": ["Hi", {"role": "user", "parts": [{"text": "q"}]}]}, "/contents/0"),
    ],
)  # fmt: skip
def test_a_turn_that_is_no_object_is_named_by_its_place(source: str, body: Node, path: str) -> None:
    assert (path, "lost") in told(ul.convert(body, source=source, target=CHAT))


def test_a_response_schema_in_snake_case_is_named_as_it_is_spelled() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    config = {"response_mime_type": "application/json", "response_schema": schema}
    body = {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "generationConfig": config}
    done = ul.convert(body, source=CONTENTS, target=MESSAGES)
    assert ("/generationConfig/response_schema", "approximated") in told(done)


def test_objects_merged_into_one_name_what_each_demanded() -> None:
    one: Node = {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"], "title": "One"}
    other: Node = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    tool = {"name": "record", "input_schema": {"anyOf": [one, other, {"type": "null"}]}}
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}], "tools": [tool]}
    done = ul.convert(body, source=MESSAGES, target=CHAT)
    (function,) = done.value["tools"]
    assert set(function["function"]["parameters"]["properties"]) == {"value", "count"}
    assert "required" not in function["function"]["parameters"]
    at = "/tools/0/input_schema/anyOf/"
    lost = {f"{at}0/required/0", f"{at}0/title", f"{at}1/required/0", f"{at}2"}
    assert {(path, "lost") for path in lost} <= told(done)
    assert {(f"{at}0/type", "approximated"), (f"{at}1/type", "approximated")} <= told(done)


@pytest.mark.parametrize("target", [CHAT, RESPONSES, MESSAGES, STEPS])
def test_a_thought_instructs_nobody(target: str) -> None:
    thought = {"text": "hm", "thought": True}
    body = {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "systemInstruction": {"parts": [thought]}}
    done = ul.convert(body, source=CONTENTS, target=target)
    assert ("/systemInstruction/parts/0", "lost") in told(done)
    assert "hm" not in str(done.value)


def test_of_several_stops_the_blank_one_is_named() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}], "stop": ["END", "\n\n"]}
    done = ul.convert(body, source=CHAT, target=MESSAGES)
    assert done.value["stop_sequences"] == ["END"]
    assert ("/stop/1", "lost") in told(done)
