"""Requests and answers between the two OpenAI protocols: what has a form on the other side, and what is reported."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES = "openai-chat", "openai-responses"
IMAGE = {"type": "input_image", "image_url": "https://example.com/a.png"}
RESULT = {"type": "moderation_result", "model": "omni", "flagged": False, "categories": {}, "category_scores": {}}


def request(*items: Any, **settings: Any) -> dict[str, Any]:
    return {"model": "m", "input": list(items), **settings}


def call(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "call_id": "c1", **fields}


def messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ul.convert(body, source=RESPONSES, target=CHAT).value["messages"]
    return found


def paths(body: dict[str, Any], source: str, target: str, fate: str = "lost", **options: Any) -> list[str]:
    return [loss.path for loss in ul.preview(body, source=source, target=target, **options) if loss.fate == fate]


def answer(**fields: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "Hi", **fields}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def test_a_result_is_of_the_kind_of_the_call_it_answers() -> None:
    body = request(
        call("custom_tool_call", name="sh", input="ls"),
        call("custom_tool_call_output", output="a"),
        {"role": "user", "content": "?"},
    )
    wire = ul.convert(body, source=RESPONSES, target=CHAT).value
    kinds = [item.type for item in ul.read(wire, CHAT).input]  # type: ignore[attr-defined]
    assert kinds == ["custom_tool_call", "custom_tool_call_output", "message"]


@pytest.mark.parametrize(
    ("part", "written"),
    [
        ({"type": "input_image", "file_id": "file_1"}, []),
        (IMAGE, [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]),
    ],
)
def test_media_of_a_result_follow_it_only_where_they_can_be_written(part: Any, written: list[Any]) -> None:
    body = request(call("function_call", name="f", arguments="{}"), call("function_call_output", output=[part]))
    told = messages(body)
    assert told[1]["content"] == ("The result follows." if written else "")
    assert [message["content"][1:] for message in told[2:]] == ([written] if written else [])
    assert bool(paths(body, RESPONSES, CHAT)) is not bool(written)


def test_nulls_of_the_other_protocol_are_left_out_and_no_loss() -> None:
    schema = {"type": "object", "properties": {}}
    tool = {"type": "function", "name": "f", "description": None, "parameters": schema, "strict": None}
    body = {"model": "m", "input": "Hi", "parallel_tool_calls": None, "tools": [tool]}
    done = ul.convert(body, source=RESPONSES, target=CHAT)
    assert done.value["tools"] == [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    assert "parallel_tool_calls" not in done.value
    assert not done.losses


def test_cache_options_and_tiers_that_chat_lacks_are_told() -> None:
    options = {"mode": "explicit", "ttl": "12h", "prewarm": True}
    body = request({"role": "user", "content": "Hi"}, prompt_cache_options=options, service_tier="ultrafast")
    done = ul.convert(body, source=RESPONSES, target=CHAT)
    assert done.value["prompt_cache_options"] == {"mode": "explicit"}
    assert done.value["service_tier"] == "fast"
    assert paths(body, RESPONSES, CHAT) == ["/prompt_cache_options/ttl", "/prompt_cache_options/prewarm"]
    assert paths(body, RESPONSES, CHAT, "approximated") == ["/service_tier"]


def test_a_moderation_result_is_a_list_of_one_in_chat() -> None:
    body = {"id": "r", "object": "response", "status": "completed", "output": [], "moderation": {"input": RESULT}}
    done = ul.convert(body, source=RESPONSES, target=CHAT, kind="response")
    assert done.value["moderation"] == {"input": {"type": "moderation_results", "model": "omni", "results": [RESULT]}}


def test_hollow_fields_are_no_loss_and_go_home() -> None:
    hollow = {"annotations": [], "refusal": None, "tool_calls": [], "function_call": {"name": "", "arguments": ""}}
    body = answer(**hollow)
    assert ul.convert(body, source=CHAT, target=CHAT, kind="response").value == body
    assert paths(body, CHAT, RESPONSES, kind="response") == []


def test_what_an_envelope_holds_is_parked_and_not_lost() -> None:
    google = {"google": {"thought_signature": "c2ln"}}
    tool_call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}, "extra_content": google}
    body = answer(content=None, tool_calls=[tool_call], extra_content=google)
    # Without a secret opaque data alone is taken from an envelope again (ADR 0016).
    assert paths(body, CHAT, RESPONSES, kind="response") == ["/choices/0/message/extra_content"]
    assert paths(body, CHAT, RESPONSES, kind="response", secret="a secret of the test") == []
    assert paths(body, CHAT, RESPONSES, "parked", kind="response", secret="a secret of the test") == [
        "/choices/0/message/extra_content",
        "/choices/0/message/tool_calls/0/extra_content/google/thought_signature",
    ]


def test_an_answer_that_does_not_say_how_it_ended_is_called_completed_and_that_is_told() -> None:
    body = answer()
    body["choices"][0]["finish_reason"] = None
    report = ul.preview(body, source=CHAT, target=RESPONSES, kind="response")
    assert "/status" in [loss.path for loss in report if loss.fate == "added"]


def test_a_second_audio_is_told() -> None:
    sounds = [{"type": "output_audio", "data": data} for data in ("AAAA", "BBBB")]
    node = {
        "model": "m",
        "output": [{"type": "message", "role": "assistant", "content": sounds}],
        "status": "completed",
    }
    done = ul.write(node, CHAT, "response")
    audio = done.value["choices"][0]["message"]["audio"]
    # https://platform.openai.com/docs/api-reference/chat/object: id, data, expires_at and transcript are required.
    assert audio.pop("id").startswith("audio_")
    assert audio == {"data": "AAAA", "expires_at": 0, "transcript": ""}
    added = {loss.path.rpartition("/")[2] for loss in done.losses if loss.fate == "added" and "/audio/" in loss.path}
    assert added == {"id", "expires_at", "transcript"}
    assert [loss.path for loss in done.losses if loss.fate == "lost"] == ["/output/0/content/1"]


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses"])
@pytest.mark.parametrize(
    ("kind", "name"),
    [("application/pdf", "document.pdf"), ("text/csv", "document.csv"), ("application/x-acme", "document")],
)
def test_data_without_a_name_get_one(target: str, kind: str, name: str) -> None:
    """OpenAI refuses `file_data` without a file name; other protocols have none, or an optional title."""
    part = {"inlineData": {"mimeType": kind, "data": "JVBERi0="}}
    body = {"contents": [{"role": "user", "parts": [part, {"text": "q"}]}]}
    done = ul.convert(body, source="google-generate-content", target=target, model="m")
    message = (done.value.get("messages") or done.value.get("input"))[0]
    file = message["content"][0].get("file", message["content"][0])
    assert file["filename"] == name
    added = [loss for loss in done.losses if loss.path.endswith("/filename")]
    assert [(loss.fate, loss.detail) for loss in added] == [("added", "the API demands one")]
    own = done.value
    assert ul.convert(own, source=target, target=target).value == own
    del file["filename"]
    assert ul.convert(own, source=target, target=target).value == own


@pytest.mark.parametrize("effort", ["high", "none"])
@pytest.mark.parametrize("target", [CHAT, RESPONSES])
def test_a_request_to_a_model_that_thinks_has_no_log_probabilities(target: str, effort: str) -> None:
    """The model refuses the request, whichever setting demands them."""
    model = "gpt-5.2"
    chat = {
        "model": model,
        "messages": [{"role": "user", "content": "?"}],
        "reasoning_effort": effort,
        "logprobs": True,
    }
    include = ["reasoning.encrypted_content", "message.output_text.logprobs"]
    own = {"model": model, "input": "?", "reasoning": {"effort": effort}, "include": include, "store": False}
    body, path = (chat, "/logprobs") if target == RESPONSES else (own, "/include/1")
    done = ul.convert(body, source=RESPONSES if target == CHAT else CHAT, target=target)
    sent = done.value.get("logprobs") or "message.output_text.logprobs" in done.value.get("include", ())
    told = {loss.path: (loss.capability, loss.fate) for loss in done.losses}
    assert bool(sent) is (effort == "none")
    assert told.get(path) == (None if sent else ("output.logprobs", "lost"))


PDF, WORD = "application/pdf", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def document(source: str, name: str, kind: str = PDF) -> dict[str, Any]:
    """A document in a message of the user, and in the result of a tool where that may hold one."""
    words = {"pdf": "pdf", "document": "docx", "plain": "txt"}
    if source == "amazon-converse":
        word = words[kind.rpartition("/")[2].rpartition(".")[2]]
        parts = [{"text": "Read"}, {"document": {"name": name, "format": word, "source": {"bytes": "JVBERg=="}}}]
        return {"messages": [{"role": "user", "content": parts}]}
    if source == "google-generate-content":
        data = {"mimeType": kind, "data": "JVBERg==", "displayName": name}
        return {"contents": [{"role": "user", "parts": [{"text": "Read"}, {"inlineData": data}]}]}
    data = {"type": "base64", "media_type": kind, "data": "JVBERg=="}
    file = {"type": "document", "source": data, "title": name}
    history = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [file]}, file]},
    ]
    return {"model": "m", "max_tokens": 99, "messages": history}


def names_in(value: Any) -> list[str]:
    """The names of files in a document, in their order."""
    if type(value) is list:
        return [name for each in value for name in names_in(each)]
    if type(value) is not dict:
        return []
    own = [value[key] for key in ("filename", "title", "displayName", "name") if key in value and "role" not in value]
    inner = [name for each in value.values() for name in names_in(each)]
    return [*(own if value.keys() & {"file_data", "inlineData", "source", "data"} else []), *inner]


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
@pytest.mark.parametrize(
    ("source", "name", "kind", "written"),
    [
        ("anthropic-messages", "Report v1.2", PDF, "Report v1.2.pdf"),
        ("anthropic-messages", "report.PDF", PDF, "report.PDF"),
        ("anthropic-messages", "report.docx", PDF, "report.docx.pdf"),
        ("anthropic-messages", "Letter", WORD, "Letter.docx"),
        ("anthropic-messages", "a name", "application/x-unknown", "a name"),
        ("google-generate-content", "report", PDF, "report.pdf"),
        ("google-generate-content", "notes.py", "text/x-python", "notes.py"),
        ("google-generate-content", "notes.py", "text/plain", "notes.py"),
        ("google-generate-content", "notes", "text/plain", "notes.txt"),
        ("google-generate-content", ".notes", "text/plain", ".notes.txt"),
        ("amazon-converse", "report", PDF, "report.pdf"),
        ("amazon-converse", "letter", WORD, "letter.docx"),
    ],
)
def test_a_name_has_the_ending_of_its_type(source: str, name: str, kind: str, written: str, target: str) -> None:
    """OpenAI knows a file by the ending of its name, and refuses one without."""
    body = document(source, name, kind)
    done = ul.convert(body, source=source, target=target)
    found = names_in(done.value)
    assert found and set(found) == {written}
    keys = {"title", "displayName", "name"}
    told = [loss.fate for loss in done.losses if loss.path.rpartition("/")[2] in keys]
    assert told == ["approximated"] * len(found) if written != name or "title" in str(body) else not told
    assert ul.convert(body, source=source, target=source).value == body
    assert ul.convert(done.value, source=target, target=target).value == done.value


@pytest.mark.parametrize("source", [CHAT, RESPONSES])
@pytest.mark.parametrize("between", ["anthropic-messages", "google-generate-content", "amazon-converse"])
@pytest.mark.parametrize("name", ["report.pdf", "report"])
def test_a_name_comes_back_as_it_was(source: str, between: str, name: str) -> None:
    """A name that the API takes; one without an ending, which it refuses, has one then."""
    file: dict[str, Any] = {"filename": name, "file_data": "data:application/pdf;base64,JVBERg=="}
    if source == CHAT:
        content = [{"type": "text", "text": "Read"}, {"type": "file", "file": file}]
        body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": content}]}
    else:
        content = [{"type": "input_text", "text": "Read"}, {"type": "input_file", **file}]
        body = {"model": "m", "input": [{"type": "message", "role": "user", "content": content}]}
    there = ul.convert(body, source=source, target=between).value
    assert names_in(ul.convert(there, source=between, target=source).value) == ["report.pdf"]
    assert ul.convert(body, source=source, target=source).value == body


def test_the_name_of_a_converse_document_comes_back_from_a_file() -> None:
    body = document("amazon-converse", "report")
    there = ul.convert(body, source="amazon-converse", target=RESPONSES).value
    assert names_in(ul.convert(there, source=RESPONSES, target="amazon-converse").value) == ["report"]
