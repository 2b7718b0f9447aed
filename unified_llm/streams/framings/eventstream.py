"""Binary event streams (`application/vnd.amazon.eventstream`): an incremental decoder and an encoder.

A frame is a prelude (its length, that of its headers, their checksum), headers with types, a payload, and a checksum of
it all. Strategy: bytes are gathered until a frame is whole, and both checksums are checked before anything of it is
believed; what no frame can be is an error at once, whatever its length claims. Events go out as those of any other
framing: `event` is the kind that a header names, `data` the JSON of the payload. Exceptions and errors in a stream are
events too, named after themselves.

https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html
https://smithy.io/2.0/aws/amazon-eventstream.html
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, NamedTuple

from ...foundation.errors import RemoteProtocolError
from ...foundation.json_codec import dump_text
from .sse import SSEDecoder, SSEEvent, encode

__all__ = ["BinaryDecoder", "Frame", "FrameDecoder", "Unframed", "encode_event", "encode_frame", "reframed"]

_PRELUDE = struct.Struct(">III")
_CRC = struct.Struct(">I")
_OVERHEAD = _PRELUDE.size + _CRC.size
MAX_HEADERS = 131_072
MAX_PAYLOAD = 25_165_824
"""Bytes that the format allows for the headers of a frame and for its payload."""
_NUMBERS = {2: struct.Struct(">b"), 3: struct.Struct(">h"), 4: struct.Struct(">i"), 5: struct.Struct(">q")}
_TIMESTAMP = struct.Struct(">q")
_LENGTH = struct.Struct(">H")
_STRING = 7
_EXCEPTION = "Exception"


class Frame(NamedTuple):
    """One frame: its headers and its payload. Values of headers are of the types that the format has."""

    headers: dict[str, Any]
    payload: bytes


class FrameDecoder:
    """Bytes in, frames out; the same frames whatever the chunking.

    Raises `RemoteProtocolError` for a frame whose checksum is wrong, which is too large, or whose headers are
    malformed; nothing is read after that. `truncated` holds, after `close()`, the bytes of a frame that was cut off.

    >>> decoder = FrameDecoder()
    >>> data = encode_frame({":event-type": "ping"}, b"{}")
    >>> decoder.feed(data[:9]), decoder.feed(data[9:])
    ([], [Frame(headers={':event-type': 'ping'}, payload=b'{}')])
    """

    def __init__(self) -> None:
        self.truncated: bytes | None = None
        self._held = bytearray()
        self._size = 0  # of the frame that is open, once its prelude was checked
        self._broken = ""

    def feed(self, chunk: bytes) -> list[Frame]:
        """Take the next bytes and return the frames that they complete.

        Frames before a damaged one are returned; the next call raises what is wrong.
        """
        frames: list[Frame] = []
        self._held += chunk
        while not self._broken:
            try:
                frame = self._next()
            except RemoteProtocolError as error:
                self._broken = str(error)
                break
            if frame is None:
                break
            frames.append(frame)
        if self._broken and not frames:
            raise RemoteProtocolError(self._broken)
        return frames

    def close(self) -> list[Frame]:
        """The end of the bytes: a frame that was cut off is not returned."""
        if self._broken:
            raise RemoteProtocolError(self._broken)
        self.truncated = bytes(self._held) or None
        self._held.clear()
        return []

    def _next(self) -> Frame | None:
        held = self._held
        if not self._size:
            if len(held) < _PRELUDE.size:
                return None
            total, headers, crc = _PRELUDE.unpack_from(held)
            if zlib.crc32(held[:8]) != crc:
                raise _damaged("the checksum of its prelude is wrong")
            if headers > MAX_HEADERS or total > MAX_PAYLOAD + headers + _OVERHEAD or total < headers + _OVERHEAD:
                raise _damaged(f"it claims {total} bytes, {headers} of them headers")
            self._size = total
        if len(held) < self._size:
            return None
        data = bytes(held[: self._size])
        del held[: self._size]
        self._size = 0
        if zlib.crc32(data[:-4]) != _CRC.unpack_from(data, len(data) - 4)[0]:
            raise _damaged("its checksum is wrong")
        end = _PRELUDE.size + _PRELUDE.unpack_from(data)[1]
        return Frame(_headers(data[_PRELUDE.size : end]), data[end:-4])


def _damaged(why: str) -> RemoteProtocolError:
    return RemoteProtocolError(f"a frame of the event stream is damaged: {why}")


def _headers(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    at = 0
    try:
        while at < len(data):
            size = data[at]
            name = data[at + 1 : at + 1 + size].decode()
            kind = data[at + 1 + size]
            at += size + 2
            if name in found or not size:
                raise ValueError(name)
            found[name], at = _value(data, at, kind)
    except (IndexError, ValueError, struct.error) as error:
        raise _damaged("its headers are malformed") from error
    return found


def _value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (0, 1):
        return kind == 0, at
    if kind in _NUMBERS:
        return _NUMBERS[kind].unpack_from(data, at)[0], at + _NUMBERS[kind].size
    if kind in (6, _STRING):
        (size,) = _LENGTH.unpack_from(data, at)
        value = data[at + 2 : at + 2 + size]
        if len(value) != size:
            raise ValueError(size)
        return (value.decode() if kind == _STRING else value), at + 2 + size
    if kind == 8:
        return _TIMESTAMP.unpack_from(data, at)[0], at + 8
    if kind == 9:
        import uuid  # of which nothing else of a conversion has any use

        return uuid.UUID(bytes=data[at : at + 16]), at + 16
    raise ValueError(kind)


def encode_frame(headers: dict[str, str], payload: bytes) -> bytes:
    """One frame, with headers that are strings. Raises `ValueError` for what is too large.

    >>> len(encode_frame({}, b""))
    16
    """
    named = bytearray()
    for name, value in headers.items():
        raw, text = name.encode(), value.encode()
        if not 0 < len(raw) < 256 or len(text) > 32_767:
            raise ValueError(f"a header that no frame can hold: {name[:50]!r}")
        named += bytes((len(raw),)) + raw + bytes((_STRING,)) + _LENGTH.pack(len(text)) + text
    if len(named) > MAX_HEADERS or len(payload) > MAX_PAYLOAD:
        raise ValueError(f"a frame of {len(payload)} bytes is too large")
    prelude = struct.pack(">II", _OVERHEAD + len(named) + len(payload), len(named))
    data = b"".join((prelude, _CRC.pack(zlib.crc32(prelude)), named, payload))
    return data + _CRC.pack(zlib.crc32(data))


def encode_event(event: str | None, data: bytes) -> bytes:
    """An event as a frame. One whose name ends in "Exception" is an exception of the service.

    >>> FrameDecoder().feed(encode_event("throttlingException", b"{}"))[0].headers[":message-type"]
    'exception'
    """
    name = event or "event"
    kind = "exception" if name.endswith(_EXCEPTION) else "event"
    headers = {f":{kind}-type": name, ":content-type": "application/json", ":message-type": kind}
    return encode_frame(headers, data)


class BinaryDecoder:
    """Frames, or server-sent events with the same content, distinguished by the first byte: no text begins with a zero.

    Has the methods of `SSEDecoder`. An error without an exception is an event "error" with its code and message.
    """

    plain = False  # whether what comes next opens a block of server-sent events

    def __init__(self) -> None:
        self.truncated: bytes | None = None
        self._inner: FrameDecoder | SSEDecoder | None = None

    def feed(self, chunk: bytes) -> list[SSEEvent]:
        """Take the next bytes and return the events they complete."""
        if self._inner is None:
            if not chunk:
                return []
            self._inner = SSEDecoder() if chunk[0] else FrameDecoder()
        if isinstance(self._inner, SSEDecoder):
            return self._inner.feed(chunk)
        return [_event(frame) for frame in self._inner.feed(chunk)]

    def close(self) -> list[SSEEvent]:
        """The end of the bytes."""
        if self._inner is None:
            return []
        left = self._inner.close() if isinstance(self._inner, SSEDecoder) else []
        if isinstance(self._inner, FrameDecoder):
            self._inner.close()
        self.truncated = self._inner.truncated
        return left


def _event(frame: Frame) -> SSEEvent:
    headers = {name: value for name, value in frame.headers.items() if isinstance(value, str)}
    kind = headers.get(":message-type", "event")
    if kind == "error":
        said = {"code": headers.get(":error-code", ""), "message": headers.get(":error-message", "")}
        return {"event": "error", "data": dump_text(said)}
    name = headers.get(":exception-type" if kind == "exception" else ":event-type")
    return {"event": name, "data": frame.payload.decode(errors="replace") or "{}"}


class Unframed:
    """Frames in, the bytes of server-sent events out."""

    def __init__(self) -> None:
        self._decoder = FrameDecoder()

    def feed(self, chunk: bytes) -> bytes:
        """The events of all frames that are complete. Raises `RemoteProtocolError` for a damaged one."""
        events = map(_event, self._decoder.feed(chunk))
        return b"".join(encode(event["event"], event["data"]) for event in events)


def reframed(events: bytes) -> bytes:
    """Complete server-sent events as frames; other lines (keepalives) have none.

    >>> FrameDecoder().feed(reframed(b'event: ping\\ndata: {}\\n\\n'))[0].payload
    b'{}'
    """
    decoder = SSEDecoder()
    found = [*decoder.feed(events), *decoder.close()]
    return b"".join(encode_event(event["event"], event["data"].encode()) for event in found)
