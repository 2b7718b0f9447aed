"""Requests to a dialect: what it takes arrives in its words, what it does not take is told.

Expected values are the vendors' own (the pages named in their files). A row is a vendor, settings as plain Chat has
them, what of the wire they become, and the fates that are told by path.
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

Node = dict[str, Any]

USER = {"role": "user", "content": "q"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
NAMED = {"type": "function", "function": {"name": "f"}}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object", "properties": {}}}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "r"}


def send(vendor: str, source: str = "openai-chat", **body: Any) -> ul.Converted:
    body = {"model": "m", "messages": [USER], **body} if source == "openai-chat" else body
    return ul.convert(body, source=source, target=f"openai-chat:{vendor}")


def fates(done: ul.Converted) -> dict[str, str]:
    return {loss.path: loss.fate for loss in done.losses}


def rest(done: ul.Converted) -> Node:
    return {key: value for key, value in done.value.items() if key not in ("model", "messages", "tools")}


PARAMETERS: list[tuple[str, Node, Node, dict[str, str]]] = [
    # names and words of their own
    ("mistral", {"seed": 7}, {"random_seed": 7}, {}),
    ("mistral", {"tools": [TOOL], "tool_choice": "required"}, {"tool_choice": "any"}, {}),
    ("xai", {"parallel_tool_calls": False}, {"parallel_function_calling": False}, {}),
    ("openrouter", {"max_completion_tokens": 9}, {"max_tokens": 9}, {}),
    ("openai", {"max_tokens": 9}, {"max_completion_tokens": 9}, {}),
    # refused, ignored
    ("deepseek", {"seed": 7, "temperature": 0.5}, {"temperature": 0.5}, {"/seed": "lost"}),
    ("groq", {"logprobs": True, "top_logprobs": 2}, {}, {"/logprobs": "lost", "/top_logprobs": "lost"}),
    ("openai", {"top_k": 40}, {}, {"/top_k": "lost"}),
    ("azure", {"top_k": 40}, {}, {"/top_k": "lost"}),
    ("vllm", {"top_k": 40}, {"top_k": 40}, {}),
    ("anthropic", {"seed": 7, "response_format": {"type": "json_object"}}, {},
     {"/seed": "lost", "/response_format/type": "lost"}),
    ("perplexity", {"tools": [TOOL], "tool_choice": "auto"}, {}, {"/tools": "lost", "/tool_choice": "lost"}),
    # limits
    ("groq", {"n": 3}, {"n": 1}, {"/n": "approximated"}),
    ("anthropic", {"temperature": 1.4}, {"temperature": 1}, {"/temperature": "approximated"}),
    ("zai", {"top_p": 0, "temperature": 1}, {"top_p": 0.01, "temperature": 1}, {"/top_p": "approximated"}),
    ("tgi", {"top_p": 1}, {"top_p": 0.99}, {"/top_p": "approximated"}),
    ("openai", {"stop": ["a", "b", "c", "d", "e"]}, {"stop": ["a", "b", "c", "d"]}, {"/stop/4": "lost"}),
    ("groq", {"service_tier": "default"}, {"service_tier": "on_demand"}, {"/service_tier": "approximated"}),
    ("groq", {"service_tier": "priority"}, {}, {"/service_tier": "lost"}),
    # output formats
    ("deepseek", {"response_format": SCHEMA}, {"response_format": {"type": "json_object"}},
     {"/response_format/type": "approximated", "/response_format/json_schema/name": "lost",
      "/response_format/json_schema/schema": "lost"}),
    ("deepseek", {"response_format": {"type": "json_object"}}, {"response_format": {"type": "json_object"}}, {}),
    # choices of tools
    ("zai", {"tools": [TOOL], "tool_choice": "required"}, {"tool_choice": "auto"}, {"/tool_choice": "approximated"}),
    ("zai", {"tools": [TOOL], "tool_choice": "none"}, {}, {"/tool_choice": "emulated", "/tools": "emulated"}),
    ("mistral", {"tools": [TOOL], "tool_choice": "none"}, {}, {"/tool_choice": "emulated", "/tools": "emulated"}),
    ("llamacpp", {"tools": [TOOL], "tool_choice": NAMED}, {"tool_choice": "required"},
     {"/tool_choice/type": "approximated", "/tool_choice/function/name": "lost"}),
    ("groq", {"tools": [TOOL], "tool_choice": NAMED}, {"tool_choice": NAMED}, {}),
    # usage in streams
    ("mistral", {"stream": True, "stream_options": {"include_usage": True}}, {"stream": True},
     {"/stream_options/include_usage": "emulated"}),
    ("zai", {"stream_options": {"include_usage": True, "include_obfuscation": False}}, {},
     {"/stream_options/include_usage": "emulated", "/stream_options/include_obfuscation": "lost"}),
    # parameters of other servers
    ("mistral", {"safe_prompt": True, "provider": {"order": ["a"]}}, {"safe_prompt": True},
     {"/provider/order": "lost"}),
    ("vllm", {"min_p": 0.1}, {"min_p": 0.1}, {}),
    # a null asks for nothing
    ("groq", {"logit_bias": None, "seed": None}, {"seed": None}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("vendor", "said", "sent", "told"), PARAMETERS)
def test_parameters(vendor: str, said: Node, sent: Node, told: dict[str, str]) -> None:
    done = send(vendor, **said)
    assert rest(done) == sent
    assert fates(done) == told


@pytest.mark.parametrize(
    ("vendor", "mode", "word", "fate"),
    [
        ("llamacpp", "validated", "auto", "approximated"),
        ("llamacpp", "any", "required", None),
        ("zai", "any", "auto", "lost"),
    ],
)
def test_the_mode_of_allowed_tools_has_one_fate(vendor: str, mode: str, word: str, fate: str | None) -> None:
    function = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
    allowed = {"allowed_tools": {"mode": mode, "tools": ["f", "g"]}}
    body = {"model": "m", "input": "q", "tools": [function, {**function, "name": "g"}]}
    done = send(vendor, "google-interactions", **body, generation_config={"tool_choice": allowed})
    told = [loss.fate for loss in done.losses if loss.path.endswith("/allowed_tools/mode")]
    assert done.value["tool_choice"] == word and told == ([fate] if fate else [])


def test_several_answers_of_a_server_that_gives_one_are_refused_or_judged() -> None:
    body = {"model": "m", "messages": [USER], "n": 2}
    with pytest.raises(ul.CapabilityRefused) as refused:
        ul.convert(body, source="openai-chat", target="openai-chat:deepseek")
    assert (refused.value.path, refused.value.capability) == ("/n", "output.choices")
    done = ul.convert(body, source="openai-chat", target="openai-chat:deepseek", on_loss={"output.choices": "ignore"})
    assert rest(done) == {} and fates(done) == {"/n": "lost"}


def test_a_prompt_of_which_nothing_is_left_is_refused_and_words_beside_it_are_sent() -> None:
    file = {"type": "file", "file": {"file_id": "file-1"}}
    with pytest.raises(ul.CapabilityRefused) as refused:
        send("ollama", messages=[{"role": "user", "content": [file]}])
    assert (refused.value.path, refused.value.capability) == ("/messages/0/content/0", "file.input")
    done = send("ollama", messages=[{"role": "user", "content": [file, {"type": "text", "text": "Sum it up"}]}])
    assert "Sum it up" in str(done.value["messages"]) and "lost" in fates(done).values()


# Section 13 of the vendors' own spellings: the same intent in every dialect.
OFF = {"type": "disabled"}
CONTROLS: list[tuple[str, Node, Node, dict[str, str]]] = [
    ("deepseek", {"control": "disabled"}, {"thinking": OFF}, {}),
    ("deepseek", {"control": "enabled", "effort": "high"},
     {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}, {}),
    ("deepseek", {"effort": "none"}, {"thinking": OFF}, {"/reasoning/effort": "approximated"}),
    ("deepseek", {"effort": "medium"}, {"reasoning_effort": "high"}, {"/reasoning/effort": "approximated"}),
    ("deepseek", {"effort": "xhigh"}, {"reasoning_effort": "high"}, {"/reasoning/effort": "approximated"}),
    ("deepseek", {"effort": "minimal"}, {"reasoning_effort": "low"}, {"/reasoning/effort": "approximated"}),
    ("openrouter", {"effort": "none"}, {"reasoning": {"effort": "none"}}, {}),
    ("openrouter", {"budget_tokens": 2000, "include": False}, {"reasoning": {"max_tokens": 2000, "exclude": True}}, {}),
    ("groq", {"effort": "low"}, {"reasoning_effort": "low"}, {}),
    ("mistral", {"effort": "none"}, {"reasoning_effort": "none"}, {}),
    ("mistral", {"effort": "low"}, {"reasoning_effort": "high"}, {"/reasoning/effort": "approximated"}),
    ("moonshot", {"control": "disabled"}, {"thinking": OFF}, {}),
    ("moonshot", {"effort": "low"}, {"reasoning_effort": "low"}, {}),
    ("qwen", {"control": "enabled", "budget_tokens": 1024}, {"enable_thinking": True, "thinking_budget": 1024}, {}),
    ("qwen", {"effort": "none"}, {"enable_thinking": False}, {"/reasoning/effort": "approximated"}),
    ("qwen", {"effort": "high"}, {"enable_thinking": True}, {"/reasoning/effort": "approximated"}),
    ("zai", {"control": "disabled"}, {"thinking": OFF}, {}),
    ("minimax", {"control": "disabled"}, {"thinking": OFF}, {}),
    ("minimax", {"effort": "high"}, {"thinking": {"type": "adaptive"}}, {"/reasoning/effort": "approximated"}),
    ("together", {"control": "disabled"}, {"reasoning": {"enabled": False}}, {}),
    ("fireworks", {"effort": "none"}, {"reasoning_effort": "none"}, {}),
    ("fireworks", {"budget_tokens": 100}, {"thinking": {"budget_tokens": 1024}},
     {"/reasoning/budget_tokens": "approximated"}),
    ("cerebras", {"effort": "low"}, {"reasoning_effort": "low"}, {}),
    ("vllm", {"control": "disabled"}, {"chat_template_kwargs": {"enable_thinking": False}}, {}),
    ("llamacpp", {"effort": "none"}, {"reasoning_effort": "none"}, {}),
    ("llamacpp", {"control": "disabled"}, {"reasoning_effort": "none"}, {"/reasoning/control": "approximated"}),
    ("google", {"budget_tokens": 1024, "include": True},
     {"extra_body": {"google": {"thinking_config": {"thinking_budget": 1024, "include_thoughts": True}}}}, {}),
    ("anthropic", {"control": "enabled", "budget_tokens": 2000},
     {"thinking": {"type": "enabled", "budget_tokens": 2000}}, {}),
    ("xai", {"effort": "max"}, {"reasoning_effort": "xhigh"}, {"/reasoning/effort": "approximated"}),
]  # fmt: skip


@pytest.mark.parametrize(("vendor", "said", "sent", "told"), CONTROLS)
def test_controls_of_reasoning(vendor: str, said: Node, sent: Node, told: dict[str, str]) -> None:
    item = {"type": "message", "role": "user", "content": "q"}
    done = ul.write({"model": "some-model", "input": [item], "reasoning": said}, f"openai-chat:{vendor}")
    assert rest(done) == sent
    assert fates(done) == told


def test_effort_and_budget_exclude_each_other_at_google() -> None:
    items = [{"type": "message", "role": "user", "content": "q"}]
    said = {"effort": "low", "budget_tokens": 1024, "include": True}
    done = ul.write({"model": "m", "input": items, "reasoning": said}, "openai-chat:google")
    assert rest(done)["reasoning_effort"] == "low"
    assert "thinking_budget" not in rest(done)["extra_body"]["google"]["thinking_config"]
    assert fates(done)["/reasoning/budget_tokens"] in ("lost", "approximated")


@pytest.mark.parametrize(
    ("vendor", "wire", "meant"),
    [
        ("qwen", {"enable_thinking": False, "thinking_budget": 9}, {"control": "disabled", "budget_tokens": 9}),
        ("vllm", {"chat_template_kwargs": {"enable_thinking": True, "x": 1}}, {"control": "enabled"}),
        ("openrouter", {"reasoning": {"effort": "low", "exclude": True}}, {"effort": "low", "include": False}),
        ("google", {"extra_body": {"google": {"thinking_config": {"thinking_budget": 9}}}}, {"budget_tokens": 9}),
        ("deepseek", {"thinking": {"type": "enabled"}}, {"control": "enabled"}),
    ],
)
def test_controls_are_read_where_the_vendor_has_them(vendor: str, wire: Node, meant: Node) -> None:
    body = {"model": "m", "messages": [USER], **wire}
    read = ul.read(body, f"openai-chat:{vendor}").model_dump(exclude_unset=True)
    assert {key: value for key, value in read["reasoning"].items() if key != "extra"} == meant
    assert send(vendor, f"openai-chat:{vendor}", **body).value == body


@pytest.mark.parametrize(
    ("vendor", "wire", "key", "meant"),
    [
        ("mistral", {"random_seed": 7}, "seed", 7),
        ("mistral", {"tools": [TOOL], "tool_choice": "any"}, "tool_choice", "required"),
        ("xai", {"parallel_function_calling": False}, "parallel_tool_calls", False),
    ],
)
def test_own_names_and_words_are_read(vendor: str, wire: Node, key: str, meant: Any) -> None:
    body = {"model": "m", "messages": [USER], **wire}
    assert getattr(ul.read(body, f"openai-chat:{vendor}"), key) == meant
    assert send(vendor, f"openai-chat:{vendor}", **body).value == body
    # Elsewhere they mean nothing, and stay what they are.
    assert getattr(ul.read(body, "openai-chat"), key, None) != meant


def test_its_own_request_is_left_as_it_is() -> None:
    body = {
        "model": "m",
        "messages": [{"role": "developer", "content": "x", "name": "n"}, USER],
        "logit_bias": {"1": 2},
        "max_completion_tokens": 4,
        "tool_choice": "required",
        "n": 3,
    }
    for vendor in ("deepseek", "groq", "mistral", "zai"):
        done = ul.convert(body, source=f"openai-chat:{vendor}", target=f"openai-chat:{vendor}")
        assert done.value == body and not done.losses


# ---- messages -------------------------------------------------------------------------------------------------------


def turn(**more: Any) -> list[Node]:
    """A step with a call, behind which the conversation goes on."""
    return [USER, {"role": "assistant", "content": None, "tool_calls": [CALL], **more}, RESULT]


@pytest.mark.parametrize(
    ("vendor", "field"),
    [
        ("deepseek", "reasoning_content"),
        ("moonshot", "reasoning_content"),
        ("zai", "reasoning_content"),
        ("fireworks", "reasoning_content"),
        ("sglang", "reasoning_content"),
        ("llamacpp", "reasoning_content"),
        ("groq", "reasoning"),
        ("ollama", "reasoning"),
        ("vllm", "reasoning"),
        ("cerebras", "reasoning"),
        ("together", "reasoning"),
        ("openrouter", "reasoning"),
        ("copilot", "reasoning_text"),
    ],
)
@pytest.mark.parametrize("said", ["reasoning", "reasoning_content"])
def test_trap_044_reasoning_goes_back_in_the_servers_own_field(vendor: str, field: str, said: str) -> None:
    assistant = send(vendor, messages=turn(**{said: "T"})).value["messages"][1]
    assert assistant[field] == "T"
    assert [key for key in assistant if key.startswith("reasoning")] == [field]


@pytest.mark.parametrize("vendor", ["openai", "azure", "xai", "qwen", "perplexity", "google", "anthropic", "tgi"])
def test_reasoning_that_has_no_way_back_is_told(vendor: str) -> None:
    done = send(vendor, messages=turn(reasoning_content="T"))
    assert "T" not in repr(done.value)
    assert fates(done)["/messages/1/reasoning_content"] == "lost"


def test_mistral_has_reasoning_in_the_content() -> None:
    (_, assistant, _) = send("mistral", messages=turn(content="A", reasoning_content="T")).value["messages"]
    assert assistant["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "T"}]},
        {"type": "text", "text": "A"},
    ]


def test_minimax_has_reasoning_between_tags() -> None:
    (_, assistant, _) = send("minimax", messages=turn(content="A", reasoning_content="T")).value["messages"]
    assert assistant["content"] == "<think>T</think>A"


@pytest.mark.parametrize("vendor", ["deepseek", "moonshot"])
def test_trap_042_a_tool_loop_has_the_field_if_only_empty(vendor: str) -> None:
    done = send(vendor, messages=turn())
    assert done.value["messages"][1]["reasoning_content"] == ""
    assert any(loss.capability == "reasoning.text" for loss in done.losses)
    assert "reasoning_content" not in send("groq", messages=turn()).value["messages"][1]


def test_trap_043_thinking_of_messages_reaches_kimi_as_a_field() -> None:
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            USER,
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "T", "signature": "U0lH"},
                    {"type": "tool_use", "id": "t", "name": "f", "input": {}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "r"}]},
        ],
    }
    wire = send("moonshot", "anthropic-messages", **body).value
    assert wire["messages"][1]["reasoning_content"] == "T"
    assert "U0lH" not in repr(wire)
    assert "T" not in repr(send("openai", "anthropic-messages", **body).value["messages"][1])


def test_deepseek_wants_reasoning_back_within_a_tool_loop_only() -> None:
    messages = [USER, {"role": "assistant", "content": "A", "reasoning_content": "T"}, USER]
    done = send("deepseek", messages=messages)
    assert done.value["messages"][1] == {"role": "assistant", "content": "A"}
    assert fates(done) == {"/messages/1/reasoning_content": "lost"}
    assert send("moonshot", messages=messages).value["messages"][1]["reasoning_content"] == "T"


DETAILS = [{"type": "reasoning.encrypted", "data": "gAAA", "id": "rs_1", "format": "openai-responses-v1", "index": 0}]


def test_opaque_pieces_stay_with_the_vendor_that_has_a_slot() -> None:
    messages = [USER, {"role": "assistant", "content": "A", "reasoning_details": DETAILS}, USER]
    assert send("openrouter", messages=messages).value["messages"][1]["reasoning_details"] == DETAILS
    done = send("deepseek", messages=messages)
    assert "gAAA" not in repr(done.value) and "/messages/1/reasoning_details" in {*fates(done)}


def test_trap_006_google_gets_the_signature_of_a_call_back() -> None:
    signed = {**CALL, "extra_content": {"google": {"thought_signature": "Ci=="}}}
    messages = [USER, {"role": "assistant", "content": None, "tool_calls": [signed]}, RESULT]
    assert send("google", messages=messages).value["messages"][1]["tool_calls"] == [signed]
    done = send("groq", messages=messages)
    assert "Ci==" not in repr(done.value)
    assert any(loss.fate == "lost" and "extra_content" in loss.path for loss in done.losses)


def test_trap_051_mistral_takes_nine_letters_or_digits() -> None:
    wire = send("mistral", messages=turn()).value["messages"]
    (call,) = wire[1]["tool_calls"]
    assert len(call["id"]) == 9 and call["id"].isalnum() and call["id"].isascii()
    assert wire[2]["tool_call_id"] == call["id"]


def test_mistral_wants_the_name_of_the_tool_with_its_result() -> None:
    done = send("mistral", messages=turn())
    assert done.value["messages"][2]["name"] == "f"
    assert [(loss.path, loss.fate) for loss in done.losses if loss.side == "target"] == [("/messages/2/name", "added")]


@pytest.mark.parametrize(("vendor", "role"), [("openai", "developer"), ("vllm", "developer"), ("groq", "system")])
def test_trap_116_the_developer(vendor: str, role: str) -> None:
    assert send(vendor, messages=[{"role": "developer", "content": "x"}, USER]).value["messages"][0]["role"] == role


def test_names_of_messages() -> None:
    messages = [{**USER, "name": "ann"}]
    assert send("openai", messages=messages).value["messages"] == messages
    done = send("groq", messages=messages)
    assert done.value["messages"] == [USER] and fates(done) == {"/messages/0/name": "lost"}


TEXT = {"type": "text", "text": "look"}
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
FILE = {"type": "file", "file": {"file_id": "file-1"}}


@pytest.mark.parametrize(
    ("vendor", "sent", "told"),
    [
        ("openai", [TEXT, IMAGE, FILE], set()),
        ("azure", [TEXT, IMAGE], {"/messages/0/content/2"}),
        ("qwen", [TEXT, IMAGE], {"/messages/0/content/2"}),
        ("deepseek", [TEXT], {"/messages/0/content/1", "/messages/0/content/2"}),
    ],
)
def test_parts(vendor: str, sent: list[Node], told: set[str]) -> None:
    done = send(vendor, messages=[{"role": "user", "content": [TEXT, IMAGE, FILE]}])
    assert done.value["messages"][0]["content"] == sent
    assert {*fates(done)} == told


def test_a_url_may_stand_for_a_file_at_openrouter() -> None:
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_file", "file_url": "https://x.example/a.pdf"}]}
    ]
    (message,) = ul.write({"model": "m", "input": items}, "openai-chat:openrouter").value["messages"]
    assert message["content"] == [{"type": "file", "file": {"file_data": "https://x.example/a.pdf"}}]


def test_an_assistant_speaks_in_strings_at_copilot() -> None:
    messages = [USER, {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]
    assert send("copilot", messages=messages).value["messages"][1]["content"] == "ab"


def test_tools_a_server_has_not_and_strict() -> None:
    custom = {"type": "custom", "custom": {"name": "c"}}
    strict = {"type": "function", "function": {**TOOL["function"], "strict": True}}
    unknown = {"type": "telepathy", "telepathy": {"name": "t"}}
    done = send("moonshot", tools=[strict, unknown, custom])
    assert done.value["tools"][0] == TOOL and [tool["type"] for tool in done.value["tools"]] == ["function"] * 2
    assert fates(done) == {"/tools/0/function/strict": "lost", "/tools/1": "lost", "/tools/2/type": "emulated"}
    assert send("openai", tools=[strict, custom]).value["tools"] == [strict, custom]
