"""The grammar of canonical events, and its two folds."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.registry import adapter
from unified_llm.streams.collect_and_decompose import collect, decompose
from unified_llm.streams.grammar import BUILDS, CLASS, FRAME, ITEM, RESPONSE, Grammar

Event = dict[str, Any]

CREATED: Event = {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}}
ADDED: Event = {
    "type": "response.output_item.added",
    "output_index": 0,
    "item": {"type": "message", "role": "assistant", "content": []},
}
PART: Event = {
    "type": "response.content_part.added",
    "output_index": 0,
    "content_index": 0,
    "part": {"type": "output_text", "text": ""},
}
DELTA: Event = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "hi"}
DONE: Event = {
    "type": "response.output_item.done",
    "output_index": 0,
    "item": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
}
COMPLETED: Event = {"type": "response.completed", "response": {"id": "r", "status": "completed"}}
WHOLE = [CREATED, ADDED, PART, DELTA, DONE, COMPLETED]


def test_collect_takes_done_items_for_the_truth() -> None:
    assert collect(WHOLE) == {"id": "r", "status": "completed", "output": [DONE["item"]]}


def test_collect_adds_up_deltas_where_no_done_event_came() -> None:
    assert collect([CREATED, ADDED, PART, DELTA, DELTA, COMPLETED])["output"][0]["content"] == [
        {"type": "output_text", "text": "hihi"}
    ]


def test_collect_lets_the_terminal_events_output_win() -> None:
    final = {"type": "response.completed", "response": {"id": "r", "output": []}}
    assert collect([CREATED, ADDED, DONE, final])["output"] == []


def test_collect_takes_the_events_of_a_client() -> None:
    stream = ul.Client(model="local/echo").responses.create(input="[[reason Hm.]] Hello there.", stream=True)
    answer = ul.collect(stream)
    assert answer == stream.get_final_response().dump()
    with pytest.raises(ul.InvalidBody, match="/0"):
        ul.collect([None])  # type: ignore[list-item]


def test_collect_keeps_choices_apart() -> None:
    other = [{**event, "choice": 1} for event in (ADDED, PART, DELTA)]
    response = collect([CREATED, ADDED, *other, DONE, COMPLETED])
    assert len(response["output"]) == 1
    assert response["choices"] == [
        {
            "index": 1,
            "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}],
        }
    ]


@pytest.mark.parametrize(
    "events",
    [
        [],
        WHOLE[:-1],
        [CREATED, {"type": "error", "error": {"message": "overloaded"}}],
        [ADDED],
        [CREATED, DELTA],
        [CREATED, ADDED, ADDED],
        [CREATED, ADDED, DONE, DELTA],
        [*WHOLE, DELTA],
        [*WHOLE, COMPLETED],
        [CREATED, DONE],
    ],
    ids=[
        "empty",
        "cut off",
        "error",
        "no opening",
        "no item",
        "added twice",
        "delta after done",
        "delta after end",
        "two ends",
        "done unopened",
    ],
)
def test_what_the_grammar_does_not_know_is_an_error_and_never_a_success(events: list[Event]) -> None:
    with pytest.raises(ul.RemoteProtocolError):
        collect(events)


def test_frames_and_unknown_events_may_come_anywhere() -> None:
    aside = [{"type": FRAME}, {"type": "acme:trace", "x": 1}]
    assert collect([*aside, CREATED, *aside, *WHOLE[1:], *aside]) == collect(WHOLE)


def test_an_error_may_be_followed_by_a_failed_end_only() -> None:
    error: Event = {"type": "error", "error": {"message": "m"}}
    failed = {"type": "response.failed", "response": {"id": "r", "status": "failed", "error": {"message": "m"}}}
    assert collect([CREATED, error, failed])["status"] == "failed"
    grammar = Grammar(local=True)
    grammar.feed(CREATED)
    grammar.feed(error)
    with pytest.raises(ul.LocalProtocolError):
        grammar.feed(ADDED)


def test_the_tables_name_no_state_that_cannot_be_reached() -> None:
    for table, start in ((RESPONSE, "idle"), (ITEM, "absent")):
        reached = {start}
        for _ in table:
            reached |= {after for (before, _), after in table.items() if before in reached}
        assert reached == {before for before, _ in table} | set(table.values())
    assert {class_ for _, class_ in RESPONSE} == set(CLASS.values()) | {"inside"}


RESPONSE_DOC: dict[str, Any] = {
    "id": "r",
    "model": "m",
    "status": "completed",
    "output": [
        {
            "type": "reasoning",
            "id": "rs",
            "summary": [{"type": "summary_text", "text": "s"}],
            "content": [{"type": "reasoning_text", "text": "t"}],
        },
        {
            "type": "message",
            "id": "msg",
            "role": "assistant",
            "status": "completed",
            "content": [
                {
                    "type": "output_text",
                    "text": "hi",
                    "annotations": [
                        {"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 1}
                    ],
                },
                {"type": "refusal", "refusal": "no"},
            ],
        },
        {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "d", "name": "g", "input": "raw"},
        {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "q"}},
    ],
    "choices": [
        {
            "index": 1,
            "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "other"}]}],
        }
    ],
    "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
}


def test_collect_undoes_decompose() -> None:
    assert collect(decompose(RESPONSE_DOC)) == RESPONSE_DOC


def test_the_deltas_of_decompose_alone_add_up_to_the_response() -> None:
    events = [e for e in decompose(RESPONSE_DOC) if not e["type"].endswith(".done")]
    terminal = events.pop()
    bare = {k: v for k, v in terminal["response"].items() if k not in ("output", "choices")}
    reasoning, message, call, custom, _ = collect([*events, {**terminal, "response": bare}])["output"]
    assert reasoning["content"][0]["text"] == "t" and reasoning["summary"][0]["text"] == "s"
    assert [part.get("text", part.get("refusal")) for part in message["content"]] == ["hi", "no"]
    assert message["content"][0]["annotations"][0]["url"] == "u"
    assert (call["arguments"], custom["input"]) == ("{}", "raw")


@pytest.mark.parametrize(
    ("changes", "last"),
    [
        ({}, "response.completed"),
        ({"status": "incomplete"}, "response.incomplete"),
        ({"status": None, "finish": {"reason": "length"}}, "response.incomplete"),
        ({"status": "failed", "error": {"message": "m"}}, "response.failed"),
        ({"status": "cancelled"}, "response.failed"),
    ],
)
def test_decompose_ends_as_the_response_did(changes: dict[str, Any], last: str) -> None:
    response = {k: v for k, v in {**RESPONSE_DOC, **changes}.items() if v is not None}
    assert list(decompose(response))[-1]["type"] == last


def test_every_event_of_decompose_is_legal_and_every_build_has_a_delta_and_a_done() -> None:
    grammar = Grammar(local=True)
    for event in decompose(RESPONSE_DOC):
        grammar.feed(event)
    grammar.close()
    assert len(BUILDS) >= 8


@pytest.mark.parametrize("protocol", ul.protocols())
@pytest.mark.parametrize("event", [{"id": "c", "choices": []}, {"event": "x"}, "data: {}", None, []])
def test_what_is_not_a_wire_event_is_named_by_its_number(protocol: str, event: Any) -> None:
    for read in (ul.read_stream, lambda events, source: ul.convert_stream(events, source=source, target="openai-chat")):
        with pytest.raises(ul.InvalidBody, match="an object with its `data`") as raised:
            list(read([event], protocol))
        assert raised.value.path == "/0"


def test_a_wire_event_may_come_without_a_name() -> None:
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []}
    events = [{"data": chunk}, {"data": "[DONE]"}]
    named = [{"event": None, **event} for event in events]
    assert list(ul.read_stream(events, "openai-chat")) == list(ul.read_stream(named, "openai-chat"))


def test_what_is_added_to_the_usage_at_the_end_is_told_where_it_stands() -> None:
    """The counts that Messages demands and a chat stream has not are those of `message_delta`, where a client adds up.

    https://docs.claude.com/en/api/messages-streaming
    """
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    choice = {"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    frames = [{"event": None, "data": {**chunk, "choices": [choice]}}, {"event": None, "data": "[DONE]"}]
    stream = ul.convert_stream(iter(frames), source="openai-chat", target="anthropic-messages")
    kinds = [event["event"] for event in stream]
    added = [loss.path for loss in stream.losses if loss.fate == "added" and "usage" in loss.capability]
    assert added == [f"/{kinds.index('message_delta')}/data/usage"]


@pytest.mark.parametrize("source", ["anthropic-messages", "google-generate-content", "google-interactions"])
def test_frames_are_kept_for_their_own_protocol_alone(source: str) -> None:
    """Another protocol's writer sends none of them again: `Reader.frames`."""
    answer = {
        "id": "r", "status": "completed", "model": "m",
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}],
    }  # fmt: skip
    frames = list(ul.write_stream(ul.decompose(answer), source))
    streams = adapter(source).streams
    kept = {}
    for own in (True, False):
        reading = Reader(adapter(source))
        reading.frames = own
        reader = streams.reader(reading)
        events = [event for frame in frames for event in reader.feed(frame)] + reader.close()
        kept[own] = ["frame" in event.get("extra", {}).get(source, {}) for event in events]
        assert "Hi" in [event.get("delta") for event in events]
    assert any(kept[True]) and not any(kept[False])
