"""Messages to servers of the vendors: reasoning, calls and results, roles, parts, tools."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

import unified_llm as ul
from dialects.sending import CALL, RESULT, TOOL, USER, Node, fates, send

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
def test_reasoning_that_has_no_return_is_told(vendor: str) -> None:
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
        ("vllm", [TEXT, IMAGE], {"/messages/0/content/2"}),
        ("sglang", [TEXT, IMAGE], {"/messages/0/content/2"}),
        ("deepseek", TEXT["text"], {"/messages/0/content/1", "/messages/0/content/2"}),
    ],
)
def test_parts(vendor: str, sent: list[Node] | str, told: set[str]) -> None:
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


@pytest.mark.parametrize("vendor", ["groq", "mistral", "cerebras"])
def test_a_message_of_the_sdk_has_no_keys_that_a_strict_server_refuses(vendor: str) -> None:
    """`.parse()` of the official SDK leaves its results in messages, and a dump of one has every key with null."""
    function = {"name": "f", "arguments": "{}", "parsed_arguments": {"x": 1}}
    call = {"id": "c12345678", "type": "function", "function": function}
    hollow = {"refusal": None, "annotations": [], "audio": None, "function_call": None}
    body = {"model": "m", "messages": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": '{"a":1}', **hollow, "tool_calls": None, "parsed": {"a": 1}},
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "refusal": "No."},
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "parsed": None, **hollow, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c12345678", "content": "r"},
    ]}  # fmt: skip
    before = copy.deepcopy(body)
    done = ul.convert(body, source="openai-chat", target=f"openai-chat:{vendor}")
    sent = [each for each in done.value["messages"] if each["role"] == "assistant"]
    assert [each.keys() for each in sent] == [{"role", "content"}] * 2 + [{"role", "content", "tool_calls"}]
    assert sent[1]["content"] == "No."
    assert sent[2]["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}
    assert [(loss.path, loss.fate) for loss in done.losses if loss.fate != "added"] == [
        ("/messages/1/parsed/a", "lost"),
        ("/messages/3/refusal", "approximated"),
        ("/messages/5/tool_calls/0/function/parsed_arguments/x", "lost"),
    ]
    assert body == before


@pytest.mark.parametrize("system", [False, True])
def test_mistral_has_a_message_of_the_models_between_results_and_what_is_said_next(system: bool) -> None:
    """https://github.com/NousResearch/hermes-agent/issues/20154"""
    said = {"role": "system" if system else "user", "content": "more"}
    done = send("mistral", messages=[*turn(), said])
    assert [message["role"] for message in done.value["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        said["role"],
    ]
    assert done.value["messages"][3]["content"] and done.value["messages"][4] == said
    assert fates(done).pop("/messages/3") == "added"  # at its place in the result
    # Nothing is put between results, or results and an answer.
    two = {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "call_2"}]}
    done = send("mistral", messages=[USER, two, RESULT, {**RESULT, "tool_call_id": "call_2"}])
    assert [message["role"] for message in done.value["messages"]] == ["user", "assistant", "tool", "tool"]
    assert [message["role"] for message in send("groq", messages=[*turn(), said]).value["messages"]][3:] == [
        said["role"]
    ]


def test_mistral_has_it_too_before_an_image_of_a_result() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    content = [{"type": "tool_result", "tool_use_id": "t1", "content": [image]}, {"type": "text", "text": "more"}]
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    messages = [USER, {"role": "assistant", "content": [call]}, {"role": "user", "content": content}]
    done = send("mistral", "anthropic-messages", model="m", max_tokens=9, messages=messages)
    written = done.value["messages"]
    assert [message["role"] for message in written] == ["user", "assistant", "tool", "assistant", "user", "user"]
    label, moved = written[4]["content"]
    assert written[2]["tool_call_id"] in label["text"] and moved["type"] == "image_url"


@pytest.mark.parametrize(("vendor", "flag"), [("mistral", "prefix"), ("moonshot", "partial")])
def test_an_answer_that_was_begun_goes_on(vendor: str, flag: str) -> None:
    """https://docs.mistral.ai/capabilities/completion https://platform.moonshot.ai/docs/guide/use-partial-mode-feature-of-kimi-api"""
    begun = {"role": "assistant", "content": "Sure:"}
    done = send(vendor, "anthropic-messages", model="m", max_tokens=9, messages=[USER, begun])
    assert done.value["messages"][-1] == {**begun, flag: True}
    assert fates(done) == {f"/messages/1/{flag}": "added"}
    for other in ("prefix", "partial"):
        spelled = send(vendor, messages=[USER, {**begun, other: True}])
        assert spelled.value["messages"][-1] == {**begun, flag: True}
        assert not fates(spelled)
    assert flag not in send(vendor, messages=[USER, begun, USER]).value["messages"][1]
    assert flag not in send(vendor, messages=turn()[:2]).value["messages"][1]
    own = [USER, begun]
    assert ul.convert({"messages": own}, source=f"openai-chat:{vendor}", target=f"openai-chat:{vendor}").value == {
        "messages": own
    }


@pytest.mark.parametrize("vendor", ["ollama", "lmstudio"])
def test_images_by_url_are_lost_where_the_server_loads_none(vendor: str) -> None:
    """https://github.com/ollama/ollama/issues/6753"""
    text = {"type": "text", "text": "q"}
    images = [
        {"type": "image_url", "image_url": {"url": each}} for each in ("https://x/a.png", "data:image/png;base64,AA")
    ]
    done = send(vendor, messages=[{"role": "user", "content": [text, *images]}])
    assert done.value["messages"][0]["content"] == [text, images[1]]
    assert fates(done) == {"/messages/0/content/1": "lost"}


BLOCKS = [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "b"}]
CLAUDE = {
    "model": "m",
    "max_tokens": 9,
    "system": BLOCKS,
    "messages": [
        USER,
        {"role": "assistant", "content": [*BLOCKS[1:] * 2, {"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": BLOCKS[1:] * 2}, BLOCKS[0]],
        },
    ],
}
"""What coding agents send: blocks, and breakpoints among them."""


@pytest.mark.parametrize("vendor", ["groq", "deepseek"])
def test_contents_are_strings_where_the_server_takes_no_lists(vendor: str) -> None:
    """https://github.com/QwenLM/qwen-code/issues/2318 https://github.com/OpenHands/OpenHands/issues/4643"""
    messages = send(vendor, "anthropic-messages", **CLAUDE).value["messages"]
    contents = [message["content"] for message in messages]
    last = "a" if vendor == "deepseek" else [{"type": "text", "text": "a"}]
    assert contents == ["a\n\nb", "q", "bb", "b\n\nb", last]
    image = {"role": "user", "content": [TEXT, IMAGE]}
    assert send("groq", messages=[image]).value["messages"] == [image]


@pytest.mark.parametrize(
    ("target", "written"),
    [
        ("openai-chat:openai", "prompt_cache_breakpoint"),
        ("openai-chat:azure", "prompt_cache_breakpoint"),
        ("openai-chat:openrouter", "cache_control"),
        ("openai-chat:qwen", "cache_control"),
        ("openai-chat:mistral", None),
        ("openai-chat:cerebras", None),
        ("openai-chat:xai", None),
        ("openai-responses:openai", "prompt_cache_breakpoint"),
        ("openai-responses:vllm", None),
        ("openai-responses:open-responses", None),
    ],
)
def test_breakpoints_of_a_cache_are_sent_where_the_server_has_them(target: str, written: str | None) -> None:
    done = ul.convert(CLAUDE, source="anthropic-messages", target=target)
    keys = {key for key in ("prompt_cache_breakpoint", "cache_control") if f'"{key}"' in json.dumps(done.value)}
    assert keys == ({written} if written else set())
    assert (
        "/messages/2/content/1/cache_control" in [path for path, fate in fates(done).items() if fate == "lost"]
    ) is (written is None)


@pytest.mark.parametrize("vendor", ["deepseek", "groq", "mistral", "moonshot"])
@pytest.mark.parametrize("message", [None, [], "x"])
def test_malformed_messages_are_kept_or_refused(vendor: str, message: Any) -> None:
    """The constraints of a server apply to objects alone; there is no error but the library's."""
    try:
        sent = ul.convert({"model": "m", "messages": [message]}, source="openai-chat", target=f"openai-chat:{vendor}")
    except ul.UnifiedLLMError as error:
        assert "messages" in str(error)
    else:
        assert sent.value["messages"] == [message]


def test_a_message_with_calls_has_an_empty_content_where_it_may_not_be_null() -> None:
    messages = [USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}, RESULT]
    for vendor, content in (("llama-cpp-python", ""), ("groq", None)):
        done = send(vendor, messages=messages)
        assert done.value["messages"][1]["content"] == content
        assert not done.losses
