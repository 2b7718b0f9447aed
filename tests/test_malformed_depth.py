"""How deep a document is nested is its sender's to choose, so it is bounded where documents come in."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import unified_llm as ul
from nesting import nested
from unified_llm.foundation.json_codec import detached, load_text, parse
from unified_llm.foundation.json_paths import MAX_DEPTH

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
CONTENTS, STEPS = "google-generate-content", "google-interactions"
PROTOCOLS = [CHAT, RESPONSES, MESSAGES, CONTENTS, STEPS]
Node = dict[str, Any]
MESSAGE: Node = {"type": "message", "role": "assistant", "content": []}


def text_of(depth: int) -> bytes:
    return b'{"a":' * (depth - 1) + b"{}" + b"}" * (depth - 1)


@pytest.mark.parametrize("make", [nested, lambda depth: nested(depth, "\ud800"), lambda depth: [nested(depth - 1)]])
def test_the_depth_of_values_is_bounded(make: Any) -> None:
    detached(make(MAX_DEPTH))
    for depth in (MAX_DEPTH + 1, 300, 2_000, 100_000):
        with pytest.raises(ul.InvalidBody, match="nested deeper than 200 levels") as caught:
            detached(make(depth))
        assert caught.value.path.count("/") == MAX_DEPTH


@pytest.mark.parametrize("beside", [b"1", b"123456789012345678901234567890", b'"\\ud800"'])
def test_the_depth_of_texts_is_bounded(beside: bytes) -> None:
    def text(depth: int) -> bytes:
        return b'{"z":' + beside + b',"a":' + text_of(depth - 1) + b"}"

    parse(text(MAX_DEPTH))
    load_text(text(MAX_DEPTH))
    for depth in (MAX_DEPTH + 1, 300, 2_000, 100_000):
        with pytest.raises(ul.InvalidBody, match="nested deeper than 200 levels"):
            parse(text(depth))
        with pytest.raises(ValueError):
            load_text(text(depth))


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ul.InvalidBody, match="nested deeper"):
        detached({"model": "m", "messages": loop})


def in_frames(count: int, work: Any) -> Any:
    """What `work` gives when the caller's own stack is deep."""
    return in_frames(count - 1, work) if count else work()


def deep_requests(depth: int) -> dict[str, Node]:
    value = nested(depth - 30)
    schema: Node = {}
    for _ in range((depth - 30) // 2):
        schema = {"type": "object", "properties": {"a": schema}}
    arguments = json.dumps(value)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    function = {"name": "f", "parameters": schema}
    return {
        CHAT: {
            "model": "m",
            "messages": [
                {"role": "user", "content": "q"},
                {"role": "assistant", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": "1"},
            ],
            "tools": [{"type": "function", "function": function}],
            "zz": value,
        },
        CONTENTS: {
            "contents": [
                {"role": "user", "parts": [{"text": "q"}]},
                {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "f", "args": value}}]},
                {"role": "user", "parts": [{"functionResponse": {"id": "c", "name": "f", "response": value}}]},
            ],
            "tools": [{"functionDeclarations": [function]}],
            "generationConfig": {"responseMimeType": "application/json", "responseSchema": schema},
        },
    }


@pytest.mark.parametrize("target", PROTOCOLS)
@pytest.mark.parametrize("source", [CHAT, CONTENTS])
def test_what_is_not_too_deep_is_converted_from_a_deep_stack(source: str, target: str) -> None:
    body = deep_requests(MAX_DEPTH)[source]
    done = in_frames(150, lambda: ul.convert(body, source=source, target=target))
    assert len(json.dumps(done.value)) > 1_000
    if source == target:
        assert done.value == body


@pytest.mark.parametrize("target", PROTOCOLS)
@pytest.mark.parametrize("depth", [250, 500, 950])
def test_a_request_that_is_too_deep_is_refused(depth: int, target: str) -> None:
    for body in (deep_requests(depth)[CONTENTS], json.dumps(deep_requests(depth)[CONTENTS]).encode()):
        with pytest.raises(ul.InvalidBody, match="nested deeper"):
            ul.convert(body, source=CONTENTS, target=target)
    arguments = ul.convert({**deep_requests(depth)[CHAT], "zz": 1, "tools": []}, source=CHAT, target=target)
    assert arguments.value is not None


def test_what_was_read_can_be_written() -> None:
    body = {"model": "m", "zz": nested(MAX_DEPTH - 5), "messages": [{"role": "user", "content": "q"}]}
    assert ul.write(ul.read(body, CHAT), CHAT).value == body


@pytest.mark.parametrize("target", PROTOCOLS)
@pytest.mark.parametrize("depth", [150, 300, 500, 950, 5_000])
def test_a_chunk_that_is_too_deep_ends_the_stream_in_an_error(depth: int, target: str) -> None:
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "zz": 0}
    chunk["choices"] = [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]
    data = json.dumps(chunk).encode().replace(b'"zz": 0', b'"zz": ' + text_of(depth))
    wire = b"data: " + data + b"\n\ndata: [DONE]\n\n"
    out = b"".join(ul.translate_sse([wire], source=CHAT, target=target))
    if target == CHAT:
        assert out == wire
    else:
        assert (b"is not JSON" in out) == (depth > MAX_DEPTH)


@pytest.mark.parametrize("depth", [300, 2_000, 20_000])
def test_an_unknown_key_of_any_depth_ends_no_stream(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unified_llm.engine.malformed.net", False)
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "zz": nested(depth)}
    chunk["choices"] = [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]
    given = [{"event": None, "data": chunk}, {"event": None, "data": "[DONE]"}]
    stream = ul.convert_stream(given, source=CHAT, target=MESSAGES)
    assert [event["event"] for event in stream][-1] == "message_stop"
    assert [loss.fate for loss in stream.losses if loss.path == "/0/data/zz"] == ["lost"]
    # It goes back to its own protocol as it came.
    first = next(iter(ul.write_stream(ul.read_stream(given, CHAT), CHAT)))
    assert first["data"]["zz"] is given[0]["data"]["zz"]


def test_an_event_of_any_depth_takes_time_in_proportion() -> None:
    """Paths of all that is in it, or of each default that it may be, would be quadratic in the depth."""
    start = {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "model": "m"}}
    ends = ({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"})
    events = [{"event": data["type"], "data": data} for data in ({**start, "zz": nested(20_000)}, *ends)]
    began = time.process_time()
    stream = ul.convert_stream(events, source=MESSAGES, target=CHAT)
    assert next(reversed(list(stream)))["data"] == "[DONE]"
    assert "/0/data/zz" in [loss.path for loss in stream.losses]
    assert time.process_time() - began < 2  # 9 seconds where it was quadratic
