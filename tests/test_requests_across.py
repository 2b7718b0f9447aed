"""A request means at the target what it means at its source, which no comparison of two documents shows.

Each test is about a field whose neighbor at the target has the same name, or none, and another meaning or default.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
INTERACTIONS, GENERATE, CONVERSE = "google-interactions", "google-generate-content", "amazon-converse"
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
Node = dict[str, Any]

CLOSED = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
PARAMETERS = {"type": "object", "properties": {"x": {"type": "string"}}}


def told(done: ul.Converted) -> dict[str, tuple[str, str]]:
    return {loss.path: (loss.capability, loss.fate) for loss in done.losses}


def messages(**settings: Any) -> Node:
    return {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "q"}], **settings}


def interaction(**settings: Any) -> Node:
    return {"model": "m", "input": "q", **settings}


# ---- MCP servers -----------------------------------------------------------------------------------------------------

SERVERS: dict[str, Node] = {
    MESSAGES: messages(
        mcp_servers=[{"type": "url", "name": "s", "url": "https://s"}],
        tools=[{"type": "mcp_toolset", "mcp_server_name": "s"}],
    ),
    INTERACTIONS: interaction(tools=[{"type": "mcp_server", "name": "s", "url": "https://s"}]),
}


@pytest.mark.parametrize("source", SERVERS)
def test_mcp_tools_that_needed_no_approval_need_none_at_openai(source: str) -> None:
    done = ul.convert(SERVERS[source], source=source, target=RESPONSES)
    (tool,) = done.value["tools"]
    assert tool["require_approval"] == "never"
    assert told(done)["/tools/0/require_approval"] == ("tools.mcp.approval", "added")


def test_approvals_that_a_request_of_openai_leaves_unsaid_stay_as_they_are() -> None:
    tool = {"type": "mcp", "server_label": "s", "server_url": "https://s"}
    body = {"model": "m", "input": "q", "tools": [tool]}
    assert ul.convert(body, source=RESPONSES, target=RESPONSES).value == body
    assert ul.write(ul.read(body, protocol=RESPONSES), protocol=RESPONSES).value["tools"] == [tool]


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
    assert [loss.fate for loss in done.losses if loss.path.endswith("/strict")] == ["added"]


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


# ---- the choice of tools ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", ["validated", {"allowed_tools": {"mode": "validated", "tools": ["f"]}}])
@pytest.mark.parametrize("target", [CONVERSE, MESSAGES, CHAT, RESPONSES])
def test_validated_calls_stay_optional(target: str, choice: Any) -> None:
    tools = [{"type": "function", "name": "f", "parameters": PARAMETERS}]
    body = interaction(tools=tools, generation_config={"tool_choice": choice})
    done = ul.convert(body, source=INTERACTIONS, target=target)
    sent = str(done.value.get("tool_choice") or done.value["toolConfig"]["toolChoice"])
    assert "auto" in sent and "any" not in sent and "required" not in sent
    assert "approximated" in {loss.fate for loss in done.losses if "tool_choice" in loss.path}


@pytest.mark.parametrize("content", [None, "x"])
def test_a_choice_that_becomes_the_list_of_tools_is_reported_as_a_choice(content: str | None) -> None:
    """A system message in mid conversation makes the history change too, and the path must not follow it."""
    tool = {"type": "function", "function": {"name": "f", "parameters": PARAMETERS}}
    named = [{"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "g"}}]
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    body = {
        "model": "m",
        "tools": [tool],
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": named}},
        "messages": [
            {"role": "assistant", "content": content, "tool_calls": calls},
            {"role": "system", "content": "l"},
        ],
    }
    done = ul.convert(body, source=CHAT, target=CONVERSE)
    places = [loss.path for loss in done.losses if loss.capability in ("tools.choice", "tools.allowed")]
    assert places and all(place.startswith("/tool_choice") for place in places)


GEMINI_TOOLS = [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": PARAMETERS}]}, {"googleSearch": {}}]
ANY = {
    "contents": [{"role": "user", "parts": [{"text": "q"}]}],
    "tools": GEMINI_TOOLS,
    "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
}
SEARCHES: dict[str, tuple[Node, str]] = {
    GENERATE: (ANY, "/toolConfig/functionCallingConfig/mode"),
    INTERACTIONS: (
        interaction(
            tools=[{"type": "function", "name": "f", "parameters": PARAMETERS}, {"type": "google_search"}],
            generation_config={"tool_choice": "any"},
        ),
        "/generation_config/tool_choice",
    ),
}


@pytest.mark.parametrize("target", [RESPONSES, MESSAGES])
@pytest.mark.parametrize("source", SEARCHES)
def test_a_call_of_a_function_that_is_required_may_be_a_search_elsewhere(source: str, target: str) -> None:
    body, path = SEARCHES[source]
    done = ul.convert(body, source=source, target=target)
    assert [loss.detail for loss in done.losses if loss.path == path] == ["a call of a hosted tool meets it too"]
    alone = {**body, "tools": body["tools"][:1]}
    assert path not in told(ul.convert(alone, source=source, target=target))
    # Chat's choice, and that of the sister protocol, is about functions too.
    for same in (CHAT, *({*SEARCHES} - {source})):
        assert path not in told(ul.convert(body, source=source, target=same))


@pytest.mark.parametrize("target", SEARCHES)
def test_a_tool_call_that_is_required_is_one_of_a_function_at_google(target: str) -> None:
    tools = [{"type": "function", "name": "f", "parameters": PARAMETERS}, {"type": "web_search"}]
    body = {"model": "m", "input": "q", "tools": tools, "tool_choice": "required"}
    done = ul.convert(body, source=RESPONSES, target=target)
    assert [loss.detail for loss in done.losses if loss.path == "/tool_choice"] == [
        "only a call of a function meets it"
    ]
    alone = {**body, "tools": tools[:1]}
    assert "/tool_choice" not in told(ul.convert(alone, source=RESPONSES, target=target))


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


@pytest.mark.parametrize(("spelled", "choice"), [("any", "required"), ({"function": {"name": "f"}}, "named")])
def test_choices_as_servers_of_chat_spell_them_force_a_call_elsewhere_too(spelled: Any, choice: str) -> None:
    """Recorded from Mistral's API and from clients of Hugging Face's router."""
    tool = {"type": "function", "function": {"name": "f", "parameters": PARAMETERS}}
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}], "tools": [tool], "tool_choice": spelled}
    assert ul.convert(body, source=CHAT, target=CHAT).value == body
    sent = {target: ul.convert(body, source=CHAT, target=target).value for target in (RESPONSES, MESSAGES, CONVERSE)}
    named = choice == "named"
    assert sent[RESPONSES]["tool_choice"] == ({"type": "function", "name": "f"} if named else "required")
    assert sent[MESSAGES]["tool_choice"] == ({"type": "tool", "name": "f"} if named else {"type": "any"})
    assert sent[CONVERSE]["toolConfig"]["toolChoice"] == ({"tool": {"name": "f"}} if named else {"any": {}})
    openai = ul.convert(body, source=CHAT, target="openai-chat:openai").value["tool_choice"]
    assert openai == ({"type": "function", "function": {"name": "f"}} if named else "required")


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


# ---- the choice among tools of the provider and functions ------------------------------------------------------------

SEARCH = {"type": "web_search"}
LOCAL = {"type": "function", "name": "f", "parameters": PARAMETERS, "strict": False}
OTHER = {**LOCAL, "name": "g"}
ONLY = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]}


def searches(value: Node) -> bool:
    """Whether a document of Chat or of Google's protocols lets the model search."""
    return any(word in str(value) for word in ("web_search_options", "googleSearch", "google_search"))


@pytest.mark.parametrize("choice", ["none", ONLY, {"type": "function", "name": "f"}])
@pytest.mark.parametrize("target", [CHAT, GENERATE, INTERACTIONS])
def test_a_search_that_the_choice_leaves_out_is_not_left_on(target: str, choice: Any) -> None:
    """There `tool_choice` decides about functions only: what is declared beside them is called all the same."""
    body = {"model": "m", "input": "q", "tools": [SEARCH, LOCAL], "tool_choice": choice}
    done = ul.convert(body, source=RESPONSES, target=target, model="m")
    assert not searches(done.value) and "'f'" in str(done.value)
    assert told(done)["/tools/0"] == ("tools.hosted.web_search", "lost")


@pytest.mark.parametrize("choice", ["auto", "required", {**ONLY, "tools": [*ONLY["tools"], SEARCH]}])
@pytest.mark.parametrize("target", [CHAT, GENERATE, INTERACTIONS])
def test_a_search_that_the_choice_holds_stays(target: str, choice: Any) -> None:
    body = {"model": "m", "input": "q", "tools": [SEARCH, LOCAL, OTHER], "tool_choice": choice}
    done = ul.convert(body, source=RESPONSES, target=target, model="m")
    assert searches(done.value) and "'g'" in str(done.value)
    assert "lost" not in {loss.fate for loss in done.losses if "tool" in loss.path}


def test_no_function_calls_are_no_search_either_where_the_choice_is_about_all_tools() -> None:
    tools = [{"functionDeclarations": [{"name": "f"}]}, {"googleSearch": {}}]
    config = {"functionCallingConfig": {"mode": "NONE"}}
    body = {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "tools": tools, "toolConfig": config}
    for target in (RESPONSES, MESSAGES):
        done = ul.convert(body, source=GENERATE, target=target, model="m")
        assert told(done)["/toolConfig/functionCallingConfig/mode"] == ("tools.choice", "approximated")
    kept = ul.convert(body, source=GENERATE, target=INTERACTIONS, model="m")
    assert searches(kept.value) and not [loss for loss in kept.losses if "tool" in loss.capability]


def test_a_server_without_approvals_stays_one_when_a_tool_of_it_is_chosen() -> None:
    server = {"type": "mcp", "server_label": "s", "server_url": "https://s", "require_approval": "never"}
    choice = {"type": "mcp", "server_label": "s", "name": "t"}
    body = {"model": "m", "input": "q", "tools": [server, LOCAL], "tool_choice": choice}
    done = ul.convert(body, source=RESPONSES, target=INTERACTIONS)
    (sent,) = done.value["tools"]
    assert sent["allowed_tools"] == [{"tools": ["t"]}]
    withheld = ul.convert(body, source=RESPONSES, target=GENERATE, model="m")
    assert told(withheld)["/tools/0"] == ("tools.mcp", "lost") and "" not in told(withheld)


def test_a_result_without_content_is_an_empty_result() -> None:
    said = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]},
    ]
    done = ul.convert(messages(messages=said), source=MESSAGES, target=INTERACTIONS)
    assert done.value["input"][-1] == {"type": "function_result", "call_id": "t", "result": ""}


# ---- credentials of MCP servers --------------------------------------------------------------------------------------


def test_the_token_of_a_server_is_a_header_where_there_is_no_field_for_it() -> None:
    """A server that is called without its credentials refuses every call."""
    server = {"type": "url", "name": "s", "url": "https://s", "authorization_token": "T"}
    body = messages(mcp_servers=[server], tools=[{"type": "mcp_toolset", "mcp_server_name": "s"}])
    header = {"Authorization": "Bearer T"}
    steps = ul.convert(body, source=MESSAGES, target=INTERACTIONS)
    assert steps.value["tools"][0]["headers"] == header
    parts = ul.convert(body, source=MESSAGES, target=GENERATE, model="m")
    (group,) = parts.value["tools"]
    assert group["mcpServers"][0]["streamableHttpTransport"] == {"url": "https://s", "headers": header}
    for done in (steps, parts):
        assert told(done)["/mcp_servers/0/authorization_token"] == ("tools.mcp", "approximated")


@pytest.mark.parametrize("headers", [{"Authorization": "Bearer T"}, {"authorization": "Bearer T"}])
def test_the_header_of_a_server_is_its_token_where_there_are_no_headers(headers: Node) -> None:
    server = {"type": "mcp_server", "name": "s", "url": "https://s", "headers": headers}
    done = ul.convert(interaction(tools=[server]), source=INTERACTIONS, target=MESSAGES)
    assert done.value["mcp_servers"][0]["authorization_token"] == "T"
    for others in ({"X-Key": "T"}, {"Authorization": "Basic T"}, {**headers, "X-Key": "T"}):
        kept = {**server, "headers": others}
        lost = ul.convert(interaction(tools=[kept]), source=INTERACTIONS, target=MESSAGES)
        assert "authorization_token" not in lost.value["mcp_servers"][0]
        assert told(lost)["/tools/0/headers"] == ("tools.mcp", "lost")
