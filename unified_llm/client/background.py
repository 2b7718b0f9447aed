"""Answers that take their time: a handle on what the provider works at, to look at, wait for, listen to, or cancel.

Only providers that keep answers can work in the background. Where one cannot, a client with a store awaits the answer
at once and keeps it: this is reported as a loss, and the handle is done from the start. Without a store the call is
refused.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic

from ..foundation.errors import APITimeoutError
from ..foundation.run_errors import OutputParseError
from .history import Segment
from .results import Result, T
from .retrieval import kept, reopen
from .sending.flows import Hook, Sleep, Steps
from .streams import AsyncEventStream, EventStream
from .structured.parsed_streams import AsyncParsedStream, ParsedStream
from .structured.strategies import ANSWERED, Parser

if TYPE_CHECKING:
    from .call_flows import Core
    from .client import AsyncClient, Client
    from .stream_results import Opening

__all__ = ["AsyncBackground", "Background"]

_WORKING = frozenset(("queued", "in_progress"))
_SLOWER, _SLOWEST = 1.5, 15.0


class _Handle(Generic[T]):
    def __init__(self, core: Core, result: Result[T], parser: Parser | None = None) -> None:
        self._core, self._parser = core, parser
        self.result: Result[T] = result
        try:
            self._parse()  # an answer that was awaited at once
        except OutputParseError:
            pass  # raised by `wait`

    @property
    def id(self) -> str:
        """The provider's name for the answer."""
        return self.result.id or ""

    @property
    def status(self) -> str:
        """How far it was when it was last looked at: queued, in_progress, completed, failed, requires_action, ..."""
        return self.result.status or "completed"

    @property
    def done(self) -> bool:
        """Whether the provider had stopped working at it when it was last looked at."""
        return self.status not in _WORKING

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r}, {self.status!r})"

    def _look(self) -> Steps[Result[T]]:
        last = self.result
        result: Result[T] = yield from kept(
            self._core, last.upstream, "GET", self.id, body=last.request, exchange=last.exchange
        )
        self._keep(result)
        self._parse()
        return result

    def _cancelled(self) -> Steps[Result[T]]:
        last = self.result
        result: Result[T] = yield from kept(
            self._core, last.upstream, "POST", self.id, "/cancel", last.request, last.exchange
        )
        self._keep(result)
        return result

    def _reopened(self, after: Any) -> Steps[Opening]:
        last = self.result
        return reopen(self._core, last.upstream, self.id, after, last.request, last.exchange)

    def _keep(self, result: Result[T]) -> None:
        """What the request lost is still lost, and its place in the conversation is the same."""
        before = self.result._made
        segments = (*before.segments[:-1], before.segments[-1]._replace(length=_count(result, before.segments[:-1])))
        made = replace(result._made, losses=before.losses, exchange=before.exchange, segments=segments)
        result._made = made
        self.result = result

    def _parse(self) -> None:
        """Read structured output, where it was requested and there is an answer. Raises `OutputParseError`."""
        if self._parser is not None and self.status in ANSWERED:
            self._parser.read(self.result)

    def _waiting(
        self, timeout: float | None, poll: float, on_progress: Callable[[Result], Any] | None, progress: bool | None
    ) -> Steps[Result[T]]:
        line = _Line(self.id, sys.stderr.isatty() if progress is None else progress)
        began: float = yield Hook(time.monotonic)
        try:
            while not self.done:
                now: float = yield Hook(time.monotonic)
                if timeout is not None and now - began >= timeout:
                    told = f"{self.id} is still {self.status} after {timeout:g} s; it continues, call wait() again"
                    raise APITimeoutError(told, error={"type": "timeout", "code": "still_working", "message": told})
                line.show(self.status, now - began)
                left = poll if timeout is None else min(poll, max(0.0, began + timeout - now))
                yield Sleep(left)
                poll = min(poll * _SLOWER, max(poll, _SLOWEST))
                yield from self._look()
                if on_progress is not None:
                    yield Hook(on_progress, (self.result,))
        finally:
            line.clear()
        self._parse()
        return self.result


def _count(result: Result, before: tuple[Segment, ...]) -> int:
    return len(result.item_nodes) - sum(each.length for each in before)


class _Line:
    """One line on a terminal that shows that the call continues."""

    def __init__(self, what: str, shown: bool) -> None:
        self.what, self.shown, self.width = what, shown, 0

    def show(self, status: str, seconds: float) -> None:
        if self.shown:
            text = f"{self.what}: {status}, {seconds:.0f} s"
            print(f"\r{text.ljust(self.width)}", end="", file=sys.stderr, flush=True)
            self.width = len(text)

    def clear(self) -> None:
        if self.shown and self.width:
            print("\r" + " " * self.width + "\r", end="", file=sys.stderr, flush=True)


class Background(_Handle[T]):
    """A handle on an answer in the making, made by `responses.create(..., background=True)` or `parse` with the same.

    `.id` is all there is to keep: `responses.retrieve` retrieves it from anywhere.
    `.result` is the answer as it was when it was last looked at. https://ai.google.dev/gemini-api/docs/interactions

    >>> import unified_llm as ul
    >>> client = ul.Client(model="local/echo", protocol="google-interactions")
    >>> handle = client.responses.create(input="Hi", background=True, store=True)
    >>> handle.done, handle.wait(poll=0.001).output_text, handle.done
    (False, 'Hi', True)
    """

    def __init__(self, client: Client, result: Result[T], parser: Parser | None = None) -> None:
        super().__init__(client._core, result, parser)
        self._client = client

    def refresh(self) -> Result[T]:
        """Look how far it is."""
        return self._client._run(self._look())

    def wait(
        self,
        timeout: float | None = None,
        *,
        poll: float = 1.0,
        on_progress: Callable[[Result], Any] | None = None,
        progress: bool | None = None,
    ) -> Result[T]:
        """Wait until the provider has stopped working, and give the result, whatever its status.

        `timeout` is seconds (None: as long as it takes), `poll` the first wait between two looks; later ones are
        longer. `on_progress` is called with every look; `progress` shows a line on the terminal (None: where there is
        one). Raises `APITimeoutError` when time is up; the provider goes on, and the handle can be waited for again. A
        handle of `responses.parse` raises `OutputParseError` for an answer that does not fit.
        """
        return self._client._run(self._waiting(timeout, poll, on_progress, progress))

    def cancel(self) -> Result[T]:
        """Have the provider stop."""
        return self._client._run(self._cancelled())

    def events(self, after: Any = None) -> EventStream[T]:
        """The stream of its events, from the beginning or behind the event `after` (`.last` of a stream that broke)."""
        opening = self._client._run(self._reopened(after))
        whole = self._parser if after is None else None  # the value cannot be read from a part of its text
        return EventStream(opening) if whole is None else ParsedStream(opening, whole)


class AsyncBackground(_Handle[T]):
    """`Background` for event loops.

    >>> import asyncio, unified_llm as ul
    >>> async def main():
    ...     async with ul.AsyncClient(model="local/echo", protocol="google-interactions") as client:
    ...         handle = await client.responses.create(input="Hi", background=True, store=True)
    ...         return (await handle.wait(poll=0.001)).output_text
    >>> asyncio.run(main())
    'Hi'
    """

    def __init__(self, client: AsyncClient, result: Result[T], parser: Parser | None = None) -> None:
        super().__init__(client._core, result, parser)
        self._client = client

    async def refresh(self) -> Result[T]:
        """Look how far it is."""
        return await self._client._run(self._look())

    async def wait(
        self,
        timeout: float | None = None,
        *,
        poll: float = 1.0,
        on_progress: Callable[[Result], Any] | None = None,
        progress: bool | None = None,
    ) -> Result[T]:
        """As `Background.wait`."""
        return await self._client._run(self._waiting(timeout, poll, on_progress, progress))

    async def cancel(self) -> Result[T]:
        """Have the provider stop."""
        return await self._client._run(self._cancelled())

    async def events(self, after: Any = None) -> AsyncEventStream[T]:
        """As `Background.events`."""
        opening = await self._client._run(self._reopened(after))
        whole = self._parser if after is None else None
        return AsyncEventStream(opening) if whole is None else AsyncParsedStream(opening, whole)
