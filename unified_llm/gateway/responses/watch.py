"""What ends the work of a response early: its client disconnects, or the time of a server that stops is over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar
from weakref import WeakSet

__all__ = ["Watch", "was_stopped"]

T = TypeVar("T")
_Receive = Callable[[], Awaitable[Mapping[str, Any]]]
_UNWATCHED = 0.02  # seconds of a response in which a client that disconnects is not noticed
_stopped: WeakSet[asyncio.Task[Any]] = WeakSet()


def was_stopped() -> bool:
    """Whether this task was cancelled by `Watch.stop`; true once, and from then on it is not cancelled any more."""
    task = asyncio.current_task()
    if task is None or task not in _stopped:
        return False
    _stopped.discard(task)
    task.uncancel()
    return True


class _Work:
    """A response that is being made, and the task that waits for its client to disconnect, once there is one."""

    __slots__ = ("is_left", "receive", "task", "watch")

    def __init__(self, task: asyncio.Task[Any], receive: _Receive) -> None:
        self.task, self.receive = task, receive
        self.watch: asyncio.Task[None] | None = None
        self.is_left = False

    async def look(self) -> None:
        """Cancel the work when the client disconnects."""
        while (await self.receive())["type"] != "http.disconnect":
            pass
        self.is_left = True
        self.task.cancel()


class Watch:
    """Cancels the work of responses whose clients disconnect, which is looked for once a response takes a while.

    Most are complete by then: a task for each would cost as much as the rest of the server. One timer is for all.
    """

    def __init__(self) -> None:
        self._new: set[_Work] = set()
        self._old: set[_Work] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._all: set[asyncio.Task[Any]] = set()
        self._cut: WeakSet[asyncio.Task[Any]] = WeakSet()
        self.finishing: set[Callable[[], None]] = set()  # called when the server begins to stop
        self.is_over: bool = False

    def finish(self) -> None:
        """The server begins to stop: what is under way may come to its end."""
        for each in list(self.finishing):
            each()

    def stop(self) -> None:
        """Cancel all work that is left; where `was_stopped`, its client gets an error in place of the rest."""
        self.is_over = True
        for task in self._all:
            self._cut.add(task)
            _stopped.add(task)
            task.cancel()

    async def whole(self, work: Coroutine[Any, Any, None]) -> bool:
        """Do all work of a request; whether it was stopped."""
        task = asyncio.current_task()
        assert task is not None
        self._all.add(task)
        try:
            await work
        except asyncio.CancelledError:
            if not was_stopped():
                raise
        finally:
            self._all.discard(task)
        return task in self._cut

    async def until_gone(self, work: Coroutine[Any, Any, None], receive: _Receive) -> None:
        """Do the work of a response until it is done, or its client is gone."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None
        mine = _Work(task, receive)
        self._new.add(mine)
        if self._loop is not loop:
            self._loop = loop
            loop.call_later(_UNWATCHED, self._tick)
        try:
            await work
        except asyncio.CancelledError:
            if not mine.is_left or task.uncancel():
                raise
        finally:
            self._new.discard(mine)
            self._old.discard(mine)
            if mine.watch is not None:
                mine.watch.cancel()

    def _tick(self) -> None:
        """Watch what was there at the last tick."""
        for each in self._old:
            each.watch = asyncio.ensure_future(each.look())
        self._old, self._new = self._new, set()
        self._loop = asyncio.get_running_loop() if self._old else None
        if self._loop is not None:
            self._loop.call_later(_UNWATCHED, self._tick)
