"""Fields that the official SDKs declare, each alone in a small request, as the other protocols' SDKs take them."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from sdk_wire import MODELS, declared, refused

GOOGLE = ("google-generate-content", "google-interactions")
USER: dict[str, Any] = {"role": "user", "content": "Hi"}


def converted(body: dict[str, Any], source: str, target: str, model: str = "") -> Any:
    """The conversion, whose value fits the types of the target's SDK and is taken by its strict server."""
    done = ul.convert(body, source=source, target=target, model=model or MODELS[target])
    assert not declared(target, "request", done.value) + refused(target, done.value)
    return done


def fates(done: Any) -> dict[str, str]:
    return {loss.path: loss.fate for loss in done.losses if loss.side == "source"}


@pytest.mark.parametrize("target", [each for each in MODELS if each != "openai-responses"])
def test_a_developer_message_keeps_its_text_where_no_image_can_be(target: str) -> None:
    image = {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"}
    rules = {"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}, image]}
    done = converted({"model": "m", "input": [rules, USER]}, "openai-responses", target)
    assert fates(done)["/input/0/content/1"] == "lost"
    assert "Be brief." in str(done.value)
    done = converted({"model": "m", "input": [{**rules, "content": [image]}, USER]}, "openai-responses", target)
    assert fates(done)["/input/0/content/0"] == "lost"


@pytest.mark.parametrize("target", GOOGLE)
@pytest.mark.parametrize("tier", ["fast", "ultrafast"])
def test_the_fast_tiers_of_openai_are_the_priority_of_google(target: str, tier: str) -> None:
    done = converted({"model": "m", "input": "Hi", "service_tier": tier}, "openai-responses", target)
    assert done.value.get("serviceTier", done.value.get("service_tier")) == "priority"
    assert fates(done)["/service_tier"] == "approximated"


@pytest.mark.parametrize("source", ["openai-responses", "anthropic-messages"])
def test_a_place_of_a_search_without_a_type_has_the_only_one(source: str) -> None:
    tool = {"type": "web_search", "user_location": {"city": "Oslo"}}
    body: dict[str, Any] = {"model": "m", "input": "Hi", "tools": [tool]}
    if source == "anthropic-messages":
        tool = {"type": "web_search_20250305", "name": "web_search", "user_location": {"city": "Oslo"}}
        body = {"model": "m", "max_tokens": 9, "messages": [USER], "tools": [tool]}
    done = converted(body, source, "openai-chat", "gpt-5-search-api")
    wanted = {"type": "approximate", "approximate": {"city": "Oslo"}}
    assert done.value["web_search_options"]["user_location"] == wanted


def test_a_strict_tool_without_parameters_has_the_closed_schema_that_claude_demands() -> None:
    tool = {"type": "function", "function": {"name": "now", "strict": True}}
    done = converted({"model": "m", "messages": [USER], "tools": [tool]}, "openai-chat", "anthropic-messages")
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    assert done.value["tools"] == [{"name": "now", "strict": True, "input_schema": schema}]
    done = ul.convert(
        {"model": "m", "messages": [USER], "tools": [tool]}, source="openai-chat", target="amazon-converse"
    )
    assert done.value["toolConfig"]["tools"][0]["toolSpec"]["inputSchema"] == {"json": schema}


@pytest.mark.parametrize(
    ("languages", "lost"), [(("en", "en"), []), (("en", "de"), [0, 1]), ((None, "en"), [1]), ((None, None), [])]
)
def test_two_voices_with_languages_go_to_generate_content(languages: tuple[Any, Any], lost: list[int]) -> None:
    voices = [
        {"speaker": name, "voice": voice, **({"language": language} if language else {})}
        for name, voice, language in zip("AB", ("Kore", "Puck"), languages)
    ]
    body = {"model": "m", "input": "Hi", "response_modalities": ["audio"]}
    done = converted({**body, "generation_config": {"speech_config": voices}}, *reversed(GOOGLE))
    speech = done.value["generationConfig"]["speechConfig"]
    found = speech["multiSpeakerVoiceConfig"]["speakerVoiceConfigs"]
    assert [each["voiceConfig"]["prebuiltVoiceConfig"]["voiceName"] for each in found] == ["Kore", "Puck"]
    assert speech.get("languageCode") == ("en" if languages == ("en", "en") else None)
    assert fates(done) == {f"/generation_config/speech_config/{index}/language": "lost" for index in lost}


def test_safety_policies_have_the_words_of_each_api_of_google() -> None:
    tool = {"type": "computer_use", "environment": "browser", "disabled_safety_policies": ["account_creation"]}
    body = {"model": "gemini-3-pro-preview", "input": "Hi", "tools": [tool]}
    done = converted(body, "google-interactions", "google-generate-content")
    assert done.value["tools"][0]["computerUse"]["disabledSafetyPolicies"] == ["ACCOUNT_CREATION"]
    back = converted(done.value, "google-generate-content", "google-interactions")
    assert back.value["tools"] == [tool]


@pytest.mark.parametrize(
    ("tool", "path"),
    [
        ({"type": "apply_patch"}, "/tools/0"),
        (
            {"type": "mcp", "server_label": "a", "server_url": "https://mcp.example.com", "require_approval": "never"},
            "/tools/0/require_approval",
        ),
    ],
)
def test_what_becomes_of_a_tool_that_code_may_call_is_reported_at_the_tool(tool: dict[str, Any], path: str) -> None:
    body = {"model": "m", "input": "Hi", "tools": [{**tool, "allowed_callers": ["programmatic"]}]}
    done = converted(body, "openai-responses", "anthropic-messages")
    assert {path} <= fates(done).keys() <= {path, "/tools/0/allowed_callers"}


@pytest.mark.parametrize("target", ["openai-responses", "anthropic-messages"])
def test_an_mcp_server_without_a_name_has_one_by_its_host(target: str) -> None:
    tool = {"type": "mcp_server", "url": "https://mcp.example.com/sse"}
    done = converted({"model": "m", "input": "Hi", "tools": [tool]}, "google-interactions", target)
    servers = done.value["mcp_servers"] if target == "anthropic-messages" else done.value["tools"]
    assert servers[0].get("name", servers[0].get("server_label")) == "mcp_example_com"
    if target == "anthropic-messages":
        assert done.value["tools"][0]["mcp_server_name"] == "mcp_example_com"


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "anthropic-messages"])
def test_a_pdf_without_a_type_is_sent_as_one(target: str) -> None:
    pdf = {"type": "document", "data": "JVBERi0xLjQ="}
    step = {"type": "user_input", "content": [pdf, {"type": "text", "text": "Hi"}]}
    done = converted({"model": "m", "input": [step]}, "google-interactions", target)
    assert "application/pdf" in str(done.value)
    block = {"document": {"name": "report", "source": {"bytes": pdf["data"]}}}
    body = {"messages": [{"role": "user", "content": [block, {"text": "Hi"}]}]}
    assert "JVBERi0xLjQ=" in str(converted(body, "amazon-converse", target).value)


@pytest.mark.parametrize(
    ("data", "word"), [("UklGRiQAAABXQVZF", "wav"), ("SUQzBAAAAAAA", "mp3"), ("//uQxAAAAAAA", "mp3")]
)
def test_audio_without_a_type_has_a_format_by_its_first_bytes(data: str, word: str) -> None:
    step = {"type": "user_input", "content": [{"type": "audio", "data": data}, {"type": "text", "text": "Hi"}]}
    done = converted({"model": "m", "input": [step]}, "google-interactions", "openai-chat")
    assert done.value["messages"][0]["content"][0]["input_audio"] == {"data": data, "format": word}


@pytest.mark.parametrize("target", ["anthropic-messages", *GOOGLE])
def test_the_older_name_of_a_summary_is_that_of_a_summary(target: str) -> None:
    older, newer = (
        {"model": "m", "input": "Hi", "reasoning": {key: "auto"}} for key in ("generate_summary", "summary")
    )
    assert ul.convert(older, source="openai-responses", target="openai-responses").value == older
    done = converted(older, "openai-responses", target)
    same = converted(newer, "openai-responses", target)
    assert done.value == same.value
    assert {path.replace("generate_", ""): fate for path, fate in fates(done).items()} == fates(same)


TIERS: dict[str, dict[str, Any]] = {
    "amazon-converse": {
        "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
        "serviceTier": {"type": "reserved"},
    },
    "google-interactions": {"model": "m", "input": "Hi", "service_tier": "deferred"},
    "google-generate-content": {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "serviceTier": "unspecified",
    },
}


@pytest.mark.parametrize("target", MODELS)
@pytest.mark.parametrize("source", TIERS)
def test_a_service_tier_of_one_api_is_sent_as_the_nearest(source: str, target: str) -> None:
    body = TIERS[source]
    if source == target:
        assert ul.convert(body, source=source, target=target).value == body
        return
    done = converted(body, source, target)
    sent = done.value.get("service_tier", done.value.get("serviceTier"))
    found = [loss.fate for loss in done.losses if "tier" in loss.path.lower()]
    if source == "google-generate-content":  # what it does without the field
        assert (sent, found) == (None, [])
    elif source == "google-interactions" and target == "anthropic-messages":
        assert (sent, found) == (None, ["lost"])
    elif source == "google-interactions":
        assert (sent, found) == ("flex", ["approximated"])
    else:
        assert (sent, found) == ("auto" if target == "anthropic-messages" else "priority", ["approximated"])


@pytest.mark.parametrize("target", ["amazon-converse", "google-interactions"])
def test_citations_of_a_system_text_are_reported_and_its_text_is_sent(target: str) -> None:
    notes = [
        {
            "type": "web_search_result_location",
            "url": "https://example.com",
            "title": "A",
            "cited_text": "x",
            "encrypted_index": "e",
        },
        {
            "type": "char_location",
            "document_index": 0,
            "document_title": "A",
            "cited_text": "x",
            "start_char_index": 0,
            "end_char_index": 1,
        },
    ]
    system = [{"type": "text", "text": "Be brief.", "citations": notes}]
    body = {"model": "m", "max_tokens": 99, "system": system, "messages": [USER]}
    done = ul.convert(body, source="anthropic-messages", target=target)
    sent = done.value["system"] if target == "amazon-converse" else done.value["system_instruction"]
    assert sent == ([{"text": "Be brief."}] if target == "amazon-converse" else "Be brief.")
    found = fates(done)
    assert all(found[f"/system/0/citations/{index}"] == "lost" for index in range(2))


@pytest.mark.parametrize("target", ["amazon-converse", "google-interactions"])
@pytest.mark.parametrize("text", ["Words.", None])
def test_a_document_with_images_among_its_content_is_text_or_is_reported(target: str, text: str | None) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
    inner = [image] if text is None else [{"type": "text", "text": text}, image]
    document = {"type": "document", "source": {"type": "content", "content": inner}}
    user = {"role": "user", "content": [document, {"type": "text", "text": "Hi"}]}
    body = {"model": "m", "max_tokens": 99, "messages": [user]}
    done = ul.convert(body, source="anthropic-messages", target=target)
    content = (done.value["messages"] if target == "amazon-converse" else done.value["input"])[0]["content"]
    lost = {path for path, fate in fates(done).items() if fate == "lost"}
    if text is None:
        assert len(content) == 1
        assert lost == {"/messages/0/content/0"}
        return
    assert len(content) == 2
    assert lost == {"/messages/0/content/0/source/content/1"}
    if target == "amazon-converse":
        assert content[0]["document"]["source"]["content"] == [{"text": text}]


def test_a_search_of_files_without_stores_is_not_sent_to_responses() -> None:
    tools = [{"type": "file_search", "top_k": 3, "metadata_filter": "a = 1"}, {"type": "google_search"}]
    done = converted({"model": "m", "input": "Hi", "tools": tools}, "google-interactions", "openai-responses")
    assert [tool["type"] for tool in done.value["tools"]] == ["web_search"]
    assert fates(done)["/tools/0"] == "lost"


@pytest.mark.parametrize("target", ["google-generate-content", "openai-chat", "openai-responses"])
@pytest.mark.parametrize(
    ("kind", "type_"),
    [("image", "image/png"), ("document", "application/pdf"), ("audio", "wav"), ("video", "video/mp4")],
)
def test_bytes_of_which_nothing_shows_the_type_have_the_usual_one(kind: str, type_: str, target: str) -> None:
    content = [{"type": kind, "data": "aGVsbG8="}, {"type": "text", "text": "Hi"}]
    body = {"model": "m", "input": [{"type": "user_input", "content": content}]}
    done = ul.convert(body, source="google-interactions", target=target, model=MODELS[target])
    if target == "openai-responses" and kind in ("audio", "video"):
        assert fates(done)["/input/0/content/0"] == "lost"
        return
    found = str(done.value)
    wanted = type_ if kind != "audio" else "'format': 'wav'" if target == "openai-chat" else "audio/pcm"
    assert wanted in found
    reported = [loss.detail for loss in done.losses if "the usual one" in loss.detail or "first bytes" in loss.detail]
    assert len(reported) == 1


@pytest.mark.parametrize("target", ["google-interactions", "openai-responses", "anthropic-messages"])
def test_an_enum_word_for_no_value_is_sent_to_no_other_api(target: str) -> None:
    image = {"aspectRatio": "ASPECT_RATIO_UNSPECIFIED", "imageSize": "IMAGE_SIZE_UNSPECIFIED"}
    user = {"role": "user", "parts": [{"text": "Hi"}]}
    body = {"contents": [user], "generationConfig": {"responseFormat": [{"image": image}]}}
    own = ul.convert(body, source="google-generate-content", target="google-generate-content")
    assert own.value == body
    done = converted(body, "google-generate-content", target)
    assert "unspecified" not in str(done.value).lower()
    assert not [path for path in fates(done) if path.endswith(("aspectRatio", "imageSize"))]
    if target == "google-interactions":
        assert done.value["response_format"] == {"type": "image"}


def test_code_in_another_language_has_the_word_of_the_one_that_gemini_declares() -> None:
    call = {"type": "code_execution_call", "id": "c1", "arguments": {"language": "bash", "code": "ls"}}
    result = {"type": "code_execution_result", "call_id": "c1", "result": "a", "is_error": False}
    steps = [{"type": "user_input", "content": [{"type": "text", "text": "Hi"}]}, call, result]
    done = converted({"model": "m", "input": steps}, "google-interactions", "google-generate-content")
    (code,) = [
        part["executableCode"] for turn in done.value["contents"] for part in turn["parts"] if "executableCode" in part
    ]
    assert (code["language"], code["code"]) == ("PYTHON", "ls")
    assert fates(done)["/input/1/arguments/language"] == "approximated"


@pytest.mark.parametrize(("mime", "word"), [("audio/alaw", "wav"), ("audio/mulaw", "wav"), ("audio/ogg_opus", "opus")])
def test_generated_audio_has_a_format_that_chat_declares(mime: str, word: str) -> None:
    body = {"model": "m", "input": "Hi", "response_format": {"type": "audio", "mime_type": mime}}
    done = converted(body, "google-interactions", "openai-chat")
    assert done.value["audio"]["format"] == word
    assert fates(done)["/response_format/mime_type"] == "approximated"
