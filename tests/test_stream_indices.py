"""Indices in streams, and what an illegal event leaves of what came before it.

Indices are an upstream's to choose, so none of them decides how much is allocated.
"""

from __future__ import annotations

import tracemalloc
from typing import Any

import httpx2
import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
CONTENTS, STEPS = "google-generate-content", "google-interactions"
PROTOCOLS = [CHAT, RESPONSES, MESSAGES, CONTENTS, STEPS]
Node = dict[str, Any]

MESSAGE: Node = {"type": "message", "role": "assistant", "content": []}
TEXT: Node = {"type": "output_text", "text": "", "annotations": []}


def stream_of_parts(*indices: Any, **beside: Any) -> list[Node]:
    """Canonical events of one message that is never closed: a part with a letter for each index, in this order."""
    events: list[Node] = [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.added", "output_index": 0, "item": dict(MESSAGE)},
    ]
    for letter, index in zip("abc", indices):
        at = {"output_index": 0, "content_index": index, **beside}
        events.append({"type": "response.content_part.added", **at, "part": dict(TEXT)})
        events.append({"type": "response.output_text.delta", **at, "delta": letter})
    return [*events, {"type": "response.completed", "response": {"id": "r", "status": "completed"}}]


@pytest.mark.parametrize("indices", [(0, 1), (5, 6), (1, 0), (0, 10**12), (30_000_000, 0), (None, 1)])
def test_parts_stand_in_order_of_appearance(indices: tuple[Any, ...]) -> None:
    (item,) = ul.collect(stream_of_parts(*indices))["output"]
    assert [part["text"] for part in item["content"]] == ["a", "b"]


@pytest.mark.parametrize("index", [10**6, 3 * 10**7, 10**12])
def test_memory_is_bounded_by_what_was_received(index: int) -> None:
    tracemalloc.start()
    try:
        ul.collect(stream_of_parts(index))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize("index", ["x", None, []])
@pytest.mark.parametrize("kind", ["output_text.delta", "output_text.done", "content_part.done"])
def test_what_a_provider_sends_in_the_place_of_an_index_goes_to_no_dialect(kind: str, index: Any) -> None:
    """It is kept beside the event, for its own API, and no other form of the stream is built with it."""
    part = {"type": "output_text", "text": "hello", "annotations": []}
    data = {"type": f"response.{kind}", "content_index": index, "text": "hello", "delta": "hello", "part": part}
    events = list(ul.read_stream([{"data": data}], RESPONSES))
    for target in (CHAT, MESSAGES, CONTENTS, STEPS, f"{RESPONSES}:open-responses", "amazon-converse"):
        written = list(ul.write_stream(events, target))
        assert "hello" in str(written), target
        assert all(type(each) is int for each in _indices(written)), target


def _indices(node: Any) -> list[Any]:
    if isinstance(node, list):
        return [index for each in node for index in _indices(each)]
    if not isinstance(node, dict):
        return []
    own = [node["content_index"]] if "content_index" in node else []
    return own + [index for each in node.values() for index in _indices(each)]


@pytest.mark.parametrize("index", [-1, -5, 1.5, "0", [], {}, True])
@pytest.mark.parametrize("key", ["content_index", "output_index", "choice"])
def test_an_index_is_an_integer_of_at_least_0(key: str, index: Any) -> None:
    with pytest.raises(ul.RemoteProtocolError, match=f"{key} should be an integer of at least 0"):
        ul.collect(stream_of_parts(0, **{key: index}))


def wire_streams(index: Any) -> dict[str, list[Node]]:
    """One stream a protocol in which an upstream names this index wherever it names one."""
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    call = {"index": index, "id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chat: list[Any] = [
        {**head, "choices": [{"index": index, "delta": {"content": "a"}, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]},
        "[DONE]",
    ]
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {}}
    messages = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": "a"}},
        {"type": "content_block_stop", "index": index},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    at = {"output_index": index, "content_index": index}
    responses = [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": index, "item": {**MESSAGE, "id": "m"}},
        {"type": "response.content_part.added", **at, "item_id": "m", "part": TEXT},
        {"type": "response.output_text.delta", **at, "item_id": "m", "delta": "a"},
        {"type": "response.completed", "response": {"id": "r", "status": "completed"}},
    ]
    contents = [
        {"candidates": [{"index": index, "content": {"role": "model", "parts": [{"text": "a"}]}}]},
        {"candidates": [{"index": index, "content": {"role": "model", "parts": []}, "finishReason": "STOP"}]},
    ]
    steps = [
        {"event_type": "interaction.created", "interaction": {"id": "i", "object": "interaction"}},
        {"event_type": "step.start", "index": index, "step": {"type": "model_output", "content": []}},
        {"event_type": "step.delta", "index": index, "delta": {"type": "text", "text": "a"}},
        {"event_type": "step.stop", "index": index},
        {"event_type": "interaction.completed", "interaction": {"id": "i", "status": "completed"}},
    ]
    datas = {CHAT: chat, MESSAGES: messages, RESPONSES: responses, CONTENTS: contents, STEPS: steps}
    kinds = {MESSAGES: "type", RESPONSES: "type", STEPS: "event_type"}
    return {
        protocol: [{"event": each.get(kinds[protocol]) if protocol in kinds else None, "data": each} for each in all_]
        for protocol, all_ in datas.items()
    }


@pytest.mark.parametrize("index", [-1, None, 1.5, "0", [], {}, True, 30_000_000, 10**12, 2**70])
@pytest.mark.parametrize("source", PROTOCOLS)
@pytest.mark.parametrize("target", PROTOCOLS)
def test_whatever_index_an_upstream_names(source: str, target: str, index: Any) -> None:
    """A stream is converted and collected, or refused with an error of ours, and takes no memory for the number."""
    events = wire_streams(index)[source]
    tracemalloc.start()
    try:
        for work in (
            lambda: list(ul.convert_stream(events, source=source, target=target)),
            lambda: ul.collect(ul.read_stream(events, source)),
        ):
            try:
                work()
            except ul.ProtocolError as error:
                assert len(error.reason) > 10
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


@pytest.mark.parametrize("size", [1, 40, 10**6])
def test_what_came_before_an_illegal_event_is_handed_out(size: int) -> None:
    """Also when it came in the same chunk."""
    created = '{"event_type":"interaction.created","interaction":{"id":"i","object":"interaction"}}'
    datas = [created, '{"event_type":"step.start","index":0,"step":{"type":"model_output","content":[]}}']
    datas += ['{"event_type":"step.delta","index":0,"delta":{"type":"text","text":"Hello"}}']
    datas += ['{"event_type":"error","error":{"code":"x","message":"y"}}', created]
    raw = "".join(f"data: {data}\n\n" for data in datas).encode()
    out: list[bytes] = []
    parts = [raw[at : at + size] for at in range(0, len(raw), size)]
    with pytest.raises(ul.RemoteProtocolError):
        out.extend(ul.translate_sse(parts, source=STEPS, target=CHAT))
    assert b"Hello" in b"".join(out)


@pytest.mark.parametrize("size", [1, 40, 10**6])
def test_what_is_illegal_behind_the_end_takes_nothing_from_the_answer(size: int) -> None:
    created = '{"event_type":"interaction.created","interaction":{"id":"i","object":"interaction"}}'
    datas = [created, '{"event_type":"step.start","index":0,"step":{"type":"model_output","content":[]}}']
    datas += ['{"event_type":"step.delta","index":0,"delta":{"type":"text","text":"Hello"}}']
    datas += ['{"event_type":"step.stop","index":0}']
    datas += ['{"event_type":"interaction.completed","interaction":{"id":"i","status":"completed"}}', created]
    raw = "".join(f"data: {data}\n\n" for data in datas).encode()
    parts = [raw[at : at + size] for at in range(0, len(raw), size)]
    headers = {"content-type": "text/event-stream"}
    answers = httpx2.MockTransport(lambda _: httpx2.Response(200, content=iter(parts), headers=headers))
    upstream = ul.Upstream(protocol=STEPS, base_url="http://127.0.0.1/v1", model="m")
    request = {"model": "m", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "q"}]}
    with ul.http_client(upstream, http_client=httpx2.Client(transport=answers)) as http:
        text = http.post("http://any/v1/messages", json=request).text
    assert "Hello" in text and "message_stop" in text
    assert "event: error" not in text
