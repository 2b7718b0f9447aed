"""The SSE codec: every rule by name, the law (chunking never matters) and a reference written from the standard."""

from __future__ import annotations

import json
import re
import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from unified_llm.streams.framings.sse import SSEDecoder, encode, parse_data


def decode(*chunks: bytes) -> list[Any]:
    decoder = SSEDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events + decoder.close()


def bytewise(wire: bytes) -> list[bytes]:
    return [wire[i : i + 1] for i in range(len(wire))]


def plain(data: str, event: str | None = None) -> dict[str, Any]:
    return {"event": event, "data": data}


# Line ends -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"], ids=["LF", "CR", "CRLF"])
def test_each_line_end_alone(end: bytes) -> None:
    wire = b'event: e\ndata: {"a":1}\n\ndata: {"b":2}\n\n'.replace(b"\n", end)
    expected = [plain('{"a":1}', "e"), plain('{"b":2}')]
    assert decode(wire) == expected
    assert decode(*bytewise(wire)) == expected


def test_line_ends_mixed_in_one_event() -> None:
    assert decode(b"event: e\r\ndata: a\rdata: b\n\r\ndata: c\r\r") == [plain("a\nb", "e"), plain("c")]


def test_crlf_cut_between_chunks_is_one_line_end() -> None:
    assert decode(b'data:{"a":1}\r', b"\n\r\n") == [plain('{"a":1}')]
    assert decode(b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n") == [plain("a\nb")]


def test_cr_cr_ends_an_event_at_once() -> None:
    assert SSEDecoder().feed(b"data: x\r\r") == [plain("x")]


def test_an_event_is_handed_out_with_the_chunk_that_completes_it() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b'data: {"a":1}\n') == []
    assert decoder.feed(b"\n") == [plain('{"a":1}')]
    assert decoder.feed(b'data: {"b":2}\n\ndata: {"c"') == [plain('{"b":2}')]
    assert decoder.feed(b":3}\r\n\r\n") == [plain('{"c":3}')]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_unicode_separators_end_no_line(separator: str) -> None:
    data = json.dumps({"t": f"a{separator}b"}, ensure_ascii=False)
    wire = f"event: e{separator}f\ndata: {data}\n\n".encode()
    assert decode(wire) == decode(*bytewise(wire)) == [plain(data, f"e{separator}f")]
    assert encode(None, data) == f"data: {data}\n\n".encode()


# Fields --------------------------------------------------------------------------------------------------------------


def test_one_space_after_the_colon_goes_and_no_more() -> None:
    assert decode(b"data:a\n\n", b"data: a\n\n", b"data:  a\n\n") == [plain("a"), plain("a"), plain(" a")]


def test_lines_of_data_are_joined_by_lf() -> None:
    assert decode(b'data: {"a":\ndata\ndata: 1}\n\n') == [plain('{"a":\n\n1}')]


def test_last_event_name_wins_and_an_empty_one_is_none() -> None:
    assert decode(b"event: a\nevent: b\ndata: x\n\n", b"event:\ndata: x\n\n") == [plain("x", "b"), plain("x")]


def test_the_name_ends_with_its_event() -> None:
    assert decode(b"event: a\ndata: x\n\ndata: y\n\n") == [plain("x", "a"), plain("y")]


def test_id_and_retry_are_there_only_if_on_the_wire() -> None:
    assert decode(b"id: 7\nretry: 10\ndata: x\n\ndata: y\n\n") == [{**plain("x"), "id": "7", "retry": 10}, plain("y")]
    assert decode(b"id\ndata: x\n\n") == [{**plain("x"), "id": ""}]


def test_an_id_with_nul_and_a_retry_that_is_not_a_number_are_ignored() -> None:
    assert decode("id: a\0b\nretry: 1s\nretry: ²\ndata: x\n\n".encode()) == [plain("x")]


def test_an_unknown_field_is_set_aside() -> None:
    aside: list[str] = []
    decoder = SSEDecoder(comments=aside)
    assert decoder.feed(b"Data: no\nfoo\ndata : no\ndata: x\n\n") == [plain("x")]
    assert aside == ["Data: no", "foo", "data : no"]


def test_blank_lines_between_events_mean_nothing() -> None:
    assert decode(b"\n\n\ndata: x\n\n\n\n\ndata: y\n\n\n") == [plain("x"), plain("y")]


# Comments and keepalives ---------------------------------------------------------------------------------------------


KEEPALIVES = [
    *[b": ping\n\n", b":\n\n", b": OPENROUTER PROCESSING\n\n", b"data: : keepalive\n\n"],
    *[b"data:\n\n", b"data\n\n", b"data:  \n\n", b"data:\ndata:\n\n"],
    *[b"event: ping\n\n", b"event: ping\ndata:\n\n", b"id: 3\n\n", b"retry: 5\n\n"],
]


@pytest.mark.parametrize("wire", KEEPALIVES)
def test_keepalives_never_become_events(wire: bytes) -> None:
    real = b'event: e\ndata: {"a":1}\n\n'
    for end in (b"\n", b"\r\n"):
        whole = (wire + real + wire).replace(b"\n", end)
        assert decode(whole) == decode(*bytewise(whole)) == [plain('{"a":1}', "e")]


def test_comments_are_handed_out_when_asked_for() -> None:
    aside: list[str] = []
    decoder = SSEDecoder(comments=aside)
    events = decoder.feed(b": ping\n\n:bare\n:\nevent: e\n: inside\ndata: x\n\ndata: : keepalive\n\nevent: tick\n\n")
    assert events == [plain("x", "e")]
    assert aside == ["ping", "bare", "", "inside", "keepalive", "tick"]


def test_a_comment_with_a_single_line_end_leaves_the_next_event_whole() -> None:
    assert decode(b": ping\n", b'data: {"a":1}\n\n') == [plain('{"a":1}')]


def test_a_keepalive_line_before_real_data_is_not_joined_to_it() -> None:
    assert decode(b'data: : keepalive\ndata: {"a":1}\n\n') == [plain('{"a":1}')]


def test_a_colon_inside_later_data_lines_is_data() -> None:
    assert decode(b'data: {"a"\ndata: : 1}\n\n') == [plain('{"a"\n: 1}')]


# Start and end of the stream -----------------------------------------------------------------------------------------


def test_byte_order_mark_goes_once() -> None:
    bom = "\ufeff".encode()
    wire = bom + b"data: x\n\n" + bom + b"data: y\n\ndata: z\n\n"
    assert decode(wire) == decode(*bytewise(wire)) == [plain("x"), plain("z")]
    assert decode(bom + b"\n\ndata: x\n\n") == [plain("x")]


@pytest.mark.parametrize("tail", [b"", b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("data", ['{"b":2}', "[DONE]", "[1]", '"text"', "3", "null"])
def test_a_complete_last_event_needs_no_blank_line(data: str, tail: bytes) -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b"data: {}\n\nevent: e\ndata: " + data.encode() + tail) == [plain("{}")]
    assert decoder.close() == [plain(data, "e")]
    assert decoder.truncated is None
    assert decoder.close() == []


CUT_OFF = [
    *[b'data: {"b":2', b'data: {"b":\n', b"data: [DON", b'data: "tex', 'data: {"t":"北'.encode()[:-1]],
    *[b"event: e\n", b"event: e", b'{"error": {'],
]


@pytest.mark.parametrize("rest", CUT_OFF)
def test_an_incomplete_last_event_is_truncation_and_never_data(rest: bytes) -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b"data: {}\n\n" + rest) == [plain("{}")]
    assert decoder.close() == []
    assert decoder.truncated == rest


@pytest.mark.parametrize("rest", [b"", b"\n", b": pin", b"id: 3", b"data: : keep", b"data:"])
def test_nothing_worth_telling_is_not_a_truncation(rest: bytes) -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b"data: {}\n\n" + rest) == [plain("{}")]
    assert decoder.close() == []
    assert decoder.truncated is None


def test_a_character_cut_anywhere_is_whole() -> None:
    data = '{"t":"北é🙂"}'
    wire = f"event: e\ndata: {data}\n\n".encode()
    for cut in range(len(wire) + 1):
        assert decode(wire[:cut], wire[cut:]) == [plain(data, "e")]


def test_invalid_utf8_is_replaced_and_told() -> None:
    for wire in (b'data: {"t":"\xff"}\n\n', b'data: {"t":"\xe5\x8c"}\n\n'):
        decoder = SSEDecoder()
        assert decoder.feed(wire[:9]) + decoder.feed(wire[9:]) == [plain('{"t":"\ufffd"}')]
        assert decoder.malformed
    decoder = SSEDecoder()
    assert len(decoder.feed('data: {"t":"é\ufffd"}\n\n'.encode())) == 1
    assert not decoder.malformed


def test_bare_json_in_a_stream_is_an_event() -> None:
    error = b'{"error": {\n  "code": 503\n}}'
    assert decode(b"data: {}\n\n" + error + b"\n\n") == [plain("{}"), plain(error.decode())]
    assert decode(b"data: {}\r\n\r\n", error.replace(b"\n", b"\r\n")) == [plain("{}"), plain(error.decode())]


def test_empty_chunks_change_nothing() -> None:
    assert decode(b"", b"data: x\r", b"", b"\n", b"", b"\r\n", b"") == [plain("x")]


# The law, and the reference ------------------------------------------------------------------------------------------


def reference(wire: bytes) -> list[Any]:
    """The standard's algorithm over all lines of the whole stream, with the departures the decoder declares."""
    *lines, rest = re.split("\r\n|\r|\n", wire.decode(errors="replace").removeprefix("\ufeff"))
    events: list[Any] = []
    group: list[str] = []
    for line in lines:
        if line:
            group.append(line)
        else:
            events += reference_event(group)
            group = []
    return events + [event for event in reference_event(group + [rest] * bool(rest)) if is_whole(event["data"])]


def reference_event(lines: list[str]) -> list[Any]:
    if lines and lines[0][0] in "{[":
        return [plain("\n".join(lines))]
    event: dict[str, Any] = plain("")
    data: list[str] = []
    for line in lines:
        field, value = re.fullmatch("([^:]*)(?::[ ]?(.*))?", line, re.DOTALL).groups(default="")  # type: ignore[union-attr]
        if field == "data" and (data or not value.startswith(":")):
            data.append(value)
        elif field == "event":
            event["event"] = value or None
        elif field == "id" and "\0" not in value:
            event["id"] = value
        elif field == "retry" and re.fullmatch("[0-9]+", value):
            event["retry"] = int(value)
    event["data"] = "\n".join(data)
    return [event] if event["data"].strip() else []


def is_whole(data: str) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return data == "[DONE]"
    return True


TOKENS = [
    *[b"\n", b"\n\n", b"\r", b"\r\n", b"\r\n\r\n", b":", b" ", b": ping", b"data", b"data:", b"data: ", b"data: : k"],
    *[b"event: e", b"event:", b"event: ", b"id: 1", b"id: a\0", b"retry: 5", b"retry: x", b"nonsense", b"\0"],
    *[b'{"a":1}', b'{"a"', b"[DONE]", b"{", b"[", "\u2028".encode(), "\x85".encode(), "北".encode(), b"\xe5\x8c"],
    *[b"\xff", b"\xef\xbb\xbf"],
    *[b'data: {"a":1}\n\n', b'event: e\ndata: {"a":1}\n\n', b'event: e\r\ndata: {"a":1}\r\n\r\n'],
]
WIRES = st.lists(st.sampled_from(TOKENS), max_size=24).map(b"".join) | st.binary(max_size=60)


@given(wire=WIRES, cuts=st.lists(st.integers(0, 200), max_size=12))
@example(wire=b"data: x\r\ndata: y\r\n\r\n", cuts=[8, 8, 9])
@example(wire=b'\xef\xbb\xbfdata: {"a":\ndata: 1}\n\n', cuts=[1, 2])
def test_chunking_never_matters_and_the_reference_agrees(wire: bytes, cuts: list[int]) -> None:
    at = [0, *sorted(cut % (len(wire) + 1) for cut in cuts), len(wire)]
    chunks = [wire[i:j] for i, j in pairwise(at)]
    expected = reference(wire)
    assert decode(wire) == expected
    assert decode(*chunks) == expected
    assert decode(*bytewise(wire)) == expected


@given(wire=WIRES, cuts=st.lists(st.integers(0, 200), max_size=6))
def test_chunking_changes_neither_comments_nor_verdicts(wire: bytes, cuts: list[int]) -> None:
    def verdict(chunks: list[bytes]) -> tuple[Any, ...]:
        decoder = SSEDecoder(comments=[])
        for chunk in chunks:
            decoder.feed(chunk)
        decoder.close()
        return decoder.comments, decoder.truncated, decoder.malformed

    at = [0, *sorted(cut % (len(wire) + 1) for cut in cuts), len(wire)]
    assert verdict([wire[i:j] for i, j in pairwise(at)]) == verdict([wire]) == verdict(bytewise(wire))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
NAMES = st.none() | st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1)


@given(stream=st.lists(st.tuples(NAMES, JSON), max_size=5), indent=st.none() | st.integers(0, 2))
def test_what_is_encoded_is_decoded(stream: list[tuple[str | None, Any]], indent: int | None) -> None:
    texts = [(name, json.dumps(value, indent=indent)) for name, value in stream]
    wire = b"".join(encode(name, text) for name, text in texts)
    assert decode(wire) == [plain(text, name) for name, text in texts]
    assert [parse_data(event["data"]) for event in decode(*bytewise(wire))] == [value for _, value in stream]


# Cost ----------------------------------------------------------------------------------------------------------------


def seconds(chunks: list[bytes]) -> float:
    least = 1e9
    for _ in range(3):
        start = time.process_time()  # what other processes take does not count
        assert len(decode(*chunks)) == 1
        least = min(least, time.process_time() - start)
    return least


@pytest.mark.parametrize("line", [b"", b"\ndata: "], ids=["one line", "many lines"])
def test_a_big_event_in_small_chunks_costs_linear_time(line: bytes) -> None:
    def chunks(count: int) -> list[bytes]:
        return [b'data: "', *([b"x" * 64 + line] * count), b'"\n\n']

    seconds(chunks(100))
    # Linear is 8 times as long, quadratic 64 times.
    assert seconds(chunks(16_000)) < 24 * seconds(chunks(2_000))


# encode --------------------------------------------------------------------------------------------------------------


def test_encode_frames() -> None:
    assert encode(None, "[DONE]") == b"data: [DONE]\n\n"
    assert encode("e", b'{"a":1}') == b'event: e\ndata: {"a":1}\n\n'
    assert encode("é", '{"a":"北"}') == 'event: é\ndata: {"a":"北"}\n\n'.encode()


def test_encode_gives_each_line_of_data_its_field() -> None:
    assert encode(None, "a\r\nb\rc\nd") == b"data: a\ndata: b\ndata: c\ndata: d\n\n"


@pytest.mark.parametrize("name", ["a\ndata: forged", "a\r"])
def test_encode_refuses_a_name_that_forges_fields(name: str) -> None:
    with pytest.raises(ValueError, match="line end"):
        encode(name, "{}")


# parse_data ----------------------------------------------------------------------------------------------------------


NOT_JSON = ["[DONE]", "", "not json", "{", "NaN", '{"a":Infinity}', "-1e999", '{"a":1e999}', "9" * 5000, "[" * 100_000]


@pytest.mark.parametrize("text", NOT_JSON, ids=lambda text: text[:12])
def test_what_is_not_json_stays_text(text: str) -> None:
    assert parse_data(text) == text
    assert parse_data(text.encode()) == text


@pytest.mark.parametrize("number", ["9223372036854775808", "18446744073709551616", "-9223372036854775809", "9" * 40,
                                    "0.1000000000000000055511151231257827", "1e22", "-0.0"])  # fmt: skip
def test_numbers_keep_their_value(number: str) -> None:
    value = parse_data(f'{{"a":[{number}]}}')["a"][0]
    assert repr(value) == repr(json.loads(number))
    assert parse_data(number.encode()) == value


def test_long_digits_in_a_string_are_just_text() -> None:
    assert parse_data('{"id":"12345678901234567890123"}') == {"id": "12345678901234567890123"}


def test_a_lone_surrogate_escape_is_read() -> None:
    assert parse_data('{"a":"\\ud800"}') == {"a": "\ud800"}
    assert parse_data('"\ud800"') == "\ud800"


@given(st.text() | st.binary())
def test_parse_data_raises_nothing(data: str | bytes) -> None:
    text = data if isinstance(data, str) else data.decode(errors="replace")
    assert parse_data(data) == text or json.loads(text) == parse_data(data)
