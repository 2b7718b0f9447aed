"""Traps of chat streams: tool calls in fragments, ends, usage, and data that is not a chunk at all."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from folds import FOLDS
from unified_llm.foundation.exchange import Exchange

CHAT = "openai-chat"
Node = dict[str, Any]


def chunk(delta: Node, finish: str | None = None, index: int = 0, **more: Any) -> Node:
    choices = [{"index": index, "delta": delta, "finish_reason": finish}]
    data = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}
    return {"event": None, "data": data}


DONE: Node = {"event": None, "data": "[DONE]"}


def bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: bare(inner) for key, inner in value.items() if key not in ("extra", "turn")}
    return [bare(inner) for inner in value] if isinstance(value, list) else value


def fold(*events: Node) -> Node:
    return dict(bare(ul.collect(ul.read_stream(events, CHAT))))


def calls(*deltas: Node, finish: str = "tool_calls") -> list[tuple[str, str, str]]:
    """Id, name and arguments of the calls that these tool-call deltas make, one chunk each."""
    out = fold(*[chunk({"tool_calls": [delta]}) for delta in deltas], chunk({}, finish), DONE)["output"]
    return [(item["call_id"], item["name"], item["arguments"]) for item in out]


def fragment(arguments: str, index: int | None = 0, call_id: str | None = None, name: str | None = None) -> Node:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    out: Node = {"function": function}
    if index is not None:
        out["index"] = index
    if call_id is not None:
        out["id"] = call_id
    return out


def emitted(*events: Node, exchange: Exchange | None = None) -> list[Any]:
    return [event["data"] for event in ul.write_stream(events, CHAT, exchange=exchange)]


def opening(**response: Any) -> Node:
    return {"type": "response.created", "response": {"id": "r", "created_at": 1, "model": "m", **response}}


def test_trap_007_a_signature_alone_after_the_arguments() -> None:
    signed = {"index": 0, "extra_content": {"google": {"thought_signature": "S"}}}
    out = fold(
        chunk({"tool_calls": [fragment("{}", 0, "c1", "f")]}), chunk({"tool_calls": [signed]}), chunk({}, "tool_calls")
    )["output"]
    assert len(out) == 1
    assert out[0]["opaque"][0]["data"] == "S"


@pytest.mark.parametrize(
    "delta", [{"reasoning": "r"}, {"reasoning_content": "r"}, {"reasoning": "r", "reasoning_content": "r"}]
)
def test_trap_044_one_reasoning_delta_whatever_the_field(delta: Node) -> None:
    events = ul.read_stream([chunk(delta), chunk({"content": "a"}, "stop"), DONE], CHAT)
    assert [e["delta"] for e in events if e["type"] == "response.reasoning_text.delta"] == ["r"]


def test_trap_046_think_tags_split_over_deltas_stay_text() -> None:
    out = fold(chunk({"content": "<thi"}), chunk({"content": "nk>a</think>b"}), chunk({}, "stop"), DONE)["output"]
    assert [part["text"] for part in out[0]["content"]] == ["<think>a</think>b"]


def test_trap_057_a_call_is_announced_once_id_and_name_are_known() -> None:
    deltas = [fragment('{"a"', 0, None, "f"), fragment(":1}", 0, "c1")]
    events = list(ul.read_stream([*[chunk({"tool_calls": [d]}) for d in deltas], chunk({}, "tool_calls"), DONE], CHAT))
    (added,) = [e["item"] for e in events if e["type"] == "response.output_item.added"]
    assert (added["call_id"], added["name"]) == ("c1", "f")
    assert "".join(e["delta"] for e in events if e["type"].endswith("arguments.delta")) == '{"a":1}'


def test_trap_080_text_before_and_arguments_in_the_opening_chunk_survive() -> None:
    out = fold(chunk({"content": "Hm"}), chunk({"tool_calls": [fragment('{"a":1}', 0, "c1", "f")]}), chunk({}, "stop"))
    assert out["output"][0]["content"][0]["text"] == "Hm"
    assert out["output"][1]["arguments"] == '{"a":1}'


def test_trap_081_arguments_only_in_the_done_item_are_sent_once() -> None:
    item = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": ""}
    whole = {**item, "arguments": '{"a":1}'}
    got = emitted(
        opening(),
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [whole]}},
    )
    sent = [c["delta"]["tool_calls"][0]["function"].get("arguments") for d in got[:-1] for c in d["choices"][:1]
            if "tool_calls" in c["delta"]]  # fmt: skip
    assert sent == ["", '{"a":1}']


def test_trap_083_reading_index_zero_for_every_call() -> None:
    got = calls(fragment("{}", 0, "c1", "f"), fragment("{}", 0, "c2", "g"), fragment("{}", 0, "c3", "f"))
    assert got == [("c1", "f", "{}"), ("c2", "g", "{}"), ("c3", "f", "{}")]


def test_trap_083_writing_counts_the_calls_of_a_choice() -> None:
    items = [{"type": "function_call", "call_id": f"c{n}", "name": "f", "arguments": "{}"} for n in range(3)]
    got = [event["data"] for event in ul.write_stream(ul.decompose({"id": "r", "output": items}), CHAT)]
    calls_ = [call for data in got[:-1] for choice in data["choices"] for call in choice["delta"].get("tool_calls", ())]
    assert [(c["index"], c["id"]) for c in calls_ if "id" in c] == [(0, "c0"), (1, "c1"), (2, "c2")]


def test_trap_084_index_missing() -> None:
    assert calls(fragment("{}", None, "c1", "f"), fragment('{"b":', None, "c2", "g"), fragment("2}", None)) == [
        ("c1", "f", "{}"),
        ("c2", "g", '{"b":2}'),
    ]


def test_trap_085_interleaved_fragments_find_their_call_by_index() -> None:
    got = calls(fragment('{"x":', 0, "a", "f"), fragment('{"y":', 1, "b", "g"), fragment("1}", 0), fragment("2}", 1))
    assert got == [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')]


def test_trap_085_interleaved_calls_are_written_one_after_the_other() -> None:
    def added(place: int) -> Node:
        item = {"type": "function_call", "call_id": f"c{place}", "name": "f", "arguments": ""}
        return {"type": "response.output_item.added", "output_index": place, "item": item}

    def delta(place: int, text: str) -> Node:
        return {"type": "response.function_call_arguments.delta", "output_index": place, "delta": text}

    def done(place: int, text: str) -> Node:
        item = {"type": "function_call", "call_id": f"c{place}", "name": "f", "arguments": text}
        return {"type": "response.output_item.done", "output_index": place, "item": item}

    got = emitted(
        opening(), added(0), added(1), delta(0, "{"), delta(1, "["), delta(0, "}"), done(0, "{}"), delta(1, "]"),
        done(1, "[]"), {"type": "response.completed", "response": {"id": "r"}},
    )  # fmt: skip
    order = [c["delta"]["tool_calls"][0]["index"] for d in got[:-1] for c in d["choices"] if "tool_calls" in c["delta"]]
    assert order == sorted(order)
    text = {0: "", 1: ""}
    for data in got[:-1]:
        for choice in data["choices"]:
            for one in choice["delta"].get("tool_calls", ()):
                text[one["index"]] += one["function"].get("arguments", "")
    assert text == {0: "{}", 1: "[]"}


def test_trap_087_a_stream_amounts_to_the_answer_in_one_piece() -> None:
    got = fold(
        chunk({"role": "assistant", "content": "", "reasoning_content": "t"}),
        chunk({"content": "Hm"}),
        chunk({"tool_calls": [fragment("{}", 0, "c1", "ls")]}),
        chunk({}, "tool_calls"),
        {"event": None, "data": {"id": "c", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}},
        DONE,
    )
    message = {
        "role": "assistant",
        "content": "Hm",
        "reasoning_content": "t",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}],
    }
    whole = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    }
    assert got == bare(ul.read(whole, CHAT, "response").model_dump(mode="json", exclude_unset=True))


def test_trap_088_tool_calls_without_any_call_is_a_stop() -> None:
    got = fold(chunk({"content": "x"}), chunk({"tool_calls": []}, "tool_calls"), DONE)
    assert got["finish"] == {"reason": "stop", "native": "tool_calls"}


def test_trap_141_stop_beside_a_call_means_tool_calls() -> None:
    got = fold(chunk({"tool_calls": [fragment("{}", 0, "c1", "f")]}), chunk({}, "stop"), DONE)
    assert got["finish"] == {"reason": "tool_calls", "native": "stop"}


def test_trap_146_refusal_deltas() -> None:
    events = list(ul.read_stream([chunk({"refusal": "N"}), chunk({"refusal": "o."}), chunk({}, "stop"), DONE], CHAT))
    assert [e["delta"] for e in events if e["type"] == "response.refusal.delta"] == ["N", "o."]
    assert events[-1]["response"]["output"][0]["content"][0]["refusal"] == "No."


@pytest.mark.parametrize(("reason", "word"), [("max_output_tokens", "length"), ("content_filter", "content_filter")])
def test_trap_147_incomplete_is_not_a_stop(reason: str, word: str) -> None:
    end = {"id": "r", "status": "incomplete", "incomplete_details": {"reason": reason}, "output": []}
    got = emitted(opening(), {"type": "response.incomplete", "response": end})
    assert [c["finish_reason"] for d in got[:-1] for c in d["choices"]][-1] == word


USAGE = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}


@pytest.mark.parametrize(("asked", "sent"), [(True, True), (False, False), (None, False)])
def test_trap_153_usage_only_where_it_was_asked_for(asked: bool | None, sent: bool) -> None:
    options = {} if asked is None else {"stream_options": {"include_usage": asked}}
    exchange = Exchange(source=CHAT, target="x", options=options)
    end = {"type": "response.completed", "response": {"id": "r", "output": [], "usage": USAGE}}
    got = emitted(opening(), end, exchange=exchange)
    assert [d["usage"]["total_tokens"] for d in got[:-1] if "usage" in d] == ([3] if sent else [])
    assert all(d["choices"] for d in got[:-1]) is not sent


def test_trap_153_chunks_without_choices_are_read() -> None:
    preamble = {"event": None, "data": {"id": "", "object": "", "model": "", "choices": [], "created": 0}}
    usage = {"event": None, "data": {"usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}}
    got = fold(preamble, chunk({"content": "x"}, "stop"), usage, DONE)
    assert (got["id"], got["usage"]["total_tokens"]) == ("c", 2)


def test_trap_161_done_is_not_proof_and_not_needed() -> None:
    assert fold(chunk({"content": "x"}), chunk({}, "stop"))["finish"] == {"reason": "stop"}
    with pytest.raises(ul.RemoteProtocolError):
        fold(chunk({"content": "x"}))


def test_trap_162_an_unknown_object_passes_and_means_nothing() -> None:
    foreign = {"event": None, "data": {"object": "billing.summary", "cost": 1}}
    events = [chunk({"content": "x"}), foreign, chunk({}, "stop"), DONE]
    assert list(ul.convert_stream(events, source=CHAT, target=CHAT)) == events
    assert fold(*events)["output"][0]["content"][0]["text"] == "x"


def test_trap_164_the_lifecycle_is_whole() -> None:
    events = ul.read_stream(
        [chunk({"reasoning": "r"}), chunk({"content": "t"}), chunk({"tool_calls": [fragment("{}", 0, "c", "f")]}),
         chunk({}, "tool_calls"), DONE], CHAT,
    )  # fmt: skip
    assert [event["type"].removeprefix("response.") for event in events] == [
        "created",
        "output_item.added", "content_part.added", "reasoning_text.delta",
        "reasoning_text.done", "content_part.done", "output_item.done",
        "output_item.added", "content_part.added", "output_text.delta",
        "output_text.done", "content_part.done", "output_item.done",
        "output_item.added", "function_call_arguments.delta",
        "function_call_arguments.done", "output_item.done",
        "completed",
    ]  # fmt: skip


def test_trap_168_an_error_chunk_fails_the_stream() -> None:
    error = {"event": None, "data": {"error": {"code": 502, "message": "x"}, "choices": []}}
    events = list(ul.read_stream([chunk({"content": "He"}), error], CHAT))
    assert events[-1]["type"] == "error"
    assert (events[-1]["error"]["type"], events[-1]["error"]["message"]) == ("server_error", "x")
    assert not any(event["type"] == "response.completed" for event in events)


def test_trap_169_a_failed_response_ends_in_an_error_chunk() -> None:
    failed = {
        "id": "r",
        "status": "failed",
        "error": {"type": "server_error", "code": "server_error", "message": "boom"},
    }
    got = emitted(opening(), {"type": "response.failed", "response": failed})
    assert got == [{"error": {"message": "boom", "type": "server_error", "param": None, "code": "server_error"}}]


def test_trap_177_every_chunk_has_the_alias() -> None:
    exchange = Exchange(source=CHAT, target=CHAT, alias="fast", options={"stream_options": {"include_usage": True}})
    events = [chunk({"content": "x"}), chunk({"content": "y"}), chunk({"content": "z"}), chunk({}, "stop"), DONE]
    out = [e["data"] for e in ul.convert_stream(events, source=CHAT, target=CHAT, exchange=exchange)]
    assert [data["model"] for data in out[:-1]] == ["fast"] * 4


def test_an_enveloped_thought_that_came_after_text_is_read_as_it_was() -> None:
    piece = {"kind": "encrypted_content", "data": "blob", "origin": {"protocol": "openai-responses"}}
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "opaque": [piece]}
    text = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}
    told = list(ul.write_stream(ul.decompose({"id": "r", "output": [text, thought]}), CHAT, secret="s"))
    message = FOLDS[CHAT](told)["choices"][0]["message"]
    got = ul.read({"model": "m", "messages": [message]}, CHAT, secret="s").dump()["input"]
    assert [item["type"] for item in got] == ["message", "reasoning"]
    assert got[1] == {**thought, "turn": 0}


def test_n_two_choices_interleave() -> None:
    got = fold(
        chunk({"content": "a"}), chunk({"content": "b"}, index=1), chunk({"content": "c"}),
        chunk({}, "stop"), chunk({}, "length", index=1), DONE,
    )  # fmt: skip
    assert got["output"][0]["content"][0]["text"] == "ac"
    assert got["choices"][0]["output"][0]["content"][0]["text"] == "b"
    assert got["choices"][0]["finish"] == {"reason": "length"}


def test_sources_come_in_one_delta() -> None:
    citation = {"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 1}
    part = {"type": "output_text", "text": "ab", "annotations": [citation, citation]}
    response = {"id": "r", "output": [{"type": "message", "role": "assistant", "content": [part]}]}
    got = [event["data"] for event in ul.write_stream(ul.decompose(response), CHAT)]
    found = [c["delta"]["annotations"] for d in got[:-1] for c in d["choices"] if "annotations" in c["delta"]]
    assert [len(each) for each in found] == [2]


def test_role_id_and_name_are_sent_once() -> None:
    response = {
        "id": "r",
        "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        ],
    }
    got = [event["data"] for event in ul.write_stream(ul.decompose(response), CHAT)]
    deltas = [choice["delta"] for data in got[:-1] for choice in data["choices"]]
    assert [delta["role"] for delta in deltas if "role" in delta] == ["assistant"]
    fragments = [call for delta in deltas for call in delta.get("tool_calls", ())]
    assert [call["id"] for call in fragments if "id" in call] == ["c"]
    assert [call["function"]["name"] for call in fragments if "name" in call["function"]] == ["f"]
    assert got[-1] == "[DONE]"
