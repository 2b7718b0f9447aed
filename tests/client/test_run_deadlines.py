"""The total time of a run includes its tools: it ends in time, async tools are cancelled, what has run is kept."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import unified_llm as ul
from waiting import PATIENCE, limits, until

LONG, SOON = PATIENCE, 0.1


class Tools:
    """The tools of one run, and what became of their calls."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.ended: list[str] = []
        self.released = threading.Event()

    async def slow(self) -> str:
        self.began.append("slow")
        try:
            await asyncio.sleep(LONG)
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        return "late"

    def plain(self) -> str:
        self.began.append("plain")
        self.released.wait(LONG)
        return "late"

    def all_cancelled(self) -> bool:
        return self.ended.count("cancelled") == self.began.count("slow")

    async def quick(self) -> str:
        self.ended.append("quick")
        return "soon"


pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


@pytest.fixture(autouse=True, scope="module")
def _warm() -> None:
    """What is imported and looked up at the first call is not part of what is measured."""
    for call in (sync, in_loop, sync_in_loop):
        call(False, input="[[call quick]] [[call quick]]", tools=[Tools().quick])


def sync(stream: bool, **given: Any) -> Any:
    found = ul.Client(model="local/echo").responses.run(stream=stream, **given)
    return found.get_final_result() if stream else found


def in_loop(stream: bool, **given: Any) -> Any:
    async def main() -> Any:
        found = await ul.AsyncClient(model="local/echo").responses.run(stream=stream, **given)
        return await found.get_final_result() if stream else found

    return asyncio.run(main())


def sync_in_loop(stream: bool, **given: Any) -> Any:
    async def main() -> Any:
        return sync(stream, **given)

    return asyncio.run(main())


def late(call: Callable[..., Any], stream: bool, asked: str, **given: Any) -> tuple[ul.APITimeoutError, Tools]:
    """The error of a run whose time is over once its tools have begun, and the tools."""
    for seconds in limits(SOON):
        tools = Tools()
        options = {name: each(tools) if name in ("hooks", "approve") else each for name, each in given.items()}
        expected = asked.count("slow") + asked.count("plain") or 1
        start = time.monotonic()
        try:
            with pytest.raises(ul.APITimeoutError, match=rf"total_timeout={seconds:g}\b") as caught:
                offered = [tools.slow, tools.plain, tools.quick]
                call(stream, input=asked, tools=offered, total_timeout=seconds, **options)
            assert seconds <= time.monotonic() - start < LONG
        finally:
            tools.released.set()
        assert caught.value.code == "total_timeout"
        until(tools.all_cancelled)  # threads of a busy machine
        if len(tools.began) == expected:
            return caught.value, tools
    raise AssertionError("the tools did not begin")


streams = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
calls = pytest.mark.parametrize("call", [sync, in_loop, sync_in_loop])


@streams
@calls
@pytest.mark.parametrize("count", [1, 2])
def test_an_async_tool_is_cancelled(call: Callable[..., Any], stream: bool, count: int) -> None:
    error, tools = late(call, stream, "[[call slow]] " * count + "[[then]] x")
    assert tools.ended == ["cancelled"] * count
    assert [each.name for each in error.result.pending] == ["slow"] * count


@streams
@pytest.mark.parametrize(("call", "count"), [(in_loop, 1), (in_loop, 2), (sync, 2)])
def test_a_plain_tool_in_a_thread_is_not_waited_for(call: Callable[..., Any], stream: bool, count: int) -> None:
    late(call, stream, "[[call plain]] " * count + "[[then]] x")


@calls
@pytest.mark.parametrize("parallel", [True, False])
def test_what_has_run_is_kept_and_does_not_run_again(call: Callable[..., Any], parallel: bool) -> None:
    error, tools = late(call, False, "[[call quick]] [[call slow]] [[then]] Done.", parallel=parallel)
    assert [item.output for item in error.result.steps[-1].outputs] == ["soon"]
    (pending,) = error.result.pending
    client = ul.Client(model="local/echo")
    done = client.responses.resume(error.result, tools=[tools.quick, tools.slow], outputs={pending.call_id: "given"})
    assert done.output_text == "Done." and tools.ended == ["quick", "cancelled"]


@calls
@pytest.mark.parametrize("name", ["before_turn", "before_call", "approve"])
def test_an_async_hook_or_decision_ends_too(call: Callable[..., Any], name: str) -> None:
    def waiting(tools: Tools) -> Any:
        async def waits(*_: Any) -> Any:
            await tools.slow()

        return waits if name == "approve" else type("Given", (ul.Hooks,), {name: staticmethod(waits)})()

    _, tools = late(call, False, "[[call quick]]", **{"approve" if name == "approve" else "hooks": waiting})
    assert tools.ended == ["cancelled"]
