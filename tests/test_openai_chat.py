"""Chat Completions, feature by feature; expected values are written by hand."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from chat_documents import CHAT, Node, answer, bare, call, canonical, items, message_item, messages, wire_call, written
from unified_llm.foundation.exchange import Exchange


def test_content_that_is_absent_is_told_from_content_that_is_empty() -> None:
    for role in ("user", "developer"):
        done = [
            ul.convert(
                {"model": "m", "input": [{"role": role, **said}]}, source="openai-responses", target="openai-chat"
            )
            for said in ({}, {"content": ""})
        ]
        assert [each.value["messages"] for each in done] == [[{"role": role, "content": ""}]] * 2
        assert [[loss.path for loss in each.losses] for each in done] == [["/messages/0/content"], []]


def test_text_messages_keep_role_and_string() -> None:
    got = items({"role": "developer", "content": "Be terse"}, {"role": "user", "content": "Hi", "name": "ann"})
    assert got == [
        {"type": "message", "role": "developer", "content": "Be terse"},
        {"type": "message", "role": "user", "content": "Hi", "name": "ann"},
    ]


def test_canonical_parts_are_flat() -> None:
    parts = [
        {"type": "text", "text": "t", "prompt_cache_breakpoint": {"mode": "explicit"}},
        {"type": "image_url", "image_url": {"url": "https://e.x/a.png", "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBE", "filename": "a.pdf"}},
    ]
    (item,) = items({"role": "user", "content": parts})
    assert item["content"] == [
        {"type": "input_text", "text": "t", "cache": {"mode": "explicit"}},
        {"type": "input_image", "image_url": "https://e.x/a.png", "detail": "low"},
        {"type": "input_audio", "data": "UklG", "format": "wav"},
        {"type": "input_file", "file_data": "data:application/pdf;base64,JVBE", "filename": "a.pdf"},
    ]
    assert messages(item)[0]["content"] == parts


def test_one_assistant_message_is_several_items_and_one_again() -> None:
    wire = {
        "role": "assistant",
        "content": "Look",
        "reasoning_content": "think",
        "tool_calls": [wire_call(), {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "raw"}}],
    }
    node = ul.read({"model": "m", "messages": [wire]}, CHAT)
    assert bare(node.model_dump(mode="json", exclude_unset=True))["input"] == [
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "think"}]},
        {"type": "message", "role": "assistant", "content": "Look"},
        call(),
        {"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "raw"},
    ]
    assert ul.write(node, CHAT).value["messages"] == [wire]


def test_calls_join_the_text_before_them_and_a_second_text_opens_a_message() -> None:
    text = {"type": "message", "role": "assistant", "content": "a"}
    got = messages(text, call("c1"), call("c2"), {**text, "content": "b"})
    assert [(m["content"], len(m.get("tool_calls", []))) for m in got] == [("a", 2), ("b", 0)]


def test_legacy_functions_become_tools_and_stay_legacy() -> None:
    body = {
        "model": "m",
        "functions": [{"name": "f", "parameters": {"type": "object"}}],
        "function_call": {"name": "f"},
        "messages": [
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "r"},
        ],
    }
    got = canonical(body)
    assert got["tools"] == [{"type": "function", "name": "f", "parameters": {"type": "object"}}]
    assert got["tool_choice"] == {"type": "function", "name": "f"}
    first, second = got["input"]
    assert first["type"] == "function_call"
    assert (second["type"], second["name"], second["output"]) == ("function_call_output", "f", "r")
    assert first["call_id"] == second["call_id"]
    assert ul.convert(body, source=CHAT, target=CHAT).value == body


def test_settings_have_canonical_names() -> None:
    body = {
        "model": "m",
        "messages": [],
        "max_tokens": 7,
        "stop": "\n",
        "reasoning_effort": "low",
        "verbosity": "high",
        "logprobs": True,
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": True}},
        "web_search_options": {"user_location": {"type": "approximate", "approximate": {"city": "Oslo"}}},
    }
    assert canonical(body) == {
        "model": "m",
        "input": [],
        "max_output_tokens": 7,
        "stop": ["\n"],
        "reasoning": {"effort": "low"},
        "text": {"verbosity": "high", "format": {"type": "json_schema", "name": "n", "schema": {}, "strict": True}},
        "include": ["message.output_text.logprobs"],
        "tools": [{"type": "web_search", "user_location": {"type": "approximate", "city": "Oslo"}}],
    }


def test_custom_tool_grammar_is_one_level_deeper() -> None:
    tool = {"type": "custom", "name": "g", "format": {"type": "grammar", "syntax": "lark", "definition": "d"}}
    wire = ul.write({"model": "m", "input": "x", "tools": [tool]}, CHAT).value["tools"]
    grammar = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "d"}}
    assert wire == [{"type": "custom", "custom": {"name": "g", "format": grammar}}]
    assert canonical({"model": "m", "messages": [], "tools": wire})["tools"] == [tool]


def test_allowed_tools_are_nested() -> None:
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "a"}]}
    wire = ul.write({"model": "m", "input": "x", "tool_choice": choice}, CHAT).value["tool_choice"]
    inner = {"mode": "auto", "tools": [{"type": "function", "function": {"name": "a"}}]}
    assert wire == {"type": "allowed_tools", "allowed_tools": inner}
    assert canonical({"model": "m", "messages": [], "tool_choice": wire})["tool_choice"] == choice


def test_instructions_lead_as_a_system_message() -> None:
    wire = ul.write({"model": "m", "instructions": "Be terse", "input": "hi"}, CHAT).value
    assert wire["messages"] == [{"role": "system", "content": "Be terse"}, {"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("item", "capability"),
    [
        ({"type": "item_reference", "id": "msg_1"}, "state.store"),
        ({"type": "web_search_call", "id": "ws_1", "status": "completed"}, "tools.hosted.web_search"),
        ({"type": "compaction", "opaque": [{"kind": "encrypted_content", "data": "E"}]}, "context.compaction"),
        ({"type": "mcp_approval_request", "id": "a", "name": "t", "arguments": "{}", "server_label": "s"}, None),
    ],
)
def test_items_without_a_form_are_dropped_with_a_reason(item: Node, capability: str | None) -> None:
    done = ul.write({"model": "m", "input": [item, {"type": "message", "role": "user", "content": "go"}]}, CHAT)
    assert done.value["messages"] == [{"role": "user", "content": "go"}]
    (loss,) = [loss for loss in done.losses if loss.path == "/input/0"]
    assert loss.fate == "lost" and loss.detail
    assert capability is None or loss.capability == capability


def test_an_unknown_role_passes() -> None:
    body = {"model": "m", "messages": [{"role": "critic", "content": "no"}]}
    assert items(*body["messages"])[0]["role"] == "critic"
    assert ul.convert(body, source=CHAT, target=CHAT).value == body


def test_an_answer_is_items_finish_and_usage() -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    got = canonical({**answer({"content": "Hi", "refusal": None}), "usage": usage}, "response")
    assert got == {
        "id": "chatcmpl-1",
        "created_at": 5,
        "model": "m",
        "output": [message_item("Hi")],
        "finish": {"reason": "stop"},
        "usage": {
            "input_tokens": 10,
            "output_tokens": 5,
            "total_tokens": 15,
            "input_tokens_details": {"cached_tokens": 4},
            "output_tokens_details": {"reasoning_tokens": 2},
        },
    }


def test_further_choices() -> None:
    body = answer({"content": "a"})
    body["choices"].append({**body["choices"][0], "index": 1, "message": {"role": "assistant", "content": "b"}})
    got = canonical(body, "response")
    assert got["output"] == [message_item("a")]
    assert got["choices"] == [{"index": 1, "output": [message_item("b")], "finish": {"reason": "stop"}}]


def test_canonical_citations_are_flat_and_shift_with_joined_text() -> None:
    citation = {"url": "https://e.x", "title": "E", "start_index": 0, "end_index": 2}
    body = answer({"content": "ab", "annotations": [{"type": "url_citation", "url_citation": citation}]})
    part = canonical(body, "response")["output"][0]["content"][0]
    assert part["annotations"] == [{"type": "url_citation", **citation}]
    second = message_item("ab")
    second["content"][0]["annotations"] = [{"type": "url_citation", **citation}]
    message = written(output=[message_item("one"), second])["choices"][0]["message"]
    assert message["content"] == "one\n\nab"
    assert message["annotations"][0]["url_citation"] == {**citation, "start_index": 5, "end_index": 7}


def test_logprobs_live_on_their_part() -> None:
    one = [{"token": "a", "logprob": -1.0, "bytes": [97], "top_logprobs": []}]
    body = answer({"content": "a"}, logprobs={"content": one, "refusal": None})
    got = canonical(body, "response")["output"][0]["content"][0]
    assert got["logprobs"] == one
    wire = written(output=[{"type": "message", "role": "assistant", "content": [got]}])
    assert wire["choices"][0]["logprobs"] == {"content": one, "refusal": None}


def test_audio_and_refusal_are_parts() -> None:
    audio = {"id": "a1", "data": "UklG", "transcript": "hi", "expires_at": 9}
    got = canonical(answer({"content": None, "audio": audio, "refusal": "No."}), "response")["output"][0]["content"]
    assert got == [{"type": "refusal", "refusal": "No."}, {"type": "output_audio", **audio}]


def test_required_keys_are_there_and_what_is_made_up_is_reported() -> None:
    done = ul.write({"output": [message_item("x")]}, CHAT, "response")
    assert done.value["object"] == "chat.completion"
    assert done.value["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "x", "refusal": None},
            "finish_reason": "stop",
            "logprobs": None,
        }
    ]
    added = {loss.path for loss in done.losses if loss.fate == "added"}
    assert added == {"/id", "/created", "/model", "/choices/0/finish_reason"}


@pytest.mark.parametrize(
    ("response", "word"),
    [
        ({"status": "completed", "output": [call()]}, "tool_calls"),
        ({"status": "completed", "output": [message_item("x")]}, "stop"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []}, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []}, "content_filter"),
        ({"finish": {"reason": "refusal"}, "output": [message_item("x")]}, "content_filter"),
        ({"finish": {"reason": "context_window"}, "output": []}, "length"),
    ],
)
def test_finish_reason_is_computed(response: Node, word: str) -> None:
    assert written(**response)["choices"][0]["finish_reason"] == word


def test_a_failed_response_is_an_error_body() -> None:
    wire = written(
        status="failed", error={"type": "server_error", "code": "server_error", "message": "boom"}, output=[]
    )
    assert wire["error"] == {"message": "boom", "type": "server_error", "param": None, "code": "server_error"}


def test_several_messages_are_joined_and_reported() -> None:
    done = ul.write({"id": "r", "output": [message_item("a"), message_item("b")]}, CHAT, "response")
    assert done.value["choices"][0]["message"]["content"] == "a\n\nb"
    assert [loss.fate for loss in done.losses if loss.path == "/output/1"] == ["approximated"]


def test_a_blank_message_behind_the_calls_adds_nothing_to_the_text() -> None:
    """Gemini ends an answer with an empty part for its signature. The text is that of the stream."""
    response = {"id": "r", "output": [message_item("a"), call("c1"), message_item(""), message_item("b")]}
    for output, text in ((response["output"][:3], "a"), (response["output"], "a\n\nb")):
        whole = ul.write({**response, "output": output}, CHAT, "response").value["choices"][0]["message"]
        chunks = [each["data"] for each in ul.write_stream(ul.decompose({**response, "output": output}), CHAT)]
        deltas = [each["choices"][0]["delta"] for each in chunks if type(each) is dict and each.get("choices")]
        assert whole["content"] == "".join(each.get("content") or "" for each in deltas) == text


def test_the_client_sees_the_model_it_asked_for() -> None:
    exchange = Exchange(source=CHAT, target=CHAT, alias="fast")
    done = ul.convert(answer({"content": "x"}), source=CHAT, target=CHAT, kind="response", exchange=exchange)
    assert done.value["model"] == "fast"
    assert done.http["headers"] == {"x-resolved-model": "m"}


def test_usage_that_leaves_reasoning_out_is_inclusive_in_the_canonical_model() -> None:
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 3,
        "total_tokens": 40,
        "completion_tokens_details": {"reasoning_tokens": 28},
    }
    body = {**answer({"content": "x"}), "usage": usage}
    assert canonical(body, "response")["usage"]["output_tokens"] == 31
    assert ul.convert(body, source=CHAT, target=CHAT, kind="response").value == body


def test_cached_tokens_under_a_servers_own_name() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12, "prompt_cache_hit_tokens": 4}
    body = {**answer({"content": "x"}), "usage": usage}
    assert canonical(body, "response")["usage"]["input_tokens_details"] == {"cached_tokens": 4}
    assert ul.convert(body, source=CHAT, target=CHAT, kind="response").value == body


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_reasoning_goes_back_into_its_field(field: str) -> None:
    body = {"model": "m", "messages": [{"role": "assistant", "content": "a", field: "r"}]}
    assert canonical(body)["input"][0]["content"] == [{"type": "reasoning_text", "text": "r"}]
    assert ul.convert(body, source=CHAT, target=CHAT).value == body


def test_thinking_chunks_are_reasoning() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "r"}]}
    body = answer({"content": [thinking, {"type": "text", "text": "a"}]})
    got = canonical(body, "response")["output"]
    assert got[0]["content"] == [{"type": "reasoning_text", "text": "r"}]
    assert got[1] == message_item("a")
    assert ul.convert(body, source=CHAT, target=CHAT, kind="response").value == body


@pytest.mark.parametrize(
    ("body", "status", "kind", "message"),
    [
        ({"error": {"message": "m", "type": "invalid_request_error", "param": None, "code": "model_not_found"}}, 404,
         "not_found", "m"),
        ({"error": "text", "code": "c"}, 400, "invalid_request", "text"),
        ([{"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}}], 429, "rate_limit", "m"),
        ("Bad gateway", 502, "server_error", "Bad gateway"),
        ({"object": "error", "message": "m", "type": "BadRequestError", "code": 400}, 400, "invalid_request", "m"),
    ],
)  # fmt: skip
def test_error_bodies_of_all_forms(body: Any, status: int, kind: str, message: str) -> None:
    done = ul.convert(body, source=CHAT, target=CHAT, kind="error", http={"status": status})
    assert done.value == body
    assert done.http["status"] == status
    adapter, _ = ul.engine.registry.split(CHAT)
    reader = ul.engine.pairs.reading.Reader(adapter, http={"status": status})
    error = reader.root(adapter.kinds["error"].read, body)["error"]
    assert (error["type"], error["message"]) == (kind, message)


def test_the_list_of_models() -> None:
    body = {"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "o", "context": 8}]}
    done = ul.convert(body, source=CHAT, target=CHAT, kind="models")
    assert done.value == body and not done.losses


@pytest.mark.parametrize("message", [{}, {"message": None}])
def test_a_choice_of_which_all_was_filtered_keeps_its_end(message: Node) -> None:
    """Azure sends its end, and no message at all."""
    choice = {"index": 0, "finish_reason": "content_filter", "logprobs": None, **message}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    assert ul.convert(body, source=CHAT, target=CHAT, kind="response").value == body
    two = {**body, "choices": [{**choice, "message": {"role": "assistant", "content": "a"}}, {**choice, "index": 1}]}
    assert ul.convert(two, source=CHAT, target=CHAT, kind="response").value == two

    def told(target: str) -> Any:
        return ul.convert(body, source=CHAT, target=target, kind="response").value

    assert told("anthropic-messages")["stop_reason"] == "refusal"
    assert told("google-generate-content")["candidates"][0]["finishReason"] == "SAFETY"
    assert told("openai-responses")["incomplete_details"] == {"reason": "content_filter"}
    assert told("amazon-converse")["stopReason"] == "content_filtered"


def test_an_empty_list_of_stop_sequences_is_not_sent_from_another_protocol() -> None:
    """The API refuses it, where others take it for none."""
    body = {"contents": [{"role": "user", "parts": [{"text": "x"}]}], "generationConfig": {"stopSequences": []}}
    done = ul.convert(body, source="google-generate-content", target=CHAT, model="m")
    assert "stop" not in done.value
    assert not done.losses
    own = {"model": "m", "stop": [], "messages": [{"role": "user", "content": "x"}]}
    assert ul.convert(own, source=CHAT, target=CHAT).value == own


def test_details_of_usage_have_the_counts_that_every_answer_of_the_api_has() -> None:
    """The OpenRouter provider of the AI SDK demands both; generateContent leaves out a count of zero."""
    text = [{"modality": "TEXT", "tokenCount": 2}]
    answer = {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "x"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 2, "candidatesTokenCount": 2, "totalTokenCount": 4,
                          "promptTokensDetails": text, "candidatesTokensDetails": text},
    }  # fmt: skip
    done = ul.convert(answer, source="google-generate-content", target="openai-chat", kind="response")
    assert done.value["usage"]["prompt_tokens_details"] == {"text_tokens": 2, "cached_tokens": 0}
    assert done.value["usage"]["completion_tokens_details"] == {"text_tokens": 2, "reasoning_tokens": 0}
    made = {loss.path for loss in done.losses if loss.fate == "added" and loss.path.startswith("/usage")}
    assert made == {f"/usage/{kind}_details/{of}" for kind, of in (
        ("prompt_tokens", "cached_tokens"), ("completion_tokens", "reasoning_tokens"))}  # fmt: skip
