"""Binary event streams: the frames that botocore reads, cut anywhere, damaged anywhere, as large as they may be."""

from __future__ import annotations

import json
import struct
import uuid
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("botocore", reason="the extra amazon is not installed")

from botocore.eventstream import EventStreamBuffer

import unified_llm as ul
from unified_llm.streams.framings.eventstream import (
    MAX_HEADERS,
    MAX_PAYLOAD,
    BinaryDecoder,
    Frame,
    FrameDecoder,
    Unframed,
    encode_event,
    encode_frame,
    reframed,
)

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
HEADERS = st.dictionaries(NAMES, st.text(max_size=30), max_size=4)
FRAMES = st.lists(st.tuples(HEADERS, st.binary(max_size=200)), max_size=4)


def by_botocore(data: bytes) -> list[tuple[dict[str, object], bytes]]:
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    return [(each.headers, each.payload) for each in buffer]


@given(frames=FRAMES, cuts=st.lists(st.integers(0, 600), max_size=6))
def test_frames_are_botocores_however_they_are_cut(frames: list[tuple[dict[str, str], bytes]], cuts: list[int]) -> None:
    data = b"".join(encode_frame(headers, payload) for headers, payload in frames)
    places = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    decoder = FrameDecoder()
    found = [frame for start, end in pairwise(places) for frame in decoder.feed(data[start:end])]
    assert [tuple(frame) for frame in found] == by_botocore(data) == frames
    assert decoder.close() == [] and decoder.truncated is None


def raw(headers: bytes, payload: bytes = b"") -> bytes:
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    data = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return data + struct.pack(">I", zlib.crc32(data))


def test_headers_of_every_type() -> None:
    one = uuid.UUID(int=7)
    values = [
        (b"\x00", True), (b"\x01", False), (b"\x02\xff", -1), (b"\x03\x00\x02", 2), (b"\x04\x00\x00\x00\x03", 3),
        (b"\x05" + bytes(7) + b"\x04", 4), (b"\x06\x00\x01a", b"a"), (b"\x07\x00\x02\xc3\xa9", "é"),
        (b"\x08" + bytes(7) + b"\x05", 5), (b"\x09" + one.bytes, one),
    ]  # fmt: skip
    data = raw(b"".join(b"\x02n%d" % place + value for place, (value, _) in enumerate(values)))
    (frame,) = FrameDecoder().feed(data)
    assert frame.headers == {f"n{place}": value for place, (_, value) in enumerate(values)}
    (theirs,) = by_botocore(data)
    assert {**frame.headers, "n9": one.bytes} == theirs[0]


DATA = encode_event("messageStart", b'{"role":"assistant"}')


@pytest.mark.parametrize("place", range(len(DATA)))
def test_a_bit_that_flipped_is_found(place: int) -> None:
    data = bytearray(DATA)
    data[place] ^= 0x10
    decoder = FrameDecoder()
    with pytest.raises(ul.RemoteProtocolError, match="damaged"):
        assert decoder.feed(bytes(data) + DATA) == []
    with pytest.raises(ul.RemoteProtocolError, match="damaged"):
        decoder.feed(DATA)  # nothing is read behind it


def test_what_came_before_a_damaged_frame_is_handed_out() -> None:
    decoder = FrameDecoder()
    assert [each.payload for each in decoder.feed(DATA + DATA[:-1] + b"!")] == [b'{"role":"assistant"}']
    with pytest.raises(ul.RemoteProtocolError):
        decoder.close()


@pytest.mark.parametrize(
    "headers",
    [b"\x00\x00", b"\x01a", b"\x01a\x07\x00\x05ab", b"\x01a\x0b", b"\x01a\x00\x01a\x01", b"\x01\xff\x00", b"\x05a\x00"],
)
def test_malformed_headers(headers: bytes) -> None:
    with pytest.raises(ul.RemoteProtocolError, match="headers are malformed"):
        FrameDecoder().feed(raw(headers))


@pytest.mark.parametrize(
    ("total", "headers"), [(15, 0), (16, 1), (2**32 - 1, 0), (MAX_PAYLOAD + 17, 0), (200_000, MAX_HEADERS + 1)]
)
def test_a_size_that_cannot_be_is_refused_before_anything_is_kept(total: int, headers: int) -> None:
    prelude = struct.pack(">II", total, headers)
    with pytest.raises(ul.RemoteProtocolError, match=f"claims {total} bytes"):
        FrameDecoder().feed(prelude + struct.pack(">I", zlib.crc32(prelude)))


@pytest.mark.parametrize(("headers", "payload"), [({"": "a"}, b""), ({"a" * 256: ""}, b""), ({"a": "b" * 40_000}, b"")])
def test_what_no_frame_can_hold_is_not_written(headers: dict[str, str], payload: bytes) -> None:
    with pytest.raises(ValueError, match="no frame can hold"):
        encode_frame(headers, payload)
    with pytest.raises(ValueError, match="too large"):
        encode_frame({}, bytes(MAX_PAYLOAD + 1))


def test_events_are_told_apart_by_their_first_byte() -> None:
    event = {"event": "messageStart", "data": '{"role":"assistant"}'}
    assert BinaryDecoder().feed(DATA) == [event]
    assert BinaryDecoder().feed(b"event: messageStart\ndata: " + event["data"].encode() + b"\n\n") == [event]
    assert reframed(Unframed().feed(DATA)) == DATA and reframed(b": keepalive\n\n") == b""
    cut = BinaryDecoder()
    assert cut.feed(DATA[:-1]) == cut.close() == [] and cut.truncated == DATA[:-1]


def test_errors_and_exceptions_are_events() -> None:
    error = encode_frame({":message-type": "error", ":error-code": "Slow", ":error-message": "later"}, b"")
    (found,) = BinaryDecoder().feed(error)
    assert found["event"] == "error" and json.loads(found["data"]) == {"code": "Slow", "message": "later"}
    (frame,) = FrameDecoder().feed(encode_event("throttlingException", b'{"message":"x"}'))
    assert frame == Frame(
        {
            ":exception-type": "throttlingException",
            ":content-type": "application/json",
            ":message-type": "exception",
        },
        b'{"message":"x"}',
    )
