"""The Responses adapter, feature by feature: what is canonical, what the other side gets, and what comes back."""

from __future__ import annotations

import importlib.util
import json
import pathlib
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.engine.registry import adapter
from unified_llm.foundation.json_codec import load
from unified_llm.provenance.opaque import is_sealed

P = "openai-responses"
STRICT = "openai-responses:open-responses"
Node = dict[str, Any]


def read(body: Any, kind: str = "request") -> Any:
    return load(ul.read(body, P, kind))


def same(body: Any, kind: str = "request", **options: Any) -> None:
    """The document goes through the canonical model and is itself, without a report."""
    done = ul.convert(body, source=P, target=P, kind=kind, **options)
    assert done.value == body
    assert not done.losses


def chat(**body: Any) -> ul.Converted:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **body}
    return ul.convert(body, source="openai-chat", target=P)


def fates(losses: Any) -> set[tuple[str, str]]:
    return {(loss.path, loss.fate) for loss in losses if loss.side == "source"}


def added(losses: Any) -> set[str]:
    return {loss.path for loss in losses if loss.fate == "added"}


def answer(**more: Any) -> Node:
    return {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", **more}


# ---- items and parts ------------------------------------------------------------------------------------------------


def test_encrypted_content_is_an_opaque_piece_of_this_protocol() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"}
    same({"input": [item]})
    [node] = read({"input": [item]})["input"]
    assert node["opaque"] == [{"kind": "encrypted_content", "data": "E", "origin": {"protocol": P}}]
    assert "encrypted_content" not in node


@pytest.mark.parametrize("more", [{}, {"encrypted_content": None}])
def test_absent_and_null_encrypted_content_stay_apart(more: Node) -> None:
    same({"input": [{"type": "reasoning", "id": "rs_1", "summary": [], **more}]})


def test_program_fingerprint_is_opaque() -> None:
    item = {"type": "program", "id": "cm_1", "call_id": "c", "code": "1", "fingerprint": "F"}
    same({"input": [item]})
    assert read({"input": [item]})["input"][0]["opaque"][0]["kind"] == "fingerprint"


def test_cache_breakpoint_of_a_part() -> None:
    part = {"type": "input_text", "text": "long", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "30m"}}
    body = {"input": [{"role": "user", "content": [part]}]}
    same(body)
    assert read(body)["input"][0]["content"][0]["cache"] == {"mode": "explicit", "ttl": "30m"}


def test_an_item_with_nothing_but_an_id_is_a_reference() -> None:
    same({"input": [{"id": "msg_1"}]})
    assert read({"input": [{"id": "msg_1"}]})["input"][0]["type"] == "item_reference"


def test_canonical_input_audio_is_flat() -> None:
    part = {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}}
    body = {"input": [{"role": "user", "content": [part]}]}
    same(body)
    assert read(body)["input"][0]["content"] == [{"type": "input_audio", "data": "UklG", "format": "wav"}]


def test_a_slugged_type_is_the_bare_one() -> None:
    item = {"type": "openai:web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
    same(answer(output=[item]), "response")
    assert read(answer(output=[item]), "response")["output"][0]["type"] == "web_search_call"


def test_an_ill_typed_key_stays_with_its_protocol_and_is_told_to_others() -> None:
    item = {"type": "function_call", "call_id": "c", "name": "f", "arguments": {"a": 1}}
    same({"model": "m", "input": [item]})
    done = ul.convert({"model": "m", "input": [item]}, source=P, target="openai-chat")
    assert ("/input/0/arguments", "lost") in fates(done.losses)


def test_an_unknown_item_is_kept_whole_and_reported_to_others() -> None:
    body = {"model": "m", "input": [{"type": "acme:thing", "id": "x", "payload": [1]}]}
    same(body)
    assert ("/input/0", "lost") in fates(ul.convert(body, source=P, target="openai-chat").losses)


# ---- requests from elsewhere ----------------------------------------------------------------------------------------


def test_defaults_that_differ_are_said() -> None:
    schema = {"type": "object", "properties": {}}
    done = chat(tools=[{"type": "function", "function": {"name": "f", "parameters": schema}}])
    assert done.value["store"] is False
    assert done.value["tools"] == [{"type": "function", "name": "f", "parameters": schema, "strict": False}]
    assert {"/store", "/tools/0/strict"} <= added(done.losses)


def test_what_was_said_is_not_added() -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema, "strict": True}}
    done = chat(tools=[tool], store=True)
    assert done.value["store"] is True
    assert done.value["tools"][0]["strict"] is True
    assert not done.losses


def test_the_least_output_is_sixteen() -> None:
    done = chat(max_completion_tokens=5)
    assert done.value["max_output_tokens"] == 16
    assert ("/max_completion_tokens", "approximated") in fates(done.losses)
    same({"model": "m", "input": "Hi", "max_output_tokens": 5})


@pytest.mark.parametrize("key", ["presence_penalty", "frequency_penalty"])
def test_penalties_are_open_responses_only(key: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], key: 0.5}
    assert (f"/{key}", "lost") in fates(ul.convert(body, source="openai-chat", target=P).losses)
    assert ul.convert(body, source="openai-chat", target=STRICT).value[key] == 0.5


def test_instructions_in_parts_become_one_text() -> None:
    parts = [{"type": "input_text", "text": "A"}, {"type": "input_text", "text": "B", "cache": {"mode": "explicit"}}]
    done = ul.write({"model": "m", "instructions": parts, "input": "Hi"}, P)
    assert done.value["instructions"] == "A\n\nB"
    assert fates(done.losses) == {("/instructions", "approximated"), ("/instructions/1/cache", "lost")}


def test_reasoning_controls_of_others_are_told() -> None:
    done = ul.write({"model": "m", "input": "Hi", "reasoning": {"control": "disabled", "budget_tokens": 9}}, P)
    assert done.value["reasoning"] == {"effort": "none"}
    assert fates(done.losses) == {("/reasoning/control", "approximated"), ("/reasoning/budget_tokens", "lost")}


def test_the_model_of_the_target_wins() -> None:
    body = {"model": "alias", "input": "Hi"}
    assert ul.convert(body, source=P, target=P, model="real").value["model"] == "real"


def test_bare_base64_becomes_a_data_url() -> None:
    part = {"type": "input_file", "file_data": "JVBE", "media_type": "application/pdf", "filename": "a.pdf"}
    node = {"model": "m", "input": [{"type": "message", "role": "user", "content": [part]}]}
    from unified_llm.engine.pairs.writing import Writer
    from unified_llm_openai.responses.request.document import write_request

    writer = Writer(adapter(P), source="google-generate-content")
    wire = writer.root(write_request, node)
    [file] = wire["input"][0]["content"]
    assert file == {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"}


# ---- answers --------------------------------------------------------------------------------------------------------

COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 7,
    "model": "m-2026",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hei"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
}


def test_an_answer_of_another_protocol_has_what_clients_demand() -> None:
    done = ul.convert(COMPLETION, source="openai-chat", target=P, kind="response")
    value = done.value
    assert (value["id"], value["object"], value["created_at"], value["status"]) == (
        "chatcmpl-1",
        "response",
        7,
        "completed",
    )
    assert (value["tools"], value["tool_choice"], value["parallel_tool_calls"]) == ([], "auto", True)
    [message] = value["output"]
    assert message["id"].startswith("msg_ulm_")
    assert message["status"] == "completed"
    assert message["content"] == [{"type": "output_text", "text": "Hei", "annotations": []}]
    assert value["usage"]["input_tokens_details"]["cached_tokens"] == 0
    assert {"/tools", "/output/0/id", "/output/0/status"} <= added(done.losses)


def test_the_exchange_echoes_the_clients_settings() -> None:
    tool = {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": True}
    body = {"model": "fast", "input": "Hi", "tools": [tool], "tool_choice": "required", "temperature": 0.5}
    asked = ul.convert(body, source=P, target="openai-chat")
    done = ul.convert(COMPLETION, source="openai-chat", target=P, kind="response", exchange=asked.exchange)
    assert done.value["model"] == "fast"
    assert done.http["headers"] == {"x-resolved-model": "m-2026"}
    assert (done.value["tools"], done.value["tool_choice"], done.value["temperature"]) == ([tool], "required", 0.5)
    assert "/tools" not in added(done.losses)


def test_further_choices_are_lost_one_by_one() -> None:
    second = {"index": 1, "message": {"role": "assistant", "content": "Hallo"}, "finish_reason": "stop"}
    body = {**COMPLETION, "choices": [*COMPLETION["choices"], second]}
    done = ul.convert(body, source="openai-chat", target=P, kind="response")
    assert ("/choices/1", "lost") in fates(done.losses)


def test_incomplete_details_are_the_finish() -> None:
    body = answer(status="incomplete", incomplete_details={"reason": "max_output_tokens"}, output=[])
    same(body, "response")
    assert read(body, "response")["finish"] == {"reason": "length"}


def test_an_unknown_reason_is_kept() -> None:
    body = answer(status="incomplete", incomplete_details={"reason": "steered"}, output=[])
    same(body, "response")
    assert read(body, "response")["finish"] == {"reason": "other", "native": "steered"}


def test_names_ids_and_lowered_tools_are_restored() -> None:
    call = {"type": "function_call", "call_id": "short", "name": "patch", "arguments": '{"input":"*** Begin"}'}
    exchange = ul.Exchange(source=P, target="openai-chat", ids={"short": "long"}, tools={"patch": "custom"})
    wire = ul.write({"id": "r", "output": [call]}, P, "response", exchange=exchange).value
    [item] = wire["output"]
    assert (item["type"], item["call_id"], item["input"]) == ("custom_tool_call", "long", "*** Begin")


# ---- opaque pieces of others ----------------------------------------------------------------------------------------


def signed(kind: str = "reasoning") -> Node:
    opaque = [{"kind": "signature", "data": "S==", "origin": {"protocol": "anthropic-messages"}}]
    if kind == "reasoning":
        return {
            "type": "reasoning",
            "summary": [],
            "content": [{"type": "reasoning_text", "text": "T"}],
            "opaque": opaque,
        }
    return {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}", "opaque": opaque}


def test_a_foreign_piece_is_not_sent_to_a_provider() -> None:
    body = {"model": "m", "input": [signed(), {"type": "message", "role": "assistant", "content": "A"}]}
    done = ul.write(body, P)
    assert "S==" not in json.dumps(done.value)
    assert [item["type"] for item in done.value["input"]] == ["message"]
    assert ("/input/0", "lost") in fates(done.losses)


@pytest.mark.parametrize("kind", ["reasoning", "function_call"])
def test_a_foreign_piece_travels_through_a_client_and_back(kind: str) -> None:
    node = {"id": "resp_1", "output": [signed(kind)]}
    done = ul.write(node, P, "response", facing="client", secret="s")
    slots = [item["encrypted_content"] for item in done.value["output"] if item["type"] == "reasoning"]
    assert len(slots) == 1
    assert is_sealed(slots[0])
    assert {loss.fate for loss in done.losses if loss.capability == "reasoning.signature"} == {"parked"}
    back = ul.read({"model": "m", "input": done.value["output"]}, P, secret="s").dump()["input"]
    assert back == [signed(kind)]


def test_a_damaged_envelope_goes() -> None:
    wire = ul.write({"id": "resp_1", "output": [signed()]}, P, "response", facing="client").value["output"][0]
    broken = {**wire, "encrypted_content": wire["encrypted_content"][:-8] + "AAAAAAA="}
    [item] = read({"input": [broken]})["input"]
    assert "opaque" not in item


# ---- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, {"type": "invalid_request_error", "code": "context_length_exceeded"}, "context_overflow"),
        (401, {"type": "invalid_request_error", "code": "invalid_api_key"}, "authentication"),
        (404, {"type": "invalid_request_error", "code": None}, "not_found"),
        (429, {"type": "insufficient_quota", "code": "insufficient_quota"}, "quota"),
        (429, {"type": "tokens", "code": "rate_limit_exceeded"}, "rate_limit"),
        (429, {"type": "too_many_requests", "code": None}, "rate_limit"),
        (500, {"type": "model_error", "code": None}, "server_error"),
        (503, {"type": "server_error", "code": None}, "overloaded"),
    ],
)
def test_error_types(status: int, error: Node, kind: str) -> None:
    body = {"error": {"message": "m", "param": None, **error}}
    done = ul.convert(body, source=P, target=P, kind="error", http={"status": status})
    assert done.value == body
    assert done.http["status"] == status
    from unified_llm.engine.pairs.reading import Reader
    from unified_llm_openai.responses.errors import read_error

    assert Reader(adapter(P), http={"status": status}).root(read_error, body)["error"]["type"] == kind


def test_open_responses_has_five_words_for_errors() -> None:
    body = {"error": {"message": "m", "type": "insufficient_quota", "code": "insufficient_quota", "param": None}}
    done = ul.convert(body, source="openai-chat", target=STRICT, kind="error", http={"status": 429})
    assert done.value["error"]["type"] == "too_many_requests"


# ---- other documents ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("compact_request", {"model": "m", "input": "Hi"}),
        ("compact_response", {"id": "c", "object": "response.compaction", "created_at": 1, "output": []}),
        ("count_tokens_request", {"model": "m", "input": "Hi", "personality": "terse"}),
        ("count_tokens_response", {"object": "response.input_tokens", "input_tokens": 4}),
        ("input_items", {"object": "list", "data": [{"role": "user", "content": "x"}], "has_more": False}),
        ("deleted", {"id": "resp_1", "object": "response.deleted", "deleted": True}),
        ("models", {"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "o"}]}),
    ],
)
def test_small_documents_are_themselves(kind: str, body: Node) -> None:
    same(body, kind)


def test_paths() -> None:
    paths = [
        ul.convert({"model": "m", "input": "x"}, source=P, target=P, kind=kind).http["path"]
        for kind in ("request", "compact_request", "count_tokens_request")
    ]
    assert paths == ["responses", "responses/compact", "responses/input_tokens"]


# ---- strict Open Responses ------------------------------------------------------------------------------------------

KEYS = 31


def validator(name: str) -> Any:
    from llm_comply.schema import SpecLoader

    spec = importlib.util.find_spec("llm_comply")
    assert spec is not None
    assert spec.origin is not None
    loader = SpecLoader(str(pathlib.Path(spec.origin).parent / "specs" / "openresponses.json"))
    return lambda value: loader.validate(value, name)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "message",
    [
        {"content": "Hei"},
        {"content": None, "refusal": "No."},
        {
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"content": "Hei", "reasoning_content": "Hm"},
    ],
)
def test_strict_answers_pass_the_schema(message: Node) -> None:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    body = {**COMPLETION, "choices": [choice]}
    value = ul.convert(body, source="openai-chat", target=STRICT, kind="response").value
    assert len(value) >= KEYS
    assert validator("ResponseResource")(value) == []


def test_strict_echo_of_a_schema_is_null() -> None:
    format_ = {"type": "json_schema", "name": "n", "schema": {"type": "object"}}
    body = answer(output=[], text={"format": format_})
    value = ul.convert(body, source=P, target=STRICT, kind="response").value
    assert value["text"]["format"] == {
        "type": "json_schema",
        "name": "n",
        "description": None,
        "schema": None,
        "strict": False,
    }


def test_strict_types_that_are_not_its_own_have_a_slug() -> None:
    item = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
    body = answer(output=[item], tools=[{"type": "web_search"}])
    value = ul.convert(body, source=P, target=STRICT, kind="response").value
    assert value["output"][0]["type"] == "openai:web_search_call"
    assert value["tools"][0]["type"] == "openai:web_search"
