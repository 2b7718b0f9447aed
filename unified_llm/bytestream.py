"""The front door for streams as bytes: what comes from an upstream's socket, as the target's own clients read it.

Around the pipe of `streaming.py` stand the two framings there are: server-sent events, and one JSON array of them all.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import Any

from .exchange import Exchange
from .halves import Halves
from .jsonarray import JSONArrayEncoder, StreamDecoder
from .sse import Passing, SSEDecoder, encode, parse_data
from .streaming import _Pipe

__all__ = ["ByteStream", "atranslate_sse", "translate_sse"]

Event = dict[str, Any]


class ByteStream:
    """Bytes in, bytes out around a pipe, one write per event; options are those of `translate_sse`."""

    def __init__(self, source: str, target: str, *, array: bool | None = None, **options: Any) -> None:
        self.pipe = _Pipe(source, target, **options)
        self.decoder = StreamDecoder() if self.pipe.origin.streams.framing.array else SSEDecoder()
        framing = self.pipe.goal.streams.framing
        self.named = framing.named
        self.dump = Halves().dump
        if array and not framing.array:
            raise ValueError(f"a stream of {target} has no form as a JSON array")
        if array is None:
            exchange: Exchange | None = options.get("exchange")
            array = bool(framing.array and exchange is not None and exchange.options.get("array"))
        self.array = JSONArrayEncoder() if array else None

    def feed(self, chunk: bytes) -> list[bytes]:
        return self._through(self.decoder.feed(chunk))

    def close(self) -> list[bytes]:
        out = self._through(self.decoder.close())
        out += [self._encode(event) for event in self.pipe.close()]
        return [*out, self.array.close()] if self.array is not None else out

    def fail(self, error: Mapping[str, Any]) -> list[bytes]:
        """The end of a stream whose bytes stopped coming: a canonical error in the target's own form."""
        events = [*self.pipe.writer.feed({"type": "error", "error": dict(error)}), *self.pipe.writer.close()]
        out = [self._encode(event) for event in events]
        return [*out, self.array.close()] if self.array is not None else out

    def _through(self, events: Iterable[Any]) -> list[bytes]:
        out = []
        for event in events:
            wire = {"event": event["event"], "data": parse_data(event["data"])}
            out += [self._encode(done) for done in self.pipe.feed(wire)]
        return out

    def _encode(self, event: Event) -> bytes:
        data = event["data"]
        if self.array is not None:
            return self.array.encode(self.dump(data))
        return encode(event["event"] if self.named else None, data if isinstance(data, str) else self.dump(data))


def translate_sse(chunks: Iterable[bytes], *, source: str, target: str, **options: Any) -> Iterator[bytes]:
    """Translate the bytes of an event stream to the bytes the target's own clients read, as they come.

    Takes what `convert_stream` takes, and `array`: whether to write one JSON array instead of server-sent events, where
    the target has that framing (ValueError where it has not); None, the default, is as the client of `exchange` asked.
    A source that has both framings may come in either. The same protocol on both sides, with nothing to change, passes
    the bytes through untouched, but for keepalives dressed as data, which become comments.
    """
    if source == target and not options:
        passing = Passing()
        yield from filter(None, map(passing.feed, chunks))
        if rest := passing.close():
            yield rest
        return
    stream = ByteStream(source, target, **options)
    for chunk in chunks:
        yield from stream.feed(chunk)
    yield from stream.close()


async def atranslate_sse(
    chunks: AsyncIterable[bytes], *, source: str, target: str, **options: Any
) -> AsyncIterator[bytes]:
    """`translate_sse` for async byte streams."""
    if source == target and not options:
        passing = Passing()
        async for chunk in chunks:
            if out := passing.feed(chunk):
                yield out
        if rest := passing.close():
            yield rest
        return
    stream = ByteStream(source, target, **options)
    async for chunk in chunks:
        for out in stream.feed(chunk):
            yield out
    for out in stream.close():
        yield out
