"""Opaque data of a reasoning item that no other node shares is in the stream where it is in the whole answer.

https://openrouter.ai/docs/use-cases/reasoning-tokens (`reasoning_details`, each with its index)
https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

import unified_llm as ul

Node = dict[str, Any]
CHAT, GENERATE, RESPONSES = "openai-chat", "google-generate-content", "openai-responses"
TEXT = {"type": "output_text", "text": "Hi"}
MESSAGE = {"type": "message", "role": "assistant", "status": "completed", "content": [TEXT]}


def answer(*items: Node) -> Node:
    end = {"status": "completed", "finish": {"reason": "stop"}}
    return {"id": "r", "model": "m", "created_at": 1, "output": [*items, MESSAGE], **end}


def opaque(protocol: str, kind: str, data: str) -> list[Node]:
    return [{"kind": kind, "data": data, "origin": {"protocol": protocol}}]


def thought(number: int) -> Node:
    detail = {"type": "reasoning.text", "text": f"thought {number}", "signature": f"s{number}", "index": 0}
    content = [{"type": "reasoning_text", "text": f"thought {number}"}]
    pieces = opaque(CHAT, "reasoning_details", json.dumps([detail]))
    return {"type": "reasoning", "summary": [], "content": content, "opaque": pieces}


def test_the_details_of_two_items_stay_apart() -> None:
    """An accumulator joins what has one index: those of a second item come behind those of the first."""
    node = answer(thought(1), thought(2))
    whole = ul.write(node, CHAT, "response").value["choices"][0]["message"]["reasoning_details"]
    assert [(each["index"], each["signature"]) for each in whole] == [(0, "s1"), (1, "s2")]
    events = [*ul.write_stream(ul.decompose(node), CHAT)]
    deltas = [event["data"]["choices"][0]["delta"] for event in events if type(event["data"]) is dict]
    assert [each for delta in deltas for each in delta.get("reasoning_details", ())] == whole


def test_a_signature_of_the_whole_item_is_in_the_stream() -> None:
    pieces = opaque(GENERATE, "of another kind", "c2ln")
    summary = [{"type": "summary_text", "text": "thought"}]
    node = answer({"type": "reasoning", "summary": summary, "opaque": pieces})
    whole = ul.write(node, GENERATE, "response").value["candidates"][0]["content"]["parts"]
    events = [*ul.write_stream(ul.decompose(node), GENERATE)]
    streamed = [part for event in events for part in event["data"]["candidates"][0]["content"]["parts"]]
    signed = [[part["text"] for part in parts if "thoughtSignature" in part] for parts in (whole, streamed)]
    assert signed == [[""], [""]]


@pytest.mark.parametrize("secret", [None, b"a secret of this test, which is long"])
def test_what_the_last_item_of_a_stream_keeps_is_not_lost(secret: bytes | None) -> None:
    """A call is done long before the item that keeps its signature: the report waits for it."""
    call = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2lnbmF0dXJl"}

    def frame(*parts: Node, **end: str) -> Node:
        body = {"candidates": [{"index": 0, "content": {"role": "model", "parts": [*parts]}, **end}]}
        return {"event": None, "data": {**body, "responseId": "r", "modelVersion": "gemini-3-pro-preview"}}

    fates = []
    for frames in ([frame(call), frame(finishReason="STOP")], [frame(call)]):
        stream = ul.convert_stream(frames, source=GENERATE, target="amazon-converse", secret=secret)
        with contextlib.suppress(ul.UnifiedLLMError):
            list(stream)
        fates.append([loss.fate for loss in stream.losses if loss.path.endswith("/thoughtSignature")])
    assert fates == [["parked"], ["lost"]]


SIGNED_ALONE = [{"text": "The"}, {"text": " end"}, {"text": "", "thoughtSignature": "c2ln"}]
"""How a stream ends whose text is signed: the signature comes with an empty text."""


@pytest.mark.parametrize("secret", [None, b"a secret of this test, which is long"])
def test_an_empty_text_with_nothing_but_a_signature_makes_no_part_of_a_response(secret: bytes | None) -> None:
    """Clients that put a line between the parts of a message would end each answer with one."""
    head = {"responseId": "r", "modelVersion": "gemini-3-pro-preview"}

    def body(parts: list[Node], **end: str) -> Node:
        return {**head, "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, **end}]}

    frames = [{"event": None, "data": body([part])} for part in SIGNED_ALONE[:2]]
    frames.append({"event": None, "data": body(SIGNED_ALONE[2:], finishReason="STOP")})
    events = list(ul.convert_stream(frames, source=GENERATE, target=RESPONSES, secret=secret))
    kinds = [event["data"]["type"].removeprefix("response.") for event in events]
    assert [kind for kind in kinds if kind.startswith(("content_part", "output_text"))] == [
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
    ]
    whole = body([{"text": "The end"}, SIGNED_ALONE[2]], finishReason="STOP")
    said = ul.convert(whole, source=GENERATE, target=RESPONSES, kind="response", secret=secret).value["output"]
    for output in (events[-1]["data"]["response"]["output"], said):
        assert [[part["text"] for part in item.get("content", ())] for item in output] == [["The end"], []]
        asked = {"model": "m", "input": [{"role": "user", "content": "q"}, *output, {"role": "user", "content": "r"}]}
        back = ul.convert(asked, source=RESPONSES, target=GENERATE, secret=secret).value["contents"][1]["parts"]
        assert back == [{"text": "The end"}, SIGNED_ALONE[2]], "and it returns"


def test_an_empty_text_without_a_signature_stays_a_part() -> None:
    parts = [{"type": "output_text", "text": text, "annotations": []} for text in ("Hi", "")]
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": parts}
    node = {"id": "r", "model": "m", "output": [message], "status": "completed"}
    for target in (RESPONSES, f"{RESPONSES}:open-responses"):
        last = list(ul.write_stream(ul.decompose(ul.read(node, RESPONSES, "response")), target))
        ended = next(event["data"] for event in last if event["event"] == "response.completed")
        assert [part["text"] for part in ended["response"]["output"][0]["content"]] == ["Hi", ""]
