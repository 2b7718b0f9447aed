"""Malformed streams: whatever stands where something else belongs, they end as streams do or in an error of ours.

Values are kept until the end of a stream, so the end is where many of them are met.
"""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

import unified_llm as ul
from nesting import nested

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
CONTENTS, STEPS = "google-generate-content", "google-interactions"
PROTOCOLS = [CHAT, RESPONSES, MESSAGES, CONTENTS, STEPS]
Node = dict[str, Any]


@pytest.fixture(autouse=True)
def _errors_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unified_llm.engine.malformed.net", False)


def framed(*datas: Any) -> list[Node]:
    return [{"event": None, "data": data} for data in datas]


@pytest.mark.parametrize("depth", [150, 570, 5_000])
@pytest.mark.parametrize("target", PROTOCOLS)
def test_a_value_that_is_too_deep_for_the_end_of_a_stream_is_named(target: str, depth: int) -> None:
    counts = {"totalTokenCount": nested(depth)}
    events = framed({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": counts})
    try:
        list(ul.convert_stream(events, source=CONTENTS, target=target, facing="client"))
    except ul.InvalidBody as error:
        assert depth > 150 and error.path.startswith("/0/data/usageMetadata/totalTokenCount/a/a/a")
        assert "nested deeper" in error.reason


@pytest.mark.parametrize("code", ["x", "stream_truncated"])
def test_an_object_in_the_place_of_an_error_message_is_not_printed(code: str) -> None:
    error = {"type": "error", "error": {"type": "server_error", "code": code, "message": nested(5_000)}}
    events = [{"type": "response.created", "response": {"id": "r"}}, error]
    with pytest.raises(ul.RemoteProtocolError, match=f"^{code}$"):
        ul.collect(events)
    deep = '{"a": ' * 900 + "1" + "}" * 900
    frame = f'data: {{"event_type": "error", "error": {{"code": "{code}", "message": {deep}}}}}\n\n'
    head = {"content-type": "text/event-stream"}
    http = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, headers=head, text=frame)))
    upstream = ul.Upstream(protocol="google-interactions", base_url="http://127.0.0.1/v1", http_client=http)
    with pytest.raises(ul.APIError):
        list(ul.Client(upstream=upstream).responses.create(model="m", input="Hi", stream=True))


def test_an_unexplained_failure_at_the_end_of_a_stream_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def close(self: object) -> list[Node]:
        raise KeyError("x")

    monkeypatch.setattr("unified_llm.engine.malformed.net", True)
    monkeypatch.setattr("unified_llm_openai.chat.stream.reader.ChatReader.close", close)
    events = framed({"choices": []}, "[DONE]")
    with pytest.raises(ul.RemoteProtocolError, match="the end of the stream cannot be converted: KeyError"):
        list(ul.convert_stream(events, source=CHAT, target=MESSAGES))
    with pytest.raises(ul.RemoteProtocolError, match="event 1 of the stream cannot be converted: KeyError"):
        list(ul.read_stream(events, CHAT))


@pytest.mark.parametrize("target", PROTOCOLS)
@pytest.mark.parametrize("counts", [{"extra": -1}, {"a": 2, "extra": {"b": 3}}, {"extra": {CHAT: {"rest": 1}}}])
def test_a_count_of_the_name_extra_is_lost_with_its_object(counts: Node, target: str) -> None:
    """What a usage held is reported where a stream breaks off; not all that is called `extra` was kept by a reader."""
    events = framed({"type": "message_start", "message": {"usage": {"cache_creation": counts}}})
    stream = ul.convert_stream(events, source=MESSAGES, target=target)
    list(stream)
    lost = [loss.path for loss in stream.losses if loss.fate == "lost"]
    assert target == MESSAGES or "/0/data/message/usage/cache_creation" in lost


@pytest.mark.parametrize("candidates", [{"": []}, ["x", 5, None], 7, "x"])
def test_candidates_that_are_no_objects_end_a_stream_all_the_same(candidates: Any) -> None:
    own = {CONTENTS: {"rest": {"candidates": candidates}, "form": {"blocked": True}}}
    response = {"id": "r", "status": "completed", "output": [], "finish": {"reason": "safety"}, "extra": own}
    events = [
        {"type": "response.created", "response": {**response, "status": "in_progress"}},
        {"type": "response.completed", "response": response},
    ]
    written = [event["data"] for event in ul.write_stream(events, CONTENTS)]
    assert written[-1]["promptFeedback"] and written[-1]["candidates"] == candidates


@pytest.mark.parametrize("part", [{"type": "output_image", "image_url": "data:image/png;base64,iVBO"}, {"type": "new"}])
def test_a_part_that_has_no_block_opens_none(part: Node) -> None:
    """Where a caller put another part into a stream of Messages."""
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}
    events = list(ul.read_stream(framed({"type": "message_start", "message": message}, block), MESSAGES))
    events = [{**event, "part": part} if "part" in event else event for event in events if "delta" not in event]
    stream = ul.write_stream(events, MESSAGES)
    assert [event["data"]["type"] for event in stream] == ["message_start"]  # cut off there, as it was read
    assert any(loss.path.startswith("/3/part") for loss in stream.losses)


@pytest.mark.parametrize("target", PROTOCOLS)
@pytest.mark.parametrize("index", [[], {}, "1", -1, None])
def test_an_event_of_an_unknown_type_may_have_any_index(target: str, index: Any) -> None:
    opened = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "role": "assistant"}}
    response = {"id": "r", "status": "completed", "output": []}
    events = [
        {"type": "response.created", "response": response},
        opened,
        {"type": "x", "output_index": index},
        {**opened, "type": "response.output_item.done"},
        {"type": "response.completed", "response": response},
    ]
    list(ul.write_stream(events, target))


@pytest.mark.parametrize("ended", [30_000_000, "x", [1], None])
def test_an_item_that_ends_as_no_object_has_no_end(ended: Any) -> None:
    """Where its opening had to be made of an event about it: it is reported as lost, and the stream goes on."""
    datas = [
        {"type": "response.mcp_call.failed", "output_index": 1},
        {"type": "response.completed", "response": {"output": [{"id": "mcp_ulm_4a2ce51aad413008b374"}, ended]}},
    ]
    stream = ul.write_stream(ul.read_stream(framed(*datas), RESPONSES), RESPONSES)
    assert list(stream)[-1]["event"] == "response.completed"


def test_an_event_without_a_drawer_may_say_so() -> None:
    events: list[Any] = [{"type": "x", "extra": None}, {"type": "response.completed", "response": {"extra": None}}]
    assert list(ul.write_stream(events, "openai-chat")) == list(
        ul.write_stream([{"type": "x"}, {"type": "response.completed", "response": {}}], "openai-chat")
    )
