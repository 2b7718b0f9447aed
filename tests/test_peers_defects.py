"""Defects that were reproduced in other converters, one test each: what they got wrong must come out right here.

The inputs are those that showed the defect; what is expected follows from the providers' references.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
INTERACTIONS, GENERATE = "google-interactions", "google-generate-content"
EVERYBODY = [CHAT, RESPONSES, MESSAGES, INTERACTIONS, GENERATE]
Node = dict[str, Any]
USER = {"role": "user", "content": "q"}
EMPTY = {"type": "object", "properties": {}}


def chat(target: str, *messages: Node, **settings: Any) -> ul.Converted:
    return ul.convert({"model": "m", "messages": [*messages] or [USER], **settings}, source=CHAT, target=target)


def responses(target: str, *items: Node, **settings: Any) -> ul.Converted:
    return ul.convert({"model": "m", "input": [USER, *items], **settings}, source=RESPONSES, target=target)


def messages(target: str, *said: Node, **settings: Any) -> ul.Converted:
    body = {"model": "m", "max_tokens": 99, "messages": [USER, *said], **settings}
    return ul.convert(body, source=MESSAGES, target=target)


def lost(done: ul.Converted) -> set[str]:
    return {loss.path for loss in done.losses if loss.fate == "lost"}


def is_told(done: ul.Converted, path: str) -> bool:
    """Whether something at this place, or around it, is reported as lost."""
    return any(each == path or each.startswith(path + "/") for each in lost(done))


def told(done: ul.Converted) -> str:
    return json.dumps(done.value, ensure_ascii=False)


def test_defect_01_ciphertext_and_signatures_of_one_provider_are_not_signatures_of_another() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAcipher"}
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "1"}
    for target in (MESSAGES, INTERACTIONS, GENERATE, CHAT):
        done = responses(target, reasoning, call, output)
        assert "gAAAAcipher" not in told(done)
        assert is_told(done, "/input/1")
    thinking = {"type": "thinking", "thinking": "T", "signature": "Sig=="}
    said = {"role": "assistant", "content": [thinking, {"type": "text", "text": "A"}]}
    for target in (INTERACTIONS, GENERATE, RESPONSES, CHAT):
        assert "Sig==" not in told(messages(target, said, USER))


HOSTED: list[Node] = [{"type": "web_search"}, {"type": "mcp", "server_label": "s", "server_url": "https://e.x/mcp"}]


def functions_of(value: Node) -> list[Any]:
    """The names of the functions a request declares."""
    names = []
    for tool in value.get("tools") or ():
        if "functionDeclarations" in tool:
            names += [each.get("name") for each in tool["functionDeclarations"]]
        elif tool.get("type") == "function":
            names.append(tool.get("function", tool).get("name"))
        elif "input_schema" in tool:
            names.append(tool["name"])
    return names


@pytest.mark.parametrize("target", EVERYBODY)
@pytest.mark.parametrize("tool", HOSTED, ids=lambda tool: str(tool["type"]))
def test_defect_02_tools_of_the_provider_never_become_functions(tool: Node, target: str) -> None:
    mine = {"type": "function", "name": "f", "parameters": EMPTY, "strict": False}
    done = responses(target, tools=[tool, mine])
    assert functions_of(done.value) == ["f"]
    if target == RESPONSES:
        assert done.value["tools"] == [tool, mine]


PERSON = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


def test_defect_03_a_schema_for_the_answer_has_each_surfaces_own_form() -> None:
    wrapped = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": PERSON}}
    flat = {"type": "json_schema", "name": "x", "strict": True, "schema": PERSON}
    assert chat(RESPONSES, response_format=wrapped).value["text"] == {"format": flat}
    config = chat(GENERATE, response_format=wrapped).value["generationConfig"]
    assert (config["responseMimeType"], config["responseJsonSchema"]) == ("application/json", PERSON)
    format_ = chat(INTERACTIONS, response_format=wrapped).value["response_format"]
    format_ = format_[0] if isinstance(format_, list) else format_
    assert (format_["mime_type"], format_["schema"]) == ("application/json", PERSON)
    output = chat(MESSAGES, response_format=wrapped).value["output_config"]
    assert output == {"format": {"type": "json_schema", "schema": PERSON}}
    assert responses(RESPONSES, text={"format": flat}).value["text"] == {"format": flat}
    assert responses(CHAT, text={"format": flat}).value["response_format"] == wrapped


@pytest.mark.parametrize("target", [CHAT, RESPONSES, MESSAGES, INTERACTIONS])
def test_defect_04_a_functions_result_under_any_key_arrives(target: str) -> None:
    body = {"contents": [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c", "name": "f", "response": {"result": "sunny"}}}]},
    ]}  # fmt: skip
    assert "sunny" in told(ul.convert(body, source=GENERATE, target=target, model="m"))
    assert ul.convert(body, source=GENERATE, target=GENERATE).value == body


@pytest.mark.parametrize("target", [CHAT, RESPONSES, INTERACTIONS, GENERATE])
def test_defect_05_no_output_is_made_up_for_a_call_the_provider_had_under_way(target: str) -> None:
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
    said = {"role": "assistant", "content": [{"type": "text", "text": "A"}, call]}
    done = messages(target, said, USER)
    assert "available" not in told(done) and "output" not in told(done).replace("max_output", "").replace("_output", "")
    assert "/messages/1/content/1" in lost(done)


def test_defect_06_instructions_are_the_system_text() -> None:
    system = responses(MESSAGES, instructions="Be terse").value["system"]
    assert system == "Be terse" or [block["text"] for block in system] == ["Be terse"]
    assert responses(GENERATE, instructions="Be terse").value["systemInstruction"]["parts"] == [{"text": "Be terse"}]
    assert responses(INTERACTIONS, instructions="Be terse").value["system_instruction"] == "Be terse"
    first = responses(CHAT, instructions="Be terse").value["messages"][0]
    assert first["role"] in ("system", "developer") and first["content"] == "Be terse"


def test_defect_07_stops_and_parallel_calls_cross_and_nothing_is_sent_that_was_not_requested() -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": EMPTY}}]
    done = chat(MESSAGES, stop=["END"], tools=tools, parallel_tool_calls=False)
    assert done.value["stop_sequences"] == ["END"]
    assert done.value["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert "cache_control" not in told(done)
    assert "/max_tokens" in {loss.path for loss in done.losses if loss.fate == "added" and loss.side == "target"}
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    own = [{"name": "f", "input_schema": EMPTY}]
    back = messages(CHAT, stop_sequences=["END"], tools=own, tool_choice=choice).value
    assert back["stop"] in ("END", ["END"])
    assert (back["parallel_tool_calls"], back["tool_choice"]) == (False, "auto")


HISTORY: list[Node] = [
    {"type": "mcp_call", "id": "mcp_1", "server_label": "s", "name": "t", "arguments": "{}", "output": "o"},
    {"type": "compaction", "id": "cmp_1", "encrypted_content": "E"},
    {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "container_id": "cntr_1", "code": "1",
     "outputs": [{"type": "logs", "logs": "1"}]},
]  # fmt: skip


@pytest.mark.parametrize("target", EVERYBODY)
@pytest.mark.parametrize("item", HISTORY, ids=lambda item: str(item["type"]))
def test_defect_08_every_item_of_responses_is_read(item: Node, target: str) -> None:
    server = {"type": "mcp", "server_label": "s", "server_url": "https://e.x/mcp", "require_approval": "never"}
    done = responses(target, item, **({"tools": [server]} if item["type"] == "mcp_call" else {}))
    if target == RESPONSES:
        assert done.value["input"] == [USER, item]
    elif not (target == MESSAGES and item["type"] == "mcp_call"):
        assert is_told(done, "/input/1")
    else:
        assert [block["type"] for block in done.value["messages"][1]["content"]] == ["mcp_tool_use", "mcp_tool_result"]


def generated(*parts: Node) -> Node:
    content = {"role": "model", "parts": [*parts]}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "responseId": "r"}


def test_defect_09_thoughts_are_not_what_the_answer_says() -> None:
    body = generated({"text": "hmm", "thought": True}, {"text": "Let me check."})
    message = ul.convert(body, source=GENERATE, target=CHAT, kind="response").value["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == ("Let me check.", "hmm")


def test_defect_10_two_calls_of_one_function_have_two_ids() -> None:
    body = generated(*({"functionCall": {"name": "w", "args": {"c": n}}} for n in (1, 2)))
    message = ul.convert(body, source=GENERATE, target=CHAT, kind="response").value["choices"][0]["message"]
    one, two = message["tool_calls"]
    assert one["id"] and two["id"] and one["id"] != two["id"]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": call["id"]} for call in (two, one)]
    value = chat(GENERATE, USER, message, *results).value
    answers = [part["functionResponse"]["response"]["output"] for part in value["contents"][2]["parts"]]
    assert answers == [one["id"], two["id"]]


def test_defect_11_settings_of_generate_content_arrive_or_are_told() -> None:
    body = {
        "contents": [{"role": "user", "parts": [{"text": "q"}]}],
        "generationConfig": {
            "seed": 7,
            "topK": 40,
            "thinkingConfig": {"thinkingLevel": "LOW", "includeThoughts": True},
        },
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
        "cachedContent": "cachedContents/1",
        "tools": [{"googleSearch": {}}, {"codeExecution": {}}],
    }
    done = ul.convert(body, source=GENERATE, target=CHAT, model="m")
    assert (done.value["seed"], done.value["reasoning_effort"]) == (7, "low")
    assert done.value.get("top_k") == 40 or is_told(done, "/generationConfig/topK")
    assert "web_search" in told(done) or is_told(done, "/tools/0")
    for path in ("/safetySettings", "/cachedContent", "/tools/1"):
        assert is_told(done, path), path


def test_defect_12_the_timeline_of_interactions_stays_whole() -> None:
    steps = [
        {"type": "user_input", "content": [{"type": "text", "text": "q"}]},
        {"type": "thought", "summary": [{"type": "text", "text": "hm"}], "signature": "Sig=="},
        {"type": "function_call", "id": "c", "name": "f", "arguments": {"a": 1}},
        {"type": "function_result", "call_id": "c", "name": "f", "result": "sunny"},
    ]
    body = {
        "model": "m", "input": steps, "previous_interaction_id": "v1_a", "background": True, "store": True,
        "response_format": {"type": "text", "mime_type": "application/json", "schema": PERSON},
        "generation_config": {"tool_choice": "any"}, "tools": [{"type": "function", "name": "f", "parameters": EMPTY}],
    }  # fmt: skip
    done = ul.convert(body, source=INTERACTIONS, target=RESPONSES)
    kinds = [item["type"] for item in done.value["input"]]
    assert kinds == ["message", "function_call", "function_call_output"]
    assert "/input/1" in lost(done) or "/input/1/signature" in lost(done)
    assert done.value["input"][1]["arguments"] == '{"a":1}' and "sunny" in json.dumps(done.value["input"][2])
    assert done.value["text"]["format"]["schema"] == PERSON
    assert (done.value["background"], done.value["store"]) == (True, True)
    assert done.value["tool_choice"] == "required"
    assert "previous_response_id" in done.value or "/previous_interaction_id" in lost(done)
    answer = {"id": "v1_b", "status": "requires_action", "object": "interaction", "steps": steps[1:3]}
    output = ul.convert(answer, source=INTERACTIONS, target=RESPONSES, kind="response").value["output"]
    assert [item["type"] for item in output] == ["reasoning", "function_call"]


def test_defect_13_what_is_optional_stays_so_and_nothing_goes_raw_to_chat() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}
    pages = {"type": "document", "source": {"type": "url", "url": "https://e.x/a.pdf"}}
    done = messages(
        CHAT,
        {"role": "user", "content": [{"type": "text", "text": "see"}, pages]},
        tools=[{"name": "f", "input_schema": schema}],
        context_management={"edits": [{"type": "clear_tool_uses_20250919"}]},
        mcp_servers=[{"type": "url", "url": "https://e.x/mcp", "name": "s"}],
        container="container_1",
    )
    assert done.value["tools"][0]["function"]["parameters"]["required"] == ["a"]
    assert "image_url" not in told(done)
    assert not done.value.keys() & {"context_management", "mcp_servers", "container"}
    for path in ("/messages/1/content/1", "/context_management", "/mcp_servers", "/container"):
        assert is_told(done, path), path


def test_defect_14_what_chat_cannot_hold_is_told_and_takes_no_other_shape() -> None:
    said = {"role": "assistant", "content": [
        {"type": "redacted_thinking", "data": "D"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "text", "text": "A"},
    ]}  # fmt: skip
    page = {"type": "document", "source": {"type": "url", "url": "https://e.x/a.pdf"}}
    pages = {"role": "user", "content": [{"type": "text", "text": "see"}, page]}
    tools = [{"type": "web_search_20250305", "name": "web_search"}, {"name": "f", "input_schema": EMPTY}]
    done = messages(CHAT, said, pages, tools=tools)
    assert [tool["function"]["name"] for tool in done.value["tools"]] == ["f"]
    assert "document" not in told(done) and done.value["messages"][1]["content"] == "A"
    for path in ("/messages/1/content/0", "/messages/1/content/1", "/messages/1/content/2", "/messages/2/content/1"):
        assert is_told(done, path), path
    assert "/tools/0" in lost(done) or "web_search_options" in done.value


def test_defect_15_thoughts_of_another_provider_are_no_tagged_text() -> None:
    thinking = {"type": "thinking", "thinking": "hush-hush", "signature": "Sig=="}
    said = {"role": "assistant", "content": [thinking, {"type": "text", "text": "A"}]}
    for target in (CHAT, RESPONSES, INTERACTIONS, GENERATE):
        assert "hush-hush" not in told(messages(target, said, USER))


def test_defect_16_a_signature_reaches_the_next_turn_in_the_strictest_form_of_a_surface() -> None:
    part = {"functionCall": {"id": "c", "name": "f", "args": {}}, "thoughtSignature": "U2ln"}
    for surface in (CHAT, f"{RESPONSES}:open-responses", MESSAGES):
        shown = ul.convert(generated(part), source=GENERATE, target=surface, kind="response").value
        protocol = surface.partition(":")[0]
        if protocol == CHAT:
            history: Node = {"model": "m", "messages": [USER, shown["choices"][0]["message"]]}
        elif protocol == RESPONSES:
            history = {"model": "m", "input": [USER, *shown["output"]]}
        else:
            said = {"role": "assistant", "content": shown["content"]}
            history = {"model": "m", "max_tokens": 9, "messages": [USER, said]}
        value = ul.convert(history, source=protocol, target=GENERATE, repair="never").value
        assert part in value["contents"][1]["parts"]
