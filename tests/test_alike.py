"""Frames that are known by their bytes: the same bytes leave, and most of a stream is never parsed."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from unified_llm import suite
from unified_llm.streams.byte_fast_path import reader_of, writer_of
from unified_llm.streams.byte_pipeline import ByteStream
from unified_llm.streams.event_fast_path import ReadMore, WriteMore

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
GENERATE, INTERACTIONS = "google-generate-content", "google-interactions"
PROTOCOLS = (CHAT, RESPONSES, MESSAGES, GENERATE, INTERACTIONS)
PAIRS = [(source, target) for source in PROTOCOLS for target in PROTOCOLS if source != target]
TEXTS = (
    "plain ",
    'a "quote" ',
    "back\\slash ",
    "line\nend ",
    "ümläut ",
    "\N{PILE OF POO} ",
    "{} ",
    "\x00 ",
    "\\ud83d ",
)


def chunks() -> list[dict[str, Any]]:
    """A chat stream: reasoning and text that are hard to cut out of bytes, then the arguments of a call."""
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m%d%b%%"}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {"event": None, "data": {**head, "choices": [choice], "obfuscation": "abc"[: len(out) % 4]}}

    out: list[dict[str, Any]] = []
    out.append(chunk({"role": "assistant", "content": ""}))
    for number in range(20):
        out.append(chunk({"reasoning_content": TEXTS[number % len(TEXTS)]}))
    for number in range(45):
        out.append(chunk({"content": TEXTS[number % len(TEXTS)]}))
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}
    out.append(chunk({"tool_calls": [call]}))
    for piece in ('{"a": "', *["b", "\\n"] * 10, '"}'):
        out.append(chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}))
    out.append(chunk({}, "tool_calls"))
    return [*out, {"event": None, "data": "[DONE]"}]


def frames(protocol: str) -> list[bytes]:
    """The same as the wire frames of a protocol."""
    events = chunks()
    if protocol != CHAT:
        events = list(ul.convert_stream(events, source=CHAT, target=protocol))
    if protocol == GENERATE:
        # Every frame counts anew, but for those behind the text: the last of the texts has the word.
        for number, event in enumerate(events[:60], 10):
            event["data"]["usageMetadata"] = {"promptTokenCount": 5, "candidatesTokenCount": number}
    return [suite.sse_bytes([event]) for event in events]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_what_is_known_by_its_bytes_comes_out_as_what_is_parsed(source: str, target: str) -> None:
    given = frames(source)
    stream, parsed = ByteStream(source, target), 0
    decode = stream.decoder.feed

    def counted(chunk: bytes) -> Any:
        nonlocal parsed
        parsed += 1
        return decode(chunk)

    stream.decoder.feed = counted  # type: ignore[method-assign]
    found = b"".join(done for frame in given for done in stream.feed(frame)) + b"".join(stream.close())
    # No frame that comes in pieces is known by its bytes.
    pieces = [bytes([byte]) for frame in given for byte in frame]
    assert found == b"".join(ul.translate_sse(pieces, source=source, target=target))
    assert parsed < 0.4 * len(given)
    whole = ByteStream(source, target)
    assert b"".join([*whole.feed(b"".join(given)), *whole.close()]) == found


FRAME = b'data: {"n":1,"pad":"xyz","delta":"Hello","end":null}\n\n'


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (FRAME, "Hello"),
        (FRAME.replace(b"Hello", b'\\"end\\":null'), '"end":null'),
        (FRAME.replace(b":1", b":234").replace(b"xyz", b"Q"), "Hello"),
        (FRAME.replace(b"Hello", rb"\u00fc\n"), "ü\n"),
        (FRAME.replace(b"null", b"true"), None),
        (FRAME.replace(b'"end"', b'"and"'), None),
        (FRAME.replace(b'"Hello"', b"5"), None),
        (FRAME.replace(b'"Hello"', b'"Hello","more":"x"'), None),
        (FRAME.replace(b"Hello", rb"\ud83d"), None),
        (FRAME.replace(b"Hello", b"\xff"), None),
        (FRAME.replace(b":1", b":01"), None),
        (FRAME.replace(b":1", b":1.5"), None),
        (FRAME.replace(b"xyz", rb"\n"), None),
        (FRAME[:-1], None),
        (FRAME + FRAME, None),
        (FRAME.replace(b"\n\n", b"\nid: 7\n\n"), None),
        (b": hello\n" + FRAME, None),
    ],
)
def test_only_what_is_the_same_but_for_its_text_is_known(frame: bytes, text: str | None) -> None:
    like = {"event": None, "data": {"n": 1, "pad": "xyz", "delta": "Hello", "end": None}}
    read = reader_of(FRAME, ReadMore(like, ("data", "delta"), print, ("n", "pad")))
    assert read is not None
    assert read(frame) == text


@pytest.mark.parametrize(
    "frame", [b'data: {"delta":"a","in":{"delta":"b"}}\n\n', b'data: {"delta":5}\n\n', b"data: {}\n\n"]
)
def test_a_frame_whose_text_is_not_plain_to_see_is_like_no_other(frame: bytes) -> None:
    like: dict[str, Any] = {"event": None, "data": {"delta": ""}}
    assert reader_of(frame, ReadMore(like, ("data", "delta"), print)) is None
    assert writer_of(frame, WriteMore(like, ("data", "delta"))) is None
