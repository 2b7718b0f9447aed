"""Forms that servers and clients of Chat Completions give their documents, beside those of the official SDK.

Each was met in a recorded exchange; the documents are packaged (`unified_llm/suite/data/openai-chat/*/vendor_*`),
over which the laws run. Here is what they mean.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul
from corpus import by_id

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"


def fixture(kind: str, name: str) -> Any:
    record = by_id(CHAT, kind)[f"{CHAT}/{kind}/{name}"]
    return record["events"] if kind == "stream" else record["body"]


def told(name: str, target: str, kind: str = "response") -> ul.Converted:
    return ul.convert(fixture(kind, name), source=CHAT, target=target, kind=kind)


def test_messages_of_the_assistant_side_by_side_stay_apart() -> None:
    body = fixture("request", "assistants_side_by_side")
    assert ul.convert(body, source=CHAT, target=CHAT).value == body
    # A dialect that has the same form is sent the same messages, but for the calls of one step, which stand together.
    roles = [each["role"] for each in ul.convert(body, source=CHAT, target=f"{CHAT}:groq").value["messages"]]
    assert roles == "user assistant assistant tool assistant assistant tool tool assistant assistant user".split()


def test_a_turn_is_said_of_the_second_of_two_messages_only() -> None:
    items = ul.read(fixture("request", "assistants_side_by_side"), CHAT).dump()["input"]
    assert [item.get("turn") for item in items] == [None, None, 2, None, None, 5, 6, None, None, None, 10, None]


def test_structured_output_as_an_object_is_its_text_elsewhere() -> None:
    value = told("vendor_content_object", MESSAGES).value
    assert json.loads(value["content"][0]["text"]) == {"title": "Pears", "pages": 12, "price": 1.5, "tags": []}
    history = {"model": "m", "messages": [fixture("response", "vendor_content_object")["choices"][0]["message"]]}
    assert ul.convert(history, source=CHAT, target=CHAT).value == history


def test_a_choice_without_index_gives_its_calls_none() -> None:
    call = told("vendor_choice_without_index", CHAT).value["choices"][0]["message"]["tool_calls"][0]
    assert call.keys() == {"id", "type", "function"}


def test_an_empty_field_of_reasoning_is_not_a_loss_beside_one_that_speaks() -> None:
    done = told("vendor_reasoning_field_empty", RESPONSES)
    assert done.value["output"][0]["content"] == [{"type": "reasoning_text", "text": "Two and two."}]
    assert not [loss for loss in done.losses if loss.fate == "lost"]


def test_a_count_is_reported_where_it_stands() -> None:
    # More of the input was read from the cache than there was, which no other protocol can represent.
    body = {**fixture("response", "vendor_usage_num_cached")}
    body["usage"] = {**body["usage"], "num_cached_tokens": 99}
    done = ul.convert(body, source=CHAT, target=MESSAGES, kind="response")
    assert "/usage/num_cached_tokens" in [loss.path for loss in done.losses if loss.fate == "approximated"]


@pytest.mark.parametrize(("target", "part"), [(RESPONSES, "input_file"), (MESSAGES, "document")])
def test_a_file_by_url_is_read_and_one_without_anything_is_lost_whole(target: str, part: str) -> None:
    done = told("vendor_file_url", target, "request")
    content = done.value["input" if target == RESPONSES else "messages"][0]["content"]
    assert [each["type"] for each in content][1:] == [part]
    assert "https://example.com/report.pdf" in json.dumps(content)
    assert "/messages/0/content/2" in [loss.path for loss in done.losses if loss.fate == "lost"]


def test_chunks_may_be_called_what_the_answer_is() -> None:
    events = fixture("stream", "vendor_object_of_answers")
    assert list(ul.convert_stream(events, source=CHAT, target=CHAT)) == events
    stream = ul.convert_stream(events, source=CHAT, target=MESSAGES)
    texts = [event["data"]["delta"].get("text", "") for event in stream if event["event"] == "content_block_delta"]
    assert "".join(texts) == "Hello there"
    assert not [loss for loss in stream.losses if loss.path.endswith("/object")]


def test_what_the_branches_of_a_root_union_said_is_told() -> None:
    done = told("tools_root_union", MESSAGES, "request")
    schemas = [tool["input_schema"] for tool in done.value["tools"]]
    assert [sorted(schema["properties"]) for schema in schemas] == [["id", "query"], ["a", "b"]]
    lost = {loss.path for loss in done.losses if loss.fate == "lost"}
    branches = "/tools/{}/function/parameters/{}/{}"
    assert branches.format(0, "oneOf/0", "required/0") in lost
    assert branches.format(0, "oneOf/1", "required/0") in lost
    assert branches.format(1, "anyOf/0", "description") in lost


def test_what_all_branches_require_stays_required() -> None:
    schema = {
        "type": "object",
        "properties": {"query": {"type": "string"}, "id": {"type": "string"}},
        "anyOf": [{"required": ["id", "query"]}, {"required": ["id"]}],
    }
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}], "tools": [tool]}
    written = ul.convert(body, source=CHAT, target=MESSAGES).value["tools"][0]["input_schema"]
    assert written["required"] == ["id"]


@pytest.mark.parametrize("target", [CHAT, MESSAGES, "google-interactions"])
@pytest.mark.parametrize("said", [True, False])
def test_why_an_answer_is_incomplete_is_added_where_it_is_missing(target: str, said: bool) -> None:
    body = {"id": "r", "object": "response", "created_at": 1, "status": "incomplete", "model": "m", "output": []}
    why = {"incomplete_details": {"reason": "max_output_tokens"}} if said else {}
    done = ul.convert({**body, **why}, source=RESPONSES, target=target, kind="response")
    added = [loss.path for loss in done.losses if loss.fate == "added"]
    place = {CHAT: "/choices/0/finish_reason", MESSAGES: "/stop_reason"}.get(target, "/status")
    assert (place in added) is not said


def test_a_stream_says_when_it_made_up_the_time() -> None:
    answer = {"id": "r", "object": "response", "model": "m", "output": []}
    events = [
        {"event": kind, "data": {"type": kind, "response": {**answer, "status": kind.rpartition(".")[2]}}}
        for kind in ("response.created", "response.completed")
    ]
    stream = ul.convert_stream(events, source=RESPONSES, target=CHAT)
    first = next(iter(stream))
    list(stream)
    assert first["data"]["created"] == 0
    assert [loss.path for loss in stream.losses if loss.fate == "added"] == ["/0/data/created"]


@pytest.mark.parametrize("streamed", [False, True])
def test_probabilities_of_reasoning_are_lost_where_they_stand(streamed: bool) -> None:
    body = fixture("response", "vendor_logprobs_of_reasoning")
    if not streamed:
        losses = ul.convert(body, source=CHAT, target=RESPONSES, kind="response").losses
        places = {"/choices/0/logprobs/reasoning_content"}
    else:
        head = {key: body[key] for key in ("id", "object", "created", "model")}
        pieces = body["choices"][0]["logprobs"]["reasoning_content"]
        deltas: list[tuple[Any, Any, Any]] = [({"role": "assistant", "content": ""}, None, None)]
        deltas += [({"reasoning_content": piece["token"]}, {"reasoning_content": [piece]}, None) for piece in pieces]
        deltas += [({"content": "4"}, {"content": [pieces[0]]}, None), ({}, None, "stop")]
        events = [
            {"event": None, "data": {**head, "choices": [{"index": 0, "delta": d, "logprobs": p, "finish_reason": f}]}}
            for d, p, f in deltas
        ]
        stream = ul.convert_stream(events, source=CHAT, target=RESPONSES)
        list(stream)
        losses = stream.losses
        places = {f"/{number}/data/choices/0/logprobs/reasoning_content" for number in (1, 2, 3)}
    assert places <= {loss.path for loss in losses if loss.fate == "lost"}


def test_a_delta_beside_a_message_says_nothing() -> None:
    done = told("vendor_delta_beside_message", RESPONSES)
    assert not [loss.path for loss in done.losses if "delta" in loss.path]


def test_a_role_that_changes_in_a_stream_is_told() -> None:
    answer = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    events = [
        {"event": None, "data": {**answer, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}}
        for delta, finish in (({"role": "assistant", "content": "a"}, None), ({"role": "tool"}, None), ({}, "stop"))
    ]
    stream = ul.convert_stream(events, source=CHAT, target=MESSAGES)
    list(stream)
    assert "/1/data/choices/0/delta/role" in [loss.path for loss in stream.losses if loss.fate == "lost"]


def test_what_is_refused_of_a_function_call_is_found_where_it_stands() -> None:
    done = told("legacy_functions_empty", RESPONSES, "request")
    assert "/max_tokens" in [loss.path for loss in done.losses if loss.fate == "approximated"]
    body = {**fixture("request", "legacy_functions_empty"), "web_search_options": None}
    refused = ul.convert(body, source=CHAT, target=MESSAGES).losses
    assert "/function_call" in [loss.path for loss in refused if loss.fate == "lost"]


def test_an_error_that_says_nothing_is_none() -> None:
    body = by_id(RESPONSES, "response")[f"{RESPONSES}/response/vendor_error_empty"]["body"]
    events = [
        {"event": kind, "data": {"type": kind, "response": answer}}
        for kind, answer in (
            ("response.created", {**body, "status": "in_progress", "output": []}),
            ("response.completed", body),
        )
    ]
    last = list(ul.convert_stream(events, source=RESPONSES, target="google-generate-content"))[-1]["data"]
    assert "error" not in last and last["candidates"][0]["finishReason"] == "STOP"


def test_what_travels_enveloped_is_parked() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc", "status": "completed"}
    body = {"id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "m", "tools": []}
    body["output"] = [{**thought, "format": "vendor-v1"}]
    # Data that is not opaque comes back out of an envelope that a secret authenticates, and out of no other (ADR 0016).
    for secret, fate in (("a secret of the test", "parked"), (None, "lost")):
        for target in (CHAT, "google-generate-content"):
            losses = ul.convert(body, source=RESPONSES, target=target, kind="response", secret=secret).losses
            told = {loss.path: loss.fate for loss in losses}
            assert told.get("/output/0/format", told.get("/output/0")) == fate


def test_a_choice_among_tools_that_are_not_sent_adds_nothing() -> None:
    choice = {"type": "allowed_tools", "tools": [{"type": "mcp", "server_label": "s"}]}
    body = {"model": "m", "input": "q", "tools": [{"type": "mcp", "server_label": "s"}], "tool_choice": choice}
    assert not [loss for loss in ul.preview(body, source=RESPONSES, target=CHAT) if loss.fate == "added"]


def test_a_servers_own_name_of_a_parameter_reaches_it_from_any_client() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}], "random_seed": 5}
    assert ul.convert(body, source=CHAT, target=f"{CHAT}:mistral").value == body


def test_a_server_that_names_the_token_it_ended_with_has_stopped() -> None:
    body = fixture("response", "vendor_delta_beside_message")
    body = {**body, "choices": [{**body["choices"][0], "finish_reason": "eos_token"}]}
    assert ul.convert(body, source=CHAT, target=MESSAGES, kind="response").value["stop_reason"] == "end_turn"
    assert ul.convert(body, source=CHAT, target=CHAT, kind="response").value == body


def test_probabilities_of_calls_follow_those_of_the_text() -> None:
    answer = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    tokens = [{"token": text, "logprob": -1.0, "bytes": None, "top_logprobs": []} for text in ("a", "{}")]
    told_so = (({"content": "a"}, tokens[:1], None), ({"tool_calls": [call]}, tokens[1:], None), ({}, None, "stop"))
    events = [
        {"event": None, "data": {**answer, "choices": [choice]}}
        for choice in (
            {"index": 0, "delta": delta, "logprobs": weighed and {"content": weighed}, "finish_reason": finish}
            for delta, weighed, finish in told_so
        )
    ]
    part = ul.collect(ul.read_stream(events, CHAT))["output"][0]["content"][0]
    assert part["logprobs"] == tokens


# ---- images beside the content --------------------------------------------------------------------------------------

PIXEL = "data:image/png;base64,iVBORw0KGgo="
PICTURE = {"type": "image_url", "image_url": {"url": PIXEL}}
DRAWN = {
    "id": "c1", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{
        "index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "Here:", "images": [{**PICTURE, "index": 0}]},
    }],
}  # fmt: skip


def drawing(*deltas: dict[str, Any]) -> list[dict[str, Any]]:
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return [{"event": None, "data": {**head, "choices": [choice]}} for choice in choices]


def test_images_beside_the_content_are_parts_of_an_answer() -> None:
    (item,) = ul.read(DRAWN, "openai-chat:openrouter", "response").output
    assert [part.type for part in item.content] == ["output_text", "output_image"]
    assert item.content[1].image_url == PIXEL
    for dialect in ("openai-chat", "openai-chat:openrouter"):
        done = ul.convert(DRAWN, source=dialect, target=dialect, kind="response")
        assert done.value == DRAWN and not done.losses
    done = ul.convert(DRAWN, source="openai-chat:openrouter", target="google-generate-content", kind="response")
    inline = {"mimeType": "image/png", "data": "iVBORw0KGgo="}
    assert done.value["candidates"][0]["content"]["parts"] == [{"text": "Here:"}, {"inlineData": inline}]


def test_images_of_a_stream_are_parts_of_its_answer() -> None:
    events = drawing({"role": "assistant", "content": "Here:"}, {"images": [PICTURE]})
    answer = ul.collect(ul.read_stream(events, "openai-chat:openrouter"))
    assert [part["type"] for part in answer["output"][0]["content"]] == ["output_text", "output_image"]
    assert answer["output"][0]["content"][1]["image_url"] == PIXEL
    same = list(ul.convert_stream(events, source="openai-chat", target="openai-chat"))
    assert [each["data"] for each in same] == [each["data"] for each in events]
    stream = ul.convert_stream(events, source="openai-chat:openrouter", target="openai-responses")
    last = [each["data"] for each in stream][-1]["response"]["output"]
    assert [item["result"] for item in last if item["type"] == "image_generation_call"] == ["iVBORw0KGgo="]


def test_images_go_to_servers_that_have_a_place_for_them() -> None:
    parts = [{"text": "Here:"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]
    answer = {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
        "modelVersion": "m",
    }
    source = "google-generate-content"
    done = ul.convert(answer, source=source, target="openai-chat:openrouter", kind="response")
    assert done.value["choices"][0]["message"]["images"] == [PICTURE]
    done = ul.convert(answer, source=source, target="openai-chat", kind="response")
    assert "images" not in done.value["choices"][0]["message"]
    assert [loss.fate for loss in done.losses if loss.path.startswith("/candidates/0/content/parts/1")] == ["lost"]
    stream = ul.convert_stream([{"event": None, "data": answer}], source=source, target="openai-chat:openrouter")
    deltas = [each["data"]["choices"][0]["delta"] for each in stream if each["data"] != "[DONE]"]
    assert [delta["images"] for delta in deltas if "images" in delta] == [[PICTURE]]
    body = {"contents": [{"role": "user", "parts": [{"text": "Draw"}]}, {"role": "model", "parts": parts},
                         {"role": "user", "parts": [{"text": "Again"}]}]}  # fmt: skip
    sent = ul.convert(body, source=source, target="openai-chat:openrouter", model="m").value["messages"][1]
    assert sent == {"role": "assistant", "content": "Here:", "images": [PICTURE]}


@pytest.mark.parametrize(
    "odd", [["iVBORw0KGgo="], [{"type": "image_url"}], "x", [{"type": "image_url", "image_url": {"url": 1}}]]
)
def test_images_that_cannot_be_read_stay_and_are_reported(odd: Any) -> None:
    body = {
        **DRAWN,
        "choices": [{**DRAWN["choices"][0], "message": {"role": "assistant", "content": "x", "images": odd}}],
    }
    assert ul.convert(body, source="openai-chat", target="openai-chat", kind="response").value == body
    done = ul.convert(body, source="openai-chat", target="openai-responses", kind="response")
    assert any(loss.path.startswith("/choices/0/message/images") for loss in done.losses)


@pytest.mark.parametrize("inside", [False, True])
def test_a_breakpoint_on_a_tool_reaches_claude(inside: bool) -> None:
    """Gateways pass it on, beside the function or in it."""
    control = {"type": "ephemeral", "ttl": "1h"}
    function = {"name": "f", "parameters": {"type": "object", "properties": {}}}
    tool: dict[str, Any] = {"type": "function", "function": function}
    (function if inside else tool)["cache_control"] = control
    body = {"model": "m", "messages": [{"role": "user", "content": "?"}], "tools": [tool]}
    done = ul.convert(body, source="openai-chat", target="anthropic-messages")
    assert done.value["tools"][0]["cache_control"] == control
    assert not list(done.losses.significant)
    for same in ("openai-chat", "openai-chat:openrouter"):
        assert ul.convert(body, source="openai-chat", target=same).value == body
    back = ul.convert(done.value, source="anthropic-messages", target="openai-chat")
    assert back.value["tools"][0]["function"] == {"name": "f", "parameters": function["parameters"]}
    assert [loss.path for loss in back.losses.significant] == ["/tools/0/cache_control"]


@pytest.mark.parametrize("url", ["https://example.com/a.png", "data:image/png;base64,iVBORw0KGgo=", "iVBORw0KGgo="])
def test_an_image_may_be_its_url_alone(url: str) -> None:
    def body(image: Any) -> dict[str, Any]:
        content = [{"type": "text", "text": "?"}, {"type": "image_url", "image_url": image}]
        return {"model": "m", "messages": [{"role": "user", "content": content}]}

    for target in (MESSAGES, RESPONSES, "google-generate-content", "google-interactions"):
        done = ul.convert(body(url), source=CHAT, target=target)
        assert done.value == ul.convert(body({"url": url}), source=CHAT, target=target).value
        assert not list(done.losses.significant)
    assert ul.convert(body(url), source=CHAT, target=CHAT).value == body(url)
    assert ul.convert(body(url), source=f"{CHAT}:mistral", target=f"{CHAT}:openrouter").value == body({"url": url})


@pytest.mark.parametrize("content", [[], "", None, [{"type": "text", "text": ""}]])
def test_calls_beside_an_empty_content_are_a_whole_message(content: Any) -> None:
    """Mistral's messages with calls have an empty list as their content, and `prefix`."""
    call = {"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": content, "tool_calls": [call], "prefix": True}
    result = {"role": "tool", "tool_call_id": "abcdefghi", "name": "f", "content": "ok"}
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}, message, result]}
    assert ul.convert(body, source=CHAT, target=CHAT).value == body
    done = ul.convert(body, source=CHAT, target=f"{CHAT}:mistral")
    assert done.value["messages"][1]["prefix"] is True and not done.losses
    done = ul.convert({**body, "max_tokens": 9}, source=CHAT, target=MESSAGES)
    assert [block["type"] for block in done.value["messages"][1]["content"]] == ["tool_use"]
    losses = [(loss.path, loss.fate) for loss in done.losses if loss.path.startswith("/messages/1/")]
    empty = [("/messages/1/content/0", "approximated")] if content and type(content) is list else []
    assert losses == [("/messages/1/prefix", "lost"), *empty]


def test_a_text_that_is_left_out_beside_a_call_is_reported_alone() -> None:
    blocks = [{"type": "text", "text": " "}, {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": blocks, "odd": 1}]
    body = {"model": "m", "max_tokens": 9, "messages": [*messages, {"role": "user", "content": [result]}]}
    done = ul.convert(body, source=MESSAGES, target="amazon-converse")
    reported = {(loss.path, loss.fate) for loss in done.losses if loss.fate != "added"}
    assert reported == {("/messages/1/content/0", "approximated"), ("/messages/1/odd", "lost")}
