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
