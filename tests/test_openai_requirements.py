"""What clients of OpenAI's two surfaces require of an answer, and its API of a request, that other protocols lack."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
GENERATE, INTERACTIONS = "google-generate-content", "google-interactions"
Node = dict[str, Any]


def generated(*parts: Node, usage: Node | None = None, **candidate: Any) -> Node:
    content = {"role": "model", "parts": list(parts)}
    answer: Node = {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0, **candidate}],
        "modelVersion": "m", "responseId": "r1",
    }  # fmt: skip
    return {**answer, **({"usageMetadata": usage} if usage else {})}


def message(*blocks: Node, **head: Any) -> Node:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": list(blocks),
        "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 4}, **head,
    }  # fmt: skip


def answered(body: Node, source: str, target: str) -> tuple[Node, dict[tuple[str, str], str]]:
    """The converted answer, and the fates by side and path."""
    done = ul.convert(body, source=source, target=target, kind="response")
    return done.value, {(loss.side, loss.path): loss.fate for loss in done.losses}


CHOSEN = {"token": "Hi", "tokenId": 7, "logProbability": -0.5}
TOKENS = generated({"text": "Hi"}, logprobsResult={"chosenCandidates": [CHOSEN]})


def test_tokens_have_alternatives_and_no_ids_in_chat() -> None:
    value, fates = answered(TOKENS, GENERATE, CHAT)
    assert value["choices"][0]["logprobs"]["content"] == [{"token": "Hi", "logprob": -0.5, "top_logprobs": []}]
    assert fates["source", "/candidates/0/logprobsResult/chosenCandidates/0/tokenId"] == "lost"
    assert fates["target", "/choices/0/logprobs/content/0/top_logprobs"] == "added"


def test_tokens_have_alternatives_and_no_ids_in_responses() -> None:
    value, fates = answered(TOKENS, GENERATE, RESPONSES)
    wanted = {"token": "Hi", "logprob": -0.5, "bytes": [72, 105], "top_logprobs": []}
    assert value["output"][0]["content"][0]["logprobs"] == [wanted]
    assert fates["source", "/candidates/0/logprobsResult/chosenCandidates/0/tokenId"] == "lost"
    assert fates["target", "/output/0/content/0/logprobs/0/top_logprobs"] == "added"


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
def test_tokens_of_a_stream_have_no_ids(target: str) -> None:
    events = list(ul.convert_stream([{"event": None, "data": TOKENS}], source=GENERATE, target=target))
    found = [token for event in events for token in tokens(event["data"])]
    assert found
    assert all(token["token"] == "Hi" and "token_id" not in token for token in found)


def tokens(data: Any) -> list[Node]:
    """All that looks like a token in an event."""
    if isinstance(data, list):
        return [token for each in data for token in tokens(each)]
    if not isinstance(data, dict):
        return []
    inner = [token for value in data.values() for token in tokens(value)]
    return [data, *inner] if "logprob" in data else inner


TEXT = "Go there."
PAGES = [
    {"type": "url_citation", "url": "https://b.example", "end_index": 2},
    {"type": "url_citation", "url": "https://a.example", "start_index": 3},
]


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
def test_a_citation_has_a_page_a_title_and_bounds(target: str) -> None:
    step = {"type": "model_output", "content": [{"type": "text", "text": TEXT, "annotations": PAGES}]}
    body = {"id": "v1_x", "object": "interaction", "status": "completed", "model": "m", "steps": [step]}
    value, fates = answered(body, INTERACTIONS, target)
    if target == CHAT:
        place = "/choices/0/message/annotations/{}/url_citation/{}"
        found = [note["url_citation"] for note in value["choices"][0]["message"]["annotations"]]
    else:
        place = "/output/0/content/0/annotations/{}/{}"
        found = value["output"][0]["content"][0]["annotations"]
    keys = ("url", "title", "start_index", "end_index")
    assert [tuple(note[key] for key in keys) for note in found] == [
        ("https://b.example", "", 0, 2),
        ("https://a.example", "", 3, len(TEXT)),
    ]
    added = [(0, "title"), (0, "start_index"), (1, "title"), (1, "end_index")]
    assert {place.format(*each) for each in added} <= {path for side, path in fates if side == "target"}
    assert ("target", place.format(1, "start_index")) not in fates


def test_the_end_of_a_citation_in_a_stream_is_that_of_its_text() -> None:
    deltas = [{"type": "text", "text": TEXT}, {"type": "text_annotation_delta", "annotations": PAGES}]
    events = [
        {"event": "interaction.created", "data": {"event_type": "interaction.created", "interaction": {"id": "v1_x"}}},
        {"event": "step.start", "data": {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}}},
        *({"event": "step.delta", "data": {"event_type": "step.delta", "index": 0, "delta": each}} for each in deltas),
        {"event": "step.stop", "data": {"event_type": "step.stop", "index": 0}},
        {
            "event": "interaction.completed",
            "data": {"event_type": "interaction.completed", "interaction": {"id": "v1_x", "status": "completed"}},
        },
    ]
    out = ul.convert_stream(events, source=INTERACTIONS, target=RESPONSES)
    added = [each["data"]["annotation"] for each in out if each["data"]["type"].endswith("annotation.added")]
    assert [(note["start_index"], note["end_index"]) for note in added] == [(0, 2), (3, len(TEXT))]


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [
        ({"promptTokenCount": 5, "totalTokenCount": 9}, (5, 4, 9)),
        ({"promptTokenCount": 5}, (5, 0, 5)),
        ({"totalTokenCount": 9}, (9, 0, 9)),
        ({"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7}, (5, 2, 7)),
    ],
)
def test_usage_in_chat_has_its_three_sums(counts: Node, wanted: tuple[int, ...]) -> None:
    value, fates = answered(generated({"text": "Hi"}, usage=counts), GENERATE, CHAT)
    usage = value["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == wanted
    added = {path for side, path in fates if side == "target" and path.startswith("/usage/")}
    assert len(added) == 3 - len(counts)


def test_generated_audio_in_chat_has_an_id_an_end_and_a_transcript() -> None:
    sound = {"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}}
    value, fates = answered(generated(sound), GENERATE, CHAT)
    audio = value["choices"][0]["message"]["audio"]
    assert audio.pop("id").startswith("audio_")
    assert audio == {"data": "UklGRg==", "expires_at": 0, "transcript": ""}
    assert {fates["target", f"/choices/0/message/audio/{key}"] for key in ("id", "expires_at", "transcript")} == {
        "added"
    }


def test_settings_of_a_voice_that_chat_lacks_are_reported() -> None:
    speech = {"languageCode": "de-DE", "voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}}
    config = {"responseModalities": ["AUDIO"], "speechConfig": speech}
    body = {"contents": [{"role": "user", "parts": [{"text": "Say hi"}]}], "generationConfig": config}
    done = ul.convert(body, source=GENERATE, target=CHAT, model="gpt-audio")
    assert done.value["audio"] == {"voice": "alloy", "format": "wav"}  # voices belong to their makers
    told = {loss.path: loss.fate for loss in done.losses}
    assert told["/generationConfig/speechConfig/languageCode"] == "lost"
    assert told["/audio/format"] == "added"


@pytest.mark.parametrize("transcript", ["Hello", None])
def test_audio_of_the_model_goes_to_chat_as_what_it_said(transcript: str | None) -> None:
    sound = {"type": "output_audio", "data": "UklGRg==", **({"transcript": transcript} if transcript else {})}
    said = {"type": "message", "role": "assistant", "content": [sound, {"type": "output_text", "text": "."}]}
    body = {"model": "m", "input": [said, {"type": "message", "role": "user", "content": "On"}]}
    done = ul.convert(body, source=RESPONSES, target=CHAT)
    content = done.value["messages"][0]["content"]
    wanted = [{"type": "text", "text": "Hello"}, {"type": "text", "text": "."}] if transcript else "."
    assert content == wanted
    assert "audio" not in done.value["messages"][0]
    place = "/input/0/content/0"
    assert {loss.path for loss in done.losses if loss.fate == "lost"} == {f"{place}/data" if transcript else place}


def test_files_of_a_shell_are_reported_and_not_sent() -> None:
    files = [{"type": "bash_code_execution_output", "file_id": "file_1"}]
    ran = {"type": "bash_code_execution_result", "stdout": "ok", "stderr": "", "return_code": 0, "content": files}
    called = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "bash_code_execution", "input": {"command": "ls"}}
    result = {"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": ran}
    value, fates = answered(message(called, result), MESSAGES, RESPONSES)
    output = next(item for item in value["output"] if item["type"] == "shell_call_output")
    assert output["output"] == [{"stdout": "ok", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
    assert any(path.startswith("/content/1/content/content") and fate == "lost" for (_, path), fate in fates.items())


@pytest.mark.parametrize(
    ("anthropic", "openai"),
    [
        (
            {"type": "tools_changed", "cache_missed_input_tokens": 5},
            {"type": "cache_miss", "reason": "tools_changed", "cache_missed_tokens": 5},
        ),
        (
            {"type": "messages_changed", "cache_missed_input_tokens": 5},
            {"type": "cache_miss", "reason": "input_changed", "cache_missed_tokens": 5},
        ),
        ({"type": "previous_message_not_found"}, {"type": "comparison_response_not_found"}),
        ({"type": "unavailable"}, {"type": "unavailable"}),
    ],
)
def test_cache_diagnostics_have_the_words_of_each_api(anthropic: Node, openai: Node) -> None:
    value, fates = answered(message(diagnostics={"cache_miss_reason": anthropic}), MESSAGES, RESPONSES)
    assert value["prompt_cache_diagnostics"] == openai
    assert not [path for _, path in fates if "diagnostics" in path]
    answer = {"id": "resp_1", "object": "response", "output": [], "prompt_cache_diagnostics": openai}
    value, _ = answered(answer, RESPONSES, MESSAGES)
    assert value["diagnostics"] == {"cache_miss_reason": anthropic}


def test_cache_diagnostics_without_a_word_are_reported() -> None:
    changed = {"cache_miss_reason": {"type": "system_changed", "cache_missed_input_tokens": 5}}
    value, fates = answered(message(diagnostics=changed), MESSAGES, RESPONSES)
    assert value["prompt_cache_diagnostics"]["reason"] == "input_changed"
    assert [fate for (_, path), fate in fates.items() if path.startswith("/diagnostics")] == ["approximated"]
    value, fates = answered(message(diagnostics={"cache_miss_reason": None}), MESSAGES, RESPONSES)
    assert "prompt_cache_diagnostics" not in value
    answer = {"id": "resp_1", "object": "response", "output": [], "prompt_cache_diagnostics": {"type": "cache_hit"}}
    value, fates = answered(answer, RESPONSES, MESSAGES)
    assert value.get("diagnostics") is None
    assert fates["source", "/prompt_cache_diagnostics"] == "lost"


def test_removed_thinking_is_told_by_each_api_in_its_own_places() -> None:
    dropped = [{"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "model_binding_mismatch"}]
    value, fates = answered(message(input_transformations=dropped), MESSAGES, RESPONSES)
    assert "input_transformations" not in value
    assert fates["source", "/input_transformations"] == "lost"


def test_an_echoed_schema_has_a_name() -> None:
    asked = {"type": "text", "mime_type": "application/json", "schema": {"type": "object"}}
    body = {"id": "v1_x", "object": "interaction", "status": "completed", "model": "m", "steps": []}
    value, fates = answered({**body, "response_format": asked}, INTERACTIONS, RESPONSES)
    assert value["text"]["format"]["name"]
    assert fates["target", "/text/format/name"] == "added"


def test_a_tool_search_says_that_its_provider_ran_it() -> None:
    search = {"type": "tool_search_call", "id": "t1", "arguments": {"function_names": ["late"]}}
    body = {"id": "v1_x", "object": "interaction", "status": "completed", "model": "m", "steps": [search]}
    value, fates = answered(body, INTERACTIONS, RESPONSES)
    assert value["output"][0]["execution"] == "server"
    assert fates["target", "/output/0/execution"] == "added"


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
def test_a_long_identifier_of_the_end_user_is_sent_as_its_digest(target: str) -> None:
    """Claude Code names device, account and session in one JSON text of 150 characters; OpenAI accepts 128."""
    longest, longer = "u" * 128, "u" * 129
    digests = {longest: longest, longer: "4d9221bd88fe7fa3f1cdc7d81c70b9484f37615f92178eafa3f6c525e6fa786f"}
    for given, wanted in digests.items():
        body = {"model": "m", "max_tokens": 20, "messages": [], "metadata": {"user_id": given}}
        done = ul.convert(body, source=MESSAGES, target=target, kind="request")
        assert done.value["safety_identifier"] == wanted
        fates = [loss.fate for loss in done.losses if loss.path == "/metadata/user_id"]
        assert fates == ([] if given == wanted else ["approximated"])


@pytest.mark.parametrize("protocol", [CHAT, RESPONSES])
def test_a_long_identifier_stays_as_it_is_in_its_own_protocol(protocol: str) -> None:
    body = {"model": "m", "messages": [], "safety_identifier": "u" * 200}
    assert ul.convert(body, source=protocol, target=protocol, kind="request").value == body


# ---- what the request of a Responses client requires ----------------------------------------------------------------

THOUGHT = [{"type": "thinking", "thinking": "Let me think", "signature": "c2ln"}, {"type": "text", "text": "Hello"}]


def exchange_of(**asked: Any) -> Any:
    body = {"model": "m", "input": "Hi", **asked}
    return ul.convert(body, source=RESPONSES, target=MESSAGES, model="claude-opus-4-7").exchange


def thought_of(exchange: Any) -> Node:
    done = ul.convert(message(*THOUGHT), source=MESSAGES, target=RESPONSES, kind="response", exchange=exchange)
    item: Node = done.value["output"][0]
    return item


@pytest.mark.parametrize("asked", [{"summary": "auto"}, {"generate_summary": "detailed"}])
def test_thinking_is_the_summary_that_was_asked_for(asked: Node) -> None:
    item = thought_of(exchange_of(reasoning={"effort": "high", **asked}))
    assert item["summary"] == [{"type": "summary_text", "text": "Let me think"}]
    assert "content" not in item


@pytest.mark.parametrize("asked", [{}, {"reasoning": {"effort": "high"}}, {"reasoning": {"summary": "none"}}])
def test_thinking_without_a_summary_asked_for_is_reasoning_text(asked: Node) -> None:
    item = thought_of(exchange_of(**asked))
    assert item["summary"] == []
    assert item["content"] == [{"type": "reasoning_text", "text": "Let me think"}]


def test_thinking_that_was_shown_as_a_summary_goes_back_signed() -> None:
    first = exchange_of(reasoning={"effort": "high", "summary": "auto"})
    shown = ul.convert(message(*THOUGHT), source=MESSAGES, target=RESPONSES, kind="response", exchange=first)
    said = [{"role": "user", "content": "Hi"}, *shown.value["output"], {"role": "user", "content": "On"}]
    body = {"model": "m", "input": said, "reasoning": {"effort": "high", "summary": "auto"}}
    done = ul.convert(body, source=RESPONSES, target=MESSAGES, model="claude-opus-4-7")
    wanted = {"type": "thinking", "thinking": "Let me think", "signature": "c2ln"}
    assert done.value["messages"][1]["content"][0] == wanted


def test_a_stream_of_thinking_is_one_of_a_summary() -> None:
    events = [
        (
            "message_start",
            {"message": {**message(), "stop_reason": None, "usage": {"input_tokens": 1, "output_tokens": 1}}},
        ),
        ("content_block_start", {"index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        *(
            ("content_block_delta", {"index": 0, "delta": {"type": "thinking_delta", "thinking": text}})
            for text in ("Let ", "me ", "think")
        ),
        ("content_block_delta", {"index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 5}}),
        ("message_stop", {}),
    ]
    exchange = exchange_of(reasoning={"effort": "high", "summary": "auto"}, stream=True)
    frames = [{"event": kind, "data": {"type": kind, **data}} for kind, data in events]
    out = [each["data"] for each in ul.convert_stream(frames, source=MESSAGES, target=RESPONSES, exchange=exchange)]
    said = [(each["type"], each.get("delta")) for each in out if "summary" in each["type"]]
    assert said == [
        ("response.reasoning_summary_part.added", None),
        ("response.reasoning_summary_text.delta", "Let "),
        ("response.reasoning_summary_text.delta", "me "),
        ("response.reasoning_summary_text.delta", "think"),
        ("response.reasoning_summary_text.done", None),
        ("response.reasoning_summary_part.done", None),
    ]
    assert all(each["summary_index"] == 0 for each in out if "summary" in each["type"])
    assert not [each for each in out if "reasoning_text" in each["type"] or "content_part" in each["type"]]
    assert out[-1]["response"]["output"][0]["summary"] == [{"type": "summary_text", "text": "Let me think"}]


ASKED = {
    "temperature": 0.5, "top_p": 0.9, "tools": [{"type": "function", "name": "f", "parameters": {}, "strict": False}],
    "tool_choice": "required", "parallel_tool_calls": False, "metadata": {"a": "b"}, "instructions": "Be brief.",
    "truncation": "auto", "store": False, "max_output_tokens": 50, "max_tool_calls": 3, "safety_identifier": "u",
    "prompt_cache_key": "k", "text": {"format": {"type": "text"}, "verbosity": "low"}, "top_logprobs": 2,
    "reasoning": {"effort": "low", "summary": "auto"},
}  # fmt: skip
DEFAULTS = {
    "temperature": None, "top_p": None, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True,
    "metadata": {}, "instructions": None, "truncation": "disabled", "store": True, "max_output_tokens": None,
    "max_tool_calls": None, "safety_identifier": None, "prompt_cache_key": None, "top_logprobs": 0,
    "text": {"format": {"type": "text"}}, "reasoning": {"effort": None, "summary": None}, "background": False,
    "completed_at": None, "previous_response_id": None,
}  # fmt: skip


@pytest.mark.parametrize(("asked", "wanted"), [(ASKED, ASKED), ({}, DEFAULTS)])
def test_an_answer_echoes_the_settings_of_its_request(asked: Node, wanted: Node) -> None:
    exchange = exchange_of(**asked)
    done = ul.convert(message(*THOUGHT), source=MESSAGES, target=RESPONSES, kind="response", exchange=exchange)
    assert {key: done.value[key] for key in wanted} == wanted
    assert not [loss for loss in done.losses if loss.fate == "added" and loss.path.lstrip("/") in wanted]


@pytest.mark.parametrize("number", [0, 2])
@pytest.mark.parametrize("target", [CHAT, "google-generate-content"])
def test_a_number_of_alternatives_is_sent_beside_a_request_for_log_probabilities(target: str, number: int) -> None:
    """Chat refuses one without the other, and models of Gemini refuse any; 0 is the default of Responses."""
    done = ul.convert({"model": "m", "input": "q", "top_logprobs": number}, source=RESPONSES, target=target)
    settings = done.value if target == CHAT else done.value.get("generationConfig", {})
    found = [settings[key] for key in ("top_logprobs", "logprobs", "responseLogprobs") if key in settings]
    assert found == ([number, True] if number else [])
    assert [loss.fate for loss in done.losses if "logprobs" in loss.path.lower()] == (["added"] if number else [])


@pytest.mark.parametrize("content", [None, "", [{"type": "text", "text": ""}]])
def test_no_empty_message_parts_reasoning_from_its_call(content: Any) -> None:
    """Agent Framework names the agent in each message. Reasoning has to precede the item that it led to."""
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    told = {"role": "assistant", "name": "Agent", "content": content, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "r"}
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}, told, result]}
    done = ul.convert(body, source="openai-chat", target="openai-responses")
    assert [item["type"] for item in done.value["input"]] == ["message", "function_call", "function_call_output"]
    found = {loss.path: loss.fate for loss in done.losses}
    assert found["/messages/1/name"] == "lost"
    assert found.get("/messages/1/content") == ("approximated" if content else None)
