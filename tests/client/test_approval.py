"""Calls that need approval: a run pauses, travels as JSON, and goes on elsewhere, with what was decided."""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
from typing import Any

import pytest
import trio
from pydantic import BaseModel

import unified_llm as ul
from client.approving import RAN, TOOLS
from client.providers import PROTOCOLS, Canned, function_call, message, response, upstream
from unified_llm.client import RunResult

ASKED = (
    "[[reason Careful.]] [[call find name=a]] [[call delete name=b]] [[call delete name=c]] [[then]] [[results]] Done."
)


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


def paused(client: Any, **options: Any) -> Any:
    given: Any = {"reasoning": {"effort": "low"}, "max_output_tokens": 4000, **options}
    return client.responses.run(input=ASKED, tools=TOOLS, **given)


def check_paused(run: Any) -> None:
    assert run.stopped == "approval"
    assert RAN == ["find a"]  # what needs no approval has run
    assert [(call.name, call.parsed_arguments) for call in run.pending] == [
        ("delete", {"name": "b"}),
        ("delete", {"name": "c"}),
    ]
    assert [item.output for item in run.steps[0].outputs] == ["a found"]


def check_done(run: Any) -> None:
    assert run.stopped == "answered" and run.pending == [] and len(run.steps) == 2
    assert RAN == ["find a", "delete b"]
    outputs = [(item.output, bool(item.is_error)) for item in run.steps[0].outputs]
    assert outputs == [("a found", False), ("b is gone", False), ("too risky", True)]
    # The upstream repeats what it was given.
    assert all(text in run.output_text for text in ("a found", "b is gone", "too risky", "Done."))
    kinds = [item.type for item in run.items if item.type != "reasoning"]
    assert kinds == ["message", *["function_call"] * 3, *["function_call_output"] * 3, "message"]


def decisions(run: Any) -> dict[str, Any]:
    one, other = run.pending
    return {"approved": [one], "rejected": {other.call_id: "too risky"}}


@pytest.mark.parametrize("kept", [False, True], ids=["here", "as JSON"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_call_that_needs_approval_pauses_the_run_over_every_protocol(protocol: str, kept: bool) -> None:
    client = ul.Client(upstream(protocol))
    run = paused(client)
    check_paused(run)
    again = RunResult.from_json(json.dumps(run.to_json())) if kept else run
    assert [call.dump() for call in again.pending] == [call.dump() for call in run.pending]
    done = client.responses.resume(again, tools=TOOLS, **decisions(again))
    check_done(done)
    assert done.usage.total_tokens == sum(step.response.usage.total_tokens for step in done.steps)
    assert run.stopped == "approval" and len(run.steps) == 1  # what was paused stays as it was


@pytest.mark.parametrize(("one", "other"), [*itertools.permutations(PROTOCOLS, 2)])
def test_another_provider_goes_on_from_the_json_and_the_first_one_after_it(one: str, other: str) -> None:
    """The upstreams refuse calls without results, and signatures that are missing or are not theirs."""
    client = ul.Client()
    run = paused(client, upstream=upstream(one))
    state = json.dumps(run.to_json())
    again = RunResult.from_json(state)
    done = client.responses.resume(again, tools=TOOLS, upstream=upstream(other), **decisions(again))
    check_done(done)
    back = client.responses.run(input="[[reason Hm.]] Bye.", previous=done, tools=TOOLS, upstream=upstream(one))
    assert back.output_text == "Bye."
    kept = [
        piece["data"]
        for item in back.item_nodes
        for node in (item, *(item["content"] if isinstance(item.get("content"), list) else ()))
        for piece in node.get("opaque") or ()
        if piece["origin"]["protocol"] == one
    ]
    assert bool(kept) == (one != "openai-chat") and all(json.dumps(data)[1:-1] in state for data in kept[:1])


@pytest.mark.parametrize("loop", [asyncio.run, trio.run], ids=["asyncio", "trio"])
def test_and_in_event_loops_and_streams(loop: Any) -> None:
    async def main() -> None:
        client = ul.AsyncClient(upstream("google-generate-content"))
        events = await client.responses.run(
            input=ASKED, tools=TOOLS, reasoning={"effort": "low"}, max_output_tokens=4000, stream=True
        )
        told = [event.type async for event in events if event.type.startswith("unified_llm:")]
        assert told == ["unified_llm:tool_output", "unified_llm:turn_done"]
        run = await events.get_final_result()
        check_paused(run)
        more = await client.responses.resume(run, tools=TOOLS, stream=True, **decisions(run))
        told = [event.type async for event in more if event.type.startswith("unified_llm:")]
        assert told == [*["unified_llm:tool_output"] * 2, *["unified_llm:turn_done"] * 2]
        check_done(await more.get_final_result())

    loop(main) if loop is trio.run else loop(main())


def test_the_run_goes_on_in_another_process() -> None:
    run = ul.Client(model="local/echo").responses.run(
        input="[[call delete name=b]] [[then]] [[results]] Done.", tools=TOOLS, instructions="Be brief."
    )
    code = """
import json, sys
import unified_llm as ul

def delete(name: str) -> str:
    return f"{name} is gone elsewhere"

run = ul.RunResult.from_json(sys.stdin.read())
done = ul.Client().responses.resume(run, approved=True, tools=[delete])
print(json.dumps([done.output_text, done.final.request["instructions"], len(done.steps)]))
"""
    told = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(run.to_json()), capture_output=True, text=True, check=True
    )
    assert json.loads(told.stdout) == ["delete: b is gone elsewhere Done.", "Be brief.", 2]


# ---- what is decided ------------------------------------------------------------------------------------------------


def three(*names: str) -> Canned:
    calls = [function_call(name, f'{{"name": "{n}"}}', f"call_{n}") for n, name in zip("abc", names)]
    return Canned("openai-responses", response(*calls), response(message("Done.")))


def outputs(run: Any) -> dict[str, Any]:
    return {item.call_id: item.output for item in run.steps[0].outputs}


@pytest.mark.parametrize("form", ["sync", "async"])
def test_a_function_decides_while_the_run_goes_on(form: str) -> None:
    asked: list[tuple[str, Any, Any]] = []

    def approve(call: Any, context: Any) -> Any:
        asked.append((call.name, call.parsed_arguments, context.data))
        return {"a": True, "b": False, "c": "ask Ann first"}[call.parsed_arguments["name"]]

    async def later(call: Any, context: Any) -> Any:
        await asyncio.sleep(0)
        return approve(call, context)

    canned = three("delete", "delete", "find")
    given: Any = {"input": "Hi", "tools": TOOLS, "context": "data"}
    if form == "sync":
        run = ul.Client(canned.upstream).responses.run(approve=approve, **given)
    else:
        run = asyncio.run(_async(canned, approve=later, **given))
    assert run.output_text == "Done." and RAN == ["delete a"]
    assert outputs(run) == {"call_a": "a is gone", "call_b": "The call was not approved.", "call_c": "ask Ann first"}
    assert [name for name, _, _ in asked] == ["delete", "delete", "find"] and {each[2] for each in asked} == {"data"}


async def _async(canned: Canned, **given: Any) -> Any:
    return await ul.AsyncClient(canned.upstream).responses.run(**given)


def test_it_may_leave_the_decision_open_for_any_tool() -> None:
    canned = three("find", "find")
    client = ul.Client(canned.upstream)
    run = client.responses.run(
        input="Hi", tools=TOOLS, approve=lambda call, context: None if call.call_id == "call_b" else True
    )
    assert run.stopped == "approval" and [call.call_id for call in run.pending] == ["call_b"]
    assert client.responses.resume(run, tools=TOOLS, rejected=True).output_text == "Done."
    assert RAN == ["find a"] and canned.bodies[1]["input"][-1]["output"] == "The call was not approved."


def test_what_is_not_decided_stays_pending_and_nothing_is_sent() -> None:
    canned = three("delete", "find", "delete")
    client = ul.Client(canned.upstream)
    run = client.responses.run(input="Hi", tools=TOOLS)
    half = client.responses.resume(run, tools=TOOLS, approved="call_c")
    assert half.stopped == "approval" and [call.call_id for call in half.pending] == ["call_a"]
    assert RAN == ["find b", "delete c"] and len(canned.requests) == 1
    done = client.responses.resume(RunResult.from_json(half.to_json()), tools=TOOLS, approved=["call_a"])
    assert done.output_text == "Done." and RAN == ["find b", "delete c", "delete a"]  # nothing runs twice
    sent = [item["call_id"] for item in canned.bodies[1]["input"] if item["type"] == "function_call_output"]
    assert sent == ["call_a", "call_b", "call_c"]


def test_calls_of_the_callers_own_tools_are_answered_with_outputs() -> None:
    theirs = {"type": "function", "name": "pay", "parameters": {"type": "object", "properties": {}}}
    canned = three("pay", "delete", "pay")
    client = ul.Client(canned.upstream)
    run = client.responses.run(input="Hi", tools=[*TOOLS, theirs])
    assert run.stopped == "approval" and len(run.pending) == 3
    item = {"type": "function_call_output", "call_id": "call_c", "output": "twice", "is_error": True}
    done = client.responses.resume(
        run,
        approved=["call_b"],
        outputs={"call_a": {"paid": 3}, "call_c": item},
        tools=[*TOOLS, theirs],
    )
    assert outputs(done) == {"call_a": '{"paid":3}', "call_b": "b is gone", "call_c": "twice"}
    only = client.responses.run(input="Hi", tools=[theirs])
    assert only.stopped in ("calls", "answered")


def test_later_calls_need_approval_as_well() -> None:
    calls = [response(function_call("delete", f'{{"name": "{n}"}}', f"call_{n}")) for n in "ab"]
    canned = Canned("openai-responses", *calls, response(message("Done.")))
    client = ul.Client(canned.upstream)
    run = client.responses.run(input="Hi", tools=TOOLS, tool_choice="required")
    second = client.responses.resume(run, approved=True, tools=TOOLS)
    assert second.stopped == "approval" and [call.call_id for call in second.pending] == ["call_b"]
    assert client.responses.resume(second, approved=True, tools=TOOLS).output_text == "Done."
    assert [body["tool_choice"] for body in canned.bodies] == ["required", "auto", "auto"]
    assert RAN == ["delete a", "delete b"]


def test_structured_output_is_asked_for_again_in_each_strategy() -> None:
    class Answer(BaseModel):
        ok: bool

    for one, other in itertools.product(("native", "tool", "prompt"), repeat=2):
        answer = function_call("Answer", '{"ok": true}') if other == "tool" else message('{"ok": true}')
        canned = Canned("openai-responses", three("delete").answers[0], response(answer))
        client = ul.Client(canned.upstream)
        given: Any = {"tools": TOOLS, "text_format": Answer}
        run = client.responses.run(input="Hi", strategy=one, **given)
        again = RunResult.from_json(run.to_json())
        with pytest.raises(ul.InvalidBody, match="text_format= again"):
            client.responses.resume(again, approved=True, tools=TOOLS)
        done = client.responses.resume(again, approved=True, strategy=other, **given)
        assert done.output_parsed == Answer(ok=True) and done.final.strategy == other
        body = canned.bodies[-1]
        asks = ("format" in body.get("text", {}), len(body["tools"]) == 3, "instructions" in body)
        assert asks == (other == "native", other == "tool", other == "prompt")


# ---- what cannot be -------------------------------------------------------------------------------------------------


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"approved": "call_x"}, "/approved", "not pending; pending calls: call_a"),
    ({"rejected": {"call_x": "no"}}, "/rejected", "not pending"),
    ({"outputs": {"call_x": "no"}}, "/outputs", "not pending"),
    ({"approved": 3}, "/approved", "True, or calls or their ids"),
    ({"approved": True, "rejected": True}, "/approved", "decided twice"),
    ({"input": "And?"}, "/input", "has its conversation"),
    ({"background": True}, "/background", "waits for each of its turns"),
]


@pytest.mark.parametrize(("given", "path", "why"), WRONG)
def test_decisions_that_do_not_fit_are_refused(given: dict[str, Any], path: str, why: str) -> None:
    canned = three("delete")
    client = ul.Client(canned.upstream)
    run = client.responses.run(input="Hi", tools=TOOLS)
    with pytest.raises(ul.InvalidBody, match=why) as caught:
        client.responses.resume(run, **{"tools": TOOLS, **given})
    assert caught.value.path == path and len(canned.requests) == 1 and RAN == []


def test_an_approved_call_needs_its_function_and_an_answered_run_is_over() -> None:
    canned = three("delete")
    client = ul.Client(canned.upstream)
    run = client.responses.run(input="Hi", tools=TOOLS)
    with pytest.raises(ul.InvalidBody, match="pass tools= with the function 'delete'"):
        client.responses.resume(run, approved=True)
    done = client.responses.resume(run, approved=True, tools=TOOLS)
    with pytest.raises(ul.InvalidBody, match="previous=run"):
        client.responses.resume(done, tools=TOOLS)
    with pytest.raises(ul.InvalidArgument, match="approve= returns True, False, a text or None, not 3"):
        client.responses.run(input="Hi", tools=TOOLS, approve=lambda call, context: 3, upstream=three("find").upstream)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda state: "{", ""),
        (lambda state: [], "/type"),
        (lambda state: {**state, "type": "response"}, "/type"),
        (lambda state: {**state, "version": 2}, "/version"),
        (lambda state: {**state, "steps": []}, ""),
        (lambda state: {key: value for key, value in state.items() if key != "asked"}, ""),
        (lambda state: {**state, "upstreams": []}, ""),
        (lambda state: {**state, "steps": [{**state["steps"][0], "response": 5}]}, ""),
    ],
)
def test_json_that_is_not_a_run_is_refused(change: Any, path: str) -> None:
    run = ul.Client(three("delete").upstream).responses.run(input="Hi", tools=TOOLS)
    with pytest.raises(ul.InvalidBody) as caught:
        RunResult.from_json(change(run.to_json()))
    assert caught.value.path == path


def test_no_credential_is_in_the_json() -> None:
    server = {
        "type": "mcp",
        "server_label": "s",
        "server_url": "https://mcp.example",
        "authorization": "SECRET-1",
        "headers": {"x-key": "SECRET-2"},
    }
    canned = three("delete")
    client = ul.Client(canned.upstream.with_(headers={"x-key": "SECRET-3"}, query={"key": "SECRET-4"}))
    run = client.responses.run(
        input="Hi",
        tools=[*TOOLS, server],
        api_key="SECRET-5",
        extra_headers={"authorization": "SECRET-6"},
        extra_body={"key": "SECRET-7"},
    )
    assert all(
        f"SECRET-{n}" in str([(each.headers.raw, each.url, each.content) for each in canned.requests])
        for n in (1, 2, 3, 4)
    )
    state = run.to_json()
    assert "SECRET" not in json.dumps(state)
    assert state["withheld"] == ["/asked/tools/2/authorization", "/asked/tools/2/headers"]
    again = RunResult.from_json(state)
    with pytest.raises(ul.InvalidBody, match=r"credentials are not kept .*authorization.*pass tools= again"):
        client.responses.resume(again, rejected=True)
    client.responses.resume(again, rejected=True, tools=[*TOOLS, server])
    assert b"SECRET-1" in canned.requests[-1].content


def test_json_grows_with_the_conversation_and_not_with_its_square() -> None:
    def size(turns: int) -> int:
        calls = [response(function_call("find", json.dumps({"name": "x" * 100}), f"call_{n}")) for n in range(turns)]
        canned = Canned("openai-responses", *calls, response(function_call("delete", '{"name": "b"}', "call_d")))
        run = ul.Client(canned.upstream).responses.run(input="Hi", tools=TOOLS, max_turns=100)
        again = RunResult.from_json(run.to_json())
        assert [step.response.items for step in again.steps] == [step.response.items for step in run.steps]
        assert again.items == run.items and again.usage == run.usage and again.losses == run.losses
        assert again.to_json() == run.to_json()
        return len(json.dumps(run.to_json()))

    assert size(40) < 2.2 * size(20)
