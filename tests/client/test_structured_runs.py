"""Structured output at the end of a tool loop, in streams and in the background, over every strict upstream."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest
import trio
from pydantic import BaseModel

import unified_llm as ul
from client.providers import PROTOCOLS, Canned, function_call, message, response, stream, upstream
from unified_llm.client.structured.strategies import STRATEGIES


class Person(BaseModel):
    """A person."""

    name: str
    age: int
    friends: list[str] = []


@ul.tool
def get_weather(city: str) -> str:
    """Look up the weather."""
    return f"21 in {city}"


ADA = '{"name": "Ada", "age": 36}'
# The instruction for the model at the end, in each strategy; a native upstream makes its answer from the schema.
END = {"native": "Done.", "tool": '[[call Person name="Ada" age=36]]', "prompt": f"Sure: {ADA}"}


def asked(strategy: str) -> dict[str, Any]:
    text = f"[[call get_weather city=Oslo]] [[then]] {END[strategy]}"
    return {"input": text, "tools": [get_weather], "text_format": Person, "strategy": strategy}


def check(run: Any, strategy: str) -> None:
    assert isinstance(run.output_parsed, Person) and run.final.strategy == strategy
    assert run.stopped == "answered" and not run.pending
    assert [item.output for item in run.steps[0].outputs] == ["21 in Oslo"]
    if strategy != "native":
        assert run.output_parsed == Person(name="Ada", age=36)
    emulated = {loss.capability for loss in run.losses if loss.fate == "emulated" and loss.path == "/text/format"}
    assert emulated == (set() if strategy == "native" else {"output.structured"})


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_ends_in_structured_output_over_every_protocol(protocol: str, strategy: str) -> None:
    client = ul.Client(upstream(protocol))
    run = client.responses.run(**asked(strategy))
    check(run, strategy)
    # The conversation is whole: every call has its output, so any provider can go on with it.
    again = client.responses.run(input="[[reason Hm.]] Bye.", previous=run, tools=[get_weather])
    assert again.output_text == "Bye."


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_and_streamed_with_the_value_as_it_grows(protocol: str, strategy: str) -> None:
    events = ul.Client(upstream(protocol)).responses.run(**asked(strategy), stream=True)
    seen = list(events.snapshots)
    run = events.get_final_result()
    check(run, strategy)
    assert seen[-1] == events.snapshot == run.output_parsed
    assert all(isinstance(each, Person) for each in seen)


@pytest.mark.parametrize("loop", [asyncio.run, trio.run], ids=["asyncio", "trio"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_and_in_event_loops(loop: Any, strategy: str) -> None:
    async def main() -> None:
        client = ul.AsyncClient(upstream("anthropic-messages"))
        check(await client.responses.run(**asked(strategy)), strategy)
        events = await client.responses.run(**asked(strategy), stream=True)
        seen = [each async for each in events.snapshots]
        check(await events.get_final_result(), strategy)
        assert seen[-1] == (await events.get_final_result()).output_parsed
        parsing: Any = {"input": "Ada", "text_format": Person, "stream": True}
        parsed = await client.responses.parse(**parsing)
        seen = [each async for each in parsed.snapshots]
        assert seen[-1] == (await parsed.get_final_response()).output_parsed == parsed.snapshot

    loop(main) if loop is trio.run else loop(main())


@pytest.mark.parametrize(("model", "strategy"), [("gemini-2.5-flash", "tool"), ("gemini-3-pro-preview", "native")])
def test_the_strategy_is_one_that_the_model_takes_beside_its_tools(model: str, strategy: str) -> None:
    # "Function calling with a response mime type: 'application/json' is unsupported" (googleapis/python-genai#867)
    call = {"functionCall": {"name": "Person", "args": json.loads(ADA)}}
    part = call if strategy == "tool" else {"text": ADA}
    answer = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}]}
    canned = Canned("google-generate-content", answer, provider="google", model=model)
    client = ul.Client(canned.upstream)
    run = client.responses.run(input="?", tools=[get_weather], text_format=Person)
    assert run.output_parsed == Person(name="Ada", age=36) and run.final.strategy == strategy
    assert ("responseMimeType" in canned.bodies[0].get("generationConfig", {})) is (strategy == "native")
    assert client.responses.parse(input="?", tools=[get_weather], text_format=Person).strategy == strategy


def test_an_answer_beside_other_calls_ends_the_run_and_leaves_no_call_open() -> None:
    calls = [function_call("get_weather", '{"city": "Oslo"}', "call_a"), function_call("Person", ADA, "call_b")]
    canned = Canned("openai-responses", response(*calls))
    run = ul.Client(canned.upstream).responses.run(input="?", tools=[get_weather], text_format=Person, strategy="tool")
    assert run.output_parsed == Person(name="Ada", age=36)
    outputs = {item.call_id: item.output for item in run.steps[-1].outputs}
    assert outputs == {"call_a": "not run: the answer was given in the same turn", "call_b": "accepted"}
    assert len(canned.requests) == 1 and run.pending == []


def test_a_call_is_demanded_in_every_turn_where_the_answer_is_one() -> None:
    turns = [response(function_call("get_weather", '{"city": "Oslo"}')), response(function_call("Person", ADA))]
    canned = Canned("openai-responses", *turns)
    ul.Client(canned.upstream).responses.run(input="?", tools=[get_weather], text_format=Person, strategy="tool")
    assert [body["tool_choice"] for body in canned.bodies] == ["required", "required"]
    assert [tool["name"] for tool in canned.bodies[1]["tools"]] == ["get_weather", "Person"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_does_not_fit_is_asked_for_again_in_a_turn_of_its_own(strategy: str) -> None:
    bad = function_call("Person", "{}") if strategy == "tool" else message("{}")
    good = function_call("Person", ADA, "call_2") if strategy == "tool" else message(ADA)
    canned = Canned("openai-responses", response(bad), response(good))
    asking: Any = {"input": "?", "tools": [get_weather], "text_format": Person, "strategy": strategy}
    run = ul.Client(canned.upstream).responses.run(**asking, retries=1)
    assert run.output_parsed == Person(name="Ada", age=36)
    assert [step.number for step in run.steps] == [1, 2]
    assert "name: Field required" in json.dumps(canned.bodies[1]["input"][-1])
    canned.answers = [response(bad)]
    with pytest.raises(ul.OutputParseError, match="does not match text_format") as caught:
        ul.Client(canned.upstream).responses.run(**asking)
    assert len(caught.value.result.steps) == 1 and not caught.value.truncated


def test_a_refusal_ends_the_run_without_a_value() -> None:
    said = {**message(""), "content": [{"type": "refusal", "refusal": "I will not."}]}
    canned = Canned("openai-responses", response(said))
    run = ul.Client(canned.upstream).responses.run(input="?", tools=[], text_format=Person)
    assert run.output_parsed is None and run.stopped == "answered"


# ---- one answer -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_streamed_answer_grows_into_its_value(protocol: str, strategy: str) -> None:
    client = ul.Client(upstream(protocol))
    asking: Any = {"input": END[strategy], "text_format": Person, "strategy": strategy}
    whole = client.responses.parse(**asking)
    with client.responses.parse(**asking, stream=True) as events:
        seen = list(events.snapshots)
        result = events.get_final_response()
    assert result.output_parsed == whole.output_parsed == seen[-1] == events.snapshot
    assert result.strategy == strategy and result.dump()["output"] and events.get_final_response() is result
    kinds = [event.type for event in client.responses.parse(**asking, stream=True)]
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed"


def one_by_one(text: str) -> httpx2.Response:
    """A stream whose events arrive each on its own."""
    frames = (f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in stream(text))
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=frames)


def test_snapshots_are_of_the_type_and_grow_with_the_text() -> None:
    canned = Canned("openai-responses", lambda _: one_by_one('{"name": "Ada", "age": 36, "friends": ["Bo", "Cy"]}'))
    events = ul.Client(canned.upstream).responses.parse(input="?", text_format=Person, stream=True)
    assert events.snapshot is None
    seen = list(events.snapshots)
    assert [each.name for each in seen[:5]] == [None, "", "A", "Ad", "Ada"]
    assert [each.age for each in seen] == sorted((each.age for each in seen), key=lambda age: age is not None)
    assert [each.friends for each in seen][-1] == ["Bo", "Cy"]
    assert events.get_final_response().output_parsed == seen[-1] == Person(name="Ada", age=36, friends=["Bo", "Cy"])


def test_a_streamed_answer_that_does_not_fit_is_an_error_at_its_end() -> None:
    canned = Canned("openai-responses", stream('{"name": "Ada"}'))
    events = ul.Client(canned.upstream).responses.parse(input="?", text_format=Person, stream=True)
    assert [each.name for each in events.snapshots][-1] == "Ada"
    with pytest.raises(ul.OutputParseError, match="/age: Field required") as caught:
        events.get_final_response()
    assert caught.value.response.output_text == '{"name": "Ada"}'


# ---- in the background ----------------------------------------------------------------------------------------------


class Slow:
    """A provider that works in the background: done at the second look."""

    def __init__(self, text: str) -> None:
        self.text, self.looks = text, 0
        self.canned = Canned("openai-responses", self.answer)

    def answer(self, request: httpx2.Request) -> Any:
        if request.url.params.get("stream") == "true":
            return stream(self.text)
        self.looks += request.method == "GET"
        return response(message(self.text)) if self.looks >= 2 else response(status="in_progress")


def test_structured_output_is_worked_at_in_the_background() -> None:
    slow = Slow(ADA)
    handle = ul.Client(slow.canned.upstream).responses.parse(input="?", text_format=Person, background=True)
    assert slow.canned.bodies[0]["background"] is True and slow.canned.bodies[0]["text"]["format"]["name"] == "Person"
    assert not handle.done and handle.result.output_parsed is None
    assert handle.wait(poll=0.001).output_parsed == handle.result.output_parsed == Person(name="Ada", age=36)
    events = handle.events()
    assert list(events.snapshots)[-1] == events.get_final_response().output_parsed == Person(name="Ada", age=36)


def test_and_in_an_event_loop_and_what_does_not_fit_is_an_error_of_waiting() -> None:
    async def main(text: str) -> Any:
        client = ul.AsyncClient(Slow(text).canned.upstream)
        handle = await client.responses.parse(input="?", text_format=Person, background=True)
        return (await handle.wait(poll=0.001)).output_parsed

    assert asyncio.run(main(ADA)) == Person(name="Ada", age=36)
    with pytest.raises(ul.OutputParseError, match="/age"):
        asyncio.run(main('{"name": "Ada"}'))


@pytest.mark.parametrize("protocol", ["anthropic-messages", "openai-chat"])
def test_an_answer_that_the_client_keeps_is_there_at_once(protocol: str) -> None:
    client = ul.Client(upstream(protocol), store=ul.MemoryStore())
    handle = client.responses.parse(input="Ada", text_format=Person, background=True)
    assert handle.done and isinstance(handle.result.output_parsed, Person)
    assert handle.wait().output_parsed == handle.result.output_parsed


# ---- what cannot be combined ----------------------------------------------------------------------------------------


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("parse", {"text_format": Person, "stream": True, "retries": 1}, "/retries"),
    ("parse", {"text_format": Person, "background": True, "retries": 1}, "/retries"),
    ("parse", {"text_format": Person, "text": {"format": {"type": "json_object"}}}, "/text/format"),
    ("parse", {"text_format": Person, "strategy": "magic"}, "/strategy"),
    (
        "parse",
        {
            "text_format": Person,
            "strategy": "tool",
            "tools": [get_weather],
            "tool_choice": {"type": "function", "name": "get_weather"},
        },
        "/tool_choice",
    ),
    ("run", {"background": True}, "/background"),
    ("run", {"strategy": "tool"}, "/strategy"),
    ("run", {"retries": 1}, "/retries"),
    ("run", {"tools": [get_weather], "text_format": Person, "strategy": "tool", "name": "get_weather"}, "/tools"),
]


@pytest.mark.parametrize(("method", "given", "path"), WRONG)
def test_what_cannot_be_combined_is_refused_before_anything_is_sent(
    method: str, given: dict[str, Any], path: str
) -> None:
    canned = Canned("openai-responses", response(message(ADA)))
    with pytest.raises(ul.InvalidBody) as caught:
        getattr(ul.Client(canned.upstream).responses, method)(input="Hi", **given)
    assert caught.value.path == path and canned.requests == []


def test_snapshots_of_a_run_without_structured_output_are_refused() -> None:
    events = ul.Client(upstream("openai-chat")).responses.run(input="Hi", tools=[], stream=True)
    assert events.snapshot is None
    with pytest.raises(ul.InvalidBody, match="text_format"):
        list(events.snapshots)
    events.close()
