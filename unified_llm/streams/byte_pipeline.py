"""The front door for streams as bytes: what comes from an upstream's socket, as the target's own clients read it.

Around the pipe of `conversion.py` stand the framings there are: server-sent events, one JSON array of them all, and
binary frames or lines, which are server-sent events to everything but the front door.
The fast path of a stream's bulk is shorter here: a frame that is known by its bytes is neither parsed nor built
(`byte_fast_path.py`).
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from ..engine.registry import adapter
from ..foundation.errors import RemoteProtocolError, UnifiedLLMError
from ..foundation.exchange import Exchange
from ..foundation.usage_errors import InvalidArgument
from ..passes.convert import convert
from ..passes.keyword_arguments import BytesKeywords, spelled_out
from ..provenance.opaque import escaped_json
from .byte_fast_path import reader_of, writer_of
from .collect_and_decompose import aclose
from .event_fast_path import NOTHING_MORE, ReadMore, WriteMore
from .framings.jsonarray import JSONArrayEncoder
from .framings.of_protocol import Decoder, decoder_of, framed
from .framings.sse import Passing, SSEDecoder, encode, is_garbled, parse_data
from .pipeline import Pipe
from .surrogates import Halves

if TYPE_CHECKING:
    from ..models.names import ProtocolName

__all__ = ["ByteStream", "atranslate_sse", "broken_off", "translate_sse"]

Event = dict[str, Any]

_END = b"\n\n"
_TRIES = 3  # frames on the fast path may still have other bytes each time


class ByteStream:
    """Bytes in, bytes out around a pipe, one write per event; options are those of `translate_sse`."""

    def __init__(self, source: str, target: str, *, array: bool | None = None, **options: Any) -> None:
        self.pipe: Pipe = Pipe(source, target, **options)
        self.decoder: Decoder = decoder_of(self.pipe.origin.streams.framing)
        framing = self.pipe.goal.streams.framing
        self.named: bool = framing.named
        self.halves: Halves = Halves()
        self.heads: dict[str | None, bytes] = {}
        # How more of the last frame is read on the fast path, what becomes of frames known by their bytes, the last
        # such.
        self.reads_more: ReadMore | None = None
        self.known: Callable[[bytes], list[bytes] | None] | None = None
        self.tries: int = 0
        self.latest: bytes = b""
        self.over: bool = False
        # What text from the wire goes through before an error quotes a part of it.
        self.clean: Callable[[str], str] = str
        # The data of the first and of the last event that were written.
        self.sent: tuple[Any, Any] = (None, None)
        # What a frame raised, while the frames before it in the same chunk are handed out.
        self.error: UnifiedLLMError | None = None
        if array and not framing.array:
            raise InvalidArgument(f"a stream of {target} has no form as a JSON array")
        if array is None:
            exchange: Exchange | None = options.get("exchange")
            array = bool(framing.array and exchange is not None and exchange.options.get("array"))
        self.array: JSONArrayEncoder | None = JSONArrayEncoder() if array else None

    def feed(self, chunk: bytes) -> list[bytes]:
        """The target's events for these bytes. An error is raised once all that comes before it was handed out."""
        out = self._feed(chunk)
        if self.error is not None and not out:
            raise self.error
        return out

    def _feed(self, chunk: bytes) -> list[bytes]:
        if self.over or self.error is not None:
            return []
        if self.known is not None and self.decoder.plain:
            out = self.known(chunk)
            if out is not None:
                return out
        if chunk.count(_END) > 1:
            *frames, rest = chunk.split(_END)
            return [done for frame in frames for done in self._feed(frame + _END)] + self._feed(rest)
        return self._frames(chunk)

    def _frames(self, chunk: bytes) -> list[bytes]:
        """The way of bytes that nothing is known of."""
        pipe, plain = self.pipe, self.decoder.plain
        self._read_latest()
        try:
            events = self.decoder.feed(chunk)
        except UnifiedLLMError as error:
            self.error = error
            return []
        out = self._through(events)
        if pipe.reads_more is not self.reads_more:
            self.reads_more, self.known, self.tries = pipe.reads_more, None, 0
        elif self.reads_more is not None and self.known is None and plain and len(events) == 1 and self.tries < _TRIES:
            self.tries += 1
            self._learn(chunk, out, self.reads_more, pipe.writes_more)
        return out

    def _read_latest(self) -> None:
        """The last of the frames that were known by their bytes is read for what counts of it alone."""
        latest, self.latest = self.latest, b""
        if latest and self.reads_more is not None and self.reads_more.counts is not None:
            for event in SSEDecoder().feed(latest):
                self.reads_more.counts({"event": event["event"], "data": parse_data(event["data"])})

    def _learn(self, frame: bytes, out: list[bytes], reads: ReadMore, writes: WriteMore) -> None:
        """A frame took the fast path: remember what it is like, and what became of it."""
        if reads.beside and self.pipe.origin is self.pipe.goal:
            return  # what is beside its text is for its own protocol's writer
        read, said, pipe, halves = reader_of(frame, reads), reads.said, self.pipe, self.halves
        write = writer_of(out[0], writes) if len(out) == 1 else None
        if read is None or (write is None and not (writes is NOTHING_MORE and not out)):
            return

        def known(chunk: bytes) -> list[bytes] | None:
            text = read(chunk)
            if not text or halves.held:
                return None
            said(text)
            self.latest = chunk
            pipe.passed += 1
            return [write(text)] if write is not None else []

        self.known = known

    def close(self) -> list[bytes]:
        if self.error is None:
            self._read_latest()
        out = self._through(self._last()) if not self.over and self.error is None else []
        if self.error is not None:
            raise self.error
        if self.over:
            return out
        self.pipe.writing.sent = self.sent
        out += [self._encode(event) for event in self.pipe.close()]
        return [*out, self.array.close()] if self.array is not None else out

    def _last(self) -> Iterable[Any]:
        try:
            return self.decoder.close()
        except UnifiedLLMError as error:
            self.error = error
            return ()

    def fail(self, error: Mapping[str, Any]) -> list[bytes]:
        """The end of a stream whose bytes stopped coming: a canonical error in the target's own form."""
        self.pipe.writing.sent = self.sent
        events = [*self.pipe.writer.feed({"type": "error", "error": dict(error)}), *self.pipe.writer.close()]
        out = [self._encode(event) for event in events]
        return [*out, self.array.close()] if self.array is not None else out

    def _through(self, events: Iterable[Any]) -> list[bytes]:
        out: list[bytes] = []
        for event in events:
            data = parse_data(event["data"])
            if is_garbled(data) and (self.pipe.aloud or self.pipe.crossing):
                reason = f"an event of the stream is not JSON: {self.clean(data)[:300]!r}"
                if self.pipe.aloud:
                    self.error = RemoteProtocolError(reason)
                    return out
                # Its content is unknown: a response without it must not look complete.
                self.over = True
                return [*out, *self.fail({"type": "server_error", "code": "unreadable_event", "message": reason})]
            try:
                found = self.pipe.feed({"event": event["event"], "data": data})
            except UnifiedLLMError as error:
                self.error = error
                return out
            if found:
                self.sent = (self.sent[0] or found[0]["data"], found[-1]["data"])
            out += [self._encode(done) for done in found]
        return out

    def _encode(self, event: Event) -> bytes:
        data = event["data"]
        if self.array is not None:
            return self.array.encode(self.halves.dump(data))
        name = event["event"] if self.named else None
        if isinstance(data, str):
            return _encoded(name, data)
        head = self.heads.get(name)
        if head is None:
            # What follows it is JSON on one line.
            head = _encoded(name, b"").removesuffix(b"\n\n")
            if len(self.heads) < _HEADS:  # a provider may make up a name for each event
                self.heads[name] = head
        return b"%b%b\n\n" % (head, self.halves.dump(data))


def broken_off(protocol: str, error: Mapping[str, Any], begun: bytes, latest: bytes) -> list[bytes]:
    """The end in a canonical error of a stream of events in `protocol` that were handed on as they came.

    `begun` is what was sent first, and `latest` what was sent last; each may be all of it.
    """
    stream = ByteStream(protocol, protocol)
    first, last = (SSEDecoder().feed(part) for part in (begun, latest))
    stream.sent = (parse_data(first[0]["data"]) if first else None, parse_data(last[-1]["data"]) if last else None)
    return stream.fail(error)


class _Unchanged:
    """Bytes handed on line by line as they came, but for dressed keepalives (`Passing`) and look-alikes of envelopes.

    What a provider sends is never to be taken for an envelope of ours when the client returns it (`opaque.py`).
    """

    def __init__(self) -> None:
        self._passing = Passing()
        self._line: list[bytes] = []  # a line that has no end yet

    def feed(self, chunk: bytes) -> bytes:
        part = self._passing.feed(chunk)
        cut = max(part.rfind(b"\n"), part.rfind(b"\r")) + 1
        if not cut:
            self._line.append(part)
            return b""
        whole = b"".join([*self._line, part[:cut]]) if self._line else part[:cut]
        self._line = [part[cut:]] if cut < len(part) else []
        return escaped_json(whole)

    def close(self) -> bytes:
        return escaped_json(b"".join([*self._line, self._passing.close()]))


_HEADS = 256


def _encoded(name: str | None, data: str | bytes) -> bytes:
    """One event, without its name where no line can hold that: its data have it too."""
    try:
        return encode(name, data)
    except ValueError:
        return encode(None, data)


def _unreported(source: str, target: str, options: Mapping[str, Any]) -> ByteStream:
    """A stream whose report is out of reach: losses are looked for only where `on_loss` is not "ignore"."""
    trial = "silent" if options.get("on_loss", "ignore") == "ignore" else ""
    return ByteStream(source, target, trial=trial, **options)


def _check_chunks(chunks: Any) -> None:
    if isinstance(chunks, (str, bytes, bytearray, memoryview)):
        raise InvalidArgument(f"translate_sse() takes an iterable of bytes, not {type(chunks).__name__}; pass [data]")


def _checked(chunk: Any) -> Any:
    if type(chunk) is str:
        raise InvalidArgument("translate_sse() takes chunks of bytes, not str; encode() them")
    return chunk


@spelled_out(BytesKeywords, convert)
def translate_sse(
    chunks: Iterable[bytes], *, source: ProtocolName, target: ProtocolName, **options: Unpack[BytesKeywords]
) -> Iterator[bytes]:
    """Translate the bytes of an event stream to the bytes the target's own clients read, as they come.

    Takes what `convert_stream` takes, and `array`: whether to write one JSON array instead of server-sent events, where
    the target has that framing (ValueError where it has not); None, the default, is as the client of `exchange`
    requested. A source that has both framings may come in either. The same protocol on both sides, with nothing to
    change, passes the bytes through untouched, line by line, but for keepalives dressed as data, which become comments,
    and for data that look like an envelope of this library. Between two protocols an event that is half of its JSON
    ends the stream, in the target's own error. Where a protocol frames its events in binary or as lines, the bytes are
    such frames.

    >>> chunk = (b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,'
    ...          b'"delta":{"content":"Hi"},"finish_reason":"stop"}]}\\n\\ndata: [DONE]\\n\\n')
    >>> events = translate_sse([chunk[:50], chunk[50:]], source="openai-chat", target="anthropic-messages")
    >>> b"".join(events).partition(b"\\n")[0]
    b'event: message_start'
    """
    _check_chunks(chunks)
    frames = framed(adapter(target).streams.framing)
    if source == target and not options and frames is None:
        passing = _Unchanged()
        yield from filter(None, map(passing.feed, map(_checked, chunks)))
        if rest := passing.close():
            yield rest
        return
    stream = _unreported(source, target, options)
    for chunk in map(_checked, chunks):
        yield from map(frames, stream.feed(chunk)) if frames is not None else stream.feed(chunk)
    yield from map(frames, stream.close()) if frames is not None else stream.close()


@spelled_out(BytesKeywords, convert)
async def atranslate_sse(
    chunks: AsyncIterable[bytes], *, source: ProtocolName, target: ProtocolName, **options: Unpack[BytesKeywords]
) -> AsyncIterator[bytes]:
    """`translate_sse` for async byte streams.

    >>> import asyncio
    >>> async def main():
    ...     async def chunks():
    ...         yield b"data: [DO"
    ...         yield b"NE]\\n\\n"
    ...     return b"".join([out async for out in atranslate_sse(chunks(), source="openai-chat", target="openai-chat")])
    >>> asyncio.run(main())
    b'data: [DONE]\\n\\n'
    """
    _check_chunks(chunks)
    frames = framed(adapter(target).streams.framing)
    passing = _Unchanged() if source == target and not options and frames is None else None
    stream = _unreported(source, target, options) if passing is None else None
    try:
        if passing is not None:
            async for chunk in chunks:
                if out := passing.feed(_checked(chunk)):
                    yield out
            if rest := passing.close():
                yield rest
        if stream is not None:
            async for chunk in chunks:
                for out in stream.feed(_checked(chunk)):
                    yield frames(out) if frames is not None else out
            for out in stream.close():
                yield frames(out) if frames is not None else out
    finally:
        await aclose(chunks)
