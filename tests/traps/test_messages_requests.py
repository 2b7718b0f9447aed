"""Traps of Messages requests; expected values are those of the trap, not of the code."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
Node = dict[str, Any]
IMAGE = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}


def from_chat(*messages: Node, **settings: Any) -> ul.Converted:
    return ul.convert({"model": "m", "messages": list(messages), **settings}, source=CHAT, target=MESSAGES)


def from_responses(*items: Node, **settings: Any) -> ul.Converted:
    return ul.convert({"model": "m", "input": list(items), **settings}, source=RESPONSES, target=MESSAGES)


def messages(*messages_: Node, target: str = MESSAGES, **settings: Any) -> ul.Converted:
    body = {"model": "m", "max_tokens": 50, "messages": list(messages_), **settings}
    return ul.convert(body, source=MESSAGES, target=target)


def fates(done: ul.Converted, fate: str | None = None) -> dict[str, str]:
    return {loss.path: loss.fate for loss in done.losses if fate in (None, loss.fate)}


def user(text: str = "q") -> Node:
    return {"role": "user", "content": text}


def calls(*ids: str, arguments: str = "{}", content: Any = None) -> Node:
    made = [{"id": i, "type": "function", "function": {"name": "f", "arguments": arguments}} for i in ids]
    return {"role": "assistant", "content": content, "tool_calls": made}


def result(call_id: str, content: Any = "r") -> Node:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


# ---- C: thinking -----------------------------------------------------------------------------------------------------


def test_trap_028_several_thinking_blocks_stay_several() -> None:
    blocks = [
        {"type": "thinking", "thinking": "alpha", "signature": "S1"},
        {"type": "redacted_thinking", "data": "D"},
        {"type": "thinking", "thinking": "beta", "signature": "S2"},
    ]
    body = {"model": "m", "max_tokens": 5, "messages": [{"role": "assistant", "content": blocks}]}
    items = ul.read(body, MESSAGES).input
    assert [item.opaque[0].data for item in items] == ["S1", "D", "S2"]
    assert messages({"role": "assistant", "content": blocks}).value["messages"][0]["content"] == blocks


@pytest.mark.parametrize("signature", [{}, {"signature": ""}])
def test_traps_031_033_unsigned_thinking_is_not_sent_from_elsewhere(signature: Node) -> None:
    block = {"type": "thinking", "thinking": "half", **signature}
    request = ul.read(
        {"model": "m", "max_tokens": 5, "messages": [{"role": "assistant", "content": [block]}]}, MESSAGES
    )
    assert not any(piece.data for item in request.input for piece in item.opaque or ())
    reasoning = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "half"}]}
    done = from_responses({"type": "message", "role": "user", "content": "q"}, reasoning)
    assert done.value["messages"] == [user()]
    assert fates(done)["/input/1"] == "lost"


@pytest.mark.parametrize("signature", [{}, {"signature": ""}])
def test_traps_031_033_unsigned_thinking_is_left_out_at_home_when_repair_is_always(signature: Node) -> None:
    block = {"type": "thinking", "thinking": "half", **signature}
    said = {"role": "assistant", "content": [block, {"type": "text", "text": "A"}]}
    body = {"model": "m", "max_tokens": 9, "messages": [user(), said, user()]}
    assert ul.convert(body, source=MESSAGES, target=MESSAGES).value == body
    done = ul.convert(body, source=MESSAGES, target=MESSAGES, repair="always")
    assert done.value["messages"][1]["content"] == [{"type": "text", "text": "A"}]
    assert fates(done) == {"/messages/1/content/0": "lost"}
    signed = {**body, "messages": [user(), {**said, "content": [{**block, "signature": "UzE="}, *said["content"][1:]]}]}
    assert ul.convert(signed, source=MESSAGES, target=MESSAGES, repair="always").value["messages"] == signed["messages"]


def test_trap_032_foreign_reasoning_is_withheld_whole() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA-foreign"}
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    done = from_responses({"type": "message", "role": "user", "content": "q"}, reasoning, call)
    assert "gAAAA" not in str(done.value)
    assert done.value["messages"][1]["content"] == [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]
    assert any(loss.capability == "reasoning.signature" and loss.fate == "lost" for loss in done.losses)


def test_trap_036_signature_without_text_is_replayed() -> None:
    block = {"type": "thinking", "thinking": "", "signature": "S"}
    assert messages({"role": "assistant", "content": [block]}).value["messages"][0]["content"] == [block]


def test_trap_039_budget_fits_below_max_tokens() -> None:
    body = {"model": "m", "messages": [user()], "max_output_tokens": 5000, "reasoning": {"budget_tokens": 9000}}
    done = ul.write({**body, "input": "q"}, MESSAGES)
    assert 1024 <= done.value["thinking"]["budget_tokens"] < done.value["max_tokens"]
    assert done.value["thinking"]["budget_tokens"] == 9000


def test_trap_040_a_forced_tool_wins_over_thinking() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    done = from_chat(user(), reasoning_effort="high", tool_choice="required", temperature=0, tools=[tool])
    assert done.value["tool_choice"] == {"type": "any"}
    assert "thinking" not in done.value
    assert fates(done)["/reasoning_effort"] == "approximated"


def test_trap_040_thinking_wins_over_sampling() -> None:
    done = from_chat(user(), reasoning_effort="high", temperature=0.2, top_p=0.5)
    assert done.value["thinking"]["type"] == "adaptive"
    assert "temperature" not in done.value and "top_p" not in done.value
    assert fates(done, "lost").keys() >= {"/temperature", "/top_p"}


def test_trap_041_effort_is_adaptive_thinking_with_effort() -> None:
    done = from_responses({"type": "message", "role": "user", "content": "q"}, reasoning={"effort": "high"})
    assert done.value["thinking"] == {"type": "adaptive"}
    assert done.value["output_config"] == {"effort": "high"}
    off = from_responses({"type": "message", "role": "user", "content": "q"}, reasoning={"effort": "none"})
    assert off.value["thinking"] == {"type": "disabled"}


# ---- E, F, G: calls and their results -------------------------------------------------------------------------------


def test_traps_047_048_call_ids_fit_the_charset_and_stay_apart() -> None:
    done = from_chat(user(), calls("f.x:0", "f_x_0"), result("f.x:0", "1"), result("f_x_0", "2"))
    used = [block["id"] for block in done.value["messages"][1]["content"]]
    assert used[1] == "f_x_0" and len(set(used)) == 2
    assert all(c.isalnum() or c in "_-" for c in used[0])
    assert [block["tool_use_id"] for block in done.value["messages"][2]["content"]] == used
    assert done.exchange is not None and done.exchange.ids[used[0]] == "f.x:0"


def test_trap_061_parallel_results_share_one_message() -> None:
    done = from_chat(user(), calls("c1", "c2"), result("c1"), result("c2"), user("go on"))
    assert [m["role"] for m in done.value["messages"]] == ["user", "assistant", "user"]
    kinds = [block["type"] for block in done.value["messages"][2]["content"]]
    assert kinds == ["tool_result", "tool_result", "text"]


def test_trap_062_results_come_first() -> None:
    items: list[Node] = [
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
        {"type": "message", "role": "user", "content": "look"},
        {"type": "function_call_output", "call_id": "c2", "output": "2"},
    ]
    kinds = [block["type"] for block in from_responses(*items).value["messages"][1]["content"]]
    assert kinds == ["tool_result", "tool_result", "text"]


def test_trap_074_no_arguments_is_an_empty_object() -> None:
    assert from_chat(user(), calls("c1", arguments="")).value["messages"][1]["content"][0]["input"] == {}


@pytest.mark.parametrize("arguments", ["[1]", '"x"', '{"p":["a"', '{"a":1}{"a":2}'])
def test_traps_075_076_arguments_that_are_no_object_are_wrapped(arguments: str) -> None:
    done = from_chat(user(), calls("c1", arguments=arguments))
    assert done.value["messages"][1]["content"][0]["input"] == {"_raw": arguments}
    assert fates(done)["/messages/1/tool_calls/0/function/arguments"] == "approximated"


def test_traps_078_079_arguments_are_encoded_once_and_big_integers_kept() -> None:
    body = {
        "model": "m",
        "max_tokens": 5,
        "messages": [
            user(),
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {"id": 2512292042121000001}}],
            },
        ],
    }
    chat = ul.convert(body, source=MESSAGES, target=CHAT).value
    assert chat["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"id":2512292042121000001}'
    back = ul.convert(chat, source=CHAT, target=MESSAGES).value
    assert back["messages"] == body["messages"]


# ---- J: tool choice, other tools -------------------------------------------------------------------------------------

TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("a", "b")]


def test_trap_104_none_stays_none_both_ways() -> None:
    assert from_chat(user(), tools=TOOLS, tool_choice="none").value["tool_choice"] == {"type": "none"}
    done = messages(user(), target=CHAT, tools=[{"name": "a", "input_schema": {}}], tool_choice={"type": "none"})
    assert done.value["tool_choice"] == "none"


def test_trap_105_parallel_alone_forces_nothing() -> None:
    done = from_chat(user(), tools=TOOLS, parallel_tool_calls=False)
    assert done.value["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}


def test_trap_106_only_allowed_tools_are_sent() -> None:
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "a"}]}
    tools = [{"type": "function", "name": name, "parameters": {"type": "object"}} for name in ("a", "b")]
    done = from_responses({"type": "message", "role": "user", "content": "q"}, tools=tools, tool_choice=allowed)
    assert [tool["name"] for tool in done.value["tools"]] == ["a"]
    assert "approximated" in [loss.fate for loss in done.losses if loss.path.startswith("/tool_choice")]


def test_trap_107_custom_tools_become_functions_of_one_string() -> None:
    tool = {"type": "custom", "name": "apply_patch", "format": {"type": "grammar", "syntax": "lark", "definition": "s"}}
    call = {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "*** raw"}
    done = from_responses({"type": "message", "role": "user", "content": "q"}, call, tools=[tool])
    assert done.value["tools"][0]["input_schema"]["required"] == ["input"]
    assert done.value["messages"][1]["content"][0]["input"] == {"input": "*** raw"}
    assert done.exchange is not None and done.exchange.tools == {"apply_patch": "custom"}
    assert done.value["tools"][0]["description"].endswith("lark grammar:\ns")
    assert {loss.fate for loss in done.losses if loss.capability == "tools.grammar"} == {"approximated"}


def test_trap_108_a_tool_there_is_no_form_for_is_reported() -> None:
    done = from_responses({"type": "message", "role": "user", "content": "q"}, tools=[{"type": "image_generation"}])
    assert "tools" not in done.value
    assert fates(done)["/tools/0"] == "lost"


def test_trap_110_hosted_calls_go_with_their_results_or_not_at_all() -> None:
    pair = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "oracle_tool_result", "tool_use_id": "srvtoolu_2", "content": "?"},
    ]
    assert messages({"role": "assistant", "content": pair}).value["messages"][0]["content"] == pair
    call = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}
    done = from_responses({"type": "message", "role": "user", "content": "q"}, call)
    assert "server_tool_use" not in str(done.value)
    assert fates(done)["/input/1"] == "lost"


def test_trap_111_hits_without_cipher_are_sent_as_text() -> None:
    items = [
        {"type": "message", "role": "user", "content": "q"},
        {"type": "web_search_call", "call_id": "s1", "action": {"type": "search", "query": "q"}},
        {"type": "web_search_result", "call_id": "s1", "results": [{"url": "https://e.x", "title": "E"}]},
    ]
    done = ul.write({"model": "m", "input": items}, MESSAGES)
    assert done.value["messages"][1]["content"] == [{"type": "text", "text": "E - https://e.x"}]


def test_trap_113_failed_results_stay_failed() -> None:
    failed = {"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": "boom"}
    request = ul.read({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": [failed]}]}, MESSAGES)
    assert request.input[0].is_error is True
    assert messages({"role": "user", "content": [failed]}).value["messages"][0]["content"] == [failed]


# ---- K, L: system text, content, media -------------------------------------------------------------------------------


def test_traps_114_115_leading_system_text_is_hoisted_later_stays() -> None:
    done = from_chat(
        {"role": "system", "content": "A"},
        {"role": "developer", "content": "B"},
        user("one"),
        {"role": "assistant", "content": "two"},
        user("three"),
        {"role": "system", "content": "C"},
    )
    assert done.value["system"] == [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]
    assert [m["role"] for m in done.value["messages"]] == ["user", "assistant", "user", "system"]
    assert fates(done)["/messages/1/role"] == "approximated"


def test_trap_117_empty_text_is_not_sent() -> None:
    done = from_chat(user(), calls("c1", content=""), result("c1"), {"role": "assistant", "content": ""}, user("x"))
    assert [block["type"] for block in done.value["messages"][1]["content"]] == ["tool_use"]
    assert all(message["content"] for message in done.value["messages"])


def test_trap_118_roles_alternate() -> None:
    done = from_chat(user("a"), user("b"), {"role": "assistant", "content": "c"}, calls("c1"), result("c1"))
    assert [m["role"] for m in done.value["messages"]] == ["user", "assistant", "user"]


def test_trap_121_the_speaker_is_reported() -> None:
    assert fates(from_chat({"role": "user", "name": "Ann B", "content": "x"}))["/messages/0/name"] == "lost"


def test_trap_122_images_in_results_arrive() -> None:
    content = [{"type": "text", "text": "shot"}, {"type": "image", "source": IMAGE}]
    done = messages(
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": content}]},
        target=RESPONSES,
    )
    output = done.value["input"][1]["output"]
    assert [part["type"] for part in output] == ["input_text", "input_image"]
    assert output[1]["image_url"] == "data:image/png;base64,iVBORw0KGgo="


def test_trap_125_documents_arrive() -> None:
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    done = messages({"role": "user", "content": [{"type": "document", "source": source}]}, target=RESPONSES)
    assert done.value["input"][0]["content"][0]["file_data"] == "data:application/pdf;base64,JVBERi0="


def test_trap_126_file_ids_are_not_portable() -> None:
    parts = [{"type": "file", "file": {"file_id": "file-1"}}, {"type": "text", "text": "q"}]
    done = from_chat({"role": "user", "content": parts})
    assert "file-1" not in str(done.value)
    assert any(loss.fate == "lost" and loss.path.startswith("/messages/0") for loss in done.losses)


@pytest.mark.parametrize(
    "url", ["data:image/jpeg;base64,iVBORw0KGgo=", "DATA:image/png;charset=x;base64, iVBORw0KGgo="]
)
def test_traps_128_129_media_types_are_those_of_the_bytes(url: str) -> None:
    done = from_chat({"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]})
    assert done.value["messages"][0]["content"] == [{"type": "image", "source": IMAGE}]
    assert "approximated" in fates(done).values()


def test_trap_130_audio_is_reported() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}}
    done = from_chat({"role": "user", "content": [{"type": "text", "text": "x"}, sound]})
    assert fates(done)["/messages/0/content/1"] == "lost"


# ---- M: parameters ---------------------------------------------------------------------------------------------------


def test_trap_132_a_limit_is_added_and_said_to_be() -> None:
    done = from_responses({"type": "message", "role": "user", "content": "q"})
    assert done.value["max_tokens"] > 0
    assert [(loss.path, loss.side) for loss in done.losses if loss.fate == "added"] == [("/max_tokens", "target")]


def test_trap_133_temperature_fits_and_excludes_top_p() -> None:
    done = from_chat(user(), temperature=1.6, top_p=0.9)
    assert done.value["temperature"] == 1 and "top_p" not in done.value
    assert fates(done)["/temperature"] == "approximated" and fates(done)["/top_p"] == "lost"
    assert done.http["headers"]["anthropic-version"] == "2023-06-01"


def test_trap_134_blank_stop_texts_are_reported() -> None:
    done = from_chat(user(), stop="\n")
    assert "stop_sequences" not in done.value
    assert fates(done)["/stop"] == "lost"
    assert from_chat(user(), stop=["a"]).value["stop_sequences"] == ["a"]


def test_trap_135_what_there_is_no_word_for_is_reported() -> None:
    done = from_chat(user(), seed=1, logprobs=True)
    assert fates(done, "lost").keys() >= {"/seed"}
    assert [loss.fate for loss in done.losses if loss.capability == "include"] == ["lost"]


def test_trap_136_service_tiers_are_translated() -> None:
    assert from_chat(user(), service_tier="default").value["service_tier"] == "standard_only"
    done = from_chat(user(), service_tier="flex")
    assert "service_tier" not in done.value and fates(done)["/service_tier"] == "lost"


def test_trap_139_cache_markers_stay_in_place_none_added() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    body = {
        "system": [{"type": "text", "text": "a", **mark}, {"type": "text", "text": "b", **mark}],
        "tools": [{"name": "f", "input_schema": {}, **mark}],
    }
    said = [{"role": "user", "content": [{"type": "text", "text": "x", **mark}, {"type": "text", "text": "y", **mark}]}]
    done = messages(*said, **body)
    assert {key: done.value[key] for key in body} == body and done.value["messages"] == said


def test_trap_140_tools_and_system_text_come_before_messages() -> None:
    keys = list(from_chat({"role": "system", "content": "A"}, user(), tools=TOOLS).value)
    assert keys.index("tools") < keys.index("system") < keys.index("messages")
