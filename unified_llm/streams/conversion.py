"""The library's front door for streams: wire events to wire events, sync and async, and to canonical events.

Wire events are dicts `{"event": name or None, "data": JSON value or string}`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Unpack

from ..engine.pairs.reading import Reader
from ..engine.registry import provider_of, split
from ..losses import Losses
from ..passes.convert import convert
from ..passes.keyword_arguments import StreamKeywords, spelled_out
from .collect_and_decompose import aclose, checked
from .pipeline import Pipe

if TYPE_CHECKING:
    from ..models.names import ProtocolName

__all__ = [
    "ConvertedStream",
    "aconvert_stream",
    "convert_stream",
    "read_stream",
]

Event = dict[str, Any]


class ConvertedStream:
    """The wire events of a converted stream; iterate it once. `.losses` grows on the way and is final at exhaustion.

    An event is `{"event": its name or None, "data": a JSON value, or a text like "[DONE]"}`. Made by `convert_stream`.

    >>> stream = convert_stream([], source="openai-chat", target="openai-chat")
    >>> list(stream), len(stream.losses)
    ([], 0)
    """

    def __init__(self, events: Iterable[Event], pipe: Pipe) -> None:
        self._pipe = pipe
        self._events = chain.from_iterable(self._run(events))

    @property
    def losses(self) -> Losses:
        """What did not come through as it was, so far."""
        return self._pipe.losses.report()

    @property
    def http(self) -> dict[str, Any]:
        """What of the response belongs in its HTTP headers, as in `Converted.http`: complete after the first event."""
        return self._pipe.writing.http

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def __next__(self) -> Event:
        return next(self._events)

    def _run(self, events: Iterable[Event]) -> Iterator[Iterable[Event]]:
        """The wire events, a few or many at a time."""
        pipe, events = self._pipe, iter(events)
        here: list[Event] = []

        def ended(passed: int, rest: list[Event]) -> None:
            nonlocal here
            pipe.passed, here = passed, rest

        for event in events:
            yield pipe.anew(event)
            while pipe.short is not None:
                # What `feed` does, without a call for each event.
                here = []
                yield pipe.short.events(events, ended)
                if not here:
                    break
                yield pipe.anew(here[0])
        yield pipe.close()


class AsyncConvertedStream:
    """The same for async iterables."""

    def __init__(self, events: AsyncIterable[Event], pipe: Pipe) -> None:
        self._pipe = pipe
        self._events = self._run(events)

    @property
    def losses(self) -> Losses:
        return self._pipe.losses.report()

    @property
    def http(self) -> dict[str, Any]:
        return self._pipe.writing.http

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events

    async def __anext__(self) -> Event:
        return await self._events.__anext__()

    async def aclose(self) -> None:
        """Stop here, and close what the events come from."""
        await self._events.aclose()

    async def _run(self, events: AsyncIterable[Event]) -> AsyncGenerator[Event, None]:
        try:
            async for event in events:
                for out in self._pipe.feed(event):
                    yield out
            for out in self._pipe.close():
                yield out
        finally:
            await aclose(events)


@spelled_out(StreamKeywords, convert)
def convert_stream(
    events: Iterable[Event], *, source: ProtocolName, target: ProtocolName, **options: Unpack[StreamKeywords]
) -> ConvertedStream:
    """Convert a stream of wire events of `source` to those of `target`.

    Takes `model`, `http`, `on_loss`, `facing`, `exchange`, `vault`, `secret`, `scope` as `convert` does. A stream cut
    off ends in the target's own error form, never in a success. A loss at level `raise` is raised before its event is
    yielded.

    >>> chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
    ...          "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}
    >>> stream = convert_stream([{"event": None, "data": chunk}, {"event": None, "data": "[DONE]"}],
    ...                         source="openai-chat", target="openai-responses")
    >>> [event["event"] for event in stream][-1]
    'response.completed'
    """
    return ConvertedStream(events, Pipe(source, target, **options))


@spelled_out(StreamKeywords, convert)
def aconvert_stream(
    events: AsyncIterable[Event], *, source: ProtocolName, target: ProtocolName, **options: Unpack[StreamKeywords]
) -> AsyncConvertedStream:
    """`convert_stream` for an async iterable of wire events.

    >>> import asyncio
    >>> async def main():
    ...     async def events():
    ...         yield {"event": None, "data": "[DONE]"}
    ...     stream = aconvert_stream(events(), source="openai-chat", target="openai-chat")
    ...     return [event["data"] async for event in stream]
    >>> asyncio.run(main())
    ['[DONE]']
    """
    return AsyncConvertedStream(events, Pipe(source, target, **options))


def read_stream(events: Iterable[Event], protocol: ProtocolName) -> Iterator[Event]:
    """The canonical events (JSON form) of a stream of wire events `{"event": name or None, "data": value}`.

    `protocol` may have a dialect behind a colon. A stream that breaks its protocol's rules, or is cut off, ends in an
    `error` event, never in a success. Raises `InvalidBody` for what is not an event.

    >>> chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
    ...          "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    >>> events = read_stream([{"data": chunk}, {"data": "[DONE]"}], "openai-chat")
    >>> [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
    ['Hi']
    """
    adapter, dialect = split(protocol)
    reader = adapter.streams.reader(Reader(adapter, dialect=dialect, provider=provider_of(protocol, dialect)))
    return checked(reader, events)
