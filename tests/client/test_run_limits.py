"""Limits of a run: turns, calls, tokens and money, over every protocol, with the run so far in the error."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.providers import PROTOCOLS, Canned, function_call, message, response, upstream

RAN: list[str] = []


@ul.tool
def look(city: str) -> str:
    """Look."""
    RAN.append(city)
    return f"21 in {city}"


TURNS = "[[call look city=a]] [[then]] [[call look city=b]] [[then]] [[call look city=c]] [[then]] Done."


def calling(number: int = 0, **fields: Any) -> dict[str, Any]:
    return response(function_call("look", '{"city": "Oslo"}', f"call_{number}"), **fields)


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tokens_of_all_turns_are_limited_before_more_are_spent(protocol: str) -> None:
    client = ul.Client(upstream(protocol))
    whole = client.responses.run(input=TURNS, tools=[look])
    assert whole.output_text == "Done." and RAN == ["a", "b", "c"]
    counts = [step.response.usage.total_tokens for step in whole.steps]
    RAN.clear()
    with pytest.raises(ul.ToolLoopLimitError, match="max_total_tokens is") as caught:
        client.responses.run(input=TURNS, tools=[look], max_total_tokens=sum(counts[:2]))
    run = caught.value.result
    assert caught.value.limit == "max_total_tokens" and run.stopped == "limit"
    assert run.usage.total_tokens == sum(counts[:2])
    # The calls of the last turn did not run: they are pending, and the run can go on.
    assert RAN == ["a"] and [call.parsed_arguments for call in run.pending] == [{"city": "b"}]
    again = client.responses.resume(run, tools=[look], max_total_tokens=10 * sum(counts))
    assert again.output_text == "Done." and RAN == ["a", "b", "c"]
    assert [step.number for step in again.steps] == [1, 2, 3, 4] and again.usage.dump() == whole.usage.dump()
    # An answer that was paid for is given, whatever it took.
    assert client.responses.run(input="Hi", tools=[look], max_total_tokens=1).output_text == "Hi"


def priced(*answers: Any) -> Canned:
    return Canned("anthropic-messages", *answers, provider="anthropic", model="claude-opus-4-7")


def asking(number: int, **usage: int) -> dict[str, Any]:
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "look", "input": {"city": "Oslo"}}
    counts = {"input_tokens": 100_000, "output_tokens": 0, **usage}
    node = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-opus-4-7"}
    return {**node, "content": [call], "stop_reason": "tool_use", "stop_sequence": None, "usage": counts}


def test_money_is_limited_at_list_prices() -> None:
    canned = priced(*(asking(number) for number in range(9)))  # half a dollar each
    with pytest.raises(ul.ToolLoopLimitError, match=r"\$1\.5 spent; max_cost is \$1\.25") as caught:
        ul.Client(canned.upstream).responses.run(input="Hi", tools=[look], max_cost="1.25")
    assert caught.value.limit == "max_cost" and caught.value.result.cost.total == Decimal("1.5")
    assert len(canned.requests) == 3 and len(RAN) == 2


@pytest.mark.parametrize("fallback", [False, True])
def test_a_model_without_a_price_is_refused_before_anything_is_sent(fallback: bool) -> None:
    bare, canned = Canned("openai-responses", calling()), priced(asking(0))
    names = [canned.upstream, bare.upstream] if fallback else [bare.upstream]
    with pytest.raises(ul.UnknownPrice, match="canned/m has no listed price") as caught:
        ul.Client(models=names).responses.run(input="Hi", tools=[look], max_cost=1)
    assert caught.value.result is None and bare.requests == canned.requests == []


def test_a_turn_with_something_that_has_no_price_ends_the_run() -> None:
    answer = asking(0)
    answer["usage"]["server_tool_use"] = {"web_search_requests": 1}
    with pytest.raises(ul.UnknownPrice, match="hosted_tools") as caught:
        ul.Client(priced(answer).upstream).responses.run(input="Hi", tools=[look], max_cost=100)
    assert len(caught.value.result.steps) == 1 and RAN == []


def test_tokens_that_are_not_counted_are_no_zero() -> None:
    canned = Canned("openai-responses", calling(usage=None))
    with pytest.raises(ul.ToolLoopLimitError, match="turn 1 has no usage") as caught:
        ul.Client(canned.upstream).responses.run(input="Hi", tools=[look], max_total_tokens=100)
    assert caught.value.limit == "max_total_tokens" and RAN == []


def test_turns_are_counted_over_the_whole_run() -> None:
    canned = Canned("openai-responses", *(calling(number) for number in range(9)))
    client = ul.Client(canned.upstream)
    with pytest.raises(ul.ToolLoopLimitError) as caught:
        client.responses.run(input="Hi", tools=[look], max_turns=2)
    assert caught.value.limit == "max_turns" and len(RAN) == 2 and caught.value.result.pending == []
    run = caught.value.result
    with pytest.raises(ul.ToolLoopLimitError):
        client.responses.resume(run, tools=[look], max_turns=2)
    assert len(canned.requests) == 2
    with pytest.raises(ul.ToolLoopLimitError) as caught:
        client.responses.resume(run, tools=[look], max_turns=3)
    assert len(canned.requests) == 3 and len(caught.value.result.steps) == 3 and len(RAN) == 3


def test_the_limits_hold_in_streams_and_event_loops_and_with_structured_output() -> None:
    options: Any = {"input": "Hi", "tools": [look], "max_total_tokens": 5}
    events = ul.Client(Canned("openai-responses", _streamed).upstream).responses.run(**options, stream=True)
    with pytest.raises(ul.ToolLoopLimitError) as caught:
        list(events)
    assert caught.value.limit == "max_total_tokens" and len(caught.value.result.steps) == 1

    async def main() -> None:
        await ul.AsyncClient(Canned("openai-responses", calling()).upstream).responses.run(**options)

    with pytest.raises(ul.ToolLoopLimitError, match="5 tokens used"):
        asyncio.run(main())
    canned = Canned("openai-responses", response(message("no")))
    with pytest.raises(ul.ToolLoopLimitError, match="5 tokens used"):
        ul.Client(canned.upstream).responses.run(**options, text_format=list[int], retries=3)
    assert len(canned.requests) == 1 and RAN == []


def _streamed(_: Any) -> list[dict[str, Any]]:
    whole = calling()
    item = whole["output"][0]
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": ""}},
        {
            "type": "response.function_call_arguments.delta",
            "output_index": 0,
            "item_id": item["id"],
            "delta": item["arguments"],
        },
        {
            "type": "response.function_call_arguments.done",
            "output_index": 0,
            "item_id": item["id"],
            "arguments": item["arguments"],
        },
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"max_turns": 0}, "/max_turns"),
        ({"max_turns": "3"}, "/max_turns"),
        ({"max_tool_calls": -1}, "/max_tool_calls"),
        ({"max_total_tokens": True}, "/max_total_tokens"),
        ({"max_total_tokens": 1.5}, "/max_total_tokens"),
        ({"max_cost": "a lot"}, "/max_cost"),
        ({"max_cost": 0}, "/max_cost"),
        ({"max_cost": float("nan")}, "/max_cost"),
        ({"max_cost": float("inf")}, "/max_cost"),
    ],
)
def test_limits_that_are_none_are_refused(given: Any, path: str) -> None:
    canned = Canned("openai-responses", calling())
    with pytest.raises(ul.InvalidBody) as caught:
        ul.Client(canned.upstream).responses.run(input="Hi", tools=[look], **given)
    assert caught.value.path == path and canned.requests == []


@pytest.mark.parametrize("stored", [False, True])
def test_an_error_of_a_later_turn_has_the_run_so_far(stored: bool) -> None:
    """The tools that have run do not run again."""
    refused = httpx2.Response(400, json={"error": {"message": "too long", "type": "invalid_request_error"}})
    answers = [calling(), refused, response(message("Done."))]
    service = Canned("openai-responses", *answers)
    client = ul.Client(service.upstream)
    with pytest.raises(ul.InvalidRequestError) as caught:
        client.responses.run(input="Go", tools=[look])
    assert RAN == ["Oslo"] and caught.value.result.stopped == "error" and not caught.value.result.pending
    run = ul.client.RunResult.from_json(caught.value.result.to_json()) if stored else caught.value.result
    again = client.responses.resume(run, tools=[look])
    assert again.output_text == "Done." and RAN == ["Oslo"] and len(again.steps) == 2
    assert [item["type"] for item in service.bodies[-1]["input"]][-2:] == ["function_call", "function_call_output"]


def test_an_error_of_the_first_turn_has_none() -> None:
    refused = httpx2.Response(400, json={"error": {"message": "too long", "type": "invalid_request_error"}})
    with pytest.raises(ul.InvalidRequestError) as caught:
        ul.Client(Canned("openai-responses", refused).upstream).responses.run(input="Go", tools=[look])
    assert caught.value.result is None
