"""Traps of Messages answers, streams and errors; expected values are those of the trap, not of the code."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
Node = dict[str, Any]


def message(content: list[Node], stop: str = "end_turn", usage: Node | None = None, **more: Any) -> Node:
    usage = usage or {"input_tokens": 1, "output_tokens": 1}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
        **more,
    }


def completion(said: Node, finish: str = "stop") -> Node:
    choice = {"index": 0, "message": {"role": "assistant", "content": None, **said}, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def answer(body: Any, source: str, target: str = MESSAGES, kind: str = "response", **options: Any) -> ul.Converted:
    return ul.convert(body, source=source, target=target, kind=kind, **options)


def event(data: Node) -> Node:
    return {"event": data["type"], "data": data}


def stream(*inner: Node, stop: str | None = "end_turn", usage: Node | None = None, first: Node | None = None) -> Any:
    head = message([], usage=first)
    head["stop_reason"] = None
    delta = {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}}
    end = [{**delta, "usage": usage or {"output_tokens": 5}}, {"type": "message_stop"}]
    return [event(data) for data in ({"type": "message_start", "message": head}, *inner, *end)]


def block(index: int, content: Node, *deltas: Node) -> list[Node]:
    start = {"type": "content_block_start", "index": index, "content_block": content}
    middle = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [start, *middle, {"type": "content_block_stop", "index": index}]


def chunks(*deltas: Node, finish: str = "stop") -> list[Node]:
    out = []
    for delta, word in [*((delta, None) for delta in deltas), ({}, finish)]:
        choice = {"index": 0, "delta": delta, "finish_reason": word}
        out.append(
            {
                "event": None,
                "data": {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]},
            }
        )
    return [*out, {"event": None, "data": "[DONE]"}]


def to_messages(events: Any, source: str = CHAT) -> list[Node]:
    return [out["data"] for out in ul.convert_stream(events, source=source, target=MESSAGES)]


TOOL = {"type": "tool_use", "id": "t", "name": "f", "input": {}}


# ---- C: thinking in streams ------------------------------------------------------------------------------------------


def test_trap_027_redacted_thinking_in_a_stream() -> None:
    redacted = {"type": "redacted_thinking", "data": "D"}
    response = ul.collect(ul.read_stream(stream(*block(0, redacted)), MESSAGES))
    assert response["output"][0]["opaque"][0]["data"] == "D"
    assert ul.write(response, MESSAGES, "response").value["content"] == [redacted]


def test_trap_029_the_signature_of_a_stream_is_kept_and_emitted() -> None:
    empty = {"type": "thinking", "thinking": "", "signature": ""}
    said = block(0, empty, {"type": "thinking_delta", "thinking": "T"}, {"type": "signature_delta", "signature": "S"})
    response = ul.collect(ul.read_stream(stream(*said), MESSAGES))
    assert ul.write(response, MESSAGES, "response").value["content"] == [
        {"type": "thinking", "thinking": "T", "signature": "S"}
    ]
    again = [out["data"] for out in ul.write_stream(ul.decompose(response), MESSAGES)]
    kinds = [data["delta"]["type"] for data in again if data["type"] == "content_block_delta"]
    assert kinds == ["thinking_delta", "signature_delta"]


def test_traps_030_035_unsigned_reasoning_is_one_block_with_a_signature() -> None:
    data = to_messages(chunks({"reasoning_content": "Step 1. "}, {"reasoning_content": "Step 2."}, {"content": "x"}))
    starts = [d["content_block"] for d in data if d["type"] == "content_block_start"]
    assert [start["type"] for start in starts] == ["thinking", "text"]
    assert starts[0] == {"type": "thinking", "thinking": "", "signature": ""}
    deltas = [d["delta"] for d in data if d["type"] == "content_block_delta"]
    assert "".join(d.get("thinking", "") for d in deltas) == "Step 1. Step 2."
    assert sum(d["type"] == "signature_delta" for d in deltas) == 1


def test_trap_037_no_cache_control_on_thinking() -> None:
    item = {
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "T"}],
        "opaque": [{"kind": "signature", "data": "S", "origin": {"protocol": MESSAGES}}],
        "cache": {"mode": "explicit"},
    }
    done = ul.write({"model": "m", "input": [item]}, MESSAGES)
    assert done.value["messages"][0]["content"] == [{"type": "thinking", "thinking": "T", "signature": "S"}]


def test_trap_038_the_order_of_a_stream_is_kept() -> None:
    thought = {"type": "thinking", "thinking": "", "signature": ""}
    text = {"type": "text", "text": ""}
    said = [
        *block(0, thought, {"type": "thinking_delta", "thinking": "a"}, {"type": "signature_delta", "signature": "A"}),
        *block(1, text, {"type": "text_delta", "text": "b"}),
        *block(2, thought, {"type": "thinking_delta", "thinking": "c"}, {"type": "signature_delta", "signature": "C"}),
        *block(3, text, {"type": "text_delta", "text": "d"}),
    ]
    response = ul.collect(ul.read_stream(stream(*said), MESSAGES))
    assert [item["type"] for item in response["output"]] == ["reasoning", "message", "reasoning", "message"]


# ---- G: arguments in streams -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("deltas", [[], [{"type": "input_json_delta", "partial_json": ""}]])
def test_trap_074_a_call_without_arguments_in_a_stream(deltas: list[Node]) -> None:
    response = ul.collect(ul.read_stream(stream(*block(0, TOOL, *deltas), stop="tool_use"), MESSAGES))
    assert response["output"][0]["arguments"] == "{}"


def test_trap_077_truncated_arguments_are_no_call() -> None:
    cut = block(0, TOOL, {"type": "input_json_delta", "partial_json": '{"a":'})
    response = ul.collect(ul.read_stream(stream(*cut, stop="max_tokens"), MESSAGES))
    assert response["output"][0]["status"] == "incomplete"
    assert response["finish"]["reason"] == "length"


def test_trap_080_arguments_in_the_chunk_that_opens_the_call() -> None:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    data = to_messages(chunks({"content": "x"}, {"tool_calls": [call]}, finish="tool_calls"))
    kinds = [d["type"] for d in data]
    assert kinds[1:7] == ["content_block_start", "content_block_delta", "content_block_stop"] * 2
    assert data[5]["delta"] == {"type": "input_json_delta", "partial_json": '{"a":1}'}


def test_trap_081_arguments_only_at_the_end_arrive_once() -> None:
    item = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c1",
        "name": "f",
        "arguments": "",
        "status": "in_progress",
    }
    done = {**item, "arguments": '{"a":1}', "status": "completed"}
    response = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": [done]}
    events = [
        event(data)
        for data in (
            {"type": "response.created", "response": {**response, "output": [], "status": "in_progress"}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {
                "type": "response.function_call_arguments.done",
                "output_index": 0,
                "item_id": "fc_1",
                "arguments": '{"a":1}',
            },
            {"type": "response.output_item.done", "output_index": 0, "item": done},
            {"type": "response.completed", "response": response},
        )
    ]
    deltas = [d["delta"] for d in to_messages(events, RESPONSES) if d["type"] == "content_block_delta"]
    assert deltas == [{"type": "input_json_delta", "partial_json": '{"a":1}'}]


# ---- N: why it ended -------------------------------------------------------------------------------------------------


def test_trap_141_a_call_never_ends_in_a_plain_stop() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert answer(completion({"tool_calls": [call]}, "stop"), CHAT).value["stop_reason"] == "tool_use"


@pytest.mark.parametrize(
    ("word", "reason"),
    [("refusal", "refusal"), ("pause_turn", "pause"), ("model_context_window_exceeded", "context_window")],
)
def test_trap_145_each_end_has_a_meaning_of_its_own(word: str, reason: str) -> None:
    body = message([{"type": "text", "text": "x"}], stop=word)
    assert ul.read(body, MESSAGES, "response").finish.reason == reason
    assert answer(body, MESSAGES).value["stop_reason"] == word


def test_trap_146_a_refusal_is_text_and_a_stop_reason() -> None:
    done = answer(completion({"refusal": "No."}), CHAT)
    assert done.value["content"] == [{"type": "text", "text": "No.", "citations": []}]
    assert done.value["stop_reason"] == "refusal"


@pytest.mark.parametrize(("why", "word"), [("max_output_tokens", "max_tokens"), ("content_filter", "refusal")])
def test_trap_147_incomplete_is_not_an_end_turn(why: str, word: str) -> None:
    body = {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "incomplete",
        "incomplete_details": {"reason": why},
        "output": [],
    }
    assert answer(body, RESPONSES).value["stop_reason"] == word


# ---- O: usage --------------------------------------------------------------------------------------------------------


def test_trap_149_cached_input_is_in_the_sum_and_out_again() -> None:
    usage = {
        "input_tokens": 7,
        "cache_read_input_tokens": 9000,
        "cache_creation_input_tokens": 1000,
        "output_tokens": 5,
    }
    body = message([{"type": "text", "text": "x"}], usage=usage)
    there = answer(body, MESSAGES, RESPONSES).value["usage"]
    assert (there["input_tokens"], there["input_tokens_details"]["cached_tokens"]) == (10007, 9000)
    assert there["total_tokens"] == 10012
    assert answer(body, MESSAGES).value["usage"] == usage


@pytest.mark.parametrize(
    ("first", "last", "wanted"),
    [
        ({"input_tokens": 25, "output_tokens": 1}, {"output_tokens": 15}, (25, 15)),
        ({"input_tokens": 25, "output_tokens": 1}, {"input_tokens": 10682, "output_tokens": 15}, (10682, 15)),
        ({"input_tokens": 25, "output_tokens": 1}, {"input_tokens": 0, "output_tokens": 15}, (25, 15)),
        ({"input_tokens": 25, "output_tokens": 1}, {"input_tokens": None, "output_tokens": 15}, (25, 15)),
        ({"input_tokens": 0, "output_tokens": 0}, {"input_tokens": 9, "output_tokens": 15}, (9, 15)),
    ],
)
def test_trap_151_usage_is_cumulative(first: Node, last: Node, wanted: tuple[int, int]) -> None:
    usage = ul.collect(ul.read_stream(stream(first=first, usage=last), MESSAGES))["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == wanted


# ---- Q: framing ------------------------------------------------------------------------------------------------------


def test_trap_166_blocks_are_framed_one_after_the_other() -> None:
    calls = [
        {"index": i, "id": f"c{i}", "type": "function", "function": {"name": "f", "arguments": ""}} for i in (0, 1)
    ]
    more = [{"index": i, "function": {"arguments": "{}"}} for i in (1, 0)]
    data = to_messages(
        chunks(
            {"reasoning_content": "r"}, {"tool_calls": calls}, *({"tool_calls": [m]} for m in more), finish="tool_calls"
        )
    )
    assert [d["type"] for d in data].count("message_start") == 1
    open_: int | None = None
    for each in data:
        if each["type"] == "content_block_start":
            assert open_ is None
            open_ = each["index"]
        elif each["type"] == "content_block_delta":
            assert each["index"] == open_
        elif each["type"] == "content_block_stop":
            assert each["index"] == open_
            open_ = None
    indexes = [each["index"] for each in data if each["type"] == "content_block_start"]
    assert indexes == list(range(len(indexes))) and len(indexes) == 3
    assert [each["type"] for each in data[-2:]] == ["message_delta", "message_stop"]


@pytest.mark.parametrize("target", [CHAT, RESPONSES, MESSAGES, "google-generate-content", "amazon-converse"])
def test_trap_166_blocks_that_all_end_at_the_end(target: str) -> None:
    """As llama.cpp sends them: a text is open while a call begins."""
    thought = block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "r"})
    text = block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "x"})
    call = block(2, {"type": "tool_use", "id": "t", "name": "f"}, {"type": "input_json_delta", "partial_json": "{}"})
    blocks = (thought, text, call)
    events = stream(*(each for one in blocks for each in one[:-1]), *(one[-1] for one in blocks), stop="tool_use")
    out = list(ul.convert_stream(events, source=MESSAGES, target=target))
    if target == MESSAGES:
        assert out == events
    output = ul.collect(ul.read_stream(out, target))["output"]
    assert [item["type"] for item in output] == ["reasoning", "message", "function_call"]
    assert output[1]["content"][0]["text"] == "x" and output[2]["arguments"] == "{}"


def test_trap_166_a_message_ends_with_the_last_of_its_texts() -> None:
    texts = [block(i, {"type": "text", "text": ""}, {"type": "text_delta", "text": str(i)}) for i in (0, 1)]
    call = block(2, TOOL)
    cut = stream(*texts[0][:-1], *texts[1][:-1], *call, texts[1][-1])
    output = ul.collect(ul.read_stream(cut, MESSAGES))["output"]
    assert [part["text"] for part in output[0]["content"]] == ["0", "1"] and output[1]["call_id"] == "t"


def test_no_block_of_empty_text() -> None:
    data = to_messages(chunks({"role": "assistant", "content": ""}, {"content": "x"}))
    assert [d["type"] for d in data].count("content_block_start") == 1


# ---- R: errors -------------------------------------------------------------------------------------------------------


def test_trap_168_an_error_after_the_start_ends_in_an_error() -> None:
    events = stream()[:1] + [event({"type": "error", "error": {"type": "overloaded_error", "message": "m"}})]
    out = list(ul.convert_stream(events, source=MESSAGES, target=RESPONSES))
    assert not any(each["event"] == "response.completed" for each in out)
    with pytest.raises(ul.RemoteProtocolError, match="m"):
        ul.collect(ul.read_stream(events, MESSAGES))


def test_trap_169_a_cut_stream_is_an_error() -> None:
    events = stream(*block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "x"}))[:-2]
    with pytest.raises(ul.RemoteProtocolError):
        ul.collect(ul.read_stream(events, MESSAGES))
    chat = chunks({"content": "x"})[:-2]
    assert to_messages(chat)[-1]["type"] == "error"


def test_trap_170_errors_have_the_envelope_of_the_surface() -> None:
    body = {"error": {"message": "m", "type": "requests", "param": None, "code": "rate_limit_exceeded"}}
    done = answer(body, CHAT, kind="error", http={"status": 429})
    assert done.value["type"] == "error"
    assert (done.value["error"]["type"], done.value["error"]["message"]) == ("rate_limit_error", "m")
    assert done.http["status"] == 429


def test_trap_171_overload_and_retry_after() -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "m"}}
    http = {"status": 529, "headers": {"Retry-After": "7"}}
    done = answer(body, MESSAGES, kind="error", http=http)
    assert done.http["status"] == 529 and done.http["headers"]["retry-after"] == "7"
    weird = answer({"type": "error", "error": {"type": "weird", "message": "m"}}, MESSAGES, RESPONSES, kind="error")
    assert weird.value["error"]["message"] == "m" and weird.http["status"] == 500


def test_trap_172_context_overflow_is_recognizable() -> None:
    body = {"error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}}
    error = answer(body, CHAT, kind="error", http={"status": 400}).value["error"]
    assert error["type"] == "invalid_request_error" and "prompt is too long" in error["message"]


def test_a_second_answer_after_the_end_is_told_to_be_lost() -> None:
    events = stream(*block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"}))
    twice = events + events
    own = ul.convert_stream(twice, source=MESSAGES, target=MESSAGES)
    assert list(own) == twice
    assert not own.losses
    other = ul.convert_stream(twice, source=MESSAGES, target=CHAT)
    assert list(other) == list(ul.convert_stream(events, source=MESSAGES, target=CHAT))
    lost = {loss.path for loss in other.losses if loss.fate == "lost"}
    assert {f"/{number}/data" for number in range(len(events), 2 * len(events) - 1)} <= lost


def test_a_loss_in_a_stream_names_the_event_that_said_it() -> None:
    call = {"type": "mcp_tool_use", "id": "m", "name": "find", "server_name": "s", "input": {}}
    pieces = [{"type": "input_json_delta", "partial_json": text} for text in ('{"a":', "1}")]
    events = stream(*block(0, call, *pieces))
    done = ul.convert_stream(events, source=MESSAGES, target=CHAT)
    assert list(done)
    lost = {loss.path for loss in done.losses if loss.fate == "lost"}
    assert {"/1/data/content_block", "/2/data/delta/partial_json"} <= lost
