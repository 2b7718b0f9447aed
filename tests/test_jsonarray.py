"""Streams as one JSON array: the splitter (chunking never matters), conversions both ways, the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import unified_llm as ul
from corpus import records
from unified_llm import suite
from unified_llm.streams.framings.jsonarray import JSONArrayDecoder, JSONArrayEncoder, StreamDecoder

GC = "google-generate-content"
OTHERS = ["openai-chat", "openai-responses", "google-interactions", "anthropic-messages"]
Node = dict[str, Any]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def decode(*chunks: bytes) -> list[Any]:
    decoder = JSONArrayDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return [json.loads(event["data"]) for event in events + decoder.close()]


def bytewise(wire: bytes) -> list[bytes]:
    return [wire[i : i + 1] for i in range(len(wire))]


def array_of(events: list[Node]) -> bytes:
    """The form of the service itself: line ends of both kinds, each value over several lines."""
    return b"[" + b"\n,\r\n".join(json.dumps(event["data"], indent=1).encode() for event in events) + b"\n]\n"


# ---- the splitter ---------------------------------------------------------------------------------------------------


@given(st.lists(JSON, max_size=5), st.sampled_from([None, 2]), st.booleans(), st.integers(1, 7))
@example(['\\"', "[", "]", "{,}", "\\", "é😀\u2028"], None, False, 1)
@example([[], {}, [[]], "", 0], 2, True, 1)
def test_chunking_never_matters(values: list[Any], indent: int | None, ascii_: bool, size: int) -> None:
    wire = json.dumps(values, indent=indent, ensure_ascii=ascii_).encode("utf-8", "surrogatepass")
    wanted = json.loads(wire.decode(errors="replace"))
    assert decode(wire) == wanted
    assert decode(*bytewise(wire)) == wanted
    assert decode(*(wire[i : i + size] for i in range(0, len(wire), size))) == wanted


def test_an_element_is_handed_out_with_the_byte_that_completes_it() -> None:
    decoder = JSONArrayDecoder()
    assert decoder.feed(b'\xef\xbb\xbf [{"a":"}]\\"') == []
    assert decoder.feed(b'"}') == [{"event": None, "data": '{"a":"}]\\""}'}]
    assert decoder.feed(b"\n,\r\n[1,{}]") == [{"event": None, "data": "[1,{}]"}]
    assert decoder.feed(b"]") == decoder.close() == []
    assert decoder.truncated is None


def test_a_cut_off_element_is_none() -> None:
    for cut in (b'[{"a":1},{"b"', b'[{"a":1},"b', b'[{"a":1},tru', b'[{"a":1},"\\'):
        decoder = JSONArrayDecoder()
        assert [event["data"] for event in decoder.feed(cut)] == ['{"a":1}']
        assert decoder.close() == []
        assert decoder.truncated == cut[9:]


def test_a_last_element_before_the_end_that_never_came_is_whole() -> None:
    assert decode(b'[{"a":1},2') == [{"a": 1}, 2]


def test_invalid_utf8_is_told() -> None:
    decoder = JSONArrayDecoder()
    assert decoder.feed(b'["\xff"]') == [{"event": None, "data": '"\ufffd"'}]
    assert decoder.malformed


def test_a_value_without_an_array_is_an_element() -> None:
    assert decode(b'{"error":{"code":500}}') == [{"error": {"code": 500}}]


def test_what_is_written_is_one_array() -> None:
    encoder = JSONArrayEncoder()
    assert encoder.close() == b"[]"
    wire = [encoder.encode(json.dumps(value).encode()) for value in ({"a": "é\n"}, "[DONE]", {})]
    assert json.loads(b"".join(wire) + encoder.close()) == [{"a": "é\n"}, "[DONE]", {}]
    assert encoder.close().endswith(b"]"), "google-api-core reads no byte after it"
    assert decode(*wire) == [{"a": "é\n"}, "[DONE]", {}]


@pytest.mark.parametrize("wire", [b' \r\n[{"n":1},{"n":2}]', b'data: {"n":1}\n\ndata: {"n":2}\n\n'])
def test_the_framing_is_found_by_its_first_byte(wire: bytes) -> None:
    for chunks in ([wire], bytewise(wire)):
        decoder = StreamDecoder()
        found = [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.close()
        assert [event["data"] for event in found] == ['{"n":1}', '{"n":2}']
    assert StreamDecoder().close() == []


# ---- conversions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [GC, *OTHERS])
def test_an_array_says_what_events_say(target: str) -> None:
    examined = 0
    options = {"on_loss": "ignore"} if target == GC else {}  # not passed through
    for record in records(GC, "stream"):
        events = record["events"]
        if not all(isinstance(event["data"], dict) for event in events):
            continue
        wanted = b"".join(ul.translate_sse([suite.sse_bytes(events)], source=GC, target=target, **options))
        wire = array_of(events)
        assert b"".join(ul.translate_sse([wire], source=GC, target=target, **options)) == wanted
        if len(wire) < 20_000:
            assert b"".join(ul.translate_sse(bytewise(wire), source=GC, target=target, **options)) == wanted
        examined += 1
    assert examined > 20


@pytest.mark.parametrize("source", [GC, *OTHERS])
def test_a_stream_is_written_as_an_array(source: str) -> None:
    examined = 0
    for record in records(source, "stream"):
        wanted = [event["data"] for event in ul.convert_stream(record["events"], source=source, target=GC)]
        out = list(ul.translate_sse([suite.sse_bytes(record["events"])], source=source, target=GC, array=True))
        assert json.loads(b"".join(out)) == wanted
        assert len(out) == len(wanted) + 1  # one write per event, and the end
        examined += 1
    assert examined > 20


def test_who_asked_without_sse_is_answered_with_an_array() -> None:
    hello = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
    path = "v1beta/models/m:streamGenerateContent"
    end = {"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [end]}
    raw = suite.sse_bytes([{"event": None, "data": chunk}, {"event": None, "data": "[DONE]"}])
    for query, first in (({}, b"["), ({"alt": "sse"}, b"data: ")):
        asked = ul.convert(hello, source=GC, target="openai-chat", http={"path": path, "query": query})
        exchange = ul.Exchange.from_json(json.loads(json.dumps(asked.exchange.to_json())))
        out = b"".join(ul.translate_sse([raw], source="openai-chat", target=GC, exchange=exchange))
        assert out.startswith(first)


def test_an_error_instead_of_the_stream_is_read() -> None:
    failure = {"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED"}}
    out = b"".join(ul.translate_sse([json.dumps([failure]).encode()], source=GC, target="openai-chat"))
    assert b"slow" in out and b"rate_limit" in out


def test_others_have_no_such_form() -> None:
    with pytest.raises(ValueError, match="openai-chat"):
        list(ul.translate_sse([b""], source=GC, target="openai-chat", array=True))


def test_the_command_line_reads_an_array() -> None:
    part = {"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP", "index": 0}
    wire = json.dumps([{"candidates": [part]}]).encode()
    command = [sys.executable, "-m", "unified_llm", "convert", "--from", GC, "--to", "openai-chat"]
    done = subprocess.run(command, input=wire, capture_output=True, check=True)
    assert done.stdout.startswith(b"data: {") and done.stdout.endswith(b"data: [DONE]\n\n")
    ours = json.dumps([{"event": None, "data": {"candidates": [part]}}]).encode()
    done = subprocess.run([*command, "--kind", "stream"], input=ours, capture_output=True, check=True)
    assert [json.loads(line)["data"] for line in done.stdout.splitlines()][-1] == "[DONE]"
