"""Sources of Converse answers that stand in blocks of their own, and what Bedrock executed itself, across protocols.

https://docs.aws.amazon.com/nova/latest/nova2-userguide/web-grounding.html
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from unified_llm import suite

CONVERSE = "amazon-converse"
RAIN = {"location": {"web": {"url": "https://example.com/rain"}}}
WIND = {"location": {"web": {"url": "https://example.com/wind"}}}


def answer(*blocks: Any) -> dict[str, Any]:
    return {
        "output": {"message": {"role": "assistant", "content": list(blocks)}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 3},
    }


GROUNDED = answer(
    {"text": "It rains."},
    {"citationsContent": {"citations": [RAIN]}},
    {"citationsContent": {"content": [], "citations": [WIND]}},
    {"text": " Take a coat."},
)


def test_sources_behind_a_text_are_its_citations() -> None:
    first, second = suite.canonical(GROUNDED, CONVERSE, "response")["output"][0]["content"]
    assert [note["url"] for note in first["annotations"]] == ["https://example.com/rain", "https://example.com/wind"]
    assert "annotations" not in second
    assert ul.convert(GROUNDED, source=CONVERSE, target=CONVERSE, kind="response").value == GROUNDED


def test_sources_behind_a_text_reach_other_protocols() -> None:
    done = ul.convert(GROUNDED, source=CONVERSE, target="openai-responses", kind="response")
    notes = done.value["output"][0]["content"][0]["annotations"]
    assert [(note["url"], note["start_index"], note["end_index"]) for note in notes] == [
        ("https://example.com/rain", 0, 9),
        ("https://example.com/wind", 0, 9),
    ]
    assert not [loss for loss in done.losses if loss.fate == "lost"]
    done = ul.convert(GROUNDED, source=CONVERSE, target="google-generate-content", kind="response")
    chunks = done.value["candidates"][0]["groundingMetadata"]["groundingChunks"]
    assert [chunk["web"]["uri"] for chunk in chunks] == ["https://example.com/rain", "https://example.com/wind"]


def frame(name: str, **data: Any) -> dict[str, Any]:
    return {"event": name, "data": data}


def block(number: int, *deltas: Any) -> list[dict[str, Any]]:
    """The frames of a block."""
    pieces = [frame("contentBlockDelta", delta=delta, contentBlockIndex=number) for delta in deltas]
    return [*pieces, frame("contentBlockStop", contentBlockIndex=number)]


START, END = (
    frame("messageStart", role="assistant"),
    [
        frame("messageStop", stopReason="end_turn"),
        frame("metadata", usage=answer()["usage"], metrics=answer()["metrics"]),
    ],
)
STREAMED = [
    START,
    *block(0, {"text": "It "}, {"text": "rains."}),
    *block(1, {"citation": RAIN}),
    *block(2, {"citation": WIND}),
    *block(3, {"text": " Take a coat."}),
    *END,
]
TARGETS = ["openai-chat", "openai-responses", "anthropic-messages", "google-generate-content", "google-interactions"]


def test_sources_behind_a_text_of_a_stream_are_its_citations() -> None:
    assert list(ul.convert_stream(STREAMED, source=CONVERSE, target=CONVERSE)) == STREAMED
    content = ul.collect(ul.read_stream(STREAMED, CONVERSE))["output"][0]["content"]
    assert [[note["url"] for note in part.get("annotations") or ()] for part in content] == [
        ["https://example.com/rain", "https://example.com/wind"],
        [],
    ]


@pytest.mark.parametrize("target", TARGETS)
def test_a_stream_with_sources_amounts_to_the_whole_answer(target: str) -> None:
    stream = ul.convert_stream(STREAMED, source=CONVERSE, target=target)
    streamed = ul.collect(ul.read_stream(list(stream), target))["output"]
    done = ul.convert(GROUNDED, source=CONVERSE, target=target, kind="response").value
    whole = suite.canonical(done, target, "response")["output"]

    def cited(items: Any) -> Any:
        parts = [part for item in items for part in item["content"]]
        return [(part["text"], [note["url"] for note in part.get("annotations") or ()]) for part in parts]

    assert cited(streamed) == cited(whole)
    assert not [loss for loss in stream.losses if loss.fate == "lost"]


def test_a_citation_before_its_text_stays_with_it() -> None:
    cited = block(1, {"citation": RAIN}, {"text": "It rains."})
    frames = [START, *block(0, {"text": "So: "}), *cited, *block(2, {"citation": WIND}), *END]
    assert list(ul.convert_stream(frames, source=CONVERSE, target=CONVERSE)) == frames
    first, second, third = ul.collect(ul.read_stream(frames, CONVERSE))["output"][0]["content"]
    assert "annotations" not in first
    assert (second["text"], len(second["annotations"])) == ("It rains.", 1)
    assert (third["text"], len(third["annotations"])) == ("", 1)


@pytest.mark.parametrize("number", range(1, len(STREAMED)))
def test_a_stream_with_sources_that_breaks_off_is_an_error(number: int) -> None:
    frames = STREAMED[:number]
    assert list(ul.convert_stream(frames, source=CONVERSE, target=CONVERSE))[:number] == frames
    events = list(ul.read_stream(frames, CONVERSE))
    assert events[-1]["type"] == ("error" if number < len(STREAMED) - 1 else "response.completed")


def test_an_edited_source_goes_back_to_its_block() -> None:
    read = suite.canonical(GROUNDED, CONVERSE, "response")
    del read["output"][0]["content"][0]["annotations"][0]
    content = ul.write(read, CONVERSE, "response").value["output"]["message"]["content"]
    assert content[:2] == [{"text": "It rains."}, {"citationsContent": {"citations": [WIND]}}]
    del read["output"][0]["content"][0]["annotations"]
    content = ul.write(read, CONVERSE, "response").value["output"]["message"]["content"]
    assert content == [{"text": "It rains."}, {"text": " Take a coat."}]


def test_sources_without_a_text_stay_and_are_reported() -> None:
    body = answer({"citationsContent": {"citations": [RAIN]}})
    assert ul.convert(body, source=CONVERSE, target=CONVERSE, kind="response").value == body
    done = ul.convert(body, source=CONVERSE, target="openai-chat", kind="response")
    assert "/output/message/content/0" in [loss.path for loss in done.losses if loss.fate == "lost"]


def test_the_citations_of_an_empty_text_are_reported_by_messages() -> None:
    body = answer({"text": "A"}, {"citationsContent": {"content": [{"text": ""}], "citations": [RAIN]}})
    done = ul.convert(body, source=CONVERSE, target="anthropic-messages", kind="response")
    assert [loss.path for loss in done.losses if loss.fate == "lost"] == ["/output/message/content/1"]


@pytest.mark.parametrize(
    "target",
    ["openai-chat", "openai-responses", "anthropic-messages", "google-generate-content", "google-interactions"],
)
def test_what_bedrock_executed_itself_is_reported_once(target: str) -> None:
    asked = {"toolUseId": "s1", "name": "nova_grounding", "input": {"query": "rain"}, "type": "server_tool_use"}
    gave = {"toolUseId": "s1", "content": [{"text": "it rains"}], "status": "success", "type": "nova_grounding_result"}
    body = answer({"toolUse": asked}, {"toolResult": gave}, {"text": "It rains."})
    done = ul.convert(body, source=CONVERSE, target=target, kind="response")
    told = [loss.path for loss in done.losses if loss.path.startswith("/output/") and loss.side == "source"]
    assert told == ["/output/message/content/0", "/output/message/content/1"]
