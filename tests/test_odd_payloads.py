"""What providers, SDKs and clients really send and no example shows: each test is one such payload, made by hand."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
CONTENTS, STEPS = "google-generate-content", "google-interactions"
Node = dict[str, Any]


def told(done: Any) -> set[tuple[str, str]]:
    """The places in the source with the given fate in the report."""
    return {(loss.path, loss.fate) for loss in done.losses if loss.side == "source"}


def messages_stream(*blocks: Node, usage: Node | None = None, reason: str = "end_turn") -> list[Node]:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    head |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 20, "output_tokens": 1}}
    end = {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage or {"output_tokens": 5}}
    datas = [{"type": "message_start", "message": head}, *blocks, {"type": "message_delta", **end}]
    return [{"event": data["type"], "data": data} for data in [*datas, {"type": "message_stop"}]]


# ---- streams --------------------------------------------------------------------------------------------------------


def test_a_text_that_opens_with_null_citations_gathers_those_that_follow() -> None:
    place = {"cited_text": "sky", "document_index": 0, "document_title": None}
    citation = {"type": "char_location", **place, "start_char_index": 4, "end_char_index": 7}
    events = messages_stream(
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "", "citations": None}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "blue"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": citation}},
        {"type": "content_block_stop", "index": 0},
    )
    (part,) = ul.collect(ul.read_stream(events, MESSAGES))["output"][0]["content"]
    assert part["text"] == "blue"
    assert [annotation["cited_text"] for annotation in part["annotations"]] == ["sky"]


def test_a_refusal_that_said_nothing_counts_no_output() -> None:
    # Where it opened with the usual one: the last word counts, as in the SDK's own accumulator.
    events = messages_stream(usage={"output_tokens": 0}, reason="refusal")
    usage = ul.collect(ul.read_stream(events, MESSAGES))["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (20, 0, 20)


# ---- what is named in a report --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "body", "path"),
    [
        (MESSAGES, {"model": "m", "max_tokens": 9, "messages": ["Hi", {"role": "user", "content": "q"}]},
         "/messages/0"),
        (STEPS, {"model": "m", "input": ["Hi", {"type": "user_input", "content": [{"type": "text", "text": "q"}]}]},
         "/input/0"),
        (CONTENTS, {"contents": ["Hi", {"role": "user", "parts": [{"text": "q"}]}]}, "/contents/0"),
    ],
)  # fmt: skip
def test_a_turn_that_is_not_an_object_is_named_by_its_place(source: str, body: Node, path: str) -> None:
    assert (path, "lost") in told(ul.convert(body, source=source, target=CHAT))


def test_a_response_schema_in_snake_case_is_named_as_it_is_spelled() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    config = {"response_mime_type": "application/json", "response_schema": schema}
    body = {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "generationConfig": config}
    done = ul.convert(body, source=CONTENTS, target=MESSAGES)
    assert ("/generationConfig/response_schema", "approximated") in told(done)


def test_objects_merged_into_one_name_what_each_demanded() -> None:
    one: Node = {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"], "title": "One"}
    other: Node = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    tool = {"name": "record", "input_schema": {"anyOf": [one, other, {"type": "null"}]}}
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}], "tools": [tool]}
    done = ul.convert(body, source=MESSAGES, target=CHAT)
    (function,) = done.value["tools"]
    assert set(function["function"]["parameters"]["properties"]) == {"value", "count"}
    assert "required" not in function["function"]["parameters"]
    at = "/tools/0/input_schema/anyOf/"
    lost = {f"{at}0/required/0", f"{at}0/title", f"{at}1/required/0", f"{at}2"}
    assert {(path, "lost") for path in lost} <= told(done)
    assert {(f"{at}0/type", "approximated"), (f"{at}1/type", "approximated")} <= told(done)


@pytest.mark.parametrize("target", [CHAT, RESPONSES, MESSAGES, STEPS])
def test_a_thought_is_not_an_instruction(target: str) -> None:
    thought = {"text": "hm", "thought": True}
    body = {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "systemInstruction": {"parts": [thought]}}
    done = ul.convert(body, source=CONTENTS, target=target)
    assert ("/systemInstruction/parts/0", "lost") in told(done)
    assert "hm" not in str(done.value)


def test_of_several_stops_the_blank_one_is_named() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}], "stop": ["END", "\n\n"]}
    done = ul.convert(body, source=CHAT, target=MESSAGES)
    assert done.value["stop_sequences"] == ["END"]
    assert ("/stop/1", "lost") in told(done)


# ---- lists without brackets, words in capitals ----------------------------------------------------------------------

LONE: list[Node] = [
    {"contents": {"role": "user", "parts": {"text": "q"}}, "systemInstruction": {"parts": {"text": "Be terse."}}},
    {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "system_instruction": {"parts": {"text": "Be terse."}}},
    {"contents": {"role": "USER", "parts": [{"text": "q"}]}, "systemInstruction": {"parts": [{"text": "Be terse."}]},
     "safetySettings": {"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"},
     "tools": {"googleSearch": {}}},
]  # fmt: skip


@pytest.mark.parametrize("body", LONE)
def test_a_lone_object_is_a_list_of_one(body: Node) -> None:
    done = ul.convert(body, source=CONTENTS, target=CONTENTS)
    assert (done.value, list(done.losses)) == (body, [])
    system, user = ul.convert(body, source=CONTENTS, target=CHAT).value["messages"]
    assert system == {"role": "system", "content": "Be terse."}
    assert user["role"] == "user" and user["content"] in ("q", [{"type": "text", "text": "q"}])


def test_what_is_lost_of_a_lone_object_is_named_where_it_stands() -> None:
    tools = {"functionDeclarations": [{"name": "f", "zz": 2}]}
    body = {"contents": {"role": "user", "parts": {"text": "q", "zz": 1}}, "tools": tools}
    paths = {path for path, fate in told(ul.convert(body, source=CONTENTS, target=CHAT)) if fate == "lost"}
    assert paths == {"/contents/parts/zz", "/tools/functionDeclarations/0/zz"}


def test_a_lone_object_is_counted_as_well() -> None:
    body = {"generateContentRequest": {"model": "models/m", "contents": {"parts": {"text": "q"}}}}
    done = ul.convert(body, source=CONTENTS, target=MESSAGES, kind="count_tokens_request")
    assert done.value == {"model": "m", "messages": [{"role": "user", "content": "q"}]}
    assert ul.convert(body, source=CONTENTS, target=CONTENTS, kind="count_tokens_request").value == body


def test_roles_in_capitals_are_the_roles() -> None:
    turns = [("USER", {"text": "q"}), ("MODEL", {"functionCall": {"name": "f", "args": {}}})]
    turns += [("FUNCTION", {"functionResponse": {"name": "f", "response": {"output": "1"}}})]
    body = {"contents": [{"role": role, "parts": [part]} for role, part in turns]}
    assert ul.convert(body, source=CONTENTS, target=CONTENTS).value == body
    written = ul.convert(body, source=CONTENTS, target=CHAT).value["messages"]
    assert [message["role"] for message in written] == ["user", "assistant", "tool"]


# ---- answers that hold the results of their calls -------------------------------------------------------------------

CALL = {"functionCall": {"name": "srv_weather", "args": {"city": "Oslo"}}}
RESULT = {"functionResponse": {"name": "srv_weather", "response": {"result": "4 C"}}}


def remote_tools() -> list[Node]:
    """A model that had its tool run by a remote server, and declared it at both ends."""
    first = {"content": {"role": "model", "parts": [CALL]}, "finishReason": "STOP", "index": 0}
    last = {"content": {"role": "model", "parts": [{"text": "4 C"}]}, "finishReason": "STOP", "index": 0}
    result = {"content": {"role": "model", "parts": [RESULT]}, "index": 0}
    return [{"event": None, "data": {"candidates": [each], "responseId": "r"}} for each in (first, result, last)]


@pytest.mark.parametrize(("target", "word"), [(CHAT, '"stop"'), (MESSAGES, '"end_turn"'), (STEPS, '"completed"')])
def test_a_stream_that_answered_its_call_does_not_wait(target: str, word: str) -> None:
    told = str([event["data"] for event in ul.convert_stream(remote_tools(), source=CONTENTS, target=target)])
    assert word.replace('"', "'") in told
    assert "'tool_calls'}" not in told and "'finish_reason': 'tool_calls'" not in told
    assert "'stop_reason': 'tool_use'" not in told and "requires_action" not in told


# ---- nothing of the kind is merged, dropped or made up --------------------------------------------------------------

THERE_AND_BACK: list[tuple[str, str, Node]] = [
    (CONTENTS, "request", {"contents": [
        {"role": "model", "parts": [{"text": "a"}]}, {"role": "user", "parts": [{"newPart": {"x": 1}}]},
        {"role": "model", "parts": [{"newPart": {"x": 2}}]}, {"role": "user", "parts": [{"text": "q"}]}]}),
    (CONTENTS, "request", {"contents": [
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "response": {"output": "1"}}}]}]}),
    (CONTENTS, "response", {"candidates": [{"content": {"role": "model", "parts": [{"text": "a"}]}, "index": 0}],
                            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5}}),
    (STEPS, "response", {"id": "i", "model": "m", "object": "interaction"}),
    (MESSAGES, "response", {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": "end_turn",
        "stop_sequence": "END", "usage": {"input_tokens": 1, "output_tokens": 1}}),
    (MESSAGES, "response", {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": "end_turn",
        "stop_sequence": {}, "usage": {"input_tokens": 1, "output_tokens": 1}}),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "kind", "body"), THERE_AND_BACK)
def test_the_same_protocol_gives_the_same_document(protocol: str, kind: str, body: Node) -> None:
    done = ul.convert(body, source=protocol, target=protocol, kind=kind)
    assert (done.value, list(done.losses)) == (body, [])


def test_an_interaction_that_opens_without_a_status_is_streamed_as_it_was() -> None:
    step = {"type": "model_output", "content": [{"type": "text", "text": "a"}]}
    datas: list[Node] = [
        {"interaction": {"id": "i", "object": "interaction"}, "event_type": "interaction.created"},
        {"index": 0, "step": step, "event_type": "step.start"},
        {"index": 0, "event_type": "step.stop"},
        {"interaction": {"id": "i", "object": "interaction"}, "event_type": "interaction.completed"},
    ]
    events = [{"event": data["event_type"], "data": data} for data in datas]
    stream = ul.convert_stream(events, source=STEPS, target=STEPS)
    assert list(stream) == events and not list(stream.losses)
    answer = list(ul.convert_stream(events, source=STEPS, target=RESPONSES))[-1]["data"]
    assert (answer["type"], answer["response"]["status"]) == ("response.completed", "completed")


def test_a_result_that_names_no_function_answers_the_call_of_its_id() -> None:
    call = {"functionCall": {"id": "c1", "name": "f", "args": {}}}
    result = {"functionResponse": {"id": "c1", "response": {"output": "1"}}}
    body = {"contents": [{"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]}
    *_, answer = ul.convert(body, source=CONTENTS, target=CHAT).value["messages"]
    assert (answer["role"], answer["tool_call_id"], answer["content"]) == ("tool", "c1", "1")


# ---- a signature on an empty text -----------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [
    [{"text": "", "thoughtSignature": "c2ln"}],
    [{"functionCall": {"id": "c1", "name": "f", "args": {}}}, {"text": "", "thoughtSignature": "c2ln"}],
])  # fmt: skip
@pytest.mark.parametrize("surface", [CHAT, MESSAGES])
def test_the_signature_of_an_empty_text_returns(surface: str, parts: list[Node]) -> None:
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    answer = ul.convert({"candidates": [candidate]}, source=CONTENTS, target=surface, kind="response", secret="s").value
    said = answer["choices"][0]["message"] if surface == CHAT else {"role": "assistant", "content": answer["content"]}
    history = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}, said]}
    back = ul.convert(history, source=surface, target=CONTENTS, secret="s").value["contents"][1]
    assert {"text": "", "thoughtSignature": "c2ln"} in back["parts"]
    assert len(back["parts"]) == len(parts)
    # To another provider it is nothing at all.
    other = ul.convert(history, source=surface, target=RESPONSES, facing="provider", secret="s").value
    assert "c2ln" not in str(other)


def test_what_a_client_fills_with_null_is_not_told_as_lost() -> None:
    function = {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "number"}}}}
    body = {
        "contents": [{"role": "user", "parts": [{"text": "q", "thought": False}]}],
        "systemInstruction": {"role": "model", "parts": [{"text": "Be terse.", "thought": False}]},
        "tools": [{"codeExecution": None, "functionDeclarations": [function]}],
        "generationConfig": None,
        "safetySettings": None,
    }
    done = ul.convert(body, source=CONTENTS, target=CONTENTS)
    assert (done.value, list(done.losses)) == (body, [])
    assert told(ul.convert(body, source=CONTENTS, target=CHAT)) == set()


def test_an_interaction_that_says_no_status_has_none_to_lose() -> None:
    step = {"type": "model_output", "content": [{"type": "text", "text": "a"}]}
    body = {"id": "i", "model": "m", "object": "interaction", "steps": [step]}
    assert ul.convert(body, source=STEPS, target=STEPS, kind="response").value == body
    done = ul.convert(body, source=STEPS, target=CHAT, kind="response")
    assert told(done) == set() and done.value["choices"][0]["finish_reason"] == "stop"


# ---- documents as the SDKs declare them, and as they print objects with all their fields -----------------------------

NULLS = dict.fromkeys(("videoMetadata", "thought", "inlineData", "functionCall", "functionResponse", "text"))


def test_a_part_with_null_for_all_that_it_is_not_is_what_it_is() -> None:
    call, result = {"name": "f", "args": {"a": 1}, "id": None}, {"name": "f", "response": {"output": "1"}, "id": None}
    body = {"contents": [
        {"role": "user", "parts": [NULLS | {"text": "q"}]},
        {"role": "model", "parts": [NULLS | {"text": "a"}, NULLS | {"functionCall": call}]},
        {"role": "user", "parts": [NULLS | {"functionResponse": result}]},
    ]}  # fmt: skip
    assert ul.convert(body, source=CONTENTS, target=CONTENTS).value == body
    done = ul.convert(body, source=CONTENTS, target=CHAT)
    user, said, answer = done.value["messages"]
    assert user["content"] in ("q", [{"type": "text", "text": "q"}]) and said["content"] == "a"
    assert said["tool_calls"][0]["id"] == answer["tool_call_id"] and answer["content"] == "1"
    assert "lost" not in {fate for _, fate in told(done)}


DECLARED: list[tuple[str, str, Node]] = [
    (CONTENTS, "request", {"contents": [{"parts": [{"text": "q"}]}], "toolConfig": {}}),
    (CONTENTS, "request", {"contents": [{"parts": [{"text": "q"}]}], "toolConfig": {"functionCallingConfig": {}}}),
    (CONTENTS, "request", {"contents": [{"parts": [{"text": "q"}]}],
                           "tools": [{"retrieval": {"vertexRagStore": None, "externalApi": {"endpoint": "e"}}}]}),
    (CONTENTS, "response", {"candidates": [{"content": None, "finishReason": "SAFETY", "index": 3}]}),
    (STEPS, "request", {"model": "m", "input": "q", "response_format": {"type": "text"},
                        "response_modalities": ["text"]}),
    (STEPS, "request", {"model": "m", "input": "q", "response_format": [{"type": "video", "duration": "5s"}],
                        "response_modalities": ["video"]}),
    (STEPS, "response", {"id": "i", "object": "interaction", "status": "completed", "agent": "a",
                         "generation_config": {"temperature": 0.5, "thinking_level": "low"}}),
    (MESSAGES, "request", {
        "model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}],
        "mcp_servers": [{"type": "url", "name": "s", "url": "https://example.com", "tool_configuration": {}}]}),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "kind", "body"), DECLARED)
def test_what_the_sdks_declare_is_kept_to_the_letter(protocol: str, kind: str, body: Node) -> None:
    done = ul.convert(body, source=protocol, target=protocol, kind=kind)
    assert (done.value, list(done.losses)) == (body, [])


def test_citations_that_each_chunk_brings_of_its_own_are_all_told() -> None:
    def chunk(text: str, cited: list[Node], **end: Any) -> Node:
        said = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0, **end}
        return {"event": None, "data": {"candidates": [{**said, "citationMetadata": {"citations": cited}}]}}

    one = {"startIndex": 0, "endIndex": 2, "uri": "https://example.com/1", "license": "mit"}
    two = {"startIndex": 2, "endIndex": 4, "uri": "https://example.com/2", "publicationDate": {"year": 2014}}
    for events in (
        [chunk("ab", [one]), chunk("cd", [two], finishReason="STOP")],
        [chunk("ab", [one]), chunk("cd", [one, two], finishReason="STOP")],
    ):
        assert list(ul.convert_stream(events, source=CONTENTS, target=CONTENTS)) == events
        stream = ul.convert_stream(events, source=CONTENTS, target=RESPONSES)
        (message,) = list(stream)[-1]["data"]["response"]["output"]
        urls = [annotation["url"] for annotation in message["content"][0]["annotations"]]
        assert urls == ["https://example.com/1", "https://example.com/2"]
        lost = {path.rpartition("/")[2] for path, fate in told(stream) if fate == "lost"}
        assert {"license", "publicationDate"} <= lost


def test_the_probabilities_that_each_chunk_brings_of_its_own_are_all_told() -> None:
    def chunk(text: str, **end: Any) -> Node:
        token = {"token": text, "logProbability": -0.5, "tokenId": 1}
        result = {"chosenCandidates": [token], "topCandidates": [{"candidates": [token]}]}
        said = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0, "logprobsResult": result}
        return {"event": None, "data": {"candidates": [{**said, **end}]}}

    events = [chunk("a"), chunk("b"), chunk("b", finishReason="STOP")]
    assert list(ul.convert_stream(events, source=CONTENTS, target=CONTENTS)) == events
    chunks = [event["data"] for event in ul.convert_stream(events, source=CONTENTS, target=CHAT)]
    choices = [choice for data in chunks if type(data) is dict for choice in data["choices"]]
    told = [token["token"] for choice in choices for token in (choice.get("logprobs") or {}).get("content") or ()]
    assert told == ["a", "b", "b"]
