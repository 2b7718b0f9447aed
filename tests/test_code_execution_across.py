"""Code that a provider ran, between the four protocols that show it: what was printed, and whether it failed.

The wire facts: Responses holds `outputs` inside the call and a status; Messages a result block with stdout, stderr and
return_code, or an error; generateContent an outcome and an output; Interactions a result and `is_error`.
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

RESPONSES, MESSAGES = "openai-responses", "anthropic-messages"
GENERATE, INTERACTIONS = "google-generate-content", "google-interactions"
Node = dict[str, Any]

USAGE = {"input_tokens": 1, "output_tokens": 1}


def responses(status: str = "completed", **call: Any) -> Node:
    code = {"type": "code_interpreter_call", "id": "ci_1", "code": "f()", "container_id": "cntr_1", "status": status}
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed",
        "output": [{**code, "outputs": [{"type": "logs", "logs": "printed\n"}], **call}],
    }  # fmt: skip


def messages(content: Node) -> Node:
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {"code": "f()"}}
    result = {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": content}
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [call, result],
        "stop_reason": "end_turn", "stop_sequence": None, "usage": USAGE,
    }  # fmt: skip


def ran(stdout: str = "", stderr: str = "", code: int = 0) -> Node:
    result = {"type": "code_execution_result", "stdout": stdout, "stderr": stderr, "return_code": code, "content": []}
    return messages(result)


def generate(outcome: str, output: str = "printed\n") -> Node:
    parts = [
        {"executableCode": {"language": "PYTHON", "code": "f()"}},
        {"codeExecutionResult": {"outcome": outcome, "output": output}},
    ]
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}]}


def interactions(**result: Any) -> Node:
    steps = [
        {"type": "code_execution_call", "id": "c1", "arguments": {"code": "f()", "language": "python"}},
        {"type": "code_execution_result", "call_id": "c1", "result": "printed\n", **result},
    ]
    return {"id": "i", "object": "interaction", "status": "completed", "model": "m", "steps": steps}


GOOD = {
    RESPONSES: responses(),
    MESSAGES: ran("printed\n"),
    GENERATE: generate("OUTCOME_OK"),
    INTERACTIONS: interactions(),
}
BAD = {
    RESPONSES: responses("failed"),
    MESSAGES: ran("", "printed\n", 1),
    GENERATE: generate("OUTCOME_FAILED"),
    INTERACTIONS: interactions(is_error=True),
}
PAIRS = [(a, b) for a in GOOD for b in GOOD if a != b]


def told(protocol: str, body: Node) -> tuple[str, bool]:
    """What was printed and whether the code failed, as a reader of that protocol would find it."""
    if protocol == RESPONSES:
        (call,) = [item for item in body["output"] if item["type"] == "code_interpreter_call"]
        return "".join(each["logs"] for each in call["outputs"]), call["status"] == "failed"
    if protocol == MESSAGES:
        (block,) = [block for block in body["content"] if block["type"] == "code_execution_tool_result"]
        return block["content"]["stdout"] + block["content"]["stderr"], block["content"]["return_code"] != 0
    if protocol == GENERATE:
        parts = body["candidates"][0]["content"]["parts"]
        (result,) = [part["codeExecutionResult"] for part in parts if "codeExecutionResult" in part]
        return result["output"], result["outcome"] != "OUTCOME_OK"
    (step,) = [step for step in body["steps"] if step["type"] == "code_execution_result"]
    return step["result"], bool(step.get("is_error"))


def convert(body: Node, source: str, target: str) -> ul.Converted:
    return ul.convert(body, source=source, target=target, kind="response")


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("failed", [False, True])
def test_what_code_printed_and_how_it_ended_arrives(source: str, target: str, failed: bool) -> None:
    done = convert((BAD if failed else GOOD)[source], source, target)
    assert told(target, done.value) == ("printed\n", failed)
    assert not [loss for loss in done.losses if loss.fate == "lost" and "output" in loss.path.rpartition("/")[2]]


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("failed", [False, True])
def test_streams_tell_the_same(source: str, target: str, failed: bool) -> None:
    body = (BAD if failed else GOOD)[source]
    events = list(ul.write_stream(ul.decompose(ul.read(body, source, "response")), source))
    stream = ul.convert_stream(iter(events), source=source, target=target)
    collected = ul.collect(ul.read_stream(stream, target))
    assert told(target, ul.write(collected, target, "response").value) == ("printed\n", failed)


@pytest.mark.parametrize("target", [RESPONSES, GENERATE, INTERACTIONS])
def test_two_outputs_are_joined_and_that_is_reported(target: str) -> None:
    done = convert(ran("out", "err", 2), MESSAGES, target)
    assert told(target, done.value) == ("out\nerr", True)
    fates = {loss.path.rpartition("/")[2]: loss.fate for loss in done.losses if "/content/1/content/" in loss.path}
    assert fates == {"stdout": "approximated", "stderr": "approximated", "return_code": "approximated"}


def test_an_error_in_place_of_a_result_is_a_failure_everywhere() -> None:
    failure = messages({"type": "code_execution_tool_result_error", "error_code": "execution_time_exceeded"})
    assert told(RESPONSES, convert(failure, MESSAGES, RESPONSES).value) == ("execution_time_exceeded", True)
    assert told(INTERACTIONS, convert(failure, MESSAGES, INTERACTIONS).value) == ("execution_time_exceeded", True)
    parts = convert(failure, MESSAGES, GENERATE).value["candidates"][0]["content"]["parts"]
    assert parts[1]["codeExecutionResult"]["outcome"] == "OUTCOME_DEADLINE_EXCEEDED"


def test_what_a_target_has_no_place_for_is_reported() -> None:
    files = ran("x")
    files["content"][1]["content"]["content"] = [{"type": "code_execution_output", "file_id": "file_1"}]
    for target in (RESPONSES, GENERATE, INTERACTIONS):
        done = convert(files, MESSAGES, target)
        assert [loss.path for loss in done.losses if "/content/content" in loss.path], target
    done = convert(responses(outputs=[{"type": "image", "url": "https://x.org/p.png"}]), RESPONSES, MESSAGES)
    assert [loss for loss in done.losses if loss.path.startswith("/output/0/outputs")]


def test_calls_at_the_same_time_keep_their_results() -> None:
    body = ran("one")
    call, result = body["content"]
    other = {**result, "tool_use_id": "srvtoolu_2", "content": {**result["content"], "stdout": "two"}}
    body["content"] = [call, {**call, "id": "srvtoolu_2"}, result, other]
    events = list(ul.write_stream(ul.decompose(ul.read(body, MESSAGES, "response")), MESSAGES))
    stream = list(ul.convert_stream(iter(events), source=MESSAGES, target=RESPONSES))
    streamed = stream[-1]["data"]["response"]["output"]
    whole = convert(body, MESSAGES, RESPONSES).value["output"]
    for output in (streamed, whole):
        assert [item["outputs"][0]["logs"] for item in output] == ["one", "two"]
    done = [event["data"]["item"]["id"] for event in stream if event["event"] == "response.output_item.done"]
    assert done == [item["id"] for item in streamed]


def test_code_without_a_result_stays_open_ended() -> None:
    body = ran("one")
    del body["content"][1]
    body["content"].append({"type": "text", "text": "Bye."})
    stream = list(ul.convert_stream(iter(streamed(body)), source=MESSAGES, target=RESPONSES))
    whole = convert(body, MESSAGES, RESPONSES).value["output"]
    assert whole[0]["outputs"] is None
    assert stream[-1]["data"]["response"]["output"] == whole
    done = [event["data"]["output_index"] for event in stream if event["event"] == "response.output_item.done"]
    assert sorted(done) == [0, 1]


def streamed(body: Node) -> list[Node]:
    return list(ul.write_stream(ul.decompose(ul.read(body, MESSAGES, "response")), MESSAGES))


@pytest.mark.parametrize("first", ["call", "text"])
def test_a_result_behind_other_blocks_is_in_its_call_in_a_stream_too(first: str) -> None:
    """The result of code that calls functions comes when they have run."""
    body = ran("one")
    code, result = body["content"]
    caller = {"type": "code_execution_20250825", "tool_id": code["id"]}
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}, "caller": caller}
    between = {"call": call, "text": {"type": "text", "text": "Running."}}[first]
    body["content"] = [code, between, result, {"type": "text", "text": "Bye."}]
    stream = ul.convert_stream(iter(streamed(body)), source=MESSAGES, target=RESPONSES)
    events = list(stream)
    whole = convert(body, MESSAGES, RESPONSES)
    output = events[-1]["data"]["response"]["output"]
    assert output[0]["outputs"] == [{"type": "logs", "logs": "one"}]
    assert output == whole.value["output"]
    assert not [loss for loss in (*stream.losses, *whole.losses) if loss.fate == "lost"]
    done = {
        event["data"]["output_index"]: event["data"]["item"]
        for event in events
        if event["event"] == "response.output_item.done"
    }
    assert [done[index] for index in sorted(done)] == output


@pytest.mark.parametrize(
    ("said", "code"),
    [({"status": "failed"}, 1), ({"status": "completed"}, 0), ({"is_error": True}, 1), ({"is_error": False}, 0),
     ({"outcome": "failed"}, 1), ({"outcome": "ok"}, 0), ({}, 0)],
)  # fmt: skip
def test_a_return_code_that_the_source_implies_is_not_added(said: Node, code: int) -> None:
    """What implies it is sent as something similar. Only where nothing does, the library supplies a value."""
    result = {"type": "code_interpreter_result", "call_id": "c", "stdout": "x", **said}
    output = [{"type": "code_interpreter_call", "call_id": "c", "code": "f()"}, result]
    done = ul.write({"id": "r", "status": "completed", "output": output}, MESSAGES, "response")
    assert done.value["content"][1]["content"]["return_code"] == code
    fates = {loss.path: loss.fate for loss in done.losses}
    assert [fates.get(f"/output/1/{key}") for key in said] == ["approximated" for _ in said]
    assert fates.get("/content/1/content/return_code") == (None if said else "added")


def test_an_action_without_a_type_is_approximated_and_its_query_is_not_added() -> None:
    call = {"type": "web_search_call", "call_id": "c", "action": {"query": "q"}}
    done = ul.write({"id": "r", "status": "completed", "output": [call]}, MESSAGES, "response")
    assert done.value["content"][0]["input"] == {"query": "q"}
    fates = {loss.path: loss.fate for loss in done.losses}
    assert fates["/output/0/action"] == "approximated" and "/content/0/input/query" not in fates


def test_tools_that_code_may_call_are_declared_with_what_runs_the_code() -> None:
    """In Messages that is the tool for code; Responses has a tool of its own for it, and programs of its own only."""
    caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
    body = {
        "model": "m", "max_tokens": 9,
        "tools": [
            {"type": "code_execution_20260120", "name": "code_execution"},
            {"name": "f", "input_schema": {"type": "object"}, "allowed_callers": ["code_execution_20260120"]},
        ],
        "messages": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}, "caller": caller},
            ]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "r"}]},
        ],
    }  # fmt: skip
    done = ul.convert(body, source=MESSAGES, target=RESPONSES)
    kinds = [tool["type"] for tool in done.value["tools"]]
    assert kinds == ["code_interpreter", "function", "programmatic_tool_calling"]
    assert done.value["tools"][1]["allowed_callers"] == ["programmatic"]
    assert "caller" not in next(item for item in done.value["input"] if item["type"] == "function_call")
    fates = {loss.path: (loss.fate, loss.detail) for loss in done.losses}
    assert fates["/tools/2/type"] == ("added", "programs call tools only beside it")
    assert fates["/messages/1/content/0/caller"] == ("lost", "the provider does not know what another one did")
    del body["tools"][1]["allowed_callers"]
    assert len(ul.convert(body, source=MESSAGES, target=RESPONSES).value["tools"]) == 2
