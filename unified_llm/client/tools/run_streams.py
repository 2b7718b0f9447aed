"""A tool loop as a stream: the events of all its turns, and what happens between them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, Generic

from ...foundation.errors import InvalidBody, StreamInterruptedError
from ..results import T
from ..sending.flows import Steps, Turn
from ..streams import EventStream
from ..structured.parsed_streams import asnapshots, snapshots
from ..structured.snapshots import Growing
from .run_results import RunResult

if TYPE_CHECKING:
    from ...types.events import Event
    from .tool_loop import ToolOutput, TurnDone

__all__ = ["AsyncRunStream", "RunStream"]


class _Run(Generic[T]):
    """What both forms of a streamed tool loop share."""

    def __init__(
        self, flow: Callable[[Callable[[Any], None]], Steps[RunResult[T]]], growing: Growing | None = None
    ) -> None:
        self._told: list[ToolOutput | TurnDone] = []
        self._growing = growing
        self._flow = flow(self._told.append)
        self._result: RunResult[T] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'open' if self._result is None else 'complete'!r})"

    @property
    def snapshot(self) -> T | None:
        """The structured output so far, as `ParsedStream.snapshot`; None without a `text_format`."""
        return None if self._growing is None else self._growing.value

    def _structured(self) -> Growing:
        if self._growing is None:
            raise InvalidBody("/text_format", "snapshots are those of structured output; pass text_format= to run")
        return self._growing

    def _take_events(self) -> list[ToolOutput | TurnDone]:
        told = self._told[:]
        self._told.clear()
        return told


class RunStream(_Run[T]):
    """The events of all turns of a tool loop, with a `ToolOutput` for each output and a `TurnDone` behind each turn.

    >>> import unified_llm as ul
    >>> def now() -> str:
    ...     return "noon"
    >>> stream = ul.Client().responses.run(model="local/echo", input="[[call now]]", tools=[now], stream=True)
    >>> [event.type for event in stream if event.type.startswith("unified_llm:")]
    ['unified_llm:tool_output', 'unified_llm:turn_done', 'unified_llm:turn_done']
    >>> stream.get_final_result().output_text
    'now: noon'
    """

    def __init__(
        self,
        flow: Any,
        open_: Callable[[Any], EventStream],
        perform: Callable[[Any], Any],
        growing: Growing | None = None,
    ) -> None:
        super().__init__(flow, growing)
        self._open, self._perform = open_, perform
        self._events = self._run()

    def __iter__(self) -> Iterator[Event | ToolOutput | TurnDone]:
        return self._events

    def __next__(self) -> Event | ToolOutput | TurnDone:
        return next(self._events)

    def _run(self) -> Generator[Event | ToolOutput | TurnDone, None, None]:
        flow = self._flow
        try:
            effect = next(flow)
            while True:
                try:
                    if isinstance(effect, Turn):
                        with self._open(effect.call) as stream:
                            yield from stream
                            value: Any = stream.get_final_response()
                    else:
                        value = self._perform(effect)
                except Exception as error:
                    effect = flow.throw(error)
                else:
                    effect = flow.send(value)
                yield from self._take_events()
        except StopIteration as done:
            self._result = done.value
            yield from self._take_events()
        finally:
            flow.close()

    @property
    def snapshots(self) -> Iterator[T]:
        """The structured output as it grows, as `ParsedStream.snapshots`.

        Raises `InvalidBody` for a run without a `text_format`.
        """
        return snapshots(self, self._structured())

    def get_final_result(self) -> RunResult[T]:
        """The result of the loop, once it is through."""
        for _ in self._events:
            pass
        if self._result is None:
            raise _unfinished()
        return self._result

    def close(self) -> None:
        """Stop here."""
        self._events.close()

    def __enter__(self) -> RunStream[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncRunStream(_Run[T]):
    """`RunStream` for event loops.

    >>> import asyncio, unified_llm as ul
    >>> async def now() -> str:
    ...     return "noon"
    >>> async def main():
    ...     async with ul.AsyncClient(model="local/echo") as client:
    ...         stream = await client.responses.run(input="[[call now]]", tools=[now], stream=True)
    ...         return (await stream.get_final_result()).output_text
    >>> asyncio.run(main())
    'now: noon'
    """

    def __init__(
        self, flow: Any, open_: Callable[[Any], Any], perform: Callable[[Any], Any], growing: Growing | None = None
    ) -> None:
        super().__init__(flow, growing)
        self._open, self._perform = open_, perform
        self._events = self._run()

    def __aiter__(self) -> AsyncIterator[Event | ToolOutput | TurnDone]:
        return self._events

    async def __anext__(self) -> Event | ToolOutput | TurnDone:
        return await anext(self._events)

    async def _run(self) -> AsyncGenerator[Event | ToolOutput | TurnDone, None]:
        flow = self._flow
        try:
            effect = next(flow)
            while True:
                try:
                    if isinstance(effect, Turn):
                        async with await self._open(effect.call) as stream:
                            async for event in stream:
                                yield event
                            value: Any = await stream.get_final_response()
                    else:
                        value = await self._perform(effect)
                except Exception as error:
                    effect = flow.throw(error)
                else:
                    effect = flow.send(value)
                for told in self._take_events():
                    yield told
        except StopIteration as done:
            self._result = done.value
            for told in self._take_events():
                yield told
        finally:
            flow.close()

    @property
    def snapshots(self) -> AsyncIterator[T]:
        """As `RunStream.snapshots`."""
        return asnapshots(self, self._structured())

    async def get_final_result(self) -> RunResult[T]:
        """The result of the loop, once it is through."""
        async for _ in self._events:
            pass
        if self._result is None:
            raise _unfinished()
        return self._result

    async def aclose(self) -> None:
        """Stop here."""
        await self._events.aclose()

    async def __aenter__(self) -> AsyncRunStream[T]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _unfinished() -> StreamInterruptedError:
    why = "the run was closed, or failed, before its end, so there is no final result"
    return StreamInterruptedError(why, error={"type": "server_error", "code": "stream_broken", "message": why})
