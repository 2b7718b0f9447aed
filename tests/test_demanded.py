"""What a target requires of a request and its source does not have, or has in a word of its own."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from corpus import by_id

Node = dict[str, Any]
CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
CONTENT, INTERACTIONS = "google-generate-content", "google-interactions"
ASKED: Node = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
SAID: Node = {"model": "gpt-5.6", "input": "Hi"}
WEATHER: Node = {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}}


def fates(done: ul.Converted, fate: str) -> list[str]:
    return [loss.path for loss in done.losses if loss.fate == fate]


@pytest.mark.parametrize(
    ("target", "path"),
    [(CHAT, "/response_format/json_schema/name"), (RESPONSES, "/text/format/name")],
)
def test_a_schema_gets_the_name_that_is_demanded(target: str, path: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    body = {**ASKED, "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema}}
    done = ul.convert(body, source=CONTENT, target=target, model="gpt-5.6")
    format_ = done.value["response_format"]["json_schema"] if target == CHAT else done.value["text"]["format"]
    assert format_["name"] == "response" and path in fates(done, "added")


def test_a_name_that_was_said_stays() -> None:
    format_ = {"type": "json_schema", "name": "person", "schema": {"type": "object", "properties": {}}}
    done = ul.convert({**SAID, "text": {"format": format_}}, source=RESPONSES, target=CHAT)
    assert done.value["response_format"]["json_schema"]["name"] == "person"


def test_chat_cannot_be_told_of_tools_that_are_not_there() -> None:
    done = ul.convert({**SAID, "parallel_tool_calls": False}, source=RESPONSES, target=CHAT)
    assert "parallel_tool_calls" not in done.value and fates(done, "lost") == ["/parallel_tool_calls"]


@pytest.mark.parametrize("said", [{"tool_choice": "auto"}, {"parallel_tool_calls": True}])
def test_chat_is_told_nothing_of_tools_that_are_not_there(said: Node) -> None:
    (key,) = said
    done = ul.convert({**SAID, **said}, source=RESPONSES, target=CHAT)
    # Both are defaults: where there are no tools, nothing is lost with them.
    assert key not in done.value and fates(done, "lost") == []
    kept = ul.convert({**SAID, **said, "tools": [WEATHER]}, source=RESPONSES, target=CHAT)
    assert kept.value[key] == said[key] and f"/{key}" not in fates(kept, "lost")
    own = {"model": "m", "messages": [], **said}
    assert ul.convert(own, source=CHAT, target=CHAT).value == own


def test_an_empty_list_of_tools_does_not_cross() -> None:
    done = ul.convert({**SAID, "tools": []}, source=RESPONSES, target=CHAT)
    assert "tools" not in done.value and fates(done, "approximated") == ["/tools"]


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
def test_words_of_others_become_the_nearest(target: str) -> None:
    declared = [{"functionDeclarations": [{"name": "get_weather", "parameters": {"type": "OBJECT"}}]}]
    config = {"functionCallingConfig": {"mode": "VALIDATED"}}
    body = {**ASKED, "tools": declared, "toolConfig": config}
    done = ul.convert(body, source=CONTENT, target=target, model="gpt-5.6")
    assert done.value["tool_choice"] == "auto"
    assert "/toolConfig/functionCallingConfig/mode" in fates(done, "approximated")


def test_any_is_required() -> None:
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": tools, "tool_choice": "any"}
    done = ul.convert(body, source=CHAT, target=RESPONSES)
    assert done.value["tool_choice"] == "required"
    assert not any(loss.path == "/tool_choice" for loss in done.losses)


@pytest.mark.parametrize(
    ("target", "path"), [(CHAT, "/tool_choice/allowed_tools/mode"), (RESPONSES, "/tool_choice/mode")]
)
def test_allowed_tools_get_a_mode(target: str, path: str) -> None:
    body = {
        "model": "m",
        "input": "Hi",
        "tools": [WEATHER],
        "generation_config": {"tool_choice": {"allowed_tools": {"tools": ["get_weather"]}}},
    }
    done = ul.convert(body, source=INTERACTIONS, target=target, model="gpt-5.6")
    choice = done.value["tool_choice"]
    assert (choice["allowed_tools"] if target == CHAT else choice)["mode"] == "auto" and path in fates(done, "added")


@pytest.mark.parametrize(
    ("source", "body"),
    [(RESPONSES, {**SAID, "max_output_tokens": None}),
     (CHAT, {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": None})],
)  # fmt: skip
def test_no_limit_is_the_default_where_one_is_demanded(source: str, body: Node) -> None:
    done = ul.convert(body, source=source, target=MESSAGES, model="claude-opus-4-8")
    assert type(done.value["max_tokens"]) is int and "/max_tokens" in fates(done, "added")


CALL: Node = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}


def test_reasoning_in_clear_under_an_id_of_ours_is_another_providers() -> None:
    made = {"type": "reasoning", "id": "rs_ulm_13ce97701daf47524ac6", "summary": [],
            "content": [{"type": "reasoning_text", "text": "First."}]}  # fmt: skip
    theirs = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    asked = {"role": "user", "content": "Go"}
    done = ul.convert({"model": "m", "input": [asked, made, asked, theirs]}, source=RESPONSES, target=RESPONSES)
    assert done.value["input"] == [asked, asked, theirs]
    assert [(loss.path, loss.fate, loss.detail) for loss in done.losses] == [("/input/1", "lost", "foreign")]


def test_a_thought_alone_is_not_a_message_of_chat() -> None:
    said = {"type": "user_input", "content": [{"type": "text", "text": "Hi"}]}
    thought = {"type": "thought", "signature": "U0lH", "summary": [{"type": "text", "text": "Hm."}]}
    done = ul.convert({"model": "m", "input": [said, thought, said]}, source=INTERACTIONS, target=CHAT)
    assert [message["role"] for message in done.value["messages"]] == ["user", "user"]
    assert any(path.startswith("/input/1") for path in fates(done, "lost"))


@pytest.mark.parametrize(("model", "signed"), [("gemini-9-new", True), ("gemini-2.5-pro", False)])
def test_a_model_that_is_unknown_gets_the_documented_bypass(model: str, signed: bool) -> None:
    body = {"model": "m", "input": [{"role": "user", "content": "Go"}, CALL, {**CALL, "call_id": "c2"}]}
    done = ul.convert(body, source=RESPONSES, target=CONTENT, model=model)
    found = [part.get("thoughtSignature") for part in done.value["contents"][1]["parts"]]
    assert found == (["skip_thought_signature_validator", None] if signed else [None, None])


@pytest.mark.parametrize("repair", ["always", "auto"])
def test_unsigned_calls_of_an_own_client_are_signed_where_a_strict_provider_is_about_to_be_called(repair: Any) -> None:
    call = {"role": "model", "parts": [{"functionCall": {"id": "call_1", "name": "f", "args": {}}}]}
    result = {"role": "user", "parts": [{"functionResponse": {"id": "call_1", "name": "f", "response": {}}}]}
    body = {"contents": [*ASKED["contents"], call, result]}
    done = ul.convert(body, source=CONTENT, target=CONTENT, model="gemini-3-pro-preview", repair=repair)
    part = done.value["contents"][1]["parts"][0]
    assert part.get("thoughtSignature") == ("skip_thought_signature_validator" if repair == "always" else None)
    steps = [{"type": "user_input", "content": [{"type": "text", "text": "Hi"}]},
             {"type": "function_call", "id": "call_1", "name": "f", "arguments": {}},
             {"type": "function_result", "call_id": "call_1", "name": "f", "result": "1"}]  # fmt: skip
    body = {"model": "m", "input": steps}
    sent = ul.convert(body, source=INTERACTIONS, target=INTERACTIONS, repair=repair).value["input"]
    assert [step["type"] for step in sent][1:-1] == (["thought"] if repair == "always" else []) + ["function_call"]


def test_a_thought_that_came_after_text_comes_back_after_it() -> None:
    steps = [{"type": "thought", "signature": "U0lH", "summary": [{"type": "text", "text": "Hm."}]},
             {"type": "model_output", "content": [{"type": "text", "text": "Look."}]},
             {"type": "thought", "signature": "U0lI"},
             {"type": "function_call", "id": "call_1", "name": "f", "arguments": {}}]  # fmt: skip
    body = {"id": "v1", "model": "m", "status": "requires_action", "steps": steps}
    shown = ul.convert(body, source=INTERACTIONS, target=CHAT, kind="response", secret="s").value
    message = shown["choices"][0]["message"]
    asked = {"role": "user", "content": "Hi"}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "1"}
    history = {"model": "m", "messages": [asked, message, result]}
    sent = ul.convert(history, source=CHAT, target=INTERACTIONS, secret="s")
    found = [(step["type"], step.get("signature")) for step in sent.value["input"][1:-1]]
    assert found == [(step["type"], step.get("signature")) for step in steps]


COUNTS = (
    "cache_creation cache_creation_input_tokens cache_read_input_tokens inference_geo output_tokens_details "
    "server_tool_use service_tier"
).split()


def test_a_message_has_the_keys_that_clients_of_messages_look_at() -> None:
    message = {"role": "assistant", "content": "Hi"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    answer = ul.convert(body, source=CHAT, target=MESSAGES, kind="response").value
    nothing = {"stop_sequence": None, "stop_details": None, "container": None}
    assert {key: answer[key] for key in nothing} == nothing
    assert answer["content"] == [{"type": "text", "text": "Hi", "citations": []}]
    # The API always counts what was read from and written to a cache; clients add these counts up.
    uncached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    assert answer["usage"] == {**dict.fromkeys(COUNTS), "input_tokens": 3, "output_tokens": 2, **uncached}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    said = {"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    events = [{"event": None, "data": {**chunk, "choices": [said], "usage": usage}}, {"event": None, "data": "[DONE]"}]
    told = [event["data"] for event in ul.convert_stream(events, source=CHAT, target=MESSAGES)]
    start, block, delta = told[0]["message"], told[1]["content_block"], told[-2]
    assert {key: start[key] for key in nothing} == {key: delta["delta"][key] for key in nothing} == nothing
    assert start["usage"].keys() == answer["usage"].keys()
    assert {key: start["usage"][key] for key in uncached} == {key: delta["usage"][key] for key in uncached} == uncached
    assert block == {"type": "text", "text": ""}
    of_delta = {"cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens_details", "server_tool_use"}
    assert delta["usage"].keys() == {"input_tokens", "output_tokens", *of_delta}


def test_a_message_of_messages_keeps_the_keys_it_has() -> None:
    usage = {"input_tokens": 3, "output_tokens": 2}
    head = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
    body = {**head, "content": [{"type": "text", "text": "Hi"}], "stop_sequence": None, "usage": usage}
    assert ul.convert(body, source=MESSAGES, target=MESSAGES, kind="response").value == body


def test_a_call_of_a_shell_has_an_action_while_it_begins() -> None:
    """As at the API; the AI SDK refuses a stream without it."""
    ran = {"type": "bash_code_execution_result", "stdout": "1", "stderr": "", "return_code": 0, "content": []}
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "bash_code_execution", "input": {}}
    result = {"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": ran}
    told = {"type": "input_json_delta", "partial_json": '{"command":"echo 1"}'}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    usage = {"input_tokens": 1, "output_tokens": 1}
    data: list[Node] = [
        {"type": "message_start", "message": {**message, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": call},
        {"type": "content_block_delta", "index": 0, "delta": told},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": result},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    ]
    events = [{"event": each["type"], "data": each} for each in data]
    sent = [event["data"] for event in ul.convert_stream(events, source=MESSAGES, target=RESPONSES)]
    begun, done = (
        [each["item"] for each in sent if each["type"] == f"response.output_item.{word}"] for word in ("added", "done")
    )
    assert begun[0]["type"] == "shell_call"
    assert begun[0]["action"] == {"commands": [], "max_output_length": None, "timeout_ms": None}
    assert done[0]["action"]["commands"] == ["echo 1"]


def test_a_search_for_tools_has_arguments_while_it_begins() -> None:
    """They are required at the API; another protocol gives them with the end of the call."""
    events = by_id(INTERACTIONS, "stream")[f"{INTERACTIONS}/stream/hosted_deltas"]["events"]
    sent = [event["data"] for event in ul.convert_stream(events, source=INTERACTIONS, target=RESPONSES)]
    begun = [each["item"] for each in sent if each["type"] == "response.output_item.added"]
    searches = [item for item in begun if item["type"] == "tool_search_call"]
    assert [item["arguments"] for item in searches] == [{}]


def test_what_an_mcp_server_gave_is_a_list_of_texts() -> None:
    """As the API has it; the AI SDK refuses a text in its place. One that stood in Messages as a text stays one."""
    call = {"type": "mcp_call", "id": "mcp_1", "server_label": "s", "name": "t", "arguments": "{}", "output": "o"}
    body = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": [call]}
    answer = ul.convert(body, source=RESPONSES, target=MESSAGES, kind="response").value
    block = answer["content"][1]
    assert (block["type"], block["content"]) == ("mcp_tool_result", [{"type": "text", "text": "o"}])
    assert ul.convert(answer, source=MESSAGES, target=RESPONSES, kind="response").value["output"][0]["output"] == "o"
    answer["content"][1] = {**block, "content": "o"}
    assert ul.write(ul.read(answer, MESSAGES, "response"), MESSAGES, "response").value["content"] == answer["content"]


@pytest.mark.parametrize(("said", "told"), [({}, "SUCCESS"), ({"status": "paywall"}, "PAYWALL")])
def test_a_page_that_was_retrieved_says_so_at_generate_content(said: Node, told: str) -> None:
    """The AI SDK refuses one without a status."""
    item = {"type": "web_fetch_result", "results": [{"url": "https://e.x", **said}]}
    response = ul.Response.model_validate({"model": "m", "output": [item]})
    pages = [{"retrievedUrl": "https://e.x", "urlRetrievalStatus": f"URL_RETRIEVAL_STATUS_{told}"}]
    answer = ul.write(response, CONTENT, "response").value
    assert answer["candidates"][0]["urlContextMetadata"] == {"urlMetadata": pages}
    del pages[0]["urlRetrievalStatus"]
    own = {**answer, "candidates": [{**answer["candidates"][0], "urlContextMetadata": {"urlMetadata": pages}}]}
    assert ul.write(ul.read(own, CONTENT, "response"), CONTENT, "response").value == own
    told_there = ul.convert(own, source=CONTENT, target=INTERACTIONS, kind="response").losses
    assert not [loss for loss in told_there if "urlContextMetadata" in loss.path]


def test_a_citation_of_a_page_has_a_title() -> None:
    """Its URL, where the source has none: clients refuse null. The citation returns as it was."""
    found = {"type": "url_citation", "url": "https://e.x", "start_index": 0, "end_index": 3}
    said = {"type": "text", "text": "Sky", "annotations": [found]}
    steps = [{"type": "model_output", "content": [said]}]
    body = {"id": "i", "object": "interaction", "model": "m", "status": "completed", "steps": steps}
    shown = ul.convert(body, source=INTERACTIONS, target=MESSAGES, kind="response", secret="s").value["content"]
    assert [(each["url"], each["title"]) for each in shown[0]["citations"]] == [("https://e.x", "https://e.x")]
    user = {"role": "user", "content": "a"}
    turns = [user, {"role": "assistant", "content": shown}, user]
    asked = {"model": "m", "max_tokens": 9, "messages": turns}
    home = ul.convert(asked, source=MESSAGES, target=INTERACTIONS, secret="s").value["input"][1]
    assert home == {"type": "model_output", "content": [said]}
