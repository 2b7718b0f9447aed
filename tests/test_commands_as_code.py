"""Claude runs code as commands of a shell, too: to a client that requested a code interpreter they are its code.

The Agents SDK ends with an error at a call of a shell that its agent does not have.
"""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.responses import ResponseCodeInterpreterToolCall
from pydantic import TypeAdapter

import unified_llm as ul
from sdk_streams import final_response

MESSAGES, RESPONSES = "anthropic-messages", "openai-responses"
Node = dict[str, Any]

CODE: Node = {"type": "code_interpreter", "container": {"type": "auto"}}
SHELL: Node = {"type": "shell", "environment": {"type": "container_auto"}}
LOCAL: Node = {"type": "shell", "environment": {"type": "local"}}
CALL: Node = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "bash_code_execution", "input": {"command": "ls"}}
RAN: Node = {"type": "bash_code_execution_result", "stdout": "a\n", "stderr": "e", "return_code": 1, "content": []}
SAID: Node = {"type": "text", "text": "Done."}


def answer(result: Node = RAN) -> Node:
    block = {"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": result}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-7"}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {**head, "content": [CALL, block, SAID], "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}


def asked(*tools: Node, **options: Any) -> ul.Exchange:
    body = {"model": "m", "input": "q", "tools": [*tools]}
    return ul.convert(body, source=RESPONSES, target=MESSAGES, **options).exchange


def whole(exchange: ul.Exchange | None, result: Node = RAN, **options: Any) -> ul.Converted:
    options["exchange"] = exchange
    return ul.convert(answer(result), source=MESSAGES, target=RESPONSES, kind="response", **options)


def streamed(result: Node = RAN) -> list[Node]:
    return list(ul.write_stream(ul.decompose(ul.read(answer(result), MESSAGES, "response")), MESSAGES))


@pytest.mark.parametrize("beside", [(), (LOCAL,), ({"type": "local_shell"},)])
def test_commands_are_the_code_that_was_requested(beside: tuple[Node, ...]) -> None:
    """A client with a shell of its own would execute the calls of one."""
    done = whole(asked(CODE, *beside))
    call, message = done.value["output"]
    ran = TypeAdapter(ResponseCodeInterpreterToolCall).validate_python(call)
    assert (ran.code, ran.status) == ("ls", "failed")
    assert call["outputs"] == [{"type": "logs", "logs": "a\ne"}]
    assert message["content"][0]["text"] == "Done."
    assert {loss.path: loss.fate for loss in done.losses if loss.side == "source"} == {
        "/content/0/id": "approximated",
        "/content/0/input/command": "approximated",
        "/content/1/tool_use_id": "approximated",
        "/content/1/content/return_code": "approximated",
        "/content/1/content/stdout": "approximated",
        "/content/1/content/stderr": "approximated",
    }


@pytest.mark.parametrize("exchange", [None, asked(SHELL), asked(CODE, SHELL), asked()])
def test_elsewhere_they_are_of_a_shell(exchange: ul.Exchange | None) -> None:
    types = [item["type"] for item in whole(exchange).value["output"]]
    assert types == ["shell_call", "shell_call_output", "message"]


def test_commands_that_succeeded_or_were_not_run() -> None:
    call = whole(asked(CODE), {**RAN, "stderr": "", "return_code": 0}).value["output"][0]
    assert (call["status"], call["outputs"]) == ("completed", [{"type": "logs", "logs": "a\n"}])
    error = {"type": "bash_code_execution_tool_result_error", "error_code": "unavailable"}
    call = whole(asked(CODE), error).value["output"][0]
    assert (call["status"], call["outputs"]) == ("failed", [{"type": "logs", "logs": "unavailable"}])


def test_a_file_that_they_wrote_is_reported() -> None:
    done = whole(asked(CODE), {**RAN, "content": [{"type": "bash_code_execution_output", "file_id": "f"}]})
    assert [loss.path for loss in done.losses if loss.fate == "lost"] == ["/content/1/content/content"]


def test_a_stream_amounts_to_the_same() -> None:
    exchange = asked(CODE)
    stream = ul.convert_stream(iter(streamed()), source=MESSAGES, target=RESPONSES, exchange=exchange)
    events = list(stream)
    output = whole(exchange).value["output"]
    assert events[-1]["data"]["response"]["output"] == output
    assert final_response(events)["output"][0]["code"] == "ls"
    items = [event["data"]["item"]["type"] for event in events if "item" in event["data"]]
    assert items == ["code_interpreter_call"] * 2 + ["message"] * 2
    assert not [loss for loss in stream.losses if loss.fate == "lost"]


@pytest.mark.parametrize("frames", range(4, 9))
def test_a_stream_that_ends_before_their_result_has_the_call(frames: int) -> None:
    cut = streamed()[:frames]
    events = list(ul.convert_stream(iter(cut), source=MESSAGES, target=RESPONSES, exchange=asked(CODE)))
    assert {event["data"]["item"]["type"] for event in events if "item" in event["data"]} <= {
        "code_interpreter_call",
        "message",
    }
    assert events[-1]["event"] == "response.failed"


def test_they_return_as_they_were() -> None:
    output = whole(asked(CODE, secret="s"), secret="s").value["output"]
    body = {"model": "m", "input": [{"role": "user", "content": "q"}, *output], "tools": [CODE]}
    back = ul.convert(body, source=RESPONSES, target=MESSAGES, secret="s")
    assert back.value["messages"][1]["content"] == answer()["content"]


@pytest.mark.parametrize("name", ["bash_code_execution", "code_execution"])
def test_results_are_in_their_call_in_the_strict_form_too(name: str) -> None:
    strict = f"{RESPONSES}:open-responses"
    body = answer()
    call, result, _ = body["content"]
    body["content"][0] = {**call, "name": name, "input": {"command" if name.startswith("bash") else "code": "ls"}}
    kind = f"{name}_tool_result"
    body["content"][1] = {**result, "type": kind, "content": {**RAN, "type": f"{name}_result"}}
    exchange = ul.convert({"model": "m", "input": "q", "tools": [CODE]}, source=strict, target=MESSAGES).exchange
    done = ul.convert(body, source=MESSAGES, target=strict, kind="response", exchange=exchange)
    items = done.value["output"]
    assert [item["type"] for item in items] == ["openai:code_interpreter_call", "message"]
    assert (items[0]["code"], items[0]["outputs"]) == ("ls", [{"type": "logs", "logs": "a\ne"}])
    frames = ul.write_stream(ul.decompose(ul.read(body, MESSAGES, "response")), MESSAGES)
    events = list(ul.convert_stream(frames, source=MESSAGES, target=strict, exchange=exchange))
    last = next(event["data"] for event in reversed(events) if event["event"] == "response.completed")
    assert last["response"]["output"] == items
