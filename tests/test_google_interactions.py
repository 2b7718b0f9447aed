"""Google Interactions: what the laws do not test, feature by feature.

The laws (identity, sensitivity, streams, ...) run over the fixtures of this protocol as over those of all others; here
stand the decisions: which canonical form a wire form has, what other protocols' words become, and what is refused.
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from unified_llm import suite

IA = "google-interactions"
OTHERS = ("openai-chat", "openai-responses", "anthropic-messages", "google-generate-content")
TOOL = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}


def read(body: Any, kind: str = "request") -> Any:
    return suite.canonical(body, IA, kind)


def write(node: Any, kind: str = "request", **options: Any) -> Any:
    return ul.write(node, IA, kind, **options).value


def to_ia(body: Any, source: str, kind: str = "request", **options: Any) -> ul.Converted:
    return ul.convert(body, source=source, target=IA, kind=kind, **options)


def fates(done: ul.Converted) -> dict[str, str]:
    return {loss.path: loss.fate for loss in done.losses}


# ---- requests -------------------------------------------------------------------------------------------------------


def test_every_form_of_input_is_the_same_conversation() -> None:
    content = {"type": "text", "text": "Hi"}
    forms: list[Any] = [
        content,
        [content],
        [{"type": "user_input", "content": [content]}],
        [{"role": "user", "content": [content]}],
    ]
    part = {"type": "input_text", "text": "Hi"}
    for form in forms:
        # A step of one plain text is read in short, as a string; older forms as the part they came with.
        wanted = [{"type": "message", "role": "user", "content": "Hi" if form is forms[2] else [part]}]
        assert suite.without_form(read({"model": "m", "input": form})["input"]) == wanted
    assert read({"model": "m", "input": "Hi"})["input"] == "Hi"


def test_a_result_nested_in_user_input_is_an_item_of_its_own() -> None:
    result = {"type": "function_result", "call_id": "c", "result": "sunny"}
    items = read({"model": "m", "input": [{"type": "user_input", "content": [{"type": "text", "text": "x"}, result]}]})
    assert [item["type"] for item in items["input"]] == ["message", "function_call_output"]
    assert len({item["turn"] for item in items["input"]}) == 1


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"model": "m", "agent": "a", "input": "x"}, "/agent"),
        ({"agent": "a", "input": "x", "generation_config": {"seed": 1}}, "/generation_config"),
        ({"agent": "a", "input": "x", "cached_content": "c"}, "/cached_content"),
        ({"model": "m", "input": "x", "agent_config": {"type": "dynamic"}}, "/agent_config"),
        ({"model": "m", "input": 5}, "/input"),
        ({"model": "m", "input": "x", "background": True, "store": False}, "/store"),
    ],
)
def test_what_may_not_be_combined(body: Any, path: str) -> None:
    with pytest.raises(ul.InvalidBody) as caught:
        read(body)
    assert caught.value.path == path


def test_neither_a_model_nor_an_agent() -> None:
    """Refused by the service: raised to strict readers and before sending, not in a conversion."""
    body = {"input": "Hi"}
    assert ul.convert(body, source=IA, target=IA).value == body
    assert ul.read(body, IA).dump() == {"input": "Hi"}
    with pytest.raises(ul.InvalidBody) as caught:
        ul.read(body, IA, strict=True)
    assert (caught.value.path, caught.value.reason) == ("/model", "a model or an agent is required")
    with pytest.raises(ul.CapabilityRefused) as refused:
        ul.write(body, IA)
    assert (refused.value.path, refused.value.reason) == ("/model", "a model or an agent is required")
    assert ul.write(body, IA, model="m").value["model"] == "m"
    for named in ({"model": "m"}, {"agent": "a"}):
        assert ul.write({**body, **named}, IA).value == {**body, **named}
        assert ul.read({**body, **named}, IA, strict=True).dump() == {**body, **named}


ASKED = {"input": "Hi", "model": "m"}


@pytest.mark.parametrize(
    ("source", "body", "store"),
    [
        ("openai-chat", {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}, False),
        ("openai-chat", {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "store": True}, True),
        ("anthropic-messages", {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}, False),
        ("google-generate-content", {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}, False),
        ("openai-responses", ASKED, None),  # its own provider keeps it too
        ("openai-responses", {**ASKED, "store": False}, False),
        (IA, ASKED, None),
    ],
)
def test_nothing_is_kept_that_the_source_would_not_have_kept(source: str, body: Any, store: bool | None) -> None:
    done = ul.convert(body, source=source, target=IA)
    assert done.value.get("store") is store
    added = ("/store", "added") in [(loss.path, loss.fate) for loss in done.losses]
    assert added is (store is False and "store" not in body)


@pytest.mark.parametrize("more", [{"background": True}, {"previous_response_id": "v1_a"}])
def test_what_lives_on_the_server_is_not_forgotten(more: Any) -> None:
    done = ul.write({**ASKED, **more}, IA, "request")
    assert "store" not in done.value
    assert "store" not in ul.convert({**ASKED, **more}, source="openai-responses", target=IA).value


def test_what_was_kept_here_is_kept_by_others_who_keep() -> None:
    assert "store" not in ul.convert(ASKED, source=IA, target="openai-responses").value
    assert ul.convert({**ASKED, "store": False}, source=IA, target="openai-responses").value["store"] is False


def test_settings_that_an_agent_refuses_are_lost_and_named() -> None:
    done = ul.write({"agent": "a", "input": "x", "temperature": 0.5}, IA)
    assert "generation_config" not in done.value
    assert [(loss.path, loss.fate) for loss in done.losses] == [("/temperature", "lost")]


@pytest.mark.parametrize(
    ("wire", "hub"),
    [
        ("any", "required"),
        ("auto", "auto"),
        ({"allowed_tools": {"mode": "any", "tools": ["f"]}}, {"type": "function", "name": "f"}),
        (
            {"allowed_tools": {"mode": "any", "tools": ["f", "g"]}},
            {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [{"type": "function", "name": "f"}, {"type": "function", "name": "g"}],
            },
        ),
    ],
)
def test_tool_choice(wire: Any, hub: Any) -> None:
    body = {"model": "m", "input": "x", "tools": [TOOL], "generation_config": {"tool_choice": wire}}
    assert read(body)["tool_choice"] == hub
    assert write({"model": "m", "input": "x", "tools": [TOOL], "tool_choice": hub}) == body


def test_leading_system_messages_become_the_system_instruction() -> None:
    messages = [
        {"role": "system", "content": "A"},
        {"role": "developer", "content": "B"},
        {"role": "user", "content": "Hi"},
        {"role": "system", "content": "C"},
    ]
    done = to_ia({"model": "m", "messages": messages}, "openai-chat")
    assert done.value["system_instruction"] == "A\n\nB"
    assert [step["type"] for step in done.value["input"]] == ["user_input", "user_input"]
    joined = {"/messages/0/content": "approximated", "/messages/1/content": "approximated"}
    assert fates(done) == {
        "/messages/1/role": "approximated",
        "/messages/3/role": "approximated",
        "/messages/3/content": "approximated",
        "/store": "added",
        **joined,
    }


def test_output_formats_say_the_modalities() -> None:
    entries = [{"type": "text"}, {"type": "image", "aspect_ratio": "16:9"}]
    node = read({"model": "m", "input": "x", "response_format": entries})
    assert (node["modalities"], node["image"]) == (["text", "image"], {"aspect_ratio": "16:9"})
    assert (
        write({"model": "m", "input": "x", "modalities": ["text", "image"], "image": {"aspect_ratio": "16:9"}})[
            "response_format"
        ]
        == entries
    )


def test_a_json_schema_arrives_in_either_form() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    new = {"response_format": {"type": "text", "mime_type": "application/json", "schema": schema}}
    old = {"response_format": schema, "response_mime_type": "application/json"}
    for form in (new, old):
        node = read({"model": "m", "input": "x", **form})
        assert node["text"] == {"format": {"type": "json_schema", "schema": schema}}
    chat = ul.convert({"model": "m", "input": "x", **old}, source=IA, target="openai-responses").value
    assert chat["text"]["format"]["schema"] == schema


def test_media_are_data_urls_urls_or_handles() -> None:
    contents = [
        {"type": "image", "data": "AAAA", "mime_type": "image/png"},
        {"type": "image", "uri": "https://example.com/a.png"},
        {"type": "image", "uri": "https://generativelanguage.googleapis.com/v1beta/files/a"},
        {"type": "audio", "data": "BBBB", "mime_type": "audio/wav"},
    ]
    parts = read({"model": "m", "input": contents})["input"][0]["content"]
    assert parts[0] == {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    assert parts[1] == {"type": "input_image", "image_url": "https://example.com/a.png"}
    assert parts[2]["file_uri"].endswith("files/a")
    assert parts[3] == {"type": "input_audio", "format": "wav", "data": "BBBB"}


# ---- responses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("stop", "completed"),
        ("stop_sequence", "completed"),
        ("tool_calls", "requires_action"),
        ("length", "incomplete"),
        ("safety", "failed"),
        ("malformed_call", "failed"),
        ("cancelled", "cancelled"),
        ("pause", "incomplete"),
    ],
)
def test_finish_reasons_are_statuses(reason: str, status: str) -> None:
    assert write({"output": [], "finish": {"reason": reason}}, "response")["status"] == status


@pytest.mark.parametrize(
    ("status", "finish", "chat"),
    [
        ("completed", None, "stop"),
        ("incomplete", "length", "length"),
        ("budget_exceeded", "length", "length"),
        ("cancelled", "cancelled", None),
        ("queued", None, None),
        ("idle", None, "stop"),
    ],
)
def test_statuses_stay_and_say_why(status: str, finish: str | None, chat: str | None) -> None:
    body = {"id": "v1_a", "status": status, "steps": [], "object": "interaction"}
    node = read(body, "response")
    assert node["status"] == status
    assert (node.get("finish") or {}).get("reason") == finish
    if chat is not None:
        done = ul.convert(body, source=IA, target="openai-chat", kind="response")
        assert done.value["choices"][0]["finish_reason"] == chat


def test_completed_beside_an_open_call_is_a_tool_call_to_others() -> None:
    call = {"type": "function_call", "id": "c", "name": "f", "arguments": {}}
    body = {"id": "v1_a", "status": "completed", "steps": [call], "object": "interaction"}
    done = ul.convert(body, source=IA, target="openai-chat", kind="response")
    assert done.value["choices"][0]["finish_reason"] == "tool_calls"
    assert ul.convert(body, source=IA, target=IA, kind="response").value == body


def test_an_open_call_of_others_requires_action() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    assert write({"status": "completed", "output": [call]}, "response")["status"] == "requires_action"
    result = {"type": "function_call_output", "call_id": "c", "output": "x"}
    assert write({"status": "completed", "output": [call, result]}, "response")["status"] == "completed"


def test_what_is_to_be_continued_is_so_at_both_protocols() -> None:
    said = {"content": {"role": "model", "parts": [{"text": "Once"}]}, "finishReason": "CONTINUATION", "index": 0}
    cut = {"candidates": [{**said, "continuationToken": "dG9rZW4="}], "responseId": "v1_a"}
    here = ul.convert(cut, source="google-generate-content", target=IA, kind="response")
    assert (here.value["status"], here.value["continuation_token"]) == ("requires_continuation", "dG9rZW4=")
    assert not [loss for loss in here.losses if loss.fate != "added"]
    there = ul.convert(here.value, source=IA, target="google-generate-content", kind="response").value
    assert there["candidates"][0]["finishReason"] == "CONTINUATION"
    assert there["candidates"][0]["continuationToken"] == "dG9rZW4="


def test_older_outputs_are_read_and_never_written_for_others() -> None:
    old = {"id": "v1_a", "status": "completed", "outputs": [{"type": "text", "text": "Hi"}], "object": "interaction"}
    chat = ul.convert(old, source=IA, target="openai-chat", kind="response").value
    assert chat["choices"][0]["message"]["content"] == "Hi"
    back = ul.convert(chat, source="openai-chat", target=IA, kind="response").value
    assert "outputs" not in back
    assert back["steps"] == [{"type": "model_output", "content": [{"type": "text", "text": "Hi"}]}]


def test_errors_have_string_codes_and_a_status() -> None:
    body = {"error": {"type": "invalid_request_error", "message": "no", "code": None, "param": None}}
    done = to_ia(body, "openai-chat", "error", http={"status": 400})
    assert done.value == {"error": {"code": "invalid_request", "message": "no"}}
    assert done.http["status"] == 400


# ---- answers that were blocked --------------------------------------------------------------------------------------


def ended(protocol: str, body: Any) -> Any:
    """The word for the end of an answer."""
    if protocol == "openai-chat":
        return body["choices"][0]["finish_reason"]
    if protocol == "openai-responses":
        return (body["status"], (body["incomplete_details"] or {}).get("reason"))
    return body["stop_reason"] if protocol == "anthropic-messages" else body["candidates"][0]["finishReason"]


ENDS = {
    "safety": ("content_filter", ("incomplete", "content_filter"), "refusal", "SAFETY"),
    "prohibited_content": ("content_filter", ("incomplete", "content_filter"), "refusal", "PROHIBITED_CONTENT"),
    "recitation": ("content_filter", ("incomplete", "content_filter"), "refusal", "RECITATION"),
    "malformed_function_call": ("error", ("failed", None), "refusal", "MALFORMED_FUNCTION_CALL"),
    "no_image": ("error", ("failed", None), "refusal", "NO_IMAGE"),
    "missing_thought_signature": ("error", ("failed", None), "refusal", "MISSING_THOUGHT_SIGNATURE"),
}


@pytest.mark.parametrize("code", ENDS)
@pytest.mark.parametrize("place", range(4))
def test_a_blocked_answer_is_one_that_ended_so(code: str, place: int) -> None:
    """Content blocked and generation failed appear in `errors` of an answer that failed: the wire reference, A15."""
    target = OTHERS[place]
    body = {"id": "v1_b", "object": "interaction", "status": "failed", "model": "m", "created": "2026-05-15T18:52:00Z"}
    body |= {"steps": [], "errors": [{"code": code, "message": "not this"}, {"code": "safety", "extra": 1}]}
    assert ul.convert(body, source=IA, target=IA, kind="response").value == body
    assert ended(target, ul.convert(body, source=IA, target=target, kind="response").value) == ENDS[code][place]
    head = {"id": "v1_b", "status": "in_progress", "object": "interaction", "model": "m"}
    stream = [
        {"event_type": "interaction.created", "interaction": head},
        {"event_type": "interaction.completed", "interaction": {k: v for k, v in body.items() if k != "steps"}},
    ]
    events = [{"event": data["event_type"], "data": data} for data in stream]
    assert list(ul.convert_stream(events, source=IA, target=IA)) == events
    out = [event["data"] for event in ul.convert_stream(events, source=IA, target=target)]
    found = {
        "openai-chat": lambda: [data for data in out if data != "[DONE]" and data["choices"]][-1],
        "openai-responses": lambda: out[-1]["response"],
        "anthropic-messages": lambda: next(data for data in out if data["type"] == "message_delta")["delta"],
        "google-generate-content": lambda: out[-1],
    }[target]()
    assert ended(target, found) == ENDS[code][place]


@pytest.mark.parametrize(("word", "code"), [("SAFETY", "safety"), ("BLOCKLIST", "blocklist"), ("SPII", "spii")])
def test_the_sister_protocol_names_blocks_alike(word: str, code: str) -> None:
    body = {"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": word, "finishMessage": "no"}]}
    done = ul.convert(body, source="google-generate-content", target=IA, kind="response").value
    assert (done["status"], done["errors"]) == ("failed", [{"code": code, "message": "no"}])


@pytest.mark.parametrize("status", ["requires_action", "idle", "budget_exceeded", "requires_continuation"])
def test_statuses_of_its_own_are_ends_that_clients_of_responses_know(status: str) -> None:
    """The wire reference, A14.2: the client must return function results, which is `completed` with calls."""
    head = {"id": "v1", "object": "interaction", "model": "m"}
    call = {"type": "function_call", "id": "f1", "name": "look", "arguments": {}}
    stream = [
        {"event_type": "interaction.created", "interaction": {**head, "status": "in_progress"}},
        {"event_type": "step.start", "index": 0, "step": call},
        {"event_type": "step.stop", "index": 0},
        {"event_type": "interaction.status_update", "interaction_id": "v1", "status": status},
        {"event_type": "interaction.completed", "interaction": {**head, "status": status}},
    ]
    events = [{"event": data["event_type"], "data": data} for data in stream]
    done = ul.convert_stream(events, source=IA, target="openai-responses")
    names = [event["event"] for event in done]
    told = "completed" if status in ("requires_action", "idle") else "incomplete"
    assert names[-1] == f"response.{told}"
    assert not [name for name in names if status in name]
    losses = [(loss.path, loss.fate, loss.detail) for loss in done.losses]
    assert ("/4/data/interaction/status", "approximated", f"sent as {told!r}") in losses
