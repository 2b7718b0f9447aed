"""The body of a request: read within limits, decompressed, and peeked at without being parsed whole.

The limit holds for the bytes on the wire and for the decompressed body; data is decompressed piece by piece, so that a
small body that expands without end is refused after `max_body` bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import msgspec
import zstandard

from ...client.state.response_memory import keeps
from ...client.state.store import takes
from ...engine.registry import adapter
from ...foundation.errors import InvalidBody
from ...foundation.json_codec import parse
from ..configuration.config import GatewaySettings
from ..responses.replies import Refusal
from .pace import Paced

__all__ = ["Disconnected", "Peek", "check_media_type", "has_json", "peek", "read_body"]

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
_CHUNK = 1 << 16
_MEMBERS = 2_000  # of a compressed body; one that is written in blocks of 64 kB has 500 at `max_body`
_DIGITS = 20  # of a length
_FREE = 1_000_000  # decompressed bytes below which the ratio does not matter


class Disconnected(Exception):
    """The client closed the connection before its request was complete."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    def feed(self, data: bytes) -> list[bytes]: ...


class _Deflate:
    """gzip and zlib. Every output chunk is bounded, whatever a compressed chunk expands to."""

    def __init__(self, bits: int, check: Callable[[int], None]) -> None:
        self._bits, self._check = bits, check
        self._inner = zlib.decompressobj(bits)
        self._members = 1
        self.eof = False

    def feed(self, data: bytes) -> list[bytes]:
        out = []
        # What is left behind a member, and behind a piece of output, is a copy: of small steps, it is small.
        for start in range(0, len(data), _CHUNK):
            step = data[start : start + _CHUNK]
            while step:
                if self.eof:  # gzip allows several members
                    self._inner, self.eof = zlib.decompressobj(self._bits), False
                    self._members = _one_more(self._members)
                piece = self._inner.decompress(step, _CHUNK)
                self._check(len(piece))
                out.append(piece)
                step = self._inner.unused_data if self._inner.eof else self._inner.unconsumed_tail
                self.eof = self._inner.eof
        # What is held back inside comes out without more input.
        while not self.eof and (piece := self._inner.decompress(b"", _CHUNK)):
            self._check(len(piece))
            out.append(piece)
        return out


class _Zstandard:
    """zstd frames, with a window that a small server can afford."""

    def __init__(self, check: Callable[[int], None]) -> None:
        self._check = check
        self._outer = zstandard.ZstdDecompressor(max_window_size=1 << 27)
        self._inner = self._outer.decompressobj()
        self._members = 1
        self.eof = False

    def feed(self, data: bytes) -> list[bytes]:
        out = []
        # A block expands to 128 kB at most; small steps keep what one call returns bounded.
        for start in range(0, len(data), 256):
            step = data[start : start + 256]
            while step:
                if self.eof:
                    self._inner, self.eof = self._outer.decompressobj(), False
                    self._members = _one_more(self._members)
                piece = self._inner.decompress(step)
                self._check(len(piece))
                out.append(piece)
                self.eof = self._inner.eof
                step = self._inner.unused_data if self.eof else b""
        return out


def _one_more(members: int) -> int:
    """The number of members, or frames, with one more. Raises `Refusal` (400): an empty one takes as long as 2 kB."""
    if members >= _MEMBERS:
        reason = f"the compressed body has more than {_MEMBERS} members"
        raise Refusal(400, "invalid_request", reason, code="body_members")
    return members + 1


async def read_body(
    receive: Receive, coding: str, declared: str, limits: GatewaySettings, most: int | None = None
) -> bytes:
    """The body of a request, decompressed; `most` are the bytes that it may have, by default `max_body`.

    `coding` and `declared` are the headers `content-encoding` (in lower case) and `content-length`.

    Raises `Refusal` (400, 408, 413, 415) and `Disconnected`.
    """
    most = limits.max_body if most is None else most
    size = int(declared) if declared.isdecimal() and len(declared) < _DIGITS else None
    if declared.isdecimal() and (size is None or size > most):
        raise _too_large(most)
    inner = None if coding in ("", "identity") else _Expanded(coding, most, limits.max_ratio)
    with Paced(limits.receive_timeout, limits.receive_rate) as paced:
        chunk, more = await _piece(receive)
        if inner is None and not more:
            if len(chunk) > most:
                raise _too_large(most)
            return chunk
        # Not a list of pieces: a client can make them so small that the list is many times as large.
        pieces = bytearray()
        while True:
            paced.taken += len(chunk)
            if paced.taken > most:
                raise _too_large(most)
            pieces += chunk if inner is None else inner.feed(chunk)
            if not more:
                break
            chunk, more = await _piece(receive)
    if inner is not None:
        inner.finish()
    return bytes(pieces)


async def _piece(receive: Receive) -> tuple[bytes, bool]:
    """The next piece of a body, and whether there are more. Raises `Disconnected`."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Disconnected
    return message.get("body", b""), message.get("more_body", False)


class _Expanded:
    """What a compressed body expands to. Raises `Refusal` (400, 413, 415)."""

    def __init__(self, coding: str, most: int, ratio: int) -> None:
        self._coding, self._most, self._ratio = coding, most, ratio
        self._taken = self._made = 0
        self._inner = _decompressor(coding, self._check)

    def feed(self, chunk: bytes) -> bytes:
        """The next piece."""
        self._taken += len(chunk)
        try:
            return b"".join(self._inner.feed(chunk))
        except (zlib.error, zstandard.ZstdError) as error:
            raise Refusal(400, "invalid_request", f"the body is not valid {self._coding}: {error}") from None

    def finish(self) -> None:
        """The end of the body."""
        if self._taken and not self._inner.eof:
            raise Refusal(400, "invalid_request", f"the {self._coding} body is incomplete")

    def _check(self, size: int) -> None:
        self._made += size
        if self._made > self._most:
            raise _too_large(self._most)
        if self._made > _FREE and self._made > self._taken * self._ratio:
            reason = f"the body expands more than {self._ratio} times"
            raise Refusal(413, "too_large", reason, code="body_ratio")


def has_json(headers: Mapping[str, str]) -> bool:
    """Whether a body is JSON, and declared as JSON."""
    kind = _media_type(headers)
    return kind == "application/json" or kind.endswith("+json")


def check_media_type(headers: Mapping[str, str]) -> None:
    """Raise `Refusal` (415) for a body that is not JSON, or not declared as JSON."""
    if not has_json(headers):
        kind = _media_type(headers)
        reason = f"content-type must be application/json, got {kind!r}" if kind else "content-type is missing"
        raise Refusal(415, "invalid_request", reason, code="unsupported_media_type")


def _media_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _decompressor(coding: str, check: Callable[[int], None]) -> _Decompressor:
    if coding in ("gzip", "x-gzip"):
        return _Deflate(zlib.MAX_WBITS | 16, check)
    if coding == "deflate":
        return _Deflate(zlib.MAX_WBITS, check)
    if coding == "zstd":
        return _Zstandard(check)
    raise Refusal(415, "invalid_request", f"content-encoding {coding!r} is not supported; use gzip, deflate or zstd")


def _too_large(most: int) -> Refusal:
    return Refusal(413, "too_large", f"the body is larger than {most} bytes", code="body_too_large")


# ---- what a body contains, without parsing all of it ----------------------------------------------------------------


class Peek(NamedTuple):
    """The parts of a request body that routing and state use."""

    model: Any = None
    stream: Any = None
    store: Any = None
    background: Any = None
    previous: Any = None
    conversation: Any = None


def peek(protocol: str, content: bytes) -> Peek:
    """The top-level settings of a request body that the gateway looks at, by their canonical names.

    Raises `Refusal` (400) for a body that is not a JSON object.

    >>> found = peek("openai-responses", b'{"model": "m", "store": false, "input": "Hi"}')
    >>> found.model, found.store, found.previous
    ('m', False, None)
    """
    fields, decoder = _decoder(protocol.partition(":")[0])
    try:
        found = decoder.decode(content)
        return Peek(found.model, found.stream, found.store, found.background, found.previous, found.conversation)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    # What is not quite JSON (a lone surrogate, a long number) is read as everywhere else, or refused in the same words.
    try:
        body = parse(content)
    except InvalidBody as error:
        raise Refusal(400, "invalid_request", str(error), code="invalid_json") from None
    if not isinstance(body, dict):
        raise Refusal(400, "invalid_request", "the body must be a JSON object", code="invalid_json")
    standard = {"stream": adapter(protocol).streams.by_default}
    return Peek(**{name: body.get(key, standard.get(name)) for name, key in fields.items()})


@lru_cache(64)
def _decoder(protocol: str) -> tuple[Mapping[str, str], msgspec.json.Decoder[Any]]:
    """A decoder that skips everything but a protocol's own spelling of these settings."""
    known = adapter(protocol)
    names = ("model", "stream", "store", "background", "conversation")
    fields = {name: key for name in names if (key := takes(known, name))}
    if any(route.kind == "request" and route.stream is None for route in known.routes):
        fields["stream"] = known.stream_field()
    if key := keeps(protocol):
        fields["previous"] = key
    missing = {name: None for name in Peek._fields if name not in fields}
    given = [(name, Any, known.streams.by_default if name == "stream" else None) for name in fields]
    struct = msgspec.defstruct("Body", given, rename=fields, namespace=missing)
    return fields, msgspec.json.Decoder(struct)
