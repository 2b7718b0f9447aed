"""What the oracles answer is what providers answer: the SDKs' own types take it, our adapters give it back as it was,
and a stream amounts to the answer in one piece.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.types import Message, RawMessageStreamEvent
from google.genai import types
from pydantic import TypeAdapter

import unified_llm as ul
from oracles.surfaces import (
    CHAT,
    CONTENT,
    INTERACTIONS,
    MESSAGES,
    PROTOCOLS,
    RESPONSES,
    TOOLS,
    Node,
    answer,
    post,
    request,
    stream,
)
from sdk_types import examine_document
from unified_llm import suite

TEXTS = [
    "Hello.",
    "[[reason Hm, so.]] One two. [[call *]]",
    "[[redact]] Yes.",
    "[[reason Only this.]]",
    "[[reason A.]] One. [[reason B.]] Two. [[parallel 3]]",
    "Tromsø [[cite https://a.example title=A]] and [[cite https://b.example]]",
    "[[refuse Not that.]]",
    "one two three four [[stop length]]",
    "one two [[stop filter]]",
    "[[image]] seen",
    "[[audio]]",
    "hi [[usage input=100 output=50 cached=60 cache_write=10 reasoning=20]]",
    "[[call get_weather]] [[stop pause]]",
]
NOT_TYPED = {CHAT: ("reasoning_content", "annotations")}
"""What servers say and the SDK does not type: reasoning in Chat, and annotations in its chunks."""
APART = ("[[redact]] Yes.", TEXTS[5])
"""In a stream generateContent signs an empty part of its own, and tells what texts rest on in its last chunk."""
every = pytest.mark.parametrize("protocol", PROTOCOLS)
texts = pytest.mark.parametrize("text", TEXTS)


def terms(protocol: str, text: str) -> Node:
    return request(protocol, text, TOOLS)


@every
@texts
def test_an_answer_is_its_own_identity(protocol: str, text: str) -> None:
    found = answer(protocol, terms(protocol, text))
    done = ul.convert(found, source=protocol, target=protocol, kind="response")
    assert done.value == found and not done.losses


@every
@texts
def test_a_stream_is_its_own_identity(protocol: str, text: str) -> None:
    frames = stream(protocol, terms(protocol, text))
    assert list(ul.convert_stream(frames, source=protocol, target=protocol)) == frames


@every
@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
def test_an_error_is_its_own_identity_and_keeps_its_class(protocol: str, status: int) -> None:
    response = post(protocol, request(protocol, f"[[error {status} retry-after=2]]"))
    http = {"status": status, "headers": dict(response.headers)}
    done = ul.convert(response.json(), source=protocol, target=protocol, kind="error", http=http)
    assert done.value == response.json()
    kinds = {400: "invalid_request", 401: "authentication", 403: "permission", 404: "not_found", 429: "rate_limit"}
    error: Any = ul.read(response.json(), protocol, kind="error", http=http)
    told = error if isinstance(error, dict) else error.model_dump()
    if status in kinds:
        assert (told.get("error") or told)["type"] == kinds[status]


@every
@texts
def test_a_stream_amounts_to_the_answer_in_one_piece(protocol: str, text: str) -> None:
    whole = answer(protocol, terms(protocol, text))
    counted = {"stream_options": {"include_usage": True}} if protocol == CHAT else {}
    record = {
        "id": text,
        "protocol": protocol,
        "kind": "stream",
        "events": stream(protocol, {**terms(protocol, text), **counted}),
    }
    apart = ("/output/0/content",) if protocol == CONTENT and text in APART else ()
    assert not suite.collecting(protocol, [record], lambda _: whole, apart)


@pytest.mark.parametrize("protocol", [CHAT, RESPONSES])
@texts
def test_openai_types_take_it(protocol: str, text: str) -> None:
    problems = examine_document(protocol, "response", answer(protocol, terms(protocol, text))).problems
    problems = problems + examine_document(protocol, "stream", stream(protocol, terms(protocol, text))).problems
    assert [p for p in problems if not any(word in p for word in NOT_TYPED.get(protocol, ()))] == []


@texts
def test_anthropic_types_take_it(text: str) -> None:
    body = terms(MESSAGES, text)
    Message.model_validate_json(json.dumps(answer(MESSAGES, body)), strict=True)
    event: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
    for frame in stream(MESSAGES, body):
        if frame["event"] != "ping":  # which the SDK skips
            event.validate_json(json.dumps(frame["data"]), strict=True)


@texts
def test_google_types_take_it(text: str) -> None:
    body = terms(CONTENT, text)
    types.GenerateContentResponse.model_validate(answer(CONTENT, body))
    for frame in stream(CONTENT, body):
        types.GenerateContentResponse.model_validate(frame["data"])


def test_there_is_a_text_for_every_kind_of_answer() -> None:
    assert {step["type"] for text in TEXTS for step in answer(INTERACTIONS, terms(INTERACTIONS, text))["steps"]} == {
        "thought",
        "model_output",
        "function_call",
    }
