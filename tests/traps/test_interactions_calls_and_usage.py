"""Traps of calls, arguments, media, usage, framing, offsets and state on Interactions, numbered as in index.toml."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

IA = "google-interactions"


def to_ia(body: Any, source: str = "openai-responses", kind: str = "request") -> ul.Converted:
    return ul.convert(body, source=source, target=IA, kind=kind)


def steps_of(*items: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for step in to_ia({"model": "m", "input": [*items]}).value["input"] if step["type"] != "thought"]


def test_trap_053_ids_may_recur_between_turns() -> None:
    turns: list[dict[str, Any]] = []
    for answer in ("A", "B"):
        turns.append({"type": "function_call", "call_id": "f:0", "name": "f", "arguments": "{}"})
        turns.append({"type": "function_call_output", "call_id": "f:0", "output": answer})
    assert [step["result"] for step in steps_of(*turns) if step["type"] == "function_result"] == ["A", "B"]


def test_trap_055_the_call_id_pairs_and_not_the_item_id() -> None:
    item = {"type": "function_call_output", "id": "fco_1", "call_id": "call_9", "output": "r"}
    assert steps_of(item) == [{"type": "function_result", "call_id": "call_9", "result": "r"}]


@pytest.mark.parametrize(
    ("arguments", "wire", "fate"),
    [
        ("{}", {}, None),
        ("", {}, "approximated"),
        ('{"a":1}', {"a": 1}, None),
        ('{"a": 1}', {"a": 1}, "approximated"),
        ("[1]", {"_raw": "[1]"}, "approximated"),
        ('{"p":["a"', {"_raw": '{"p":["a"'}, "approximated"),
        ('{"id":2512292042121000001}', {"id": 2512292042121000001}, None),
    ],
)
def test_traps_074_075_076_079_arguments_are_an_object(arguments: str, wire: Any, fate: str | None) -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": arguments}
    done = to_ia({"model": "m", "input": [call]})
    (step,) = [step for step in done.value["input"] if step["type"] == "function_call"]
    assert step["arguments"] == wire
    fates = [loss.fate for loss in done.losses if loss.path == "/input/0/arguments"]
    assert fates == ([fate] if fate else [])


def test_trap_078_no_double_encoding() -> None:
    body = {"model": "m", "input": [{"type": "function_call", "id": "c", "name": "f", "arguments": {"a": 1}}]}
    there = ul.convert(body, source=IA, target="openai-responses").value
    assert there["input"][0]["arguments"] == '{"a":1}'
    assert [step for step in to_ia(there).value["input"] if step["type"] != "thought"] == body["input"]


def test_trap_081_arguments_only_in_the_done_event() -> None:
    item = {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""}
    events = [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, "arguments": '{"a":1}'}},
        {"type": "response.completed", "response": {"id": "r", "status": "completed"}},
    ]
    out = list(ul.write_stream(events, IA))
    deltas = [event["data"]["delta"] for event in out if event["event"] == "step.delta"]
    assert deltas == [{"arguments": '{"a":1}', "type": "arguments_delta"}]


def test_trap_104_none_stays_none_and_a_choice_without_functions_is_not_sent() -> None:
    tool = {"type": "function", "name": "f", "parameters": {"type": "object"}}
    with_tool = to_ia({"model": "m", "input": "x", "tools": [tool], "tool_choice": "none"})
    assert with_tool.value["generation_config"] == {"tool_choice": "none"}
    bare = to_ia({"model": "m", "input": "x", "tools": [{"type": "web_search"}], "tool_choice": "auto"})
    assert "generation_config" not in bare.value
    assert not bare.losses  # the model chooses by default


def test_trap_105_parallel_calls_have_no_switch() -> None:
    done = to_ia({"model": "m", "input": "x", "parallel_tool_calls": False})
    assert [(loss.path, loss.capability) for loss in done.losses] == [("/parallel_tool_calls", "tools.parallel")]


def test_trap_107_a_custom_tool_is_a_function_with_one_string() -> None:
    custom = {
        "type": "custom",
        "name": "apply",
        "format": {"type": "grammar", "syntax": "lark", "definition": "start: /x/"},
    }
    call = {"type": "custom_tool_call", "call_id": "c", "name": "apply", "input": "*** patch"}
    done = to_ia({"model": "m", "tools": [custom], "input": [call]})
    assert done.value["tools"][0]["parameters"]["required"] == ["input"]
    assert done.value["input"][-1]["arguments"] == {"input": "*** patch"}
    assert done.exchange is not None
    assert done.exchange.tools == {"apply": "custom"}
    assert done.value["tools"][0]["description"].endswith("lark grammar:\nstart: /x/")
    assert {loss.fate for loss in done.losses if loss.capability == "tools.grammar"} == {"approximated"}


def test_trap_110_hosted_calls_of_another_provider_stay_behind() -> None:
    search = {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "q"},
    }
    done = to_ia({"model": "m", "input": [{"role": "user", "content": "Hi"}, search]})
    assert [step["type"] for step in done.value["input"]] == ["user_input"]
    assert any(loss.path == "/input/1" and loss.fate == "lost" for loss in done.losses)


def test_trap_122_images_in_results_arrive() -> None:
    shot = {"type": "input_image", "image_url": "data:image/png;base64,iVBO"}
    (step,) = steps_of(
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "x"}, shot]}
    )
    assert step["result"][1] == {"type": "image", "data": "iVBO", "mime_type": "image/png"}


def test_trap_126_files_of_another_provider_are_named() -> None:
    message = {
        "role": "user",
        "content": [{"type": "input_file", "file_id": "file-1"}, {"type": "input_text", "text": "x"}],
    }
    done = to_ia({"model": "m", "input": [message]})
    assert done.value["input"][0]["content"] == [{"type": "text", "text": "x"}]
    assert any(loss.path.startswith("/input/0/content/0") and loss.fate == "lost" for loss in done.losses)


def test_trap_129_data_urls_with_blanks_and_capitals() -> None:
    parts = [{"type": "input_image", "image_url": "DATA:image/png;base64, iVBO"}]
    done = to_ia({"model": "m", "input": [{"role": "user", "content": parts}]})
    assert done.value["input"][0]["content"] == [{"type": "image", "data": "iVBO", "mime_type": "image/png"}]


@pytest.mark.parametrize(
    ("code", "reason"),
    [("safety", "safety"), ("recitation", "recitation"), ("malformed_function_call", "malformed_call")],
)
def test_traps_142_143_a_block_is_not_an_empty_success(code: str, reason: str) -> None:
    body = {"id": "v1_a", "status": "failed", "errors": [{"code": code, "message": "m"}], "object": "interaction"}
    node = ul.read(body, IA, "response").dump()
    assert (node["status"], node["finish"]["reason"], "error" in node) == ("incomplete", reason, False)


def test_trap_150_thoughts_and_tool_prompts_are_in_the_sums() -> None:
    usage = {
        "total_input_tokens": 7,
        "total_tool_use_tokens": 3,
        "total_output_tokens": 26,
        "total_thought_tokens": 115,
        "total_cached_tokens": 2,
        "total_tokens": 151,
    }
    body = {"id": "v1_a", "status": "completed", "steps": [], "usage": usage, "object": "interaction"}
    node = ul.read(body, IA, "response").dump()["usage"]
    assert (node["input_tokens"], node["output_tokens"], node["total_tokens"]) == (10, 141, 151)
    assert node["output_tokens_details"]["reasoning_tokens"] == 115
    assert ul.convert(body, source=IA, target=IA, kind="response").value["usage"] == usage


def test_traps_155_156_157_158_160_bytes_however_they_are_cut() -> None:
    events = [
        ("interaction.created", '"interaction":{"id":"v","status":"in_progress"}', "\r\n"),
        ("step.start", '"index":0,"step":{"type":"model_output"}', "\n"),
        ("step.delta", '"index":0,"delta":{"type":"text","text":"\u5317\u2028"}', "\n"),
        ("step.stop", '"index":0', "\r"),
        ("interaction.completed", '"interaction":{"id":"v","status":"completed"}', "\n"),
    ]
    text = "".join(
        f'event: {name}{end}data: {{"event_type":"{name}",{rest}}}{end}{end}: ping{end}{end}'
        for name, rest, end in events
    )
    raw = f"{text}event: done\ndata: [DONE]".encode()
    whole = b"".join(ul.translate_sse([raw], source=IA, target="openai-chat"))
    bytewise = b"".join(ul.translate_sse([raw[i : i + 1] for i in range(len(raw))], source=IA, target="openai-chat"))
    assert whole == bytewise
    assert "\u5317" in whole.decode()


def test_trap_161_a_stream_without_its_end_is_not_success() -> None:
    events = [
        {"event_type": "interaction.created", "interaction": {"id": "v", "status": "in_progress"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "half"}},
    ]
    with pytest.raises(ul.RemoteProtocolError):
        ul.collect(ul.read_stream([{"event": data["event_type"], "data": data} for data in events], IA))


def test_trap_176_the_previous_response_is_not_an_interaction_of_another_provider() -> None:
    body = {"model": "m", "input": "and?", "previous_response_id": "resp_1", "background": True, "store": True}
    done = to_ia(body)
    assert (done.value["background"], done.value["store"]) == (True, True)
    # The provider never made that response: only the owner of the state has it.
    assert "previous_interaction_id" not in done.value
    lost = [loss for loss in done.losses if loss.path == "/previous_response_id"]
    assert [(loss.capability, loss.fate, loss.detail) for loss in lost] == [
        ("state.previous_response", "lost", "foreign")
    ]
    kept = ul.convert(body, source="openai-responses", target=IA, facing="client").value
    assert kept["previous_interaction_id"] == "resp_1"


def test_trap_177_the_alias_is_in_answer_and_stream() -> None:
    exchange = ul.Exchange(source=IA, target="openai-chat", alias="fast", model="vendor-2026")
    chat = {"id": "c", "object": "chat.completion", "created": 1, "model": "vendor-2026", "choices": []}
    done = ul.convert(chat, source="openai-chat", target=IA, kind="response", exchange=exchange)
    assert done.value["model"] == "fast"


def test_trap_179_offsets_count_bytes_here_and_characters_there() -> None:
    text = {
        "type": "text",
        "text": "é😀x",
        "annotations": [{"type": "url_citation", "url": "https://e.x", "start_index": 6, "end_index": 7}],
    }
    body = {
        "id": "v1_a",
        "status": "completed",
        "steps": [{"type": "model_output", "content": [text]}],
        "object": "interaction",
    }
    part = ul.read(body, IA, "response").dump()["output"][0]["content"][0]
    assert (part["annotations"][0]["start_index"], part["annotations"][0]["end_index"]) == (2, 3)
    assert ul.convert(body, source=IA, target=IA, kind="response").value == body


@pytest.mark.parametrize("offset", [1, 99])
def test_trap_179_an_offset_inside_a_character_or_outside_the_text_gives_no_span(offset: int) -> None:
    text = {
        "type": "text",
        "text": "é",
        "annotations": [{"type": "url_citation", "url": "https://e.x", "start_index": offset}],
    }
    body = {
        "id": "v1_a",
        "status": "completed",
        "steps": [{"type": "model_output", "content": [text]}],
        "object": "interaction",
    }
    annotation = ul.read(body, IA, "response").dump()["output"][0]["content"][0]["annotations"][0]
    assert "start_index" not in annotation
    assert ul.convert(body, source=IA, target=IA, kind="response").value == body
