"""The tool loop: the same tools over every protocol, in threads, event loops and streams, to its end or its limits."""

from __future__ import annotations

import asyncio
import itertools
import threading
from typing import Any

import pytest
import trio

import unified_llm as ul
from client.providers import PROTOCOLS, Canned, function_call, message, response, upstream
from unified_llm.client import Step, ToolOutput, TurnDone
from waiting import PATIENCE


@ul.tool
def get_weather(city: str, unit: str = "C") -> dict[str, Any]:
    """Look up the weather.

    Args:
        city: the name of a city
    """
    return {"city": city, "temp": 21, "unit": unit}


@ul.tool
async def get_time(city: str) -> str:
    """Look up the time."""
    await asyncio.sleep(0)
    return f"noon in {city}"


TOOLS = [get_weather, get_time]
TWO = "[[call get_weather city=Oslo]] [[call get_time city=Rome]] [[then]] [[results]] Done."
OUTPUTS = ['{"city":"Oslo","temp":21,"unit":"C"}', "noon in Rome"]


def check(run: Any) -> None:
    assert run.stopped == "answered"
    assert [item.output for item in run.steps[0].outputs] == OUTPUTS
    # The upstream repeats the results it was given, so that a result that got lost on the way is seen.
    assert run.output_text.endswith("Done.")
    assert all(output in run.output_text for output in OUTPUTS)
    assert [step.number for step in run.steps] == [1, 2]
    total = sum(step.response.usage.total_tokens for step in run.steps)
    assert run.usage.total_tokens == total > 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_tool_written_once_runs_over_every_protocol(protocol: str) -> None:
    check(ul.Client(upstream(protocol)).responses.run(input=TWO, tools=TOOLS))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_and_in_an_event_loop(protocol: str) -> None:
    async def main() -> Any:
        return await ul.AsyncClient(upstream(protocol)).responses.run(input=TWO, tools=TOOLS)

    check(asyncio.run(main()))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_and_under_trio_where_calls_of_a_turn_run_at_once(protocol: str, stream: bool) -> None:
    both = 0
    met = trio.Event()

    @ul.tool
    async def get_time(city: str) -> str:
        """Look up the time."""
        nonlocal both
        both += 1
        if both == 2:
            met.set()
        await met.wait()
        return f"noon in {city}"

    async def main() -> Any:
        asking = {"input": f"{calls} [[then]] Done.", "tools": [get_time, get_weather], "stream": stream}
        with trio.fail_after(PATIENCE):
            run: Any = await ul.AsyncClient(upstream(protocol)).responses.run(**asking)
            return await run.get_final_result() if stream else run

    calls = "[[call get_time city=Rome]] [[call get_time city=Oslo]] [[call get_weather city=Oslo]]"
    run = trio.run(main)
    assert [item.output for item in run.steps[0].outputs] == ["noon in Rome", "noon in Oslo", OUTPUTS[0]]
    assert run.output_text.endswith("Done.")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_and_as_a_stream(protocol: str) -> None:
    stream = ul.Client(upstream(protocol)).responses.run(input=TWO, tools=TOOLS, stream=True)
    events = list(stream)
    check(stream.get_final_result())
    told = [event for event in events if isinstance(event, (ToolOutput, TurnDone))]
    assert [type(event) for event in told] == [ToolOutput, ToolOutput, TurnDone, TurnDone]
    assert [event.item.output for event in told[:2]] == OUTPUTS
    ends = [event.type for event in events if event.type.startswith("response.completed")]
    assert len(ends) == 2
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text.endswith("Done.")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_and_as_a_stream_in_an_event_loop(protocol: str) -> None:
    async def main() -> tuple[list[Any], Any]:
        stream = await ul.AsyncClient(upstream(protocol)).responses.run(input=TWO, tools=TOOLS, stream=True)
        return [event async for event in stream], await stream.get_final_result()

    events, run = asyncio.run(main())
    check(run)
    assert [type(event) for event in events if isinstance(event, (ToolOutput, TurnDone))] == [
        ToolOutput,
        ToolOutput,
        TurnDone,
        TurnDone,
    ]


@pytest.mark.parametrize("form", ["plain", "stream"])
@pytest.mark.parametrize(("one", "other"), [*itertools.permutations(PROTOCOLS, 2)])
def test_six_turns_between_two_providers_are_accepted_by_both(one: str, other: str, form: str) -> None:
    """The upstreams refuse what a real one refuses: calls without results, foreign signatures, missing ones."""
    client, both = ul.Client(), [upstream(one), upstream(other)]
    run = None
    for turn in range(6):
        asked = f"[[reason thought {turn}]] [[call get_weather city=Oslo]] [[then]] [[reason again]] Done {turn}"
        options: Any = {"upstream": both[turn % 2], "reasoning": {"effort": "low"}, "max_output_tokens": 4000}
        asking: Any = {"input": asked, "tools": TOOLS, "previous": run, **options}
        if form == "stream":
            run = client.responses.run(stream=True, **asking).get_final_result()
        else:
            run = client.responses.run(**asking)
        assert run.output_text == f"Done {turn}"
    assert run is not None
    pieces = [
        (piece["origin"]["protocol"], piece["data"])
        for item in run.item_nodes
        for node in (item, *(item["content"] if isinstance(item.get("content"), list) else ()))
        for piece in node.get("opaque") or ()
    ]
    signed = {protocol for protocol, _ in pieces}
    # Chat has no signatures; everything that has keeps them, wherever the conversation has been since.
    assert signed == {one, other} - {"openai-chat"}


# ---- what the loop does ---------------------------------------------------------------------------------------------


def test_calls_of_one_turn_run_at_once_and_answer_in_order() -> None:
    both = threading.Barrier(2, timeout=PATIENCE)

    @ul.tool
    def meet(name: str) -> str:
        """Meet."""
        both.wait()  # would never pass one after the other
        return name

    calls = [function_call("meet", '{"name": "a"}', "call_a"), function_call("meet", '{"name": "b"}', "call_b")]
    canned = Canned("openai-responses", response(*calls), response(message("Done.")))
    run = ul.Client(canned.upstream).responses.run(input="Hi", tools=[meet])
    assert [item.output for item in run.steps[0].outputs] == ["a", "b"]


def test_and_one_after_the_other_on_demand() -> None:
    running: list[str] = []

    @ul.tool
    def alone(name: str) -> str:
        """Alone."""
        running.append(name)
        assert len(running) == 1
        running.remove(name)
        return f"{name} {threading.current_thread() is threading.main_thread()}"

    calls = [function_call("alone", '{"name": "a"}', "call_a"), function_call("alone", '{"name": "b"}', "call_b")]
    canned = Canned("openai-responses", response(*calls), response(message("Done.")))
    run = ul.Client(canned.upstream).responses.run(input="Hi", tools=[alone], parallel=False)
    assert [item.output for item in run.steps[0].outputs] == ["a True", "b True"]


def test_a_loop_that_does_not_end_is_stopped_and_keeps_what_there_is() -> None:
    canned = Canned("openai-responses", response(function_call("get_weather", '{"city": "Oslo"}')))
    with pytest.raises(ul.ToolLoopLimitError) as caught:
        ul.Client(canned.upstream).responses.run(input="Hi", tools=TOOLS, max_turns=3)
    assert len(canned.requests) == 3
    assert [len(step.outputs) for step in caught.value.result.steps] == [1, 1, 1]
    canned.answers = [response(message("At last."))]
    again = ul.Client(canned.upstream).responses.run(input="Go on", tools=TOOLS, previous=caught.value.result)
    kinds = [item["type"] for item in canned.bodies[-1]["input"]]
    assert kinds == ["message", *["function_call", "function_call_output"] * 3, "message"]
    assert again.output_text == "At last."


def test_more_calls_than_allowed_are_not_run() -> None:
    ran = []

    @ul.tool
    def act(n: int) -> None:
        """Act."""
        ran.append(n)

    calls = [function_call("act", f'{{"n": {n}}}', f"call_{n}") for n in range(3)]
    canned = Canned("openai-responses", response(*calls))
    with pytest.raises(ul.ToolLoopLimitError, match="more than max_tool_calls=2 tool calls"):
        ul.Client(canned.upstream).responses.run(input="Hi", tools=[act], max_tool_calls=2)
    assert ran == []


def test_calls_of_tools_that_do_not_run_here_are_handed_out() -> None:
    theirs = {"type": "function", "name": "pay", "parameters": {"type": "object", "properties": {}}}
    calls = [function_call("get_weather", '{"city": "Oslo"}', "call_a"), function_call("pay", "{}", "call_b")]
    canned = Canned("openai-responses", response(*calls))
    run = ul.Client(canned.upstream).responses.run(input="Hi", tools=[get_weather, theirs])
    assert run.stopped == "calls"
    assert [call.call_id for call in run.pending] == ["call_b"]
    assert [item.call_id for item in run.steps[-1].outputs] == ["call_a"]


def test_a_tool_that_was_made_up_is_answered_with_an_error() -> None:
    canned = Canned("openai-responses", response(function_call("get_whether", "{}")), response(message("Sorry.")))
    run = ul.Client(canned.upstream).responses.run(input="Hi", tools=TOOLS)
    (item,) = run.steps[0].outputs
    assert item.is_error is True and "get_whether" in item.output
    assert run.output_text == "Sorry."


@pytest.mark.parametrize(
    ("choice", "then"),
    [
        ("required", "auto"),
        ("auto", "auto"),
        ({"type": "function", "name": "get_weather"}, "auto"),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "get_weather"}]},
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "get_weather"}]},
        ),
    ],
)
def test_no_tool_is_forced_twice(choice: Any, then: Any) -> None:
    canned = Canned(
        "openai-responses", response(function_call("get_weather", '{"city": "Oslo"}')), response(message("Done."))
    )
    ul.Client(canned.upstream).responses.run(input="Hi", tools=TOOLS, tool_choice=choice)
    assert [body["tool_choice"] for body in canned.bodies] == [choice, then]


# ---- hooks ----------------------------------------------------------------------------------------------------------


class Watch(ul.Hooks):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def before_turn(self, number: int, request: Any) -> Any:
        self.seen.append(f"turn {number}")
        assert isinstance(request, ul.Request)
        return request.model_copy(update={"instructions": "Be brief."}) if number == 2 else None

    def after_turn(self, step: Step) -> None:
        self.seen.append(f"step {step.number} {len(step.outputs)}")

    def before_call(self, call: Any, context: Any) -> Any:
        assert isinstance(call, ul.FunctionCall)
        self.seen.append(f"call {call.name} {context.data}")
        return "not allowed" if call.parsed_arguments["city"] == "Rome" else None

    def after_call(self, call: Any, output: Any) -> Any:
        assert isinstance(output, ul.FunctionCallOutput)
        self.seen.append(f"output {output.output}")
        return output.model_copy(update={"output": "changed"}) if call.parsed_arguments["city"] == "Oslo" else None


class AsyncWatch(ul.Hooks):
    def __init__(self) -> None:
        self.inner = Watch()

    async def before_turn(self, number: int, request: Any) -> Any:
        return self.inner.before_turn(number, request)

    async def after_turn(self, step: Step) -> None:
        self.inner.after_turn(step)

    async def before_call(self, call: Any, context: Any) -> Any:
        return self.inner.before_call(call, context)

    async def after_call(self, call: Any, output: Any) -> Any:
        return self.inner.after_call(call, output)


SEEN = [
    "turn 1",
    "call get_time data",
    "output noon in Oslo",
    "call get_time data",
    "output not allowed",
    "step 1 2",
    "turn 2",
    "step 2 0",
]


@pytest.mark.parametrize("form", ["sync", "async"])
def test_hooks_see_change_and_forbid(form: str) -> None:
    calls = [function_call("get_time", f'{{"city": "{city}"}}', f"call_{city}") for city in ("Oslo", "Rome")]
    canned = Canned("openai-responses", response(*calls), response(message("Done.")))
    options: Any = {"input": "Hi", "tools": TOOLS, "context": "data", "parallel": False}
    told: list[int] = []
    if form == "sync":
        watch = Watch()
        ul.Client(canned.upstream).responses.run(hooks=watch, on_step=lambda step: told.append(step.number), **options)
    else:

        async def main() -> Watch:
            hooks = AsyncWatch()

            async def on_step(step: Step) -> None:
                told.append(step.number)

            await ul.AsyncClient(canned.upstream).responses.run(hooks=hooks, on_step=on_step, **options)
            return hooks.inner

        watch = asyncio.run(main())
    assert watch.seen == SEEN
    assert told == [1, 2]
    second = canned.bodies[1]
    assert second["instructions"] == "Be brief."
    assert [item["output"] for item in second["input"] if item["type"] == "function_call_output"] == [
        "changed",
        "not allowed",
    ]


def test_a_failure_on_the_way_is_raised_and_what_is_open_is_closed() -> None:
    canned = Canned("openai-responses", response(function_call("get_time", '{"city": "Oslo"}')), lambda _: _error())
    with pytest.raises(ul.InvalidRequestError, match="nothing works"):
        ul.Client(canned.upstream).responses.run(input="Hi", tools=TOOLS)
    stream = ul.Client(canned.upstream).responses.run(input="Hi", tools=TOOLS, stream=True)
    with pytest.raises(ul.InvalidRequestError, match="nothing works"):
        list(stream)


def _error() -> Any:
    import httpx2

    return httpx2.Response(400, json={"error": {"message": "nothing works", "type": "invalid_request_error"}})
