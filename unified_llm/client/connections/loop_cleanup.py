"""What event loops need beside `await`: things closed when their loop ends, and iterators that are left unfinished.

The asynchronous generators of an HTTP library stand in one another. Left unfinished, each is closed by the garbage
collector or at the end of the loop in a task of its own, all at the same time, and those that wait for one another
fail with errors that cannot be caught. So here they are hidden from the loop, and unwound from the inside, by
cancelling what the innermost of them waits for.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from contextlib import suppress
from functools import partial
from typing import Any

import httpx2

__all__ = ["Chunks", "Undecoded", "at_end_of", "current_loop", "has_ended", "run_later"]

Function = Callable[[], Awaitable[Any]]
_BUFFERED = 10_000  # chunks that may be read already, behind what an iterator gave last
_tasks: set[Any] = set()
_ends: dict[Any, _End] = {}


def current_loop() -> Any:
    """The running event loop: asyncio's, or trio's token for it."""
    import asyncio

    loop = asyncio._get_running_loop()
    if loop is not None and asyncio.current_task(loop) is not None:
        return loop  # as a guest of asyncio, trio runs in callbacks and not in a task
    trio = sys.modules.get("trio")
    if trio is not None:
        try:
            return trio.lowlevel.current_trio_token()
        except RuntimeError:
            pass
    return asyncio.get_running_loop()


def has_ended(loop: Any) -> bool:
    """Whether an event loop of asyncio is closed; trio's are forgotten when they end."""
    import asyncio

    return isinstance(loop, asyncio.AbstractEventLoop) and loop.is_closed()


def run_later(loop: Any, function: Function) -> None:
    """Run an asynchronous function in an event loop that may have ended, from any thread or the garbage collector."""

    def start() -> None:
        task = loop.create_task(_quietly(function))
        _tasks.add(task)  # the loop itself holds tasks weakly
        task.add_done_callback(_tasks.discard)

    try:
        if hasattr(loop, "run_sync_soon"):
            loop.run_sync_soon(partial(sys.modules["trio"].lowlevel.spawn_system_task, _quietly, function))
        else:
            loop.call_soon_threadsafe(start)
    except RuntimeError:
        pass


async def _quietly(function: Function) -> None:
    """Close something and ignore its errors."""
    import anyio

    with suppress(Exception), anyio.CancelScope(shield=True):
        await function()


class _End:
    """What is closed when an event loop ends, the last one first."""

    def __init__(self) -> None:
        self.functions: dict[int, Function] = {}
        self.guard = self._wait()

    async def _wait(self) -> AsyncGenerator[None, None]:
        # Both asyncio and trio close generators that still wait when the loop ends.
        try:
            yield
        finally:
            _ends.pop(current_loop(), None)
            for function in reversed(list(self.functions.values())):
                await _quietly(function)


def at_end_of(loop: Any, function: Function) -> Callable[[], Any]:
    """Have something closed when the running event loop ends. Call what is returned once it is closed before that."""
    end = _ends.get(loop)
    if end is None:
        for each in [each for each in list(_ends) if has_ended(each)]:
            _ends.pop(each, None)
        end = _ends[loop] = _End()
        with suppress(StopIteration):
            end.guard.__anext__().send(None)  # it begins to wait
    key = id(function)
    end.functions[key] = function
    return partial(end.functions.pop, key, None)


class _Unseen:
    """An awaitable during which generators that begin are not known to the event loop."""

    def __init__(self, start: Callable[[], Awaitable[Any]]) -> None:
        self._start = start

    def __await__(self) -> Generator[Any, Any, Any]:
        waiting = self._step(lambda: self._start().__await__())
        send: Callable[[], Any] = partial(next, waiting)
        while True:
            try:
                asked = self._step(send)
            except StopIteration as done:
                return done.value
            try:
                answer = yield asked
            except BaseException as error:
                send = partial(waiting.throw, error)
            else:
                send = partial(waiting.send, answer)

    @staticmethod
    def _step(call: Callable[[], Any]) -> Any:
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(None, None)
        try:
            return call()
        finally:
            sys.set_asyncgen_hooks(*hooks)


class Chunks:
    """The chunks of an answer. `aclose` unwinds the generators that they come through."""

    def __init__(self, response: Any) -> None:
        self._begin(response.aiter_bytes(), "network_stream" in response.extensions)

    def _begin(self, chunks: AsyncIterator[bytes], waits: bool) -> None:
        self._chunks = chunks
        # What comes from no network waits for nothing that could be cancelled, and is not read to its end for that.
        self._waits = waits
        self._begun = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._begun:
            return await anext(self._chunks)
        self._begun = True
        chunk: bytes = await _Unseen(lambda: anext(self._chunks))
        return chunk

    async def aclose(self) -> None:
        """End the iterator where it stands. Another task that waits for a chunk goes on waiting."""
        import anyio

        if self._begun and self._waits:
            with suppress(Exception), anyio.CancelScope(shield=True) as scope:
                scope.cancel()
                for _ in range(_BUFFERED):
                    await anext(self._chunks)
        close = getattr(self._chunks, "aclose", None)
        if close is not None:
            with suppress(Exception):
                await _Unseen(close)


class Undecoded(Chunks, httpx2.AsyncByteStream):
    """The body of a response as it was sent, for what decodes it: an error there ends the generators below as well."""

    def __init__(self, response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._stream = response.stream
        self._begin(aiter(self._stream), "network_stream" in response.extensions)

    async def aclose(self) -> None:
        """End the iterator where it stands, and close the connection unless it may be used again."""
        await super().aclose()
        await self._stream.aclose()
