"""Supports of grounding that name no chunk, or one that is not there, beside others that do.

https://ai.google.dev/api/generate-content#GroundingSupport
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from across import CHAT, GENERATE, MESSAGES, RESPONSES, Node

SOUND = {"segment": {"endIndex": 3}, "groundingChunkIndices": [0]}
LATER = {"segment": {"startIndex": 4, "endIndex": 7}, "groundingChunkIndices": [0]}
DANGLING = {"segment": {"startIndex": 4, "endIndex": 6}, "groundingChunkIndices": [0, 5]}
WITHOUT_SEGMENT = {"groundingChunkIndices": [0]}
WITHOUT_CHUNK = {"segment": {"endIndex": 2}}


def candidate(text: str, *supports: Node) -> Node:
    meta = {"groundingChunks": [{"web": {"uri": "https://a", "title": "A"}}], "groundingSupports": list(supports)}
    content = {"role": "model", "parts": [{"text": text}]}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0, "groundingMetadata": meta}]}


def places(annotations: Any) -> list[tuple[str, int, int]]:
    found = [each.get("url_citation", each) for each in annotations]
    return [(each["url"], each["start_index"], each["end_index"]) for each in found]


@pytest.mark.parametrize("broken", [DANGLING, WITHOUT_SEGMENT], ids=["no chunk there", "no segment"])
def test_a_support_that_cannot_be_read_takes_no_other_with_it(broken: Node) -> None:
    body = candidate("abc def", SOUND, broken, LATER)
    wanted = [("https://a", 0, 3), ("https://a", 4, 7)]
    assert ul.convert(body, source=GENERATE, target=GENERATE, kind="response").value == body
    done = ul.convert(body, source=GENERATE, target=CHAT, kind="response")
    assert places(done.value["choices"][0]["message"]["annotations"]) == wanted
    assert {loss.path.rpartition("/")[0] for loss in done.losses if loss.fate == "lost"} == {
        "/candidates/0/groundingMetadata/groundingSupports/1"
    }
    events = [{"event": None, "data": body}]
    assert list(ul.convert_stream(events, source=GENERATE, target=GENERATE)) == events
    chunks = [event["data"] for event in ul.convert_stream(events, source=GENERATE, target=CHAT)]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if isinstance(chunk, dict) and chunk["choices"]]
    assert places([each for delta in deltas for each in delta.get("annotations", ())]) == wanted


@pytest.mark.parametrize("target", [CHAT, RESPONSES, MESSAGES])
def test_a_support_without_a_chunk_cites_nothing_elsewhere(target: str) -> None:
    """Clients of the others read a citation's URL; an empty one is a link to nowhere."""
    body = candidate("abc def", SOUND, WITHOUT_CHUNK)
    assert ul.convert(body, source=GENERATE, target=GENERATE, kind="response").value == body
    done = ul.convert(body, source=GENERATE, target=target, kind="response")
    alone = ul.convert(candidate("abc def", SOUND), source=GENERATE, target=target, kind="response")
    assert done.value == alone.value
    path = "/candidates/0/groundingMetadata/groundingSupports/1/segment"
    assert {loss.fate for loss in done.losses if loss.path.startswith(path)} == {"lost"}
