"""Enums as numbers, which Google's REST transport requests (`enum-encoding=int`), mean what their names mean.

https://github.com/googleapis/googleapis/tree/master/google/ai/generativelanguage/v1beta
https://github.com/googleapis/googleapis/tree/master/google/cloud/aiplatform/v1beta1
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from unified_llm import suite

GC = "google-generate-content"
HI = {"role": "model", "parts": [{"text": "Hi"}]}


def answer(number: Any, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": HI, "finishReason": number, "index": 0}], **more}


@pytest.mark.parametrize(
    ("number", "word"),
    [(1, "stop"), (2, "length"), (3, "content_filter"), (4, "content_filter"), (8, "content_filter"), (10, "error")],
)
def test_the_number_of_a_finish_reason_is_its_name(number: int, word: str) -> None:
    done = ul.convert(answer(number), source=GC, target="openai-chat", kind="response")
    assert done.value["choices"][0]["finish_reason"] == word
    assert ul.convert(answer(number), source=GC, target=GC, kind="response").value == answer(number)


def test_vertex_ai_numbers_its_finish_reasons_differently() -> None:
    read = suite.canonical(answer(9), f"{GC}:vertex", "response")
    assert read["finish"]["reason"] == "malformed_call"
    assert suite.canonical(answer(9), GC, "response")["finish"] == {"reason": "safety", "native": "SPII"}
    # Only Vertex AI counts by the type of its traffic.
    told = answer(9, usageMetadata={"promptTokenCount": 1, "trafficType": 1})
    assert suite.canonical(told, GC, "response")["finish"]["reason"] == "malformed_call"
    assert ul.convert(told, source=GC, target=GC, kind="response").value == told


def test_a_number_that_no_reason_has_stays_a_number() -> None:
    for number in (99, -1, True, 2**70):
        assert "finish" not in suite.canonical(answer(number), GC, "response")
        assert ul.convert(answer(number), source=GC, target=GC, kind="response").value == answer(number)


def test_an_edited_end_of_an_answer_with_numbers_is_the_number_of_the_new_one() -> None:
    read = suite.canonical(answer(2), GC, "response")
    read["finish"]["reason"] = "stop"
    assert ul.write(read, GC, "response").value["candidates"][0]["finishReason"] == 1


def test_a_prompt_blocked_by_number_is_blocked() -> None:
    body = {"promptFeedback": {"blockReason": 4}, "usageMetadata": {"promptTokenCount": 3}}
    done = ul.convert(body, source=GC, target="anthropic-messages", kind="response")
    assert done.value["stop_reason"] == "refusal"
    assert suite.canonical(body, GC, "response")["finish"] == {"reason": "safety", "native": "PROHIBITED_CONTENT"}
    assert ul.convert(body, source=GC, target=GC, kind="response").value == body


def test_code_and_its_outcome_and_the_modalities_of_the_usage() -> None:
    body = {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {"executableCode": {"language": 1, "code": "1/0", "id": "x"}},
                        {"codeExecutionResult": {"outcome": 2, "output": "ZeroDivisionError", "id": "x"}},
                    ],
                },
                "finishReason": 1,
                "index": 0,
                "urlContextMetadata": {"urlMetadata": [{"retrievedUrl": "https://a.test", "urlRetrievalStatus": 2}]},
            }
        ],
        "usageMetadata": {"promptTokenCount": 9, "promptTokensDetails": [{"modality": 4, "tokenCount": 9}]},
    }
    read = suite.canonical(body, GC, "response")
    code, result, page = read["output"]
    assert (code["language"], result["outcome"]) == ("python", "failed")
    assert page["results"][0]["status"] == "error"
    assert read["usage"]["input_tokens_details"] == {"audio_tokens": 9}
    assert ul.convert(body, source=GC, target=GC, kind="response").value == body
    result = ul.convert(body, source=GC, target="anthropic-messages", kind="response").value["content"][1]
    assert result["content"]["return_code"] == 1


def test_a_token_count_by_numbered_modalities() -> None:
    body = {"totalTokens": 5, "promptTokensDetails": [{"modality": 1, "tokenCount": 5}]}
    read = suite.canonical(body, GC, "count_tokens_response")
    assert read["input_tokens_details"] == {"text_tokens": 5}
    assert ul.write(read, GC, "count_tokens_response").value == body


@pytest.mark.parametrize(("protocol", "number"), [(GC, 4), (f"{GC}:vertex", 5)])
def test_the_mode_of_a_request_by_number(protocol: str, number: int) -> None:
    body = {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "tools": [{"functionDeclarations": [{"name": "now"}]}],
        "toolConfig": {"functionCallingConfig": {"mode": number}},
    }
    assert suite.canonical(body, protocol, "request")["tool_choice"] == "validated"
    assert ul.convert(body, source=protocol, target=protocol).value == body


def test_a_stream_ends_for_the_numbered_reason() -> None:
    frames = [
        {"event": None, "data": {"candidates": [{"content": HI, "index": 0}], "responseId": "r", "modelVersion": "m"}},
        {"event": None, "data": answer(3, usageMetadata={"promptTokensDetails": [{"modality": 1, "tokenCount": 3}]})},
    ]
    out = ul.convert_stream(frames, source=GC, target="openai-chat")
    ends = [each["finish_reason"] for event in out if event["data"] != "[DONE]" for each in event["data"]["choices"]]
    assert [end for end in ends if end] == ["content_filter"]
    assert list(ul.convert_stream(frames, source=GC, target=GC)) == frames


def asked(**more: Any) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], **more}


def settings_of(body: dict[str, Any], target: str, source: str = GC, **more: Any) -> Any:
    assert ul.convert(body, source=source, target=source, **more).value == body
    return ul.convert(body, source=source, target=target, **more).value


def test_modalities_by_number_are_those_of_the_names() -> None:
    body = asked(generationConfig={"responseModalities": [1, 3]})
    assert settings_of(body, "openai-chat")["modalities"] == ["text", "audio"]
    for unknown in ([1, 99], [1, "TEXT"], [True], [0], ["MODALITY_UNSPECIFIED"]):
        body = asked(generationConfig={"responseModalities": unknown})
        assert "modalities" not in settings_of(body, "openai-chat")


@pytest.mark.parametrize(("source", "category"), [(GC, 7), (f"{GC}:vertex", 3)])
def test_safety_settings_by_number_are_those_of_the_names(source: str, category: int) -> None:
    body = asked(safetySettings=[{"category": category, "threshold": 4}])
    found = settings_of(body, "google-interactions", source)["safety_settings"]
    assert found == [{"type": "harassment", "threshold": "block_none"}]
    body = asked(safetySettings=[{"category": category, "threshold": "BLOCK_NONE"}])
    assert "safety_settings" not in settings_of(body, "google-interactions", source)


def test_a_level_of_thinking_by_number() -> None:
    """The Gemini API has published no numbers of them."""
    for number, effort in ((1, "low"), (2, "medium"), (3, "high"), (4, "minimal")):
        body = asked(generationConfig={"thinkingConfig": {"thinkingLevel": number}})
        assert settings_of(body, "openai-chat", f"{GC}:vertex")["reasoning_effort"] == effort
        assert "reasoning_effort" not in settings_of(body, "openai-chat")
    for number in (0, 5, True):
        body = asked(generationConfig={"thinkingConfig": {"thinkingLevel": number}})
        assert "reasoning_effort" not in settings_of(body, "openai-chat", f"{GC}:vertex")


def test_the_path_of_vertex_ai_tells_whose_numbers_they_are() -> None:
    http = {"path": "/v1/projects/p/locations/l/publishers/google/models/gemini-3-pro-preview:generateContent"}
    body = asked(generationConfig={"thinkingConfig": {"thinkingLevel": 3}})
    assert settings_of(body, "openai-chat", http=http)["reasoning_effort"] == "high"


def test_a_mode_that_is_not_specified_stays_a_number() -> None:
    body = asked(toolConfig={"functionCallingConfig": {"mode": 0}}, tools=[{"functionDeclarations": [{"name": "f"}]}])
    assert "tool_choice" not in settings_of(body, "openai-chat")


def test_an_edit_of_settings_by_number_is_written_as_numbers() -> None:
    body = asked(generationConfig={"responseModalities": [1]}, safetySettings=[{"category": 7, "threshold": 4}])
    read = suite.canonical(body, GC, "request")
    read["modalities"] = ["text", "image"]
    read["safety_settings"][0]["threshold"] = "off"
    wire = ul.write(read, GC).value
    assert wire["generationConfig"]["responseModalities"] == [1, 2]
    assert wire["safetySettings"] == [{"category": 7, "threshold": 5}]


def test_numbers_of_one_platform_are_names_at_the_other() -> None:
    body = asked(
        tools=[{"functionDeclarations": [{"name": "f"}]}],
        toolConfig={"functionCallingConfig": {"mode": 4}},
        safetySettings=[{"category": 7, "threshold": 4}],
        generationConfig={"responseModalities": [1]},
    )
    wire = ul.convert(body, source=GC, target=f"{GC}:vertex").value
    assert wire["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}
    assert wire["safetySettings"] == [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]
    body = asked(generationConfig={"thinkingConfig": {"thinkingLevel": 3}})
    wire = ul.convert(body, source=f"{GC}:vertex", target=GC).value
    assert wire["generationConfig"] == {"thinkingConfig": {"thinkingLevel": "HIGH"}}
