"""Requests to a dialect: what it takes arrives in its words, what it does not take is reported.

Expected values are the vendors' own (the pages named in their files). A row is a vendor, settings as plain Chat has
them, what of the wire they become, and the fates that are reported by path.
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from dialects.sending import NAMED, SCHEMA, TOOL, USER, Node, fates, rest, send

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
    # (That the model chooses is the default: nothing goes with it but the tools.)
    ("perplexity", {"tools": [TOOL], "tool_choice": "auto"}, {}, {"/tools": "lost"}),
    ("perplexity", {"tools": [TOOL], "tool_choice": "required"}, {}, {"/tools": "lost", "/tool_choice": "lost"}),
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
    ("zai", {"tools": [TOOL], "tool_choice": "none"}, {}, {"/tool_choice": "emulated", "/tools": "lost"}),
    ("mistral", {"tools": [TOOL], "tool_choice": "none"}, {}, {"/tool_choice": "emulated", "/tools": "lost"}),
    # no other tool is declared, so the name of the one that is adds nothing
    ("llamacpp", {"tools": [TOOL], "tool_choice": NAMED}, {"tool_choice": "required"},
     {"/tool_choice/type": "approximated", "/tool_choice/function/name": "approximated"}),
    ("groq", {"tools": [TOOL], "tool_choice": NAMED}, {"tool_choice": NAMED}, {}),
    ("llama-cpp-python", {"tools": [TOOL], "tool_choice": NAMED}, {"tool_choice": NAMED}, {}),
    ("llama-cpp-python", {"tools": [TOOL], "tool_choice": "required"}, {"tool_choice": "auto"},
     {"/tool_choice": "approximated"}),
    ("llama-cpp-python", {"max_completion_tokens": 9}, {"max_tokens": 9}, {}),
    ("transformers", {"tools": [TOOL], "tool_choice": "required", "top_k": 4, "min_p": 0.1}, {},
     {"/tool_choice": "lost", "/top_k": "lost", "/min_p": "lost"}),
    ("transformers", {"chat_template_kwargs": {"a": 1}}, {"chat_template_kwargs": {"a": 1}}, {}),
    # usage in streams
    ("mistral", {"stream": True, "stream_options": {"include_usage": True}}, {"stream": True},
     {"/stream_options/include_usage": "emulated"}),
    ("zai", {"stream_options": {"include_usage": True, "include_obfuscation": False}}, {},
     {"/stream_options/include_usage": "emulated", "/stream_options/include_obfuscation": "lost"}),
    # parameters of other servers
    ("mistral", {"safe_prompt": True, "provider": {"order": ["a"]}}, {"safe_prompt": True},
     {"/provider/order": "lost"}),
    ("vllm", {"min_p": 0.1}, {"min_p": 0.1}, {}),
    # a null requests nothing
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
        ("zai", "any", "auto", "approximated"),
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
