"""A request means at the target what it means at its source, which no comparison of two documents shows.

Each test is about a field whose neighbor at the target has the same name, or none, and another meaning or default.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul
from across import (
    CHAT,
    CLAUDE,
    CONVERSE,
    GENERATE,
    INTERACTIONS,
    MESSAGES,
    PARAMETERS,
    RESPONSES,
    Node,
    interaction,
    messages,
    told,
)

CLOSED = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
OFFICE = "application/vnd.openxmlformats-officedocument"


# ---- structured output -----------------------------------------------------------------------------------------------


def with_schema(source: str, schema: Node) -> Node:
    if source == MESSAGES:
        return messages(output_config={"format": {"type": "json_schema", "schema": schema}})
    if source == INTERACTIONS:
        return interaction(response_format={"type": "text", "mime_type": "application/json", "schema": schema})
    settings = {"responseMimeType": "application/json", "responseJsonSchema": schema}
    return {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "generationConfig": settings}


def format_of(value: Node, target: str) -> Node:
    found: Node = value["response_format"]["json_schema"] if target == CHAT else value["text"]["format"]
    return found


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
@pytest.mark.parametrize("source", [MESSAGES, INTERACTIONS, GENERATE])
def test_a_schema_that_is_always_followed_is_followed_strictly_at_openai(source: str, target: str) -> None:
    done = ul.convert(with_schema(source, CLOSED), source=source, target=target)
    assert format_of(done.value, target)["strict"] is True
    assert format_of(done.value, target)["schema"] == CLOSED
    strict = [(loss.fate, loss.capability) for loss in done.losses if loss.path.endswith("/strict")]
    assert strict == [("added", "output.structured")]


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
@pytest.mark.parametrize("source", [INTERACTIONS, GENERATE])
def test_an_open_object_is_closed_to_be_followed_strictly(source: str, target: str) -> None:
    """Pydantic leaves objects open, and Google's SDK adds the order of properties."""
    open_ = {key: value for key, value in CLOSED.items() if key != "additionalProperties"}
    done = ul.convert(with_schema(source, {**open_, "propertyOrdering": ["a"]}), source=source, target=target)
    sent = format_of(done.value, target)
    assert sent["strict"] is True
    assert sent["schema"] == {**CLOSED, "description": 'propertyOrdering: ["a"]'}
    found = {loss.path.rpartition("/")[2]: loss.fate for loss in done.losses if "chema" in loss.path}
    assert found.pop("propertyOrdering") == "approximated"
    assert "approximated" in found.values() and "lost" not in found.values()


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
def test_a_list_that_was_put_in_an_object_is_followed_strictly(target: str) -> None:
    schema = {"type": "array", "items": {"type": "string"}}
    done = ul.convert(with_schema(GENERATE, schema), source=GENERATE, target=target)
    assert format_of(done.value, target)["strict"] is True


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
@pytest.mark.parametrize("source", [MESSAGES, INTERACTIONS, GENERATE])
def test_a_schema_that_strict_does_not_accept_is_sent_as_it_is_and_reported(source: str, target: str) -> None:
    schema = {**CLOSED, "required": []}
    done = ul.convert(with_schema(source, schema), source=source, target=target)
    assert "strict" not in format_of(done.value, target)
    assert format_of(done.value, target)["schema"] == schema
    assert ("output.structured", "approximated") in told(done).values()


@pytest.mark.parametrize(
    ("format_", "media_type", "lost"),
    [
        ({"type": "text", "schema": CLOSED}, "text/plain", "schema"),
        ({"type": "json_object", "schema": CLOSED}, "application/json", "schema"),
        ({"type": "json_object", "media_type": "image/png"}, "application/json", "media_type"),
    ],
)
def test_what_contradicts_the_kind_of_an_output_is_not_sent_to_gemini(
    format_: Node, media_type: str, lost: str
) -> None:
    done = ul.write({"model": "m", "input": "q", "text": {"format": format_}}, GENERATE, kind="request")
    assert done.value["generationConfig"] == {"responseMimeType": media_type}
    assert [loss.fate for loss in done.losses if loss.path == f"/text/format/{lost}"] == ["lost"]


def test_a_schema_is_closed_for_converse() -> None:
    """Bedrock refuses open objects in output and in strict tools, and ignores them in other tools."""
    inner = {"type": "object", "properties": {"b": {"type": "integer", "minimum": 1}}}
    schema = {"type": "object", "properties": {"a": inner}, "required": ["a"]}
    tools = [{"type": "function", "name": name, "parameters": schema, "strict": name == "f"} for name in "fg"]
    format_ = {"type": "json_schema", "name": "n", "schema": schema}
    body = {"model": "m", "input": "q", "tools": tools, "text": {"format": format_}}
    done = ul.convert(body, source=RESPONSES, target=CONVERSE)
    sent = json.loads(done.value["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"])
    f, g = (tool["toolSpec"]["inputSchema"]["json"] for tool in done.value["toolConfig"]["tools"])
    for closed in (sent, f):
        assert closed["additionalProperties"] is closed["properties"]["a"]["additionalProperties"] is False
        assert "minimum" not in closed["properties"]["a"]["properties"]["b"]
    assert g == schema
    assert told(done)["/text/format/schema/properties/a"] == ("output.structured", "approximated")


@pytest.mark.parametrize("strict", [None, False, True])
def test_strict_is_what_the_client_made_of_it_between_openais_protocols(strict: bool | None) -> None:
    said = {} if strict is None else {"strict": strict}
    format_ = {"type": "json_schema", "name": "o", "schema": CLOSED, **said}
    body = {"model": "m", "input": "q", "text": {"format": format_}}
    sent = ul.convert(body, source=RESPONSES, target=CHAT).value["response_format"]["json_schema"]
    assert sent == {"name": "o", "schema": CLOSED, **said}


# ---- the beginning of an answer --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("target", "goes_on"), [(f"{CHAT}:openai", False), (f"{CHAT}:azure", False), (CHAT, True)])
def test_openai_does_not_go_on_with_the_beginning_of_an_answer(target: str, goes_on: bool) -> None:
    begun = {"role": "assistant", "content": "Sure: {"}
    body = messages(messages=[{"role": "user", "content": "q"}, begun])
    done = ul.convert(body, source=MESSAGES, target=target)
    assert done.value["messages"][-1] == begun
    found = [loss.detail for loss in done.losses if loss.path == "/messages/1/content"]
    assert found == ([] if goes_on else ["the target cannot continue an assistant message"])


# ---- Anthropic's models at Bedrock -----------------------------------------------------------------------------------


def test_a_forced_tool_wins_over_thinking_at_converse_too() -> None:
    tool = {"type": "function", "name": "f", "parameters": PARAMETERS}
    body = {"model": "m", "input": "q", "tools": [tool], "reasoning": {"effort": "high"}, "temperature": 0.5}
    free = ul.convert(body, source=RESPONSES, target=CONVERSE, model=CLAUDE)
    assert "thinking" in free.value["additionalModelRequestFields"]
    for choice in ("required", {"type": "function", "name": "f"}):
        forced = ul.convert({**body, "tool_choice": choice}, source=RESPONSES, target=CONVERSE, model=CLAUDE)
        assert "additionalModelRequestFields" not in forced.value
        assert forced.value["inferenceConfig"] == {"temperature": 0.5}
        assert told(forced)["/reasoning/effort"] == ("reasoning.effort", "lost")


def test_claude_gets_one_of_temperature_and_top_p_at_converse_too() -> None:
    body = {"model": "m", "input": "q", "temperature": 0.5, "top_p": 0.9}
    claude = ul.convert(body, source=RESPONSES, target=CONVERSE, model=CLAUDE)
    assert claude.value["inferenceConfig"] == {"temperature": 0.5}
    assert told(claude)["/top_p"] == ("sampling.top_p", "lost")
    nova = ul.convert(body, source=RESPONSES, target=CONVERSE, model="amazon.nova-pro-v1:0")
    assert nova.value["inferenceConfig"] == {"temperature": 0.5, "topP": 0.9}


# ---- what is text in itself ------------------------------------------------------------------------------------------

FOUND = {
    "type": "search_result",
    "source": "https://s",
    "title": "T",
    "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
}
PLAIN = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}}
CHUNKS = {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "chunk"}]}}
WRITTEN = ["T\nhttps://s\none\ntwo", "words", "chunk"]


def summarized(**fields: Any) -> Node:
    blocks = [{"type": "compaction", "content": "Boats so far.", **fields}, {"type": "text", "text": "Next."}]
    turns = [{"role": "assistant", "content": blocks}, {"role": "user", "content": "more"}]
    return messages(messages=[{"role": "user", "content": "q"}, *turns])


@pytest.mark.parametrize("target", [CHAT, RESPONSES, GENERATE, INTERACTIONS, CONVERSE])
def test_a_summary_of_earlier_history_is_a_text_of_the_model_elsewhere(target: str) -> None:
    done = ul.convert(summarized(), source=MESSAGES, target=target)
    sent = str(done.value)
    assert sent.index("'q'") < sent.index("Boats so far.") < sent.index("Next.") < sent.index("'more'")
    assert told(done)["/messages/1/content/0/type"] == ("context.compaction", "approximated")
    assert not [loss for loss in done.losses if loss.path.startswith("/messages/1") and loss.fate == "lost"]


def test_a_compaction_that_cannot_be_read_is_sent_to_its_provider_alone() -> None:
    for fields in ({"content": None}, {"content": " "}, {"content": None, "signature": "c2ln"}):
        done = ul.convert(summarized(**fields), source=MESSAGES, target=CHAT)
        assert [turn["content"] for turn in done.value["messages"]] == ["q", "Next.", "more"]
    sealed = ul.convert(summarized(signature="c2ln"), source=MESSAGES, target=CHAT)
    assert "c2ln" not in str(sealed.value) and "Boats so far." in str(sealed.value)
    assert told(sealed)["/messages/1/content/0/signature"] == ("reasoning.signature", "lost")


def test_the_summary_of_an_answer_is_not_shown_as_its_text() -> None:
    body = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        "content": summarized()["messages"][1]["content"],
    }  # fmt: skip
    done = ul.convert(body, source=MESSAGES, target=CHAT, kind="response")
    assert done.value["choices"][0]["message"]["content"] == "Next."


def texts_of(content: Any) -> list[str]:
    return [part["text"] for part in content]


@pytest.mark.parametrize("target", [CHAT, RESPONSES, GENERATE, INTERACTIONS])
def test_documents_and_search_results_of_text_are_read_everywhere(target: str) -> None:
    """Both are how retrieval gives its finds to Claude: left out, the model answers without them."""
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [FOUND, PLAIN, CHUNKS]}
    said = [
        {"role": "user", "content": [FOUND, PLAIN, CHUNKS]},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    done = ul.convert({"model": "m", "max_tokens": 9, "messages": said}, source=MESSAGES, target=target)
    if target == CHAT:
        given, gave = done.value["messages"][0]["content"], done.value["messages"][2]["content"]
    elif target == RESPONSES:
        given, gave = done.value["input"][0]["content"], done.value["input"][2]["output"]
    elif target == GENERATE:
        given = done.value["contents"][0]["parts"]
        answer = done.value["contents"][2]["parts"][0]["functionResponse"]["response"]
        assert answer == {"output": "\n\n".join(WRITTEN)}
        gave = [{"text": text} for text in WRITTEN]
    else:
        given, gave = done.value["input"][0]["content"], done.value["input"][-1]["result"]
    assert texts_of(given) == texts_of(gave) == WRITTEN
    assert not [loss for loss in done.losses if loss.fate == "lost"]


def test_what_is_text_in_itself_goes_to_servers_of_texts_alone() -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [PLAIN, FOUND]}]}
    done = ul.convert(body, source=MESSAGES, target="openai-chat:deepseek")
    assert "words" in str(done.value) and "one\\ntwo" in str(done.value)


# ---- what the tools of another provider did --------------------------------------------------------------------------


def test_a_search_that_tells_nothing_of_its_finds_is_not_shown_as_one_without_any() -> None:
    steps = [
        {"type": "user_input", "content": [{"type": "text", "text": "q"}]},
        {"type": "google_search_call", "id": "g", "arguments": {"queries": ["a", "b"]}},
        {"type": "google_search_result", "call_id": "g", "result": [{"search_suggestions": "<div>"}]},
        {"type": "model_output", "content": [{"type": "text", "text": "A"}]},
        {"type": "user_input", "content": [{"type": "text", "text": "r"}]},
    ]
    done = ul.convert(interaction(input=steps), source=INTERACTIONS, target=MESSAGES)
    assert done.value["messages"][1]["content"] == "A"
    assert told(done)["/input/1"] == told(done)["/input/2"] == ("tools.hosted.web_search", "lost")


def test_a_search_for_tools_that_another_provider_made_is_not_shown_without_what_it_was_for() -> None:
    found = {
        "type": "tool_search_tool_search_result",
        "tool_references": [{"type": "tool_reference", "tool_name": "f"}],
    }
    said = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": {"query": "q"}},
        {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found},
        {"type": "text", "text": "A"},
    ]
    turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": said}, {"role": "user", "content": "r"}]
    done = ul.convert(messages(messages=turns), source=MESSAGES, target=INTERACTIONS)
    assert [step["type"] for step in done.value["input"]] == ["user_input", "model_output", "user_input"]
    assert told(done)["/messages/1/content/0"] == told(done)["/messages/1/content/1"] == ("tools.deferred", "lost")


# ---- reports ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [MESSAGES, CONVERSE])
def test_a_lost_resolution_is_not_the_image_that_arrived(target: str) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    part = {**image, "mediaResolution": {"level": "MEDIA_RESOLUTION_HIGH"}}
    done = ul.convert({"contents": [{"role": "user", "parts": [part]}]}, source=GENERATE, target=target, model="m")
    places = [loss.path for loss in done.losses if loss.capability == "media.detail"]
    assert places == ["/contents/0/parts/0/mediaResolution/level"]


def test_why_a_tool_for_screens_of_an_unknown_size_is_left_out() -> None:
    done = ul.convert({"model": "m", "input": "q", "tools": [{"type": "computer"}]}, source=RESPONSES, target=MESSAGES)
    assert [loss.detail for loss in done.losses if loss.path == "/tools/0"] == ["the size of the screen is required"]


def test_a_result_without_content_is_an_empty_result() -> None:
    said = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]},
    ]
    done = ul.convert(messages(messages=said), source=MESSAGES, target=INTERACTIONS)
    assert done.value["input"][-1] == {"type": "function_result", "call_id": "t", "result": ""}


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "name", "data", "expected"),
    [
        (MESSAGES, "a.pdf", "JVBERi0=", {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}),
        (MESSAGES, "a", "JVBERi0=", {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}),
        (MESSAGES, "a.csv", "YSxi", {"type": "text", "media_type": "text/plain", "data": "a,b"}),
        (GENERATE, "a.docx", "UEsDBA==", {"mimeType": f"{OFFICE}.wordprocessingml.document"}),
        (INTERACTIONS, "a.json", "e30=", {"mime_type": "application/json", "data": "e30="}),
        (CONVERSE, "a.csv", "YSxi", {"format": "csv", "name": "a"}),
        (CONVERSE, "a.docx", "UEsDBA==", {"format": "docx", "name": "a"}),
        (CONVERSE, "a.json", "e30=", {"format": "txt", "source": {"bytes": "e30="}}),
        (GENERATE, None, "JVBERi0=", {"mimeType": "application/pdf"}),
        (GENERATE, "a.txt", "JVBERi0=", {"mimeType": "application/pdf"}),
        (INTERACTIONS, None, "JVBERi0=", {"mime_type": "application/pdf"}),
        (CONVERSE, None, "JVBERi0=", {"format": "pdf"}),
    ],
)
@pytest.mark.parametrize("source", [CHAT, RESPONSES])
def test_a_file_in_bare_base64_has_the_type_of_its_name_or_first_bytes(
    source: str, target: str, name: str | None, data: str, expected: Node
) -> None:
    file = {"file_data": data} if name is None else {"filename": name, "file_data": data}
    parts: list[Node] = [{"type": "text", "text": "?"}, {"type": "file", "file": file}]
    body: Node = {"model": "m", "messages": [{"role": "user", "content": parts}]}
    if source == RESPONSES:
        parts = [{"type": "input_text", "text": "?"}, {"type": "input_file", **file}]
        body = {"model": "m", "input": [{"role": "user", "content": parts}]}
    done = ul.convert(body, source=source, target=target)
    (wire,) = [part for part in content_of(done.value) if part.get("text") != "?"]
    found = wire.get("source") if target == MESSAGES else wire.get("inlineData") or wire.get("document") or wire
    assert expected.items() <= found.items()
    assert not [loss for loss in done.losses.significant if loss.capability == "file.input" and loss.fate == "lost"]


def content_of(body: Node) -> list[Node]:
    """The parts of the only message, in any protocol."""
    (turn,) = body.get("messages") or body.get("contents") or body["input"]
    parts: list[Node] = turn.get("content") or turn["parts"]
    return parts


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("openai-chat", ("max_completion_tokens",)),
        ("openai-responses", ("max_output_tokens",)),
        ("google-generate-content", ("generationConfig", "maxOutputTokens")),
        ("google-interactions", ("generation_config", "max_output_tokens")),
        ("amazon-converse", ("inferenceConfig", "maxTokens")),
    ],
)
def test_a_limit_of_no_output_becomes_the_least(target: str, path: tuple[str, ...]) -> None:
    """Messages fills its cache with such a request, and other services refuse it."""
    body = {"model": "m", "max_tokens": 0, "messages": [{"role": "user", "content": "Hi"}]}
    done = ul.convert(body, source="anthropic-messages", target=target)
    value = done.value
    for key in path:
        value = value[key]
    assert value == (16 if target == "openai-responses" else 1)
    assert ("/max_tokens", "approximated") in [(loss.path, loss.fate) for loss in done.losses]
    assert ul.convert(body, source="anthropic-messages", target="anthropic-messages").value == body


@pytest.mark.parametrize("named", [{"prompt": {"id": "pmpt_1"}}, {"conversation": "conv_1"}])
@pytest.mark.parametrize(
    "target",
    ["openai-chat", "anthropic-messages", "google-generate-content", "google-interactions", "amazon-converse"],
)
def test_a_request_of_nothing_but_what_its_provider_stores_is_refused(target: str, named: dict[str, Any]) -> None:
    """Its messages would be empty, which the APIs refuse without a word of the prompt."""
    body = {"model": "m", "instructions": "Be brief.", **named}
    with pytest.raises(ul.CapabilityRefused, match="send its text as input") as refused:
        ul.convert(body, source="openai-responses", target=target, model="m")
    assert refused.value.path == f"/{next(iter(named))}"
    with pytest.raises(ul.CapabilityRefused):
        ul.write(ul.read(body, "openai-responses"), target, model="m")
    done = ul.convert({**body, "input": "Hi"}, source="openai-responses", target=target, model="m")
    assert [loss.path for loss in done.losses if loss.fate == "lost"] == [refused.value.path]
    assert ul.convert(body, source="openai-responses", target="openai-responses:azure").value == body
