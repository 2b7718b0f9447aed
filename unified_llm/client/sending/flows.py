"""How sync and async share one core: flows are generators that yield effects, drivers perform them.

A flow yields an effect and is sent what came of it, or has the exception thrown in where it stands. It never waits,
sleeps or sends by itself, so the same flow serves a thread and an event loop, and a test without either.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from .deadline import Deadline

__all__ = ["Do", "Effect", "Hook", "Send", "Sleep", "Steps", "Turn", "ado", "adrive", "do", "drive"]

R = TypeVar("R")


class Send(NamedTuple):
    """Send a request; comes back as an answer, or as a stream that was opened."""

    ask: Any
    upstreams: tuple[Any, ...]


class Turn(NamedTuple):
    """One turn of a tool loop: its driver decides whether it is streamed. Comes back as a `Result`."""

    call: Any


class Do(NamedTuple):
    """Calls of tools, as flows of their own, at once or one after the other. Come back as output items, in order."""

    flows: list[Steps[Any]]
    parallel: bool = True
    deadline: Deadline | None = None


class Hook(NamedTuple):
    """Something of the caller's to be called (plain or async); comes back as what it returned.

    After `deadline` it is not called, and no longer waited for: `DeadlineReached` is raised.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}
    deadline: Deadline | None = None


class Sleep(NamedTuple):
    """Time to pass."""

    seconds: float


Effect = Send | Turn | Do | Hook | Sleep
Steps = Generator[Any, Any, R]


def drive(steps: Steps[R], perform: Callable[[Any], Any]) -> R:
    """Run a flow; `perform` does one effect.

    >>> def flow():
    ...     seen = yield Hook(len, ("abc",))
    ...     return seen + 1
    >>> drive(flow(), do)
    4
    """
    try:
        effect = next(steps)
        while True:
            try:
                value = perform(effect)
            except Exception as error:
                effect = steps.throw(error)
            else:
                effect = steps.send(value)
    except StopIteration as done:
        found: R = done.value
        return found
    finally:
        steps.close()


async def adrive(steps: Steps[R], perform: Callable[[Any], Awaitable[Any]]) -> R:
    """Run a flow in an event loop."""
    try:
        effect = next(steps)
        while True:
            try:
                value = await perform(effect)
            except Exception as error:
                effect = steps.throw(error)
            else:
                effect = steps.send(value)
    except StopIteration as done:
        found: R = done.value
        return found
    finally:
        steps.close()


def do(effect: Any) -> Any:
    """An effect that needs no connection, here and now; calls at once are in threads of their own."""
    if isinstance(effect, Hook):
        if effect.deadline is not None:
            effect.deadline.check()
        return _waited(effect.function(*effect.arguments, **effect.keywords), effect.deadline)
    if isinstance(effect, Sleep):
        return time.sleep(effect.seconds)
    if isinstance(effect, Do):
        if len(effect.flows) < 2 or not effect.parallel:
            return [drive(flow, do) for flow in effect.flows]
        return _in_threads(effect.flows, effect.deadline)
    raise TypeError(f"no handler for {type(effect).__name__}")


_UNWINDING = 0.1  # seconds for async functions that were cancelled at a deadline to end


def _in_threads(flows: list[Steps[Any]], deadline: Deadline | None) -> list[Any]:
    """What the flows return. A plain function cannot be stopped: after the deadline it is not waited for."""
    from concurrent.futures import ThreadPoolExecutor, wait

    pool = ThreadPoolExecutor(len(flows), "unified_llm tool")
    late = False
    try:
        waiting = [pool.submit(contextvars.copy_context().run, drive, flow, do) for flow in flows]
        if deadline is not None:
            late = bool(wait(waiting, max(deadline.left, 0) + _UNWINDING).not_done)
            if late:
                raise deadline.reached()
        return [each.result() for each in waiting]
    finally:
        pool.shutdown(wait=not late, cancel_futures=late)


async def ado(effect: Any) -> Any:
    """An effect that needs no connection, in an event loop: plain functions of tools run in threads beside it."""
    import anyio

    if isinstance(effect, Hook):
        return await (_called(effect) if effect.deadline is None else effect.deadline.wait(_called, effect))
    if isinstance(effect, Sleep):
        return await anyio.sleep(effect.seconds)
    if isinstance(effect, Do):
        if not effect.parallel:
            return [await adrive(flow, ado) for flow in effect.flows]
        return await _at_once(effect.flows)
    raise TypeError(f"no handler for {type(effect).__name__}")


async def _called(hook: Hook) -> Any:
    import anyio.to_thread

    function = hook.function
    # Tools come with their arguments; hooks are the caller's own, and quick.
    if isinstance(function, functools.partial) and not _is_async(function.func):
        call = functools.partial(function, *hook.arguments, **hook.keywords)
        value = await anyio.to_thread.run_sync(call, abandon_on_cancel=hook.deadline is not None)
    else:
        value = function(*hook.arguments, **hook.keywords)
    return await _awaited(value) if _is_async_value(value) else value


def _is_async_value(value: Any) -> bool:
    return inspect.isawaitable(value) or inspect.isasyncgen(value)


async def _awaited(value: Any) -> Any:
    """What an async function gives. One that lets out the `CancelledError` of what it awaited has failed; only a
    cancellation of this task itself ends the run.
    """
    import asyncio

    try:
        # What an async generator gives is a list, as that of a plain one is.
        return [each async for each in value] if inspect.isasyncgen(value) else await value
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise RuntimeError("something that it awaited was cancelled") from error


async def _at_once(flows: list[Steps[Any]]) -> list[Any]:
    """What the flows return, in their order. The first error ends them all, and is raised as it is."""
    import anyio

    found: list[Any] = [None] * len(flows)
    failure: Exception | None = None

    async def run(place: int, flow: Steps[Any]) -> None:
        nonlocal failure
        try:
            found[place] = await adrive(flow, ado)
        except Exception as error:
            failure = failure or error
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for place, flow in enumerate(flows):
            group.start_soon(run, place, flow)
    if failure is not None:
        raise failure
    return found


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _waited(value: Any, deadline: Deadline | None) -> Any:
    """What an async function gives, waited for in an event loop of its own.

    A thread has one loop at a time: where one runs, as in a notebook, the other one is in another thread.
    """
    import asyncio

    if not _is_async_value(value):
        return value

    async def itself() -> Any:
        return await _awaited(value)

    async def wait() -> Any:
        return await (itself() if deadline is None else deadline.wait(itself))

    try:
        if not _in_loop():
            return asyncio.run(wait())
        from anyio.from_thread import start_blocking_portal

        with start_blocking_portal() as portal:
            return portal.call(wait)
    finally:
        if inspect.iscoroutine(value):
            value.close()  # one that the deadline left no time to begin


def _in_loop() -> bool:
    """Whether an event loop runs in this thread, asyncio's or trio's."""
    import asyncio

    import anyio

    for running in (asyncio.get_running_loop, anyio.get_cancelled_exc_class):
        with suppress(RuntimeError):
            running()
            return True
    return False
