"""Known bugs of other translators with documents of the Responses API, one test each."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from unified_llm.engine.registry import adapter
from unified_llm.foundation.json_codec import load

P = "openai-responses"
C = "openai-chat"
Node = dict[str, Any]
USER = {"role": "user", "content": "Hi"}


def to_responses(**body: Any) -> ul.Converted:
    return ul.convert({"model": "m", "messages": [USER], **body}, source=C, target=P)


def answered(message: Node, finish: str | None = "stop", **more: Any) -> ul.Converted:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], **more}
    return ul.convert(body, source=C, target=P, kind="response")


def fates(done: ul.Converted) -> set[tuple[str, str]]:
    return {(loss.path, loss.fate) for loss in done.losses if loss.side == "source"}


def test_trap_074_a_call_without_arguments() -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}]
    done = to_responses(messages=[USER, {"role": "assistant", "tool_calls": calls}])
    assert done.value["input"][1]["arguments"] == "{}"


@pytest.mark.parametrize("arguments", ['"\\"\\""', "[1]", '{"p":["a"', '{"id":2512292042121000001}'])
def test_traps_075_076_079_arguments_are_text_as_the_model_wrote_it(arguments: str) -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}]
    assert answered({"content": None, "tool_calls": calls}, "tool_calls").value["output"][0]["arguments"] == arguments


@pytest.mark.parametrize("choice", ["none", "auto", "required"])
def test_trap_104_a_choice_is_what_it_was(choice: str) -> None:
    assert to_responses(tool_choice=choice).value["tool_choice"] == choice


def test_trap_105_parallel_calls_alone_make_no_choice() -> None:
    value = to_responses(parallel_tool_calls=False).value
    assert value["parallel_tool_calls"] is False
    assert "tool_choice" not in value


def test_trap_106_allowed_tools_stay_a_subset() -> None:
    one = {"type": "function", "function": {"name": "a"}}
    done = to_responses(tool_choice={"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [one]}})
    tools = [{"type": "function", "name": "a"}]
    assert done.value["tool_choice"] == {"type": "allowed_tools", "mode": "auto", "tools": tools}


def test_trap_107_custom_tools_and_their_calls() -> None:
    grammar = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /.+/s"}}
    calls = [{"id": "c", "type": "custom", "custom": {"name": "apply_patch", "input": "*** Begin"}}]
    messages = [
        USER,
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
    ]
    tools = [{"type": "custom", "custom": {"name": "apply_patch", "format": grammar}}]
    value = to_responses(tools=tools, messages=messages).value
    flat = {"type": "grammar", "syntax": "lark", "definition": "start: /.+/s"}
    assert value["tools"] == [{"type": "custom", "name": "apply_patch", "format": flat}]
    assert [item["type"] for item in value["input"][1:]] == ["custom_tool_call", "custom_tool_call_output"]


def test_trap_108_a_tool_without_a_form_is_told() -> None:
    done = ul.write({"model": "m", "input": "x", "tools": [{"type": "maps", "latitude": 1}]}, P)
    assert "tools" not in done.value
    assert fates(done) == {("/tools/0", "lost")}


def test_trap_112_mcp_items_are_one_loss_each() -> None:
    items = [
        {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
    ]
    done = ul.convert({"model": "m", "input": items}, source=P, target=C)
    assert {("/input/0", "lost"), ("/input/1", "lost")} <= fates(done)
    assert ul.convert({"model": "m", "input": items}, source=P, target=P).value["input"] == items


def test_trap_113_a_failed_tool_is_a_legal_item() -> None:
    from unified_llm.engine.pairs.writing import Writer
    from unified_llm_openai.responses.request.document import write_request

    output = {"type": "function_call_output", "call_id": "t", "output": "boom", "is_error": True}
    writer = Writer(adapter(P), source="anthropic-messages")
    wire = writer.root(write_request, {"model": "m", "input": [output], "store": True})
    assert wire["input"] == [{"type": "function_call_output", "call_id": "t", "output": "boom", "status": "incomplete"}]
    assert [(keys, fate) for _, keys, fate, _, _ in writer.raw] == [(("is_error",), "approximated")]


def test_trap_118_neighbors_of_one_role_stay_as_they_are() -> None:
    messages = [USER, {"role": "user", "content": "b"}, {"role": "assistant", "content": "c"}]
    value = to_responses(messages=messages).value
    assert [item["content"] for item in value["input"]] == ["Hi", "b", "c"]


def test_trap_119_assistant_history_is_output_text() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    value = to_responses(messages=[USER, {"role": "assistant", "content": content}]).value
    assert [(part["type"], part["annotations"]) for part in value["input"][1]["content"]] == [("output_text", [])] * 2


def test_trap_119_one_plain_text_is_a_string() -> None:
    content = [{"type": "text", "text": "hi"}]
    value = to_responses(messages=[USER, {"role": "assistant", "content": content}]).value
    assert value["input"][1]["content"] == "hi"


def test_trap_119_an_image_of_the_assistant_is_told() -> None:
    from unified_llm.engine.pairs.writing import Writer
    from unified_llm_openai.responses.request.document import write_request

    picture = {"type": "output_image", "image_url": "data:image/png;base64,AA"}
    node = {"model": "m", "store": True, "input": [{"type": "message", "role": "assistant", "content": [picture]}]}
    writer = Writer(adapter(P), source="google-generate-content")
    writer.root(write_request, node)
    assert [(lost, fate) for lost, _, fate, _, _ in writer.raw] == [(picture, "lost")]


def test_trap_120_items_without_a_type() -> None:
    bare = {"model": "m", "input": [{"role": "user", "content": "hi"}]}
    typed = {"model": "m", "input": [{"type": "message", "role": "user", "content": "hi"}]}
    text = {"model": "m", "input": "hi"}
    wanted = [{"role": "user", "content": "hi"}]
    assert [ul.convert(body, source=P, target=C).value["messages"] for body in (bare, typed, text)] == [wanted] * 3
    assert ul.convert(bare, source=P, target=P).value == bare


def test_trap_121_a_participants_name_is_told() -> None:
    done = to_responses(messages=[{"role": "user", "name": "Ann B", "content": "x"}])
    assert fates(done) == {("/messages/0/name", "lost")}


def test_traps_134_135_settings_without_a_form_are_one_loss_each() -> None:
    done = to_responses(stop=["a"], seed=1, logit_bias={"5": 1}, store=False)
    assert fates(done) == {(f"/{key}", "lost") for key in ("stop", "seed", "logit_bias")}


def test_trap_135_log_probabilities_have_another_form() -> None:
    done = to_responses(logprobs=True, top_logprobs=2, store=False)
    assert (done.value["include"], done.value["top_logprobs"]) == (["message.output_text.logprobs"], 2)
    assert not done.losses


def test_trap_136_the_tier_asked_for_is_never_echoed() -> None:
    assert to_responses(service_tier="default").value["service_tier"] == "default"
    asked = ul.convert({"model": "m", "input": "x", "service_tier": "flex"}, source=P, target=C)
    choice = {"index": 0, "message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    done = ul.convert(body, source=C, target=P, kind="response", exchange=asked.exchange)
    assert done.value.get("service_tier") is None


def test_trap_139_cache_markers_stay_in_place() -> None:
    marked = {"type": "text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}}
    value = to_responses(messages=[{"role": "user", "content": [marked]}]).value
    assert value["input"][0]["content"][0]["prompt_cache_breakpoint"] == {"mode": "explicit"}


def test_trap_141_calls_leave_the_answer_completed() -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    value = answered({"content": None, "tool_calls": calls}, "tool_calls").value
    assert (value["status"], value["incomplete_details"]) == ("completed", None)
    assert value["output"][-1]["type"] == "function_call"


def test_trap_142_a_malformed_call_is_not_success() -> None:
    from unified_llm.engine.pairs.writing import Writer
    from unified_llm_openai.responses.response.document import write_response

    writer = Writer(adapter(P), source="google-generate-content", facing="client")
    wire = writer.root(write_response, {"id": "r", "output": [], "finish": {"reason": "malformed_call"}})
    # The API declares no word for it; a stream ends with `response.failed`.
    assert (wire["status"], wire["error"]) == ("failed", {"code": "server_error", "message": "the response failed"})
    assert [(keys, fate) for _, keys, fate, *_ in writer.raw if keys[0] == "finish"] == [
        (("finish", "reason"), "approximated")
    ]


@pytest.mark.parametrize(("word", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")])
def test_traps_143_144_147_what_was_cut_is_incomplete(word: str, reason: str) -> None:
    done = answered({"content": ""}, word, usage={"prompt_tokens": 5, "completion_tokens": 0, "total_tokens": 5})
    assert (done.value["status"], done.value["incomplete_details"]) == ("incomplete", {"reason": reason})
    assert done.value["usage"]["input_tokens"] == 5


def test_trap_145_a_pause_is_not_an_end() -> None:
    from unified_llm.engine.pairs.writing import Writer
    from unified_llm_openai.responses.response.document import write_response

    writer = Writer(adapter(P), source="anthropic-messages", facing="client")
    wire = writer.root(write_response, {"id": "r", "output": [], "finish": {"reason": "pause"}})
    # The SDK declares two reasons: max_output_tokens and content_filter.
    assert (wire["status"], wire["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})


@pytest.mark.parametrize("word", ["pause", "context_window", "recitation", "malformed_call", "another"])
def test_a_reason_of_a_server_stays_as_it_is_at_home(word: str) -> None:
    body = {
        "id": "r",
        "object": "response",
        "status": "incomplete",
        "incomplete_details": {"reason": word},
        "output": [],
    }
    assert ul.convert(body, source=P, target=P, kind="response").value == body
    node = ul.read(body, P, "response").model_dump(exclude_unset=True)
    node["finish"]["reason"] = "length"
    edited = ul.write(node, P, "response").value
    assert edited["incomplete_details"] == {"reason": "max_output_tokens"}


@pytest.mark.parametrize("stream", [False, True])
def test_trap_145_a_pause_sent_as_another_reason_is_reported(stream: bool) -> None:
    answer = {"id": "r", "model": "m", "output": [], "status": "incomplete", "finish": {"reason": "pause"}}
    if stream:
        done = ul.write_stream(ul.decompose(answer), P)
        (wire,) = [frame["data"]["response"] for frame in done if frame["event"] == "response.incomplete"]
    else:
        done = ul.write(answer, P, "response")
        wire = done.value
    assert wire["incomplete_details"] == {"reason": "max_output_tokens"}
    assert "approximated" in {loss.fate for loss in done.losses if loss.path.endswith("/finish/reason")}


def test_trap_146_a_refusal_is_a_part() -> None:
    value = answered({"content": None, "refusal": "No."}).value
    assert value["output"][0]["content"] == [{"type": "refusal", "refusal": "No."}]
    assert value["status"] == "completed"


def test_trap_149_sums_include_the_cache() -> None:
    usage = {
        "input_tokens": 10007,
        "output_tokens": 5,
        "total_tokens": 10012,
        "input_tokens_details": {"cached_tokens": 9000, "cache_write_tokens": 1000},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    wire = ul.write({"id": "r", "output": [], "usage": usage}, P, "response").value
    assert wire["usage"] == usage
    assert load(ul.read(wire, P, "response"))["usage"] == usage


def test_trap_154_usage_is_made_of_integers() -> None:
    done = answered({"content": "A"})
    assert done.value["usage"] == {
        "input_tokens": 0,
        "output_tokens": 0,
        "total_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    assert "/usage" in {loss.path for loss in done.losses if loss.fate == "added"}


def test_trap_167_required_fields_are_there_and_lean_answers_are_read() -> None:
    lean = {"id": "r", "object": "response", "output": []}
    assert ul.convert(lean, source=P, target=P, kind="response").value == lean
    value = answered({"content": "A"}).value
    wanted = {"id", "created_at", "model", "object", "output", "parallel_tool_calls", "tool_choice", "tools"}
    assert all(value[key] is not None for key in wanted)


def test_traps_170_172_errors_of_other_surfaces() -> None:
    body = {"error": {"message": "m", "type": "rate_limit_error", "param": None, "code": None}}
    done = ul.convert(body, source=C, target=P, kind="error", http={"status": 429, "headers": {"Retry-After": "7"}})
    assert (done.value, done.http["status"], done.http["headers"]) == (body, 429, {"retry-after": "7"})
    overflow = {"error": {"message": "input token count exceeds the limit", "type": "invalid_request_error"}}
    done = ul.convert(overflow, source=C, target=P, kind="error", http={"status": 400})
    assert done.value["error"]["code"] == "context_length_exceeded"


def test_trap_175_a_previous_response_is_told() -> None:
    body = {"model": "m", "previous_response_id": "resp_1", "input": "and?"}
    assert ("/previous_response_id", "lost") in fates(ul.convert(body, source=P, target=C))


def test_trap_177_the_alias_is_the_model_of_the_answer() -> None:
    asked = ul.convert({"model": "fast", "input": "x"}, source=P, target=C, model="vendor/x-2026")
    choice = {"index": 0, "message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "vendor/x-2026", "choices": [choice]}
    done = ul.convert(body, source=C, target=P, kind="response", exchange=asked.exchange)
    assert done.value["model"] == "fast"
    assert done.http["headers"]["x-resolved-model"] == "vendor/x-2026"


def test_trap_180_a_lone_surrogate() -> None:
    body = b'{"model":"m","input":[{"type":"function_call_output","call_id":"c","output":"\\ud83d"}]}'
    done = ul.convert(body, source=P, target=P)
    assert done.value["input"][0]["output"] == "\ufffd"
    assert fates(done) == {("/input/0/output", "approximated")}
