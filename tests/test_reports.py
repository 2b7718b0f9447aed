"""What a report names where only a part of something arrives, protocol by protocol."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

import unified_llm as ul

Node = dict[str, Any]
MESSAGES = "anthropic-messages"


def told(body: Node, source: str, target: str, kind: str = "request") -> tuple[Any, dict[str, str]]:
    done = ul.convert(body, source=source, target=target, kind=kind)
    return done.value, {loss.path: loss.fate for loss in done.losses if loss.side == "source"}


def test_a_name_of_no_tool_is_lost_and_so_is_a_tool_that_was_not_named() -> None:
    tools = [{"functionDeclarations": [{"name": "now", "description": "n"}, {"name": "then", "description": "t"}]}]
    calling = {"mode": "ANY", "allowedFunctionNames": ["now", "never"]}
    config = {"functionCallingConfig": calling}
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "tools": tools, "toolConfig": config}
    value, fates = told(body, "google-generate-content", MESSAGES)
    assert [tool["name"] for tool in value["tools"]] == ["now"]
    assert fates["/tools/0/functionDeclarations/1"] == "lost"
    assert fates["/toolConfig/functionCallingConfig/allowedFunctionNames/1"] == "lost"
    assert fates["/toolConfig/functionCallingConfig/allowedFunctionNames"] == "approximated"
    assert "/toolConfig/functionCallingConfig/allowedFunctionNames/0" not in fates


def test_a_report_is_in_the_order_of_the_document() -> None:
    """Its order follows from the document alone, and not from the hash seed of the process."""
    keys = [f"key_{number}" for number in range(12)]  # twelve in their order by chance: once in 479 million
    tool = {"name": "now", "input_schema": {"type": "object"}, **dict.fromkeys(keys, 1)}
    listed = {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "clock", "tools": [tool]}
    run = {"type": "shell_call", "call_id": "c", "status": "completed"}
    run["action"] = {"commands": ["date"], **dict.fromkeys(keys, 1)}
    body = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    for items, above in (([listed], "/output/0/tools/0/"), ([run], "/output/0/action/")):
        _, fates = told({**body, "output": items}, "openai-responses", MESSAGES, "response")
        assert [path for path in fates if path.startswith(above + "key_")] == [above + key for key in keys]


def test_the_same_of_interactions() -> None:
    tools = [{"type": "function", "name": "now"}, {"type": "function", "name": "then"}]
    choice = {"allowed_tools": {"mode": "any", "tools": ["now", "never"]}}
    body = {"model": "m", "input": "Hi", "tools": tools, "generation_config": {"tool_choice": choice}}
    value, fates = told(body, "google-interactions", MESSAGES)
    assert [tool["name"] for tool in value["tools"]] == ["now"]
    assert fates["/tools/1"] == "lost"
    assert fates["/generation_config/tool_choice/allowed_tools/tools/1"] == "lost"
    assert "/generation_config/tool_choice/allowed_tools/tools/0" not in fates


@pytest.mark.parametrize("meant", ["web_search", "web_search_preview", "web_search_2025_08_26"])
def test_a_hosted_tool_is_meant_by_each_of_its_names(meant: str) -> None:
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": meant}]}
    tools = [
        {"type": "web_search"},
        {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}},
    ]
    value, fates = told(
        {"model": "m", "input": "Hi", "tools": tools, "tool_choice": choice}, "openai-responses", MESSAGES
    )
    assert [tool["name"] for tool in value["tools"]] == ["web_search"]
    assert fates["/tools/1"] == "lost"


TEXT, CALL = {"type": "text", "text": "Wait"}, {"type": "tool_use", "id": "t", "name": "f", "input": {}}


@pytest.mark.parametrize(("content", "place"), [([TEXT, CALL], None), ([CALL, TEXT], "/content/1")])
def test_text_that_came_after_a_call_moves_before_it(content: list[Node], place: str | None) -> None:
    body = {
        "id": "m", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": "tool_use", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    _, fates = told(body, MESSAGES, "openai-chat", "response")
    assert fates == ({place: "approximated"} if place else {})
    history = [{"role": "assistant", "content": content}, {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t", "content": "1"}]}]  # fmt: skip
    request = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}, *history]}
    _, fates = told(request, MESSAGES, "openai-chat")
    assert {path for path, fate in fates.items() if fate == "approximated"} == (
        {f"/messages/1{place}"} if place else set()
    )


def test_an_unknown_status_of_a_failed_answer_is_told() -> None:
    error = [{"code": "api_error", "message": "oops"}]
    body = {"id": "v", "object": "interaction", "model": "m", "status": "fallen", "errors": error, "steps": []}
    for target in ("openai-chat", "google-generate-content"):
        assert told(body, "google-interactions", target, "response")[1]["/status"] == "lost"
        assert "/status" not in told({**body, "status": "failed"}, "google-interactions", target, "response")[1]


THOUGHT = {"role": "assistant", "reasoning_content": "Hm.", "tool_calls": []}


@pytest.mark.parametrize("content", [None, "", "Yes.", [{"type": "text", "text": "Yes."}]])
def test_reasoning_beside_a_content_is_named_as_itself(content: Any) -> None:
    """Both are content in the canonical model; only one of them is sent in another form."""
    said, asked = {**THOUGHT, "content": content}, {"role": "user", "content": "?"}
    messages = [asked, said, asked]
    _, fates = told({"model": "m", "messages": messages}, "openai-chat", "google-generate-content")
    assert fates["/messages/1/reasoning_content"] == "approximated"
    assert "/messages/1/content" not in fates


ERRORS = {
    "google-generate-content": {"code": 429, "message": "No more.", "status": "RESOURCE_EXHAUSTED"},
    "google-interactions": {"code": "rate_limit_exceeded", "message": "No more."},
    "openai-chat": {"message": "No more.", "type": "rate_limit_error", "param": None, "code": None},
}


@pytest.mark.parametrize("source", ERRORS)
def test_an_error_that_came_as_an_answer_is_none(source: str) -> None:
    """Routers and proxies send 200 first, and `{"error": ...}` later."""
    body = {"error": ERRORS[source]}
    assert ul.convert(body, source=source, target=source, kind="response").value == body
    read = ul.read(body, source, "response")
    assert read.status == "failed" and read.error.message == "No more."
    for target in ul.protocols():
        text = repr(told(body, source, target, "response")[0])
        # Converse has an error's message alone; its class is in a header.
        assert "No more." in text and ("'error': {" in text or "'errors': [" in text or target == "amazon-converse")
        assert not any(word in text for word in ("'stop'", "'STOP'", "'end_turn'", "'completed'"))


def test_what_a_server_demands_beside_calls_is_added_and_nothing_is_lost() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "4"},
    ]
    done = ul.convert({"model": "m", "messages": messages}, source="openai-chat", target="openai-chat:deepseek")
    assert done.value["messages"][1] == {**messages[1], "reasoning_content": ""}
    assert [(loss.path, loss.fate, loss.side) for loss in done.losses] == [
        ("/messages/1/reasoning_content", "added", "target")
    ]


def test_what_is_added_to_a_node_that_had_more_is_told_where_it_stands() -> None:
    """The keys of tomorrow of a node are put back into a copy of it; the place of what was added is still known."""
    call = {"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    called = {"role": "assistant", "content": None, "tool_calls": [call], "tomorrow": {"a": 1}}
    result = {"role": "tool", "tool_call_id": "abcdefghi", "content": "r"}
    messages = [{"role": "user", "content": "?"}, called, result]
    done = ul.convert({"model": "m", "messages": messages}, source="openai-chat", target="openai-chat:deepseek")
    assert done.value["messages"][1] == {**called, "reasoning_content": ""}
    assert ("/messages/1/reasoning_content", "added") in [(loss.path, loss.fate) for loss in done.losses]


@pytest.mark.parametrize(("dialect", "sent"), [("deepseek", {"type": "disabled"}), ("zai", {"type": "disabled"})])
def test_a_budget_of_nothing_switches_thinking_off(dialect: str, sent: Node) -> None:
    config = {"thinkingConfig": {"thinkingBudget": 0}}
    body = {"contents": [{"role": "user", "parts": [{"text": "?"}]}], "generationConfig": config}
    value, fates = told(body, "google-generate-content", f"openai-chat:{dialect}")
    assert value["thinking"] == sent
    assert fates == {"/generationConfig/thinkingConfig/thinkingBudget": "approximated"}


def test_an_effort_that_was_not_set_is_told_of_what_it_was_made_of() -> None:
    """Mistral takes `high` and `none`: https://docs.mistral.ai/capabilities/reasoning."""
    asked = [{"role": "user", "content": "?"}]
    body = {"model": "m", "max_tokens": 5000, "messages": asked, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    value, fates = told(body, MESSAGES, "openai-chat:mistral")
    assert value["reasoning_effort"] == "high"
    assert fates == {"/thinking/budget_tokens": "approximated", "/thinking/type": "approximated"}
    _, fates = told(body, MESSAGES, "openai-chat:tgi")
    assert fates == {"/thinking/budget_tokens": "lost", "/thinking/type": "lost"}


@pytest.mark.parametrize("target", ["openai-chat:mistral", MESSAGES])
def test_what_is_encrypted_is_named_as_such_beside_what_can_be_read(target: str) -> None:
    asked = {"role": "user", "content": "?"}
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "RU5D"}
    _, fates = told({"model": "m", "input": [asked, thought, asked]}, "openai-responses", target)
    assert fates["/input/1/encrypted_content"] == "lost"


def test_a_thought_of_which_nothing_can_be_read_is_not_an_empty_chunk() -> None:
    asked = {"role": "user", "content": "?"}
    thought = {"type": "reasoning", "summary": [], "encrypted_content": "RU5D"}
    body = {"model": "m", "input": [asked, thought, {"role": "assistant", "content": "Yes."}, asked]}
    value, fates = told(body, "openai-responses", "openai-chat:mistral")
    assert value["messages"][1] == {"role": "assistant", "content": "Yes."}
    assert fates["/input/1"] == "lost"


def test_what_of_a_list_is_lost_is_named_and_the_rest_is_not() -> None:
    include = ["reasoning.encrypted_content", "message.output_text.logprobs", "file_search_call.results"]
    body = {"model": "m", "input": "?", "include": include}
    value, fates = told(body, "openai-responses", "google-generate-content")
    assert value["generationConfig"] == {"responseLogprobs": True}
    assert fates == {"/include/0": "lost", "/include/2": "lost"}


def test_how_a_video_is_looked_at_is_named_where_it_is_said() -> None:
    video = {"fileData": {"mimeType": "video/mp4", "fileUri": "https://x/v"}, "mediaProcessing": "AGENTIC"}
    part = {**video, "videoMetadata": {"fps": 2.5, "startOffset": "1s"}}
    body = {"contents": [{"role": "user", "parts": [part, {"text": "?"}]}]}
    _, fates = told(body, "google-generate-content", "openai-chat")
    lost = {path.removeprefix("/contents/0/parts/0") for path, fate in fates.items() if fate == "lost"}
    assert lost == {"/fileData/mimeType", "/videoMetadata/fps", "/videoMetadata/startOffset", "/mediaProcessing"}


@pytest.mark.parametrize("beside", [[], [{"type": "text", "text": "4"}]])
def test_what_a_blank_text_had_besides_is_lost_with_it(beside: list[Node]) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    blank = {"type": "text", "text": "", "tomorrow": 1}
    result = {"role": "tool", "tool_call_id": "c1", "content": [blank, *beside]}
    body = {"model": "m", "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "tool_calls": [call]}]}
    _, fates = told({**body, "messages": [*body["messages"], result]}, "openai-chat", MESSAGES)
    assert fates["/messages/2/content/0/tomorrow"] == "lost"


ORDER = """
import json, unified_llm as ul
edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50000}, "instructions": "i",
        "pause_after_compaction": True}
body = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "x"}],
        "context_management": {"edits": [edit]}}
shell = {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}, "one": 1, "two": 2, "three": 3}
tools = [{"type": "function", "name": name, "parameters": {}} for name in "fg"]
named = {"type": "function", "name": "f", "server_label": "s", "tools": [], "one": 1, "two": 2}
some = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "web_search"}], "three": 3, "four": 4}
refused = {"temperature": 0.5, "top_p": 0.5, "top_logprobs": 2, "frequency_penalty": 1.0, "presence_penalty": 1.0}
done = [
    ul.write({"model": "m", "input": "x", "tools": tools, "tool_choice": named}, "anthropic-messages"),
    ul.write({"model": "m", "input": "x", "tools": tools, "tool_choice": some}, "google-generate-content"),
    ul.write({"model": "gpt-5", "input": "x", **refused}, "openai-chat", model="gpt-5"),
    ul.convert(body, source="anthropic-messages", target="openai-responses"),
    ul.write({"model": "m", "input": [shell]}, "openai-responses"),
    ul.write({"model": "m", "input": "x", "modalities": ["text", "audio"]}, "openai-chat"),
]
print(json.dumps([each.losses.to_json() for each in done]))
"""


def test_the_order_of_a_report_does_not_depend_on_the_process() -> None:
    told = set()
    for seed in ("1", "2", "3", "4"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        told.add(subprocess.run([sys.executable, "-c", ORDER], env=env, capture_output=True, check=True).stdout)
    assert len(told) == 1 and b"pause_after_compaction" in told.pop()


def test_a_user_who_is_called_like_something_else_is_named_as_the_user() -> None:
    """With a number beyond 64 bits a document is copied node by node, and equal texts stay one object."""
    asked, name = [{"role": "user", "content": "?"}], "alice"
    body = {"messages": asked, "metadata": {"user_id": name, "tomorrow": 1}, "stop_sequences": [name, ""]}
    _, fates = told({**body, "tomorrow": 10**30}, MESSAGES, "google-generate-content")
    assert fates["/metadata/user_id"] == "lost" and "/stop_sequences/0" not in fates


def test_a_count_that_is_missing_is_told_as_added() -> None:
    answer = {"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [answer]}
    for target in (MESSAGES, "openai-responses"):
        done = ul.convert({**body, "usage": {"prompt_tokens": 5}}, source="openai-chat", target=target, kind="response")
        usage = done.value["usage"]
        assert (usage["input_tokens"], usage["output_tokens"], usage.get("total_tokens", 5)) == (5, 0, 5)
        assert ("/usage/output_tokens", "added") in [(loss.path, loss.fate) for loss in done.losses]


@pytest.mark.parametrize("reason", ["end_turn", None, "galactic"])
@pytest.mark.parametrize("stop", ["", "END", None, 5])
def test_a_stop_sequence_of_an_answer_that_ended_otherwise_stays(reason: Any, stop: Any) -> None:
    answer = {"id": "a", "type": "message", "role": "assistant", "model": "m", "content": []}
    body = {**answer, "stop_reason": reason, "stop_sequence": stop, "usage": {"input_tokens": 1, "output_tokens": 1}}
    done = ul.convert(body, source=MESSAGES, target=MESSAGES, kind="response")
    assert done.value == body and not done.losses


@pytest.mark.parametrize("target", [MESSAGES, "google-generate-content", "google-interactions"])
def test_a_lost_verbosity_is_named_as_itself(target: str) -> None:
    bodies: list[tuple[str, Node, str]] = [
        ("openai-responses", {"model": "m", "input": "Hi", "text": {"verbosity": "low"}}, "/text/verbosity"),
        (
            "openai-chat",
            {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "verbosity": "low"},
            "/verbosity",
        ),
    ]
    for source, body, path in bodies:
        lost = [loss for loss in ul.convert(body, source=source, target=target).losses if loss.fate == "lost"]
        assert [(loss.path, loss.capability) for loss in lost] == [(path, "output.verbosity")]
