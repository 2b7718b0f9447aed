"""Traps of chat requests; expected values are those of the trap, not of the code."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from traps.chat_wire import CHAT, assistant, completion, output, read, request, same, wire_call

Node = dict[str, Any]


def write(*items: Node, protocol: str = CHAT, **settings: Any) -> Any:
    return ul.write({"model": "m", "input": list(items), **settings}, protocol)


def call(arguments: str = "{}", call_id: str = "c1", name: str = "f") -> Node:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


SIGNED = {"google": {"thought_signature": "S"}}


def test_trap_006_unknown_keys_of_a_call_come_back() -> None:
    assert not same(request(assistant(wire_call(extra_content=SIGNED, vendor_note={"a": 1}))))
    assert not same(completion({"content": None, "tool_calls": [wire_call(extra_content=SIGNED)]}), "response")


def test_trap_021_anothers_ciphertext_is_withheld_whole() -> None:
    piece = {"kind": "encrypted_content", "data": "X", "origin": {"protocol": "openai-responses"}}
    done = write({"type": "reasoning", "summary": [], "opaque": [piece]}, call(), protocol="openai-chat:groq")
    assert "X" not in str(done.value).replace("'", "")
    assert [(loss.path, loss.fate, loss.detail) for loss in done.losses] == [("/input/0/opaque", "lost", "foreign")]


def test_trap_023_reasoning_never_becomes_visible_text() -> None:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "T"}]}
    done = write(thought, {"type": "message", "role": "assistant", "content": "A"})
    assert done.value["messages"] == [{"role": "assistant", "content": "A"}]
    assert [loss.path for loss in done.losses] == ["/input/0"]


def test_trap_024_empty_content_hides_nothing() -> None:
    piece = {"kind": "encrypted_content", "data": "E", "origin": {"protocol": "openai-responses"}}
    item = {"type": "reasoning", "content": [], "summary": [{"type": "summary_text", "text": "s"}], "opaque": [piece]}
    done = ul.write({"id": "r", "output": [item]}, CHAT, "response")
    message = done.value["choices"][0]["message"]
    assert message["reasoning_content"] == "s"
    assert len(message["reasoning_details"]) == 1


def test_trap_028_three_reasoning_items_stay_three() -> None:
    origin = {"protocol": "anthropic-messages"}
    items = [
        {
            "type": "reasoning",
            "summary": [],
            "content": [{"type": "reasoning_text", "text": text}] if text else [],
            "opaque": [{"kind": "signature", "data": data, "origin": origin}],
        }
        for text, data in (("alpha", "S1"), ("", "D"), ("beta", "S2"))
    ]
    answer = ul.write({"id": "r", "output": [*items, call()]}, CHAT, "response", secret="s").value
    back = ul.read(request(answer["choices"][0]["message"]), CHAT, secret="s").dump()["input"]
    assert [item["opaque"][0]["data"] for item in back[:3]] == ["S1", "D", "S2"]


def test_trap_042_the_field_a_thinking_server_demands() -> None:
    done = write(call(), output("r"), protocol="openai-chat:deepseek")
    assert done.value["messages"][0]["reasoning_content"] == ""
    assert [loss.capability for loss in done.losses] == ["reasoning.text"]
    kept = request({**assistant(wire_call()), "reasoning_content": "why"})
    assert not same(kept)


def test_trap_043_reasoning_goes_to_servers_that_want_it_and_to_no_other() -> None:
    thought = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "T"}]}
    wire = write(thought, call(), protocol="openai-chat:moonshot").value["messages"]
    assert wire[0]["reasoning_content"] == "T"
    assert "reasoning_content" not in write(thought, call()).value["messages"][0]


def test_trap_045_no_invented_reasoning() -> None:
    text = {"type": "message", "role": "assistant", "content": "Checking."}
    assert (
        "Checking" not in write(text, call(), protocol="openai-chat:deepseek").value["messages"][0]["reasoning_content"]
    )


def test_trap_046_think_tags_are_text() -> None:
    assert read(completion({"content": "<think>a</think>b"}), "response")["output"][0]["content"] == [
        {"type": "output_text", "text": "<think>a</think>b"}
    ]


def test_trap_053_ids_that_recur_keep_both_results() -> None:
    turn = [assistant(wire_call(call_id="f:0")), {"role": "tool", "tool_call_id": "f:0", "content": "A"}]
    again = [assistant(wire_call(call_id="f:0")), {"role": "tool", "tool_call_id": "f:0", "content": "B"}]
    assert [item["output"] for item in read(request(*turn, *again))["input"] if "output" in item] == ["A", "B"]


def test_trap_054_a_result_without_id_pairs_with_the_only_open_call() -> None:
    body = request(assistant(wire_call()), {"role": "tool", "content": "r"})
    assert read(body)["input"][1]["call_id"] == "c1"
    same(body)
    with pytest.raises(ul.InvalidBody) as caught:
        read(request(assistant(wire_call(), wire_call(call_id="c2")), {"role": "tool", "content": "r"}))
    assert "/messages/1" in str(caught.value)


def test_trap_055_the_call_id_is_sent_not_the_item_id() -> None:
    done = write({**call(call_id="call_9"), "id": "fc_1"}, output("r", "call_9", id="fco_1"))
    assert done.value["messages"][0]["tool_calls"][0]["id"] == "call_9"
    assert done.value["messages"][1]["tool_call_id"] == "call_9"


@pytest.mark.parametrize("arguments", ["", None])
def test_trap_074_a_call_without_arguments_has_an_empty_object(arguments: Any) -> None:
    body = request(assistant(wire_call(arguments)))
    assert read(body)["input"][0]["arguments"] == "{}"
    same(body)


@pytest.mark.parametrize("arguments", ["[1]", '{"p":["a"', '{"id":2512292042121000001}', '{"a":1}'])
def test_traps_075_076_078_079_arguments_are_text_and_stay_it(arguments: str) -> None:
    assert read(request(assistant(wire_call(arguments))))["input"][0]["arguments"] == arguments
    wire = write(call(arguments)).value["messages"][0]["tool_calls"][0]["function"]["arguments"]
    assert wire == arguments


def test_trap_088_finish_of_an_answer_without_the_call_it_speaks_of() -> None:
    body = completion({"content": "x", "tool_calls": []}, "tool_calls")
    assert read(body, "response")["finish"]["reason"] == "stop"
    same(body, "response")


def test_trap_104_none_stays_none() -> None:
    assert read(request(tool_choice="none"))["tool_choice"] == "none"
    assert write(tool_choice="none").value["tool_choice"] == "none"


def test_trap_105_parallel_tool_calls_makes_no_choice() -> None:
    wire = write(parallel_tool_calls=False).value
    assert wire["parallel_tool_calls"] is False and "tool_choice" not in wire


def test_trap_106_allowed_tools_stay_a_subset() -> None:
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "a"}]}
    allowed = write(tool_choice=choice).value["tool_choice"]["allowed_tools"]
    assert allowed["tools"] == [{"type": "function", "function": {"name": "a"}}]


def test_trap_107_custom_tools_and_their_calls() -> None:
    item = {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "*** Begin"}
    done = write(item, {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"})
    assert done.value["messages"] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "apply_patch", "input": "*** Begin"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
    ]


def test_trap_108_a_hosted_tool_is_reported() -> None:
    done = write(tools=[{"type": "computer_use_preview", "display_width": 1, "display_height": 1}])
    assert done.value.get("tools", []) == []
    assert [(loss.path, loss.capability, loss.fate) for loss in done.losses] == [
        ("/tools/0", "tools.hosted.computer", "lost")
    ]


def test_trap_112_mcp_items_are_losses_not_exceptions() -> None:
    done = write(
        {"type": "mcp_list_tools", "id": "l", "server_label": "s", "tools": []},
        {"type": "mcp_approval_response", "approval_request_id": "r", "approve": True},
    )
    assert [loss.path for loss in done.losses] == ["/input/0", "/input/1"]
    assert {loss.capability for loss in done.losses} <= {"tools.mcp", "tools.mcp.approval"}


def test_trap_113_the_text_of_a_failed_result_is_intact_between_the_tags_that_say_so() -> None:
    done = write(call(), output("boom", is_error=True))
    content = "<tool_error>boom</tool_error>"
    assert done.value["messages"][1] == {"role": "tool", "tool_call_id": "c1", "content": content}
    assert {(loss.path, loss.fate) for loss in done.losses} == {
        ("/input/1/is_error", "approximated"),
        ("/input/1/output", "approximated"),
    }


def test_traps_114_115_system_messages_stay_in_place() -> None:
    roles = ["system", "developer", "user", "system", "user"]
    body = request(*[{"role": role, "content": str(n)} for n, role in enumerate(roles)])
    assert [item["role"] for item in read(body)["input"]] == roles
    assert not same(body)


def test_trap_116_roles_are_the_dialects() -> None:
    item = {"type": "message", "role": "developer", "content": "Be terse"}
    assert write(item).value["messages"][0]["role"] == "developer"
    done = write(item, protocol="openai-chat:groq")
    assert done.value["messages"][0]["role"] == "system"
    assert [loss.fate for loss in done.losses] == ["approximated"]


def test_trap_118_neighbors_of_one_role_stay_apart() -> None:
    assert not same(request({"role": "user", "content": "a"}, {"role": "user", "content": "b"}))


def test_trap_119_assistant_text_is_output_text() -> None:
    (item,) = read(request({"role": "assistant", "content": [{"type": "text", "text": "hi"}]}))["input"]
    assert item["content"] == [{"type": "output_text", "text": "hi"}]


IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,iVBO"}


def test_traps_122_123_media_of_results_follow_all_results() -> None:
    shot = output([{"type": "input_text", "text": "shot"}, IMAGE], "c1")
    done = write(
        call(call_id="c1"),
        call(call_id="c2"),
        shot,
        output("r", "c2"),
        {"type": "message", "role": "user", "content": "go"},
    )
    assert done.value["messages"][1:] == [
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "shot"}]},
        {"role": "tool", "tool_call_id": "c2", "content": "r"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Result of tool call c1:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}},
            ],
        },
        {"role": "user", "content": "go"},
    ]
    assert [(loss.path, loss.capability, loss.fate) for loss in done.losses] == [
        ("/input/2/output/1", "tools.result.media", "approximated")
    ]


def test_trap_126_a_file_id_is_kept_or_reported() -> None:
    body = request({"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]})
    assert not same(body)
    parts = [{"type": "input_image", "file_id": "file-1"}, {"type": "input_text", "text": "q"}]
    image = {"type": "message", "role": "user", "content": parts}
    assert [loss.fate for loss in write(image).losses] == ["lost"]


def test_trap_130_audio_without_a_format_word() -> None:
    part = {"type": "input_audio", "data": "UklG", "media_type": "audio/mpeg"}
    (message,) = write({"type": "message", "role": "user", "content": [part]}).value["messages"]
    assert message["content"] == [{"type": "input_audio", "input_audio": {"data": "UklG", "format": "mp3"}}]


def test_trap_132_the_limits_spelling_is_the_dialects() -> None:
    assert write(max_output_tokens=9).value["max_completion_tokens"] == 9
    assert write(max_output_tokens=9, protocol="openai-chat:deepseek").value["max_tokens"] == 9


def test_trap_135_chats_own_sampling_has_canonical_settings() -> None:
    settings = {"n": 2, "seed": 1, "logit_bias": {"5": -1}, "presence_penalty": 1, "frequency_penalty": 1}
    got = read(request(**settings))
    assert {key: got[key] for key in settings} == settings


def test_trap_136_the_tier_is_passed_on() -> None:
    assert write(service_tier="default").value["service_tier"] == "default"
    assert "service_tier" not in ul.write({"id": "r", "output": []}, CHAT, "response").value


def test_trap_140_the_same_request_gives_the_same_bytes() -> None:
    schema = {"type": "object", "properties": {"z": {}, "a": {}}}
    body = request(
        {"role": "user", "content": "x"}, tools=[{"type": "function", "function": {"name": "f", "parameters": schema}}]
    )
    first, second = (ul.convert(body, source=CHAT, target=CHAT).value for _ in range(2))
    assert list(first) == list(second)
    assert list(first["tools"][0]["function"]["parameters"]["properties"]) == ["z", "a"]
