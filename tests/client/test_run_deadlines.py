"""The total time of a run includes its tools: it ends in time, async tools are cancelled, what has run is kept."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import unified_llm as ul

LONG, SOON, IN_TIME = 20.0, 0.8, 10.0
ENDED: list[str] = []
RELEASED = threading.Event()

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


@pytest.fixture(autouse=True, scope="module")
def _warm() -> None:
    """What is imported and looked up at the first call is not part of what is measured."""
    for call in (sync, in_loop, sync_in_loop):
        call(False, input="[[call quick]] [[call quick]]", tools=[quick])


async def slow() -> str:
    try:
        await asyncio.sleep(LONG)
    except asyncio.CancelledError:
        ENDED.append("cancelled")
        raise
    return "late"


def plain() -> str:
    RELEASED.wait(LONG)
    return "late"


async def quick() -> str:
    ENDED.append("quick")
    return "soon"


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


def late(call: Callable[..., Any], stream: bool, asked: str, **given: Any) -> ul.APITimeoutError:
    ENDED.clear()
    RELEASED.clear()
    start = time.monotonic()
    try:
        with pytest.raises(ul.APITimeoutError, match=r"total_timeout=0\.8") as caught:
            call(stream, input=asked, tools=[slow, plain, quick], total_timeout=SOON, **given)
        assert SOON <= time.monotonic() - start < IN_TIME
    finally:
        RELEASED.set()
    assert caught.value.code == "total_timeout"
    while "slow" in asked and ENDED.count("cancelled") < asked.count("slow") and time.monotonic() - start < IN_TIME:
        time.sleep(0.01)  # threads of a busy machine
    return caught.value


streams = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
calls = pytest.mark.parametrize("call", [sync, in_loop, sync_in_loop])


@streams
@calls
@pytest.mark.parametrize("count", [1, 2])
def test_an_async_tool_is_cancelled(call: Callable[..., Any], stream: bool, count: int) -> None:
    error = late(call, stream, "[[call slow]] " * count + "[[then]] x")
    assert ENDED == ["cancelled"] * count
    assert [each.name for each in error.result.pending] == ["slow"] * count


@streams
@pytest.mark.parametrize(("call", "count"), [(in_loop, 1), (in_loop, 2), (sync, 2)])
def test_a_plain_tool_in_a_thread_is_not_waited_for(call: Callable[..., Any], stream: bool, count: int) -> None:
    late(call, stream, "[[call plain]] " * count + "[[then]] x")


@calls
@pytest.mark.parametrize("parallel", [True, False])
def test_what_has_run_is_kept_and_does_not_run_again(call: Callable[..., Any], parallel: bool) -> None:
    error = late(call, False, "[[call quick]] [[call slow]] [[then]] Done.", parallel=parallel)
    assert [item.output for item in error.result.steps[-1].outputs] == ["soon"]
    (pending,) = error.result.pending
    client = ul.Client(model="local/echo")
    done = client.responses.resume(error.result, tools=[quick, slow], outputs={pending.call_id: "given"})
    assert done.output_text == "Done." and ENDED == ["quick", "cancelled"]


@calls
@pytest.mark.parametrize("name", ["before_turn", "before_call", "approve"])
def test_an_async_hook_or_decision_ends_too(call: Callable[..., Any], name: str) -> None:
    async def waits(*_: Any) -> Any:
        await slow()

    hooks = type("Given", (ul.Hooks,), {name: waits})()
    given: Any = {"approve": waits} if name == "approve" else {"hooks": hooks}
    late(call, False, "[[call quick]]", **given)
    assert ENDED == ["cancelled"]
