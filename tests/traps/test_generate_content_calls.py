"""Traps of calls, results, tools and messages at generateContent; expected values are those of the trap."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

GC = "google-generate-content"
RESPONSES = "openai-responses"
Node = dict[str, Any]


def write(*items: Node, source: str = RESPONSES, **settings: Any) -> ul.Converted:
    body = {"model": "m", "input": [{"role": "user", "content": "Go"}, *items], **settings}
    return ul.convert(body, source=source, target=GC)


def chat(*messages: Node, **settings: Any) -> ul.Converted:
    return ul.convert({"model": "m", "messages": list(messages), **settings}, source="openai-chat", target=GC)


def call(name: str = "f", call_id: str = "c1", arguments: str = "{}") -> Node:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def output(value: Any = "r", call_id: str = "c1", **more: Any) -> Node:
    return {"type": "function_call_output", "call_id": call_id, "output": value, **more}


def fates(done: ul.Converted, path: str) -> list[str]:
    return [loss.fate for loss in done.losses if loss.path == path]


def test_trap_052_ids_made_for_calls_without_one_are_distinct_and_dropped_again() -> None:
    parts = [{"functionCall": {"name": "w", "args": {"c": n}}} for n in (1, 2)]
    answers = [{"functionResponse": {"name": "w", "response": {"output": str(n)}}} for n in (1, 2)]
    body = {"contents": [{"role": "user", "parts": [{"text": "Go"}]}, {"role": "model", "parts": parts}]}
    body["contents"].append({"role": "user", "parts": answers})
    one, two, first, second = ul.read(body, GC).input[1:]
    assert one.call_id != two.call_id
    assert (first.call_id, second.call_id) == (one.call_id, two.call_id)
    assert ul.read(body, GC).input[1].call_id == one.call_id
    shown = ul.convert(body, source=GC, target=RESPONSES).value
    assert ul.convert(shown, source=RESPONSES, target=GC).value["contents"] == body["contents"]


def test_trap_052_ids_of_the_vendor_are_echoed() -> None:
    value = write(call(call_id="lx8q24je"), output(call_id="lx8q24je")).value
    assert value["contents"][1]["parts"][0]["functionCall"]["id"] == "lx8q24je"
    assert value["contents"][2]["parts"][0]["functionResponse"]["id"] == "lx8q24je"


def test_trap_055_the_call_id_and_not_the_item_id_pairs() -> None:
    value = write(call(call_id="call_9"), output(call_id="call_9", id="fco_1")).value
    assert value["contents"][2]["parts"][0]["functionResponse"]["id"] == "call_9"


def test_trap_059_results_are_named_and_ordered_after_their_calls() -> None:
    value = write(call("f", "c1"), call("g", "c2"), output("2", "c2"), output("1", "c1")).value
    answers = [part["functionResponse"] for part in value["contents"][2]["parts"]]
    assert [(answer["id"], answer["name"]) for answer in answers] == [("c1", "f"), ("c2", "g")]


def test_trap_061_results_of_one_turn_stand_in_one_content() -> None:
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ("a", "b")]
    results = [{"role": "tool", "tool_call_id": i, "content": i} for i in ("a", "b")]
    value = chat(
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        *results,
        {"role": "user", "content": "go on"},
    ).value
    assert [(c["role"], len(c["parts"])) for c in value["contents"]] == [
        ("user", 1),
        ("model", 2),
        ("user", 2),
        ("user", 1),
    ]


def test_trap_064_a_content_of_results_holds_nothing_else() -> None:
    done = write(call(), output(), {"type": "message", "role": "developer", "content": "Be terse"})
    assert [list(part) for content in done.value["contents"][2:] for part in content["parts"]] == [
        ["functionResponse"],
        ["text"],
    ]


def test_trap_074_no_arguments() -> None:
    assert write(call(arguments="")).value["contents"][1]["parts"][0]["functionCall"]["args"] == {}
    bare = {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "f"}}]}]}
    assert ul.read(bare, GC).input[0].arguments == "{}"
    assert ul.convert(bare, source=GC, target=GC).value == bare


@pytest.mark.parametrize("arguments", ["[1]", '"x"', "null", '{"p":["a"', '{"a":1}{"a":2}'])
def test_traps_075_076_arguments_that_are_no_object_are_wrapped(arguments: str) -> None:
    done = write(call(arguments=arguments), output())
    assert done.value["contents"][1]["parts"][0]["functionCall"]["args"] == {"_raw": arguments}
    assert fates(done, "/input/1/arguments") == ["approximated"]
    assert done.value["contents"][2]["parts"][0]["functionResponse"]["response"] == {"output": "r"}


def test_traps_078_079_arguments_are_encoded_once_and_digits_survive() -> None:
    done = write(call(arguments='{"id":2512292042121000001,"a":1.0}'))
    assert done.value["contents"][1]["parts"][0]["functionCall"]["args"] == {"id": 2512292042121000001, "a": 1.0}
    back = ul.convert(done.value, source=GC, target=RESPONSES).value
    assert back["input"][1]["arguments"] == '{"id":2512292042121000001,"a":1.0}'


def test_trap_089_json_schemas_go_into_the_json_schema_field() -> None:
    schema = {"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}}}
    done = write(tools=[{"type": "function", "name": "f", "parameters": {**schema, "$schema": "x"}, "strict": None}])
    assert done.value["tools"] == [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": schema}]}]
    assert fates(done, "/tools/0/parameters/$schema") == ["lost"]


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("none", {"mode": "NONE"}),
        ("auto", {"mode": "AUTO"}),
        ("required", {"mode": "ANY"}),
        ({"type": "function", "name": "a"}, {"mode": "ANY", "allowedFunctionNames": ["a"]}),
    ],
)
def test_trap_104_tool_choice(choice: Any, config: Node) -> None:
    done = write(tools=[{"type": "function", "name": "a", "parameters": {}, "strict": False}], tool_choice=choice)
    assert done.value["toolConfig"] == {"functionCallingConfig": config}


def test_trap_105_parallel_calls_cannot_be_forbidden() -> None:
    done = write(parallel_tool_calls=False)
    assert fates(done, "/parallel_tool_calls") == ["lost"]
    assert "toolConfig" not in done.value


def test_trap_106_allowed_tools() -> None:
    tools = [{"type": "function", "name": n, "parameters": {}, "strict": False} for n in "ab"]
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "a"}]}
    done = write(tools=tools, tool_choice=choice)
    assert done.value["toolConfig"]["functionCallingConfig"] == {"mode": "VALIDATED", "allowedFunctionNames": ["a"]}
    assert fates(done, "/tool_choice/mode") == ["approximated"]


def test_trap_107_custom_tools_become_functions_of_one_text() -> None:
    tool = {
        "type": "custom",
        "name": "patch",
        "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/s"},
    }
    item = {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"}
    done = write(item, {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"}, tools=[tool])
    declared = done.value["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"]
    assert declared["required"] == ["input"]
    assert done.value["contents"][1]["parts"][0]["functionCall"]["args"] == {"input": "*** Begin"}
    assert done.value["contents"][2]["parts"][0]["functionResponse"]["name"] == "patch"
    assert "start: /.+/s" in done.value["tools"][0]["functionDeclarations"][0]["description"]
    assert not [loss.capability for loss in done.losses if loss.fate == "lost"]
    assert done.exchange is not None and done.exchange.tools == {"patch": "custom"}


def test_trap_108_unsupported_tools_are_named() -> None:
    done = write(tools=[{"type": "shell"}, {"type": "file_search", "vector_store_ids": ["vs_1"]}])
    assert "tools" not in done.value
    assert fates(done, "/tools/0") == fates(done, "/tools/1") == ["lost"]


def test_trap_109_tools_of_the_provider_beside_functions_need_a_flag() -> None:
    tools = [{"type": "web_search"}, {"type": "function", "name": "f", "parameters": {}, "strict": False}]
    done = write(tools=tools)
    assert done.value["toolConfig"] == {"includeServerSideToolInvocations": True}
    body = {"model": "m", "input": "Hi", "tools": tools}
    assert "toolConfig" not in ul.convert(body, source=RESPONSES, target=GC + ":vertex").value
    assert "toolConfig" not in write(tools=tools[:1]).value


def test_trap_113_failed_results() -> None:
    request = {"model": "m", "input": [call(), output("boom", is_error=True)]}
    value = ul.write(request, GC).value
    assert value["contents"][-1]["parts"][0]["functionResponse"]["response"] == {"error": "boom"}
    assert ul.read(value, GC).input[-1].is_error is True


def test_traps_114_115_system_texts() -> None:
    done = chat(
        {"role": "system", "content": "A"},
        {"role": "developer", "content": "B"},
        {"role": "user", "content": "Hi"},
        {"role": "system", "content": "C"},
        {"role": "user", "content": "Go"},
    )
    assert done.value["systemInstruction"]["parts"] == [{"text": "A"}, {"text": "B"}]
    # The API has the roles user and model: later system messages are the user's, marked, in one turn with it.
    (content,) = done.value["contents"]
    reminder = "<system-reminder>\nC\n</system-reminder>"
    assert content == {"role": "user", "parts": [{"text": "Hi"}, {"text": reminder}, {"text": "Go"}]}
    assert fates(done, "/messages/3/role") == ["approximated"]


def test_trap_117_empty_text_is_left_out() -> None:
    calls = [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    done = chat({"role": "user", "content": "Go"}, {"role": "assistant", "content": "", "tool_calls": calls})
    assert [list(part) for part in done.value["contents"][1]["parts"]] == [["functionCall"]]


def test_traps_122_124_media_in_results() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBO"}
    done = write(call(), output([{"type": "input_text", "text": "shot"}, image]))
    answer = done.value["contents"][2]["parts"][0]["functionResponse"]
    assert answer["response"] == {"output": "shot"}
    assert answer["parts"] == [{"inlineData": {"mimeType": "image/png", "data": "iVBO"}}]
    back = ul.convert(done.value, source=GC, target=RESPONSES).value
    assert [part["type"] for part in back["input"][2]["output"]] == ["input_text", "input_image"]


def user(*parts: Node) -> ul.Converted:
    return ul.convert({"model": "m", "input": [{"role": "user", "content": list(parts)}]}, source=RESPONSES, target=GC)


@pytest.mark.parametrize(
    ("part", "wire"),
    [
        ({"type": "input_file", "file_data": "data:application/pdf;base64,JVBE", "filename": "a.pdf"},
         {"inlineData": {"mimeType": "application/pdf", "data": "JVBE", "displayName": "a.pdf"}}),
        ({"type": "input_file", "file_data": "JVBE", "filename": "a.pdf"},
         {"inlineData": {"mimeType": "application/pdf", "data": "JVBE", "displayName": "a.pdf"}}),
        ({"type": "input_image", "image_url": "https://e.x/a.png"},
         {"fileData": {"fileUri": "https://e.x/a.png", "mimeType": "image/png"}}),
        ({"type": "input_image", "image_url": "DATA:image/png;charset=x;BASE64, iVBO"},
         {"inlineData": {"mimeType": "image/png;charset=x", "data": "iVBO"}}),
    ],
)  # fmt: skip
def test_traps_125_127_129_documents_and_urls(part: Node, wire: Node) -> None:
    assert user(part).value["contents"][0]["parts"] == [wire]


def test_trap_126_foreign_file_ids_are_reported() -> None:
    done = user({"type": "input_text", "text": "Hi"}, {"type": "input_file", "file_id": "file-1"})
    assert done.value["contents"][0]["parts"] == [{"text": "Hi"}]
    assert fates(done, "/input/0/content/1") == ["lost"]


@pytest.mark.parametrize(("word", "media_type"), [("wav", "audio/wav"), ("mp3", "audio/mp3"), ("flac", "audio/flac")])
def test_trap_130_audio(word: str, media_type: str) -> None:
    part = {"type": "input_audio", "input_audio": {"data": "UklG", "format": word}}
    value = chat({"role": "user", "content": [part]}).value
    assert value["contents"][0]["parts"] == [{"inlineData": {"mimeType": media_type, "data": "UklG"}}]
    back = ul.convert(value, source=GC, target="openai-chat").value
    assert back["messages"][0]["content"] == [part]


def test_traps_134_135_stops_and_sampling() -> None:
    done = chat({"role": "user", "content": "Hi"}, stop="\n", n=2, seed=1, logprobs=True, logit_bias={"5": 1})
    assert done.value["generationConfig"] == {
        "stopSequences": ["\n"],
        "candidateCount": 2,
        "seed": 1,
        "responseLogprobs": True,
    }
    assert fates(done, "/logit_bias") == ["lost"]


@pytest.mark.parametrize(("tier", "wire"), [("flex", "flex"), ("default", "standard"), ("priority", "priority")])
def test_trap_136_service_tier(tier: str, wire: str) -> None:
    assert write(service_tier=tier).value["serviceTier"] == wire


def test_trap_140_equal_requests_give_equal_bytes() -> None:
    body = {"model": "m", "input": [{"role": "user", "content": "Go"}, call(arguments='{"b":1,"a":2}'), output()]}
    one, two = (ul.convert(body, source=RESPONSES, target=GC).value for _ in range(2))
    assert str(one) == str(two)
    assert list(one["contents"][1]["parts"][0]["functionCall"]["args"]) == ["b", "a"]
