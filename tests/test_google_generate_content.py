"""generateContent beyond the laws: routes, the mind, partial arguments."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai import types

import unified_llm as ul
from corpus import fixtures
from unified_llm.provenance.opaque import is_sealed
from unified_llm_google.generate_content.stream.partial_args import PartialArgs

GC = "google-generate-content"
Node = dict[str, Any]
HELLO = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
SIGNATURE = "U2lnLW9uZQ=="


def convert(body: Any, target: str = GC, source: str = GC, **options: Any) -> ul.Converted:
    return ul.convert(body, source=source, target=target, **options)


def fixture(name: str) -> Any:
    found = next(record for record in fixtures(GC) if record["id"] == f"{GC}/{name}")
    return found["events"] if found["kind"] == "stream" else found["body"]


def test_texts_that_grow_at_the_same_time_do_not_grow_into_each_other() -> None:
    def delta(place: int, text: str) -> Node:
        return {"type": "response.output_text.delta", "output_index": place, "content_index": 0, "delta": text}

    def item(kind: str, place: int, text: str) -> Node:
        part = {"type": "output_text", "text": text}
        content = [part] if kind == "done" else []
        shown = {"type": "message", "role": "assistant", "content": content}
        return {"type": f"response.output_item.{kind}", "output_index": place, "item": shown}

    def part(kind: str, place: int, text: str) -> Node:
        shown = {"type": "output_text", "text": text}
        event = {"type": f"response.content_part.{kind}", "output_index": place, "content_index": 0, "part": shown}
        return event

    events = [
        {"type": "response.created", "response": {"id": "r", "model": "m"}},
        item("added", 0, ""), part("added", 0, ""), item("added", 1, ""), part("added", 1, ""),
        delta(0, "on"), delta(1, "tw"), delta(0, "e"),
        part("done", 0, "one"), item("done", 0, "one"),
        delta(1, "o"), part("done", 1, "two"), item("done", 1, "two"),
        {"type": "response.completed", "response": {"id": "r", "model": "m", "finish": {"reason": "stop"}}},
    ]  # fmt: skip
    frames = [event["data"]["candidates"][0]["content"]["parts"] for event in ul.write_stream(events, GC)]
    texts = [part["text"] for parts in frames for part in parts]
    assert "".join(texts) == "onetwo"
    assert texts[:2] == ["on", "e"] and "two" not in texts  # not held back longer than it must


# ---- the URL --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "model", "stream"),
    [
        ("models/m:generateContent", "m", None),
        ("/v1beta/models/m:streamGenerateContent?alt=sse", "m", True),
        ("v1/models/openai/gpt-x:generateContent", "openai/gpt-x", None),
        ("models/m%3AgenerateContent", "m", None),
        ("v1/tunedModels/t1:generateContent", "t1", None),
        ("v1beta1/projects/p/locations/l/publishers/google/models/m:generateContent", "m", None),
        ("publishers/acme/models/m:generateContent", "acme/m", None),
    ],
)
def test_model_and_streaming_are_read_from_the_path(path: str, model: str, stream: bool | None) -> None:
    value = convert(HELLO, "openai-chat", http={"path": path}).value
    assert value["model"].endswith(model)
    assert value.get("stream") is stream


def test_the_path_is_written() -> None:
    chat = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    assert convert(chat, source="openai-chat").http == {"method": "POST", "path": "models/m:generateContent"}
    streaming = convert({**chat, "stream": True}, source="openai-chat").http
    assert streaming["path"] == "models/m:streamGenerateContent"
    assert streaming["query"] == {"alt": "sse"}
    assert convert(chat, source="openai-chat", model="tunedModels/t").http["path"] == "tunedModels/t:generateContent"
    vertex = convert(chat, GC + ":vertex", "openai-chat")
    assert vertex.http["path"] == "publishers/google/models/m:generateContent"


def test_a_stream_without_sse_is_an_array() -> None:
    done = convert(HELLO, http={"path": "models/m:streamGenerateContent"})
    assert done.http["path"].endswith(":streamGenerateContent")
    assert "query" not in done.http


# ---- the official SDK -----------------------------------------------------------------------------------------------


def client(answer: Any) -> genai.Client:
    transport = httpx2.MockTransport(answer)
    options = types.HttpOptions(base_url="http://gateway.test", httpx_client=httpx2.Client(transport=transport))
    return genai.Client(api_key="none", http_options=options)


# ---- the mind -------------------------------------------------------------------------------------------------------


def signatures(value: Any) -> list[str]:
    if isinstance(value, list):
        return [found for each in value for found in signatures(each)]
    if not isinstance(value, dict):
        return []
    own = [value["thoughtSignature"]] if "thoughtSignature" in value else []
    return own + [found for key, each in value.items() if key != "thoughtSignature" for found in signatures(each)]


@pytest.mark.parametrize("surface", ["openai-chat", "openai-responses"])
@pytest.mark.parametrize("name", ["signature_steps", "function_calls_parallel"])
def test_signatures_survive_a_client_of_another_surface(name: str, surface: str) -> None:
    body = fixture(f"request/{name}")
    shown = convert(body, surface, facing="client").value
    back = convert(shown, GC, surface).value
    assert signatures(body["contents"]) == signatures(back["contents"])
    calls = [[("functionCall" in p, "thoughtSignature" in p) for p in c["parts"]] for c in body["contents"]]
    assert [[("functionCall" in p, "thoughtSignature" in p) for p in c["parts"]] for c in back["contents"]] == calls


def test_foreign_reasoning_is_enveloped_for_a_client_and_opened_again() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA=="}
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c1", "output": "r"}
    body = {"model": "m", "input": [{"role": "user", "content": "Go"}, reasoning, call, output]}
    shown = convert(body, GC, "openai-responses", facing="client", secret="s")
    sealed = signatures(shown.value["contents"])
    assert len(sealed) == 1 and is_sealed(sealed[0])
    assert [loss.fate for loss in shown.losses if loss.capability == "reasoning.signature"] == ["parked"]
    types.Part.model_validate(shown.value["contents"][1]["parts"][0])
    echoed = json.loads(json.dumps(shown.value).replace(sealed[0], sealed[0].replace("+", "-").replace("/", "_")))
    back = convert(echoed, "openai-responses", secret="s").value
    assert [item.get("encrypted_content") for item in back["input"] if item["type"] == "reasoning"] == ["gAAAA=="]


def test_a_moved_envelope_does_not_open() -> None:
    reasoning = {"type": "reasoning", "summary": [], "encrypted_content": "gAAAA=="}
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    body = {"model": "m", "input": [{"role": "user", "content": "Go"}, reasoning, call]}
    shown = convert(body, GC, "openai-responses", facing="client", secret="s").value
    shown["contents"][1]["parts"][0]["functionCall"]["id"] = "c2"
    done = convert(shown, "openai-responses", secret="s")
    assert not [item for item in done.value["input"] if item["type"] == "reasoning"]
    assert [loss.path for loss in done.losses if loss.detail.startswith("an envelope")] == [
        "/contents/1/parts/0/thoughtSignature"
    ]


def test_a_provider_gets_nothing_foreign() -> None:
    reasoning = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gAA="}
    body = {
        "model": "m",
        "input": [
            {"role": "user", "content": "Go"},
            reasoning,
            {"role": "assistant", "content": "A"},
            {"role": "user", "content": "On"},
        ],
    }
    done = convert(body, GC, "openai-responses")
    assert done.value["contents"] == [
        {"role": "user", "parts": [{"text": "Go"}]},
        {"role": "model", "parts": [{"text": "A"}]},
        {"role": "user", "parts": [{"text": "On"}]},
    ]
    assert [(loss.path, loss.detail) for loss in done.losses if loss.detail] == [("/input/1", "foreign")]


def test_some_models_get_the_documented_bypass_for_calls_they_did_not_make() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    more = {**call, "call_id": "c2"}
    body = {"model": "m", "input": [{"role": "user", "content": "Go"}, call, more]}
    assert not signatures(convert(body, GC, "openai-responses", model="gemini-2.5-pro").value["contents"])
    done = convert(body, GC, "openai-responses", model="gemini-3-pro")
    parts = done.value["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == ["skip_thought_signature_validator", None]
    assert [loss.path for loss in done.losses if loss.fate == "added"] == ["/contents/1/parts/0/thoughtSignature"]


# ---- counting, pieces of arguments -------------------------------------------------------------------------


def test_arguments_in_pieces() -> None:
    args = PartialArgs()
    entries: list[Node] = [
        {"jsonPath": "$.a.b[0]", "stringValue": "x", "willContinue": True},
        {"jsonPath": "$.a.b[0]", "stringValue": "y"},
        {"jsonPath": "$.a.b[1]", "boolValue": False},
        {"jsonPath": "$['c d']", "numberValue": 1.5},
        {"jsonPath": "$.n", "nullValue": "NULL_VALUE"},
        {"jsonPath": "$.a.b.wrong", "stringValue": "kept out"},
        {"jsonPath": "$.a.b[99999999999]", "stringValue": "no list is made that long"},
    ]
    for entry in entries:
        args.feed(entry)
    assert args.value == {"a": {"b": ["xy", False]}, "c d": 1.5, "n": None}


def test_what_was_transcribed_is_text_to_others() -> None:
    words = [{"word": "Hei", "startOffset": "0s", "endOffset": "0.4s"}]
    part = {"audioTranscription": {"text": "Hei på deg", "languageCode": "nb-NO", "words": words}}
    body = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}]}
    assert convert(body, kind="response").value == body
    assert convert(body, "openai-chat", kind="response").value["choices"][0]["message"]["content"] == "Hei på deg"
    step = convert(body, "google-interactions", kind="response").value["steps"][0]
    assert step["content"][0]["annotations"] == [
        {"type": "word_info", "text": "Hei", "start_offset": "0s", "end_offset": "0.4s"}
    ]
    stream = [{"event": None, "data": body}]
    assert list(ul.convert_stream(stream, source=GC, target=GC)) == stream


def test_counting_tokens() -> None:
    whole = {"generateContentRequest": {"model": "models/m", **HELLO, "systemInstruction": {"parts": [{"text": "S"}]}}}
    assert convert(whole, kind="count_tokens_request").value == whole
    done = convert(HELLO, kind="count_tokens_request", http={"path": "models/m:countTokens"})
    assert (done.value, done.http["path"]) == (HELLO, "models/m:countTokens")
    count = {
        "totalTokens": 9,
        "cachedContentTokenCount": 2,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 9}],
    }
    assert convert(count, kind="count_tokens_response").value == count


def test_lists_of_models() -> None:
    model = {"name": "models/m", "displayName": "M", "inputTokenLimit": 9}
    for body in (
        {"models": [model], "nextPageToken": "t"},
        {"publisherModels": [{"name": "publishers/x/models/m"}]},
        model,
    ):
        assert convert(body, kind="models").value == body
    chat = convert({"models": [model]}, "openai-chat", kind="models")
    assert [entry["id"] for entry in chat.value["data"]] == ["m"]


def test_user_data_is_never_respelled() -> None:
    body = fixture("request/user_data_is_not_respelled")
    text = json.dumps(convert(body, "openai-responses").value)
    assert '\\"mime_type\\"' in text and '\\"thought_signature\\"' in text and '"top_k"' in text


def test_written_from_elsewhere_everything_is_camel_case() -> None:
    body = fixture("request/snake_case_everywhere")
    node = ul.read(body, GC).model_dump(mode="json", by_alias=True, exclude_unset=True)

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: bare(inner) for key, inner in value.items() if key != "extra"}
        return [bare(inner) for inner in value] if isinstance(value, list) else value

    value = ul.write(bare(node), GC).value
    assert value["generationConfig"]["topP"] == 0.5
    assert value["contents"][0]["parts"][0]["inlineData"]["mimeType"] == "image/png"
    assert value["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"]["properties"] == {
        "snake_key": {"type": "integer"}
    }


def test_empty_instructions_of_another_protocol_are_not_sent() -> None:
    """The API refuses an empty text."""
    body = {"model": "m", "max_tokens": 9, "system": "", "messages": [{"role": "user", "content": "q"}]}
    done = ul.convert(body, source="anthropic-messages", target="google-generate-content", model="gemini-3-pro")
    assert "systemInstruction" not in done.value and not done.losses
    own = {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "systemInstruction": {"parts": [{"text": ""}]}}
    assert ul.convert(own, source="google-generate-content", target="google-generate-content").value == own


@pytest.mark.parametrize("target", ["anthropic-messages", "openai-chat"])
def test_top_k_of_the_sdk_is_a_whole_number_at_other_protocols(target: str) -> None:
    """google-genai declares a float, and sends 40 as 40.0. Others take an integer."""
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": {"topK": 40.0}}
    done = ul.convert(body, source="google-generate-content", target=target, model="claude-opus-4-5")
    assert repr(done.value["top_k"]) == "40"
    same = ul.convert(body, source="google-generate-content", target="google-generate-content").value
    assert repr(same["generationConfig"]["topK"]) == "40.0"
    body["generationConfig"] = {"topK": 40.5}
    done = ul.convert(body, source="google-generate-content", target=target, model="claude-opus-4-5")
    assert done.value["top_k"] == 40.5
