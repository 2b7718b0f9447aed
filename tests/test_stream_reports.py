"""What a frame has and no item repeats is in the report, with the number of its frame.

The laws alter whole answers and decompose them into streams; here are the frames that no answer has. Wire formats:
docs.claude.com/en/api/messages-streaming, platform.openai.com/docs/api-reference (chat and responses streaming),
ai.google.dev/api/generate-content.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

import unified_llm as ul
from stream_reports import MESSAGE, chunk, lost, named, others, plain

Node = dict[str, Any]


@pytest.mark.parametrize("target", others("anthropic-messages"))
def test_a_delta_that_is_unknown(target: str) -> None:
    frames = named(
        {"type": "message_start", "message": MESSAGE},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "riddle_delta", "riddle": "?"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {}},
        {"type": "message_stop"},
    )
    assert "/3/data" in lost(frames, "anthropic-messages", target)
    assert "/3/data" not in lost([*frames[:3], *frames[4:]], "anthropic-messages", target)


def test_frames_that_say_nothing_are_not_told() -> None:
    frames = named(
        {"type": "message_start", "message": MESSAGE},
        {"type": "ping"},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {}},
        {"type": "message_stop"},
    )
    assert lost(frames, "anthropic-messages", "openai-responses") == set()


@pytest.mark.parametrize("target", others("openai-chat"))
def test_what_stands_beside_an_error_of_chat(target: str) -> None:
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    frames = plain(
        {**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": None}]},
        {**chunk, "error": {"message": "broke", "code": 502}, "trace": "t"},
    )
    assert "/1/data/trace" in lost(frames, "openai-chat", target)
    assert "/1/data/id" not in lost(frames, "openai-chat", target)


@pytest.mark.parametrize("target", others("google-generate-content"))
def test_who_else_speaks_and_what_stands_beside_an_error_of_generate_content(target: str) -> None:
    frames = plain(
        {"candidates": [{"content": {"parts": [{"text": "Hi"}], "role": "narrator"}, "index": 0}]},
        {"error": {"code": 500, "message": "broke", "status": "INTERNAL"}, "trace": "t"},
    )
    found = lost(frames, "google-generate-content", target)
    assert {"/0/data/candidates/0/content/role", "/1/data/trace"} <= found
    frames[0]["data"]["candidates"][0]["content"]["role"] = "model"
    assert "/0/data/candidates/0/content/role" not in lost(frames, "google-generate-content", target)


RESPONSE = {"id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress", "model": "m", "output": []}


@pytest.mark.parametrize("target", others("openai-responses"))
def test_events_that_say_what_no_item_says(target: str) -> None:
    frames = named(
        {"type": "response.created", "sequence_number": 0, "response": RESPONSE},
        {"type": "response.audio.delta", "sequence_number": 1, "delta": "AAAA"},
        {"type": "response.steer.accepted", "sequence_number": 2, "steer": {"id": "s"}},
        {"type": "response.completed", "sequence_number": 3, "response": {**RESPONSE, "status": "completed"}},
    )
    assert {"/1/data/delta", "/2/data/steer"} <= lost(frames, "openai-responses", target)
    assert not {path for path in lost(frames, "openai-responses", target) if path.endswith("sequence_number")}


def test_their_own_protocol_is_sent_them() -> None:
    events = [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
        {"type": "response.audio.delta", "delta": "AAAA"},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}},
    ]
    written = ul.write_stream(events, "openai-responses")
    assert "AAAA" in [each["data"].get("delta") for each in written]
    assert not [loss for loss in written.losses if loss.fate == "lost"]
    foreign = ul.write_stream(events, "openai-chat")
    assert "AAAA" not in str(list(foreign))
    assert [loss.path for loss in foreign.losses if loss.fate == "lost"] == ["/1/delta"]


# (Strict is what the API is by default, and an answer that repeats a default has no information.)
DECLARED = [{"type": "function", "name": name, "description": "d", "parameters": {}, "strict": False} for name in "ab"]
STRICT = ["/tools/0/strict", "/tools/1/strict"]


def test_what_is_told_of_many_nodes_at_once_is_told_in_each_event() -> None:
    frames = named(
        {"type": "response.created", "sequence_number": 0, "response": {**RESPONSE, "tools": deepcopy(DECLARED)}},
        {"type": "response.completed", "sequence_number": 1, "response": {**RESPONSE, "tools": deepcopy(DECLARED)}},
    )
    found = lost(frames, "openai-responses", "google-interactions")
    assert {f"/{number}/data/response{path}" for number in (0, 1) for path in STRICT} <= found


def test_what_is_told_of_many_nodes_at_once_is_told_of_canonical_events() -> None:
    answer = {"id": "r", "status": "completed", "model": "m", "output": [], "tools": DECLARED}
    stream = ul.write_stream(ul.decompose(answer), "google-interactions")
    assert list(stream)
    found = [loss.path for loss in stream.losses if loss.capability == "tools.strict"]
    assert found == [f"/{number}/response{path}" for number in (0, 2) for path in STRICT]


def test_what_is_added_at_many_places_at_once_is_told() -> None:
    said = {"token": "Hi", "logprob": -1.0, "top_logprobs": []}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    choice = {"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "logprobs": {"content": [said]}}
    frames = plain(
        {**chunk, "choices": [{**choice, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    )
    stream = ul.convert_stream(
        [*frames, {"event": None, "data": "[DONE]"}], source="openai-chat", target="openai-responses"
    )
    written = list(stream)
    added = [loss.path for loss in stream.losses if loss.capability == "output.logprobs"]
    assert [(written[int(path.split("/")[1])]["event"], path.split("/", 3)[3]) for path in added] == [
        ("response.content_part.done", "part/logprobs/0/bytes"),
        ("response.output_item.done", "item/content/0/logprobs/0/bytes"),
    ]


def fragment(function: Any = None, **more: Any) -> Node:
    return chunk({"tool_calls": [{"index": 0, **({"function": function} if function is not None else {}), **more}]})


@pytest.mark.parametrize("target", others("openai-chat"))
def test_fragments_of_a_call_that_say_what_no_call_says(target: str) -> None:
    frames = plain(
        fragment({"name": "f", "arguments": ""}, id="call_1", type="riddle"),
        fragment({"name": "g", "arguments": "{}"}, type="function"),
        fragment({"arguments": ["{}"]}),
        fragment("f"),
        chunk({"tool_calls": "f"}),
        chunk({"tool_calls": [7]}),
        chunk({"content": 7}),
        chunk({}, "tool_calls"),
    )
    call = "data/choices/0/delta/tool_calls"
    assert {
        f"/0/{call}/0/type", f"/1/{call}/0/function/name", f"/2/{call}/0/function/arguments", f"/3/{call}/0/function",
        f"/4/{call}", f"/5/{call}/0", "/6/data/choices/0/delta/content",
    } <= lost(frames, "openai-chat", target)  # fmt: skip
    clean = plain(
        fragment({"name": "f", "arguments": ""}, id="call_1", type="function"),
        fragment({"name": "f", "arguments": "{}"}, type="function"),
        fragment({"name": "", "arguments": ""}, id="", type=None),
        chunk({"tool_calls": None, "content": ""}),
        chunk({}, "tool_calls"),
    )
    assert not {path for path in lost(clean, "openai-chat", target) if "choices" in path}


def test_the_word_of_the_server_behind_is_named_where_it_stands() -> None:
    frames = plain(
        chunk({"content": "Hi"}, native_finish_reason=None), chunk({}, "stop", native_finish_reason="eos"),
    )  # fmt: skip
    assert "/1/data/choices/0/native_finish_reason" in lost(frames, "openai-chat", "openai-responses")


def test_an_empty_result_of_a_filter_replaces_none() -> None:
    """Azure filters each chunk, and its last one has an empty result."""
    found = {"hate": {"filtered": True, "severity": "high"}}
    frames = plain(
        chunk({"content": "Hi"}, content_filter_results=found), chunk({}, "stop", content_filter_results={}),
    )  # fmt: skip
    assert "/0/data/choices/0/content_filter_results" in lost(frames, "openai-chat", "openai-responses")


SECOND: dict[str, list[Node]] = {
    "openai-chat": plain(chunk({"content": "Hi"}), chunk({"content": "Ho"}, index=1), chunk({"content": "!"}, index=1)),
    "google-generate-content": plain(
        {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "Hi"}]}}]},
        {"candidates": [{"index": 1, "content": {"role": "model", "parts": [{"text": "Ho"}]}}]},
        {"candidates": [{"index": 1, "content": {"role": "model", "parts": [{"text": "!"}]}}]},
    ),
}


@pytest.mark.parametrize("source", SECOND)
@pytest.mark.parametrize("target", ["openai-responses", "anthropic-messages", "google-interactions"])
def test_a_second_answer_is_told_though_the_stream_breaks_off(source: str, target: str) -> None:
    stream = ul.convert_stream(SECOND[source], source=source, target=target)
    assert "Ho" not in str(list(stream))
    told = {loss.path for loss in stream.losses if loss.capability == "output.choices" and loss.fate == "lost"}
    for number, text in ((1, "Ho"), (2, "!")):
        assert any(path.startswith(f"/{number}/data/c") for path in told), text
    assert not any(path.startswith("/0/") for path in told)


@pytest.mark.parametrize("target", others("google-interactions"))
def test_a_token_to_go_on_with_in_an_update(target: str) -> None:
    frames = [
        {"event_type": "interaction.created", "interaction": {"id": "v1", "status": "in_progress", "model": "m"}},
        {
            "event_type": "interaction.status_update",
            "interaction_id": "v1",
            "status": "in_progress",
            "continuation_token": "dA==",
        },
        {"event_type": "interaction.completed", "interaction": {"id": "v1", "status": "completed", "model": "m"}},
    ]
    events = [{"event": frame["event_type"], "data": frame} for frame in frames]
    assert "/1/data/continuation_token" in lost(events, "google-interactions", target)
    assert list(ul.convert_stream(events, source="google-interactions", target="google-interactions")) == events


@pytest.mark.parametrize("target", ["openai-chat", "google-generate-content"])
def test_counts_that_only_the_start_of_a_message_has(target: str) -> None:
    usage = {"input_tokens": 1, "output_tokens": 1, "cache_creation": {"ephemeral_5m_input_tokens": 4}}
    frames = named(
        {"type": "message_start", "message": {**MESSAGE, "usage": usage}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    )
    assert "/0/data/message/usage/cache_creation" in lost(frames, "anthropic-messages", target)


@pytest.mark.parametrize("target", others("google-generate-content"))
def test_counts_that_only_the_first_frame_of_generate_content_has(target: str) -> None:
    answer = {"role": "model", "parts": [{"text": "Hi"}]}
    frames = plain(
        {"candidates": [{"content": answer}], "usageMetadata": {"trafficType": "ON_DEMAND"}},
        {"candidates": [{"content": answer, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1}},
    )
    assert "/0/data/usageMetadata/trafficType" in lost(frames, "google-generate-content", target)


@pytest.mark.parametrize("told", ["stream", "response"])
def test_what_the_end_of_a_second_answer_says(told: str) -> None:
    def candidate(index: int) -> Node:
        content = {"role": "model", "parts": [{"text": "Hi"}]}
        return {"index": index, "content": content, "finishReason": "SPII", "finishMessage": f"why {index}"}

    body = {"candidates": [candidate(0), candidate(1)], "responseId": "r", "modelVersion": "m"}
    if told == "stream":
        found, base = lost(plain(body), "google-generate-content", "openai-chat"), "/0/data"
    else:
        done = ul.convert(body, source="google-generate-content", target="openai-chat", kind="response")
        found, base = {loss.path for loss in done.losses if loss.fate == "lost"}, ""
    assert {f"{base}/candidates/0/finishMessage", f"{base}/candidates/1/finishMessage"} == found


def test_what_another_answer_has_beside_its_end() -> None:
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}
    other = {"index": 1, "output": [message], "finish": {"reason": "stop"}, "riddle": "?"}
    answer = {"id": "r", "model": "m", "output": [message], "finish": {"reason": "stop"}, "choices": [other]}
    done = ul.write(answer, "openai-chat", "response")
    assert "/choices/0/riddle" in {loss.path for loss in done.losses if loss.fate == "lost"}


def test_usage_that_a_server_keeps_under_a_key_of_its_own() -> None:
    counts = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, "queue_time": 0.5}
    frames = plain(
        {**chunk({"content": "Hi"}), "x_acme": {"id": "req_1"}},
        {**chunk({}, "stop"), "x_acme": {"id": "req_1", "usage": counts}},
    )
    usage = ul.collect(ul.read_stream(frames, "openai-chat"))["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (1, 2)
    found = lost(frames, "openai-chat", "openai-responses")
    assert {path for path in found if "x_acme" in path} == {"/0/data/x_acme", "/1/data/x_acme/usage/queue_time"}
    assert list(ul.convert_stream(frames, source="openai-chat", target="openai-chat")) == frames


@pytest.mark.parametrize("target", others("google-generate-content"))
def test_pieces_of_arguments_that_make_none(target: str) -> None:
    """cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc"""
    pieces = [
        {"jsonPath": "$.city", "stringValue": "Oslo", "riddle": 1},
        {"jsonPath": "$.city[0]", "stringValue": "x"},
        {"stringValue": "nowhere"},
        {"jsonPath": "$.day", "nullValue": "NULL_VALUE"},
    ]
    call = {"functionCall": {"name": "f", "partialArgs": pieces}}
    frames = plain(
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hm"}, call]}, "finishReason": "STOP"}]}
    )
    args = "/0/data/candidates/0/content/parts/1/functionCall/partialArgs"
    found = {path for path in lost(frames, "google-generate-content", target) if "partialArgs" in path}
    assert found == {f"{args}/0/riddle", f"{args}/1", f"{args}/2"}
    assert list(ul.convert_stream(frames, source="google-generate-content", target="google-generate-content")) == frames


def test_a_ping_that_says_something() -> None:
    frames = named({"type": "message_start", "message": MESSAGE}, {"type": "ping", "riddle": 1}, {"type": "ping"})
    stream = ul.convert_stream(frames, source="anthropic-messages", target="openai-chat")
    assert list(stream) and [loss.path for loss in stream.losses if "/1/" in loss.path] == ["/1/data/riddle"]


BROKEN = {
    "openai-chat": (
        {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "provider": "P", "choices": []},
        {"error": {"message": "no", "code": 500}},
        "/0/data/provider",
    ),
    "google-interactions": (
        {"event_type": "interaction.created", "interaction": {"id": "i", "status": "in_progress", "provider": "P"}},
        {"event_type": "error", "error": {"code": "api_error", "message": "no"}},
        "/0/data/interaction/provider",
    ),
    "openai-responses": (
        {"type": "response.created", "response": {"id": "r", "object": "response", "created_at": 1, "provider": "P"}},
        {"type": "error", "code": "server_error", "message": "no", "param": None},
        "/0/data/response/provider",
    ),
}


@pytest.mark.parametrize("target", ["anthropic-messages", "google-generate-content"])
@pytest.mark.parametrize("source", sorted(BROKEN))
def test_what_was_said_first_is_reported_though_the_stream_ends_in_an_error(source: str, target: str) -> None:
    *said, path = BROKEN[source]
    events = [{"event": data.get("type") or data.get("event_type"), "data": data} for data in said]
    stream = ul.convert_stream(events, source=source, target=target)
    list(stream)
    assert [loss.fate for loss in stream.losses if loss.path == path] == ["lost"]


def test_a_lone_second_candidate_keeps_its_end() -> None:
    def frame(**more: Any) -> dict[str, Any]:
        candidate = {"content": {"role": "model", "parts": [{"text": "B"}]}, "index": 1, **more}
        return {"event": None, "data": {"candidates": [candidate]}}

    events = [frame(), frame(finishReason="STOP")]
    protocol = "google-generate-content"
    assert list(ul.convert_stream(events, source=protocol, target=protocol)) == events
