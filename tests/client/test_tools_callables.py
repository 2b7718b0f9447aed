"""Tools that are no plain functions, and async ones that are cancelled or await what was."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import pytest

import unified_llm as ul


def test_a_partial_and_a_callable_object_are_described_by_what_runs() -> None:
    def add(a: int, b: int = 2) -> int:
        """Add them.

        Args:
            a: the first one
        """
        return a + b

    class Lookup:
        """A table."""

        def __call__(self, city: str) -> str:
            """Look it up."""
            return city

    definition = ul.tool(functools.partial(functools.partial(add), b=9)).definition()
    assert (definition["name"], definition["description"]) == ("add", "Add them.")
    assert definition["parameters"]["properties"]["a"]["description"] == "the first one"
    definition = ul.tool(Lookup()).definition()
    assert (definition["name"], definition["description"]) == ("Lookup", "Look it up.")
    run = ul.Client(model="local/echo").responses.run(
        input="[[call Lookup city=Oslo]] [[call add a=1]]", tools=[Lookup(), functools.partial(add, b=4)]
    )
    assert run.output_text == "Lookup: Oslo\nadd: 5"
    with pytest.raises(TypeError, match="needs a name"):
        ul.tool(functools.partial(lambda a: a, 1))


async def _cancelled() -> None:
    waiting = asyncio.ensure_future(asyncio.sleep(9))
    waiting.cancel()
    await waiting


async def _fine() -> str:
    return "fine"


@pytest.mark.parametrize("total_timeout", [None, 30])
def test_a_tool_that_awaits_what_was_cancelled_has_failed(total_timeout: float | None) -> None:
    tools = [ul.tool(_cancelled, name="cancelled"), ul.tool(_fine, name="fine")]
    asked = "[[call cancelled]] [[call fine]]"

    async def main() -> Any:
        async with ul.AsyncClient(model="local/echo") as client:
            return await client.responses.run(input=asked, tools=tools, total_timeout=total_timeout)

    client = ul.Client(model="local/echo")
    for run in (asyncio.run(main()), client.responses.run(input=asked, tools=tools, total_timeout=total_timeout)):
        assert run.stopped == "answered" and [item.is_error for item in run.steps[0].outputs] == [True, None]


def test_what_an_async_generator_gives_is_a_list() -> None:
    async def count(end: int) -> Any:
        for number in range(end):
            await asyncio.sleep(0)
            yield number

    async def main() -> Any:
        async with ul.AsyncClient(model="local/echo") as client:
            return await client.responses.run(input="[[call count end=3]]", tools=[count])

    run = ul.Client(model="local/echo").responses.run(input="[[call count end=3]]", tools=[count])
    assert run.output_text == asyncio.run(main()).output_text == "count: [0,1,2]"


def test_a_run_that_is_cancelled_ends() -> None:
    async def main() -> None:
        async with ul.AsyncClient(model="local/echo") as client:
            run = client.responses.run(input="[[call slow]]", tools=[ul.tool(lambda: asyncio.sleep(9), name="slow")])
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(run, 0.2)

    asyncio.run(main())
