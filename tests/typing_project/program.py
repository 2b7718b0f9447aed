"""A program as users write them: the checkers find nothing, and every type is the one that is asserted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_type

from pydantic import BaseModel

import unified_llm as ul
from unified_llm import models


class City(BaseModel):
    name: str
    people: int


@ul.tool
def weather(city: str, days: int = 1) -> str:
    """The weather in a city."""
    return f"{city}: rain for {days} days"


@ul.tool(strict=True)
async def distance(start: str, end: str) -> float:
    """The distance between two cities in km."""
    return float(len(start) + len(end))


class Desk:
    """Tools that share something."""

    @ul.tool
    def note(self, text: str, context: ul.ToolContext[str]) -> list[str]:
        """Keep a note."""
        return [context.data, text]


def tools_are_functions_still() -> None:
    assert_type(weather("Rome"), str)
    assert_type(Desk().note("x", ul.ToolContext("c", "note", data="Ann")), list[str])


def answers(client: ul.Client) -> str:
    result = client.responses.create(
        model="openai/gpt-5.5",
        models=["anthropic/claude-opus-4-7"],
        input=["What is this?", ul.image("https://example.com/a.png")],
        reasoning={"effort": "high"},
        text={"verbosity": "low"},
        max_output_tokens=500,
        on_loss={"sampling.*": "raise"},
        timeout=30,
    )
    assert_type(result, ul.Result[None])
    assert_type(result.output_text, str)
    assert_type(result.losses, ul.Losses)
    if result.usage is not None:
        assert_type(result.usage, ul.Usage)
        assert_type(result.usage.output_tokens, int | None)
    if result.cost is not None:
        assert_type(result.cost, models.Cost)
    for item in result.output or ():
        if item.type == "function_call":
            assert_type(item, ul.FunctionCall)
            assert_type(item.parsed_arguments, dict[str, Any])
        if isinstance(item, ul.UnknownItem):
            print(item.problems)
    assert_type(result.upstream, ul.Upstream)
    for hop in result.hops:
        assert_type(hop.error, Exception | None)
        print(hop.upstream, hop.reason)
    later = client.responses.create(previous=result, input="And now?")
    return later.output_text


def streamed_or_not(client: ul.Client, stream: bool) -> str:
    either = client.responses.create(input="Hi", stream=stream)
    assert_type(either, ul.Result[None] | ul.EventStream[None])
    return (either if isinstance(either, ul.Result) else either.get_final_response()).output_text


def values(client: ul.Client) -> list[City]:
    one = client.responses.parse(text_format=City, input="Rome", strategy="auto")
    assert_type(one, ul.Result[City])
    assert_type(one.output_parsed, City | None)
    many = client.responses.parse(text_format=list[City], input="Rome and Paris")
    assert_type(many.output_parsed, list[City] | None)
    with client.responses.parse(text_format=City, input="Rome", stream=True) as stream:
        assert_type(stream, ul.ParsedStream[City])
        assert_type(list(stream.snapshots), list[City])
    return [*([one.output_parsed] if one.output_parsed else []), *(many.output_parsed or [])]


def events(client: ul.Client) -> Iterator[str]:
    with client.responses.create(input="Hi", stream=True) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                assert_type(event, ul.OutputTextDelta)
                yield event.delta or ""
            match event:
                case ul.OutputItemDone(item=ul.FunctionCall(name=name)):
                    assert_type(name, str)
                case ul.UnknownEvent(problems=problems):
                    print(problems)
                case _:
                    pass
    assert_type(stream.partial, ul.Response)
    assert_type(stream.get_final_response(), ul.Result[None])


def loops(client: ul.Client) -> None:
    run = client.responses.run(input="Hi", tools=[weather, distance, Desk().note, "web_search"], max_turns=3)
    assert_type(run, ul.RunResult[None])
    assert_type(run.output_text, str)
    typed = client.responses.run(input="Hi", tools=[weather], text_format=City)
    assert_type(typed.output_parsed, City | None)
    by_schema = client.responses.run(input="Hi", tools=[weather], text_format={"type": "object"})
    assert_type(by_schema, ul.RunResult[Any])
    for call in run.pending:
        assert_type(call.call_id, str | None)
        if call.type == "mcp_approval_request":
            assert_type(call.parsed_arguments, dict[str, Any])
        if call.type == "function_call":
            assert_type(call, ul.FunctionCall)
    assert_type(run.items[0], ul.Item)
    assert_type(run.steps[0].outputs, tuple[ul.FunctionCallOutput | ul.CustomToolCallOutput, ...])
    assert_type(run.usage, ul.Usage)
    for event in client.responses.run(input="Hi", tools=weather, stream=True):
        if event.type == "unified_llm:turn_done":
            assert_type(event, ul.TurnDone)
            print(event.step.number, event.step.response.output_text)


def lists_in_variables(client: ul.Client, run: ul.RunResult[None]) -> list[ul.PendingCall]:
    tools: list[ul.ToolLike] = [len, weather, {"type": "web_search"}, "code_interpreter"]
    parts: list[ul.InputItem] = ["What is this?", ul.image("https://example.com/a.png"), ul.Message(role="user")]
    asked: ul.Input = parts
    client.responses.create(input=asked, tools=tools)
    client.responses.create(input=[*parts, *run.items], tools=[tools, distance])
    return run.pending


async def in_an_event_loop() -> str:
    async with ul.AsyncClient("anthropic", api_key="k") as client:
        stream = await client.responses.create(model="claude-opus-4-7", input="Hi", stream=True)
        texts = [text async for text in stream.text_deltas]
        assert_type(texts, list[str])
        async with await client.responses.parse(input="Rome", text_format=City, stream=True) as parsed:
            assert_type(parsed, ul.AsyncParsedStream[City])
        one = await client.responses.parse(model="claude-opus-4-7", input="Rome", text_format=City)
        assert_type(one.output_parsed, City | None)
        return (await client.responses.run(model="claude-opus-4-7", input="Hi", tools=[distance])).output_text


def documents(body: dict[str, Any], own: str) -> None:
    done = ul.convert(body, source="openai-chat", target=own, on_loss="warn")
    assert_type(done, ul.Converted)
    assert_type(ul.preview(body, source="openai-chat", target="anthropic-messages"), ul.Losses)
    assert_type(ul.read(body, "openai-chat"), ul.Request)
    assert_type(ul.read(body, "openai-chat", "response"), ul.Response)
    assert_type(ul.read(body, "openai-chat", kind="error"), ul.ErrorBody)
    ul.write(ul.Request(model="m", input=[ul.Message(role="user", content="Hi")]), "google-interactions")
    for loss in done.losses:
        print(loss.path, loss.fate, loss.detail)


def facts() -> None:
    found = models.get("openai/gpt-5.5")
    assert_type(found.tool_call, bool | None)
    try:
        answers(ul.Client())
    except ul.RateLimitError as error:
        print(error.retry_after)
    except ul.UnifiedLLMError as error:
        print(error)
