"""A client for threads inside of an event loop, as in a notebook: async tools, hooks and decisions work there too."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.client import RunResult

CLIENT = ul.Client(model="local/echo")
USER: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="none")

pytestmark = pytest.mark.filterwarnings("error")


def in_asyncio(function: Callable[[], Any]) -> Any:
    async def main() -> Any:
        return function()

    return asyncio.run(main())


def in_trio(function: Callable[[], Any]) -> Any:
    trio = pytest.importorskip("trio")

    async def main() -> Any:
        return function()

    return trio.run(main)


def in_a_callback(function: Callable[[], Any]) -> Any:
    async def main() -> Any:
        found: list[Any] = []
        asyncio.get_running_loop().call_soon(lambda: found.append(function()))
        await asyncio.sleep(0.01)
        return found[0]

    return asyncio.run(main())


loops = pytest.mark.parametrize("loop", [in_asyncio, in_trio, in_a_callback])


async def whose(city: str = "Oslo") -> str:
    await asyncio.sleep(0)
    return f"{USER.get()} in {city}"


@loops
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("calls", [1, 2])
def test_async_tools_run_and_have_the_context_variables(loop: Any, stream: bool, calls: int) -> None:
    def run() -> list[Any]:
        USER.set("Ann")
        given: Any = {"input": "[[call whose city=Oslo]] " * calls, "tools": [whose]}
        done = CLIENT.responses.run(**given)
        if stream:
            done = CLIENT.responses.run(stream=True, **given).get_final_result()
        return [item.output for item in done.steps[0].outputs]

    assert loop(run) == ["Ann in Oslo"] * calls


class Watch(ul.Hooks):
    def __init__(self) -> None:
        self.seen: list[str] = []

    async def before_turn(self, number: int, request: Any) -> Any:
        self.seen.append("before_turn")

    async def after_turn(self, step: Any) -> Any:
        self.seen.append("after_turn")

    async def before_call(self, call: Any, context: Any) -> Any:
        self.seen.append("before_call")

    async def after_call(self, call: Any, output: Any) -> Any:
        self.seen.append("after_call")
        return f"{output.output}, changed"


@loops
def test_async_hooks_and_decisions_are_waited_for(loop: Any) -> None:
    watch = Watch()

    async def approve(call: Any, context: Any) -> Any:
        return True if call.parsed_arguments["city"] == "Oslo" else "not there"

    def run() -> RunResult:
        asked = "[[call whose city=Oslo]] [[call whose city=Rome]] [[then]] Done."
        return CLIENT.responses.run(input=asked, tools=[whose], approve=approve, hooks=watch, on_step=watch.after_turn)

    done = loop(run)
    assert [item.output for item in done.steps[0].outputs] == ["none in Oslo, changed", "not there"]
    turn = ["after_turn", "after_turn"]
    assert watch.seen == ["before_turn", "before_call", "after_call", *turn, "before_turn", *turn]


@pytest.mark.parametrize("loop", [in_asyncio, in_trio])
def test_what_an_async_hook_raises_is_raised(loop: Any) -> None:
    class Fails(ul.Hooks):
        async def before_turn(self, number: int, request: Any) -> Any:
            raise LookupError("no such turn")

    with pytest.raises(LookupError, match="no such turn"):
        loop(lambda: CLIENT.responses.run(input="Hi", tools=[whose], hooks=Fails()))


def test_outside_of_a_loop_async_tools_run_in_the_thread_of_the_caller() -> None:
    threads = []

    async def here() -> str:
        threads.append(threading.current_thread())
        return "here"

    CLIENT.responses.run(input="[[call here]]", tools=[here])
    assert threads == [threading.current_thread()]
