"""Streams as the caller sees them: canonical events as objects, and the whole answer at the end.

Iterate a stream once; leaving it early hangs up. What goes wrong on the way is raised where it happens, as a typed
error, and a stream that was cut off never ends like one that was whole. The two forms differ in how they wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Self

from ..foundation.errors import RemoteProtocolError, UnifiedLLMError
from ..losses import Losses
from .results import Result, T
from .stream_results import Opening
from .telemetry.hooks import acall_hook, call_hook

if TYPE_CHECKING:
    from ..types.events import Event
    from ..types.response import Response
    from .upstreams.upstream import Upstream

__all__ = ["AsyncEventStream", "EventStream"]


class _Seen:
    """What both forms share: from a wire event to event objects, and how it ended."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._wire: Any = opening.stream.events()
        self._ready: deque[Event] = deque()
        self._over = self._raised = False
        self._error: BaseException | None = None
        self._resume = _place(opening)
        self.last: str | int | None = None
        self.upstream: Upstream = opening.stream.upstream

    def __repr__(self) -> str:
        name = self.upstream.name
        state = "failed" if self._raised or self._error is not None else "ended" if self._over else "open"
        return f"{type(self).__name__}({state!r}, upstream={name!r}, protocol={self.upstream.protocol!r})"

    @property
    def losses(self) -> Losses:
        """What of the request did not get to the provider as it was."""
        call = self._opening.call
        return Losses([*(call.losses if call else ()), *self._opening.stream.sent.losses])

    @property
    def request_id(self) -> str | None:
        """The provider's name for the request."""
        found: str | None = self._opening.stream.request_id
        return found

    @property
    def partial(self) -> Response:
        """The canonical response as far as it got."""
        from ..types.validation import validate

        found: Response = validate("response", self._opening.reader.partial)
        return found

    def _take(self, event: dict[str, Any] | None) -> None:
        """Take in a wire event; None is the end."""
        if event is None:
            self._over = True
            self._ready += self._objects(self._opening.reader.close)
            self._opening.finished()
            return
        data = event["data"]
        if self._resume and type(data) is dict:
            self.last = data.get(self._resume, self.last)
        self._ready += self._objects(self._opening.reader.feed, event)

    def _objects(self, read: Callable[..., list[dict[str, Any]]], *arguments: Any) -> list[Event]:
        from ..types.validation import validate

        try:
            events = read(*arguments)
        except RemoteProtocolError as error:
            raise self._opening.broken(str(error)) from error
        return [validate("event", event) for event in events if event["type"] != "error"]

    def _final(self) -> Result[Any]:
        if isinstance(self._error, UnifiedLLMError):
            raise self._error  # again, where the result is read after the stream has failed
        return self._opening.result()

    def _check(self) -> None:
        """Raise what the provider says went wrong, once."""
        failure = self._opening.failure() if self._opening.reader.failure is not None and not self._raised else None
        if failure is not None:
            self._raised = True
            raise failure


def _place(opening: Opening) -> str:
    from ..engine.registry import split

    resume = split(opening.stream.upstream.protocol)[0].resume
    return resume[1] if resume else ""


class EventStream(_Seen, Generic[T]):
    """The events of one answer, canonical ones. `get_final_response()` reads what is left and gives the whole of it.

    Leaving the `with` block hangs up. Raises `StreamInterruptedError` where the answer is cut off; `.partial` is what
    came, and `.last` the event behind which a kept answer can be taken up again.

    >>> import unified_llm as ul
    >>> with ul.Client().responses.create(model="local/echo", input="Good day", stream=True) as events:
    ...     list(events.text_deltas)
    ['Good', ' day']
    >>> events.get_final_response().output_text
    'Good day'
    """

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        try:
            while not self._ready and not self._over:
                self._check()
                self._take(next(self._wire, None))
        except BaseException as error:
            self._error = error
            self.close()
            raise
        if not self._ready:
            self.close()
            self._check()
            raise StopIteration
        return self._ready.popleft()

    def get_final_response(self) -> Result[T]:
        """The whole answer, as `create` without streaming gives it."""
        for _ in self:
            pass
        return self._final()

    @property
    def text_deltas(self) -> Iterator[str]:
        """Only the text, piece by piece."""
        return (event.delta or "" for event in self if event.type == "response.output_text.delta")

    def close(self) -> None:
        """Hang up."""
        self._over = True
        self._ready.clear()
        self._opening.stream.close()
        hooked = self._opening.ended(self._error)
        if hooked is not None:
            call_hook(*hooked)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncEventStream(_Seen, Generic[T]):
    """`EventStream` for event loops.

    >>> import asyncio, unified_llm as ul
    >>> async def main():
    ...     async with ul.AsyncClient(model="local/echo") as client:
    ...         async with await client.responses.create(input="Good day", stream=True) as events:
    ...             return [text async for text in events.text_deltas]
    >>> asyncio.run(main())
    ['Good', ' day']
    """

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        try:
            while not self._ready and not self._over:
                self._check()
                self._take(await anext(self._wire, None))
        except BaseException as error:
            self._error = error
            await self.aclose()
            raise
        if not self._ready:
            await self.aclose()
            self._check()
            raise StopAsyncIteration
        return self._ready.popleft()

    async def get_final_response(self) -> Result[T]:
        """The whole answer, as `create` without streaming gives it."""
        async for _ in self:
            pass
        return self._final()

    @property
    def text_deltas(self) -> AsyncIterator[str]:
        """Only the text, piece by piece."""

        async def deltas() -> AsyncGenerator[str, None]:
            async for event in self:
                if event.type == "response.output_text.delta":
                    yield event.delta or ""

        return deltas()

    async def aclose(self) -> None:
        """Hang up."""
        self._over = True
        self._ready.clear()
        await self._opening.stream.aclose()
        hooked = self._opening.ended(self._error)
        if hooked is not None:
            await acall_hook(*hooked)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
