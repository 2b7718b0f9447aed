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
