"""Known bugs of other translators with streams of the Responses API, one test each."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

P = "openai-responses"
C = "openai-chat"
Node = dict[str, Any]


def event(kind: str, **fields: Any) -> Node:
    return {"event": kind, "data": {"type": kind, **fields}}


def chunk(delta: Node | None = None, finish: str | None = None, **more: Any) -> Node:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    data = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}
    return {"event": None, "data": data}


DONE = {"event": None, "data": "[DONE]"}
CREATED = event("response.created", sequence_number=0, response={"id": "r", "status": "in_progress", "output": []})


def completed(*output: Node) -> Node:
    return event("response.completed", response={"id": "r", "status": "completed", "output": list(output)})


def to_responses(*events: Node, target: str = P) -> list[Node]:
    return [e["data"] for e in ul.convert_stream(events, source=C, target=target)]


def to_chat(*events: Node) -> list[Any]:
    return [e["data"] for e in ul.convert_stream(events, source=P, target=C)]


def deltas(chunks: list[Any], key: str) -> list[Any]:
    found = [choice["delta"] for data in chunks if type(data) is dict for choice in data.get("choices") or ()]
    return [delta[key] for delta in found if delta.get(key)]


def call(**more: Any) -> Node:
    return {"type": "function_call", "id": "fc", "call_id": "c1", "name": "f", "arguments": "", **more}


@pytest.mark.parametrize("before", [[], ['{"a"'], ['{"a"', ":1}"]])
def test_trap_081_arguments_only_in_the_done_event(before: list[str]) -> None:
    at = {"item_id": "fc", "output_index": 0}
    events = [
        CREATED,
        event("response.output_item.added", output_index=0, item=call()),
        *(event("response.function_call_arguments.delta", **at, delta=piece) for piece in before),
        event("response.function_call_arguments.done", **at, arguments='{"a":1}'),
        event("response.output_item.done", output_index=0, item=call(arguments='{"a":1}')),
        completed(call(arguments='{"a":1}')),
    ]
    pieces = [x["function"]["arguments"] for calls in deltas(to_chat(*events), "tool_calls") for x in calls]
    assert "".join(pieces) == '{"a":1}'
    assert list(ul.convert_stream(events, source=P, target=P)) == events


def test_trap_080_arguments_in_the_chunk_that_opens_the_call() -> None:
    opening = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    events = to_responses(chunk({"content": "Hi"}), chunk({"tool_calls": [opening]}), chunk({}, "tool_calls"), DONE)
    [whole] = [e for e in events if e["type"] == "response.function_call_arguments.done"]
    assert whole["arguments"] == '{"a":1}'
    kinds = [e["type"] for e in events]
    text_ends = kinds.index("response.output_item.done")
    assert text_ends < len(kinds) - 1 - kinds[::-1].index("response.output_item.added")


def test_trap_112_created_is_always_first() -> None:
    listing = [
        event("response.mcp_list_tools.in_progress", output_index=0, item_id="mcpl"),
        CREATED,
        completed(),
    ]
    strict = list(ul.convert_stream(listing, source=P, target=f"{P}:open-responses"))
    assert (strict[0]["data"]["type"], strict[0]["data"]["sequence_number"]) == ("response.created", 0)
    assert list(ul.convert_stream(listing, source=P, target=P)) == listing


@pytest.mark.parametrize(("reason", "word"), [("max_output_tokens", "length"), ("content_filter", "content_filter")])
def test_trap_147_an_incomplete_answer_is_not_a_stop(reason: str, word: str) -> None:
    item = {"type": "message", "id": "m", "role": "assistant", "content": [], "status": "in_progress"}
    part = {"type": "output_text", "text": "He", "annotations": []}
    at = {"item_id": "m", "output_index": 0, "content_index": 0}
    response = {
        "id": "r",
        "status": "incomplete",
        "incomplete_details": {"reason": reason},
        "output": [{**item, "content": [part]}],
    }
    events = [
        CREATED,
        event("response.output_item.added", output_index=0, item=item),
        event("response.content_part.added", **at, part={**part, "text": ""}),
        event("response.output_text.delta", **at, delta="He"),
        event("response.incomplete", response=response),
    ]
    finishes = [c["finish_reason"] for data in to_chat(*events) if type(data) is dict for c in data["choices"]]
    assert finishes[-1] == word
    # What was still open is closed before the end.
    kinds = [e["type"] for e in ul.read_stream(events, P)]
    assert kinds[-4:] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.incomplete",
    ]


def test_trap_154_a_stream_without_usage_ends_with_integers() -> None:
    usage = to_responses(chunk({"content": "Hi"}), chunk({}, "stop"), DONE)[-1]["response"]["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (0, 0, 0)


def test_trap_161_no_done_for_the_clients_of_the_api() -> None:
    assert to_responses(chunk({"content": "Hi"}), chunk({}, "stop"), DONE)[-1]["type"] == "response.completed"
    assert to_responses(chunk({"content": "Hi"}), chunk({}, "stop"), DONE, target=f"{P}:open-responses")[-1] == "[DONE]"


def test_trap_162_an_unknown_event_is_handed_on() -> None:
    new = event("response.new.thing", sequence_number=4, of=[1])
    events = [CREATED, new, completed()]
    assert list(ul.convert_stream(events, source=P, target=P)) == events
    assert to_chat(*events)[-1] == "[DONE]"


def test_trap_164_the_whole_lifecycle_of_each_item() -> None:
    opening = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    events = to_responses(
        chunk({"role": "assistant", "reasoning_content": "r"}),
        chunk({"content": "t"}),
        chunk({"tool_calls": [opening]}),
        chunk({}, "tool_calls"),
        DONE,
    )
    assert [e["sequence_number"] for e in events] == list(range(len(events)))
    assert [e["type"] for e in events[:2]] == ["response.created", "response.in_progress"]
    opened = [e["item"]["id"] for e in events if e["type"] == "response.output_item.added"]
    ended = [e["item"]["id"] for e in events if e["type"] == "response.output_item.done"]
    assert len(opened) == 3
    assert opened == ended == [item["id"] for item in events[-1]["response"]["output"]]
    for stem in ("response.content_part", "response.reasoning_summary_part"):
        assert sum(e["type"] == f"{stem}.added" for e in events) == sum(e["type"] == f"{stem}.done" for e in events)


def test_trap_164_what_a_server_left_out_follows_from_the_end() -> None:
    text = {"type": "output_text", "text": "Hei", "annotations": []}
    message = {"type": "message", "id": "m", "role": "assistant", "content": [text]}
    chunks = to_chat(CREATED, completed(message, call(arguments="{}")))
    assert "".join(deltas(chunks, "content")) == "Hei"
    names = [c["function"].get("name") for calls in deltas(chunks, "tool_calls") for c in calls]
    assert [name for name in names if name] == ["f"]


def test_trap_164_a_delta_before_its_item() -> None:
    delta = event("response.output_text.delta", item_id="m", output_index=0, content_index=0, delta="Hei")
    text = {"type": "output_text", "text": "Hei", "annotations": []}
    message = {"type": "message", "id": "m", "role": "assistant", "content": [text]}
    found = [e["type"] for e in ul.read_stream([CREATED, delta, completed(message)], P)]
    assert found[1:4] == ["response.output_item.added", "response.content_part.added", "response.output_text.delta"]


def test_trap_165_one_id_for_one_item() -> None:
    def at(number: int) -> Node:
        return {"item_id": f"m{number}", "output_index": 0, "content_index": 0}

    text = {"type": "output_text", "text": "Hei", "annotations": []}
    item = {"type": "message", "role": "assistant", "status": "completed"}
    events = [
        CREATED,
        event("response.output_item.added", output_index=0, item={**item, "id": "m0", "content": []}),
        event("response.content_part.added", **at(1), part={**text, "text": ""}),
        event("response.output_text.delta", **at(2), delta="Hei"),
        event("response.output_text.done", **at(3), text="Hei"),
        event("response.content_part.done", **at(4), part=text),
        event("response.output_item.done", output_index=0, item={**item, "id": "m5", "content": [text]}),
        completed({**item, "id": "m6", "content": [text]}),
    ]
    assert list(ul.convert_stream(events, source=P, target=P)) == events
    strict = [e["data"] for e in ul.convert_stream(events, source=P, target=f"{P}:open-responses")][:-1]
    ids = {e["item_id"] for e in strict if "item_id" in e} | {e["item"]["id"] for e in strict if "item" in e}
    assert ids | {strict[-1]["response"]["output"][0]["id"]} == {"m0"}


def test_traps_168_169_a_failure_after_200_is_a_failure() -> None:
    broken = {"event": None, "data": {"error": {"code": 502, "message": "x"}, "choices": []}}
    events = to_responses(chunk({"content": "He"}), broken)
    assert [e["type"] for e in events[-2:]] == ["error", "response.failed"]
    assert events[-1]["response"]["error"]["message"] == "x"
    assert "response.completed" not in {e["type"] for e in events}


def test_trap_169_a_cut_stream_is_a_failure() -> None:
    events = to_responses(chunk({"content": "He"}))
    assert [e["type"] for e in events[-2:]] == ["error", "response.failed"]
    cut = [CREATED, event("response.output_item.added", output_index=0, item=call())]
    assert list(ul.convert_stream(cut, source=P, target=P)) == cut
    with pytest.raises(ul.RemoteProtocolError):
        ul.collect(ul.read_stream(cut, P))


def test_trap_175_one_response_id_in_all_events() -> None:
    events = to_responses(chunk({"content": "He"}), chunk({}, "stop"), DONE)
    assert {e["response"]["id"] for e in events if "response" in e} == {"c"}


def test_parts_of_reasoning_under_the_name_of_vllm() -> None:
    thought = {"type": "reasoning", "id": "rs", "summary": []}
    at, part = {"item_id": "rs", "output_index": 0, "content_index": 0}, {"type": "reasoning_text", "text": "r"}
    events = [
        CREATED,
        event("response.output_item.added", output_index=0, item={**thought, "content": None}),
        event("response.reasoning_part.added", **at, part={**part, "text": ""}),
        event("response.reasoning_text.delta", **at, delta="r"),
        event("response.reasoning_text.done", **at, text="r"),
        event("response.reasoning_part.done", **at, part=part),
        event("response.output_item.done", output_index=0, item={**thought, "content": [part]}),
        completed({**thought, "content": [part]}),
    ]
    assert list(ul.convert_stream(events, source=P, target=P)) == events
    done = ul.convert_stream(events, source=P, target=C)
    assert deltas([each["data"] for each in done], "reasoning_content") == ["r"]
    assert not [loss for loss in done.losses if loss.fate == "lost"]


def test_calls_without_ids_and_places_that_end_last() -> None:
    """llama.cpp: no places, no ids of calls, `encrypted_content` of nothing."""
    thought = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": ""}
    whole = {**thought, "content": [{"type": "reasoning_text", "text": "r"}]}
    calls = [{"type": "function_call", "call_id": f"fc_{i}", "name": "f", "arguments": "{}"} for i in (0, 1)]
    events = [CREATED, event("response.output_item.added", item={**thought, "content": []})]
    events.append(event("response.reasoning_text.delta", item_id="rs", delta="r"))
    for each in calls:
        events.append(event("response.output_item.added", item={**each, "arguments": ""}))
        events.append(event("response.function_call_arguments.delta", item_id=each["call_id"], delta="{}"))
    output = [whole, *calls]
    events += [*(event("response.output_item.done", item=item) for item in output), completed(*output)]
    assert list(ul.convert_stream(events, source=P, target=P)) == events
    done = ul.convert_stream(events, source=P, target=C)
    chunks = [each["data"] for each in done]
    assert not deltas(chunks, "reasoning_details") and deltas(chunks, "reasoning_content") == ["r"]
    assert not [loss for loss in done.losses if loss.fate in ("lost", "parked")]
