"""A citation that comes when its text is complete and a tool call has begun."""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul

CITED = [
    {
        "type": "url_citation",
        "url_citation": {"url": "https://tides.test", "title": "T", "start_index": 0, "end_index": 4},
    }
]
CALL = [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}]

BLOCKS = ["anthropic-messages", "google-interactions", "amazon-converse"]
"""Targets whose stream has no place for a citation when its text is over."""
WHOLE = ["openai-responses", "openai-responses:open-responses", "openai-chat", "google-generate-content"]
"""Those that repeat the answer at the end, or have its sources there."""
LATE = "it came after its text was complete"


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    data = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {"event": None, "data": {**data, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}}


def stream(*deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [*map(chunk, deltas), chunk({}, "tool_calls"), {"event": None, "data": "[DONE]"}]


@pytest.mark.parametrize("target", BLOCKS)
def test_is_reported_where_it_has_no_place_any_more(target: str) -> None:
    events = stream({"role": "assistant", "content": "High water."}, {"tool_calls": CALL}, {"annotations": CITED})
    found = ul.convert_stream(events, source="openai-chat", target=target)
    assert "tides.test" not in json.dumps([*found])
    path = "/2/data/choices/0/delta/annotations/0"
    assert [(loss.capability, loss.fate) for loss in found.losses if loss.path == path] == [("citations.url", "lost")]


@pytest.mark.parametrize("target", WHOLE)
def test_arrives_where_a_stream_has_its_citations_at_its_end(target: str) -> None:
    events = stream({"role": "assistant", "content": "High water."}, {"tool_calls": CALL}, {"annotations": CITED})
    found = ul.convert_stream(events, source="openai-chat", target=target)
    assert "tides.test" in json.dumps([*found])
    assert not [loss for loss in found.losses if "annotations/0" in loss.path and loss.path.endswith(("0", "url"))]


@pytest.mark.parametrize("target", ["anthropic-messages", "google-interactions"])
def test_one_in_time_is_sent(target: str) -> None:
    events = stream({"role": "assistant", "content": "High water."}, {"annotations": CITED}, {"tool_calls": CALL})
    found = ul.convert_stream(events, source="openai-chat", target=target)
    assert "tides.test" in json.dumps([*found])
    assert not [loss for loss in found.losses if loss.detail == LATE]


# ---- Gemini: the last frame has the sources of all texts -------------------------------------------------------------

GEMINI = "google-generate-content"
ASK = [{"functionCall": {"id": "c1", "name": "f", "args": {}}}]
END: dict[str, Any] = {"finishReason": "STOP"}


def frame(*parts: Any, **fields: Any) -> dict[str, Any]:
    wire = {"content": {"parts": [*parts], "role": "model"}, "index": 0, **fields}
    return {"event": None, "data": {"candidates": [wire], "responseId": "r", "modelVersion": "g"}}


def text(said: str, **fields: Any) -> dict[str, Any]:
    return {"text": said, **fields}


def grounding(*segments: dict[str, int]) -> dict[str, Any]:
    """A page for each segment, `http://e.x/0` and so on."""
    pages = [{"web": {"uri": f"http://e.x/{number}", "title": "T"}} for number, _ in enumerate(segments)]
    supports = [{"segment": each, "groundingChunkIndices": [number]} for number, each in enumerate(segments)]
    return {"groundingMetadata": {"groundingChunks": pages, "groundingSupports": supports}}


LOOK = {"endIndex": 4}
STREAMS: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    # The frames, and the pages whose text is over when they come.
    "a call before the grounding": (
        [frame(text("Look")), frame(*ASK), frame(text(""), **END, **grounding(LOOK))],
        ["e.x/0"],
    ),
    "a thought, and a text with the grounding": (
        [frame(text("Look")), frame(text("hm", thought=True)), frame(text("More"), **END, **grounding(LOOK))],
        ["e.x/0"],
    ),
    "texts with a call between, by part": (
        [
            frame(text("Look")),
            frame(*ASK),
            frame(text("More")),
            frame(text(""), **END, **grounding({"partIndex": 0, **LOOK}, {"partIndex": 2, **LOOK})),
        ],
        ["e.x/0"],
    ),
    "texts with a call between, by segment": (
        [
            frame(text("Look")),
            frame(*ASK),
            frame(text("More")),
            frame(text(""), **END, **grounding(LOOK, {"startIndex": 4, "endIndex": 8})),
        ],
        ["e.x/0"],
    ),
    "two parts of one text": (
        [
            frame(text("Look")),
            frame(text("")),
            frame(text("More")),
            frame(text(""), **END, **grounding(LOOK, {"startIndex": 4, "endIndex": 8})),
        ],
        ["e.x/0"],
    ),
    "sources without a segment": (
        [
            frame(text("Look")),
            frame(*ASK),
            frame(text(""), **END, groundingMetadata={"groundingChunks": [{"web": {"uri": "http://e.x/0"}}] * 2}),
        ],
        ["e.x/0"],
    ),
    "a citation": (
        [
            frame(text("Look")),
            frame(*ASK),
            frame(text(""), **END, citationMetadata={"citationSources": [{"uri": "http://e.x/0", "endIndex": 4}]}),
        ],
        ["e.x/0"],
    ),
}
each_stream = pytest.mark.parametrize("name", STREAMS)


def lost(found: Any) -> list[Any]:
    return [loss for loss in found.losses if loss.detail == LATE]


@each_stream
@pytest.mark.parametrize("target", BLOCKS)
def test_grounding_is_reported_where_its_text_is_over(name: str, target: str) -> None:
    events, late = STREAMS[name]
    found = ul.convert_stream(events, source=GEMINI, target=target)
    sent = json.dumps([*found])
    every = {page for page in ("e.x/0", "e.x/1") if page in json.dumps(events)}
    assert {page for page in every if page in sent} == every - set(late)
    assert lost(found)
    assert {(loss.side, loss.capability, loss.fate) for loss in lost(found)} == {("source", "citations.url", "lost")}
    assert all(loss.path.startswith(f"/{len(events) - 1}/data/candidates/0/") for loss in lost(found))


@each_stream
@pytest.mark.parametrize("target", WHOLE)
def test_grounding_arrives_where_the_end_has_a_place(name: str, target: str) -> None:
    events, _ = STREAMS[name]
    found = ul.convert_stream(events, source=GEMINI, target=target)
    sent = json.dumps([*found])
    assert all(page in sent for page in ("e.x/0", "e.x/1") if page in json.dumps(events))
    assert not lost(found)


@each_stream
def test_grounding_is_in_the_answer_that_the_events_amount_to(name: str) -> None:
    events, _ = STREAMS[name]
    told = [json.loads(json.dumps(event)) for event in ul.read_stream(events, GEMINI)]
    assert all(page in json.dumps(ul.collect(told)) for page in ("e.x/0", "e.x/1") if page in json.dumps(events))
    assert [*ul.convert_stream(events, source=GEMINI, target=GEMINI)] == events


@pytest.mark.parametrize("name", [name for name in STREAMS if "call between" in name])
def test_each_text_has_its_own_citations(name: str) -> None:
    events, _ = STREAMS[name]
    chat = [*ul.convert_stream(events, source=GEMINI, target="openai-chat")]
    notes = [
        note["url_citation"]
        for event in chat
        for choice in (event["data"]["choices"] if event["data"] != "[DONE]" else ())
        for note in choice["delta"].get("annotations") or ()
    ]
    # Between the two texts stands what keeps them apart in the one text of Chat.
    whole = "".join(
        choice["delta"].get("content") or ""
        for event in chat
        for choice in (event["data"]["choices"] if event["data"] != "[DONE]" else ())
    )
    assert {note["url"]: whole[note["start_index"] : note["end_index"]] for note in notes} == {
        "http://e.x/0": "Look",
        "http://e.x/1": "More",
    }
    last = [*ul.convert_stream(events, source=GEMINI, target="openai-responses")][-1]["data"]["response"]
    cited = [
        (part["text"], [(note["url"], note["start_index"], note["end_index"]) for note in part["annotations"]])
        for item in last["output"]
        if item["type"] == "message"
        for part in item["content"]
    ]
    assert cited == [("Look", [("http://e.x/0", 0, 4)]), ("More", [("http://e.x/1", 0, 4)])]


def test_a_call_in_the_frame_of_the_grounding_is_in_time() -> None:
    events = [frame(text("Look")), frame(*ASK, **END, **grounding(LOOK))]
    kinds = [event["type"] for event in ul.read_stream(events, GEMINI)]
    assert kinds.index("response.output_text.annotation.added") < kinds.index("response.output_text.done")
    for target in (*BLOCKS, *WHOLE):
        found = ul.convert_stream(events, source=GEMINI, target=target)
        assert "e.x/0" in json.dumps([*found]), target
        assert not lost(found), target


@pytest.mark.parametrize("target", [*BLOCKS, "openai-chat"])
def test_late_log_probabilities_are_reported(target: str) -> None:
    found = ul.convert_stream(weighed(), source=GEMINI, target=target)
    assert [*found]
    assert {(loss.capability, loss.fate) for loss in lost(found)} == {("output.logprobs", "lost")}


def test_late_log_probabilities_arrive_in_the_whole_answer() -> None:
    assert [*ul.convert_stream(weighed(), source=GEMINI, target=GEMINI)] == weighed()
    last = [*ul.convert_stream(weighed(), source=GEMINI, target="openai-responses")][-1]["data"]["response"]
    assert [token["logprob"] for token in last["output"][0]["content"][0]["logprobs"]] == [-0.5]


def weighed() -> list[dict[str, Any]]:
    token = {"token": "Look", "logProbability": -0.5}
    result = {"chosenCandidates": [token], "topCandidates": [{"candidates": [token]}]}
    return [frame(text("Look")), frame(*ASK), frame(text(""), **END, logprobsResult=result)]


# ---- what only the end of a Responses stream has ---------------------------------------------------------------------


@each_stream
@pytest.mark.parametrize("target", [*BLOCKS, "openai-chat", GEMINI])
def test_citations_in_the_last_event_of_responses(name: str, target: str) -> None:
    events = [*ul.convert_stream(STREAMS[name][0], source=GEMINI, target="openai-responses")]
    found = ul.convert_stream(events, source="openai-responses", target=target)
    assert "e.x/0" in json.dumps([*found]) or lost(found)


@pytest.mark.parametrize("target", BLOCKS)
def test_a_citation_of_a_part_that_is_over_is_in_no_other_block(target: str) -> None:
    events = STREAMS["two parts of one text"][0]
    again = ul.read_stream(ul.convert_stream(events, source=GEMINI, target=target), target)
    cited = {
        part["text"]: [note["url"] for note in part.get("annotations") or ()]
        for item in ul.collect(again)["output"]
        if item["type"] == "message"
        for part in item["content"]
    }
    assert cited == {"Look": [], "More": ["http://e.x/1"]}
