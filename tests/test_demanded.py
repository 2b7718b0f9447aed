"""What a target demands of a request and its source did not say, or said in a word of its own."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

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


@pytest.mark.parametrize("said", [{"tool_choice": "auto"}, {"parallel_tool_calls": True}])
def test_chat_is_told_nothing_of_tools_that_are_not_there(said: Node) -> None:
    (key,) = said
    done = ul.convert({**SAID, **said}, source=RESPONSES, target=CHAT)
    assert key not in done.value and f"/{key}" in fates(done, "lost")
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
    assert done.value["tool_choice"] == "required" and "/tool_choice" in fates(done, "approximated")


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


def test_a_thought_alone_is_no_message_of_chat() -> None:
    said = {"type": "user_input", "content": [{"type": "text", "text": "Hi"}]}
    thought = {"type": "thought", "signature": "U0lH", "summary": [{"type": "text", "text": "Hm."}]}
    done = ul.convert({"model": "m", "input": [said, thought, said]}, source=INTERACTIONS, target=CHAT)
    assert [message["role"] for message in done.value["messages"]] == ["user", "user"]
    assert any(path.startswith("/input/1") for path in fates(done, "lost"))


@pytest.mark.parametrize(("model", "signed"), [("gemini-9-new", True), ("gemini-2.5-pro", False)])
def test_a_model_that_nobody_knows_gets_the_documented_bypass(model: str, signed: bool) -> None:
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
    message = ul.convert(body, source=INTERACTIONS, target=CHAT, kind="response").value["choices"][0]["message"]
    asked = {"role": "user", "content": "Hi"}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "1"}
    sent = ul.convert({"model": "m", "messages": [asked, message, result]}, source=CHAT, target=INTERACTIONS)
    found = [(step["type"], step.get("signature")) for step in sent.value["input"][1:-1]]
    assert found == [(step["type"], step.get("signature")) for step in steps]
