"""What is passed to `resume`, the mistaken ways too; and what the JSON of a run leaves out."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

import unified_llm as ul
from client.approving import RAN, TOOLS
from unified_llm.client import RunResult
from upstreams import Canned

CLIENT = ul.Client(model="local/echo")


@pytest.fixture
def run() -> RunResult:
    RAN.clear()
    found = CLIENT.responses.run(
        input="[[call find name=a]] [[call delete name=b]] [[call delete name=c]]", tools=TOOLS
    )
    assert RAN == ["find a"] and len(found.pending) == 2
    return found


Decide = Callable[[str, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("decide", "path", "reason"),
    [
        (lambda b, c: {"approved": {b: False, c: False}}, "/approved", "not dict"),
        (lambda b, c: {"approved": {b: True}}, "/approved", "not dict"),
        (lambda b, c: {"approved": 1}, "/approved", "not int"),
        (lambda b, c: {"approved": [b], "rejected": {c: True}}, "/rejected", "should be a text, not bool"),
        (lambda b, c: {"approved": [b], "rejected": {c: 5}}, "/rejected", "should be a text, not int"),
        (lambda b, c: {"outputs": True}, "/outputs", "not bool"),
        (lambda b, c: {"outputs": b}, "/outputs", "not str"),
        (
            lambda b, c: {"outputs": {b: {"type": "function_call_output", "call_id": c, "output": "x"}}},
            "/outputs",
            "has the call_id",
        ),
        (
            lambda b, c: {"outputs": {b: {"type": "function_call_output", "call_id": b, "outptu": "x"}}},
            "/outputs",
            "has no field 'output'",
        ),
    ],
)
def test_a_mistaken_decision_is_refused_and_nothing_runs(
    run: RunResult, decide: Decide, path: str, reason: str
) -> None:
    one, other = run.pending
    with pytest.raises(ul.InvalidBody, match=reason) as caught:
        CLIENT.responses.resume(run, tools=TOOLS, **decide(one.call_id, other.call_id))
    assert caught.value.path == path and RAN == ["find a"]


@pytest.mark.parametrize("shape", ["object", "json", "list"])
def test_calls_and_outputs_may_be_json(run: RunResult, shape: str) -> None:
    one, other = run.pending
    output = {"type": "function_call_output", "call_id": other.call_id, "output": "done elsewhere"}
    approved = {"object": one, "json": one.dump(), "list": [one.dump()]}[shape]
    outputs: Any = {"object": {other.call_id: "done elsewhere"}, "json": output, "list": [output]}[shape]
    done = CLIENT.responses.resume(run, tools=TOOLS, approved=approved, outputs=outputs)
    assert RAN == ["find a", "delete b"]
    assert [item.output for item in done.steps[0].outputs] == ["a found", "b is gone", "done elsewhere"]


@pytest.mark.parametrize("kind", ["my_output", ["string", "null"], {"const": "input_text"}])
def test_a_value_that_looks_like_an_output_is_a_value(run: RunResult, kind: Any) -> None:
    one, other = run.pending
    value = {"type": kind, "value": 3}
    done = CLIENT.responses.resume(run, tools=TOOLS, approved=[one], outputs={other.call_id: value})
    assert json.loads(str(done.steps[0].outputs[-1].output)) == value


def test_rejected_without_a_reason_is_told_as_such(run: RunResult) -> None:
    done = CLIENT.responses.resume(run, tools=TOOLS, rejected={call.call_id: None for call in run.pending})
    assert [item.output for item in done.steps[0].outputs][1:] == ["The call was not approved."] * 2


def test_a_limit_that_is_reached_on_resume_keeps_what_has_run(run: RunResult) -> None:
    with pytest.raises(ul.ToolLoopLimitError) as caught:
        CLIENT.responses.resume(run, tools=TOOLS, approved=True, max_total_tokens=1)
    stopped = caught.value.result
    assert [call.call_id for call in stopped.pending] == [call.call_id for call in run.pending]
    CLIENT.responses.resume(stopped, tools=TOOLS, approved=True)
    assert RAN == ["find a", "delete b", "delete c"]


def test_limits_hold_where_every_output_is_the_callers() -> None:
    declared = {"type": "function", "name": "look", "parameters": {"type": "object"}}
    run = CLIENT.responses.run(input="[[call look]] [[then]] Done.", tools=declared)
    outputs = {run.pending[0].call_id: "seen"}
    with pytest.raises(ul.ToolLoopLimitError) as caught:
        CLIENT.responses.resume(run, outputs=outputs, max_total_tokens=1)
    assert caught.value.limit == "max_total_tokens" and len(caught.value.result.steps) == 1
    assert CLIENT.responses.resume(run, outputs=outputs, max_total_tokens=10_000).output_text == "Done."


@pytest.mark.parametrize(
    "wrong", [lambda run: run.to_json(), lambda run: json.dumps(run.to_json()), lambda run: run.final]
)
def test_resume_takes_runs_only(run: RunResult, wrong: Callable[[RunResult], Any]) -> None:
    with pytest.raises(ul.InvalidBody) as caught:
        CLIENT.responses.resume(wrong(run), approved=True, tools=TOOLS)
    assert caught.value.path == "/run" and RAN == ["find a"]


# ---- the JSON of a run ----------------------------------------------------------------------------------------------

SECRETS = {
    "type": "allowlist",
    "allowed_domains": ["h"],
    "domain_secrets": [{"domain": "h", "name": "A", "value": "KEY"}],
}
HOLDERS: dict[str, Any] = {
    "mcp": {"type": "mcp", "server_label": "s", "server_url": "https://h/mcp", "headers": {"x-key": "KEY"}},
    "mcp connector": {"type": "mcp", "server_label": "s", "connector_id": "c", "authorization": "KEY"},
    "mcp password": {"type": "mcp", "server_label": "s", "server_url": "https://user:KEY@h/mcp"},
    "mcp query": {"type": "mcp", "server_label": "s", "server_url": "https://h/mcp?apiKey=KEY"},
    "interactions": {"type": "mcp_server", "name": "s", "url": "https://h/mcp", "headers": {"x-key": "KEY"}},
    "generateContent": {
        "mcpServers": [{"name": "s", "streamableHttpTransport": {"url": "https://h", "headers": {"x-key": "KEY"}}}]
    },
    "maps": {"googleMaps": {"authConfig": {"apiKeyConfig": {"apiKeyString": "KEY"}}}},
    "retrieval": {"retrieval": {"external_api": {"api_auth": {"api_key_config": {"api_key_string": "KEY"}}}}},
    "container": {"type": "code_interpreter", "container": {"type": "auto", "network_policy": SECRETS}},
    "shell": {"type": "shell", "environment": {"type": "container_auto", "network_policy": SECRETS}},
    "chat": {"type": "function", "function": {"name": "f"}, "headers": {"x-key": "KEY"}},
}


@pytest.mark.parametrize("protocol", ["openai-responses", "openai-chat"])  # the first repeats the tools in its answers
@pytest.mark.parametrize("holder", HOLDERS)
def test_no_credential_of_a_tool_is_in_the_json(holder: str, protocol: str) -> None:
    run = CLIENT.responses.run(input="Hi", tools=HOLDERS[holder], protocol=protocol)
    assert "KEY" in json.dumps(run.asked)
    before = copy.deepcopy(run.final.dump())
    state = run.to_json()
    assert "KEY" not in json.dumps(state)
    assert state["withheld"] and all(path.startswith("/asked/tools/0/") for path in state["withheld"])
    assert run.final.dump() == before


def test_what_only_looks_like_a_credential_stays() -> None:
    schema = {
        "type": "object",
        "properties": {"authorization_token": {"type": "string"}, "headers": {"type": "object"}},
    }
    tools = [{"type": "function", "name": "send", "parameters": schema}]
    server = {"type": "mcp", "server_label": "s", "server_url": "https://h/mcp"}
    run = CLIENT.responses.run(input="Hi", tools=[*tools, server], metadata={"password": "none"})
    state = run.to_json()
    assert state["asked"]["tools"] == [*tools, server] and state["asked"]["metadata"] == {"password": "none"}
    assert state["withheld"] == []


def places(value: Any, path: tuple[Any, ...] = ()) -> Any:
    """Every place of a document below its root."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(each, (*path, key))


def test_json_edited_anywhere_fails_with_an_error_of_the_library(run: RunResult) -> None:
    state = run.to_json()
    for path in places(state):
        for value in (None, -1, "x", [], {}, [1]):
            edited: Any = copy.deepcopy(state)
            holder = edited
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = value
            try:
                again = RunResult.from_json(edited)
                _ = again.items, again.losses, again.usage, again.cost, again.to_json(), repr(again)
                CLIENT.responses.resume(again, approved=True, tools=TOOLS)
            except ul.UnifiedLLMError:
                continue
            except Exception as error:
                pytest.fail(f"{value!r} at {path}: {type(error).__name__}: {error}")


# ---- calls that the provider runs, once they are approved ------------------------------------------------------------

ASKED = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "files", "name": "drop", "arguments": "{}"}
SERVER = {"type": "mcp", "server_label": "files", "server_url": "https://mcp.example.com"}


def _asked(*answers: Any) -> tuple[ul.Client, Canned]:
    service = Canned(*answers, protocol="openai-responses")
    return ul.Client(upstream=service.upstream), service


def _answer(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [item],
    }


DONE = {
    "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
    "content": [{"type": "output_text", "text": "gone", "annotations": []}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("decide", "response"),
    [
        ({"approved": True}, {"approve": True}),
        ({"approved": ["mcpr_1"]}, {"approve": True}),
        ({"rejected": {"mcpr_1": "ask first"}}, {"approve": False, "reason": "ask first"}),
    ],
)
def test_a_call_of_the_provider_waits_for_approval(decide: dict[str, Any], response: dict[str, Any]) -> None:
    client, service = _asked(_answer(ASKED), _answer(DONE))
    run = client.responses.run(input="drop it", tools=[SERVER])
    assert run.stopped == "approval" and [each.id for each in run.pending] == ["mcpr_1"]
    # As a program decides on every kind of call.
    assert [(each.call_id, each.name, each.parsed_arguments) for each in run.pending] == [("mcpr_1", "drop", {})]  # type: ignore[union-attr]
    run = RunResult.from_json(run.to_json())
    done = client.responses.resume(run, **decide)
    assert done.stopped == "answered" and done.output_text == "gone"
    sent = service.sent[-1]["input"][-1]
    assert sent == {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", **response}


def test_a_request_for_approval_takes_no_output() -> None:
    client, _ = _asked(_answer(ASKED))
    run = client.responses.run(input="drop it", tools=[SERVER])
    with pytest.raises(ul.InvalidBody, match="approved= or rejected="):
        client.responses.resume(run, outputs={"mcpr_1": "gone"})


# ---- hooks ----------------------------------------------------------------------------------------------------------


class Told(ul.Hooks):
    def __init__(self) -> None:
        self.turns: list[int] = []

    def after_turn(self, step: ul.Step) -> None:
        self.turns.append(step.number)


@pytest.mark.parametrize("kept", [False, True], ids=["here", "as JSON"])
@pytest.mark.parametrize("stream", [False, True])
def test_hooks_are_told_of_a_turn_once(run: RunResult, stream: bool, kept: bool) -> None:
    hooks, steps = Told(), []

    def watched(ask: Any, *given: Any, **options: Any) -> RunResult:
        found: Any = ask(*given, tools=TOOLS, hooks=hooks, on_step=steps.append, stream=stream, **options)
        found = found.get_final_result() if stream else found
        return RunResult.from_json(found.to_json()) if kept else found

    text = "[[call find name=a]] [[call delete name=b]] [[call delete name=c]] [[then]] Done."
    paused = watched(CLIENT.responses.run, input=text)
    assert hooks.turns == [1]
    one, other = paused.pending
    half = watched(CLIENT.responses.resume, paused, approved=[one])
    assert hooks.turns == [1] and half.pending == [other]
    done = watched(CLIENT.responses.resume, half, rejected=[other])
    assert hooks.turns == [step.number for step in steps] == [1, 2] and done.stopped == "answered"


def test_hooks_are_told_of_the_turn_that_ends_a_run(run: RunResult) -> None:
    hooks = Told()
    given: Any = {"tools": TOOLS, "hooks": hooks}
    text = "[[call find name=a]] [[call find name=b]] [[then]] Done."
    with pytest.raises(ul.ToolLoopLimitError) as caught:
        CLIENT.responses.run(input=text, max_tool_calls=1, **given)
    assert hooks.turns == [1] and len(caught.value.result.steps) == 1
    done = CLIENT.responses.resume(caught.value.result, **given)
    assert hooks.turns == [1, 2] and "Done." in done.output_text
