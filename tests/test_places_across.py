"""Places on a map that an answer cites, where other protocols cite pages alone.

https://ai.google.dev/gemini-api/docs/maps-grounding
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from unified_llm import suite

GENERATE = "google-generate-content"
TARGETS = ["openai-chat", "openai-responses", "anthropic-messages", "amazon-converse"]
Node = dict[str, Any]
URL = "https://maps.example/?cid=1"


def answer(maps: Node, segment: Node | None = None) -> Node:
    meta: Node = {"groundingChunks": [{"maps": maps}]}
    if segment is not None:
        meta["groundingSupports"] = [{"segment": segment, "groundingChunkIndices": [0]}]
    content = {"role": "model", "parts": [{"text": "Visit Cafe now"}]}
    candidate = {"content": content, "finishReason": "STOP", "index": 0, "groundingMetadata": meta}
    return {"responseId": "g", "modelVersion": "m", "candidates": [candidate]}


CAFE = answer({"uri": URL, "title": "Cafe", "placeId": "places/1"}, {"startIndex": 6, "endIndex": 10})


def cited(items: Any) -> list[tuple[str, str, str]]:
    parts = [part for item in items for part in item["content"] if item["type"] == "message"]
    return [(part["text"], note["url"], note["title"]) for part in parts for note in part.get("annotations") or ()]


@pytest.mark.parametrize("target", TARGETS)
def test_a_place_is_cited_as_its_page(target: str) -> None:
    done = ul.convert(CAFE, source=GENERATE, target=target, kind="response")
    ((text, url, title),) = cited(suite.canonical(done.value, target, "response")["output"])
    assert (url, title) == (URL, "Cafe")
    assert text == ("Cafe" if target in TARGETS[2:] else "Visit Cafe now")
    lost = [loss.path for loss in done.losses if loss.fate == "lost"]
    assert lost == ["/candidates/0/groundingMetadata/groundingChunks/0/maps/placeId"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("segment", [None, {"startIndex": 6, "endIndex": 10}], ids=["whole", "part"])
def test_a_place_in_a_stream_is_cited_as_its_page(segment: Node | None, target: str) -> None:
    body = answer({"uri": URL, "title": "Cafe"}, segment)
    frames = list(ul.convert_stream([{"event": None, "data": body}], source=GENERATE, target=target))
    found = cited(ul.collect(ul.read_stream(frames, target))["output"])
    assert [each[1:] for each in found] == [(URL, "Cafe")]


@pytest.mark.parametrize("target", TARGETS)
def test_a_place_without_a_page_is_reported(target: str) -> None:
    done = ul.convert(answer({"title": "Cafe"}), source=GENERATE, target=target, kind="response")
    assert "Cafe" not in str(done.value).replace("Visit Cafe now", "")
    assert [loss.capability for loss in done.losses if loss.fate == "lost"] == ["citations.other"]


def test_a_place_comes_back_from_a_client_of_claude() -> None:
    done = ul.convert(CAFE, source=GENERATE, target="anthropic-messages", kind="response", secret="s")
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": done.value["content"]}]
    body = {"model": "m", "max_tokens": 9, "messages": [*turns, {"role": "user", "content": "And?"}]}
    read = ul.convert(body, source="anthropic-messages", target="google-interactions", model="m", secret="s").value
    notes = [note for step in read["input"] for part in step["content"] for note in part.get("annotations") or ()]
    assert [(note["type"], note["place_id"], note["name"]) for note in notes] == [
        ("place_citation", "places/1", "Cafe")
    ]
