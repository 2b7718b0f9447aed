"""The Responses adapter's streams, feature by feature."""

from __future__ import annotations

import importlib.util
import pathlib
from typing import Any

import pytest

import unified_llm as ul
from unified_llm import suite
from unified_llm_google.item_order import InTurn

P = "openai-responses"
STRICT = "openai-responses:open-responses"
Node = dict[str, Any]


def event(kind: str, **fields: Any) -> Node:
    return {"event": kind, "data": {"type": kind, **fields}}


def answer(**more: Any) -> Node:
    return {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", **more}


def validator(name: str) -> Any:
    from llm_comply.schema import SpecLoader

    spec = importlib.util.find_spec("llm_comply")
    assert spec is not None
    assert spec.origin is not None
    loader = SpecLoader(str(pathlib.Path(spec.origin).parent / "specs" / "openresponses.json"))
    return lambda value: loader.validate(value, name)


def stream(*events: Node, target: str = P, source: str = P, **options: Any) -> list[Node]:
    return list(ul.convert_stream(events, source=source, target=target, **options))


def kinds(events: list[Node]) -> list[Any]:
    return [e["data"] if type(e["data"]) is str else e["data"].get("type") for e in events]


CHUNKS = [
    {
        "event": None,
        "data": {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices},
    }
    for choices in (
        [{"index": 0, "delta": {"role": "assistant", "content": "He"}}],
        [{"index": 0, "delta": {"content": "i"}}],
        [{"index": 0, "delta": {}, "finish_reason": "stop"}],
    )
] + [{"event": None, "data": "[DONE]"}]


def test_a_chat_stream_has_the_whole_lifecycle() -> None:
    events = stream(*CHUNKS, source="openai-chat")
    assert kinds(events) == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [e["data"]["sequence_number"] for e in events] == list(range(10))
    ids = {e["data"]["item_id"] for e in events if "item_id" in e["data"]}
    assert ids == {events[2]["data"]["item"]["id"], events[-1]["data"]["response"]["output"][0]["id"]}
    assert events[-1]["data"]["response"]["output"][0]["content"][0]["text"] == "Hei"


def test_strict_streams_end_with_done() -> None:
    events = stream(*CHUNKS, source="openai-chat", target=STRICT)
    assert events[-1] == {"event": None, "data": "[DONE]"}
    assert kinds(events)[-2] == "response.completed"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_strict_events_pass_the_schema() -> None:
    from llm_comply.schema import SSE_EVENT_TO_SCHEMA

    for e in stream(*CHUNKS, source="openai-chat", target=STRICT)[:-1]:
        assert validator(SSE_EVENT_TO_SCHEMA[e["event"]])(e["data"]) == []


@pytest.mark.parametrize("name", ["reasoning", "reasoning_text"])
def test_both_names_of_raw_reasoning_are_read(name: str) -> None:
    at = {"item_id": "rs_1", "output_index": 0, "content_index": 0}
    events = [
        event("response.created", response={"id": "r"}),
        event("response.output_item.added", output_index=0, item={"type": "reasoning", "id": "rs_1", "summary": []}),
        event("response.content_part.added", **at, part={"type": "reasoning_text", "text": ""}),
        event(f"response.{name}.delta", **at, delta="Hm"),
    ]
    assert stream(*events) == events
    [canonical] = [e for e in ul.read_stream(events, P) if e["type"].endswith("delta")]
    assert canonical["type"] == "response.reasoning_text.delta"
    assert f"response.{'reasoning'}.delta" in kinds(stream(*events, target=STRICT))


def test_the_error_is_nested_with_flat_copies_and_a_failed_response() -> None:
    error = {"message": "slow", "type": "rate_limit_error", "code": "rate_limit_exceeded", "param": None}
    events = stream(CHUNKS[0], {"event": None, "data": {"error": error}}, source="openai-chat")
    failure, failed = events[-2:]
    assert failure["data"]["error"] == error
    assert (failure["data"]["code"], failure["data"]["message"]) == ("rate_limit_exceeded", "slow")
    assert failed["data"]["type"] == "response.failed"
    assert failed["data"]["response"]["error"] == {"code": "rate_limit_exceeded", "message": "slow"}


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"type": "server_error", "code": None, "message": "m", "param": None}},
        {"code": "server_error", "message": "m", "param": None},
        {"code": None, "message": "m", "error": {"type": "server_error", "code": None, "message": "m"}},
    ],
)
def test_nested_and_flat_errors_are_the_same_error(error: Node) -> None:
    events = [event("response.created", response={"id": "r"}), event("error", sequence_number=1, **error)]
    assert stream(*events) == events
    found = list(ul.read_stream(events, P))[1]["error"]
    assert (found["type"], found["message"]) == ("server_error", "m")


def test_event_names_absent_or_other_are_kept() -> None:
    events = [
        {"event": None, "data": {"type": "response.created", "response": {"id": "r"}}},
        {"event": "message", "data": {"type": "response.in_progress", "response": {"id": "r"}}},
    ]
    assert stream(*events) == events


def test_done_is_a_frame_without_meaning() -> None:
    events = [event("response.completed", response=answer(output=[])), {"event": None, "data": "[DONE]"}]
    run = ul.convert_stream(events, source=P, target="openai-chat")
    assert kinds(list(run))[-1] == "[DONE]"
    assert not [loss for loss in run.losses if loss.path.startswith("/1")]
    assert stream(*events) == events


def test_a_second_response_in_one_stream_is_kept_as_it_is() -> None:
    once = [event("response.created", response={"id": "r"}), event("response.completed", response=answer(output=[]))]
    assert stream(*once, *once) == [*once, *once]
    assert [e["type"] for e in ul.read_stream([*once, *once], P)][2:] == ["unified_llm:native"] * 2
    assert kinds(stream(*once, *once, target="openai-chat")).count("[DONE]") == 1


def test_items_that_only_the_end_tells_are_announced() -> None:
    item = {
        "type": "function_call",
        "id": "fc",
        "call_id": "c",
        "name": "f",
        "arguments": '{"a":1}',
        "status": "completed",
    }
    events = [
        event("response.created", response={"id": "r"}),
        event("response.completed", response=answer(output=[item])),
    ]
    assert stream(*events) == events
    found = [e["type"].removeprefix("response.") for e in ul.read_stream(events, P)]
    assert found == [
        "created",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]
    assert suite.identity(P, [{"id": "x", "protocol": P, "kind": "stream", "events": events}]) == []


def test_a_place_that_is_not_told_is_found() -> None:
    events = [
        event("response.created", response={"id": "r"}),
        event("response.output_item.added", item={"type": "function_call", "id": "a", "call_id": "1", "name": "f"}),
        event("response.output_item.added", item={"type": "function_call", "id": "b", "call_id": "2", "name": "g"}),
        event("response.function_call_arguments.delta", item_id="a", delta="{}"),
    ]
    assert stream(*events) == events
    places = [e.get("output_index") for e in ul.read_stream(events, P)]
    assert places[1:4] == [0, 1, 0]


def test_a_lowered_custom_tool_streams_as_the_client_declared_it() -> None:
    exchange = ul.Exchange(source=P, target="openai-chat", alias="fast", tools={"patch": "custom"})
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "patch", "arguments": '{"input":"go"}'}}
    chunk = {**CHUNKS[0]["data"], "choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}}]}
    events = stream({"event": None, "data": chunk}, *CHUNKS[2:], source="openai-chat", exchange=exchange)
    assert "response.function_call_arguments.delta" not in kinds(events)
    [delta] = [e["data"]["delta"] for e in events if e["data"]["type"] == "response.custom_tool_call_input.delta"]
    assert delta == "go"
    assert events[-1]["data"]["response"]["output"][0]["type"] == "custom_tool_call"
    assert {e["data"]["response"]["model"] for e in events if "response" in e["data"]} == {"fast"}


@pytest.mark.parametrize("names", [("a", "b"), (None, None)], ids=["named", "nameless"])
@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "whole"])
def test_two_answers_of_one_conversation_share_no_made_id(names: tuple[str | None, ...], streamed: bool) -> None:
    """openai-agents folds the items of a history that have one id: the last one stands for all."""
    history: list[Node] = [{"role": "user", "content": "Hi"}]
    seen: list[set[str]] = []
    for name in names:
        asked = ul.convert({"model": "m", "input": list(history)}, source=P, target="openai-chat")
        head = {} if name is None else {"id": name}
        if streamed:
            chunks = [
                each if each["data"] == "[DONE]" else {**each, "data": _named(each["data"], head)} for each in CHUNKS
            ]
            events = stream(*chunks, source="openai-chat", exchange=asked.exchange)
            whole = events[-1]["data"]["response"]
        else:
            choice = {"index": 0, "message": {"role": "assistant", "content": "Hey"}, "finish_reason": "stop"}
            answered = {**head, "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
            given: Any = {"source": "openai-chat", "target": P, "kind": "response", "exchange": asked.exchange}
            whole = ul.convert(answered, **given).value
        seen.append({whole["id"], *(item["id"] for item in whole["output"])})
        if name is None:  # a name distinguishes answers to one question, too
            history += [*whole["output"], {"role": "user", "content": "And?"}]
    assert all(len(ids) == 2 for ids in seen) and not seen[0] & seen[1]


def _named(chunk: Node, head: Node) -> Node:
    return {**{key: value for key, value in chunk.items() if key != "id"}, **head}


def test_an_image_between_texts_ends_the_message() -> None:
    """An image of another provider becomes an item of its own, and the texts around it are messages."""
    steps = [{"type": "text", "text": "a"}, {"type": "image", "data": "AAAA", "mime_type": "image/png"}]
    events = [
        {"event_type": "interaction.created", "interaction": {"id": "v1", "status": "in_progress", "model": "g"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
        *({"event_type": "step.delta", "index": 0, "delta": each} for each in (*steps, {"type": "text", "text": "b"})),
        {"event_type": "step.stop", "index": 0},
        {"event_type": "interaction.completed", "interaction": {"id": "v1", "status": "completed", "model": "g"}},
    ]
    source = [{"event": each["event_type"], "data": each} for each in events]
    told = [event["data"] for event in ul.convert_stream(source, source="google-interactions", target=P)]
    deltas = [each for each in told if each["type"] == "response.output_text.delta"]
    assert [(each["output_index"], each["content_index"], each["delta"]) for each in deltas] == [
        (0, 0, "a"),
        (2, 0, "b"),
    ]
    first, image, last = told[-1]["response"]["output"]
    assert [part["text"] for part in (*first["content"], *last["content"])] == ["a", "b"]
    assert (image["type"], image["result"]) == ("image_generation_call", "AAAA")


def test_an_end_with_an_empty_output_does_not_take_back_what_was_done() -> None:
    call = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
    events = [
        event("response.created", response=answer(status="in_progress", output=[])),
        event("response.output_item.added", output_index=0, item={**call, "arguments": "", "status": "in_progress"}),
        event("response.output_item.done", output_index=0, item={**call, "status": "completed"}),
        event("response.completed", response=answer(output=[])),
    ]
    assert [item["call_id"] for item in ul.collect(ul.read_stream(events, P))["output"]] == ["call_1"]
    assert stream(*events) == events


def _ends(events: list[Node]) -> list[tuple[str, str | None]]:
    done = [e["data"]["item"] for e in events if e["event"] == "response.output_item.done"]
    assert events[-1]["data"]["response"]["output"] == done
    return [(item["type"], item.get("status")) for item in done]


@pytest.mark.parametrize(("finish", "status"), [("length", "incomplete"), ("stop", "completed")])
def test_a_message_that_the_answer_breaks_off_in_is_incomplete(finish: str, status: str) -> None:
    """As OpenAI's own: in the end of the message, in the last event, and in an answer in one piece."""
    end = {
        "event": None,
        "data": {**CHUNKS[0]["data"], "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
    }
    assert _ends(stream(*CHUNKS[:2], end, CHUNKS[3], source="openai-chat")) == [("message", status)]
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hei"}, "finish_reason": finish}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    value = ul.convert(body, source="openai-chat", target=P, kind="response").value
    assert [item["status"] for item in value["output"]] == [status]


def test_a_call_that_breaks_off_is_incomplete_and_what_came_before_it_is_not() -> None:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": "b'}}
    choices = [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "length"}]
    broken = {"event": None, "data": {**CHUNKS[0]["data"], "choices": choices}}
    found = _ends(stream(CHUNKS[0], broken, CHUNKS[3], source="openai-chat"))
    assert found == [("message", "completed"), ("function_call", "incomplete")]


@pytest.mark.parametrize("arguments", ["", "{}", "null"])
def test_a_call_with_whole_arguments_is_completed(arguments: str) -> None:
    """Some servers have `null` as the arguments of a function without parameters."""
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    choices = [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]
    whole = {"event": None, "data": {**CHUNKS[0]["data"], "choices": choices}}
    assert _ends(stream(whole, CHUNKS[3], source="openai-chat")) == [("function_call", "completed")]


def test_a_message_that_breaks_off_is_incomplete_before_what_carries_its_signature() -> None:
    part = {"text": "Hei", "thoughtSignature": "c2ln"}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "MAX_TOKENS", "index": 0}
    body = {"candidates": [candidate], "modelVersion": "gemini-3-pro", "responseId": "r"}
    expected = [("message", "incomplete"), ("reasoning", None)]
    assert _ends(stream({"event": None, "data": body}, source="google-generate-content")) == expected
    whole = ul.convert(body, source="google-generate-content", target=P, kind="response").value["output"]
    assert [(item["type"], item.get("status")) for item in whole] == expected


def test_only_what_the_answer_breaks_off_in_is_incomplete() -> None:
    """Here the answer goes on behind the message, with a call that is in the last event alone."""
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hei"}]}
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": "b'}
    events: list[Node] = [
        {"type": "response.created", "response": {}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**said, "content": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": said},
        {"type": "response.incomplete", "response": {"output": [said, call], "finish": {"reason": "length"}}},
    ]
    last = list(ul.write_stream(events, P))[-1]["data"]["response"]["output"]
    assert [(item["type"], item["status"]) for item in last] == [
        ("message", "completed"),
        ("function_call", "incomplete"),
    ]


@pytest.mark.parametrize(("done", "order"), [(0, [0, 1]), (1, [1, 0]), (2, [1, 0])])
def test_a_listing_of_tools_goes_out_when_it_is_done(done: int, order: list[int]) -> None:
    """Before, inside and behind a message; only what is open is waited for."""
    listing: list[Node] = [
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "mcp_list_tools"}},
        {"type": "response.output_item.done", "output_index": 0, "item": {"type": "mcp_list_tools"}},
    ]
    message: list[Node] = [
        {"type": "response.output_item.added", "output_index": 1, "item": {"type": "message"}},
        {"type": "response.output_item.done", "output_index": 1, "item": {"type": "message"}},
    ]
    given = [listing[0], *message[:done], listing[1], *message[done:]]
    turns = InTurn()
    sent = [each for event in given for each in turns.feed(event)]
    assert not list(turns.rest())
    assert [each["output_index"] for each in sent] == [place for place in order for _ in range(2)]


@pytest.mark.parametrize(
    "target", ["amazon-converse", "anthropic-messages", "google-generate-content", "google-interactions"]
)
def test_text_does_not_wait_for_a_listing_of_tools_that_the_provider_leaves_open(target: str) -> None:
    """OpenAI ends one listing of several; the others are whole in the last event alone."""
    listing = {"id": "mcpl_1", "type": "mcp_list_tools", "server_label": "s", "tools": []}
    text = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
    said = {**text, "content": [{"type": "output_text", "text": "Hei", "annotations": []}]}
    at = {"output_index": 1, "content_index": 0, "item_id": "msg_1"}
    events = [
        event("response.created", response=answer(status="in_progress", output=[])),
        event("response.output_item.added", output_index=0, item=listing),
        event("response.mcp_list_tools.completed", output_index=0, item_id="mcpl_1"),
        event("response.output_item.added", output_index=1, item={**text, "status": "in_progress", "content": []}),
        event("response.output_text.delta", **at, delta="Hei", logprobs=[]),
        event("response.output_item.done", output_index=1, item=said),
        event("response.completed", response=answer(output=[listing, said])),
    ]
    read = []

    def coming() -> Any:
        for each in events:
            read.append(each)
            yield each

    sent = {str(each["data"]).count("Hei"): len(read) for each in ul.convert_stream(coming(), source=P, target=target)}
    assert sent[1] == 5  # with the event that has it
