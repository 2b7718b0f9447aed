"""Commands that another provider ran as code: to a Google client that requested code execution they are its code.

generateContent has one language, PYTHON; Interactions has bash beside it.
"""

from __future__ import annotations

from typing import Any

import pytest
from google.genai import types
from google.genai._gaos.types import interactions as sdk
from pydantic import TypeAdapter

import unified_llm as ul
from test_commands_as_code import MESSAGES, RAN, Node, answer, streamed

GENERATE, INTERACTIONS = "google-generate-content", "google-interactions"
TIMED_OUT: Node = {"type": "bash_code_execution_tool_result_error", "error_code": "execution_time_exceeded"}
REQUESTS: dict[str, Node] = {
    GENERATE: {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "tools": [{"codeExecution": {}}]},
    INTERACTIONS: {"model": "m", "input": "q", "tools": [{"type": "code_execution"}]},
}
EACH = pytest.mark.parametrize("protocol", REQUESTS)


def requested(protocol: str, *, code: bool = True, **options: Any) -> ul.Exchange | None:
    body = REQUESTS[protocol] if code else {key: value for key, value in REQUESTS[protocol].items() if key != "tools"}
    return ul.convert(body, source=protocol, target=MESSAGES, **options).exchange


def whole(protocol: str, result: Node = RAN, **options: Any) -> ul.Converted:
    options.setdefault("exchange", requested(protocol))
    return ul.convert(answer(result), source=MESSAGES, target=protocol, kind="response", **options)


def pieces(value: Node) -> list[Node]:
    """The parts, or the steps, of an answer."""
    found: list[Node] = value["steps"] if "steps" in value else value["candidates"][0]["content"]["parts"]
    return found


def fates(losses: ul.Losses) -> dict[str, str]:
    return {loss.path: loss.fate for loss in losses if loss.side == "source"}


def test_they_are_the_code_of_a_candidate() -> None:
    done = whole(GENERATE)
    code, result, text = pieces(done.value)
    assert code == {"executableCode": {"language": "PYTHON", "code": "ls", "id": "srvtoolu_1"}}
    assert result == {
        "codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "a\ne", "id": "srvtoolu_1"},
    }
    assert text == {"text": "Done."}
    read = types.GenerateContentResponse.model_validate(done.value)
    assert (read.executable_code, read.code_execution_result) == ("ls", "a\ne")
    assert fates(done.losses) == {
        "/content/0/name": "approximated",
        "/content/0/input/command": "approximated",
        "/content/1/content/return_code": "approximated",
        "/content/1/content/stdout": "approximated",
        "/content/1/content/stderr": "approximated",
    }


def test_they_are_the_code_of_a_step() -> None:
    done = whole(INTERACTIONS)
    call, result, text = pieces(done.value)
    ran = TypeAdapter(sdk.CodeExecutionCallStep).validate_python(call)
    assert (ran.id, ran.arguments.code, ran.arguments.language) == ("srvtoolu_1", "ls", "bash")
    gave = TypeAdapter(sdk.CodeExecutionResultStep).validate_python(result)
    assert (gave.call_id, gave.result, gave.is_error) == ("srvtoolu_1", "a\ne", True)
    assert text == {"type": "model_output", "content": [{"type": "text", "text": "Done."}]}
    assert fates(done.losses) == {
        "/content/0/input/command": "approximated",
        "/content/1/content/return_code": "approximated",
        "/content/1/content/stdout": "approximated",
        "/content/1/content/stderr": "approximated",
    }


@EACH
def test_commands_that_succeeded(protocol: str) -> None:
    done = whole(protocol, {**RAN, "stderr": "", "return_code": 0})
    expected: Node = {"type": "code_execution_result", "call_id": "srvtoolu_1", "result": "a\n"}
    if protocol == GENERATE:
        expected = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "a\n", "id": "srvtoolu_1"}}
    assert pieces(done.value)[1] == expected


@EACH
def test_commands_that_were_not_run_in_time(protocol: str) -> None:
    result = pieces(whole(protocol, TIMED_OUT).value)[1]
    if protocol == GENERATE:
        own = result["codeExecutionResult"]
        assert (own["outcome"], own["output"]) == ("OUTCOME_DEADLINE_EXCEEDED", TIMED_OUT["error_code"])
    else:
        assert (result["is_error"], result["result"]) == (True, TIMED_OUT["error_code"])


@EACH
def test_a_file_that_they_wrote_is_reported(protocol: str) -> None:
    done = whole(protocol, {**RAN, "content": [{"type": "bash_code_execution_output", "file_id": "f"}]})
    assert [path for path, fate in fates(done.losses).items() if fate == "lost"] == ["/content/1/content/content"]


@EACH
@pytest.mark.parametrize("given", [False, True])
def test_without_the_tool_they_are_lost(protocol: str, given: bool) -> None:
    done = whole(protocol, exchange=requested(protocol, code=False) if given else None)
    assert len(pieces(done.value)) == 1
    assert fates(done.losses) == {"/content/0": "lost", "/content/1": "lost"}


@EACH
def test_a_stream_amounts_to_the_same(protocol: str) -> None:
    exchange = requested(protocol)
    stream = ul.convert_stream(iter(streamed()), source=MESSAGES, target=protocol, exchange=exchange)
    events = list(stream)
    value = whole(protocol).value
    read = ul.collect(ul.read_stream(iter(events), protocol))["output"]
    assert read == ul.dump(ul.read(value, protocol, "response"))["output"]
    assert not [loss for loss in stream.losses if loss.fate == "lost"]
    approximated = {loss.path for loss in stream.losses if loss.fate == "approximated"}
    assert {"/2/data/delta/partial_json", "/4/data/content_block/content/return_code"} <= approximated


@EACH
def test_a_stream_that_ends_before_their_result_has_the_call(protocol: str) -> None:
    stream = ul.convert_stream(iter(streamed()[:4]), source=MESSAGES, target=protocol, exchange=requested(protocol))
    text = str(list(stream))
    assert "'code': 'ls'" in text and "Result" not in text and "_result" not in text


@EACH
def test_they_return_as_they_were(protocol: str) -> None:
    value = whole(protocol, exchange=requested(protocol, secret="s"), secret="s").value
    if protocol == GENERATE:
        turns = [*REQUESTS[protocol]["contents"], {"role": "model", "parts": pieces(value)}]
        again = {"role": "user", "parts": [{"text": "q"}]}
        body = {**REQUESTS[protocol], "contents": [*turns, again]}
    else:
        asked = {"type": "user_input", "content": [{"type": "text", "text": "q"}]}
        body = {**REQUESTS[protocol], "input": [asked, *pieces(value), asked]}
    back = ul.convert(body, source=protocol, target=MESSAGES, secret="s")
    assert back.value["messages"][1]["content"] == answer()["content"]
