"""Streams of structured output: the events, the value so far, and the whole value at the end.

The value grows with the text as the provider sends it. The events of a text that has to be restored (its schema was
lowered for the provider) come when it is complete, so `snapshots` are not read from the events.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from typing import Any, Generic

from ..results import Result, T
from ..stream_results import Opening
from ..streams import AsyncEventStream, EventStream, _Seen
from .snapshots import Growing, Snapshot
from .strategies import Parser

__all__ = ["AsyncParsedStream", "AsyncWatchedStream", "ParsedStream", "WatchedStream", "asnapshots", "snapshots"]


class _Watching(_Seen):
    """A stream whose value is read as it grows."""

    _growing: Growing

    def _watch(self, growing: Growing) -> None:
        self._growing = growing
        self._opening.reader.watch = growing.feed

    def _take(self, event: dict[str, Any] | None) -> None:
        super()._take(event)
        ended = event is None
        if ended and self._opening.reader.response is not None:
            self._growing.end(self._opening.result())
        if self._growing.is_read and self._growing.changed(ended=ended):
            self._ready.append(Snapshot(self._growing.value))  # type: ignore[arg-type]  # `snapshots` takes it out


class WatchedStream(_Watching, EventStream[T]):
    """The events of one turn of a run with structured output."""

    def __init__(self, opening: Opening, growing: Growing) -> None:
        super().__init__(opening)
        self._watch(growing)


class AsyncWatchedStream(_Watching, AsyncEventStream[T]):
    """`WatchedStream` for event loops."""

    def __init__(self, opening: Opening, growing: Growing) -> None:
        super().__init__(opening)
        self._watch(growing)


class _Parsing(_Watching, Generic[T]):
    """A stream whose value is validated at its end."""

    _result: Result[T] | None = None

    def __init__(self, opening: Opening, parser: Parser) -> None:
        super().__init__(opening)
        self._watch(Growing(parser))
        self._parser = parser

    @property
    def snapshot(self) -> T | None:
        """The value so far."""
        found: T | None = self._growing.value
        return found


class ParsedStream(_Parsing[T], EventStream[T]):
    """The events of an answer with structured output, made by `responses.parse(stream=True)`.

    `.snapshot` is the value so far, an instance of the `text_format`: what has arrived is validated, what has not is
    None or the field's default. None before anything has arrived. `.snapshots` are its states as the answer grows, and
    `get_final_response().output_parsed` the whole value.

    >>> import unified_llm as ul
    >>> stream = ul.Client().responses.parse(model="local/echo", input="Hi", text_format=list[str], stream=True)
    >>> seen = list(stream.snapshots)
    >>> seen[-1] == stream.get_final_response().output_parsed
    True
    """

    @property
    def snapshots(self) -> Iterator[T]:
        """The values on the way, each with more in it; long answers are shown in steps of at least a 64th."""
        return snapshots(self, self._growing)

    def get_final_response(self) -> Result[T]:
        """The whole answer, with `.output_parsed`. Raises `OutputParseError` where it does not fit."""
        if self._result is None:
            result = super().get_final_response()
            self._parser.read(result)
            self._result = result
        return self._result


class AsyncParsedStream(_Parsing[T], AsyncEventStream[T]):
    """`ParsedStream` for event loops.

    >>> import asyncio, unified_llm as ul
    >>> async def main():
    ...     async with ul.AsyncClient(model="local/echo") as client:
    ...         stream = await client.responses.parse(input="Hi", text_format=list[str], stream=True)
    ...         seen = [value async for value in stream.snapshots]
    ...         return seen[-1] == (await stream.get_final_response()).output_parsed
    >>> asyncio.run(main())
    True
    """

    @property
    def snapshots(self) -> AsyncIterator[T]:
        """As `ParsedStream.snapshots`."""
        return asnapshots(self, self._growing)

    async def get_final_response(self) -> Result[T]:
        """As `ParsedStream.get_final_response`."""
        if self._result is None:
            result = await super().get_final_response()
            self._parser.read(result)
            self._result = result
        return self._result


def snapshots(events: Iterator[Any], growing: Growing) -> Generator[Any, None, None]:
    """The values on the way through a stream."""
    growing.is_read = True
    try:
        for event in events:
            if isinstance(event, Snapshot):
                yield event.value
    finally:
        growing.is_read = False


async def asnapshots(events: AsyncIterator[Any], growing: Growing) -> AsyncGenerator[Any, None]:
    """The same in an event loop."""
    growing.is_read = True
    try:
        async for event in events:
            if isinstance(event, Snapshot):
                yield event.value
    finally:
        growing.is_read = False
