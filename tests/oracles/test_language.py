"""The language: what a text requests is what every protocol answers, and an unknown one is refused."""

from __future__ import annotations

import json
import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.language import RULES
from oracles.surfaces import (
    CHAT,
    CONTENT,
    INTERACTIONS,
    MESSAGES,
    PROTOCOLS,
    RESPONSES,
    Node,
    answer,
    calls,
    post,
    request,
    said,
    then,
)
from unified_llm_local.echo import language as local

BOTH = ("get_weather", "read_clock")
every = pytest.mark.parametrize("protocol", PROTOCOLS)

BAD = (
    "[[frobnicate]]",
    "[[call f",
    "[[call f g]]",
    "[[usage prompt=3]]",
    "[[stop maybe]]",
    "[[cite http://a]]",
    "[[break 3]]",
    "[[error 200]]",
    "[[error x]]",
    "[[slow fast]]",
    "[[garble all]]",
    "[[usage input=x]]",
    "[[image big]]",
    '[[call f {"a":]]',
    "[[call f a={]]",
    '[[stop {"a":1}]]',
)


@every
@pytest.mark.parametrize("text", BAD)
def test_what_is_unknown_is_refused_in_the_shape_of_the_provider(protocol: str, text: str) -> None:
    response = post(protocol, request(protocol, text, BOTH))
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["message"].startswith("echo: ")
    assert {CHAT: "type", RESPONSES: "type", MESSAGES: "type", CONTENT: "status", INTERACTIONS: "code"}[
        protocol
    ] in error


def test_the_two_script_languages_are_one() -> None:
    """The oracles state it for themselves; what is written for one upstream is understood by the other."""
    assert [*RULES] == [*local.RULES] and all(vars(RULES[name]) == vars(local.RULES[name]) for name in RULES)


def test_every_directive_is_documented() -> None:
    page = (pathlib.Path(__file__).parents[2] / "docs" / "echo.md").read_text("utf-8")
    assert {name for name in RULES if f"[[{name}" not in page} == set()


# ---- what it does


@every
@given(text=st.text(st.characters(exclude_characters="[", exclude_categories=["Cs", "Cc"]), max_size=40))
def test_plain_text_is_echoed(protocol: str, text: str) -> None:
    if text.strip() == "":
        return
    assert said(protocol, answer(protocol, request(protocol, text))) == text.strip()


@every
def test_a_call_has_the_arguments_that_were_said_and_whatever_else_is_required(protocol: str) -> None:
    found = answer(protocol, request(protocol, "Wait. [[call get_weather days=3]] [[call read_clock]]", BOTH))
    assert [(name, args) for _, name, args in calls(protocol, found)] == [
        ("get_weather", {"city": "city", "days": 3}),
        ("read_clock", {"zone": "UTC"}),
    ]
    assert said(protocol, found) == "Wait."
    assert len({i for i, _, _ in calls(protocol, found)}) == 2


@every
def test_words_are_what_the_schema_says(protocol: str) -> None:
    found = answer(protocol, request(protocol, '[[call get_weather city=7 days="8"]]', BOTH))
    assert calls(protocol, found)[0][2] == {"city": "7", "days": 8}
    found = answer(protocol, request(protocol, '[[call get_weather {"x": [1]}]]', BOTH))
    assert calls(protocol, found)[0][2] == {"x": [1]}


@every
def test_a_star_calls_everything_and_parallel_so_many(protocol: str) -> None:
    def names(text: str) -> list[str]:
        return [name for _, name, _ in calls(protocol, answer(protocol, request(protocol, text, BOTH)))]

    assert names("[[call *]]") == ["get_weather", "read_clock"]
    assert names("[[parallel]]") == ["get_weather", "read_clock"]
    assert names("[[parallel 3]]") == ["get_weather", "read_clock", "get_weather"]
    assert names("[[call]]") == ["get_weather"]


@every
def test_a_tool_that_is_not_offered_is_not_called(protocol: str) -> None:
    assert post(protocol, request(protocol, "[[call fly]]", BOTH)).status_code == 400
    assert post(protocol, request(protocol, "[[call get_weather]]")).status_code == 400


@every
def test_plain_text_that_names_a_tool_calls_it(protocol: str) -> None:
    assert [n for _, n, _ in calls(protocol, answer(protocol, request(protocol, "Weather in Oslo?", BOTH)))] == [
        "get_weather"
    ]
    assert calls(protocol, answer(protocol, request(protocol, "Whether or not", BOTH))) == []


@every
def test_results_are_quoted(protocol: str) -> None:
    first = request(protocol, "[[reason Both.]] [[parallel]]", BOTH)
    found = answer(protocol, first)
    last = answer(protocol, then(protocol, first, found, {"get_weather": "4 degrees", "read_clock": "noon"}))
    assert said(protocol, last) == "get_weather: 4 degrees\nread_clock: noon"


@every
def test_steps_are_taken_one_by_one(protocol: str) -> None:
    asked = request(protocol, "[[call get_weather]] [[then]] [[call read_clock]] [[then]] Told: [[results]]", BOTH)
    first = answer(protocol, asked)
    assert [n for _, n, _ in calls(protocol, first)] == ["get_weather"]
    after = then(protocol, asked, first)
    second = answer(protocol, after)
    assert [n for _, n, _ in calls(protocol, second)] == ["read_clock"]
    assert said(protocol, answer(protocol, then(protocol, after, second))) == "Told: read_clock: result of read_clock"


@every
def test_only_the_last_word_of_the_user_counts(protocol: str) -> None:
    asked = request(protocol, "[[refuse]] no [[stop length]]" if protocol == CHAT else "Hello [[reason]] there")
    found = answer(protocol, request(protocol, "Hello."))
    assert said(protocol, answer(protocol, then(protocol, asked, found, text="Bye."))) == "Bye."


@every
def test_the_model_ends_early(protocol: str) -> None:
    found = answer(protocol, request(protocol, "one two three four [[stop length]]"))
    assert said(protocol, found) == "one two"
    native = {
        CHAT: lambda f: f["choices"][0]["finish_reason"] == "length",
        RESPONSES: lambda f: f["status"] == "incomplete" and f["incomplete_details"] == {"reason": "max_output_tokens"},
        MESSAGES: lambda f: f["stop_reason"] == "max_tokens",
        CONTENT: lambda f: f["candidates"][0]["finishReason"] == "MAX_TOKENS",
        INTERACTIONS: lambda f: f["status"] == "incomplete",
    }
    assert native[protocol](found)


def limited(protocol: str, limit: int) -> Node:
    return {
        CHAT: {"max_tokens": limit},
        RESPONSES: {"max_output_tokens": limit},
        MESSAGES: {"max_tokens": limit},
        CONTENT: {"generationConfig": {"maxOutputTokens": limit}},
        INTERACTIONS: {"generation_config": {"max_output_tokens": limit}},
    }[protocol]


@every
def test_the_limit_of_the_request_ends_it_as_well(protocol: str) -> None:
    text = " ".join(f"w{n}" for n in range(30))
    found = answer(protocol, request(protocol, text, **limited(protocol, 16)))
    assert said(protocol, found) == " ".join(f"w{n}" for n in range(16))


@pytest.mark.parametrize(
    ("protocol", "more"),
    [
        (CHAT, {"stop": "three"}),
        (MESSAGES, {"stop_sequences": ["three"]}),
        (CONTENT, {"generationConfig": {"stopSequences": ["three"]}}),
        (INTERACTIONS, {"generation_config": {"stop_sequences": ["three"]}}),
    ],
)
def test_a_stop_text_ends_it(protocol: str, more: Node) -> None:
    found = answer(protocol, request(protocol, "one two three four", **more))
    assert said(protocol, found).strip() == "one two"
    if protocol == MESSAGES:
        assert (found["stop_reason"], found["stop_sequence"]) == ("stop_sequence", "three")


@every
def test_usage_is_what_was_said(protocol: str) -> None:
    found = answer(protocol, request(protocol, "hi [[usage input=100 output=50 cached=60 reasoning=20]]"))
    if protocol == CHAT:
        used = found["usage"]
        assert (used["prompt_tokens"], used["completion_tokens"], used["total_tokens"]) == (100, 50, 150)
        assert used["prompt_tokens_details"]["cached_tokens"] == 60
        assert used["completion_tokens_details"]["reasoning_tokens"] == 20
    elif protocol == RESPONSES:
        used = found["usage"]
        assert (used["input_tokens"], used["output_tokens"], used["total_tokens"]) == (100, 50, 150)
        assert used["input_tokens_details"]["cached_tokens"] == 60
    elif protocol == MESSAGES:  # the cached ones are apart
        used = found["usage"]
        assert (used["input_tokens"], used["cache_read_input_tokens"], used["output_tokens"]) == (40, 60, 50)
        assert used["output_tokens_details"] == {"thinking_tokens": 20}
    elif protocol == CONTENT:  # thoughts are apart
        used = found["usageMetadata"]
        assert (used["promptTokenCount"], used["candidatesTokenCount"], used["thoughtsTokenCount"]) == (100, 30, 20)
        assert (used["totalTokenCount"], used["cachedContentTokenCount"]) == (150, 60)
    else:
        used = found["usage"]
        assert (used["total_input_tokens"], used["total_output_tokens"], used["total_thought_tokens"]) == (100, 30, 20)
        assert (used["total_tokens"], used["total_cached_tokens"]) == (150, 60)


def structured(protocol: str, schema: Node) -> Node:
    named = {"name": "answer", "schema": schema, "strict": True}
    return {
        CHAT: {"response_format": {"type": "json_schema", "json_schema": named}},
        RESPONSES: {"text": {"format": {"type": "json_schema", **named}}},
        MESSAGES: {"output_config": {"format": {"type": "json_schema", "schema": schema}}},
        CONTENT: {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema}},
        INTERACTIONS: {"response_format": {"type": "text", "mime_type": "application/json", "schema": schema}},
    }[protocol]


@every
def test_structured_output_is_of_the_schema(protocol: str) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
        "required": ["n", "tags"],
        "additionalProperties": False,
    }
    found = answer(protocol, request(protocol, "Give me one.", **structured(protocol, schema)))
    assert json.loads(said(protocol, found)) == {"n": 1, "tags": ["tags"]}


@every
def test_what_was_received_can_be_shown(protocol: str) -> None:
    body = request(protocol, "[[show]]", BOTH)
    assert json.loads(said(protocol, answer(protocol, body))) == body


@every
def test_refusals(protocol: str) -> None:
    found = answer(protocol, request(protocol, "[[refuse Not that.]]"))
    heard = {
        CHAT: lambda f: f["choices"][0]["message"]["refusal"],
        RESPONSES: lambda f: f["output"][0]["content"][0]["refusal"],
        MESSAGES: lambda f: f["stop_reason"] == "refusal" and f["stop_details"]["explanation"],
        CONTENT: lambda f: f["candidates"][0]["finishReason"] == "SAFETY" and f["candidates"][0]["finishMessage"],
        INTERACTIONS: lambda f: f["status"] == "failed" and f["errors"][0]["message"],
    }
    assert heard[protocol](found) == "Not that."


@every
def test_citations(protocol: str) -> None:
    found = answer(protocol, request(protocol, "Tromsø is far. [[cite https://a.example title=A]]"))
    if protocol == CHAT:
        cite = found["choices"][0]["message"]["annotations"][0]["url_citation"]
        assert (cite["url"], cite["title"], cite["start_index"], cite["end_index"]) == ("https://a.example", "A", 0, 14)
    elif protocol == RESPONSES:
        cite = found["output"][0]["content"][0]["annotations"][0]
        assert (cite["url"], cite["start_index"], cite["end_index"]) == ("https://a.example", 0, 14)
    elif protocol == MESSAGES:
        assert found["content"][0]["citations"][0]["url"] == "https://a.example"
    elif protocol == CONTENT:  # both Google protocols count bytes, of which ø has two
        support = found["candidates"][0]["groundingMetadata"]["groundingSupports"][0]
        assert support["segment"]["endIndex"] == 15
    else:
        assert found["steps"][0]["content"][0]["annotations"][0]["end_index"] == 15


def test_media_stand_ins() -> None:
    found = answer(CONTENT, request(CONTENT, "[[image]] [[audio]]"))
    kinds = [part["inlineData"]["mimeType"] for part in found["candidates"][0]["content"]["parts"]]
    assert kinds == ["image/png", "audio/wav"]
    found = answer(INTERACTIONS, request(INTERACTIONS, "[[image]] [[audio]]"))
    assert [part["type"] for part in found["steps"][0]["content"]] == ["image", "audio"]
    assert answer(RESPONSES, request(RESPONSES, "[[image]]"))["output"][0]["type"] == "image_generation_call"
    assert answer(CHAT, request(CHAT, "[[audio]]"))["choices"][0]["message"]["audio"]["transcript"]


PICTURE = "data:image/png;base64,iVBORw0KGgo="
SEEN = {
    CHAT: {
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": PICTURE}}],
            }
        ]
    },
    RESPONSES: {
        "input": [
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "What?"}, {"type": "input_image", "image_url": PICTURE}],
            }
        ]
    },
    MESSAGES: {
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What?"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
                ],
            }
        ]
    },
    CONTENT: {
        "contents": [{"parts": [{"text": "What?"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]}]
    },
    INTERACTIONS: {
        "input": [
            {"type": "text", "text": "What?"},
            {"type": "image", "mime_type": "image/png", "data": "iVBORw0KGgo="},
        ]
    },
}


@every
def test_an_image_is_seen(protocol: str) -> None:
    assert said(protocol, answer(protocol, {**request(protocol, ""), **SEEN[protocol]})) == "What? [image image/png]"


@every
def test_a_forced_tool_is_called(protocol: str) -> None:
    choice = {
        CHAT: {"tool_choice": {"type": "function", "function": {"name": "read_clock"}}},
        RESPONSES: {"tool_choice": {"type": "function", "name": "read_clock"}},
        MESSAGES: {"tool_choice": {"type": "tool", "name": "read_clock"}},
        CONTENT: {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["read_clock"]}}},
        INTERACTIONS: {
            "generation_config": {"tool_choice": {"allowed_tools": {"mode": "any", "tools": ["read_clock"]}}}
        },
    }
    found = answer(protocol, request(protocol, "Hello.", BOTH, **choice[protocol]))
    assert [name for _, name, _ in calls(protocol, found)] == ["read_clock"]


@pytest.mark.parametrize(
    ("protocol", "more"),
    [
        (CHAT, {"parallel_tool_calls": False}),
        (RESPONSES, {"parallel_tool_calls": False}),
        (MESSAGES, {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
    ],
)
def test_calls_one_by_one(protocol: str, more: Node) -> None:
    assert len(calls(protocol, answer(protocol, request(protocol, "[[parallel]]", BOTH, **more)))) == 1


@every
def test_no_call_where_none_may_be(protocol: str) -> None:
    choice = {
        CHAT: {"tool_choice": "none"},
        RESPONSES: {"tool_choice": "none"},
        MESSAGES: {"tool_choice": {"type": "none"}},
        CONTENT: {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}},
        INTERACTIONS: {"generation_config": {"tool_choice": "none"}},
    }
    assert post(protocol, request(protocol, "[[call]]", BOTH, **choice[protocol])).status_code == 400
    assert calls(protocol, answer(protocol, request(protocol, "The weather?", BOTH, **choice[protocol]))) == []


def test_custom_tools_get_free_text() -> None:
    custom = {"type": "custom", "name": "patch"}
    found = answer(RESPONSES, request(RESPONSES, '[[call patch input="*** Begin"]]', tools=[custom]))
    assert (found["output"][0]["type"], found["output"][0]["input"]) == ("custom_tool_call", "*** Begin")
    found = answer(CHAT, request(CHAT, "[[call patch]]", tools=[{"type": "custom", "custom": {"name": "patch"}}]))
    assert found["choices"][0]["message"]["tool_calls"][0]["custom"] == {"name": "patch", "input": "input of patch"}
