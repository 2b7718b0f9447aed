"""Chunks of servers that repeat the text of a delta, or pad it, are as much of a repeat as those that do not.

The same frames with the fast path and without: equal events, equal answers, equal losses. Wire formats:
openrouter.ai/docs/use-cases/reasoning-tokens (`reasoning` with `reasoning_details` beside it), docs.mistral.ai
(`p`, which pads), platform.openai.com/docs/api-reference/chat-streaming (`obfuscation`).
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from unified_llm.streams.conversion import ConvertedStream
from unified_llm.streams.pipeline import Pipe

Node = dict[str, Any]
CHAT = "openai-chat"
PROTOCOLS = [CHAT, "openai-responses", "anthropic-messages", "google-interactions", "google-generate-content"]
HEAD = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
WORDS = "Let me think about that for a while , and then again about all of it .".split()


def chunk(delta: Node, finish: str | None = None, **beside: Any) -> Node:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"event": None, "data": {**HEAD, "choices": [choice], **beside}}


def detailed(text: str, **more: Any) -> Node:
    detail = {"type": "reasoning.text", "text": text, "format": "unknown", "index": 0, **more}
    return chunk({"role": "assistant", "content": "", "reasoning": text, "reasoning_details": [detail]})


def alone(text: str) -> Node:
    return chunk({"reasoning_details": [{"type": "reasoning.summary", "summary": text, "index": 0}]})


def twofold(text: str) -> Node:
    return chunk({"reasoning": text, "reasoning_content": text})


def padded(text: str) -> Node:
    return chunk({"content": text}, p="abcdefgh"[: len(text)])


def channeled(text: str, channel: str = "analysis") -> Node:
    return chunk({"reasoning": text, "channel": channel})


def identified(text: str) -> Node:
    event = chunk({"content": text})
    return {**event, "data": {**event["data"], "id": f"c-{text}"}}


BROKEN = [detailed("a"), detailed("b"), detailed("c"), detailed("d", format="other"), detailed("e"), detailed("f")]
BROKEN += [detailed("g", index=1), detailed("h", index=1), detailed("i", signature="s"), detailed("j"), detailed("k")]
SHAPES: dict[str, list[Node]] = {
    "details": [detailed(word) for word in WORDS],
    "details alone": [alone(word) for word in WORDS],
    "two fields": [twofold(word) for word in WORDS],
    "an unknown text": [channeled(word) for word in WORDS],
    "an id for each chunk": [identified(word) for word in WORDS],
    "padding": [padded(word) for word in WORDS],
    "other details now and then": BROKEN,
}


class Stepwise(Pipe):
    repeats = False


def through(frames: list[Node], target: str, kind: type[Pipe]) -> tuple[list[Node], list[Any], int]:
    """The target's events, the losses, and how many events took the general path."""
    pipe, general = kind(CHAT, target), 0
    found = pipe.anew

    def anew(event: Node) -> list[Node]:
        nonlocal general
        general += 1
        return found(event)

    pipe.anew = anew  # type: ignore[method-assign]
    stream = ConvertedStream(frames, pipe)
    return list(stream), list(stream.losses), general


@pytest.mark.parametrize("target", PROTOCOLS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_repeated_chunk_is_read_as_each_by_itself(shape: str, target: str) -> None:
    frames = [*SHAPES[shape], chunk({"content": "Done."}), chunk({}, "stop"), {"event": None, "data": "[DONE]"}]
    quick, losses, general = through(frames, target, Pipe)
    steps, same_losses, each = through(frames, target, Stepwise)
    assert each == len(frames)
    assert quick == steps
    assert losses == same_losses
    if target == CHAT:
        assert quick == frames
    if shape != "other details now and then":
        assert general < 10


def test_the_answer_has_all_that_was_repeated() -> None:
    frames = [*SHAPES["details"], chunk({}, "stop"), {"event": None, "data": "[DONE]"}]
    stream = ul.convert_stream(frames, source=CHAT, target="openai-responses")
    done = [each["data"]["item"] for each in stream if each["event"] == "response.output_item.done"]
    assert done[0]["content"][0]["text"] == "".join(WORDS)
    whole = ul.collect(ul.read_stream(frames, CHAT))
    details = next(piece["data"] for piece in whole["output"][0]["opaque"] if piece["kind"] == "reasoning_details")
    assert "".join(WORDS) in details
