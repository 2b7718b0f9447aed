"""Requests to servers of the Responses API: no state where there is none, reasoning in clear where it is taken."""

from __future__ import annotations

from typing import Any
from unittest.mock import ANY

import pytest
from openai.types.responses import ResponseReasoningItemParam
from pydantic import TypeAdapter

import unified_llm as ul
from unified_llm_openai.dialects import Dialects

Node = dict[str, Any]
USER = {"role": "user", "content": "q"}
FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}
CHAT, RESPONSES = "openai-chat", "openai-responses"


def send(vendor: str, source: str = RESPONSES, **body: Any) -> ul.Converted:
    asked = {"messages": [USER]} if source == CHAT else {"input": "q"}
    return ul.convert({"model": "m", **asked, **body}, source=source, target=f"{RESPONSES}:{vendor}")


def rest(done: ul.Converted) -> Node:
    return {key: value for key, value in done.value.items() if key not in ("model", "input", "tools")}


def fates(done: ul.Converted) -> dict[str, str]:
    return {loss.path: loss.fate for loss in done.losses}


@pytest.mark.parametrize("vendor", ["openrouter", "groq", "deepseek", "ollama", "llamacpp", "huggingface", "copilot"])
def test_servers_without_state_are_told_of_none(vendor: str) -> None:
    done = send(vendor, previous_response_id="resp_1")
    assert "previous_response_id" not in done.value
    assert fates(done)["/previous_response_id"] == "lost"
    assert "previous_response_id" in send("xai", previous_response_id="resp_1").value


@pytest.mark.parametrize(
    ("vendor", "said", "sent", "told"),
    [
        ("openrouter", {"store": True}, {}, {"/store": "lost"}),
        ("openrouter", {"store": False}, {"store": False}, {}),
        ("deepseek", {"reasoning": {"effort": "medium"}}, {"reasoning": {"effort": "high"}},
         {"/reasoning/effort": "approximated"}),
        ("xai", {"reasoning": {"effort": "max"}}, {"reasoning": {"effort": "xhigh"}},
         {"/reasoning/effort": "approximated"}),
        ("moonshot", {"reasoning": {"effort": "low"}}, {"reasoning": {"effort": "low"}}, {}),
        ("lmstudio", {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}}}, {},
         {"/text/format/type": "lost", "/text/format/name": "lost", "/text/format/schema": "lost"}),
        ("azure", {"store": True, "background": True}, {"store": True, "background": True}, {}),
        # made of chat completions, without those of the format and of one tool by its name
        ("llamacpp", {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}}}, {},
         {"/text/format/type": "lost", "/text/format/name": "lost", "/text/format/schema": "lost"}),
        ("llamacpp", {"tools": [FUNCTION], "tool_choice": {"type": "function", "name": "f"}},
         {"tool_choice": "required"}, {"/tool_choice/type": "approximated", "/tool_choice/name": "approximated"}),
        ("llamacpp", {"top_logprobs": 2}, {}, {"/top_logprobs": "lost"}),
        ("transformers", {"tools": [FUNCTION], "tool_choice": "required"}, {}, {"/tool_choice": "lost"}),
    ],
)  # fmt: skip
def test_parameters(vendor: str, said: Node, sent: Node, told: dict[str, str]) -> None:
    done = send(vendor, **said)
    assert rest(done) == sent
    assert fates(done) == told


def test_what_we_would_have_added_is_left_out_without_a_word() -> None:
    done = send("groq", CHAT)
    assert "store" not in done.value
    assert not done.losses
    assert send("openai", CHAT).value["store"] is False


def test_tools_that_are_not_there() -> None:
    search = {"type": "web_search"}
    tool = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}
    done = send("ollama", tools=[tool, search])
    assert done.value["tools"] == [tool] and fates(done) == {"/tools/1": "lost"}
    assert send("qwen", tools=[tool, search]).value["tools"] == [tool, search]


@pytest.mark.parametrize("vendor", [*Dialects("responses")])
def test_reasoning_in_clear(vendor: str) -> None:
    messages = [USER, {"role": "assistant", "content": "a", "reasoning_content": "T"}, USER]
    done = send(vendor, CHAT, messages=messages)
    taken = bool(Dialects("responses")[vendor].get("plain_reasoning"))
    assert ("T" in repr(done.value["input"])) is taken
    assert ("/messages/1/reasoning_content" in fates(done)) is not taken


def test_its_own_request_is_left_as_it_is() -> None:
    body = {"model": "m", "input": "q", "store": True, "previous_response_id": "resp_1", "reasoning": {"effort": "max"}}
    for vendor in ("openrouter", "groq", "deepseek"):
        done = ul.convert(body, source=f"{RESPONSES}:{vendor}", target=f"{RESPONSES}:{vendor}")
        assert done.value == body and not done.losses


RAN = {"type": "custom_tool_call", "call_id": "xs_call_1", "id": "ctc_1", "name": "x_keyword_search",
       "input": '{"query":"q"}', "status": "completed"}  # fmt: skip
SAID = {
    "type": "message",
    "id": "msg_1",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
}
SEARCHED = {
    "id": "r",
    "object": "response",
    "created_at": 1,
    "model": "m",
    "status": "completed",
    "output": [RAN, SAID],
}
OTHERS = {
    CHAT: ["stop"],
    "anthropic-messages": ["end_turn"],
    "google-generate-content": ["STOP"],
    "google-interactions": ["completed"],
    "amazon-converse": ["end_turn", "server_tool_use"],
}
"""How the answer ends, and what marks the call where it is shown."""


def events() -> list[Node]:
    """The stream of the answer, as xAI sends it."""
    body = {**SEARCHED, "status": "in_progress", "output": []}
    datas: list[Node] = [
        {"type": "response.created", "response": body},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**RAN, "input": "", "status": "in_progress"},
        },
        {"type": "response.custom_tool_call_input.delta", "output_index": 0, "item_id": "ctc_1", "delta": RAN["input"]},
        {"type": "response.custom_tool_call_input.done", "output_index": 0, "item_id": "ctc_1", "input": RAN["input"]},
        {"type": "response.output_item.done", "output_index": 0, "item": RAN},
        {"type": "response.output_item.added", "output_index": 1, "item": {**SAID, "content": []}},
        {"type": "response.output_item.done", "output_index": 1, "item": SAID},
        {"type": "response.completed", "response": SEARCHED},
    ]
    return [{"event": data["type"], "data": data} for data in datas]


@pytest.mark.parametrize("target", OTHERS)
def test_no_client_gets_a_call_that_the_server_executes(target: str) -> None:
    whole = ul.convert(SEARCHED, source=f"{RESPONSES}:xai", target=target, kind="response")
    streamed = list(ul.convert_stream(events(), source=f"{RESPONSES}:xai", target=target))
    for shown in (str(whole.value), str(streamed)):
        assert "Hi" in shown
        assert all(f"'{word}'" in shown for word in OTHERS[target]), shown
        assert "tool_calls" not in shown
        assert "x_keyword_search" not in shown or "server_tool_use" in shown


def test_a_call_that_the_server_executes_stays_with_it() -> None:
    xai = f"{RESPONSES}:xai"
    for target in (xai, RESPONSES):
        done = ul.convert(SEARCHED, source=xai, target=target, kind="response")
        assert (done.value, list(done.losses)) == (SEARCHED, [])
        assert list(ul.convert_stream(events(), source=xai, target=target)) == events()
    history = {"model": "m", "input": [USER, RAN, SAID, USER]}
    assert ul.convert(history, source=xai, target=xai).value == history
    assert "x_keyword_search" not in str(ul.convert(history, source=xai, target=CHAT).value)
    # Any other server means a tool of the client.
    there = ul.convert(SEARCHED, source=RESPONSES, target=CHAT, kind="response").value
    assert there["choices"][0]["finish_reason"] == "tool_calls"


SHELL = {"type": "local_shell_call", "call_id": "c1", "status": "completed",
         "action": {"type": "exec", "command": ["ls"], "env": {}}}  # fmt: skip


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "function_call_output", "call_id": "c1", "output": "a.txt"},
        {"type": "local_shell_call_output", "id": "c1", "output": "a.txt"},
    ],
)
def test_a_local_shell_call_keeps_its_result(answer: Node) -> None:
    """Codex answers it with the output of a function."""
    done = send("groq", input=[USER, SHELL, answer, USER])
    assert done.value["input"] == [USER, SHELL, answer, USER]
    assert fates(done) == {}


def test_a_local_shell_call_without_a_result_gets_one() -> None:
    made = send("groq", input=[USER, SHELL, USER]).value["input"][2]
    assert (made["type"], made["call_id"]) == ("function_call_output", "c1")


@pytest.mark.parametrize(
    ("vendor", "thought"),
    [
        ("llamacpp", {"summary": [], "content": [{"type": "reasoning_text", "text": "r"}]}),
        ("ollama", {"summary": [{"type": "summary_text", "text": "r"}], "encrypted_content": "r"}),
        ("vllm", {"summary": [{"type": "summary_text", "text": "r"}]}),
    ],
)
def test_reasoning_goes_where_the_server_reads_it(vendor: str, thought: Node) -> None:
    """A summary too: llama.cpp refuses reasoning without content, Ollama reads nothing else than what it wrote."""
    asked = {"type": "user_input", "content": [{"type": "text", "text": "q"}]}
    thinking = {"type": "thought", "summary": [{"type": "text", "text": "r"}]}
    said = {"type": "model_output", "content": [{"type": "text", "text": "a"}]}
    body = {"model": "m", "input": [asked, thinking, said, asked]}
    done = ul.convert(body, source="google-interactions", target=f"{RESPONSES}:{vendor}")
    assert done.value["input"][1] == {"type": "reasoning", "id": ANY, **thought}


def test_ollama_reads_reasoning_of_chat() -> None:
    done = send("ollama", CHAT, messages=[USER, {"role": "assistant", "reasoning_content": "r", "content": "a"}, USER])
    assert done.value["input"][1] == {"type": "reasoning", "id": ANY, "summary": [], "encrypted_content": "r"}
    assert fates(done) == {"/store": "added", "/input/1/id": "added"}


def test_ollama_is_told_no_choice_of_tools() -> None:
    done = send("ollama", tools=[{"type": "function", "name": "f", "parameters": {}}], tool_choice="required")
    assert "tool_choice" not in done.value and fates(done)["/tool_choice"] == "lost"
    assert send("ollama", reasoning={"effort": "minimal"}).value["reasoning"] == {"effort": "low"}


IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
FILE = {"type": "input_file", "filename": "d.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}
CALL_IDS = ("c1", "c2")
RESULTS: list[list[Node]] = [[IMAGE], [{"type": "input_text", "text": "r"}, IMAGE, FILE]]


def results(*behind: Node) -> list[Node]:
    calls = [{"type": "function_call", "call_id": each, "name": "f", "arguments": "{}"} for each in CALL_IDS]
    pairs = zip(CALL_IDS, RESULTS, strict=True)
    outputs = [{"type": "function_call_output", "call_id": each, "output": output} for each, output in pairs]
    return [USER, *calls, *outputs, *behind]


@pytest.mark.parametrize("vendor", ["llamacpp", "vllm"])
@pytest.mark.parametrize("behind", [[], [USER]])
def test_images_in_results_are_the_users_where_results_are_text(vendor: str, behind: list[Node]) -> None:
    """https://github.com/ggml-org/llama.cpp/issues/20663 https://github.com/vllm-project/vllm/issues/43203"""
    done = send(vendor, input=results(*behind))
    first, second, moved, *others = done.value["input"][3:]
    assert (first["output"], second["output"]) == ("The result follows.", [{"type": "input_text", "text": "r"}])
    labels = [{"type": "input_text", "text": f"Result of tool call {each}:"} for each in CALL_IDS]
    assert moved == {"type": "message", "role": "user", "content": [labels[0], IMAGE, labels[1], IMAGE]}
    assert [other["role"] for other in others] == ["user"] * len(behind)
    assert fates(done) == {
        "/input/3/output/0": "approximated",
        "/input/4/output/1": "approximated",
        "/input/4/output/2": "lost",
    }
    same = ul.convert({"input": results()}, source=f"{RESPONSES}:{vendor}", target=f"{RESPONSES}:{vendor}")
    assert same.value == {"input": results()}
    assert send("xai", input=results()).value["input"] == results()


@pytest.mark.parametrize("vendor", ["llamacpp", "vllm"])
def test_files_are_lost_where_the_server_takes_none(vendor: str) -> None:
    content = [{"type": "input_text", "text": "q"}, FILE, IMAGE]
    done = send(vendor, input=[{"role": "user", "content": content}])
    assert done.value["input"][0]["content"] == [content[0], IMAGE]
    assert fates(done) == {"/input/0/content/1": "lost"}
    blocks = [{"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}]
    asked = {"role": "user", "content": [{"type": "text", "text": "q"}, *blocks]}
    body = {"model": "m", "max_tokens": 99, "messages": [asked]}
    told = fates(ul.convert(body, source="anthropic-messages", target=f"{RESPONSES}:{vendor}"))
    assert told == {"/messages/0/content/1": "lost", "/store": "added"}


@pytest.mark.parametrize("vendor", ["vllm", "sglang", "llamacpp", "openrouter", "lmstudio", "ollama", "deepseek"])
def test_reasoning_in_clear_has_an_id(vendor: str) -> None:
    """The API's types require one, and vLLM checks by these. https://github.com/vllm-project/vllm/issues/54224"""
    thoughts = [{"role": "assistant", "content": "a", "reasoning_content": each} for each in ("x", "y")]
    body = {"model": "m", "messages": [USER, thoughts[0], USER, thoughts[1], USER]}
    done = ul.convert(body, source=f"{CHAT}:deepseek", target=f"{RESPONSES}:{vendor}")
    items = [item for item in done.value["input"] if item["type"] == "reasoning"]
    for item in items:
        TypeAdapter(ResponseReasoningItemParam).validate_python(item)
    ids = [item["id"] for item in items]
    assert len(ids) == len(set(ids)) == 2
    # An item keeps its id in a longer conversation, for a cache of prompts.
    longer = {**body, "messages": [*body["messages"], {"role": "assistant", "content": "b"}, USER]}
    again = ul.convert(longer, source=f"{CHAT}:deepseek", target=f"{RESPONSES}:{vendor}").value["input"]
    assert again[: len(done.value["input"])] == done.value["input"]


def test_images_by_url_are_lost_at_ollama() -> None:
    content = [{"type": "input_text", "text": "q"}, {"type": "input_image", "image_url": "https://x/a.png"}, IMAGE]
    done = send("ollama", input=[{"role": "user", "content": content}])
    assert done.value["input"][0]["content"] == [content[0], IMAGE]
    assert fates(done) == {"/input/0/content/1": "lost"}


@pytest.mark.parametrize(("vendor", "sent"), [("llamacpp", 4), ("transformers", 4), ("openai", 16)])
def test_a_small_limit_is_raised_where_the_server_has_a_least_one_only(vendor: str, sent: int) -> None:
    assert send(vendor, CHAT, max_completion_tokens=4).value["max_output_tokens"] == sent
